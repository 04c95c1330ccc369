"""The part of the tree that was measured, as one table for each depth, and the grids of its nodes.

A node is in the tables if it or a descendant was measured, or if its sibling is and it has a real
cell. So a node has two children there, or one whose sibling lies in the padding, or none; what was
never measured is never expanded, whatever the size of the domain.

The count of each node is looked at on `POINTS` points between bounds that are twelve deviations of
the least-squares estimate away from it: evenly spaced, or, where the lower bound is 0, spaced like
squares.
Tested by tests/publish/tree/test_levels.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.publish.tree.measured import Measured
from discreet.publish.tree.terms import Terms

__all__ = ["POINTS", "Level", "levels_of"]

Array = NDArray[Any]

POINTS = 24
WIDE = 12.0
_NONE = -1
_VAGUE = 1e-24  # the weight of what was not measured at all
_EMPTY = np.zeros((0,))
_ALONG = np.linspace(0.0, 1.0, POINTS)


@dataclass
class Level:
    """The nodes of one depth, sorted, and what is known of each. All arrays go by node.

    Attributes:
        nodes: their numbers.
        left, right: the places of their children in the next level, or -1.
        share: the left half's share of the real cells.
        place, value, sharpness: the measurements, each of the node at this place.
        terms: the law of their noise.
        estimate, variance: by least squares, from the measurements of the whole tree.
        low, high: the bounds of the grid.
        up: the likelihood of everything measured in and below the node, on its grid.
        belief: the posterior on the grid. `mean`: its mean.
    """

    nodes: Array
    left: Array
    right: Array
    share: Array
    place: Array
    value: Array
    sharpness: Array
    terms: Terms
    estimate: Array = field(default_factory=lambda: _EMPTY)
    variance: Array = field(default_factory=lambda: _EMPTY)
    low: Array = field(default_factory=lambda: _EMPTY)
    high: Array = field(default_factory=lambda: _EMPTY)
    up: Array = field(default_factory=lambda: _EMPTY)
    belief: Array = field(default_factory=lambda: _EMPTY)
    mean: Array = field(default_factory=lambda: _EMPTY)

    @cached_property
    def grid(self) -> Array:
        """The points of the grids."""
        low, high = self.low[:, None], self.high[:, None]
        return np.where(low > 0, low + _ALONG * (high - low), high * (_ALONG * _ALONG))

    @cached_property
    def splits(self) -> Array:
        """The places of the nodes with two children."""
        return np.flatnonzero((self.left >= 0) & (self.right >= 0))

    @cached_property
    def passes(self) -> Array:
        """The places of the nodes with one child."""
        return np.flatnonzero((self.left >= 0) != (self.right >= 0))

    def likelihood(self) -> Array:
        """Of the node's own measurements, on its grid, divided by its largest value."""
        grid = self.grid
        log = np.zeros_like(grid)
        distance = self.value[:, None] - grid[self.place]
        np.subtract.at(log, self.place, self.terms.unlikely(self.sharpness[:, None], distance))
        log -= log.max(axis=1, keepdims=True)
        return np.asarray(np.exp(log))


def levels_of(measured: Measured) -> list[Level]:
    """The levels of all that was measured, with their grids."""
    levels = _tables(measured)
    _least_squares(levels)
    _bounds(levels)
    return levels


def _tables(measured: Measured) -> list[Level]:
    domain, sharpness = measured.domain, measured.sharpness
    deepest = int(measured.depth.max())
    found: list[Level] = []
    below: Array | None = None
    for depth in range(deepest, -1, -1):
        here = np.flatnonzero(measured.depth == depth)
        own = measured.node[here]
        nodes = np.unique(own if below is None else np.concatenate([own, below >> 1]))
        if depth:
            both = np.unique(np.concatenate([nodes, nodes ^ 1]))
            nodes = both[domain.real(depth, both) > 0]
        left, right = _children(nodes, below)
        found.append(
            Level(
                nodes=nodes,
                left=left,
                right=right,
                share=_share(measured, depth, nodes),
                place=np.searchsorted(nodes, own),
                value=measured.value[here].astype(float),
                sharpness=sharpness[here],
                terms=measured.terms,
            )
        )
        below = nodes
    return found[::-1]


def _children(nodes: Array, below: Array | None) -> tuple[Array, Array]:
    if below is None:
        return np.full(nodes.shape, _NONE), np.full(nodes.shape, _NONE)
    both = []
    for side in (0, 1):
        child = 2 * nodes + side
        place = np.minimum(np.searchsorted(below, child), len(below) - 1)
        both.append(np.where(below[place] == child, place, _NONE))
    return both[0], both[1]


def _share(measured: Measured, depth: int, nodes: Array) -> Array:
    domain = measured.domain
    if domain.cells == 1 << domain.depth or depth == domain.depth:
        return np.full(nodes.shape, 0.5)
    return np.asarray(domain.real(depth + 1, 2 * nodes) / domain.real(depth, nodes))


def _least_squares(levels: list[Level]) -> None:
    """Two passes: weigh each node's own values with its children's sum, then share out the rest."""
    below: tuple[Array, Array] | None = None
    sums: list[Array] = []
    for level in reversed(levels):
        weight = np.zeros(len(level.nodes))
        total = np.zeros(len(level.nodes))
        precision = level.sharpness**2 / 2
        np.add.at(weight, level.place, precision)
        np.add.at(total, level.place, precision * level.value)
        children = np.zeros(len(level.nodes))
        if below is not None:
            estimate, variance = (np.append(each, 0.0) for each in below)
            children = estimate[level.left] + estimate[level.right]
            spread = variance[level.left] + variance[level.right]
            has = (level.left >= 0) | (level.right >= 0)
            more = np.where(has, 1 / np.where(has, spread, 1.0), 0.0)
            weight += more
            total += more * children
        sums.append(children)
        level.variance = 1 / np.maximum(weight, _VAGUE)
        level.estimate = total * level.variance
        below = level.estimate, level.variance
    for level, child, children in zip(levels, levels[1:], reversed(sums), strict=False):
        _share_out(level, child, children)


def _share_out(level: Level, child: Level, children: Array) -> None:
    rest = level.estimate - children
    before = np.append(child.variance, 0.0)
    left, right = before[level.left], before[level.right]
    for place, own, other in ((level.left, left, right), (level.right, right, left)):
        here = np.flatnonzero(place >= 0)
        part = own[here] / (own[here] + other[here])
        child.estimate[place[here]] += part * rest[here]
        child.variance[place[here]] = part * other[here] + part**2 * level.variance[here]


def _bounds(levels: list[Level]) -> None:
    above = np.full(1, np.inf)
    parents = np.zeros(len(levels[0].nodes), dtype=int)
    for level in levels:
        spread = np.sqrt(level.variance)
        high = np.minimum(above[parents], np.maximum(level.estimate + WIDE * spread, spread / 2))
        low = np.maximum(0.0, level.estimate - WIDE * spread)
        level.low, level.high = np.where(low < high, low, 0.0), high
        above = high
        size = max(int(level.left.max(initial=-1)), int(level.right.max(initial=-1))) + 1
        parents = np.zeros(size, dtype=int)
        for place in (level.left, level.right):
            here = np.flatnonzero(place >= 0)
            parents[place[here]] = here
