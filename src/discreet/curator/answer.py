"""Add noise to exact cells: the one place where private integers become public numbers.

Guarantee. What `answered` returns has the guarantee of the priced question.
Proof. Every exact integer that is used gets the noise that `discreet.query.price` chose for it,
or goes into the selection of keys; the groups are public, or selected; the row of the others is a
group like any other once the keys are known. All else is post-processing.

Guarantee. What `coarsened` returns has exactly the law of a new answer to the coarser question, for
every table, and costs nothing beyond the answer that its cells were released with.
Proof. By the theorem of `discreet.mechanisms.gradual` every cell has the noise that the coarser
question chose for it, independently of all other cells, and the answer is read off the cells in the
same way.
Tested by tests/curator/test_answer.py
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.gradual import Coarsening
from discreet.noise.source import Source
from discreet.query.plan import Aggregate, Plan
from discreet.query.price import Measured, Noise, Priced
from discreet.query.reading import Estimate, reader
from discreet.query.request import Cells
from discreet.query.schema import PerPerson, PerRow
from discreet.remembered import remembered

__all__ = [
    "Answered",
    "Finer",
    "NoisyCells",
    "Steps",
    "answered",
    "can_be_coarser",
    "coarsened",
    "finer_of",
    "geometric_noise",
    "steps_between",
]

Key = int | bool | str | date | None
NoisyCells = tuple[tuple[tuple[int, ...], ...], ...]
"""For each measurement, for each group, the noisy integers that all its numbers are read off."""
Steps = tuple[tuple[Coarsening, ...], ...]
"""For each measurement and each of its cells the noise that makes it coarser."""
_VECTOR = Fraction(1 << 50)
"""Up to this scale noise is drawn by the vector: it cannot come near 64 bits."""
_FEW = 16
"""Up to this many numbers are drawn one by one, which takes less time than a short vector."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The released numbers.

    Attributes:
        groups: the keys of each row as the engine holds them; None for the row of the others.
        estimates: for each aggregate one number per group.
        cells: what all of it was read off, where that can be made coarser; public like the rest.
    """

    groups: tuple[tuple[Key, ...] | None, ...]
    estimates: Mapping[Aggregate, tuple[Estimate, ...]]
    cells: NoisyCells | None = None


@dataclass(frozen=True, slots=True)
class Finer:
    """The cells of a finer answer, and what makes them those of a coarser one."""

    cells: NoisyCells
    steps: Steps


def answered(
    priced: Priced, exact: Sequence[Cells], source: Source, *, confidence: Fraction
) -> Answered:
    """Select keys where they are not public, add noise to every cell, and read the answer off."""
    plan = priced.plan
    if priced.counts_keys:
        return _counted_keys(priced, exact[-1], source, confidence)
    if priced.selection:
        groups = _with_others(plan, _selected(priced, exact[-1], source))
    else:
        groups = priced.once("groups", lambda: _with_others(plan, public_groups(plan)))
    estimates, kept = _known(priced), []
    for place, measured in enumerate(priced.measured):
        cells, depth = exact[place], len(plan.groupings)
        if measured.block.what == "quantile":
            wanted, rows = _read_from(priced, measured), _grouped(cells, groups, depth)
            estimates |= _quantiles(measured, wanted, rows, groups, source, confidence=confidence)
            continue
        noisy = _noisy_cells(measured, _totals(cells, groups, depth), groups, source)
        estimates |= _estimates(priced, measured, noisy, groups, confidence)
        kept.append(noisy)
    return Answered(groups, estimates, tuple(kept) if can_be_coarser(priced) else None)


def coarsened(priced: Priced, finer: Finer, source: Source, *, confidence: Fraction) -> Answered:
    """The answer to a coarser question, from the cells of a finer one and the noise they lack."""
    groups = _with_others(priced.plan, public_groups(priced.plan))
    estimates = _known(priced)
    for measured, cells, steps in zip(priced.measured, finer.cells, finer.steps, strict=True):
        columns = zip(*cells, strict=True)
        moved = [step.release(c, source=source) for step, c in zip(steps, columns, strict=True)]
        noisy = tuple(zip(*moved, strict=True))
        estimates |= _estimates(priced, measured, noisy, groups, confidence)
    return Answered(groups, estimates)


def finer_of(cells: NoisyCells, fine: Priced, coarse: Priced) -> Finer | None:
    """Cells that were released for one question, for a coarser one; None if they do not serve."""
    steps = steps_between(fine, coarse)
    if steps is None:
        return None
    groups = len(_with_others(fine.plan, public_groups(fine.plan)))
    wanted = [[len(measured.noise)] * groups for measured in fine.measured]
    if [[len(row) for row in rows] for rows in cells] != wanted:
        return None
    return Finer(cells, steps)


def steps_between(fine: Priced, coarse: Priced) -> Steps | None:
    """What makes an answer to one question an answer to a coarser one; None if nothing does.

    They must differ in their noise alone, and all of it must be geometric, and no narrower in the
    coarser one. This depends on the two questions, hence on nothing private.
    """
    narrow, wide = geometric_noise(fine), geometric_noise(coarse)
    if narrow is None or wide is None or _but_for_noise(fine) != _but_for_noise(coarse):
        return None
    pairs = [list(zip(*both, strict=True)) for both in zip(narrow, wide, strict=True)]
    if any(one.rate < other.rate for both in pairs for one, other in both):
        return None
    return tuple(tuple(Coarsening(one, other) for one, other in both) for both in pairs)


def geometric_noise(priced: Priced) -> tuple[tuple[Geometric, ...], ...] | None:
    """The noise of every cell, if all of an answer is read off cells of public groups and all of
    their noise is geometric: then it can be made coarser.
    """
    if priced.selection is not None or not priced.measured:
        return None
    found = []
    for measured in priced.measured:
        noise = tuple(n for n in measured.noise if isinstance(n, Geometric))
        if measured.block.what == "quantile" or len(noise) < len(measured.noise):
            return None
        found.append(noise)
    return tuple(found)


def can_be_coarser(priced: Priced) -> bool:
    """Whether there can be an answer to a coarser question that is made of this one's."""
    return priced.once("coarser", lambda: geometric_noise(priced) is not None)


