"""How far off a weighted sum of independently noisy numbers can be.

`laplace_sum` gives the law of a sum of Laplace variables; `geometric_width` carries it over to
two-sided geometric noise Z at rate r, which is all that is added here.

Lemma (fractional parts). Let L = E - F with E, F independent exponentials of rate r. Then L is
Laplace of scale 1/r, Z = floor(E) - floor(F) is two-sided geometric at rate r, and D = L - Z is
symmetric, independent of Z and below 1 in absolute value: the fractional part of an exponential
variable is independent of its whole part.

Theorem. For weights w and independent Z_i let S = sum w_i Z_i, S' = sum w_i L_i. For every t:
* P(|S| > t) <= P(|S'| > t - sum |w_i|);
* P(|S| > t) <= 2 P(|S'| > t);
* P(|S| > t) <= P(|S'| > t - x)/(1 - q) with x = |w|_2 sqrt(2 ln(2/q)), for every 0 < q < 1.
Proof. S' = S + R with R = sum w_i D_i, symmetric and independent of S. First: |R| < sum |w_i|.
Second: given |S| > t, R has the sign of S or is 0 with probability at least 1/2, and then
|S'| > t. Third: given |S| > t, |R| <= x has the chance 1 - q at least (Hoeffding 1963, for
variables in an interval of length 2 |w_i|), and then |S'| > t - x.

Rounding scales up is on the safe side: Laplace densities are symmetric and fall on either side, so
a larger scale only moves mass outward, and that survives sums (Birnbaum 1948).
Tested by tests/mechanisms/test_sums.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.base import half_width
from discreet.noise.geometric import TwoSidedGeometric
from discreet.remembered import remembered

__all__ = ["geometric_variance", "geometric_width", "laplace_error", "laplace_sum"]

Array = NDArray[Any]
_FINEST = 1.005
"""Scales are rounded up to powers of this, so that many different ones cost no more than few."""
_SMALLEST = 1e-6
"""Scales below this part of the largest are rounded up to it; or to so much that all that are
rounded up this way could add a 20,000th part to the variance."""
_POINTS = np.arange(0.5, 5_000)
_CHUNK = 64
"""So many factors are multiplied: each is below 1.1e4, as scales are at most 1, |s| below 101."""
_FEW = 4
_SHARE = 0.002
"""The q of the theorem's third line."""
_RAREST = 1e-29
_FADED = 50.0
"""Points of the integral whose height is exp of this below the highest are left out."""


@remembered(1024)
def laplace_sum(
    scales: tuple[float, ...], risk: float, times: tuple[int, ...] | None = None
) -> float:
    """The t with P(|sum of scale * Laplace| > t) = risk, for several scales, the largest of them 1.

    `times` says how often each scale comes; once if left out.

    P(X > t) = (1/pi) times the integral over u > 0 of the real part of exp(-s t) M(s)/s on the
    line s = c + i u, with M(s) the product of 1/(1 - (scale s)^2) and any c between 0 and 1: taken
    where exp(-c t) M(c) is about least, so that nothing cancels. In steps of h = 0.02, or c/6 if
    that is less, a sum errs by about exp(-2 pi min(c, 1 - c)/h); it is cut after 5,000 steps, where
    the integrand has fallen like u^-3 at least: together less than one part in 100,000 of the
    risk.
    """
    if times is None:
        sizes, counts = np.unique(np.asarray(scales), return_counts=True)
    else:
        sizes, counts = np.asarray(scales), np.asarray(times)
    spread, number = float(counts @ sizes**2), int(counts.sum())
    low, high = 0.0, number * math.log(number / risk) + 1
    t = min(math.sqrt(-4 * spread * math.log(risk / 2)) + 1, high)
    for _ in range(3):  # the line through the saddle of the last t
        tail = _Tail(sizes, counts, spread, t)
        t = _crossing(tail, risk, low, high)
    return t


class _Tail:
    """P(X > t) by the integral of `laplace_sum` on the line that suits one t best."""

    def __init__(self, sizes: Array, counts: Array, spread: float, near: float) -> None:
        least = (math.hypot(spread, near) - spread) / near
        centre = min(max(least, min(0.5, 1 / math.sqrt(spread))), 0.93)
        self.step = min(0.02, centre / 6)
        line = centre + 1j * (_POINTS * self.step)
        top = _front(line[:1], sizes, counts)[0].real
        low, high = 0, len(line) - 1
        while low < high:  # the height falls along the line: no factor grows
            middle = (low + high + 1) // 2
            seen = _front(line[middle : middle + 1], sizes, counts)[0].real > top - _FADED
            low, high = (middle, high) if seen else (low, middle - 1)
        self.s = line[: low + 1]
        self.front = _front(self.s, sizes, counts)

    def __call__(self, t: float) -> float:
        return float(np.exp(self.front - self.s * t).real.sum() * self.step / math.pi)


