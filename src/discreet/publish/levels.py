"""Hierarchies: noisy counts on the levels of one tree of blocks, joined by least squares.

Level 0 has the cells; a block of the next level joins `branching` neighbours along each axis (fewer
at the end), up to one block for everything. Every level may get a share of epsilon; the blocks of a
level are disjoint, so by the theorem of `discreet.publish.measured` the shares add up.

* `identity`: the cells alone. A range of k cells has k times the variance of one.
* `hierarchy`: equal shares for all levels. With branching 2 this is Hay et al. 2010 (H). Without a
  branching, that of Qardaji, Yang and Li 2013 (HB): for n cells along the longest axis and h(b)
  levels above them, on one axis the b with the least (b - 1) h^3 - 2 (b + 1) h^2/3, all levels
  measured; on more axes the b with the least b h^2, all but the top measured.
* `quadtree`: branching 2, and shares that grow towards the cells by a factor of 2^(1/3) for each
  level (Cormode et al. 2012), taken as 1260/1000; the shares are exact fractions of epsilon.

Raw cells are weighted least squares over all levels: unbiased, and of least variance among linear
unbiased estimates. The weights of the noise in the answer to a question q are W A u with W the
inverse variances, A the tree and (A' W A) u = q; u is the fit of a tree in which only the cells
were measured, as q over their weight. So the exact variance of every answer takes one more fit.
Tested by tests/publish/test_levels.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.blocks import Blocks, Tree, blocks_of, obedient
from discreet.publish.consistency import tree_fit
from discreet.publish.measured import Account, Array, Box, Linear, Measured, Noisy, Terms, counted
from discreet.remembered import remembered

__all__ = ["Hierarchy", "hb_branching", "hierarchy", "identity", "quadtree"]

MOST_BRANCHES = 1024
"""The rule of HB tries no more than this; its optimum is near 16."""
_CUBE_ROOT_OF_2 = Fraction(1260, 1000)


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Measured):
    """Noisy counts on levels of blocks; the cells are always among them.

    Attributes:
        blocks: the tree.
        levels: the noisy counts, the cells first; None for a level that was not measured.
    """

    blocks: Tree
    levels: tuple[Noisy | None, ...]

    @property
    def noise(self) -> tuple[Noisy, ...]:
        """The noisy counts of all levels that were measured, the cells first."""
        return tuple(level for level in self.levels if level is not None)

    @property
    def _numbers(self) -> list[Array]:
        sizes = [math.prod(shape) for shape in self.blocks.shapes]
        return [
            np.zeros(n) if level is None else level.values.reshape(-1).astype(np.float64)
            for n, level in zip(sizes, self.levels, strict=True)
        ]

    @property
    def _variances(self) -> list[float]:
        return [math.inf if level is None else level.variance for level in self.levels]

    def _raw(self) -> Array:
        fitted = tree_fit(self._numbers, self._variances, self.blocks.parents)
        return fitted[0].reshape(self.shape)

    def _read(self) -> Array:
        return obedient(self.cells("raw"))

    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        question = np.zeros(self.shape)
        question[tuple(slice(*side) for side in box)] = 1
        found = self.linear(question.reshape(-1))
        return found, found

    def linear(self, question: Array) -> Linear:
        """The least-squares estimate of a weighted sum of the cells, given as a flat array."""
        empty = [np.zeros(math.prod(shape)) for shape in self.blocks.shapes[1:]]
        levels = [question * self._variances[0], *empty]
        solved = tree_fit(levels, self._variances, self.blocks.parents)
        parts = [
            (u / level.variance, level)
            for u, level in zip(solved, self.levels, strict=True)
            if level is not None
        ]
        return Linear(float(question @ self.cells("raw").reshape(-1)), parts)


def levels_measured(
    cells: Array, blocks: Tree, shares: Sequence[Fraction], account: Account
) -> tuple[Noisy | None, ...]:
    """Noisy counts of every level with a share above 0: the only function here that sees cells."""
    return tuple(
        account.measure(level, share) if share else None
        for level, share in zip(blocks.sums(cells), shares, strict=True)
    )


def _published(
    algorithm: str,
    cells: Array,
    blocks: Blocks,
    weights: Sequence[Fraction | int],
    account: Account,
) -> Hierarchy:
    total = sum(weights, Fraction(0))
    shares = [account.terms.epsilon * weight / total for weight in weights]
    levels = levels_measured(cells, blocks, shares, account)
    return Hierarchy(algorithm, account.terms, cells.shape, blocks, levels)


def identity(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Hierarchy:
    """Publish every cell with noise of its own, and nothing else.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. `discreet.publish.measured`, one step.
    Tested by tests/publish/test_levels.py

    >>> identity(np.array([3, 0, 5]), epsilon="0.1")
    <identity: 3 cells, 0.1-differential privacy (neighbours: one person is added or removed)>
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    blocks = blocks_of(values.shape, max(*values.shape, 2))
    weights = [1, *[0] * len(blocks.parents)]
    return _published("identity", values, blocks, weights, account)


def hierarchy(
    cells: Array,
    *,
    epsilon: Exact,
    branching: int | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Hierarchy:
    """Publish all levels of a tree of blocks with equal shares: H and HB of this module.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. `discreet.publish.measured`, one step for each level; equal shares add up to epsilon.
    Tested by tests/publish/test_levels.py

    Args:
        cells: exact counts, of one to three axes.
        epsilon: the privacy parameter of everything together.
        branching: how many blocks are joined along each axis; by the rule of HB if left out.
        sensitivity: how far the cells of neighbours can be apart.
        neighbours: the relation under which that holds.
        source: for tests; the default is the system's randomness.
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    ruled = branching is None
    b = hb_branching(values.shape) if branching is None else branching_of(branching)
    blocks = blocks_of(values.shape, b)
    weights = [1] * len(blocks.shapes)
    if ruled and values.ndim > 1 and len(weights) > 1:
        weights[-1] = 0
    name = f"hierarchy (branching {b}{', by rule' if ruled else ''})"
    return _published(name, values, blocks, weights, account)


def quadtree(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Hierarchy:
    """Publish all levels of a tree that halves every axis, with more for the finer ones.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. `discreet.publish.measured`, one step for each level; the shares add up to epsilon.
    Tested by tests/publish/test_levels.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    blocks = blocks_of(values.shape, 2)
    top = len(blocks.parents)
    weights = [(_CUBE_ROOT_OF_2 ** (top - level)).limit_denominator(1000) for level in range(top)]
    return _published("quadtree", values, blocks, [*weights, 1], account)


def branching_of(value: object) -> int:
    """A branching: a whole number from 2 on."""
    return whole(value, name="branching", at_least=2, at_most=1 << 30)


def height(size: int, branching: int) -> int:
    """How many levels lie above `size` cells."""
    found = 0
    while size > 1:
        size, found = -(-size // branching), found + 1
    return found


@remembered(256)
def hb_branching(shape: tuple[int, ...]) -> int:
    """The branching of HB for cells of this shape: the rule at the top of this module.

    >>> hb_branching((4096,)), hb_branching((128, 128))
    (16, 12)
    """
    if not shape:
        raise ParameterError("shape", shape, "must have an axis")
    size = max(shape)

    def cost(b: int) -> float:
        h = height(size, b)
        if len(shape) > 1:
            return b * h**2
        return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3

    return min(range(2, max(min(size, MOST_BRANCHES), 2) + 1), key=cost)
