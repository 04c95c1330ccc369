"""Geometric laws on the integers: one-sided, truncated, two-sided, and the latter in blocks.

All are given by a rational `rate` > 0; their ratio is a = exp(-rate). The identities that the
samplers rest on (each is a line of algebra, and a test):

* Digits. If G is geometric and B >= 1, then floor(G/B) is geometric with rate B*rate and
  G mod B is a truncated geometric on 0 .. B-1 with the same rate, independent of it.
* Sign. If S is 1 with probability a/(1+a), independent of a geometric G, then Z = G for S = 0
  and Z = -1-G for S = 1 is two-sided geometric: (1-a) a^k/(1+a) for k >= 0, and
  (1-a) a^m a/(1+a) = (1-a) a^|k|/(1+a) for k = -1-m. No value is drawn twice, none is rejected.
* Together: floor(Z/B) and the position inside its block are independent given the sign, where
  the position counts away from zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import Interval, exp
from discreet.noise.law import Law

__all__ = ["BlockedGeometric", "Geometric", "TruncatedGeometric", "TwoSidedGeometric"]


def power(rate: Fraction, k: int, w: int) -> Interval:
    """The k-th power of the ratio: exp(-rate k)."""
    return exp(-rate * k, w)


def powers(rate: Fraction, first: int, count: int, w: int) -> list[tuple[int, int]]:
    """Bounds of exp(-rate k) 2^w for k = first, first + 1, ...: one product a step.

    Each step rounds the lower one down and the upper one up, so both stay bounds whatever the
    number of steps; sixty-four more bits are carried than are returned.
    """
    guard = w + 64
    ratio, start = power(rate, 1, guard), power(rate, first, guard)
    a, b = _floor(ratio.lower, guard), -_floor(-ratio.upper, guard)
    low, high = _floor(start.lower, guard), -_floor(-start.upper, guard)
    found = []
    for _ in range(count):
        found.append((low >> 64, -(-high >> 64)))
        low, high = low * a >> guard, -(-(high * b) >> guard)
    return found


def _floor(value: Fraction, w: int) -> int:
    return (value.numerator << w) // value.denominator


@dataclass(frozen=True, slots=True)
class Geometric(Law):
    """P(X = k) = (1 - a) a^k on k = 0, 1, 2, ..., with a = exp(-rate).

    >>> round(Geometric(Fraction(1, 2)).mass(0), 6)
    0.393469
    """

    rate: Fraction
    lowest = 0

    def _mass(self, k: int, w: int) -> Interval:
        return (1 - power(self.rate, 1, w)) * power(self.rate, k, w)

    def _tail(self, k: int, w: int) -> Interval:
        return power(self.rate, k + 1, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return 1 - power(self.rate, k + 1, w)

    def _mean(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return a / (1 - a)

    def _variance(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return a / ((1 - a) * (1 - a))

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(X <= k) 2^w."""
        one = 1 << w
        found = powers(self.rate, first + 1, last - first + 1, w)
        return [(one - high, one - low) for low, high in found]