def _front(s: Array, sizes: Array, counts: Array) -> Array:
    """log(M(s)/s) at some points, up to multiples of 2 pi i.

    A logarithm takes far longer than a product: scales that come a few times are multiplied first.
    """
    found, few = -np.log(s), counts <= _FEW
    for first in range(0, np.count_nonzero(~few), _CHUNK):
        some = slice(first, first + _CHUNK)
        factors = np.log(1 - (sizes[~few][some, None] * s) ** 2)
        found -= (counts[~few][some, None] * factors).sum(axis=0)
    squares, line = np.repeat(sizes[few], counts[few]) ** 2, s**2
    for first in range(0, len(squares), _CHUNK):
        found -= np.log(np.prod(1 - squares[first : first + _CHUNK, None] * line, axis=0))
    return np.asarray(found)


def _crossing(tail: _Tail, risk: float, low: float, high: float) -> float:
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * tail(middle) > risk else (low, middle)
    return high


@remembered(1024)
def geometric_variance(rate: Fraction) -> float:
    """The variance of two-sided geometric noise at a rate, from its exact law."""
    return TwoSidedGeometric(rate).variance


def geometric_width(
    parts: Sequence[tuple[Array, Fraction]],
    risk: Fraction | float,
    *,
    times: Sequence[Array] | None = None,
) -> float:
    """A t with P(|sum of weights * noise| > t) <= risk, for noise at the rate of each part.

    The least of the theorem's three. One number alone: from its exact law. Whole weights: rounded
    down, because the sum is whole. `times` says how often each weight comes; once if left out.

    >>> geometric_width([(np.ones(1), Fraction(1))], Fraction(1, 20))
    3.0
    """
    often = [np.ones(len(w), dtype=np.int64) for w, _ in parts] if times is None else times
    used = [
        (np.abs(w[w != 0]).astype(np.float64), rate, n[w != 0])
        for (w, rate), n in zip(parts, often, strict=True)
    ]
    used = [one for one in used if one[0].size]
    if not used:
        return 0.0
    weights, counts = (np.concatenate([one[i] for one in used]) for i in (0, 2))
    chance = max(float(risk), _RAREST)
    if counts.sum() == 1:
        rate = used[0][1]
        return float(weights[0]) * half_width(TwoSidedGeometric(rate), 1 - Fraction(chance))
    scales = np.concatenate([w / float(rate) for w, rate, _ in used])
    largest = float(scales.max())
    rounded, number = _rounded_up(scales / largest, counts)
    reach = math.sqrt(float(counts @ weights**2) * 2 * math.log(2 / _SHARE))
    slack = min(reach, float(counts @ weights))
    half = largest * laplace_sum(rounded, chance / 2, number)
    full = largest * laplace_sum(rounded, chance * (1 - _SHARE), number) + slack
    found = min(half, full)
    is_whole = bool(np.all(weights == np.floor(weights)))
    return float(math.floor(found)) if is_whole else found


def laplace_error(scales: Array, counts: Array | None = None) -> float:
    """E |sum of scale * Laplace|; `counts` says how often each scale comes, once if left out.

    It is (2/pi) times the integral over u > 0 of (1 - phi(u))/u^2, phi being the sum's
    characteristic function. Scales are rounded up, by half a percent at most.
    """
    largest = float(np.max(scales))
    often = np.ones(len(scales), dtype=np.int64) if counts is None else counts
    return largest * _laplace_error(*_rounded_up(np.asarray(scales) / largest, often))


@remembered(1024)
def _laplace_error(scales: tuple[float, ...], times: tuple[int, ...]) -> float:
    """The same where the largest scale is 1, in units of the sum's spread: by midpoints, with a
    tail of 1/u^2 beyond them.
    """
    spread = math.sqrt(float(np.asarray(times) @ np.asarray(scales) ** 2))
    step, number = 0.01, 40_000
    u = (np.arange(number) + 0.5) * step
    fallen = np.zeros_like(u)
    for scale, count in zip(scales, times, strict=True):
        fallen += count * np.log1p((scale / spread * u) ** 2)
    inside = float(np.sum(-np.expm1(-fallen) / u**2)) * step
    return spread * (inside + 1 / (number * step)) * 2 / math.pi


def _rounded_up(scales: Array, counts: Array) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The scales, rounded up to few different ones, and how often each comes."""
    least = max(_SMALLEST, math.sqrt(5e-5 * float(counts @ scales**2) / int(counts.sum())))
    places = np.floor(-np.log(np.maximum(scales, least)) / math.log(_FINEST) + 1e-9)
    kept, where = np.unique(places, return_inverse=True)
    number = np.bincount(where.reshape(-1), weights=counts).astype(np.int64)
    return tuple((_FINEST**-kept).tolist()), tuple(number.tolist())