def _but_for_noise(priced: Priced) -> tuple[object, ...]:
    """All that an answer depends on, apart from the noise."""
    blocks = [(m.block, m.stability) for m in priced.measured]
    return priced.plan, priced.schema, priced.request, blocks, list(priced.home)


def _with_others(
    plan: Plan, listed: tuple[tuple[Key, ...], ...]
) -> tuple[tuple[Key, ...] | None, ...]:
    return (*listed, None) if plan.other and plan.groupings else listed


def _read_from(priced: Priced, measured: Measured) -> list[Aggregate]:
    return [a for a, home in priced.home.items() if home is measured]


def _known(priced: Priced) -> dict[Aggregate, tuple[Estimate, ...]]:
    """The public number of rows, where it was asked for."""
    unit = priced.schema.unit
    rows = unit.rows if isinstance(unit, PerRow) else None
    told = Estimate(rows, rows, rows, rows)
    return {aggregate: (told,) for aggregate, home in priced.home.items() if home is None}


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


def _estimates(
    priced: Priced,
    measured: Measured,
    noisy: Sequence[tuple[int, ...]],
    groups: Sequence[tuple[Key, ...] | None],
    confidence: Fraction,
) -> dict[Aggregate, tuple[Estimate, ...]]:
    """All numbers of a measurement, read off its noisy cells."""
    unit = priced.schema.unit
    known = unit.rows if isinstance(unit, PerRow) else unit.people
    if isinstance(unit, PerPerson) and measured.block.what != "people":
        known = None  # a person may have many rows
    limits = [known if group is not None or isinstance(unit, PerRow) else None for group in groups]
    readers = priced.once(
        ("readers", id(measured), confidence),
        lambda: [
            (aggregate, reader(aggregate, measured, confidence=confidence))
            for aggregate in _read_from(priced, measured)
        ],
    )
    return {aggregate: tuple(map(reads, noisy, limits)) for aggregate, reads in readers}


def _totals(
    cells: Cells, groups: Sequence[tuple[Key, ...] | None], depth: int
) -> list[Sequence[tuple[int, ...]]]:
    """The exact integers of each group; looked up where a key is a group, and none is wanted of
    the others.
    """
    if None not in groups and {depth}.issuperset(map(len, cells)):
        found = [cells.get(group) for group in groups]  # type: ignore[arg-type]
        return [() if totals is None else (totals,) for totals in found]
    rows = _grouped(cells, groups, depth)
    return [[totals for _, totals in rows.get(group, ())] for group in groups]


def _noisy_cells(
    measured: Measured,
    rows: Sequence[Sequence[tuple[int, ...]]],
    groups: Sequence[tuple[Key, ...] | None],
    source: Source,
) -> tuple[tuple[int, ...], ...]:
    """For each group the cells with their noise."""
    columns = []
    for cell, noise in zip(measured.block.cells, measured.noise, strict=True):
        column = draws(noise, len(groups), source)
        counted = [(place, factor) for place, factor in enumerate(cell.of) if factor]
        for at, each in enumerate(rows):
            for totals in each:
                for place, factor in counted:
                    column[at] += factor * totals[place]
        columns.append(column)
    return tuple(zip(*columns, strict=True))


def draws(noise: Noise, size: int, source: Source) -> list[int]:
    """Independent noise for this many numbers.

    Of one law, whichever way it is drawn. The way depends on the noise and on how many numbers
    there are, so that a question that is resumed under its key has the noise that it had: all
    processes on a ledger have to be of one version for that.
    """
    if size <= _FEW or _is_wide(noise):
        return noise.release([0] * size, source=source)
    drawn: list[int] = noise.release(np.zeros(size, dtype=np.int64), source=source).tolist()
    return drawn


@remembered(256)
def _is_wide(noise: Noise) -> bool:
    """Whether noise may be too large for machine integers: the law says, and it is public."""
    return noise.variance >= float(_VECTOR) ** 2


def _quantiles(
    measured: Measured,
    wanted: Sequence[Aggregate],
    rows: Mapping[tuple[Key, ...] | None, Sequence[tuple[tuple[Key, ...], tuple[int, ...]]]],
    groups: Sequence[tuple[Key, ...] | None],
    source: Source,
    *,
    confidence: Fraction,
) -> dict[Aggregate, tuple[Estimate, ...]]:
    from discreet.curator.quantiles import quantiles  # noqa: PLC0415 - few questions have any

    found = []
    for group in groups:
        histogram: dict[int, int] = {}
        for (place,), (n,) in rows.get(group, ()):
            if place is not None:  # a missing value is in no bin
                histogram[int(place)] = histogram.get(int(place), 0) + n  # type: ignore[arg-type]
        found.append(quantiles(measured, histogram, source, confidence=confidence))
    return {a: tuple(row[a.level] for row in found if a.level is not None) for a in wanted}
