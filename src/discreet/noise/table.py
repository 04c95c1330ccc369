"""Many exact draws at once: inversion of the binary digits of a uniform real.

Let U be uniform on [0, 1) and F the cumulative of a law on the integers. X = the number of k
with F(k) <= U, counted from the lowest value, has the law exactly. U is revealed 64 bits at
first, as an integer u, and F(k) is held as t(k) = floor(2^64 F(k)). Then

* t(k) > u means F(k) >= t(k)/2^64 >= (u + 1)/2^64 > U, so k is not counted;
* t(k) < u means F(k) < (t(k) + 1)/2^64 <= u/2^64 <= U, so k is counted;
* t(k) = u, a tie, decides nothing: more bits of the *same* U are revealed, and F is computed to
  more bits, until it is decided. (Drawing a new U instead would have another law.)

A tie has probability 2^-64 per distinct threshold. The table runs from a k with t(k) = 0 to one
with t(k) = 2^64 - 1, where the law is unbounded, so a word that lies beyond the table is a tie
too and the tail goes on exactly.

Most draws need 16 bits only. A guide holds, for each value c of the first 16 bits, the answer
if no threshold lies in c 2^48 .. (c+1) 2^48 - 1 (then all words of the cell lie on the same side
of each threshold), and a mark otherwise; a marked draw reads 48 bits more.

Thresholds come from integer arithmetic with certified bounds; no float takes part.
Tested by tests/noise/test_table.py, which also builds tables of 6-bit words, small enough to walk
through every word there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.law import Law, smallest
from discreet.noise.source import Source
from discreet.remembered import remembered

__all__ = ["Inversion", "inversion"]

CHUNK = 1 << 17
"""Draws made at a time, so that all buffers stay in the processor's cache."""
KEPT = 128
"""So many tables, and samplers, are kept: each takes up to a megabyte, a sampler up to four."""
APART = 4
"""So many of them are kept for one asker alone."""

Array = NDArray[Any]


class Inversion:
    """Draws from a law, one or many, by inversion on a table of certified thresholds.

    `word` and `guide` are the bits of the first and of the second reading (64 and 16); tests take
    smaller ones to enumerate every case.
    """

    def __init__(self, law: Law, *, word: int = 64, guide: int = 16) -> None:
        self.law = law
        self.word = word
        self.guide_bits = guide
        self.first, thresholds = certified_thresholds(law, word)
        self.thresholds: list[int] = thresholds
        self.answers, self.marked, self._counts = _guide(thresholds, self.first, word, guide)
        self._sorted: Array = np.array(thresholds, dtype=np.uint64)
        self.cells = self.answers.data  # the same, read one by one faster than an array

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cells"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.cells = self.answers.data

    def one(self, source: Source) -> int:
        """One draw, as a Python integer of any size."""
        u = source.bits(self.word)
        answer: int = self.cells[u >> (self.word - self.guide_bits)]
        return self.decide(u, source) if answer == self.marked else answer

    def several(self, size: int, source: Source) -> list[int]:
        """A few draws, each as by `one`, of the same bits."""
        bits, word, away = source.bits, self.word, self.word - self.guide_bits
        cells, marked, found = self.cells, self.marked, []
        for _ in range(size):
            u = bits(word)
            answer = cells[u >> away]
            found.append(self.decide(u, source) if answer == marked else answer)
        return found

    def chunk(self, size: int, source: Source) -> Array:
        """`size` draws (at most CHUNK) as an array of the smallest fitting signed type, or of
        Python integers where one does not fit 64 bits.
        """
        cells = source.array(size, 16)
        out: Array = np.empty(size, dtype=self.answers.dtype)
        self.answers.take(cells, out=out, mode="clip")
        pending = np.flatnonzero(out == self.marked)
        if len(pending):
            chosen = cells[pending]
            u = chosen.astype(np.uint64) << np.uint64(48)
            u |= source.array(len(pending), 64) >> np.uint64(16)
            out = self._finish(out, pending, self._count(chosen, u), u, source)
        return out

    def _count(self, cells: Array, u: Array) -> Array:
        """How many thresholds lie below each word, given its cell.

        Most marked cells hold one threshold, and one comparison tells; the others are searched.
        """
        counted = self._counts.take(cells).astype(np.int64)
        several = np.flatnonzero(counted < 0)
        counted += self._sorted.take(counted, mode="clip") < u
        if len(several):
            counted[several] = np.searchsorted(self._sorted, u[several], side="left")
        return counted

    def _finish(
        self, out: Array, pending: Array, counted: Array, u: Array, source: Source
    ) -> Array:
        """Decide the marked draws from the thresholds counted below their words."""
        decided = counted + self.first
        for place in np.flatnonzero(self._sorted.take(counted, mode="clip") == u).tolist():
            value = self.resolve(int(u[place]), source)
            if not -(1 << 62) < value < 1 << 62:
                out, decided = out.astype(object), decided.astype(object)
            elif not -(1 << 14) < value < 1 << 14 and out.dtype != object:
                out = out.astype(np.int64)
            decided[place] = value
        out[pending] = decided
        return out

    def decide(self, u: int, source: Source) -> int:
        """The answer for a whole word."""
        index = int(np.searchsorted(self._sorted, np.uint64(u), side="left"))
        tie = index < len(self.thresholds) and self.thresholds[index] == u
        return self.resolve(u, source) if tie else self.first + index

    def resolve(self, u: int, source: Source) -> int:
        """The answer for a tie: reveal more bits of the same U until all agree."""
        count = self.word
        while True:
            u = (u << self.word) | source.bits(self.word)
            count += self.word
            found = self.law.locate(u, count)
            if found is not None:
                return found


