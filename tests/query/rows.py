"""Cleaned rows of the table of `example`, as an engine holds them."""

from hypothesis import strategies as st
from tests.query.example import COLUMNS

from discreet.query.kinds import Day, Number
from discreet.query.schema import Hidden, Keys


def values(declared):
    """The values of one column, missing ones too."""
    kind = declared.kind
    if isinstance(declared, Keys):
        there = st.sampled_from(declared.values)
    elif isinstance(kind, Number):
        there = st.integers(kind.low, kind.high) | st.sampled_from([kind.low, kind.high])
    elif isinstance(kind, Day):
        there = st.dates(kind.low, kind.high)
    else:
        there = {"Flag": st.booleans(), "Text": st.text(max_size=4)}[type(kind).__name__]
    return st.none() | there


ROWS = st.fixed_dictionaries(
    {name: values(d) for name, d in COLUMNS.items() if not isinstance(d, Hidden)}
)
