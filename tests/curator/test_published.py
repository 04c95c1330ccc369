"""What was published, in the units of the data: all from public numbers."""

import math
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.published import Published, question_of
from discreet.curator.release import Release
from discreet.errors import ParameterError, UnsupportedError
from discreet.noise.source import KeyedSource
from discreet.publish.histogram import adaptive_tree
from discreet.query.cells import Axis

COUNTS = np.array([90, 10, 0, 0, 0, 300, 5, 2])
AT = datetime(2026, 5, 1, tzinfo=UTC)


def published(counts=COUNTS, *axes, epsilon=200, scale=1, where=None):
    """Nearly exact, and the same each time: only the units are tested here."""
    made = adaptive_tree(np.asarray(counts), epsilon=epsilon, source=KeyedSource(b"k" * 32))
    axes = axes or (Axis("pay", 0, 80, 8),)
    return Published("staff", where, axes, made, scale, Fraction(95, 100), AT)


@pytest.fixture
def line():
    return published()


@pytest.fixture
def grid():
    counts = np.outer([1, 2, 3, 4], [10, 20, 30, 40]) * 10
    return published(counts, Axis("x", 0, 4, 4), Axis("y", -2, 2, 4))


def test_ranges_are_in_the_units_of_the_data(line):
    assert line.range(0, 20).value == pytest.approx(100, abs=2)
    assert line.range(50, 60).value == pytest.approx(300, abs=2)
    assert line.total().value == pytest.approx(407, abs=3)
    assert line.range(-1000, 1000).value == line.total().value
    assert line.range(30, 30).value == 0
    assert line.range(52, 54).value == pytest.approx(line.range(50, 60).value / 5)


def test_an_end_inside_of_a_cell_takes_a_part_of_it_and_widens_the_interval(line):
    part, whole = line.range(50, 55), line.range(50, 60)
    assert part.value == pytest.approx(whole.value / 2)
    assert part.low == 0
    assert part.high == whole.high
    around = line.range(55, 75)
    assert around.low <= line.range(60, 70).low
    assert around.high == line.range(50, 80).high


def test_many_ranges_at_once_are_the_same_as_one_by_one(line, grid):
    spans = [(a, b) for a in range(0, 80, 7) for b in range(a, 81, 9)]
    found = line.counts([[span] for span in spans])
    assert found == pytest.approx([line.range(*span).value for span in spans], abs=1e-6)
    boxes = [((a, b), (c, d)) for a, b in ((0, 4), ("0.5", 2), (1, 3)) for c, d in ((-2, 2),
             ("-1.5", "0.25"), (0, 1))]  # fmt: skip
    found = grid.counts(boxes)
    assert found == pytest.approx([grid.rectangle(*box).value for box in boxes], abs=1e-6)


def test_many_ranges_of_a_grid_that_is_never_spread_out(line, monkeypatch):
    dense = line.counts([[(5, 33)], [(0, 80)]])
    monkeypatch.setattr("discreet.curator.published._DENSE", 1)
    assert line.counts([[(5, 33)], [(0, 80)]]) == pytest.approx(dense)


def test_shares_and_quantiles(line):
    assert line.cdf(20).value == pytest.approx(100 / 407, abs=0.01)
    assert line.cdf(0).value == 0
    assert line.cdf(80).value == pytest.approx(1)
    assert line.cdf(25).low <= line.cdf(25).value <= line.cdf(25).high
    median = line.quantile("0.5")
    assert 50 <= median.low <= median.value <= median.high <= 60
    assert median.value == pytest.approx(50 + 10 * (407 / 2 - 100) / 300, abs=0.3)
    for share in (0, 1, -1, float("nan")):
        with pytest.raises(ParameterError, match="share"):
            line.quantile(share)


def test_rows_that_count_in_part_are_rows_in_the_answer():
    one, scaled = published(), published(COUNTS * 16, scale=16)
    assert scaled.range(0, 20).value == pytest.approx(one.range(0, 20).value, abs=2)
    assert scaled.counts([[(0, 20)]])[0] == pytest.approx(scaled.range(0, 20).value)


def test_fewer_cells(line):
    made = line.rebin(4)
    assert made["pay"] == [0, 20, 40, 60]
    assert made["n"] == pytest.approx([100, 0, 300, 7], abs=3)
    assert all(low <= n <= high for n, (low, high) in zip(made["n"], made.intervals["n"],
                                                         strict=True))  # fmt: skip
    odd = line.rebin(3)
    assert sum(odd["n"]) == pytest.approx(407, abs=3)
    with pytest.raises(ParameterError, match="at most 8"):
        line.rebin(9)
    with pytest.raises(ParameterError, match="1 numbers"):
        line.rebin(2, 2)


