"""Hadamard response: supports are the rows of Hadamard matrices, decoding is one fast transform.

Let H be the b x b Hadamard matrix H[i][y] = (-1)^(number of ones of i and y), b a power of two, and
take B blocks of b reports each, K = B b in all. Value v belongs to block v mod B and to row
i = v div B + 1 of it; S(v) are the s = b/2 reports of its block with H[i][y] = 1. A report of S(v)
has probability r c, any other c, with 1/c = r s + K - s.

Theorem. One report is ln(r)-differentially private.
Proof. Each report has probability r c or c under every value.

One block (Acharya, Sun and Zhang 2019): p = r/(r + 1), and two rows agree in half of all places, so
q = (r s/2 + s/2) c = 1/2. n Var = ((r+1)/(r-1))^2 whatever the shares are, so for large epsilon it
stays near 1.
More blocks: a report counts 1 for the values whose S holds it, -1 for the other values of its
block, 0 elsewhere. The expectation is (r - 1) s c under the value itself and 0 under every other
value (of the same block: rows are orthogonal; of another block: S and its complement are equally
likely), so the mean count over (r - 1) s c is unbiased. With F the share of the people whose values
are in the block of v, a report is in it with probability (F (r + 1) + 2 (1 - F)) s c, and n Var is
this over ((r - 1) s c)^2, less f_v. For f_v = 0 and F = 1/B it is (r + 2B - 1)^2/(B (r - 1)^2),
least near B = (r - 1)/2; the best power of two is taken.

Tested by tests/local/test_hadamard.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, rational, whole
from discreet.local.device import hadamard
from discreet.local.oracle import Array, Coded, code_type
from discreet.noise.bulk import flips, uniforms
from discreet.noise.categorical import Categorical
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["HadamardResponse", "parity", "walsh_hadamard"]


def walsh_hadamard(rows: Array) -> Array:
    """Each row times the Hadamard matrix of its length, a power of two, exactly.

    >>> walsh_hadamard(np.array([[1, 0, 2, 0]])).tolist()
    [[3, 3, -1, -1]]
    """
    out = np.array(rows, dtype=np.int64)
    length, half = out.shape[-1], 1
    while half < length:
        pairs = out.reshape(-1, length // (2 * half), 2, half)
        first = pairs[:, :, 0] + pairs[:, :, 1]
        np.subtract(pairs[:, :, 0], pairs[:, :, 1], out=pairs[:, :, 1])
        pairs[:, :, 0] = first
        half *= 2
    return out


def parity(numbers: Array) -> Array:
    """1 where a non-negative integer below 2^32 has an odd number of ones."""
    folded = numbers ^ (numbers >> 16)
    folded = folded ^ (folded >> 8)
    folded = folded ^ (folded >> 4)
    return np.asarray(0x6996 >> (folded & 15) & 1)


@dataclass(frozen=True, init=False, repr=False)
class HadamardResponse(Coded):
    """Report a place of a Hadamard matrix, more likely one where the row of the value is 1.

    `blocks` is a power of two; if it is not said, the one that suits epsilon. Decoding takes
    K log K additions for K reports of at most 4 (k + blocks) kinds, so it suits large domains.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module, with r <= e^epsilon.
    Tested by tests/local/test_hadamard.py

    >>> HadamardResponse(1000, 1).codes
    1024
    """

    blocks: int = 0
    kind: ClassVar[str] = "Hadamard response"
    number: ClassVar[int] = 6

    def __init__(self, domain: Any, epsilon: Exact, *, blocks: int | None = None) -> None:
        where, r = self._settle(domain, epsilon)
        if blocks is None:
            count = 1
            while 2 * count <= where.size // 2 and _spread(2 * count, r) < _spread(count, r):
                count *= 2
        else:
            count = whole(blocks, name="blocks", at_least=1, at_most=where.size)
            if count & (count - 1):
                raise ParameterError("blocks", blocks, "must be a power of two")
        self._put(blocks=count)
        one = count == 1
        own = r / (r + 2 * count - 1)
        self._finish(p=own if one else own * (r - 1) / r, q=Fraction(1, 2) if one else Fraction(0))

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of blocks."""
        return {"blocks": self.blocks}

    @property
    def length(self) -> int:
        """Reports of a block: a power of two above the number of its values."""
        return 1 << (-(-self.domain.size // self.blocks)).bit_length()

    @property
    def codes(self) -> int:
        """Reports of all blocks."""
        return self.blocks * self.length

    def normalised_variance(self, share: Exact = 0) -> float:
        """The variance of the estimate, times n, where the other values spread over all blocks."""
        if self.blocks == 1:
            return super().normalised_variance(share)
        f = rational(share, name="share")
        if not 0 <= f <= 1:
            raise ParameterError("share", share, "must lie between 0 and 1")
        r, together = self.ratio, f + (1 - f) / self.blocks
        square = (together * (r + 1) + 2 * (1 - together)) / (r + 2 * self.blocks - 1)
        return float(square / self.p**2 - f)

    def mass(self, place: int, code: int) -> Fraction:
        """The mass is r c on the value's support, c elsewhere."""
        block, y = divmod(code, self.length)
        row = place // self.blocks + 1
        inside = block == place % self.blocks and not (row & y).bit_count() % 2
        total = self.ratio * self.length / 2 + self.codes - Fraction(self.length, 2)
        return (self.ratio if inside else 1) / total

    def _chances(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of the support, of the rest of the block, and of all other blocks."""
        own = self.ratio / (self.ratio + 2 * self.blocks - 1)
        return own, own / self.ratio, 1 - own - own / self.ratio

    def code(self, place: int, source: Source) -> int:
        """A place of the own block with the wanted sign, or any place of another block."""
        return hadamard(place, self.blocks, self.length, self.ratio, source)

    def draw_many(self, places: Array, source: Source) -> Array:
        """The same for each person."""
        n, length = places.size, self.length
        blocks, rows = places % self.blocks, places // self.blocks + 1
        where = flips(inversion(Categorical(self._chances())), n, source)
        y = uniforms(length, n, source)
        y ^= (rows & -rows) * (parity(rows & y) != where)  # in another block, still uniform
        if self.blocks > 1:
            moves = (1 + uniforms(self.blocks - 1, n, source)) * (where == 2)
            blocks = (blocks + moves) % self.blocks
        return (blocks * length + y).astype(code_type(self.codes))

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """Transform each block: the counts for a row less those against it."""
        found = walsh_hadamard(tally.reshape(self.blocks, self.length))
        places = np.arange(self.domain.size)
        blocks, rows = places % self.blocks, places // self.blocks + 1
        difference, total = found[blocks, rows], found[blocks, 0]
        against = (total - difference) // 2
        return (total + difference) // 2, None if self.blocks == 1 else against


def _spread(blocks: int, r: Fraction) -> Fraction:
    """The variance, times n (r-1)^2, of a rare value where all blocks are equally common."""
    return (r + 2 * blocks - 1) ** 2 / blocks
