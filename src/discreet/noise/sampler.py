"""Draws of two-sided and one-sided geometric values at any scale, one or ten million.

A small rate is cut into digits of base 1024 (see `discreet.noise.geometric`): each digit and the
top part have a table of their own, of at most about eleven thousand thresholds, so no scale needs
a large table or a loop.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.errors import RangeError
from discreet.noise.geometric import BlockedGeometric, Geometric, TruncatedGeometric
from discreet.noise.source import Source
from discreet.noise.table import APART, CHUNK, KEPT, Array, Inversion, inversion
from discreet.remembered import remembered

__all__ = [
    "HIGHEST", "LOWEST", "Sampler", "Shared", "TableSampler", "fitting", "one_sided", "two_sided",
]  # fmt: skip

DIGIT = 10
_BASE = 1 << DIGIT
_DIRECT = Fraction(1, 128)


class Sampler(ABC):
    """Draws from one law: a single Python integer, or a numpy vector added in place of a loop."""

    @abstractmethod
    def one(self, source: Source) -> int:
        """One draw, of any size."""

    def several(self, size: int, source: Source) -> list[int]:
        """A few draws, each as by `one`, of the same bits."""
        return [self.one(source) for _ in range(size)]

    @abstractmethod
    def chunk(self, size: int, source: Source) -> Array:
        """`size` draws, at most CHUNK, as a signed integer type.

        Where a draw does not fit 64 bits, all are given as Python integers in an object array: to
        refuse or to redraw it would be another law.
        """

    def many(self, size: int, source: Source) -> Array:
        """`size` draws as int64."""
        return self.add(np.zeros(size, dtype=np.int64), source)

    def add(self, values: Array, source: Source, *, bounds: tuple[int, int] | None = None) -> Array:
        """The int64 array `values` plus independent draws, clamped to `bounds` if there are any.

        Exact: RangeError where, and only where, a final value does not fit 64 bits. So whether it
        raises is a function of the exact noisy values, and tells no more than they do.
        """
        out = np.empty(values.shape, dtype=np.int64)
        flat, target = values.reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, CHUNK):
            piece = flat[start : start + CHUNK]
            noise = self.chunk(piece.size, source)
            _add_exactly(piece, noise, target[start : start + CHUNK], bounds)
        return out


LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


def _add_exactly(
    values: Array, noise: Array, out: Array, bounds: tuple[int, int] | None = None
) -> None:
    """Put values + noise, clamped, into out; in machine integers where no sum can leave them."""
    small = noise.dtype == np.int16  # then its reach is known without a look at it
    least, most = (-(1 << 15), 1 << 15) if small else (int(noise.min()), int(noise.max()))
    low, high = int(values.min()) + least, int(values.max()) + most
    if low < LOWEST or high > HIGHEST or noise.dtype == object:
        sums = [x + z for x, z in zip(values.tolist(), noise.tolist(), strict=True)]
        if bounds is not None:
            sums = [min(max(x, bounds[0]), bounds[1]) for x in sums]
        out[:] = fitting(sums)
        return
    np.add(values, noise, out=out)
    if bounds is not None:
        np.clip(out, max(bounds[0], LOWEST), min(bounds[1], HIGHEST), out=out)


def fitting(values: list[int]) -> Array:
    """Python integers as int64, or RangeError."""
    if values and not LOWEST <= min(values) <= max(values) <= HIGHEST:
        raise RangeError("a noisy value does not fit 64 bits; release a list of Python integers")
    return np.array(values, dtype=np.int64)


class Shared:
    """The sampler that all who draw from one law share, for as long as it is kept.

    Tables are large. Whoever remembers this does not keep them: only the `KEPT` last ones of each
    kind are, however many laws somebody asks for, and one that is gone is made anew.

    Args:
        make: gives the sampler of a parameter, and keeps the last ones, such as `two_sided`.
        parameter: of the law.
    """

    __slots__ = ("_known", "_make", "_parameter")

    def __init__(self, make: Callable[[Fraction], Sampler], parameter: Fraction) -> None:
        self._make, self._parameter = make, parameter
        self._known: weakref.ref[Sampler] | None = None

    def __call__(self) -> Sampler:
        """The sampler."""
        found = None if self._known is None else self._known()
        if found is None:
            found = self._make(self._parameter)
            self._known = weakref.ref(found)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return Shared, (self._make, self._parameter)


class TableSampler(Sampler):
    """Draws from one table."""

    def __init__(self, table: Inversion) -> None:
        self.table = table

    def one(self, source: Source) -> int:
        """One draw, of any size."""
        return self.table.one(source)

    def several(self, size: int, source: Source) -> list[int]:
        """A few draws, each as by `one`, of the same bits."""
        return self.table.several(size, source)

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
        return self._below(self.top.one(source), source)

    def several(self, size: int, source: Source) -> list[int]:
        found = []
        lower = [(digit.cells, digit.marked, digit) for digit in reversed(self.digits)]
        bits, largest = source.bits, (1 << self.shift) - 1
        for _ in range(size):
            top, low = self.top.one(source), 0
            for cells, marked, digit in lower:
                u = bits(64)
                drawn = cells[u >> 48]
                low = (low << DIGIT) | (digit.decide(u, source) if drawn == marked else drawn)
            found.append((top << self.shift) + (largest - low if top < 0 and self.signed else low))
        return found

    def _below(self, top: int, source: Source) -> int:
        """The value with this top part: the lower digits are drawn."""
        low = 0
        for digit in reversed(self.digits):
            low = (low << DIGIT) | digit.one(source)
        if top < 0 and self.signed:
            low = (1 << self.shift) - 1 - low
        return (top << self.shift) + low

    def chunk(self, size: int, source: Source) -> Array:
        top = self.top.chunk(size, source)
        limit = 1 << max(62 - self.shift, 0)
        if size and not -limit < int(top.min()) <= int(top.max()) < limit:
            return np.array([self._below(int(q), source) for q in top.tolist()], dtype=object)
        top = top.astype(np.int64)
        low = np.zeros(size, dtype=np.int64)
        for digit in reversed(self.digits):
            low <<= DIGIT
            low |= digit.chunk(size, source)
        if self.signed:  # count away from zero: below zero, low becomes 2^shift - 1 - low
            low ^= (top >> 63) & ((1 << self.shift) - 1)
        return (top << self.shift) + low


def _digits(rate: Fraction) -> tuple[int, list[Inversion]]:
    size, digits = 1, []
    while rate * size < _DIRECT:
        digits.append(inversion(TruncatedGeometric(rate * size, _BASE)))
        size *= _BASE
    return size, digits


@remembered(KEPT, apart=APART)
def two_sided(rate: Fraction) -> Sampler:
    """Draws with P(Z = k) proportional to exp(-rate |k|) on all integers."""
    size, digits = _digits(rate)
    top = inversion(BlockedGeometric(rate, size))
    return _Digits(top, digits, signed=True) if digits else TableSampler(top)


@remembered(KEPT, apart=APART)
def one_sided(rate: Fraction) -> Sampler:
    """Draws with P(G = k) proportional to exp(-rate k) on k >= 0."""
    size, digits = _digits(rate)
    top = inversion(Geometric(rate * size))
    return _Digits(top, digits, signed=False) if digits else TableSampler(top)