def test_rectangles(grid):
    truth = (2 + 3) * (20 + 30) * 10
    assert grid.rectangle((1, 3), (-1, 1)).value == pytest.approx(truth, abs=5)
    with pytest.raises(UnsupportedError):
        grid.range(0, 1)
    with pytest.raises(UnsupportedError):
        grid.quantile("0.5")
    with pytest.raises(ParameterError, match="2 pairs"):
        grid.rectangle((0, 1))
    with pytest.raises(ParameterError, match="must rise"):
        grid.rectangle((1, 0), (0, 1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "x", None])
def test_ends_that_are_no_numbers(line, bad):
    with pytest.raises((ParameterError, TypeError)):
        line.range(0, bad)


def test_a_release_holds_everything(line, grid):
    for one in (line, grid):
        release = Release.from_json(one.release.to_json())
        assert release == one.release
        assert release.guarantee == one.guarantee
        again = Published.of(release)
        assert again.to_json() == one.to_json()
        assert again.total() == one.total()
    assert Published.from_json(line.to_json()).range(0, 20) == line.range(0, 20)
    with pytest.raises(UnsupportedError, match="no publication"):
        Published.of(Release.from_dict({
            k: v for k, v in line.release.to_dict().items() if k != "published"
        }))  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "discreet-published/2"}, {"more": 1}, {"axes": [{"of": "x"}]},
        {"measured": {}}, {"confidence": "2"}, {"measured": []}, {"axes": 5}, {"axes": [5]},
        {"table": 5}, {"where": 5}, {"where": "\x1b[2J"}, {"scale": 0}, {"scale": None},
        {"asked_at": 5}, {"asked_at": "today"}, {"found": [5]}, {"found": [["x", "-1"]]},
        {"found": 5}, {"axes": []},
        {"axes": [{"of": "x", "low": "0", "high": "1", "bins": 3}]},
        {"axes": [{"of": "x", "low": "0", "high": "1e999999999", "bins": 100}]},
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(line, change):
    import json

    values = json.loads(line.to_json()) | change
    with pytest.raises(ParameterError):
        Published.from_dict(values)


@pytest.mark.parametrize(
    ("name", "value"),
    [("depth", [99]), ("node", [-1]), ("units", [0]), ("units", [70_000]), ("value", [1.5]),
     ("value", [1, 2]), ("value", [10**30]), ("epsilon", "1e-14"), ("sensitivity", 1 << 50)],
)  # fmt: skip
def test_measurements_that_cannot_have_been_made_are_refused(line, name, value):
    import json

    from discreet.errors import DiscreetError

    values = json.loads(line.to_json())
    one = {"depth": [0], "node": [0], "units": [5], "value": [7]}
    values["measured"] |= one
    assert math.isfinite(Published.from_dict(values).total().value)
    values["measured"] |= {name: value}
    with pytest.raises(DiscreetError):
        Published.from_dict(values)


def test_measurements_are_refused_that_are_none_or_of_padding_or_wrap():
    import json

    values = json.loads(published(np.arange(5), Axis("pay", 0, 50, 5)).to_json())
    empty = {name: [] for name in ("depth", "node", "units", "value")}
    wraps = {"depth": [0, 0], "node": [0, 0], "units": [1, 2**63 - 1], "value": [7, 7]}
    padded = {"depth": [3], "node": [5], "units": [5], "value": [7]}
    for wrong in (empty, wraps, padded):
        with pytest.raises(ParameterError):
            Published.from_dict(values | {"measured": values["measured"] | wrong})


def test_a_release_that_claims_another_guarantee_is_refused(line):
    from dataclasses import replace

    from discreet.privacy.guarantee import PureDP

    with pytest.raises(ParameterError, match="guarantee"):
        Published.of(replace(line.release, guarantee=PureDP("0.001")))


def test_the_question_says_what_was_counted():
    axes = (Axis("x", 0, 4, 4), Axis("y", -2, "2.5", 4))
    assert question_of("t", "z > 1", axes) == (
        "SELECT WIDTH_BUCKET(x, 0, 4, 4), WIDTH_BUCKET(y, -2, 2.5, 4), COUNT(*) AS n FROM t "
        "WHERE z > 1 GROUP BY WIDTH_BUCKET(x, 0, 4, 4), WIDTH_BUCKET(y, -2, 2.5, 4)"
    )


def test_columns_of_one_name_are_told_apart():
    twice = published(np.ones((2, 2), dtype=int) * 50, Axis("n", 0, 2, 2), Axis("n", 0, 2, 2))
    assert len(set(twice.release.columns)) == 3
