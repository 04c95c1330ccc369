"""Draws of two-sided and one-sided geometric values at any scale, one or ten million.

A small rate is cut into digits of base 1024 (see `discreet.noise.geometric`): each digit and the
top part have a table of their own, of at most about eleven thousand thresholds, so no scale needs
a large table or a loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import RangeError
from discreet.noise.geometric import BlockedGeometric, Geometric, TruncatedGeometric
from discreet.noise.source import Source
from discreet.noise.table import CHUNK, Array, Inversion, inversion

__all__ = ["Sampler", "TableSampler", "one_sided", "two_sided"]

DIGIT = 10
_BASE = 1 << DIGIT
_DIRECT = Fraction(1, 128)


class Sampler(ABC):
    """Draws from one law: a single Python integer, or a numpy vector added in place of a loop."""

    @abstractmethod
    def one(self, source: Source) -> int:
        """One draw, of any size."""

    @abstractmethod
    def chunk(self, size: int, source: Source) -> Array:
        """`size` draws, at most CHUNK, as any signed integer type; RangeError beyond 64 bits."""

    def many(self, size: int, source: Source) -> Array:
        """`size` draws as int64."""
        return self.add(np.zeros(size, dtype=np.int64), source)

    def add(self, values: Array, source: Source) -> Array:
        """The int64 array `values` plus independent draws, exactly, or RangeError."""
        out = np.empty(values.shape, dtype=np.int64)
        flat, target = values.reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, CHUNK):
            piece = flat[start : start + CHUNK]
            noise = self.chunk(piece.size, source)
            _add_exactly(piece, noise, target[start : start + CHUNK])
        return out


def _add_exactly(values: Array, noise: Array, out: Array) -> None:
    """Out = values + noise; an overflow is refused, never wrapped.

    A sum of two 64-bit integers wrapped if and only if both have the sign that the result has
    not. Whether this raises is a function of the exact noisy values, so it is post-processing.
    """
    np.add(values, noise, out=out)
    low, high = int(values.min()), int(values.max())
    if low + int(noise.min()) < -(1 << 63) or high + int(noise.max()) >= 1 << 63:
        wide = noise.astype(np.int64)
        if np.any(((values ^ out) & (wide ^ out)) < 0):
            raise RangeError(
                "a noisy value does not fit 64 bits; release a list of Python integers"
            )


class TableSampler(Sampler):
    """Draws from one table."""

    def __init__(self, table: Inversion) -> None:
        self.table = table

    def one(self, source: Source) -> int:
        """One draw, of any size."""
        return self.table.one(source)

    def chunk(self, size: int, source: Source) -> Array:
        """`size` draws, at most CHUNK."""
        return self.table.chunk(size, source)


class _Digits(Sampler):
    """A top part from one table and `len(digits)` lower digits from a table each."""

    def __init__(self, top: Inversion, digits: list[Inversion], *, signed: bool) -> None:
        self.top = top
        self.digits = digits
        self.signed = signed
        self.shift = DIGIT * len(digits)

    def one(self, source: Source) -> int:
        top, low = self.top.one(source), 0
        for digit in reversed(self.digits):
            low = (low << DIGIT) | digit.one(source)
        if top < 0 and self.signed:
            low = (1 << self.shift) - 1 - low
        return (top << self.shift) + low

    def chunk(self, size: int, source: Source) -> Array:
        if self.shift > 45:  # the top part reaches 14 bits in its table
            return np.array([_fitting(self.one(source)) for _ in range(size)], dtype=np.int64)
        top = self.top.chunk(size, source).astype(np.int64)
        low = np.zeros(size, dtype=np.int64)
        for digit in reversed(self.digits):
            low <<= DIGIT
            low |= digit.chunk(size, source)
        if self.signed:  # count away from zero: below zero, low becomes 2^shift - 1 - low
            low ^= (top >> 63) & ((1 << self.shift) - 1)
        limit = 1 << (62 - self.shift)
        if top.size and not -limit < int(top.min()) <= int(top.max()) < limit:
            raise RangeError("a draw of noise does not fit 64 bits; release Python integers")
        return (top << self.shift) + low


def _fitting(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise RangeError("a draw of noise does not fit 64 bits; release Python integers")
    return value


def _digits(rate: Fraction) -> tuple[int, list[Inversion]]:
    size, digits = 1, []
    while rate * size < _DIRECT:
        digits.append(inversion(TruncatedGeometric(rate * size, _BASE)))
        size *= _BASE
    return size, digits


@lru_cache(maxsize=256)
def two_sided(rate: Fraction) -> Sampler:
    """Draws with P(Z = k) proportional to exp(-rate |k|) on all integers."""
    size, digits = _digits(rate)
    top = inversion(BlockedGeometric(rate, size))
    return _Digits(top, digits, signed=True) if digits else TableSampler(top)


@lru_cache(maxsize=256)
def one_sided(rate: Fraction) -> Sampler:
    """Draws with P(G = k) proportional to exp(-rate k) on k >= 0."""
    size, digits = _digits(rate)
    top = inversion(Geometric(rate * size))
    return _Digits(top, digits, signed=False) if digits else TableSampler(top)
