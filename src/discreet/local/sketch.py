"""Apple's count-mean sketch and its Hadamard variant, for those who have to be compatible.

Both hash the value with one of several public hash functions into a row of `columns` cells, and
report on that row: CMS the whole one-hot row through symmetric coins, HCMS one coordinate of its
Hadamard transform. (Apple published the algorithms and not the hash functions; ours are the linear
family of `discreet.local.linear`, so reports of these classes are read by these classes only.)

In the framework of `discreet.local.oracle` a CMS report supports the values whose cell in its row
is set: p = s/(s + 1) with s = e^(epsilon/2), and over the choice of the hash functions
q = p/m + (1 - 1/m)(1 - p) for m columns, because two values share a cell with probability exactly
1/m. An HCMS report (row, coordinate j, sign) supports the values with that sign at H[cell][j]:
p = r/(r + 1), q = p/m + (1 - 1/m)/2. The estimates are those of Apple's papers, term by term.

What this costs. The hash functions are the same for everybody, so collisions do not average out
with more people: given the functions, an estimate expects f_v + sum over u != v of
f_u (a_uv - 1/m) m/(m-1), where a_uv is the share of the K rows in which u and v collide
(`expected`). So the mean squared error is the variance plus the square of that shift. Over the
choice of the functions the shift of v is 0 on average, with the mean square
sum over u != v of f_u^2 / (K (m - 1)), because a_uv has the variance (1/m)(1 - 1/m)/K, and linear
functions make different u nearly uncorrelated. `bias` bounds the shift for the functions at hand
whatever the shares are, and the simultaneous intervals are widened by it; the standard errors are
without it. At equal epsilon the other oracles here are better: CMS has the variance of symmetric
unary encoding, HCMS that of Hadamard response.

Theorem. One CMS report is 2 ln(s)-differentially private, one HCMS report ln(r).
Proof. The row does not depend on the value. For CMS two values change at most two coordinates of
the one-hot row, as in `discreet.local.unary`. For HCMS, given row and coordinate, a sign has
probability r/(r + 1) or 1/(r + 1).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.local.bitmaps import bitmap_bytes, column_counts, trimmed
from discreet.local.device import (
    LARGEST_TABLE,
    hadamard_sketch,
    ratio_below,
    row_digits,
    sketch,
)
from discreet.local.hadamard import parity, walsh_hadamard
from discreet.local.linear import LinearHash
from discreet.local.oracle import Array, Coded, Oracle, code_type
from discreet.noise.bulk import coin_words, flips, padding, uniforms, words_of
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["CountMeanSketch", "HadamardSketch"]

_AT_ONCE = 1 << 15
_PAIRS = 1 << 12


@lru_cache(maxsize=16)
def _all_cells(rows: int, width: int, k: int) -> Array:
    """The cell of every value (column) in every row, from public seeds made by SHA-256."""
    family = LinearHash(width, k)
    values = family.digits_of(np.arange(k), family.base)
    out = np.empty((rows, k), dtype=np.int64)
    for row in range(rows):
        first, *others = row_digits(row, (rows, width), k)
        out[row] = (values @ np.array(others, dtype=np.int64) + first) % width
    out.flags.writeable = False
    return out


class _Sketch(Oracle):
    """What both sketches share: hash functions, and the cells of the values."""

    rows: int
    columns: int

    def _measure(self, rows: int, columns: int) -> None:
        self._put(
            rows=whole(rows, name="rows", at_least=1, at_most=1 << 16),
            columns=whole(columns, name="columns", at_least=2, at_most=1 << 16),
        )
        if self.rows * self.columns * 2 > LARGEST_TABLE:
            problem = f"times columns must be at most {LARGEST_TABLE // 2:,}"
            raise ParameterError("rows", rows, problem)

    @property
    def parameters(self) -> dict[str, Any]:
        """The size of the sketch."""
        return {"rows": self.rows, "columns": self.columns}

    @property
    def hashed(self) -> Array:
        """The cell of every value (column) in every row."""
        return _all_cells(self.rows, self.columns, self.domain.size)

    @abstractmethod
    def per_cell(self, tally: Array) -> Array:
        """How many reports support each cell: rows x columns."""

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """A report supports the values whose cell it supports."""
        found = self.per_cell(tally)
        return np.take_along_axis(found, self.hashed, axis=1).sum(axis=0), None

    def expected(self, shares: Array) -> Array:
        """What estimates are on average where these are the true shares: collisions included."""
        cells, m, rows = self.hashed, self.columns, np.arange(self.rows)[:, None]
        held = np.zeros((self.rows, m))
        np.add.at(held, (rows, cells), np.broadcast_to(shares, cells.shape))
        return np.asarray((held[rows, cells].mean(axis=0) - shares.sum() / m) * m / (m - 1))

    @property
    def bias(self) -> float:
        """How far collisions can move the expectation of an estimate, at most.

        Given the hash functions, a person with value d' adds (a - 1/m) m/(m-1) to the estimate of
        d, where a is the share of the rows in which the two collide. The worst is taken over all
        pairs, up to 4,096 values; beyond that nothing is promised.
        """
        return _bias(self.rows, self.columns, self.domain.size)


@lru_cache(maxsize=16)
def _bias(rows: int, width: int, k: int) -> float:
    if k > _PAIRS:
        return 1.0
    cells = _all_cells(rows, width, k)
    worst = 0.0
    for value in range(k):
        shares = (cells == cells[:, value : value + 1]).mean(axis=0)
        shares[value] = 1 / width
        worst = max(worst, float(np.abs(shares - 1 / width).max()))
    return min(worst * width / (width - 1), 1.0)


@dataclass(frozen=True, init=False, repr=False)
class CountMeanSketch(_Sketch):
    """Apple's CMS: a random row, its one-hot vector through symmetric coins.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module.
    Tested by tests/local/test_sketch.py

    >>> CountMeanSketch(100, 2, rows=16, columns=64).width
    10
    """

    rows: int = 0
    columns: int = 0
    kind: ClassVar[str] = "sketch, CMS"
    number: ClassVar[int] = 8

    def __init__(
        self, domain: Any, epsilon: Exact, *, rows: int = 256, columns: int = 1024
    ) -> None:
        self._settle(domain, epsilon)
        self._measure(rows, columns)
        s = ratio_below(self.epsilon / 2)
        self._put(ratio=s * s)
        p, one = s / (s + 1), Fraction(1, self.columns)
        self._finish(p=p, q=one * p + (1 - one) * (1 - p))

    @property
    def width(self) -> int:
        """Two bytes of the row, and a bitmap of its cells."""
        return 2 + bitmap_bytes(self.columns)

    @property
    def cells(self) -> int:
        """One count for each cell of each row."""
        return self.rows * self.columns

    @property
    def outcomes(self) -> int:
        """How many payloads there are."""
        return self.rows << self.columns

    def array_of(self, payloads: bytes) -> Array:
        """Payloads as rows of bytes."""
        return np.frombuffer(payloads, dtype=np.uint8).reshape(-1, self.width)

    def draw(self, place: int, source: Source) -> bytes:
        """A row, and a coin for each of its cells."""
        row, bits = sketch(place, (self.rows, self.columns), self.domain.size, self.p, source)
        return row.to_bytes(2, "little") + bits.to_bytes(self.width - 2, "little")

    def draw_many(self, places: Array, source: Source) -> Array:
        """The same for each person, 64 coins at a time."""
        out = np.empty((places.size, self.width), dtype=np.uint8)
        for start in range(0, places.size, _AT_ONCE):
            own = places[start : start + _AT_ONCE]
            row = uniforms(self.rows, own.size, source)
            words = coin_words(1 - self.p, own.size * words_of(self.columns), source)
            words = words.reshape(own.size, -1)
            words &= padding(self.columns)
            cell = self.hashed[row, own]
            index, shift = np.arange(own.size), (cell & 63).astype(np.uint64)
            words[index, cell >> 6] &= ~(np.uint64(1) << shift)
            coin = flips(inversion(Bernoulli(self.p)), own.size, source).astype(np.uint64)
            words[index, cell >> 6] |= coin << shift
            piece = out[start : start + _AT_ONCE]
            piece[:, 0], piece[:, 1] = row & 255, row >> 8
            piece[:, 2:] = trimmed(words, self.columns)
        return out

    def well_formed(self, reports: Array) -> Array:
        """A row that there is, and no bit after the last cell."""
        row = reports[:, 0].astype(np.int64) + 256 * reports[:, 1].astype(np.int64)
        last = int(padding(self.columns).view(np.uint8)[bitmap_bytes(self.columns) - 1])
        unused = np.uint8(0xFF & ~last)
        return np.asarray((row < self.rows) & ((reports[:, -1] & unused) == 0))

    def tally(self, reports: Array) -> Array:
        """How often each cell of each row is set."""
        row = reports[:, 0].astype(np.int64) + 256 * reports[:, 1].astype(np.int64)
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(self.rows + 1))
        found = np.zeros((self.rows, self.columns), dtype=np.int64)
        for number in np.flatnonzero(np.diff(ends)).tolist():
            mine = order[ends[number] : ends[number + 1]]
            found[number] = column_counts(reports[mine, 2:], self.columns)
        return found.reshape(-1)

    def per_cell(self, tally: Array) -> Array:
        """The counts themselves."""
        return tally.reshape(self.rows, self.columns)

    def listed(self, place: int) -> dict[bytes, Fraction]:
        """Every payload with its probability."""
        found = {}
        for row in range(self.rows):
            own = int(self.hashed[row, place])
            for bits in range(1 << self.columns):
                # a cell is as it should be with probability p
                wrong = (bits ^ (1 << own)).bit_count()
                payload = row.to_bytes(2, "little") + bits.to_bytes(self.width - 2, "little")
                mass = self.p ** (self.columns - wrong) * (1 - self.p) ** wrong
                found[payload] = mass / self.rows
        return found


@dataclass(frozen=True, init=False, repr=False)
class HadamardSketch(_Sketch, Coded):
    """Apple's HCMS: a random row, one random coordinate of its Hadamard transform, one coin.

    The report is one integer: (row times columns + coordinate) times 2, plus 1 for the sign -1.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module.
    Tested by tests/local/test_sketch.py

    >>> HadamardSketch(100, 2, rows=16, columns=64).width
    2
    """

    rows: int = 0
    columns: int = 0
    kind: ClassVar[str] = "sketch, HCMS"
    number: ClassVar[int] = 9

    def __init__(
        self, domain: Any, epsilon: Exact, *, rows: int = 256, columns: int = 1024
    ) -> None:
        _, r = self._settle(domain, epsilon)
        self._measure(rows, columns)
        if self.columns & (self.columns - 1):
            raise ParameterError("columns", columns, "must be a power of two")
        p, one = r / (r + 1), Fraction(1, self.columns)
        self._finish(p=p, q=one * p + (1 - one) / 2)

    @property
    def codes(self) -> int:
        """One for each row, coordinate and sign."""
        return 2 * self.rows * self.columns

    def mass(self, place: int, code: int) -> Fraction:
        """The mass is r c for the true sign, c for the other."""
        row, rest = divmod(code, 2 * self.columns)
        coordinate, sign = divmod(rest, 2)
        true = (int(self.hashed[row, place]) & coordinate).bit_count() % 2 == sign
        return (self.p if true else 1 - self.p) / (self.rows * self.columns)

    def code(self, place: int, source: Source) -> int:
        """A row, a coordinate, and a coin for its sign."""
        size = self.rows, self.columns
        return hadamard_sketch(place, size, self.domain.size, self.p, source)

    def draw_many(self, places: Array, source: Source) -> Array:
        """The same for each person."""
        n = places.size
        row, coordinate = uniforms(self.rows, n, source), uniforms(self.columns, n, source)
        sign = parity(self.hashed[row, places] & coordinate)
        sign ^= flips(inversion(Bernoulli(1 - self.p)), n, source)
        return ((row * self.columns + coordinate) * 2 + sign).astype(code_type(self.codes))

    def per_cell(self, tally: Array) -> Array:
        """Half of what there are in a row, plus half the transform of their signs."""
        found = tally.reshape(self.rows, self.columns, 2)
        signs = walsh_hadamard(found[:, :, 0] - found[:, :, 1])
        return np.asarray((found.sum(axis=(1, 2))[:, None] + signs) // 2)
