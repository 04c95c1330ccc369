"""Blocks of neighbouring cells, as a tree; and how cells of any origin are made to obey.

On one axis `obedient` gives the cells whose cumulative counts are nearest among those that rise. On
more axes it goes from the whole down, halving every axis: the parts of a block are moved to the
nearest numbers, none negative, that add up to what the block was given. Each step is a nearest
point; the whole is not one. The nearest point of all (`consistency.nonnegative_fit`) is nearer cell
by cell, and much worse for questions about many cells: it lifts all empty cells a little, and
nothing takes that back. Going down, no block gains what its neighbours elsewhere lose.
Tested by tests/publish/test_blocks.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.publish.consistency import Array, nonnegative, nonnegative_fit, rising_cells
from discreet.remembered import remembered

__all__ = ["Blocks", "Tree", "blocks_of", "obedient"]


class Tree(Protocol):
    """Levels of blocks over cells, the cells first."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the levels."""

    @property
    def parents(self) -> tuple[Array, ...]:
        """For each node of a level the place of its parent in the next."""

    def sums(self, cells: Array) -> list[Array]:
        """The exact counts of all levels, from int64 cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The tree of blocks over cells of a shape: shapes of the levels, and each node's parent."""

    branching: int
    shapes: tuple[tuple[int, ...], ...]
    parents: tuple[Array, ...]

    def sums(self, cells: Array) -> list[Array]:
        """The exact counts of all levels, from int64 cells; or sums of floats."""
        levels = [cells]
        for _ in self.parents:
            above = levels[-1]
            for axis, size in enumerate(above.shape):
                above = np.add.reduceat(above, np.arange(0, size, self.branching), axis=axis)
            levels.append(above)
        return levels


@remembered(64, apart=4)
def blocks_of(shape: tuple[int, ...], branching: int) -> Blocks:
    """The tree of blocks over cells of this shape."""
    shapes, parents = [shape], []
    while max(shapes[-1]) > 1:
        below = shapes[-1]
        shapes.append(tuple(-(-size // branching) for size in below))
        places = np.unravel_index(np.arange(math.prod(below)), below)
        parents.append(np.ravel_multi_index([p // branching for p in places], shapes[-1]))
    return Blocks(branching, tuple(shapes), tuple(parents))


def obedient(cells: Array) -> Array:
    """Cells without a negative one, by the rule at the top of this module; the sum stays if it can.

    >>> obedient(np.array([[4.0, -1.0], [-2.0, 3.0]])).tolist()
    [[2.5, 0.0], [0.0, 1.5]]
    """
    if cells.ndim == 1:
        return rising_cells(cells)
    blocks = blocks_of(cells.shape, 2)
    levels = [level.reshape(-1) for level in blocks.sums(cells)]
    given = nonnegative(levels[-1])
    for below, above, up in zip(levels[-2::-1], levels[:0:-1], blocks.parents[::-1], strict=True):
        given = nonnegative_fit([below, above], [1.0, 1.0], [up], totals=given)[0]
    return given.reshape(cells.shape)
