"""Laws made from a noise law: moved to a centre, clamped to a range, conditioned on a range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import Interval
from discreet.noise.geometric import TwoSidedGeometric, power
from discreet.noise.law import Law

__all__ = ["ClampedGeometric", "ConditionedGeometric", "Shifted"]


@dataclass(frozen=True, slots=True)
class Shifted(Law):
    """The law of `by` + Z, for Z with the law `noise`."""

    noise: Law
    by: int

    @property
    def centre(self) -> int:  # type: ignore[override]
        """Where zero noise lands."""
        return self.by + self.noise.centre

    @property
    def period(self) -> int | None:  # type: ignore[override]
        """The period of the noise."""
        return self.noise.period

    @property
    def lowest(self) -> int | None:  # type: ignore[override]
        """The smallest value, if there is one."""
        return None if self.noise.lowest is None else self.noise.lowest + self.by

    @property
    def highest(self) -> int | None:  # type: ignore[override]
        """The largest value, if there is one."""
        return None if self.noise.highest is None else self.noise.highest + self.by

    def _mass(self, k: int, w: int) -> Interval:
        return self.noise._mass(k - self.by, w)

    def _tail(self, k: int, w: int) -> Interval:
        return self.noise._tail(k - self.by, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return self.noise._cumulative(k - self.by, w)

    def _mean(self, w: int) -> Interval:
        return self.noise._mean(w) + self.by

    def _variance(self, w: int) -> Interval:
        return self.noise._variance(w)

    def _absolute_error(self, target: int, w: int) -> Interval:
        return self.noise._absolute_error(target - self.by, w)

    def _start(self) -> int:
        return self.by + self.noise._start()


@dataclass(frozen=True, slots=True)
class ClampedGeometric(Law):
    """The law of a two-sided geometric value around `at`, clamped to lowest .. highest.

    With a = exp(-rate), d = at - lowest and e = highest - at: inside, (1-a)/(1+a) a^|k - at|; at
    the ends the whole rest, a^d/(1+a) and a^e/(1+a) (Ghosh, Roughgarden and Sundararajan 2009).
    """

    rate: Fraction
    at: int
    lowest: int
    highest: int

    def _noise(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.rate)

    def _mass(self, k: int, w: int) -> Interval:
        if self.lowest == self.highest:
            return Interval.of(1)
        if k == self.lowest:
            return self._noise()._cumulative(k - self.at, w)
        if k == self.highest:
            return self._noise()._tail(k - 1 - self.at, w)
        return self._noise()._mass(k - self.at, w)

    def _tail(self, k: int, w: int) -> Interval:
        return self._noise()._tail(k - self.at, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return self._noise()._cumulative(k - self.at, w)

    def _mean(self, w: int) -> Interval:
        """By tail sums: E (X - at)+ = (a + ... + a^e)/(1+a), and likewise below."""
        if len(set(self._reaches())) == 1:
            return Interval.of(self.at)  # by symmetry
        up, down = (self._sum(reach, 0, w) for reach in self._reaches())
        return (up - down) / (1 + power(self.rate, 1, w)) + self.at

    def _variance(self, w: int) -> Interval:
        """By tail sums: E ((X - at)+)^2 = sum of (2j - 1) a^j/(1+a) over j = 1 .. e."""
        bottom = 1 + power(self.rate, 1, w)
        squares = sum((self._squares(reach, w) for reach in self._reaches()), Interval.of(0))
        shift = self._mean(w) - self.at
        return squares / bottom - shift * shift

    def _absolute_error(self, target: int, w: int) -> Interval:
        if target != self.at:
            return _by_enumeration(self, target, w)
        up, down = (self._sum(reach, 0, w) for reach in self._reaches())
        return (up + down) / (1 + power(self.rate, 1, w))

    def _reaches(self) -> tuple[int, int]:
        return self.highest - self.at, self.at - self.lowest

    def _sum(self, reach: int, degree: int, w: int) -> Interval:
        return power_sum(self.rate, reach, degree, w)

    def _squares(self, reach: int, w: int) -> Interval:
        return 2 * self._sum(reach, 1, w) - self._sum(reach, 0, w)


@dataclass(frozen=True, slots=True)
class ConditionedGeometric(Law):
    """A two-sided geometric value around `at`, given that it falls into lowest .. highest.

    P(k) = a^|k - at|/Z with Z the sum over the range: what drawing again until it fits gives.
    """

    rate: Fraction
    at: int
    lowest: int
    highest: int

    def _whole(self, w: int) -> Interval:
        return self._weight(self.lowest, w) + self._inside(self.lowest, self.highest, w)

    def _weight(self, k: int, w: int) -> Interval:
        return power(self.rate, abs(k - self.at), w)

    def _inside(self, low: int, high: int, w: int) -> Interval:
        """The weight of low + 1 .. high."""
        a = power(self.rate, 1, w)
        up = (
            power(self.rate, max(low - self.at, 0), w) * a
            - power(self.rate, max(high - self.at, 0), w) * a
        ) / (1 - a)
        down = (
            power(self.rate, max(self.at - high, 0), w) - power(self.rate, max(self.at - low, 0), w)
        ) / (1 - a)
        return up + down

    def _mass(self, k: int, w: int) -> Interval:
        return self._weight(k, w) / self._whole(w)

    def _tail(self, k: int, w: int) -> Interval:
        return self._inside(k, self.highest, w) / self._whole(w)

    def _cumulative(self, k: int, w: int) -> Interval:
        low = self._weight(self.lowest, w) + self._inside(self.lowest, k, w)
        return low / self._whole(w)

    def _mean(self, w: int) -> Interval:
        if len(set(self._reaches())) == 1:
            return Interval.of(self.at)  # by symmetry
        up, down = (power_sum(self.rate, reach, 1, w) for reach in self._reaches())
        return (up - down) / self._whole(w) + self.at

    def _variance(self, w: int) -> Interval:
        up, down = (power_sum(self.rate, reach, 2, w) for reach in self._reaches())
        shift = self._mean(w) - self.at
        return (up + down) / self._whole(w) - shift * shift

    def _absolute_error(self, target: int, w: int) -> Interval:
        if target != self.at:
            return _by_enumeration(self, target, w)
        up, down = (power_sum(self.rate, reach, 1, w) for reach in self._reaches())
        return (up + down) / self._whole(w)

    def _reaches(self) -> tuple[int, int]:
        return self.highest - self.at, self.at - self.lowest


def power_sum(rate: Fraction, reach: int, degree: int, w: int) -> Interval:
    """The sum of j^degree a^j over j = 1 .. reach, in closed form, for degree 0, 1, 2.

    >>> float(power_sum(Fraction(1), 1, 2, 40)) == float(power(Fraction(1), 1, 40))
    True
    """
    a, n = power(rate, 1, w), reach
    last = power(rate, n, w)
    gap = 1 - a
    if degree == 0:
        return a * (1 - last) / gap
    if degree == 1:
        return a * (1 - (n + 1) * last + n * last * a) / (gap * gap)
    top = 1 + a - last * ((n + 1) ** 2 - (2 * n * n + 2 * n - 1) * a + n * n * a * a)
    return a * top / (gap * gap * gap)


def _by_enumeration(law: ClampedGeometric | ConditionedGeometric, target: int, w: int) -> Interval:
    """E |X - target| over a range small enough to enumerate."""
    terms = (law._mass(k, w) * abs(k - target) for k in range(law.lowest, law.highest + 1))
    return sum(terms, Interval.of(0))
