"""Releases of one shape: what they have in common is checked, and written as text, once.

Questions that differ in what WHERE says have answers that differ in their numbers, their SQL and
their time. All else of them is public before the first of them is charged.

Guarantee. `Shared.release` is equal to the `Release` of the same values, and its line of text is
`in_one_line(as_dict(release))`.
Proof. What is shared went through `Release` itself, with no rows. Of what is not shared it checks
the names of columns, which are the same; lengths, which are equal because all is read off the
same groups; values, which are finished here by the same functions; and the time, likewise. The
text of what is shared is cut from `as_dict` of the first release with columns of the same kinds.
Tested by tests/curator/test_shared.py
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain
from types import MappingProxyType
from typing import Any

from discreet.curator.release import Release, finished_ends, finished_values
from discreet.curator.stored import fixed_line
from discreet.curator.values import Kind, Value, are_finished, are_there

__all__ = ["Shared"]

Rows = tuple[tuple[Value, ...], ...]
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_put = object.__setattr__


class Shared:
    """Makes releases that differ in their numbers, their SQL and their time.

    Args:
        common: all other attributes of a release.
    """

    __slots__ = ("_first", "_lines")

    def __init__(self, **common: Any) -> None:
        self._first = Release(rows=(), intervals={}, raw={}, sql="", asked_at=_NEVER, **common)
        self._lines: dict[tuple[Kind, ...], str] = {}

    def release(
        self,
        *,
        rows: Rows,
        intervals: Mapping[str, tuple[Any, ...]],
        raw: Mapping[str, tuple[Any, ...]],
        sql: str,
        asked_at: datetime,
    ) -> Release:
        """A release; everything is of the groups of one question, in their order."""
        first, made = self._first, object.__new__(Release)
        if asked_at.tzinfo is not UTC:
            asked_at = first.in_utc(asked_at)
        _put(made, "columns", first.columns)
        _put(made, "keys", first.keys)
        _put(made, "rows", _rows(first.columns, rows))
        _put(made, "intervals", MappingProxyType({n: _ends(n, intervals[n]) for n in intervals}))
        _put(made, "raw", MappingProxyType({n: finished_values(raw[n], where=n) for n in raw}))
        _put(made, "guarantee", first.guarantee)
        _put(made, "losses", first.losses)
        _put(made, "sql", sql)
        _put(made, "mechanisms", first.mechanisms)
        _put(made, "confidence", first.confidence)
        _put(made, "covers", first.covers)
        _put(made, "notes", first.notes)
        _put(made, "asked_at", asked_at)
        _put(made, "steps", first.steps)
        _put(made, "published", first.published)
        _put(made, "shared", self)
        return made

    def line(self, release: Release, kinds: tuple[Kind, ...]) -> str:
        """The text that all releases of one shape, with columns of these kinds, share."""
        found = self._lines.get(kinds)
        if found is None:
            found = self._lines[kinds] = fixed_line(release)
        return found


def _rows(columns: tuple[str, ...], rows: Rows) -> Rows:
    if are_finished(chain.from_iterable(rows)):
        return rows
    listed = zip(columns, zip(*rows, strict=True), strict=True)
    made = [finished_values(values, where=name) for name, values in listed]
    return tuple(zip(*made, strict=True))


def _ends(name: str, pairs: tuple[Any, ...]) -> tuple[Any, ...]:
    """An interval without any bound is None, which only missing ends can make it."""
    if None not in pairs and are_there(chain.from_iterable(pairs)):
        return pairs
    return finished_ends(pairs, where=name)
