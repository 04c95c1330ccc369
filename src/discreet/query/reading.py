"""From noisy cells to the numbers that were asked for, with intervals: free post-processing.

Every number is a sum of factors times noisy cells (`Form`), or a ratio of two. Intervals cover the
noise only, each with its own confidence:

* one cell: the exact law of its noise;
* several, where their noise is narrow: the exact law, listed;
* several: for geometric noise, the law of a sum of Laplace variables, by its moment generating
  function; each geometric variable is within 1 of a Laplace variable of the same scale (it is the
  difference of two exponentials, each rounded down), so the sum of |factors| is added. For Gaussian
  noise, the normal law and half a step for each cell. Or, where that is less, all cells are within
  their own widths together, with the risk shared equally;
* a mean or a variance: all its cells are within their widths together, with the risk shared
  equally; the extremes over that box.

A mean that is not determined at all (too few rows against the noise) has the declared range as its
interval and the middle as its value, which says that nothing was learnt.
Tested by tests/query/test_reading.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.sums import laplace_sum
from discreet.query.blocks import BRANCHES, Block, Form, number_of_bins
from discreet.query.kinds import Number
from discreet.query.plan import Aggregate
from discreet.query.price import Measured, Noise, variance_of
from discreet.remembered import remembered

if TYPE_CHECKING:
    from discreet.mechanisms.selection import PermuteAndFlip

__all__ = [
    "Estimate",
    "count_form",
    "half_width",
    "read",
    "standard_deviation",
    "sum_form",
    "used_by",
    "width_of",
]

Value = int | float | None
_RAREST = Fraction(1, 10**30)
"""Below this risk floats do not tell the tail of a sum."""
MOST_LISTED = 1 << 17
"""The law of several cells is listed if it has no more outcomes than this."""
_LEFT_OUT = Fraction(1, 10**7)
"""How much of the law of each cell the list may leave out."""


class Estimate(NamedTuple):
    """One released number.

    Attributes:
        value: as a reader wants it: counts whole and never negative, means inside their bounds.
        low, high: the ends of the interval; None where there is none.
        raw: what the noisy cells say, untouched.
    """

    value: Value
    low: Value
    high: Value
    raw: Value


def read(
    wanted: Aggregate,
    measured: Measured,
    cells: Sequence[int],
    *,
    confidence: Fraction,
    rows: int | None = None,
) -> Estimate:
    """One aggregate of one group, from the noisy cells of its block.

    `rows` is the number of rows where it is public, or of people where these are counted: counts
    are no larger.
    """
    return reader(wanted, measured, confidence=confidence)(cells, rows)


Reader = Callable[[Sequence[int], int | None], Estimate]


def reader(wanted: Aggregate, measured: Measured, *, confidence: Fraction) -> Reader:
    """`read` for many groups: what depends on the noise alone is found once."""
    if measured.block.what == "centred":
        width = error_of(measured.noise[0], confidence)
        return partial(_around_the_middle, wanted.function, measured.block.kind, width)
    match wanted.function:
        case "count" | "people":
            form = count_form(wanted, measured)
            return partial(_count, *_in_integers(measured, form, confidence))
        case "sum":
            return _summing(measured, confidence)
        case "mean":
            return partial(_mean, measured.block, _together(measured, confidence))
        case "product":
            return partial(_exponential, _summing(measured, confidence))
        case "geometric_mean":
            mean = partial(_mean, measured.block, _together(measured, confidence))
            return partial(_exponential, mean)
        case _:
            widths = _together(measured, confidence)
            return partial(_spread, wanted.function, measured.block.kind, widths)


def _plain(value: Fraction | float) -> int | float:
    """A whole number stays one."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return float(value)


def count_form(wanted: Aggregate, measured: Measured) -> Form:
    """All rows, or those where the operand is there. (What cannot miss is in every row.)"""
    misses = wanted.operand is not None and wanted.operand.kind.nullable
    return measured.block.forms["count" if misses else "rows"]


def _in_integers(
    measured: Measured, form: Form, confidence: Fraction
) -> tuple[tuple[int, ...], int, int]:
    """The factors of a form and its half-width as multiples of one fraction 1/below, and below."""
    factors = [f / measured.scale for f in form.factors]
    width = half_width(measured, form, confidence)
    below = math.lcm(width.denominator, *(f.denominator for f in factors))
    return tuple(int(f * below) for f in factors), int(width * below), below


