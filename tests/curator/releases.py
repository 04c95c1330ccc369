"""Releases to test with."""

from datetime import UTC, date, datetime
from fractions import Fraction

from hypothesis import strategies as st

from discreet.curator.release import Release
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP, RandomDP, RenyiDP
from discreet.privacy.loss import GaussianLoss, GeometricLoss, PairLoss, PureLoss

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>document.title='owned'</script>",
    "<!--<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "\x1b[2J\x1b[31mred",
    "two\nlines\r\ttab",
    "\u202egnp.exe",
    "=HYPERLINK(1)",
    "日本語のとても長い部署名",
    "e\u0301te\u0301 🎉",
    "\ud800 half",
    "x" * 500,
    "{{ 7*7 }} ${7*7} %s {0}",
    "'; DROP TABLE staff; --",
    "datum['value']",
    "",
    " ",
    "(none)",
    "null",
    None,
)


def make(columns, keys, rows, intervals=None, raw=None, **fields):
    """A release with everything that is not said filled in."""
    told = {
        "guarantee": PureDP("0.5"),
        "losses": (GeometricLoss(epsilon="0.5"),),
        "sql": "SELECT department, COUNT(*) AS count FROM staff GROUP BY department",
        "mechanisms": {
            name: "geometric noise, epsilon 0.5, standard deviation 2.8"
            for name in columns
            if name not in keys
        },
        "confidence": Fraction(19, 20),
        "covers": "They cover the noise only",
        "notes": ("bounds of salary found: 0 to 262144, at a cost of epsilon 0.1",),
        "asked_at": datetime(2026, 11, 16, 3, 4, 5, 678, tzinfo=UTC),
        **fields,
    }
    return Release(columns, keys, rows, intervals or {}, raw or {}, **told)


def counts(values, keys=None, width=6, name="department"):
    """Counts by one key, never shown below 0, with their noisy values."""
    keys = keys if keys is not None else [f"group {i}" for i in range(len(values))]
    shown = [max(0, v) for v in values]
    return make(
        (name, "count"),
        (name,),
        tuple(zip(keys, shown, strict=True)),
        {"count": tuple((max(0, v - width), max(0, v + width)) for v in values)},
        {"count": tuple(values)},
    )


GUARANTEES = (
    PureDP("1/3", "replace"),
    ApproxDP(1, "1e-6"),
    ApproxDP(0, "1e-6"),
    ZCDP("0.125"),
    RenyiDP({2: "0.1", "7/2": "0.3"}),
    RandomDP(1, "0.01"),
)
LOSSES = (
    PureLoss(epsilon="1/3"),
    GeometricLoss(epsilon="0.1", sensitivity=3, changes=4),
    GaussianLoss(sigma_squared="7/2"),
    PairLoss(first=["3/4", "1/4"], second=["1/4", "3/4"]),
)

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.dates(),
    st.sampled_from(HOSTILE),
)
DAY = date(2024, 2, 29)


@st.composite
def any_release(draw):
    """Any release at all: every kind of value in any place."""
    columns = tuple(
        draw(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
    )
    keys = columns[: draw(st.integers(0, len(columns) - 1))]
    rows = tuple(
        draw(st.lists(st.tuples(*[VALUES for _ in columns]), max_size=5)),
    )
    pairs = st.one_of(st.none(), st.tuples(VALUES, VALUES))
    size = len(rows)
    return make(
        columns,
        keys,
        rows,
        {columns[-1]: tuple(draw(st.lists(pairs, min_size=size, max_size=size)))},
        {columns[-1]: tuple(draw(st.lists(VALUES, min_size=size, max_size=size)))},
        guarantee=draw(st.sampled_from(GUARANTEES)),
        losses=tuple(draw(st.lists(st.sampled_from(LOSSES), max_size=3))),
        sql=draw(st.text(max_size=30)),
        covers=draw(st.text(max_size=30)),
        notes=tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
    )
