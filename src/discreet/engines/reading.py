"""The rows of a statement as exact integers again.

A statement of one part has its keys first, then its totals; one of several parts has the number of
a part, then keys by type, then totals.
Tested by tests/engines/test_reading.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime

from sqlglot import exp

from discreet.engines.dialects import Dialect, cast, number
from discreet.engines.parts import aliased
from discreet.query.kinds import Day, Flag, Kind, Number, Text
from discreet.query.request import Cells, Part, Request

__all__ = ["Key", "Layout", "Reading", "cells"]

Key = int | bool | str | date | None


class Layout:
    """Where the keys and totals of each part stand in the rows of a statement of several parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.kinds = [_key_kinds(part) for part in parts]
        self.totals = max(_width(part) for part in parts)
        most: dict[str, int] = {}
        for kinds in self.kinds:
            for kind in (Number, Flag, Text, Day):
                there = sum(isinstance(k, kind) for k in kinds)
                most[kind.__name__] = max(most.get(kind.__name__, 0), there)
        self.slots = [(kind, i) for kind, there in most.items() for i in range(there)]

    def places(self, at: int) -> list[int]:
        """Which slot each key of a part is in."""
        seen: dict[str, int] = {}
        found = []
        for kind in self.kinds[at]:
            title = type(kind).__name__
            found.append(self.slots.index((title, seen.get(title, 0))))
            seen[title] = seen.get(title, 0) + 1
        return found

    def laid_out(self, sql: Dialect, at: int, made: exp.Select) -> exp.Select:
        """The SELECT of a part with its number and with all columns that any part has."""
        given = {node.alias: node.this for node in made.expressions}
        places = self.places(at)
        types = {"Number": "BIGINT", "Flag": "BOOLEAN", "Text": "TEXT", "Day": "DATE"}
        columns = [aliased(number(at), "part")]
        for place, (kind, i) in enumerate(self.slots):
            here = places.index(place) if place in places else None
            node = cast(exp.Null(), types[kind]) if here is None else given[f"k{here}"]
            columns.append(aliased(node, f"{kind.lower()}{i}"))
        for i in range(self.totals):
            node = given.get(f"t{i}") or exp.Null()
            columns.append(aliased(sql.widened(node), f"t{i}"))
        made.set("expressions", columns)
        return made


def _key_kinds(part: Part) -> list[Kind]:
    if part.spread is not None:
        return [Number(0, len(part.spread))]
    return [node.kind for node in part.keys]


def _width(part: Part) -> int:
    return 1 if part.people or part.spread is not None else len(part.totals)


class Reading:
    """How the rows of a statement are read: as exact integers per group, for each part.

    Args:
        parts: what the statement answers, in order.
        times: what the totals of each part have yet to be multiplied by; 1 without it.
        total: a total as an integer.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        times: Sequence[int] | None = None,
        total: Callable[[object], int] = int,  # type: ignore[assignment]
    ) -> None:
        layout = Layout(parts)
        start = 1 + len(layout.slots)
        self._total, self._several = total, len(parts) > 1
        self._plans = []
        for i, part in enumerate(parts):
            readers = [_reader(kind) for kind in layout.kinds[i]]
            places, first = list(range(len(readers))), len(readers)
            if self._several:
                places, first = [1 + place for place in layout.places(i)], start
            totals = slice(first, first + _width(part))
            keys = list(zip(places, readers, strict=True))
            self._plans.append((keys, totals, 1 if times is None else times[i]))

    def __call__(self, rows: Sequence[Sequence[object]]) -> list[Cells]:
        """One mapping for each part."""
        found: list[dict[tuple[Key, ...], tuple[int, ...]]] = [{} for _ in self._plans]
        total = self._total
        for row in rows:
            part = int(row[0]) if self._several else 0  # type: ignore[call-overload]
            keys, totals, times = self._plans[part]
            at = tuple([read(row[place]) for place, read in keys])
            found[part][at] = tuple([times * total(value) for value in row[totals]])
        return list(found)


def cells(request: Request, rows: Sequence[Sequence[object]]) -> list[Cells]:
    """The rows of a statement as exact integers per group, one mapping for each part."""
    return Reading(request.parts)(rows)


def _reader(kind: Kind) -> Callable[[object], Key]:
    match kind:
        case Number():
            return lambda v: None if v is None else int(v)  # type: ignore[call-overload]
        case Flag():
            return lambda v: None if v is None else bool(v)
        case Text():
            return lambda v: None if v is None else str(v)
        case _:
            return _as_day


def _as_day(value: object) -> Key:
    if isinstance(value, datetime):
        return value.date()
    return value if value is None or isinstance(value, date) else date.fromisoformat(str(value))