def _count(
    factors: Sequence[int], width: int, below: int, cells: Sequence[int], most: int | None
) -> Estimate:
    n = sum(map(mul, factors, cells))
    value = (2 * n + below) // (
        2 * below
    )  # the ends are as far from it as from n, rounded outwards
    rest = n - value * below
    reach = -(-(width + (rest if rest > 0 else -rest)) // below)
    low, high = value - reach, value + reach
    if most is not None:
        value, low, high = min(value, most), min(low, most), min(high, most)
    if low < 0:  # the least of the three
        value, low, high = max(value, 0), 0, max(high, 0)
    return Estimate(value, low, high, n // below if n % below == 0 else n / below)


def _nearest(n: int, below: int) -> int:
    return (2 * n + below) // (2 * below)


def _divided(n: int, below: int) -> int | float:
    """The quotient; a whole number stays one."""
    found, rest = divmod(n, below)
    return n / below if rest else found


def sum_form(measured: Measured) -> Form:
    """The sum in steps of the grid, as a form."""
    forms, kind = measured.block.forms, measured.block.kind
    if "sum" in forms:
        return forms["sum"]
    first, count = forms["first"].factors, forms["count"].factors
    return Form(tuple(f + kind.low * c for f, c in zip(first, count, strict=True)))


def _summing(measured: Measured, confidence: Fraction) -> Reader:
    numbers = _in_integers(measured, sum_form(measured), confidence)
    return partial(_sum, numbers, measured.block.kind.grid)


def _sum(
    numbers: tuple[tuple[int, ...], int, int],
    grid: Fraction,
    cells: Sequence[int],
    _: int | None,
) -> Estimate:
    factors, width, below = numbers
    n, times = sum(map(mul, factors, cells)), grid.numerator
    value = _divided(_nearest(n, below) * times, grid.denominator)
    below *= grid.denominator
    low, high = ((n + way * width) * times / below for way in (-1, 1))
    return Estimate(value, low, high, _divided(n * times, below))


def _around_the_middle(
    function: str, kind: Number, width: int, cells: Sequence[int], rows: int | None
) -> Estimate:
    """The cell is the sum of 2t - D: the sum is rows (low + D/2) + cell/2, in steps."""
    assert rows is not None  # noqa: S101 - it is public, or nothing would be centred
    (cell,) = cells
    middle = Fraction(kind.low + kind.high, 2)
    ends = [rows * middle + Fraction(c, 2) for c in (cell, cell - width, cell + width)]
    over = 1 if function in ("sum", "product") else rows
    raw, low, high = (end * kind.grid / over for end in ends)
    if function == "sum":
        snapped = Fraction(round(raw / kind.grid)) * kind.grid
        return Estimate(_plain(snapped), float(low), float(high), _plain(raw))
    least, most = kind.least * rows / over, kind.most * rows / over
    inside = [float(min(max(v, least), most)) for v in (raw, low, high)]
    if function == "mean":
        return Estimate(inside[0], inside[1], inside[2], float(raw))
    value, low_end, high_end = (_exp(v) for v in inside)
    return Estimate(value, low_end, high_end, _exp(float(raw)))


def _together(measured: Measured, confidence: Fraction) -> list[int]:
    """How far off the cells of the values are, all of them at once, with this confidence."""
    parts = measured.block.degree + 1
    return [error_of(noise, 1 - (1 - confidence) / parts) for noise in measured.noise[:parts]]


def _box(cells: Sequence[int], widths: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges that hold the true cells of the values; no true cell is negative."""
    return [(max(c - w, 0), max(c + w, 0)) for c, w in zip(cells, widths, strict=False)]


def _mean(block: Block, widths: Sequence[int], cells: Sequence[int], _: int | None) -> Estimate:
    """Low + D high/(high + low) for degree 1, which rises in one cell and falls in the other."""
    kind = block.kind
    if block.degree == 2:
        share, low, high = _first_moment(cells, _box(cells, widths))
    else:
        (a_low, a_high), (b_low, b_high) = _box(cells, widths)
        share = _ratio(max(cells[0], 0), max(cells[0], 0) + max(cells[1], 0), Fraction(1, 2))
        low = _ratio(a_low, a_low + b_high, Fraction(0))
        high = _ratio(a_high, a_high + b_low, Fraction(1))
    at = [float((kind.low + kind.width * t) * kind.grid) for t in (share, low, high)]
    return Estimate(at[0], at[1], at[2], at[0])


def _ratio(above: int, below: int, otherwise: Fraction) -> Fraction:
    return Fraction(above, below) if below > 0 else otherwise


def _first_moment(
    cells: Sequence[int], box: Sequence[tuple[int, int]]
) -> tuple[Fraction, Fraction, Fraction]:
    """The mean of t/D from the three cells of degree 2: (high + middle/2) / all."""
    high, middle, low = (max(c, 0) for c in cells[:3])
    (h0, h1), (m0, m1), (l0, l1) = box
    value = _ratio(2 * high + middle, 2 * (high + middle + low), Fraction(1, 2))
    # falls in low; rises in high; in middle it moves towards 1/2, so try both of its ends
    least = min(_ratio(2 * h0 + m, 2 * (h0 + m + l1), Fraction(0)) for m in (m0, m1))
    most = max(_ratio(2 * h1 + m, 2 * (h1 + m + l0), Fraction(1)) for m in (m0, m1))
    return value, least, most


def _spread(
    function: str, kind: Number, widths: Sequence[int], cells: Sequence[int], _: int | None
) -> Estimate:
    """The variance E t^2 - (E t)^2 of the population, or its root, from the cells of degree 2."""
    box = _box(cells, widths)
    high, middle, low = (max(c, 0) for c in cells[:3])
    (h0, h1), (m0, m1), (l0, l1) = box
    mean, mean_low, mean_high = _first_moment(cells, box)
    second = _ratio(high, high + middle + low, Fraction(1, 4))
    second_low = _ratio(h0, h0 + m1 + l1, Fraction(0))
    second_high = _ratio(h1, h1 + m0 + l0, Fraction(1))
    unit = float(kind.width * kind.grid)
    values = [
        float(second - mean * mean),
        float(second_low - mean_high * mean_high),
        float(second_high - mean_low * mean_low),
    ]
    inside = [min(max(v, 0.0), 0.25) * unit * unit for v in values]
    if function == "stddev":
        inside = [math.sqrt(v) for v in inside]
    return Estimate(inside[0], inside[1], inside[2], inside[0])


def _exponential(logarithm: Reader, cells: Sequence[int], rows: int | None) -> Estimate:
    """Exp of a mean or a sum of logarithms; beyond the range of floats it is infinite."""
    found = logarithm(cells, rows)
    value, low, high = (_exp(v) for v in (found.value, found.low, found.high))
    return Estimate(value, low, high, value)


def _exp(value: Value) -> float:
    return 0.0 if value is None else math.exp(value) if value < 709 else math.inf


def standard_deviation(measured: Measured, form: Form) -> float:
    """Of the noise of a form, in whole rows or steps of the grid."""
    parts = [float(f) ** 2 * variance_of(n) for f, n in used_by(measured, form)]
    return math.sqrt(sum(parts)) / measured.scale


def used_by(measured: Measured, form: Form) -> list[tuple[Fraction, Noise]]:
    """The noises of a form, each with its factor."""
    return [(f, n) for f, n in zip(form.factors, measured.noise, strict=True) if f]


@remembered(4096)
def error_of(noise: Noise, confidence: Fraction) -> int:
    """How far off one cell is; looked up once."""
    return noise.error(confidence)


def half_width(measured: Measured, form: Form, confidence: Fraction) -> Fraction:
    """How far off a form is with this probability at most, in whole rows or steps of the grid."""
    return width_of(used_by(measured, form), confidence) / measured.scale


def width_of(used: Sequence[tuple[Fraction, Noise]], confidence: Fraction) -> Fraction:
    """How far a sum of factors times independent noises is from 0 with this probability at most."""
    if len(used) == 1:
        return abs(used[0][0]) * error_of(used[0][1], confidence)
    risk, number = 1 - confidence, len(used)
    if risk > 10**4 * _LEFT_OUT:
        law = narrow_law(tuple(used))
        if law is not None:
            beyond = 1 - np.cumsum(law.masses) <= float(risk) - 1e-9
            return Fraction(int(law.distances[np.argmax(beyond)]), law.steps)
    together = sum((abs(f) * error_of(n, 1 - risk / number) for f, n in used), Fraction(0))
    if risk < _RAREST:
        return together
    slack = sum((abs(f) for f, _ in used), Fraction(0))
    if all(isinstance(noise, Gaussian) for _, noise in used):
        from statistics import NormalDist  # noqa: PLC0415 - for Gaussian noise only

        spread = math.sqrt(sum(float(f) ** 2 * variance_of(n) for f, n in used))
        found = Fraction(-NormalDist().inv_cdf(float(risk) / 2) * spread) + slack / 2
    elif not all(isinstance(noise, Geometric) for _, noise in used):
        return together
    else:
        scales = [float(abs(f)) * _laplace_scale(n) for f, n in used]
        largest = max(scales)
        rounded = tuple(sorted(math.ceil(1000 * s / largest) / 1000 for s in scales))
        found = Fraction(largest * laplace_sum(rounded, float(risk))) + slack
    return min(found, together)


@dataclass(frozen=True, slots=True, eq=False)
class NarrowLaw:
    """All distances from the truth, rising, in units of 1/steps, with their probabilities."""

    steps: int
    distances: NDArray[Any]
    masses: NDArray[Any]


@remembered(256)
def narrow_law(used: tuple[tuple[Fraction, Noise], ...]) -> NarrowLaw | None:
    """The law of |sum of factor * noise|, as good as all of it; None where the noise is wide."""
    reaches = [error_of(noise, 1 - _LEFT_OUT) for _, noise in used]
    steps = math.lcm(*(factor.denominator for factor, _ in used))
    furthest = sum(abs(f) * steps * reach for (f, _), reach in zip(used, reaches, strict=True))
    if math.prod(2 * reach + 1 for reach in reaches) > MOST_LISTED or furthest > 1 << 62:
        return None
    values, masses = np.zeros(1, dtype=np.int64), np.ones(1)
    for (factor, noise), reach in zip(used, reaches, strict=True):
        law = noise.noise_law
        half = [law.mass(k) for k in range(reach + 1)]
        moves = int(factor * steps) * np.arange(-reach, reach + 1)
        values = np.add.outer(values, moves).reshape(-1)
        masses = np.multiply.outer(masses, np.array([*half[:0:-1], *half])).reshape(-1)
    distances, places = np.unique(np.abs(values), return_inverse=True)
    return NarrowLaw(steps, distances, np.bincount(places, weights=masses))


def _laplace_scale(noise: Noise) -> float:
    """The scale of the Laplace variable that a geometric one is within 1 of."""
    rate = getattr(noise, "rate", None)
    return float(1 / rate) if rate is not None else math.sqrt(variance_of(noise) / 2)


def rank_error(measured: Measured, level: Fraction, confidence: Fraction) -> Fraction:
    """How many rows the chosen quantile is away from the true one at most, with this confidence."""
    bins = number_of_bins(measured.block.kind)
    if measured.noise:
        together = 1 - (1 - confidence) / bins
        return Fraction(rank_width(measured.noise[0], bins, together)) / measured.scale
    share = measured.epsilon / len(measured.block.levels)
    found = chooser(measured, level, share).error(confidence, bins)
    return Fraction(found) / level.denominator / measured.scale


def rank_width(noise: Noise, bins: int, confidence: Fraction) -> float:
    """The noise of a cumulative sum against its share of the whole: at most 31 blocks and 31 bins.

    Two steps are added for the rounding of small noise.
    """
    blocks = -(-bins // BRANCHES)
    number = max(blocks - 1 + min(bins, BRANCHES) - 1, 2)
    wide = laplace_sum((1.0,) * number, float(1 - confidence))
    return wide * math.sqrt(variance_of(noise) / 2) + 2


def chooser(measured: Measured, level: Fraction, epsilon: Fraction) -> PermuteAndFlip:
    """The mechanism that chooses one quantile among the bins: see `discreet.curator.quantiles`."""
    from discreet.mechanisms.selection import PermuteAndFlip as Made  # noqa: PLC0415 - for few

    a, b = level.numerator, level.denominator
    sensitivity = measured.stability.l1 * max(a, b - a)
    neighbours = measured.loss.neighbours
    return Made(epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours)
