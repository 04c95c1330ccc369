"""Add noise to exact cells: the one place where private integers become public numbers.

Guarantee. What `answered` returns has the guarantee of the priced question.
Proof. Every exact integer that is used gets the noise that `discreet.query.price` chose for it,
or goes into the selection of keys; the groups are public, or selected; the row of the others is a
group like any other once the keys are known. All else is post-processing.
Tested by tests/curator/test_answer.py
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.curator.quantiles import quantiles
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import Source
from discreet.query.plan import Aggregate, Plan
from discreet.query.price import Measured, Noise, Priced
from discreet.query.reading import Estimate, reader
from discreet.query.request import Cells
from discreet.query.schema import PerPerson, PerRow

__all__ = ["Answered", "answered"]

Key = int | bool | str | date | None
_VECTOR = Fraction(1 << 50)
"""Up to this scale noise is drawn by the vector: it cannot come near 64 bits."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The released numbers.

    Attributes:
        groups: the keys of each row as the engine holds them; None for the row of the others.
        estimates: for each aggregate one number per group.
    """

    groups: tuple[tuple[Key, ...] | None, ...]
    estimates: Mapping[Aggregate, tuple[Estimate, ...]]


def answered(
    priced: Priced, exact: Sequence[Cells], source: Source, *, confidence: Fraction
) -> Answered:
    """Select keys where they are not public, add noise to every cell, and read the answer off."""
    plan = priced.plan
    if priced.counts_keys:
        return _counted_keys(priced, exact[-1], source, confidence)
    listed = _selected(priced, exact[-1], source) if priced.selection else public_groups(plan)
    groups = (*listed, None) if plan.other and plan.groupings else listed
    estimates: dict[Aggregate, tuple[Estimate, ...]] = {}
    for place, measured in enumerate(priced.measured):
        wanted = [a for a, home in priced.home.items() if home is measured]
        estimates |= _measure(
            priced, measured, wanted, exact[place], groups, source, confidence=confidence
        )
    for aggregate, home in priced.home.items():
        if home is None:
            estimates[aggregate] = (_known(priced),)
    return Answered(groups, estimates)


def _known(priced: Priced) -> Estimate:
    """The public number of rows."""
    unit = priced.schema.unit
    rows = unit.rows if isinstance(unit, PerRow) else None
    return Estimate(rows, rows, rows, rows)


def public_groups(plan: Plan) -> tuple[tuple[Key, ...], ...]:
    """Every combination of public keys, whether or not anybody is in it.

    Each is there once: answered twice, it would cost twice.
    """
    if plan.combinations is not None:
        return tuple(dict.fromkeys(plan.combinations))
    keys = [dict.fromkeys(grouping.keys or ()) for grouping in plan.groupings]
    return tuple(product(*keys))


def _order(group: tuple[Key, ...]) -> tuple[tuple[bool, str, Key], ...]:
    """An order that depends on the keys alone."""
    return tuple((key is None, type(key).__name__, 0 if key is None else key) for key in group)


def _selected(priced: Priced, people: Cells, source: Source) -> tuple[tuple[Key, ...], ...]:
    assert priced.selection is not None  # noqa: S101 - the caller looked
    counts = _people(priced.plan, people)
    found = set(priced.selection.release(counts, source=source))
    return tuple(sorted((g for g in people if g in found), key=_order))


def _people(plan: Plan, cells: Cells) -> dict[Hashable, int]:
    """The number of people under each key whose public parts are declared ones.

    Who has no key at all belongs to the others, where there is a row of the others.
    """
    public = [None if g.keys is None else frozenset(g.keys) for g in plan.groupings]
    return {
        group: n
        for group, (n,) in cells.items()
        if all(keys is None or key in keys for keys, key in zip(public, group, strict=True))
        and not (plan.other and all(key is None for key in group))
    }


def _counted_keys(priced: Priced, people: Cells, source: Source, confidence: Fraction) -> Answered:
    selection = priced.selection
    assert selection is not None  # noqa: S101 - the caller looked
    found = selection.release(_people(priced.plan, people), counts=True, source=source)
    groups = tuple(sorted((g for g in people if g in found), key=_order))
    noise = Geometric(epsilon=selection.epsilon / selection.parts)
    width = noise.error(confidence)
    rows = [found[g] for g in groups]
    estimates = tuple(Estimate(n, max(n - width, 0), n + width, n) for n in rows)
    return Answered(groups, dict.fromkeys(priced.home, estimates))


def _grouped(
    cells: Cells, groups: Sequence[tuple[Key, ...] | None], depth: int
) -> dict[tuple[Key, ...] | None, list[tuple[tuple[Key, ...], tuple[int, ...]]]]:
    """The exact rows of each group; those of no listed group belong to the others (None)."""
    listed = set(groups)
    found: dict[tuple[Key, ...] | None, list[tuple[tuple[Key, ...], tuple[int, ...]]]] = {}
    for key, totals in cells.items():
        group = key[:depth]
        home = group if group in listed else None
        found.setdefault(home, []).append((key[depth:], totals))
    return found


def _measure(
    priced: Priced,
    measured: Measured,
    wanted: Sequence[Aggregate],
    cells: Cells,
    groups: Sequence[tuple[Key, ...] | None],
    source: Source,
    *,
    confidence: Fraction,
) -> dict[Aggregate, tuple[Estimate, ...]]:
    rows = _grouped(cells, groups, len(priced.plan.groupings))
    if measured.block.what == "quantile":
        return _quantiles(measured, wanted, rows, groups, source, confidence=confidence)
    noisy = _noisy_cells(measured, rows, groups, source)
    unit = priced.schema.unit
    known = unit.rows if isinstance(unit, PerRow) else unit.people
    if isinstance(unit, PerPerson) and measured.block.what != "people":
        known = None  # a person may have many rows
    limits = [known if group is not None or isinstance(unit, PerRow) else None for group in groups]
    return {
        aggregate: tuple(map(reader(aggregate, measured, confidence=confidence), noisy, limits))
        for aggregate in wanted
    }


def _noisy_cells(
    measured: Measured,
    rows: Mapping[tuple[Key, ...] | None, Sequence[tuple[object, tuple[int, ...]]]],
    groups: Sequence[tuple[Key, ...] | None],
    source: Source,
) -> list[tuple[int, ...]]:
    """For each group the cells with their noise."""
    columns = []
    for cell, noise in zip(measured.block.cells, measured.noise, strict=True):
        drawn = draws(noise, len(groups), source)
        column = []
        for group, z in zip(groups, drawn, strict=True):
            exact = sum(
                factor * n
                for _, totals in rows.get(group, ())
                for factor, n in zip(cell.of, totals, strict=True)
            )
            column.append(exact + z)
        columns.append(column)
    return list(zip(*columns, strict=True))


def draws(noise: Noise, size: int, source: Source) -> list[int]:
    """Independent noise for this many numbers."""
    sigma_squared = Fraction(noise.variance) if noise.variance < 1e300 else _VECTOR**2
    if sigma_squared >= _VECTOR**2:
        return noise.release([0] * size, source=source)
    drawn: list[int] = noise.release(np.zeros(size, dtype=np.int64), source=source).tolist()
    return drawn


def _quantiles(
    measured: Measured,
    wanted: Sequence[Aggregate],
    rows: Mapping[tuple[Key, ...] | None, Sequence[tuple[tuple[Key, ...], tuple[int, ...]]]],
    groups: Sequence[tuple[Key, ...] | None],
    source: Source,
    *,
    confidence: Fraction,
) -> dict[Aggregate, tuple[Estimate, ...]]:
    found = []
    for group in groups:
        histogram: dict[int, int] = {}
        for (place,), (n,) in rows.get(group, ()):
            if place is not None:  # a missing value is in no bin
                histogram[int(place)] = histogram.get(int(place), 0) + n  # type: ignore[arg-type]
        found.append(quantiles(measured, histogram, source, confidence=confidence))
    return {a: tuple(row[a.level] for row in found if a.level is not None) for a in wanted}
