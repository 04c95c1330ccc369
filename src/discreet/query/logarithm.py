"""Logarithms in integers: a table of chords, the same on every engine to the last digit.

Engines compute LN with their own libraries, whose last digits differ, and a sum of such floats
depends on the order of the rows. Here ln x is read off chords of the curve between public knots,
in integer arithmetic on a grid of 2^-20.

Error. Between knots a < b the chord lies below ln by at most (ln(b/a))^2/8, plus two steps of the
grid for rounding. (With u = ln(b/a), the largest gap of the chord of ln on [a, b] is
m - 1 - ln m, m = u/(e^u - 1), which is at most u^2/8 for 0 < u <= 1.) With `SEGMENTS` equal ratios
over a range of ln(high/low) = R this is about R^2/(8 SEGMENTS^2); knots are whole numbers, and
among small ones a little further apart: from 1 to 1,000,000 the bound of `chord_error` is 0.0035.
Tested by tests/query/test_logarithm.py
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from discreet.errors import QueryError
from discreet.exact import exp, log
from discreet.query.kinds import WIDEST, Number
from discreet.remembered import remembered

__all__ = ["GRID", "SEGMENTS", "chord_error", "chords"]

GRID = Fraction(1, 1 << 20)
SEGMENTS = 128
_BITS = 128


@remembered(64)
def chords(kind: Number) -> tuple[tuple[int, ...], tuple[int, ...], Fraction]:
    """The knots n_i, the levels floor(ln(n_i grid)/GRID), and GRID, for a positive number."""
    knots = _knots(kind.low, kind.high)
    levels = tuple(_level(n * kind.grid) for n in knots)
    for (a, b), (c, d) in zip(_steps(knots), _steps(levels), strict=True):
        if (b - a) * (d - c) > WIDEST:
            raise QueryError("LN over so wide a range would overflow; declare tighter bounds")
    return knots, levels, GRID


def _steps(values: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(itertools.pairwise(values)) or [(values[0], values[0])]


def _knots(low: int, high: int) -> tuple[int, ...]:
    """Whole numbers from low to high, about equal ratios apart, strictly rising."""
    if low == high:
        return (low,)
    span = log(Fraction(high, low), _BITS).upper
    found = {low, high}
    for i in range(1, SEGMENTS):
        found.add(min(max(int(low * exp(span * i / SEGMENTS, _BITS).lower), low), high))
    return tuple(sorted(found))


def _level(value: Fraction) -> int:
    """floor(ln(value)/GRID), by certified bounds; at a tie of 128 bits either is a valid level."""
    return int(log(value, _BITS).lower / GRID // 1) if value != 1 else 0


def chord_error(kind: Number) -> Fraction:
    """How far off one logarithm can be, at most."""
    knots = _knots(kind.low, kind.high)
    worst = Fraction(0)
    for a, b in _steps(knots):
        if b > a + 1:  # neighbouring integers have no number between them
            worst = max(worst, log(Fraction(b, a), _BITS).upper ** 2 / 8)
    return worst + 2 * GRID
