"""A binary tree over the cells of a grid of one to three dimensions, and private counts in it.

The sides are padded to powers of two. Each depth halves the side that is longest by then (the first
of equals), so the splits of a square alternate, rows first. A node of depth d is a number below
2^d; its children are 2v and 2v + 1; the leaves are the padded cells. Cells of the padding do not
exist: that they hold nobody is public, and no node without a real cell is ever measured.

`Domain` is public. `Cells` holds the private counts, as sorted leaf numbers with running totals:
its size is the number of cells that hold anybody, and the count of a node is two binary searches.
Tested by tests/publish/tree/test_domain.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole

__all__ = ["DEEPEST", "Cells", "Domain"]

Array = NDArray[Any]

DEEPEST = 60
"""At most 2^60 padded cells, so that leaf numbers fit 64 bits with room to spare."""
MOST_AXES = 3
LARGEST = 1 << 62
"""Counts of nodes are cut to this."""


@dataclass(frozen=True)
class Domain:
    """The grid: how many cells along each axis.

    >>> Domain((5, 3)).depth, Domain((5, 3)).axes
    (5, (0, 0, 1, 0, 1))
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        given: object = self.shape
        if not isinstance(given, tuple | list) or not 1 <= len(given) <= MOST_AXES:
            raise ParameterError("shape", given, f"must name one to {MOST_AXES} side lengths")
        sides = tuple(whole(side, name="shape", at_least=1, at_most=1 << DEEPEST) for side in given)
        object.__setattr__(self, "shape", sides)
        if self.depth > DEEPEST:
            raise ParameterError("shape", sides, f"must have at most 2^{DEEPEST} padded cells")

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """For each axis, the binary digits of a padded coordinate."""
        return tuple((side - 1).bit_length() for side in self.shape)

    @cached_property
    def depth(self) -> int:
        """The depth of the leaves."""
        return sum(self.bits)

    @property
    def cells(self) -> int:
        """How many real cells there are."""
        return math.prod(self.shape)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """For each depth, the axis that is halved there."""
        left = list(self.bits)
        found = []
        for _ in range(self.depth):
            axis = left.index(max(left))
            left[axis] -= 1
            found.append(axis)
        return tuple(found)

    def leaves(self, coordinates: Sequence[Array]) -> Array:
        """The leaf numbers of cells given by their coordinates, one array for each axis."""
        if len(self.shape) == 1:
            return np.asarray(coordinates[0], dtype=np.int64)
        out = np.zeros(np.shape(coordinates[0]), dtype=np.int64)
        left = list(self.bits)
        for axis in self.axes:
            left[axis] -= 1
            out <<= 1
            out |= (coordinates[axis] >> left[axis]) & 1
        return out

    def corners(self, depth: int, nodes: Array) -> list[Array]:
        """The lowest coordinates of nodes of one depth, one array for each axis."""
        found = [np.zeros(nodes.shape, dtype=np.int64) for _ in self.shape]
        for place, axis in enumerate(self.axes[:depth]):
            found[axis] = (found[axis] << 1) | ((nodes >> (depth - 1 - place)) & 1)
        return [low << left for low, left in zip(found, self.left(depth), strict=True)]

    def left(self, depth: int) -> tuple[int, ...]:
        """The binary logarithms of the sides of a node."""
        used = self.axes[:depth]
        return tuple(bits - used.count(axis) for axis, bits in enumerate(self.bits))

    def sides(self, depth: int, nodes: Array) -> tuple[list[Array], list[Array]]:
        """The half-open boxes of real cells of nodes: low and high coordinates by axis.

        Where a node has no real cell, some high coordinate is not above its low one.
        """
        low = self.corners(depth, nodes)
        high = [
            np.minimum(at + (1 << left), side)
            for at, left, side in zip(low, self.left(depth), self.shape, strict=True)
        ]
        return low, high

    def real(self, depth: int, nodes: Array) -> Array:
        """How many real cells each node has."""
        if self.cells == 1 << self.depth:
            return np.full(nodes.shape, 1 << (self.depth - depth), dtype=np.int64)
        low, high = self.sides(depth, nodes)
        sizes = [np.maximum(b - a, 0) for a, b in zip(low, high, strict=True)]
        return np.asarray(np.prod(np.stack(sizes), axis=0, dtype=np.int64))


class Cells:
    """Exact private counts of the cells of a domain. Only measuring functions look into it.

    No sum wraps: where 64 bits might not hold the running totals they are Python integers, and the
    count of a node is cut to -2^62 .. 2^62, which moves neighbours no further apart.
    """

    def __init__(self, domain: Domain, leaves: Array, counts: Array) -> None:
        order = np.argsort(leaves, kind="stable")
        self.domain = domain
        self._leaves = leaves[order]
        ends = (int(counts.min()), int(counts.max())) if counts.size else (0,)
        largest = max(map(abs, ends))
        kind = np.int64 if largest * counts.size < LARGEST else object
        self._totals = np.concatenate([np.zeros(1, kind), np.cumsum(counts[order].astype(kind))])

    def __repr__(self) -> str:
        return f"<Cells of a domain of shape {self.domain.shape}>"

    @classmethod
    def dense(cls, counts: Array) -> Cells:
        """From an integer array of one to three dimensions with all the counts."""
        _integers(counts)
        domain = Domain(counts.shape)
        where = np.nonzero(counts)
        return cls(domain, domain.leaves(where), counts[where])

    @classmethod
    def sparse(cls, shape: tuple[int, ...], keys: Array, counts: Array) -> Cells:
        """From the coordinates of the cells that hold somebody, one row for each, and counts.

        Cells that are left out hold nobody; a cell named twice has the sum of its counts.
        """
        domain = Domain(shape)
        _integers(keys)
        _integers(counts)
        rows = keys.reshape(len(counts), -1) if keys.size else np.zeros((0, len(shape)), np.int64)
        if rows.shape[1] != len(domain.shape):
            raise ParameterError("keys", None, "must have one column for each side of the shape")
        if np.any(rows < 0) or np.any(rows >= np.array(domain.shape)):
            raise ParameterError("keys", None, "must lie inside the shape")
        columns = [rows[:, axis].astype(np.int64) for axis in range(len(domain.shape))]
        return cls(domain, domain.leaves(columns), counts)

    def count(self, depth: Array, nodes: Array) -> Array:
        """The exact counts of nodes."""
        below = self.domain.depth - depth
        last = np.searchsorted(self._leaves, (nodes + 1) << below)
        first = np.searchsorted(self._leaves, nodes << below)
        found = np.clip(self._totals[last] - self._totals[first], -LARGEST, LARGEST)
        return np.asarray(found, dtype=np.int64)


def _integers(values: object) -> None:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        raise InputTypeError("cells are counted in integer arrays. Nothing was released")
