"""A published histogram: one release, then any number of questions, each with its interval.

The object holds what was measured, which is public, and its reading: the posterior of every count.
Answers are posterior means; they add up, and none is negative. The published counts are a partition
into boxes, the pieces that the tree was not looked into any further. On a line, and on grids of
more than `SMOOTH` cells, the people of a piece are taken to be spread evenly over its cells, and no
array of all the cells is made unless it is asked for. On smaller grids they are spread smoothly
(`discreet.publish.tree.spreading`), which takes a twentieth off the errors of rectangles.

Intervals. They hold the posterior chance `confidence`, from draws of the posterior. How often they
hold the truth is another matter, because no data come from the prior: see the figures of
benchmarks/README.md, and tests/publish/test_histogram.py for what is promised of made-up data.
Tested by tests/publish/test_histogram.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, probability, whole
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import ZCDP, Neighbours, PureDP
from discreet.privacy.loss import PureLoss, ZCDPLoss
from discreet.publish.measured import Answer
from discreet.publish.tree.domain import Cells
from discreet.publish.tree.draws import Draws
from discreet.publish.tree.measured import Measured
from discreet.publish.tree.measuring import Settings, measure, settings_for
from discreet.publish.tree.reading import Reading, read
from discreet.publish.tree.spreading import evenly, smoothly
from discreet.publish.tree.terms import terms_of

__all__ = ["Histogram", "adaptive_tree"]

Array = NDArray[Any]
Span = tuple[int, int]

DRAWS = 400
LARGEST = 1 << 27
"""No array of more cells than this is made."""
SMOOTH = 1 << 20
"""On grids of two and three dimensions of up to so many cells, people are spread smoothly."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The published counts: boxes of cells, and how many people are expected in each."""

    low: list[Array]
    high: list[Array]
    mean: Array

    def __len__(self) -> int:
        return len(self.mean)

    @cached_property
    def cells(self) -> Array:
        """How many cells each box has."""
        sizes = [high - low for low, high in zip(self.low, self.high, strict=True)]
        return np.asarray(np.prod(np.stack(sizes), axis=0, dtype=float))