def certified_thresholds(law: Law, word: int) -> tuple[int, list[int]]:
    """The first k of the table and floor(2^word F(k)) from there on, each floor certified."""
    full = 1 << word

    def positive(k: int) -> bool:
        return law.cumulative_bounds(k, bits=word + 16).lower * full >= 1

    def nearly_one(k: int) -> bool:
        return law.tail_bounds(k, bits=word + 16).upper * full <= 1

    start = law.lowest if law.lowest is not None else 0
    first = law.lowest if law.lowest is not None else smallest(positive, start=start) - 1
    last = smallest(nearly_one, start=start)
    if law.highest is not None:
        last = min(last, law.highest - 1)
    floors = []
    for k, (low, high) in enumerate(law.table(first, last, word + 32), start=first):
        floor = low >> 32
        floors.append(floor if floor == high >> 32 else _floor_by_refinement(law, k, word))
    return first, floors


def _floor_by_refinement(law: Law, k: int, word: int) -> int:
    """floor(2^word F(k)), computed to more bits until both bounds agree on it."""
    bits = 2 * word + 64
    while True:
        found = law.cumulative_bounds(k, bits=bits)
        low = (found.lower.numerator << word) // found.lower.denominator
        high = (found.upper.numerator << word) // found.upper.denominator
        if low == high:
            return low
        bits *= 2


def _guide(thresholds: list[int], first: int, word: int, guide: int) -> tuple[Array, int, Array]:
    """For each cell of the first `guide` bits the answer, or a mark if it holds a threshold.

    Also how many thresholds lie below the cell, or -1 where the cell holds several.
    """
    cells = 1 << guide
    owners = np.array([t >> (word - guide) for t in thresholds], dtype=np.int64)
    below = np.searchsorted(owners, np.arange(cells), side="left")
    answers = below + first
    dtype = _smallest_type(first - 2, first + len(thresholds) + 1)
    marked = int(np.iinfo(dtype).min)
    answers[owners] = marked
    counts = np.where(np.bincount(owners, minlength=cells) > 1, -1, below)
    return answers.astype(dtype), marked, counts.astype(_smallest_type(-1, len(thresholds)))


def _smallest_type(low: int, high: int) -> Any:
    for dtype in (np.int16, np.int32):
        limits = np.iinfo(dtype)
        if limits.min // 2 <= low and high <= limits.max // 2:
            return dtype
    return np.int64


@remembered(KEPT, apart=APART)
def inversion(law: Law) -> Inversion:
    """The table of a law, built once."""
    return Inversion(law)
