"""Find what the owner did not declare, privately, at a stated cost: bounds and rows per person.

Bounds. A histogram over public bins, the powers of two of either sign, in which every person counts
once in all; each bin gets geometric noise of scale 1/epsilon. The bounds are the outer edges of the
lowest and highest bin above a threshold that an empty bin passes with a chance of at most 1 in 100
over all bins together (P(noise >= t) <= exp(-epsilon t)). Values beyond are clamped afterwards.

Rows per person. A histogram of people by their number of rows, over powers of two; a person is in
one bin. Bins that do not pass the threshold count as empty; the number chosen is the smallest power
that covers 99 % of the rest.

Guarantee. Epsilon each: a person changes one bin by one (two bins if replaced, and h times that for
households; the noise is scaled). What is chosen is post-processing.
Tested by tests/curator/test_find.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.curator.answer import draws
from discreet.errors import NothingFoundError
from discreet.exact import shown
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import Source
from discreet.query import total
from discreet.query.expr import Column, Expr
from discreet.query.request import Bounding, Cells, Part, Request, Total
from discreet.query.schema import Bounds, PerPerson, PerRow, Schema, Unit

__all__ = ["bounds_from", "bounds_request", "find_noise", "rows_from", "rows_request"]

RISK = 100
"""Over all empty bins together, one search in this many takes one for a used one."""
COVERED = Fraction(99, 100)
_FINE, _TOP = 20, 40  # reals are looked at on a grid of 2^-20 up to 2^40
_SPREAD = tuple(1 << i for i in range(31))


def _provisional(schema: Schema, column: str) -> Bounds:
    """Public bounds so wide that they only serve to look."""
    if schema.storage.get(column) == "integer":
        return Bounds(-(1 << 60), 1 << 60, grid=1)
    return Bounds(-(1 << _TOP), 1 << _TOP, grid=Fraction(1, 1 << _FINE))


def _edges() -> list[int]:
    """In steps of the provisional grid: -2^60 .. -1, 1, 2 .. 2^60; bin i is below edges[i]."""
    powers = [1 << i for i in range(61)]
    return [*(-p for p in reversed(powers)), *powers]


def _looking(schema: Schema, column: str) -> Schema:
    return replace(schema, columns={**schema.columns, column: _provisional(schema, column)})


def bounds_request(schema: Schema, column: str) -> Request:
    """How much weight of people lies in each bin; a person's rows count as one in all."""
    looking = _looking(schema, column)
    value = Column(column, looking.kind(column))
    grid = total.number(value, "finding bounds").grid
    whens: list[tuple[Expr, Expr]] = [
        (total.compare("<", value, total.constant(edge * grid)), total.constant(i))
        for i, edge in enumerate(_edges())
    ]
    binned = total.case(whens, total.constant(len(whens)))
    key = total.case([(total.is_null(value), total.constant(None))], binned)
    part = Part((key,), (Total(),), _once(schema.unit))
    return Request(looking, None, (part,))


def _once(unit: Unit) -> Bounding:
    if isinstance(unit, PerRow) or (unit.trusted and unit.max_rows == 1):
        return Bounding("none")
    return Bounding("weight", 1, None, 1 << 20)


def find_noise(unit: Unit, epsilon: Fraction, *, scale: int = 1) -> Geometric:
    """The noise of every bin of either search."""
    moved = unit.together * (2 if unit.neighbours == "replace" else 1) * scale
    return Geometric(epsilon=epsilon, sensitivity=moved, neighbours=unit.neighbours)


def bounds_from(
    schema: Schema, column: str, cells: Cells, epsilon: Fraction, source: Source
) -> Bounds:
    """The bounds that the noisy bins show; NothingFoundError if none stands out."""
    scale = _once(schema.unit).scale
    noise, edges = find_noise(schema.unit, epsilon, scale=scale), _edges()
    bins = len(edges) + 1
    exact = [cells.get((i,), (0,))[0] for i in range(bins)]
    noisy = [n + z for n, z in zip(exact, draws(noise, bins, source), strict=True)]
    used = [i for i, n in enumerate(noisy) if n > _threshold(noise, bins)]
    if not used:
        raise NothingFoundError(
            f"no bounds of {column!r} stand out from the noise at epsilon {shown(epsilon)}, which "
            "was spent; declare them, or find them with a larger epsilon"
        )
    grid = _provisional(schema, column).grid
    outer = [edges[0] * 2, *edges, edges[-1] * 2]
    low, high = outer[used[0]] * grid, outer[used[-1] + 1] * grid
    step = Fraction(1) if schema.storage.get(column) == "integer" else _step(high - low, grid)
    return Bounds(_outward(low, step, -1), _outward(high, step, 1), step)


def _threshold(noise: Geometric, bins: int) -> int:
    """What no empty bin passes, but for one search in `RISK`."""
    return math.ceil(math.log(bins * RISK) / float(noise.rate))


def _step(width: Fraction, finest: Fraction) -> Fraction:
    """A power of two, about a millionth of the width."""
    step = finest
    while step * (1 << 20) < width:
        step *= 2
    return step


def _outward(value: Fraction, step: Fraction, way: int) -> Fraction:
    steps = value / step
    return (math.floor(steps) if way < 0 else math.ceil(steps)) * step


def rows_request(schema: Schema) -> Request:
    """How many people have how many rows."""
    part = Part((), (), Bounding("none"), spread=_SPREAD)
    return Request(schema, None, (part,))


def rows_from(unit: PerPerson, cells: Cells, epsilon: Fraction, source: Source) -> int:
    """The number of rows that covers 99 % of the people, as far as the noise shows."""
    bins = len(_SPREAD) + 1
    noise = find_noise(unit, epsilon)
    exact = [cells.get((i,), (0,))[0] for i in range(bins)]
    noisy = [n + z for n, z in zip(exact, draws(noise, bins, source), strict=True)]
    sure = [n if n > _threshold(noise, bins) else 0 for n in noisy]
    if not any(sure):
        raise NothingFoundError(
            f"no number of rows per person stands out from the noise at epsilon {shown(epsilon)}, "
            "which was spent; declare max_rows, or find it with a larger find_epsilon"
        )
    return _covering(sure)


def _covering(counts: Sequence[int]) -> int:
    aim, below = COVERED * sum(counts), 0
    for most, count in zip(_SPREAD, counts, strict=False):
        below += count
        if below >= aim:
            return most
    return _SPREAD[-1]