class Histogram:
    """Counts of the cells of a grid, published once.

    Guarantee. As in `guarantee`; every question is post-processing and costs nothing.

    >>> h = adaptive_tree(np.array([90, 10, 0, 0, 0, 300, 5, 2]), epsilon=50)
    >>> h.range(0, 2).value.__round__(), h.quantile(0.5).value
    (100, 5.0)
    >>> h.cells().round().astype(int).tolist()
    [90, 10, 0, 0, 0, 300, 5, 2]
    """

    def __init__(self, measured: Measured, settings: Settings | None = None) -> None:
        self.measured = measured
        self.settings = settings or settings_for(measured.domain)

    def __repr__(self) -> str:
        return f"<Histogram of shape {self.shape}, {self.guarantee}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """The side lengths of the grid."""
        return self.measured.domain.shape

    @property
    def guarantee(self) -> PureDP | ZCDP:
        """What was promised to each person."""
        return self.measured.guarantee

    @property
    def privacy_loss(self) -> PureLoss | ZCDPLoss:
        """What the release leaked."""
        return self.measured.privacy_loss

    @cached_property
    def reading(self) -> Reading:
        """The posterior of everything that was measured."""
        return read(self.measured, self.settings.prior, rounds=self.settings.rounds[0])

    @cached_property
    def pieces(self) -> Pieces:
        """The boxes of cells that the published counts are of; on a line, in their order."""
        domain, lows, highs, means = self.measured.domain, [], [], []
        for depth, level in enumerate(self.reading.levels):
            ends = np.flatnonzero((level.left < 0) & (level.right < 0))
            sides = domain.sides(depth, level.nodes[ends])
            lows.append(np.stack(sides[0]))
            highs.append(np.stack(sides[1]))
            means.append(level.mean[ends])
        low, high, mean = np.hstack(lows), np.hstack(highs), np.concatenate(means)
        order = np.lexsort(low[::-1])
        return Pieces(list(low[:, order]), list(high[:, order]), mean[order])

    @cached_property
    def _draws(self) -> Draws:
        return Draws(self.reading, DRAWS)

    def cells(self) -> Array:
        """The posterior means of all the cells, as an array of the grid's shape."""
        if self.measured.domain.cells > LARGEST:
            raise UnsupportedError(
                f"the grid has more than {LARGEST:,} cells: ask for ranges, or for `pieces`"
            )
        pieces = self.pieces
        if self._is_smooth:
            return smoothly(self.shape, pieces.low, pieces.high, pieces.mean)
        density = pieces.mean / pieces.cells
        if len(self.shape) == 1:
            return np.repeat(density, pieces.high[0] - pieces.low[0])
        return np.maximum(evenly(self.shape, pieces.low, pieces.high, density), 0.0)

    @property
    def _is_smooth(self) -> bool:
        return len(self.shape) > 1 and self.measured.domain.cells <= SMOOTH

    @cached_property
    def _upto(self) -> Array:
        """For every corner of a cell, how many are before it on all axes; for smooth grids."""
        found = np.pad(self.cells(), [(1, 0)] * len(self.shape))
        for axis in range(found.ndim):
            np.cumsum(found, axis=axis, out=found)
        return found

    def total(self, *, confidence: Exact = 0.95) -> Answer:
        """How many there are in all."""
        return self.rectangle(*((0, side) for side in self.shape), confidence=confidence)

    def range(self, low: int, high: int, *, confidence: Exact = 0.95) -> Answer:
        """How many there are in the cells low, low + 1, ..., high - 1 of a line."""
        return self.rectangle((low, high), confidence=confidence)

    def rectangle(self, *spans: Span, confidence: Exact = 0.95) -> Answer:
        """How many there are in a box: for each axis a half-open span (low, high) of cells."""
        box = self._box(spans)
        found, _ = self._draws.inside(box)
        return _answer(self._mean(box), found, confidence)

    def counts(self, boxes: Sequence[Sequence[Span]] | Array) -> Array:
        """The posterior means of many boxes at once, without intervals.

        Args:
            boxes: an integer array of shape (questions, axes, 2), or nested sequences like it.
        """
        every = np.asarray(boxes, dtype=np.int64).reshape(-1, len(self.shape), 2)
        sides = np.array(self.shape)[None, :, None]
        if np.any(every < 0) or np.any(every > sides) or np.any(every[..., 0] > every[..., 1]):
            raise ParameterError("boxes", None, "must lie inside the grid, low ends first")
        if len(self.shape) == 1:
            edges, upto = self._cumulative
            found = np.interp(every[:, 0, :], edges, upto)
            return np.asarray(found[:, 1] - found[:, 0])
        if self._is_smooth:
            return self._inside(every)
        rows = [tuple((low, high) for low, high in box) for box in every.tolist()]
        return np.array([self._mean(row) for row in rows])

    def cdf(self, cell: int, *, confidence: Exact = 0.95) -> Answer:
        """Which share of the people is in the cells 0, ..., cell of a line."""
        box = self._box(((0, whole(cell, name="cell", at_least=0) + 1),))
        found, total = self._draws.inside(box)
        share = found / np.maximum(total, 1e-300)
        mean = self._mean(box) / max(float(self.reading.levels[0].mean[0]), 1e-300)
        return _answer(min(mean, 1.0), share, confidence)

    def quantile(self, share: Exact, *, confidence: Exact = 0.95) -> Answer:
        """The first cell of a line up to which there is at least this share of the people."""
        wanted = float(probability(share, name="share"))
        self._line()
        edges, upto = self._cumulative
        value = math.ceil(float(np.interp(wanted * upto[-1], upto, edges))) - 1
        found = np.minimum(self._draws.crossing(wanted), self.shape[0] - 1)
        return _answer(float(max(value, 0)), found, confidence)

    @cached_property
    def _cumulative(self) -> tuple[Array, Array]:
        self._line()
        pieces = self.pieces
        edges = np.concatenate([pieces.low[0][:1], pieces.high[0]])
        return edges, np.concatenate([[0.0], np.cumsum(pieces.mean)])

    def _line(self) -> None:
        if len(self.shape) != 1:
            raise UnsupportedError("only the cells of a line have an order; ask for a rectangle")

    def _inside(self, boxes: Array) -> Array:
        """How many are in boxes, from the corners."""
        found = np.zeros(len(boxes))
        for corner in itertools.product((0, 1), repeat=len(self.shape)):
            at = tuple(boxes[:, axis, end] for axis, end in enumerate(corner))
            found += (-1) ** (len(corner) - sum(corner)) * self._upto[at]
        return np.maximum(found, 0.0)

    def _mean(self, box: tuple[Span, ...]) -> float:
        if self._is_smooth:
            return float(self._inside(np.array([box]))[0])
        pieces = self.pieces
        share = pieces.mean / pieces.cells
        for low, high, (start, end) in zip(pieces.low, pieces.high, box, strict=True):
            share = share * np.maximum(np.minimum(high, end) - np.maximum(low, start), 0)
        return float(share.sum())

    def _box(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        if len(spans) != len(self.shape):
            raise ParameterError("spans", spans, f"must be {len(self.shape)} pairs (low, high)")
        box = []
        for span, side in zip(spans, self.shape, strict=True):
            low = whole(span[0], name="low", at_least=0, at_most=side)
            box.append((low, whole(span[1], name="high", at_least=low, at_most=side)))
        return tuple(box)


def _answer(value: float, drawn: Array, confidence: Exact) -> Answer:
    level = float(probability(confidence, name="confidence"))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Answer(value, min(float(low), value), max(float(high), value), level)


def adaptive_tree(
    cells: Array | Cells,
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    sensitivity: int = 1,
    neighbours: Neighbours = "add_or_remove",
    settings: Settings | None = None,
    source: Source | None = None,
) -> Histogram:
    """Publish counts by measuring an adaptive tree: the default way to publish a histogram.

    Guarantee. Epsilon-differentially private, or rho-zero-concentrated differentially private, if
    neighbours' cells differ by an integer vector with L1 norm at most `sensitivity`: 1 where a
    person has one row and is added or removed, 2 where one is replaced, more where a person has
    more rows.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. The shape is public. Counts beyond 2^62 are cut to that.
    Proof. `discreet.publish.tree.terms`; what follows the measuring sees public values only.
    Tested by tests/publish/tree/test_measuring.py

    Args:
        cells: an integer array of one to three dimensions, or `Cells.sparse(shape, keys, counts)`.
        epsilon: what it may cost in pure privacy, exact as typed: geometric noise; or
        rho: in zero-concentrated privacy: discrete Gaussian noise.
        sensitivity: the L1 bound.
        neighbours: "add_or_remove" or "replace".
        settings: how to measure and read; by default those for the number of dimensions.
        source: for tests; the default is the system's randomness.
    """
    terms = terms_of(epsilon=epsilon, rho=rho, sensitivity=sensitivity, neighbours=neighbours)
    private = cells if isinstance(cells, Cells) else Cells.dense(cells)
    chosen = settings or settings_for(private.domain)
    measured = measure(private, terms=terms, settings=chosen, source=source or system_source())
    return Histogram(measured, chosen)
