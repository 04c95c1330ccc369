"""The posterior of all counts of a tree, given everything that was measured: post-processing.

Model. The count of the root is at least 0 and flat; a node's count n falls on its halves as t and
n - t, independently for each node, as `Prior` says. A measurement y at rate e has the likelihood
exp(-e |y - n|), or exp(-(y - n)^2/(2 v)) where its noise is Gaussian of variance v. The tree has no
loops, so the posterior is found exactly, up to the grids, by two passes. With U(n) the likelihood
of everything measured in and below a node,

    U_v(n) = L_v(n) [ empty/2 (U_l(0) U_r(n) + U_l(n) U_r(0)) + even U_l(qn) U_r((1-q)n)
             + sum_i w_i integral U_l(n sin^2) U_r(n cos^2) dBeta_i ]

from the leaves to the root; then the terms in the brackets, divided by their sum, are the law of
the left count given n, and carry the belief of a node to its children. They are computed in
`discreet.publish.tree.splitting`. A belief is split between neighbouring points so that its mean is
kept, so the posterior means of two halves add up to their whole's. The posterior mean has the least
expected squared error for every linear question at once, if the prior is right.
Tested by tests/publish/tree/test_reading.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.publish.tree.levels import POINTS, Level, levels_of
from discreet.publish.tree.measured import Measured
from discreet.publish.tree.prior import Prior
from discreet.publish.tree.splitting import Places, Ways, interpolated, places, position

__all__ = ["Reading", "read"]

Array = NDArray[Any]

ROWS = 1 << 11
"""Pairs of a node and a point that are worked on at a time, so that they stay in the cache."""
KEPT = 1 << 16
"""For so many pairs it is kept where their halves lie, about a kilobyte each; else found anew."""
_NEGLIGIBLE = 1e-7
_LEAST = 1e-250
"""Likelihoods below this are taken as 0: next to others they are, and their inverses overflow."""


@dataclass(frozen=True, eq=False)
class Reading:
    """The posterior: levels with beliefs, and what was learned of the ways to split, by depth.

    Attributes:
        measured, prior: what was read, and with which prior.
        levels: the nodes by depth, with their beliefs.
        weights: of the ways to split.
        squares: over the nodes of a depth that are split, the sums of the expected squares of the
            left count's distance from the even split, and of the count.
    """

    measured: Measured
    prior: Prior
    levels: list[Level]
    weights: Array
    squares: Array

    def unevenness(self, first: int, last: int) -> float:
        """The root of the mean square of (left share - even share) at the depths first..last - 1.

        Nodes weigh as the squares of their counts, and each depth twice as much as the one above.
        1 if nothing is known.
        """
        weights = np.exp2(np.arange(first, last))
        apart, whole = weights @ self.squares[first:last]
        return float(np.sqrt(apart / whole)) if whole > 0 else 1.0


def read(measured: Measured, prior: Prior, *, rounds: int) -> Reading:
    """The posterior after `rounds` times learning the weights of the prior."""
    levels = levels_of(measured)
    own = [level.likelihood() for level in levels]
    weights = np.tile(prior.start, (len(levels), 1))
    kept = _Kept(levels, prior)
    _up(levels, own, weights, kept)
    found, squares = _down(levels, weights, kept)
    for _ in range(rounds):
        weights = prior.learned(found)
        _up(levels, own, weights, kept)
        found, squares = _down(levels, weights, kept)
    return Reading(measured, prior, levels, weights, squares)


class _Kept:
    """The ways to split, of some nodes at all points of their grids at a time.

    Where the halves lie is the same in every round, and the ways are the same going up and down, so
    what there is room for is kept.
    """

    def __init__(self, levels: list[Level], prior: Prior) -> None:
        self.levels, self.prior = levels, prior
        self.room = KEPT
        self.places: dict[tuple[int, int], Places] = {}
        self.ways: dict[tuple[int, int], Ways] = {}

    def parts(self, depth: int) -> Iterator[tuple[int, Array]]:
        """The nodes with two children, some at a time, with the number of the first."""
        splits = self.levels[depth].splits
        for start in range(0, len(splits), ROWS // POINTS):
            yield start, splits[start : start + ROWS // POINTS]

    def upwards(self, depth: int, start: int, some: Array) -> Ways:
        """The ways of these nodes, by what is known of their children by now."""
        key, level, child = (depth, start), self.levels[depth], self.levels[depth + 1]
        found = self.places.get(key)
        if found is None:
            at, counts = np.repeat(some, POINTS), level.grid[some].ravel()
            found = places(level, child, at, counts, self.prior)
        made = found.ways(child)
        if key in self.places or self.room >= len(some) * POINTS:
            self.room -= 0 if key in self.places else len(some) * POINTS
            self.places[key], self.ways[key] = found, made
        return made

    def downwards(self, depth: int, start: int, some: Array, columns: Array) -> Ways:
        """The same ways once more, at some of the points."""
        made = self.ways.get((depth, start))
        if made is not None:
            return made.only(columns)
        level, child = self.levels[depth], self.levels[depth + 1]
        at, counts = np.repeat(some, POINTS)[columns], level.grid[some].ravel()[columns]
        return places(level, child, at, counts, self.prior).ways(child)


def _up(levels: list[Level], likelihoods: list[Array], weights: Array, kept: _Kept) -> None:
    levels[-1].up = likelihoods[-1]
    for depth in range(len(levels) - 2, -1, -1):
        level, child, own = levels[depth], levels[depth + 1], likelihoods[depth]
        level.up = own.copy()
        alone = level.passes
        if len(alone):
            place = np.maximum(level.left, level.right)[alone]
            level.up[alone] *= interpolated(child, place[:, None], level.grid[alone])
        for start, some in kept.parts(depth):
            found = kept.upwards(depth, start, some)
            level.up[some] *= found.total(weights[depth]).reshape(-1, POINTS)
        largest = level.up.max(axis=1, keepdims=True)
        lost = ~(largest[:, 0] > _LEAST)
        level.up /= np.where(largest > _LEAST, largest, 1.0)
        level.up[lost] = own[lost]


def _down(levels: list[Level], weights: Array, kept: _Kept) -> tuple[Array, Array]:
    """Beliefs and means of all nodes; returns, by depth, how often each way was found, and squares.

    What the squares are is said in `Reading`.
    """
    found, squares = np.zeros_like(weights), np.zeros((len(levels), 2))
    levels[0].belief = levels[0].up * _widths(levels[0].grid)
    for depth, level in enumerate(levels):
        _normalise(level)
        if depth + 1 == len(levels):
            break
        child = levels[depth + 1]
        child.belief = np.zeros((len(child.nodes), POINTS))
        alone = level.passes
        if len(alone):
            place = np.maximum(level.left, level.right)[alone][:, None]
            _spread(child, *position(child, place, level.grid[alone]), level.belief[alone])
        for start, some in kept.parts(depth):
            belief = level.belief[some].ravel()
            columns = np.flatnonzero(belief > _NEGLIGIBLE)
            split = kept.downwards(depth, start, some, columns)
            ways, apart = _pass_on(child, split, belief[columns], weights[depth])
            found[depth] += ways
            squares[depth] += apart, belief[columns] @ split.counts[1] ** 2
    return found, squares


def _pass_on(child: Level, split: Ways, belief: Array, weights: Array) -> tuple[Array, float]:
    """Carry the belief in counts to the children.

    Returns how much of it went which way, and the expected squares of the distance from even.
    """
    chances, sums = split.chances(weights)
    total = sums.sum(axis=0)
    known = total > _LEAST
    scale = np.where(known, belief / np.where(known, total, 1.0), 0.0)
    chances *= scale
    _spread(child, *split.left, chances)
    _spread(child, *split.right, chances)
    apart = split.counts - split.counts[2]
    apart *= apart
    return np.asarray(sums @ scale), float(np.vdot(chances, apart))


def _spread(level: Level, at: Array, part: Array, chances: Array) -> None:
    """Add chances to the beliefs of nodes, split between the neighbouring points."""
    first = int(at.min(initial=0))
    size = int(at.max(initial=0)) + 2 - first
    at = (at - first).ravel()
    upper = (chances * part).ravel()
    added = np.bincount(at, weights=chances.ravel() - upper, minlength=size)
    added[1:] += np.bincount(at, weights=upper, minlength=size)[:-1]
    level.belief.reshape(-1)[first : first + size] += added


def _normalise(level: Level) -> None:
    total = level.belief.sum(axis=1)
    lost = np.flatnonzero(~(total > 0))
    if len(lost):
        level.belief[lost] = level.up[lost] * _widths(level.grid[lost])
        total = level.belief.sum(axis=1)
    level.belief /= total[:, None]
    level.mean = np.asarray((level.belief * level.grid).sum(axis=1))


def _widths(grid: Array) -> Array:
    """Trapezoid widths."""
    steps = np.diff(grid, axis=1)
    widths = np.zeros_like(grid)
    widths[:, :-1] += steps / 2
    widths[:, 1:] += steps / 2
    return widths
