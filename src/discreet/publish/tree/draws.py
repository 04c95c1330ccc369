"""Draws from the posterior of a tree, only where a question needs them: post-processing.

A question cuts some nodes and holds or misses the others whole. Starting from draws of the root's
count, only nodes that the question cuts are split, each draw by the law of the left count given the
node's count (`discreet.publish.tree.splitting`). Below what was measured the law is the prior's. So
each draw of an answer has its posterior law, up to the grids, at the cost of the nodes on the edge
of the question; what lies elsewhere in the tree is never looked at.

The bits come from a stream under a key made of the published values and the question, all public:
the same question has the same answer whenever it is asked. Nothing here protects anybody.
Tested by tests/publish/tree/test_draws.py
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.source import KeyedSource
from discreet.publish.tree.levels import Level
from discreet.publish.tree.reading import Reading
from discreet.publish.tree.splitting import places as places_of
from discreet.remembered import remembered

__all__ = ["Draws"]

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]

FINEST = 2048
"""So many cut nodes below what was measured are split; of more, the cut cells' share is taken."""
ROWS = 1 << 14
_NODE = -1


class Draws:
    """`size` draws of answers from the posterior of one reading."""

    def __init__(self, reading: Reading, size: int) -> None:
        self.reading, self.size = reading, size
        measured = reading.measured
        said = sorted(measured.terms.to_dict().items())
        held = sha256(repr((measured.domain.shape, said)).encode())
        for column in (measured.depth, measured.node, measured.units, measured.value):
            held.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        self._name = held.digest()

    def _open(self, question: object) -> KeyedSource:
        return KeyedSource(sha256(self._name + repr(question).encode()).digest())

    def inside(self, box: Box) -> tuple[Array, Array]:
        """Draws of the count in a half-open box, and of the total beside them."""
        source, domain = self._open(box), self.reading.measured.domain
        total = self._total(source)
        found = np.zeros(self.size)
        nodes, places, counts = np.array([0]), np.array([0]), total[None, :]
        for depth in range(domain.depth + 1):
            overlap = _overlap(domain.sides(depth, nodes), box)
            real = domain.real(depth, nodes)
            found += counts[overlap == real].sum(axis=0)
            cut = np.flatnonzero((overlap > 0) & (overlap < real))
            loose = cut[places[cut] == _NODE]
            if len(loose) > FINEST:
                found += (overlap[loose] / real[loose]) @ counts[loose]
                cut = cut[places[cut] != _NODE]
            if not len(cut):
                break
            nodes, places, counts = self._below(depth, nodes[cut], places[cut], counts[cut], source)
        return found, total

    def _below(
        self, depth: int, nodes: Array, places: Array, counts: Array, source: KeyedSource
    ) -> tuple[Array, Array, Array]:
        """The children of nodes, with draws of their counts."""
        at = np.repeat(places, self.size)
        left, lefts, rights = self.split(
            depth, np.repeat(nodes, self.size), at, counts.ravel(), source
        )
        both = np.concatenate([2 * nodes, 2 * nodes + 1])
        first = lefts[:: self.size], rights[:: self.size]
        shaped = left.reshape(counts.shape)
        return both, np.concatenate(first), np.concatenate([shaped, counts - shaped])

    def crossing(self, share: float) -> Array:
        """Draws of the cell (on a line) at which so large a share of the total is reached."""
        source, domain = self._open(("crossing", share)), self.reading.measured.domain
        counts = self._total(source)
        wanted = share * counts
        nodes = np.zeros(self.size, dtype=np.int64)
        places = np.zeros(self.size, dtype=np.int64)
        for depth in range(domain.depth):
            left, lefts, rights = self.split(depth, nodes, places, counts, source)
            first = wanted <= left
            real = domain.real(depth + 1, 2 * nodes + 1) > 0
            first |= ~real
            nodes = 2 * nodes + ~first
            places = np.where(first, lefts, rights)
            wanted = np.where(first, wanted, wanted - left)
            counts = np.where(first, left, counts - left)
        return nodes

    def split(
        self, depth: int, nodes: Array, places: Array, counts: Array, source: KeyedSource
    ) -> tuple[Array, Array, Array]:
        """Draws of the left counts of nodes with these counts, and the places of the halves."""
        left = np.zeros(len(nodes))
        lefts, rights = np.full(len(nodes), _NODE), np.full(len(nodes), _NODE)
        has = np.zeros(len(nodes), dtype=bool)
        levels = self.reading.levels
        if depth + 1 < len(levels):
            level = levels[depth]
            known = places != _NODE
            lefts[known], rights[known] = level.left[places[known]], level.right[places[known]]
            has = (lefts != _NODE) & (rights != _NODE)
            here = np.flatnonzero(has)
            for start in range(0, len(here), ROWS):
                some = here[start : start + ROWS]
                left[some] = self._drawn(depth, places[some], counts[some], source)
        alone = ~has & (lefts != _NODE)  # a single child gets everybody
        left[alone] = counts[alone]
        other = np.flatnonzero((lefts == _NODE) & (rights == _NODE))
        left[other] = counts[other] * self._shares(depth, nodes[other], source)
        return left, lefts, rights

    def _drawn(self, depth: int, at: Array, counts: Array, source: KeyedSource) -> Array:
        level, child = self.reading.levels[depth], self.reading.levels[depth + 1]
        found = places_of(level, child, at, counts, self.reading.prior).ways(child)
        chances, _ = found.chances(self.reading.weights[depth])
        upto = np.cumsum(chances, axis=0)
        target = _uniform(source, len(at)) * upto[-1]
        way = np.minimum((upto <= target).sum(axis=0), len(upto) - 1)
        column = np.arange(len(at))
        left = found.counts[way, column]
        smooth = way >= 3  # between the midpoints on either side of this one
        before = found.counts[np.maximum(way - 1, 3), column]
        after = found.counts[np.minimum(way + 1, len(upto) - 1), column]
        chance = np.maximum(chances[way, column], 1e-300)
        along = np.clip(1 - (upto[way, column] - target) / chance, 0.0, 1.0)
        spread = left + np.where(along < 0.5, left - before, after - left) * (along - 0.5)
        left = np.clip(np.where(smooth, spread, left), 0.0, counts)
        return np.where(upto[-1] > 0, left, counts * _fallback(level, child, at))

    def _shares(self, depth: int, nodes: Array, source: KeyedSource) -> Array:
        """Shares of the left halves of nodes below which nothing was measured."""
        reading, domain = self.reading, self.reading.measured.domain
        if not len(nodes):
            return np.zeros(0)
        here = domain.real(depth + 1, 2 * nodes) / np.maximum(domain.real(depth, nodes), 1)
        known = depth < len(reading.weights)
        weights = reading.weights[depth] if known else reading.prior.start
        way = np.searchsorted(np.cumsum(weights)[:-1], _uniform(source, len(nodes)), side="right")
        u = _uniform(source, len(nodes))
        shares = np.where(way == 0, np.floor(2 * u), here)
        for number, alpha in enumerate(reading.prior.alphas):
            mine = way == number + 2
            grid, table = _quantiles(float(alpha))
            shares[mine] = np.interp(u[mine], grid, table)
        return np.where((here > 0) & (here < 1), shares, here)

    def _total(self, source: KeyedSource) -> Array:
        root = self.reading.levels[0]
        upto = np.concatenate([[0.0], np.cumsum(root.belief[0])])
        grid = root.grid[0]
        edges = np.concatenate([grid[:1], (grid[1:] + grid[:-1]) / 2, grid[-1:]])
        return np.asarray(np.interp(_uniform(source, self.size) * upto[-1], upto, edges))


def _fallback(level: Level, child: Level, at: Array) -> Array:
    """The expected share of the left half, for a count of which nothing is known."""
    left, right = child.mean[level.left[at]], child.mean[level.right[at]]
    return np.asarray((left + 1e-300) / (left + right + 2e-300))


@remembered(16)
def _quantiles(alpha: float) -> tuple[Array, Array]:
    from scipy.special import betaincinv  # noqa: PLC0415 - it takes a while, and few need it

    grid = np.sin(np.linspace(0, np.pi / 2, 1025)) ** 2
    return grid, betaincinv(alpha, alpha, grid)


def _uniform(source: KeyedSource, size: int) -> Array:
    return np.asarray((source.array(size, 64) >> np.uint64(11)) * 2.0**-53)


def _overlap(sides: tuple[list[Array], list[Array]], box: Box) -> Array:
    """How many real cells of nodes lie in a box."""
    sizes = [
        np.maximum(np.minimum(high, end) - np.maximum(low, start), 0)
        for low, high, (start, end) in zip(*sides, box, strict=True)
    ]
    return np.asarray(np.prod(np.stack(sizes), axis=0, dtype=np.int64))
