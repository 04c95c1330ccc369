"""The integer staircase: noise that is flat inside blocks and falls by a constant factor per block.

With b = exp(-rate), a block width D and an inner width r (1 <= r <= D), the weight of x is
b^e(|x|), where e(m) = floor(m/D) + [m mod D >= r]: each block has an inner part of r values and
an outer part of D - r values one step lower. e never falls and e(m + D) = e(m) + 1, so values at
most D apart differ by at most one factor b. (Geng and Viswanath 2014 for the reals.)

Writing |X| = D Q + P: Q is geometric with ratio b, P is inside with weight r and outside with
weight (D - r) b and uniform there, and all three are independent; the sign is fair, minus zero is
tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Interval
from discreet.noise.geometric import power, powers
from discreet.noise.law import Law, scaled_ends
from discreet.noise.sampler import Sampler, TableSampler, one_sided
from discreet.noise.source import Source
from discreet.noise.table import APART, KEPT, Array, inversion
from discreet.remembered import remembered

__all__ = ["IntegerStaircase", "best_inner", "staircase"]


@dataclass(frozen=True, slots=True)
class IntegerStaircase(Law):
    """P(X = x) proportional to b^(floor(|x|/width) + [|x| mod width >= inner]).

    >>> law = IntegerStaircase(Fraction(4), width=10, inner=2)
    >>> round(law.variance, 2)
    6.66
    """

    rate: Fraction
    width: int
    inner: int

    @property
    def period(self) -> int:  # type: ignore[override]
        """One block."""
        return self.width

    def _block(self, w: int) -> Interval:
        """The weight of the first block on one side: r + (D - r) b."""
        return self.inner + (self.width - self.inner) * power(self.rate, 1, w)

    def _whole(self, w: int) -> Interval:
        return 2 * self._block(w) / (1 - power(self.rate, 1, w)) - 1

    def _mass(self, k: int, w: int) -> Interval:
        block, place = divmod(abs(k), self.width)
        return power(self.rate, block + (place >= self.inner), w) / self._whole(w)

    def _tail(self, k: int, w: int) -> Interval:
        if k < 0:
            return 1 - self._tail(-k - 1, w)
        block, place = divmod(k + 1, self.width)
        inside = max(self.inner - place, 0) * power(self.rate, block, w)
        outside = self.width - max(self.inner, place)
        b = power(self.rate, 1, w)
        later = power(self.rate, block + 1, w) * (outside + self._block(w) / (1 - b))
        return (inside + later) / self._whole(w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return self._tail(-k - 1, w)

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(0)

    def _variance(self, w: int) -> Interval:
        """Twice the sum over blocks q of b^q (A q^2 D^2 + 2 q D B + C), A, B, C as `_moment`."""
        b, d = power(self.rate, 1, w), self.width
        first, second, third = (self._moment(degree, b) for degree in (0, 1, 2))
        gap = 1 - b
        total = (
            first * d * d * b * (1 + b) / (gap * gap * gap)
            + 2 * d * second * b / (gap * gap)
            + third / gap
        )
        return 2 * total / self._whole(w)

    def _absolute_error(self, target: int, w: int) -> Interval:
        if target:
            return Law._absolute_error(self, target, w)
        b = power(self.rate, 1, w)
        total = self.width * self._moment(0, b) * b / ((1 - b) * (1 - b))
        return 2 * (total + self._moment(1, b) / (1 - b)) / self._whole(w)

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(X <= k) 2^w: the formula of `_tail` on a list of powers of b."""
        guard = w + 64
        blocks = max(-first, last + 1) // self.width + 2
        power_low, power_high = zip(*powers(self.rate, 0, blocks + 1, guard), strict=True)
        rest = scaled_ends(self._block(guard) / (1 - power(self.rate, 1, guard)), guard)
        whole = scaled_ends(self._whole(guard), guard)

        def tail(k: int) -> tuple[int, int]:
            block, place = divmod(k + 1, self.width)
            inside, outside = max(self.inner - place, 0), self.width - max(self.inner, place)
            low = (inside * power_low[block] + outside * power_low[block + 1] << guard) + (
                power_low[block + 1] * rest[0]
            )
            high = (inside * power_high[block] + outside * power_high[block + 1] << guard) + (
                power_high[block + 1] * rest[1]
            )
            return (low << w) // (whole[1] << guard), -(-(high << w) // (whole[0] << guard))

        one, found = 1 << w, []
        for k in range(first, last + 1):
            low, high = tail(k if k >= 0 else -k - 1)
            found.append((one - high, one - low) if k >= 0 else (low, high))
        return found

    def _moment(self, degree: int, b: Interval) -> Interval:
        """The sum of p^degree over the inner places, plus b times that over the outer ones."""
        inner, all_of_it = _power_sum(self.inner, degree), _power_sum(self.width, degree)
        return inner + b * (all_of_it - inner)


