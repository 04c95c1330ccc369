"""Reports that are subsets of the domain, as bitmaps: how often each value is in one.

Counting bits column by column is done for 64 columns at a time with full adders on words (carry-
save addition): three rows of weight w become one row of weight w and one of weight 2w, and every
adder removes one row. n rows take about n adders of five word operations, a tenth of what
unpacking every bit would cost. All of it is exact.
Tested by tests/local/test_bitmaps.py
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from discreet.local.oracle import Array, Oracle
from discreet.noise.bulk import padding, words_of

__all__ = ["Bitmap", "bitmap_bytes", "column_counts", "payload_of", "trimmed", "widened"]

_FEW = 24
_BATCH_BYTES = 1 << 21
_WORD = np.dtype("<u8")


def bitmap_bytes(k: int) -> int:
    """Bytes of a bitmap of k bits."""
    return -(-k // 8)


def payload_of(places: set[int] | frozenset[int], k: int) -> bytes:
    """A set of places as a bitmap."""
    return sum(1 << place for place in places).to_bytes(bitmap_bytes(k), "little")


def trimmed(words: Array, k: int) -> Array:
    """Rows of 64-bit words as rows of bytes."""
    rows = np.ascontiguousarray(words).view(np.uint8)[:, : bitmap_bytes(k)]
    return np.ascontiguousarray(rows)


def widened(reports: Array) -> Array:
    """Rows of bytes as rows of 64-bit words, with zeros at the end."""
    width = reports.shape[1]
    if width % 8 == 0:
        return np.ascontiguousarray(reports).view(_WORD)
    rows = np.zeros((len(reports), -(-width // 8) * 8), dtype=np.uint8)
    rows[:, :width] = reports
    return rows.view(_WORD)


def column_counts(reports: Array, k: int) -> Array:
    """How many rows have each of the bits 0 .. k-1 set, as int64."""
    found = np.zeros(64 * words_of(k), dtype=np.int64)
    step = max(_BATCH_BYTES // max(reports.shape[1], 1), 1)
    for start in range(0, len(reports), step):
        rows, weight = widened(reports[start : start + step]), 1
        while len(rows):
            rows, carries = _added(rows)
            found += weight * _unpacked(rows)
            rows, weight = carries, 2 * weight
    return found[:k]


def _added(rows: Array) -> tuple[Array, Array]:
    """The same sum as a few rows of this weight and carries of twice the weight."""
    carries = []
    while len(rows) > _FEW:
        third = len(rows) // 3
        x, y, z = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
        either = x ^ y
        carry = either & z
        carry |= x & y
        carries.append(carry)
        either ^= z
        rest = rows[3 * third :]
        rows = np.concatenate([either, rest]) if len(rest) else either
    return rows, np.concatenate(carries) if carries else rows[:0]


def _unpacked(rows: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits.sum(axis=0, dtype=np.int64))


class Bitmap(Oracle):
    """An oracle whose report is a subset of the domain."""

    @property
    def width(self) -> int:
        """Bytes of a payload: one bit for each value."""
        return bitmap_bytes(self.domain.size)

    @property
    def cells(self) -> int:
        """One count for each value."""
        return self.domain.size

    @property
    def outcomes(self) -> int:
        """How many different bitmaps there may be."""
        return 1 << self.domain.size

    @abstractmethod
    def chance(self, place: int, subset: frozenset[int]) -> Fraction:
        """The exact probability of a subset."""

    def array_of(self, payloads: bytes) -> Array:
        """Payloads as rows of bytes."""
        return np.frombuffer(payloads, dtype=np.uint8).reshape(-1, self.width)

    def well_formed(self, reports: Array) -> Array:
        """The bits after the last value are 0."""
        unused = np.uint8(0xFF & ~int(padding(self.domain.size).view(np.uint8)[self.width - 1]))
        if not unused:
            return np.ones(len(reports), dtype=bool)
        return np.asarray((reports[:, -1] & unused) == 0)

    def tally(self, reports: Array) -> Array:
        """How many reports hold each value."""
        return column_counts(reports, self.domain.size)

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """A report supports the values that it holds."""
        return np.asarray(tally), None

    def listed(self, place: int) -> dict[bytes, Fraction]:
        """Every subset with its probability, those of probability 0 left out."""
        k = self.domain.size
        found = {}
        for bits in range(1 << k):
            subset = frozenset(j for j in range(k) if bits >> j & 1)
            mass = self.chance(place, subset)
            if mass:
                found[payload_of(subset, k)] = mass
        return found
