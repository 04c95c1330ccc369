"""The Haar wavelet with discrete noise (Privelet; Xiao, Wang and Gehrke 2010).

On one axis, padded with empty cells to n = 2^h: the sum of everything, and for every dyadic block
of two or more cells the count of its left half less that of its right half. On more axes: the same
along each, one after the other. Published wavelets divide these numbers by the size of their block;
the numerators are whole numbers, and exact discrete noise goes on them.

Sensitivity. A cell is in one block of each of the h sizes, with factor 1 or -1, and in the sum: so
h + 1 numbers contain it on one axis, and the product of all h_k + 1 on several, because the matrix
of the transform is the Kronecker product of those of the axes, so that the non-zero entries of a
column multiply. By the theorem of `discreet.publish.measured` noise at rate epsilon/(that number x
sensitivity) on all of them is epsilon-private, and no less would do: a person in one cell moves
every number that contains it by 1.

Reconstruction. The rows of the transform M are orthogonal, with squared length d_j (the size of the
block; products on several axes), so M^-1 = M' D^-1: cells are sums of numbers +-c_j/d_j. It is
unbiased, and the answer to a question q has the noise sum_j ((M q)_j / d_j) Z_j, whose variance is
exact.
Tested by tests/publish/test_wavelets.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.blocks import obedient
from discreet.publish.measured import Account, Array, Box, Linear, Measured, Noisy, Terms, counted

__all__ = ["Wavelet", "haar", "haar_inverse", "wavelet"]


def haar(values: Array) -> Array:
    """The numbers of the transform along every axis; sizes are powers of two. Exact for integers.

    Along an axis: the sum first, then the differences of the largest block, of the two halves, ...

    >>> haar(np.array([5, 2, 1, 4])).tolist()
    [12, 2, 3, -3]
    """
    out = values
    for axis in range(values.ndim):
        rest, found = np.moveaxis(out, axis, 0), []
        while len(rest) > 1:
            found.append(rest[0::2] - rest[1::2])
            rest = rest[0::2] + rest[1::2]
        out = np.moveaxis(np.concatenate([rest, *found[::-1]]), 0, axis)
    return out


def haar_inverse(numbers: Array) -> Array:
    """The values with these numbers, as floats.

    >>> haar_inverse(np.array([12, 2, 3, -3])).tolist()
    [5.0, 2.0, 1.0, 4.0]
    """
    out = numbers.astype(np.float64)
    for axis in range(numbers.ndim):
        rest = np.moveaxis(out, axis, 0)
        sums = rest[:1]
        while len(sums) < len(rest):
            differences = rest[len(sums) : 2 * len(sums)]
            pairs = np.stack([(sums + differences) / 2, (sums - differences) / 2], axis=1)
            sums = pairs.reshape(2 * len(sums), *rest.shape[1:])
        out = np.moveaxis(sums, 0, axis)
    return out


def _lengths(shape: tuple[int, ...]) -> Array:
    """The squared lengths d of the rows of the transform, in the shape of its numbers."""
    out = np.ones(shape)
    for axis, size in enumerate(shape):
        blocks = [size, *(size >> (place.bit_length() - 1) for place in range(1, size))]
        sides = [1] * len(shape)
        sides[axis] = size
        out = out * np.array(blocks, dtype=np.float64).reshape(sides)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Wavelet(Measured):
    """Noisy numbers of the Haar transform.

    Attributes:
        numbers: all of them, in the order of `haar`.
    """

    numbers: Noisy

    @property
    def noise(self) -> tuple[Noisy, ...]:
        """The noisy numbers."""
        return (self.numbers,)

    def _raw(self) -> Array:
        cells = haar_inverse(self.numbers.values)
        return np.ascontiguousarray(cells[tuple(map(slice, self.shape))])

    def _read(self) -> Array:
        return obedient(self.cells("raw"))

    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        inside = tuple(slice(*side) for side in box)
        question = np.zeros(self.numbers.values.shape)
        question[inside] = 1.0
        weights = haar(question) / _lengths(question.shape)
        parts = [(weights.reshape(-1), self.numbers)]
        found = Linear(float(self.cells("raw")[inside].sum()), parts)
        return found, found


def wavelet(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Wavelet:
    """Publish the Haar transform of the cells.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. At the top of this module.
    Tested by tests/publish/test_wavelets.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    heights = [(size - 1).bit_length() for size in values.shape]
    padded = np.zeros([1 << h for h in heights], dtype=np.int64)
    padded[tuple(map(slice, values.shape))] = values
    depth = math.prod(h + 1 for h in heights)
    numbers = account.measure(haar(padded), account.terms.epsilon, depth=depth)
    return Wavelet("wavelet", account.terms, values.shape, numbers)