def _power_sum(n: int, degree: int) -> int:
    """The sum of p^degree over p = 0 .. n - 1."""
    return (n, n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6)[degree]


@remembered(1024)
def best_inner(rate: Fraction, width: int) -> int:
    """The inner width with the least variance (to the accuracy of 64-bit arithmetic).

    The variance falls and then rises in the inner width, so a three-point search finds the least;
    every inner width keeps the step property, so this choice is one of utility alone.
    """

    def variance(inner: int) -> Fraction:
        found = IntegerStaircase(rate, width, inner)._variance(128 + 3 * width.bit_length())
        return found.lower

    return _least(variance, 1, width)


def _least(value: Callable[[int], Fraction], low: int, high: int) -> int:
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return min(range(low, high + 1), key=value)


@dataclass(frozen=True, slots=True)
class _Part(Law):
    """0 for the inner part of a block, 1 for the outer one."""

    rate: Fraction
    width: int
    inner: int
    lowest = 0
    highest = 1

    def _mass(self, k: int, w: int) -> Interval:
        return self._tail(0, w) if k else self._cumulative(0, w)

    def _tail(self, k: int, w: int) -> Interval:  # noqa: ARG002
        outer = (self.width - self.inner) * power(self.rate, 1, w)
        return outer / (self.inner + outer)

    def _cumulative(self, k: int, w: int) -> Interval:  # noqa: ARG002
        outer = (self.width - self.inner) * power(self.rate, 1, w)
        return self.inner / (self.inner + outer)

    def _mean(self, w: int) -> Interval:
        return self._tail(0, w)

    def _variance(self, w: int) -> Interval:
        return self._tail(0, w) * self._cumulative(0, w)


class _StaircaseSampler(Sampler):
    """Block, part, place and sign, each drawn exactly; minus zero is drawn again."""

    def __init__(self, law: IntegerStaircase) -> None:
        self.width = law.width
        self.inner = law.inner
        self.blocks = one_sided(law.rate)
        whole = law.inner == law.width
        self.parts = None if whole else inversion(_Part(law.rate, law.width, law.inner))

    def one(self, source: Source) -> int:
        while True:
            outer = self.parts is not None and self.parts.one(source) == 1
            size = self.width - self.inner if outer else self.inner
            place = source.below(size) + (self.inner if outer else 0)
            magnitude = self.width * self.blocks.one(source) + place
            negative = source.bits(1) == 1
            if magnitude or not negative:
                return -magnitude if negative else magnitude

    def chunk(self, size: int, source: Source) -> Array:
        out, rejected = self._attempt(size, source)
        again = np.flatnonzero(rejected)
        while len(again):
            redrawn, rejected = self._attempt(len(again), source)
            out = out.astype(object) if redrawn.dtype == object else out
            out[again] = redrawn
            again = again[rejected]
        return out

    def _attempt(self, size: int, source: Source) -> tuple[Array, Array]:
        """Values, and which of them are minus zero."""
        outer = np.zeros(size, dtype=np.int64)
        if self.parts is not None:
            outer |= self.parts.chunk(size, source)
        sizes = np.where(outer, self.width - self.inner, self.inner)
        place = below_each(sizes, source) + outer * self.inner
        block = self.blocks.chunk(size, source)
        fits = not size or (int(block.max()) + 1) * self.width < 1 << 62
        block = block.astype(np.int64 if fits else object)
        magnitude = block * self.width + place
        negative = source.array(size, 16) & np.uint16(1) == 1
        signed = np.where(negative, -magnitude, magnitude)
        return signed, negative & (magnitude == 0)


_LONGEST_TABLE = 1 << 14


def below_each(sizes: Array, source: Source) -> Array:
    """For each size n an integer uniform on 0 .. n - 1: enough bits, drawn again where >= n."""
    out = np.zeros(len(sizes), dtype=np.int64)
    for size in np.unique(sizes).tolist():
        pending = np.flatnonzero(sizes == size) if size > 1 else np.zeros(0, dtype=np.int64)
        shift = np.uint64(64 - (size - 1).bit_length())
        while len(pending):
            drawn = (source.array(len(pending), 64) >> shift).astype(np.int64)
            out[pending] = drawn
            pending = pending[drawn >= size]
    return out


@remembered(KEPT, apart=APART)
def staircase(law: IntegerStaircase) -> Sampler:
    """Draws from an integer staircase at any width and rate: by one table where it is short."""
    reach = 2 * law.width * (45 / law.rate + 2)  # e^-45 < 2^-64: where the table ends
    return TableSampler(inversion(law)) if reach <= _LONGEST_TABLE else _StaircaseSampler(law)
