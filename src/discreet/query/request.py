"""What an engine is asked for: exact integers per group, with every person's part bounded.

A request is the whole interface between `query` and `engines`. It holds no epsilon; an engine that
answers it exactly is correct. Meaning, in the words of the reference (tests/engines/reference.py):

1. Take the rows of the table; clean every column as the schema says; with `PerPerson`, leave out
   rows without a person; keep the rows where `where` is true.
2. Each `Part` is answered on its own from these rows: bound the people (`Bounding`), group by the
   part's keys, and add up its totals. Groups in which nothing is left may be missing from the
   result; so may groups whose totals are all 0, and in a `listed` part those without a key.
3. A part that groups by nothing has exactly one row, on an empty table too.
Tested by tests/engines/contract.py, through tests/engines/test_duckdb.py and its siblings
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from discreet.query.expr import Expr
from discreet.query.schema import Schema

__all__ = ["Bounding", "Cells", "Part", "Request", "Total", "Way"]

Way = Literal["none", "sample", "clamp", "weight"]
Key = int | bool | str | date | None
Cells = Mapping[tuple[Key, ...], tuple[int, ...]]
"""For each group the exact totals: private until noise is added."""


@dataclass(frozen=True, slots=True)
class Bounding:
    """How the part of one person is bounded.

    Attributes:
        way:
            "none": nothing is done; the schema's word is trusted, or the part counts people of
                one single group.
            "sample": of each person and group at most `rows` rows are kept, and of each person at
                most `groups` groups, both by the order of a keyed hash. (A part of people keeps
                groups only.)
            "clamp": of each person and group, the number of rows counts as at most `rows`, and
                every total is clamped to `rows` times the range of one row; of each person at most
                `groups` groups are kept, by the order of a keyed hash.
            "weight": every row of a person with R rows (that pass `where`) has the integer weight
                `scale` if R <= rows, else floor(scale rows / R). (In a part of people, R is the
                number of the person's groups, and `groups` takes the place of `rows`.)
        rows: see above; None for no bound.
        groups: see above; None for no bound.
        scale: the weight of a row that counts in full; 1 for the other ways.
    """

    way: Way
    rows: int | None = None
    groups: int | None = None
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Total:
    """One integer per group: the sum over rows of weight * (n - offset)^power.

    Rows where `where` is not true, or where `value` is missing, add nothing. Without a value, or
    with power 0, every row that counts adds its weight.
    """

    value: Expr | None = None
    power: int = 0
    offset: int = 0
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One table of integers: `keys` are grouped by; then come the totals.

    With people=True there are no totals and one integer: the number of different people in the
    group, each with its weight where people are weighted.

    With `spread`, a rising tuple of numbers of rows, there are no keys and no totals: a person
    with R rows falls under the key (i,) of the first spread[i] >= R, or (len(spread),) beyond the
    last, and the one integer is the number of people there. It needs `PerPerson`.

    With `listed`, only groups with all their keys are wanted, because others are not released.
    """

    keys: tuple[Expr, ...]
    totals: tuple[Total, ...]
    bounding: Bounding
    people: bool = False
    spread: tuple[int, ...] | None = None
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """All that one question needs, in one statement."""

    schema: Schema
    where: Expr | None
    parts: tuple[Part, ...]
