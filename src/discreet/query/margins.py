"""The exact marginals of a table: what is asked for counts over a few of many columns each.

The columns are public: declared keys, or expressions of them. A missing value is one more key of
its column, so that everybody is in every marginal; COALESCE gives it another name, or joins it with
a key. The engine returns the marginals that are no part of others, each with the people bounded
before rows are grouped, in one statement. So exact marginals agree with each other, unless the
owner lets people count in some groups only: those are other groups in each marginal.

Guarantee. None: the counts are private. `sensitivity` bounds how far one person moves each marginal
by itself: the sum of the differences, in units of 1/`scale` rows, is at most that.
Proof. The theorems of `discreet.query.stability` for the number of rows in groups whose keys are
not enumerated: they bound people before rows are grouped, whatever the keys are.
Tested by tests/query/test_margins.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.query.blocks import blocks_of
from discreet.query.build import Query
from discreet.query.cells import Bounded, one_line
from discreet.query.plan import Grouping, Plan, aggregates
from discreet.query.request import Cells, Key, Part, Request
from discreet.query.schema import PerRow, Schema
from discreet.query.stability import Stability, stabilities

__all__ = ["MOST_ROWS", "Margins", "Ways", "margins"]

MOST_ROWS = 200_000
"""Cells of all marginals together at most, with those of fewer columns."""
MOST_PARTS = 1_000
Columns = tuple[int, ...]
Ways = int | Sequence[Sequence[str]]
"""All sets of so many columns, or the sets themselves, by names."""


@dataclass(frozen=True, slots=True)
class Margins(Bounded):
    """Marginals that are wanted.

    Attributes:
        groupings: the columns.
        keys: for each column its keys as the engine holds them; None, at the end, for missing.
        wanted: the sets of columns, by their numbers.
        tops: those that are no part of others: what the engine is asked for.
        where: only rows for which this condition holds, as it was said.
    """

    groupings: tuple[Grouping, ...]
    keys: tuple[tuple[Key, ...], ...]
    wanted: tuple[Columns, ...]
    tops: tuple[Columns, ...]
    where: str | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many keys each column has."""
        return tuple(map(len, self.keys))

    def counts(self, parts: Sequence[Cells]) -> dict[Columns, NDArray[Any]]:
        """The exact marginals, from what the engine returned."""
        places = [{key: place for place, key in enumerate(keys)} for keys in self.keys]
        found = {}
        for columns, cells in zip(self.tops, parts, strict=True):
            table = np.zeros([self.sizes[i] for i in columns], dtype=np.int64)
            for group, (count,) in cells.items():
                at = tuple(places[i].get(key) for i, key in zip(columns, group, strict=True))
                if None not in at:  # a key that was not listed
                    table[at] += count
            found[columns] = table
        return found


def margins(
    schema: Schema, columns: Sequence[str], ways: Ways, where: str | None = None
) -> Margins:
    """What to ask for marginals; QueryError where keys are not public or nothing bounds a person.

    Args:
        schema: the table.
        columns: columns or expressions in SQL; "... AS name" gives a name.
        ways: of how many columns each marginal is, or their names, marginal by marginal.
        where: only rows for which this condition holds.
    """
    given: Any = columns
    if isinstance(given, str) or not given:
        raise QueryError("marginals need their columns as a list")
    if where is not None:
        one_line(where, "where")
    plans = [_plan(schema, column, where) for column in columns]
    groupings = tuple(plan.groupings[0] for plan in plans)
    names = [grouping.name for grouping in groupings]
    if len(set(names)) < len(names):
        raise QueryError("two columns have the same name; say ... AS name")
    keys = tuple(_keys(grouping) for grouping in groupings)
    wanted = _sets(ways, names)
    tops = _tops(wanted)
    _check_size(wanted, tops, [len(k) for k in keys])
    parts, bounds = [], []
    for one in tops:
        part, stability = _part(schema, plans[0], [groupings[i] for i in one])
        parts.append(part)
        bounds.append(stability)
    largest = max(bounds, key=lambda bound: bound.l1)
    if (
        len({bound.bounding.scale for bound in bounds}) > 1
    ):  # pragma: no cover - one unit, one scale
        raise QueryError("these marginals cannot be counted in the same units")
    request = Request(schema, plans[0].where, tuple(parts))
    return Margins(request, largest, groupings, keys, wanted, tops, where)