@dataclass(frozen=True, slots=True)
class TruncatedGeometric(Law):
    """P(X = k) proportional to a^k on k = 0 .. size - 1: one digit of a geometric value."""

    rate: Fraction
    size: int
    lowest = 0

    @property
    def highest(self) -> int:  # type: ignore[override]
        """The largest value."""
        return self.size - 1

    def _whole(self, w: int) -> Interval:
        return 1 - power(self.rate, self.size, w)

    def _mass(self, k: int, w: int) -> Interval:
        return (1 - power(self.rate, 1, w)) * power(self.rate, k, w) / self._whole(w)

    def _tail(self, k: int, w: int) -> Interval:
        return (power(self.rate, k + 1, w) - power(self.rate, self.size, w)) / self._whole(w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return (1 - power(self.rate, k + 1, w)) / self._whole(w)

    def _mean(self, w: int) -> Interval:
        a, last = power(self.rate, 1, w), power(self.rate, self.size, w)
        return a / (1 - a) - self.size * last / (1 - last)

    def _variance(self, w: int) -> Interval:
        a, last = power(self.rate, 1, w), power(self.rate, self.size, w)
        square = self.size * self.size * last / ((1 - last) * (1 - last))
        return a / ((1 - a) * (1 - a)) - square

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(X <= k) 2^w."""
        guard = w + 64 + 2 * self.size.bit_length() + _smallness(self.rate)
        one = 1 << guard
        end_low, end_high = powers(self.rate, self.size, 1, guard)[0]
        found = powers(self.rate, first + 1, last - first + 1, guard)
        table = [
            (
                ((one - high) << w) // (one - end_low),
                -((-(one - low) << w) // (one - end_high)),
            )
            for low, high in found
        ]
        return [(min(low, 1 << w), min(high, 1 << w)) for low, high in table]


def _smallness(rate: Fraction) -> int:
    """How many bits are lost in 1 - exp(-rate)."""
    return max(0, rate.denominator.bit_length() - rate.numerator.bit_length() + 1)


@dataclass(frozen=True, slots=True)
class TwoSidedGeometric(Law):
    """P(Z = k) = (1 - a)/(1 + a) a^|k| on all integers, with a = exp(-rate).

    Also called the discrete Laplace law. Its absolute mean is 2a/(1 - a^2), its variance
    2a/(1 - a)^2, and its masses fall by the factor a per step away from zero.

    >>> law = TwoSidedGeometric(Fraction(1))
    >>> round(law.mass(0), 6), round(law.variance, 6)
    (0.462117, 1.841347)
    """

    rate: Fraction
    period = 1

    def _mass(self, k: int, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return (1 - a) / (1 + a) * power(self.rate, abs(k), w)

    def _tail(self, k: int, w: int) -> Interval:
        return self._cumulative(-k - 1, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        a = power(self.rate, 1, w)
        if k < 0:
            return power(self.rate, -k, w) / (1 + a)
        return 1 - power(self.rate, k + 1, w) / (1 + a)

    def near_tail(self, chance: Fraction) -> int:
        """From a^(k+1)/(1 + a) = chance, in floats."""
        rate, wanted = float(self.rate), float(chance)
        if not (rate > 0 and 0 < wanted < 1):  # a number that no float holds
            return 0
        steps = -(math.log(wanted) + math.log1p(math.exp(-rate))) / rate
        return max(math.ceil(steps) - 1, 0) if math.isfinite(steps) else 0

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(0)

    def _variance(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return 2 * a / ((1 - a) * (1 - a))

    def _absolute_error(self, target: int, w: int) -> Interval:
        """E |Z - t| = |t| + 2 a^(|t|+1)/(1 - a^2): the shift, plus twice the sum of tails."""
        return abs(target) + 2 * power(self.rate, abs(target) + 1, w) / (1 - power(self.rate, 2, w))


@dataclass(frozen=True, slots=True)
class BlockedGeometric(Law):
    """The law of floor(Z/size) for a two-sided geometric Z: the top digit with its sign.

    With A = a^size: P(Q <= q) = 1 - A^(q+1)/(1+a) for q >= 0, and a A^(-q-1)/(1+a) for q < 0.
    With size 1 it is the two-sided geometric itself.
    """

    rate: Fraction
    size: int

    def _side(self, q: int, w: int) -> Interval:
        """P(Q > q) for q >= 0, and P(Q <= q) for q < 0."""
        steps = (q + 1) * self.size if q >= 0 else 1 + (-q - 1) * self.size
        return power(self.rate, steps, w) / (1 + power(self.rate, 1, w))

    def _mass(self, q: int, w: int) -> Interval:
        first = q * self.size if q >= 0 else 1 + (-q - 1) * self.size
        share = (1 - power(self.rate, self.size, w)) / (1 + power(self.rate, 1, w))
        return share * power(self.rate, first, w)

    def _tail(self, q: int, w: int) -> Interval:
        return self._side(q, w) if q >= 0 else 1 - self._side(q, w)

    def _cumulative(self, q: int, w: int) -> Interval:
        return 1 - self._side(q, w) if q >= 0 else self._side(q, w)

    def _mean(self, w: int) -> Interval:
        if self.size == 1:
            return Interval.of(0)
        a, top = power(self.rate, 1, w), power(self.rate, self.size, w)
        return (top - a) / ((1 + a) * (1 - top))

    def _variance(self, w: int) -> Interval:
        a, top = power(self.rate, 1, w), power(self.rate, self.size, w)
        right = top * (1 + top) / ((1 + a) * (1 - top) * (1 - top))
        left = a * (1 + top) / ((1 + a) * (1 - top) * (1 - top))
        mean = self._mean(w)
        return right + left - mean * mean

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(Q <= q) 2^w."""
        one, guard = 1 << w, w + 8
        a_low, a_high = powers(self.rate, 1, 1, guard)[0]
        bottom_low, bottom_high = (1 << guard) + a_low, (1 << guard) + a_high
        up = powers(self.rate * self.size, 1, max(last + 1, 0), guard)
        down = powers(self.rate * self.size, 0, max(-first, 0), guard)
        negative = [
            (
                (low * a_low << w) // (bottom_high << guard),
                -(-(high * a_high << w) // (bottom_low << guard)),
            )
            for low, high in reversed(down)
        ]
        rest = [
            (one + (-high << w) // bottom_low, one - (low << w) // bottom_high) for low, high in up
        ]
        table = negative + rest
        skipped = max(first, 0)
        return table[skipped : skipped + last - first + 1]
