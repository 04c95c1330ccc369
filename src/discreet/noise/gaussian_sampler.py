"""Draws from the discrete Gaussian at any scale, one or ten million, exactly.

Up to sigma = 256 by inversion on one table. Beyond, Y = B Q + R with B a power of two between
sigma/256 and sigma/128: the block Q = floor(Y/B) is drawn by inversion from its exact marginal
law, and the place within the block by rejection. Let x0 be the end of the block that is nearest
to zero and d the distance from it. Then, within the block,

    P(d) is proportional to f(|x0| + d)/f(x0) = exp(-g),  g = d (2 |x0| + d)/(2 v) >= 0,

so a uniform d in 0 .. B-1 that is kept with probability exp(-g), and redrawn *in the same block*
otherwise, has exactly the conditional law. (Redrawing the block as well would favour the blocks
in which more is kept.) Over nine tenths are kept wherever it matters.

Keeping means U < exp(-g) for a uniform real U, revealed bit by bit as far as needed:

* 16 bits decide where U is surely below the least exp(-g) of its whole block, held in a table;
* 31 bits decide most of the rest, for many draws at once, by the alternating series
  1 - g + g^2/2 - g^3/6 <= exp(-g) <= 1 - g + g^2/2 in integers (see `Squeeze`);
* 64 bits, and then as many more of the *same* U as it takes, against certified bounds of exp.

No float takes part. Tested by tests/noise/test_gaussian.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.exact import exp
from discreet.noise.gaussian import BlockedGaussian, DiscreteGaussian
from discreet.noise.law import scaled_ends
from discreet.noise.sampler import Sampler, TableSampler
from discreet.noise.source import Source
from discreet.noise.table import APART, KEPT, Array, inversion
from discreet.remembered import remembered

__all__ = ["Blocks", "Squeeze", "gaussian", "is_kept"]

_DIRECT = 256 * 256
_WIDEST = 24  # bits of a block up to which the squeeze fits 64-bit integers
_FARTHEST = 1 << 12  # blocks up to which it does; the table ends before, so only ties lie beyond


@remembered(KEPT, apart=APART)
def gaussian(sigma_squared: Fraction) -> Sampler:
    """Draws with P(Y = k) proportional to exp(-k^2/(2 sigma_squared)) on all integers."""
    if sigma_squared <= _DIRECT:
        return TableSampler(inversion(DiscreteGaussian(sigma_squared)))
    sigma = math.isqrt(sigma_squared.numerator // sigma_squared.denominator)
    return Blocks(sigma_squared, sigma.bit_length() - 8)


def is_kept(gap: Fraction, u: int, count: int, source: Source) -> bool:
    """Whether U < exp(-gap) for the uniform real U whose first `count` bits spell u.

    More bits of the same U are revealed until certified bounds of exp(-gap) decide it.
    """
    while True:
        low, high = scaled_ends(exp(-gap, count + 32), count + 8)
        if (u + 1) << 8 <= low:
            return True
        if u << 8 >= high:
            return False
        u = (u << 64) | source.bits(64)
        count += 64


class Squeeze:
    """Decides U < exp(-g) for many draws at once, in 64-bit integers, or leaves it open.

    For blocks of 2^s values, s <= 24, with sigma >= 2^(s+7), and fewer than 2^12 blocks from zero:
    N = d (2 |x0| + d) is below 2^(2s+14) and g = N/(2 v) below 1/2. In units of 2^-31:

    * x = floor(n c/2^b), with n = floor(N/2^a), c = floor(2^(31+a+b)/(2 v)), satisfies
      x <= g < x + 3. Above s = 8, a = 2s - 17 and b = 31, so n < 2^31 and c <= 2^30, and the two
      floors lose less than (n + c + 1)/2^b < 2 between them. Otherwise a = 0 and b = 2s + 14, so
      n = N is exact and c loses less than n/2^b < 1. The last floor loses less than 1.
    * So exp(-g) lies between exp(-x) - 3 and exp(-x), where x^2/2 lies in [q, q + 1) with
      q = floor(x^2/2^32), and x^3/6 = (x^2/2) x/3 is at most floor((q + 1) x/2^31)//3 + 1.
    """

    def __init__(self, sigma_squared: Fraction, shift: int) -> None:
        self.cut = max(0, 2 * shift - 17)
        self.down = 31 if self.cut else 2 * shift + 14
        scale = Fraction(1 << (31 + self.cut + self.down)) / (2 * sigma_squared)
        self.factor = scale.numerator // scale.denominator

    def bounds(self, nearest: Array, away: Array) -> tuple[Array, Array]:
        """Integers (low, high) with low <= 2^31 exp(-g) <= high."""
        square = away * (2 * nearest + away)
        x = ((square >> self.cut) * self.factor) >> self.down
        q = (x * x) >> 32
        cube = (((q + 1) * x) >> 31) // 3 + 1
        middle = (1 << 31) - x + q
        return middle - cube - 3, middle + 1


class Blocks(Sampler):
    """A block from one table, a place within it by rejection; blocks of 2^shift values."""

    def __init__(self, sigma_squared: Fraction, shift: int) -> None:
        self.sigma_squared = sigma_squared
        self.shift = shift
        self.size = 1 << shift
        self.top = inversion(BlockedGaussian(sigma_squared, self.size))
        self.first = self.top.first - 1
        count = len(self.top.thresholds) + 3
        self.sure = [self._surely_kept(self.first + i) for i in range(count)]
        self._sure: Array = np.array(self.sure, dtype=np.uint16)
        fits = shift <= _WIDEST and sigma_squared >= 1 << (2 * shift + 14)
        self.squeeze = Squeeze(sigma_squared, shift) if fits else None

    def nearest(self, block: int) -> int:
        """|x0|: how far the block's nearest end is from zero."""
        return block * self.size if block >= 0 else (-block - 1) * self.size + 1

    def gap(self, block: int, away: int) -> Fraction:
        """G, so that a place `away` from the nearest end is kept with probability exp(-g)."""
        return away * (2 * self.nearest(block) + away) / (2 * self.sigma_squared)

    def _surely_kept(self, block: int) -> int:
        """The largest c such that a U below c/2^16 keeps every place of the block; below 2^16."""
        low, _ = scaled_ends(exp(-self.gap(block, self.size - 1), 32), 16)
        return min(low, (1 << 16) - 1)

    def place(self, block: int, away: int) -> int:
        """The value that lies `away` from the nearest end of a block."""
        return (block << self.shift) + (away if block >= 0 else self.size - 1 - away)

    def one(self, source: Source) -> int:
        """One draw, of any size."""
        return self._within(self.top.one(source), source)

    def _within(self, block: int, source: Source) -> int:
        """A value of this block: its place is drawn until one is kept."""
        index = block - self.first
        sure = self.sure[index] if 0 <= index < len(self.sure) else 0
        while True:
            away, u = source.bits(self.shift), source.bits(64)
            if u >> 48 < sure or is_kept(self.gap(block, away), u, 64, source):
                return self.place(block, away)

    def chunk(self, size: int, source: Source) -> Array:
        """`size` draws, at most CHUNK, as int64, or as Python integers where one needs that."""
        if not size:
            return np.zeros(0, dtype=np.int64)
        block = self.top.chunk(size, source)
        limit = 1 << (62 - self.shift) if self.shift < 62 else 0
        if not (-limit < int(block.min()) and int(block.max()) < limit):
            return np.array([self._within(int(q), source) for q in block.tolist()], dtype=object)
        away = self._uniform(size, source)
        sure = self._sure_of(block)
        u = source.array(size, 16)
        pending = np.flatnonzero(u >= sure)
        u = u[pending]
        while pending.size:
            kept = self._decide(block[pending].astype(np.int64), away[pending], u, source)
            again = pending[~kept]
            away[again] = self._uniform(again.size, source)
            u = source.array(again.size, 16)
            unsure = u >= sure[again]
            pending, u = again[unsure], u[unsure]
        wide = block.astype(np.int64)
        away ^= (wide >> 63) & (self.size - 1)  # below zero, place is size - 1 - away
        wide <<= self.shift
        wide += away
        return wide

    def _sure_of(self, block: Array) -> Array:
        """The sure part of each block; blocks beyond the table (chance 2^-64) have none."""
        low, high = int(block.min()), int(block.max())
        if self.first <= low and high < self.first + len(self.sure):
            return self._sure.take(block - self.first, mode="clip")
        inside = (block >= self.first) & (block < self.first + len(self.sure))
        return np.where(inside, self._sure.take(block - self.first, mode="clip"), 0)

    def _uniform(self, size: int, source: Source) -> Array:
        """Uniform places 0 .. B-1 as int64."""
        width: Literal[16, 32, 64] = 16 if self.shift <= 16 else 32 if self.shift <= 32 else 64
        words = source.array(size, width) >> (width - self.shift)
        return words.astype(np.int64)

    def _decide(self, block: Array, away: Array, u: Array, source: Source) -> Array:
        """Which places are kept, for U that begins with the 16 bits u: 48 bits more, then any."""
        words = u.astype(np.uint64) << np.uint64(48)
        words |= source.array(len(u), 64) >> np.uint64(16)
        kept: Array = np.zeros(len(u), dtype=bool)
        unsure: Array = np.ones(len(u), dtype=bool)
        if self.squeeze is not None and np.abs(block).max() < _FARTHEST:
            nearest = (block ^ (block >> 63)) * self.size - (block >> 63)
            low, high = self.squeeze.bounds(nearest, away)
            first = (words >> np.uint64(33)).astype(np.int64)
            kept = first < low
            unsure = ~kept & (first < high)
        for i in np.flatnonzero(unsure).tolist():
            gap = self.gap(int(block[i]), int(away[i]))
            kept[i] = is_kept(gap, int(words[i]), 64, source)
        return kept
