"""A clamped two-sided geometric draw that reads the same words and takes the same steps, always.

The number of random words is fixed by the range and the rate alone, so the law is a rational one:
a table of integer weights that add up to 2^b. Write R for the number of values of the range,
M = 2^b - R c, and F for the cumulative of the clamped law around the input. The value at place y
(counted from 0) gets the weight

    c + floor(M F(y)) - floor(M F(y - 1)),

so that its cumulative weight is c (y + 1) + floor(M F(y)), in closed form: no table is stored, and
a range of 2^32 values costs 32 steps of a binary search.

Lemma. If the clamped law has mass ratios at most e^r per unit step of its centre and
c >= coth(r/2), then so has this law, exactly. Proof. Let m, m' be the masses of one output for
centres one apart, n, n' the increments of the floors: n < M m + 1 and n' > M m' - 1. Then
c + n < c + 1 + e^r M m' and e^r (c + n') > e^r (c - 1) + e^r M m', and c + 1 <= e^r (c - 1) is
c >= (e^r + 1)/(e^r - 1) = coth(r/2). By symmetry the same holds for the other order; for k steps
multiply k ratios.

How far it is from the clamped law: each weight is off by less than c + 1 of 2^b, and b is chosen
so that R c <= 2^(b-40): less than 2^-39 of probability in all.

What is constant: the words read, the number of search steps, the number and kind of big-integer
operations in each, and no early return (zero noise takes the same way). What is not: Python's
big-integer arithmetic itself, whose time can depend on operand values in ways nobody promises.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import Interval, exp
from discreet.noise.law import Law, scaled_ends
from discreet.noise.source import Source
from discreet.remembered import remembered

__all__ = ["FixedWords", "FixedWordsLaw"]

_UTILITY = 40
_GUARD = 96
_SHORT = 4096


@dataclass(frozen=True, slots=True)
class FixedWords:
    """A constant-time sampler for the range lowest .. highest.

    Tested by tests/noise/test_constant_time.py
    """

    rate: Fraction
    lowest: int
    highest: int

    @property
    def size(self) -> int:
        """R, the number of values in the range."""
        return self.highest - self.lowest + 1

    @property
    def floor_weight(self) -> int:
        """c, the smallest integer that is certainly at least coth(rate/2)."""
        return _floor_weight(self.rate)

    @property
    def words(self) -> int:
        """How many 64-bit words every draw reads."""
        return -(-(_UTILITY + (self.size * self.floor_weight).bit_length()) // 64)

    @property
    def steps(self) -> int:
        """How many times the search halves the range."""
        return (self.size - 1).bit_length()

    def draw(self, at: int, source: Source) -> int:
        """One value for the centre `at`, which must lie in the range."""
        u = 0
        for _ in range(self.words):
            u = (u << 64) | source.bits(64)
        place = 0  # the number of places whose cumulative weight is at most u
        for step in reversed(range(self.steps)):
            trial = place + (1 << step)
            inside = trial <= self.size - 1
            reached = self.cumulative_weight(min(trial, self.size - 1) - 1, at) <= u
            place += (inside & reached) << step
        return self.lowest + place

    def cumulative_weight(self, place: int, at: int) -> int:
        """The weight of the places 0 .. y, c (y + 1) + floor(M F(y)); y is not the last place."""
        scale = (1 << 64 * self.words) - self.size * self.floor_weight
        below = place < at - self.lowest
        distance = abs(place - (at - self.lowest)) + (not below)
        sides = _all_sides(self.rate, self.size, scale)
        length = self.size.bit_length()
        side = sides[distance] if sides else _side(self.rate, distance, length, scale)
        return self.floor_weight * (place + 1) + (side if below else scale - 1 - side)

    def law(self, at: int) -> FixedWordsLaw:
        """The exact rational law of `draw(at)`."""
        return FixedWordsLaw(self, at)


@remembered(64)
def _all_sides(rate: Fraction, size: int, scale: int) -> tuple[int, ...]:
    """All that a draw may need, where the range is short; nothing where it is long.

    Filled before the first draw and for every distance, so that a draw's time does not tell which
    distances were used before.
    """
    if size > _SHORT:
        return ()
    length = size.bit_length()
    return tuple(_side(rate, distance, length, scale) for distance in range(size + 1))


def _side(rate: Fraction, distance: int, length: int, scale: int) -> int:
    """floor(scale a^distance/(1 + a)), certified, for a distance of at most `length` bits.

    a^distance is the product of the powers a^(2^i) of its bits, with a factor 1 for the others, so
    that every distance takes the same operations. The real is irrational, so the floor is settled
    at 96 guard bits but for a chance of about 2^-80 over the parameters, when more bits are taken.
    """
    w = scale.bit_length() + _GUARD
    while True:
        low = high = one = 1 << w
        for bit, (power_low, power_high) in enumerate(_powers(rate, length, w)):
            chosen = distance >> bit & 1
            low = low * (one, power_low)[chosen] >> w
            high = -(-(high * (one, power_high)[chosen]) >> w)
        a_low, a_high = _powers(rate, length, w)[0]
        floor = scale * low // (one + a_high)
        if floor == scale * high // (one + a_low):
            return floor
        w *= 2


@remembered(256)
def _powers(rate: Fraction, length: int, w: int) -> tuple[tuple[int, int], ...]:
    """Bounds of exp(-rate 2^i) 2^w for i = 0 .. length - 1."""
    return tuple(scaled_ends(exp(-rate * (1 << bit), w), w) for bit in range(max(length, 1)))


@remembered(256)
def _floor_weight(rate: Fraction) -> int:
    w = 64 + max(0, rate.denominator.bit_length() - rate.numerator.bit_length())
    a = exp(-rate, w)
    upper = ((1 + a) / (1 - a)).upper
    return -(-upper.numerator // upper.denominator)


@dataclass(frozen=True, slots=True)
class FixedWordsLaw(Law):
    """The law of a constant-time draw: integer weights over a power of two."""

    sampler: FixedWords
    at: int

    @property
    def lowest(self) -> int:  # type: ignore[override]
        """The smallest value of the range."""
        return self.sampler.lowest

    @property
    def highest(self) -> int:  # type: ignore[override]
        """The largest value of the range."""
        return self.sampler.highest

    def weight_below(self, k: int) -> int:
        """The integer weight of all values up to k."""
        place = k - self.lowest
        if place < 0:
            return 0
        if k >= self.highest:
            return 1 << 64 * self.sampler.words
        return self.sampler.cumulative_weight(place, self.at)

    def exact_mass(self, k: int) -> Fraction:
        """P(X = k), a rational."""
        return Fraction(
            self.weight_below(k) - self.weight_below(k - 1), 1 << 64 * self.sampler.words
        )

    def _mass(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_mass(k))

    def _tail(self, k: int, w: int) -> Interval:
        return 1 - self._cumulative(k, w)

    def _cumulative(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(Fraction(self.weight_below(k), 1 << 64 * self.sampler.words))

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(sum(self.exact_mass(k) * k for k in self._values()))

    def _variance(self, w: int) -> Interval:
        mean = self._mean(w).lower
        return Interval.of(sum(self.exact_mass(k) * (k - mean) ** 2 for k in self._values()))

    def _absolute_error(self, target: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(sum(self.exact_mass(k) * abs(k - target) for k in self._values()))

    def _values(self) -> range:
        return range(self.lowest, self.highest + 1)
