"""Releases that add up: parts moved as little as possible to a published total.

Post-processing of released numbers: it looks at nothing private and costs nothing. Which numbers
are nearest, and why, is in `discreet.mechanisms.nearest`.
Tested by tests/curator/test_consistent.py
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.curator.values import Value, visible
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import whole
from discreet.mechanisms.nearest import adding_up
from discreet.privacy.compose import sequential

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["with_sums"]

Key = tuple[tuple[type, Value], ...]


def with_sums(release: Release, total: int | Release, column: str) -> Release:
    """A release whose column adds up to a total, or to the groups of a coarser release.

    The parts start from the raw noisy values where there are some: clamping them first would push
    small groups up. Intervals stay: they say where the truth lies, which adding up does not move.

    What is promised. With a number, the same as before. With another release, the result tells
    about both, so its guarantee and its losses are those of both together.
    """
    if any(isinstance(value, float) for value in release[column]):
        problem = "must hold whole numbers, such as counts; means do not add up"
        raise ParameterError("column", column, problem)
    noisy = _parts(release, column)
    groups: dict[Key, list[int]] = {(): list(range(len(release)))}
    made = release
    if isinstance(total, type(release)):
        made = _together(release, total)
        groups = _grouped(release, total.keys)
        sums = _sums(total, column, groups)
    else:
        sums = {(): whole(total, name="total", at_least=0)}
    fitted: list[Value] = [None] * len(release)
    for group, places in groups.items():
        parts = adding_up([noisy[i] for i in places], sums[group])
        for i, part in zip(places, parts, strict=True):
            fitted[i] = part
    place = release.columns.index(column)
    rows = tuple(
        (*row[:place], value, *row[place + 1 :])
        for row, value in zip(release.rows, fitted, strict=True)
    )
    how = f"{release.mechanisms.get(column, 'released')}; then moved to add up"
    mechanisms = MappingProxyType({**release.mechanisms, column: how})
    steps = (*release.steps, f"{column} adds up to {_said(total)}")
    return replace(made, rows=rows, mechanisms=mechanisms, steps=steps)


def _parts(release: Release, column: str) -> list[int | float]:
    """The noisy values, or the finished ones where there are no raw ones."""
    finished = release[column]
    raw = release.raw.get(column, (None,) * len(release))
    parts: list[int | float] = []
    for before, after in zip(raw, finished, strict=True):
        value = after if before is None else before
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError("column", column, "must hold a number in every row to add up")
        parts.append(value)
    return parts


def _together(release: Release, total: Release) -> Release:
    """The release with the promises of both; the total must be a coarser one."""
    strange = [key for key in total.keys if key not in release.keys]
    if strange:
        some = ", ".join(release.keys) or "nothing"
        raise ParameterError("total", strange, f"must be grouped by some of {some} only")
    guarantee = sequential(release.guarantee, total.guarantee)
    return replace(release, guarantee=guarantee, losses=release.losses + total.losses)


def _key(row: dict[str, Value], keys: tuple[str, ...]) -> Key:
    return tuple((type(row[key]), row[key]) for key in keys)


def _grouped(release: Release, keys: tuple[str, ...]) -> dict[Key, list[int]]:
    """The rows under each key of the coarser release."""
    groups: dict[Key, list[int]] = {}
    for place, row in enumerate(release):
        groups.setdefault(_key(row, keys), []).append(place)
    return groups


def _sums(total: Release, column: str, groups: dict[Key, list[int]]) -> dict[Key, int]:
    """The published total of each group; each has one row, and parts."""
    keys = total.keys
    found: dict[Key, int] = {}
    for row, value in zip(total, _totals(total, column), strict=True):
        key = _key(row, keys)
        if key in found:
            raise UnsupportedError(
                f"the total has two rows for {_named(keys, key)}, so it is not known which one the "
                "parts should add up to"
            )
        found[key] = _whole(value, _named(keys, key))
        if key not in groups and found[key]:
            raise UnsupportedError(
                f"nothing can add up to the total of {_named(keys, key)}: it has no parts here; "
                "leave that row out of the total with .map(...)"
            )
    for key in groups:
        if key not in found:
            raise UnsupportedError(
                f"the total has no row for {_named(keys, key)}; leave those parts out with "
                ".map(...), or ask for the total with every key"
            )
    return found


def _whole(value: Value, name: str) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return whole(value, name=f"the total of {name}", at_least=0)
    raise ParameterError(f"the total of {name}", None, "must be a number for parts to add up to")


def _totals(total: Release, column: str) -> list[Value]:
    """The column of that name, or the only one."""
    if column in total.columns:
        return total[column]
    numbers = [name for name in total.columns if name not in total.keys]
    if len(numbers) != 1:
        raise ParameterError("total", ", ".join(numbers), f"must have a column {column!r}")
    return total[numbers[0]]


def _named(keys: tuple[str, ...], key: Key) -> str:
    told = (f"{n} {visible(str(v))}" for n, (_, v) in zip(keys, key, strict=True))
    return ", ".join(told) or "everybody"


def _said(total: int | Release) -> str:
    keys: tuple[str, ...] | None = getattr(total, "keys", None)
    if keys is None:
        return f"{total:,}"
    return f"the total by {', '.join(keys)}" if keys else "the published total"
