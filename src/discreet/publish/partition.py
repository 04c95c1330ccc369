"""Counts of disjoint boxes that cover all cells, each taken as even inside: one or two layers.

`Boxes` holds the corners; `Partition` the noisy counts of such boxes, and perhaps those of the
coarser boxes that they divide. Inside a box the cells are taken to be alike, which no data promise:
so intervals do not assume it, they go from the boxes inside a question to those that it touches.

Two layers, where the noise of the coarse counts decided how each coarse box is divided. Given the
division, that noise is no longer centred, so an interval must not use it for the boxes that it
divided. It uses the coarse count of each coarse box that lies inside the question (or touches it,
for the high end) as a whole, and fine counts, whose noise is fresh, in those that the question
cuts. The noise of a coarse box that is not cut has no part in the division of those that are, so
given the division all noise in the estimate is independent and has its stated law.
Tested by tests/publish/test_partition.py
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from discreet.publish.blocks import obedient
from discreet.publish.consistency import tree_fit
from discreet.publish.measured import Array, Box, Linear, Measured, Noisy

__all__ = ["Boxes", "Partition", "box_sums", "grid"]


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Boxes of cells: `low` and `high` have a row for each box and a column for each axis."""

    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.low)

    @property
    def sizes(self) -> Array:
        """How many cells each box has."""
        return np.asarray((self.high - self.low).prod(axis=1))

    def taken(self, places: Array) -> Boxes:
        """Some of the boxes, by mask or place."""
        return Boxes(self.low[places], self.high[places])

    def joined(self, other: Boxes) -> Boxes:
        """These boxes, then the others."""
        return Boxes(np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))

    def covered(self, box: Box) -> Array:
        """Which part of each box lies in a question."""
        ends = np.array(box)
        sides = np.minimum(self.high, ends[:, 1]) - np.maximum(self.low, ends[:, 0])
        return np.asarray(np.maximum(sides, 0).prod(axis=1) / self.sizes)

    def owners(self, shape: tuple[int, ...]) -> Array:
        """The place of the box that each cell is in."""
        found = np.empty(shape, dtype=np.int64)
        for place, (low, high) in enumerate(
            zip(self.low.tolist(), self.high.tolist(), strict=True)
        ):
            found[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = place
        return found


def box_sums(cells: Array, boxes: Boxes) -> Array:
    """The exact count of each box, from int64 cells."""
    upto = np.zeros([size + 1 for size in cells.shape], dtype=np.int64)
    upto[(slice(1, None),) * cells.ndim] = cells
    for axis in range(cells.ndim):
        np.cumsum(upto, axis=axis, out=upto)
    total = np.zeros(len(boxes), dtype=np.int64)
    for corner in itertools.product((0, 1), repeat=cells.ndim):
        ends = np.where(np.array(corner, dtype=bool), boxes.high, boxes.low)
        sign = 1 if (cells.ndim - sum(corner)) % 2 == 0 else -1
        total += sign * upto[tuple(ends.T)]
    return total


def grid(low: tuple[int, ...], high: tuple[int, ...], step: int) -> Boxes:
    """The boxes of `step` cells along each axis that cover a box, smaller at its end."""
    edges = [np.append(np.arange(a, b, step), b) for a, b in zip(low, high, strict=True)]
    lows = np.meshgrid(*(edge[:-1] for edge in edges), indexing="ij")
    highs = np.meshgrid(*(edge[1:] for edge in edges), indexing="ij")
    return Boxes(
        np.stack([one.reshape(-1) for one in lows], axis=1),
        np.stack([one.reshape(-1) for one in highs], axis=1),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Measured):
    """Noisy counts of boxes, even inside.

    Raw cells are unbiased for the counts of the boxes where there is one layer; with two they are
    weighted least squares, whose weights depend on a division that the coarse noise had a part in.

    Attributes:
        boxes, counts: the finest boxes and their noisy counts.
        coarse, coarse_counts, owners: the coarser boxes, their counts, and in which of them each
            of the finest lies; None where there is one layer.
        total: a noisy number of all records; None where none was bought.
    """

    boxes: Boxes
    counts: Noisy
    coarse: Boxes | None = None
    coarse_counts: Noisy | None = None
    owners: Array | None = None
    total: Noisy | None = None

    @property
    def noise(self) -> tuple[Noisy, ...]:
        """The noisy counts: finest, coarser, total."""
        return tuple(n for n in (self.counts, self.coarse_counts, self.total) if n is not None)

    def _spread(self, counts: Array) -> Array:
        """Counts of the finest boxes, even inside."""
        return np.asarray((counts / self.boxes.sizes)[self.boxes.owners(self.shape)])

    def _layers(self) -> tuple[list[Array], list[float], list[Array]]:
        values, spread = [self.counts.values.astype(np.float64)], [self.counts.variance]
        parents: list[Array] = []
        if self.coarse_counts is not None and self.owners is not None:
            values.append(self.coarse_counts.values.astype(np.float64))
            spread.append(self.coarse_counts.variance)
            parents.append(self.owners)
        return values, spread, parents

    def _raw(self) -> Array:
        return self._spread(tree_fit(*self._layers())[0])

    def _read(self) -> Array:
        return obedient(self.cells("raw"))

    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        part = self.boxes.covered(box)
        inside, touched = part == 1, part > 0
        if self.coarse is None or self.coarse_counts is None or self.owners is None:
            return self._sum(inside), self._sum(touched)
        above = self.coarse.covered(box)
        is_cut = ((above > 0) & (above < 1))[self.owners]
        whole = above == 1
        return self._sum(inside & is_cut, whole), self._sum(touched & is_cut, whole)

    def _sum(self, fine: Array, coarse: Array | None = None) -> Linear:
        parts = [(fine.astype(np.float64), self.counts)]
        if coarse is not None and self.coarse_counts is not None:
            parts.append((coarse.astype(np.float64), self.coarse_counts))
        return Linear(sum(float(w @ noisy.values) for w, noisy in parts), parts)