def _tops(wanted: Sequence[Columns]) -> tuple[Columns, ...]:
    """Those that are no part of others."""
    sets, longest = [set(one) for one in wanted], max(map(len, wanted))
    return tuple(
        one
        for one, own in zip(wanted, sets, strict=True)
        if len(one) == longest or not any(own < other for other in sets)
    )


def _plan(schema: Schema, column: str, where: str | None) -> Plan:
    query = Query(schema) if where is None else Query(schema).where(where)
    return query.group_by(column).count().plan


def _keys(grouping: Grouping) -> tuple[Key, ...]:
    if grouping.keys is None:
        raise QueryError(
            f"the keys of {grouping.name} are not public; marginals need them: let the owner "
            "declare dp.Keys([...])"
        )
    found = (*grouping.keys, *([None] if grouping.value.kind.nullable else []))
    if len(found) < 2:
        raise QueryError(f"{grouping.name} has one key only: leave it out")
    return found


def _sets(ways: Ways, names: Sequence[str]) -> tuple[Columns, ...]:
    if isinstance(ways, int):
        if not 1 <= ways <= len(names):
            raise QueryError(f"ways is how many columns a marginal has: 1 to {len(names)}")
        if math.comb(len(names), ways) > MOST_PARTS:
            raise _too_many(math.comb(len(names), ways))
        return tuple(combinations(range(len(names)), ways))
    given: Any = ways
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise QueryError("ways is how many columns a marginal has, or a list of lists of columns")
    found = []
    for one in ways:
        if isinstance(one, str) or not one or len(set(one)) < len(one):
            raise QueryError("each marginal is a list of different columns")
        for name in one:
            if name not in names:
                raise QueryError(f"the marginal of {name!r} has no such column: {', '.join(names)}")
        found.append(tuple(sorted(names.index(name) for name in one)))
    if not found:
        raise QueryError("marginals need at least one set of columns")
    return tuple(dict.fromkeys(found))


def _check_size(wanted: Sequence[Columns], tops: Sequence[Columns], sizes: Sequence[int]) -> None:
    cells = _cells(wanted, sizes)
    if (
        len(tops) <= MOST_PARTS and cells <= MOST_ROWS
    ):  # then they have few parts: two keys at least
        parts = {
            part for one in wanted for k in range(len(one) + 1) for part in combinations(one, k)
        }
        cells = _cells(parts, sizes)
    if len(tops) > MOST_PARTS or cells > MOST_ROWS:
        raise _too_many(len(tops), cells)


def _cells(sets: Iterable[Columns], sizes: Sequence[int]) -> int:
    return sum(math.prod(sizes[i] for i in one) for one in sets)


def _too_many(marginals: int, cells: int | None = None) -> QueryError:
    told = "" if cells is None else f" with {cells:,} cells"
    return QueryError(
        f"these are {marginals:,} marginals{told}, and at most {MOST_PARTS:,} with {MOST_ROWS:,} "
        "can be published, those of fewer columns included; take fewer columns in each, or coarser "
        "keys"
    )


def _part(schema: Schema, plan: Plan, groupings: Sequence[Grouping]) -> tuple[Part, Stability]:
    open_keys = tuple(replace(grouping, keys=None) for grouping in groupings)
    asked = replace(plan, groupings=open_keys)
    (block,) = set(
        blocks_of(aggregates(asked), rows_are_people=isinstance(schema.unit, PerRow)).values()
    )
    stability = stabilities(block, asked, schema)[0]  # the one that keeps the most rows
    values = tuple(grouping.value for grouping in groupings)
    return Part(values, block.totals, stability.bounding), stability
