"""Workloads published: any set of linear counting questions about some cells, answered together.

A strategy C of whole numbers (`discreet.publish.strategies`) is measured, x is reconstructed by
least squares, and the questions W x (`discreet.publish.questions`) are answered from that.

Theorem. Let k be the largest sum of a column of C, whose entries are whole and not negative. Adding
independent two-sided geometric noise at rate epsilon/(k sensitivity) to C x is epsilon-private.
Proof. |C d|_1 <= sum_j |d_j| sum_i C_ij <= k |d|_1 <= k sensitivity for the difference d of
neighbours, and the log ratio of the masses of any output is at most the rate times that. It is
met where a person moves the column with the sum k by the whole sensitivity. k is a sum of whole
numbers, computed exactly; how the strategy was found does not matter. C x is cut at 2^61, which
moves neighbours no further apart.

Answers. `raw` is linear in the noise and unbiased, and its interval holds the truth at the stated
confidence whatever the data are. `value` is read from the cells without a negative one that are
nearest to what was measured, and moved into that interval. `simulated` has intervals for these
read values: see there for what they promise.
Tested by tests/publish/test_workloads.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, probability, shown, whole
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.least import nearest
from discreet.publish.measured import (
    Account,
    Answer,
    Array,
    Box,
    Linear,
    LinearAnswer,
    Measured,
    Noisy,
    Terms,
    counted,
)
from discreet.publish.questions import Workload, listed
from discreet.publish.strategies import LARGEST_NORM, Strategy, strategy_for

__all__ = ["Worked", "fitting_terms", "workload"]

_CHUNK = 64
SMALLEST = Fraction(LARGEST_NORM, 1 << 55)
"""The least epsilon over sensitivity: noise passes 2^62 with a chance below 2 e^-128 then."""
_HALF = 31
"""Products with C are made of halves of so many bits, so that none leaves 64 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Worked(Measured):
    """A measured strategy, and all answers that follow from it.

    Attributes:
        strategy: what was measured.
        noisy: its numbers: those of the cells, then those of the other rows.
        wanted: the questions it was chosen for.
    """

    strategy: Strategy
    noisy: Noisy
    wanted: Workload

    @property
    def noise(self) -> tuple[Noisy, ...]:
        """The noisy numbers."""
        return (self.noisy,)

    def _raw(self) -> Array:
        return self.strategy.solved(self._seen(self.noisy.values)).reshape(self.shape)

    def _seen(self, values: Array) -> Array:
        """C' times noisy numbers."""
        n, real = self.strategy.size, values.astype(np.float64)
        return np.asarray(real[:n] * self.strategy.own + real[n:] @ self.strategy.rows)

    def _read(self) -> Array:
        """Least squares among cells without a negative one."""
        return self._nearest(self._seen(self.noisy.values), self.cells("raw").reshape(-1))

    def _nearest(self, seen: Array, start: Array) -> Array:
        norm = float(self.strategy.norm)
        own, rows = self.strategy.own / norm, self.strategy.rows / norm
        return nearest(own**2, rows, seen / norm**2, start).reshape(self.shape)

    def _weights(self, questions: Array) -> Array:
        """For each row of questions the weights of the noise in its answer."""
        found = self.strategy.solved(questions)
        return np.hstack([found * self.strategy.own, found @ self.strategy.rows.T])

    def _lines(self, questions: Any) -> Iterator[Linear]:
        """The linear estimates of some rows, dense or sparse."""
        raw = self.cells("raw").reshape(-1)
        for first in range(0, questions.shape[0], _CHUNK):
            some = questions[first : first + _CHUNK]
            dense = np.asarray(some.todense() if hasattr(some, "todense") else some, dtype=float)
            for question, weights in zip(dense, self._weights(dense), strict=True):
                yield Linear(float(question @ raw), [(weights, self.noisy)])

    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        question = np.zeros(self.shape)
        question[tuple(slice(*side) for side in box)] = 1
        (found,) = self._lines(question.reshape(1, -1))
        return found, found

    @cached_property
    def _questions(self) -> Any:
        if self.wanted.rows is None:
            raise ParameterError("workload", None, "lists no questions; ask range or rectangle")
        return self.wanted.rows

    def answers(self, *, confidence: Exact = 0.95) -> list[LinearAnswer]:
        """The answers to the listed questions, in their order."""
        return self.ask(self._questions, confidence=confidence)

    def ask(self, questions: Any, *, confidence: Exact = 0.95) -> list[LinearAnswer]:
        """The answers to any other questions about the same cells; free.

        Args:
            questions: a matrix, dense or sparse: a row for each, a column for each cell.
            confidence: of the intervals.
        """
        level = probability(confidence, name="confidence")
        rows = listed(self.shape, questions).rows
        values, found = rows @ self.cells("read").reshape(-1), []
        least = np.asarray(rows.min(axis=1).todense()).reshape(-1)
        for line, read, lowest in zip(self._lines(rows), values, least, strict=True):
            width = line.width(1 - level)
            low, high = line.value - width, line.value + width
            if lowest >= 0:  # a count is never negative
                low, high = max(low, 0.0), max(high, 0.0)
            value = min(max(float(read), low), high)
            error = line.standard_error
            found.append(LinearAnswer(value, low, high, float(level), line.value, error))
        return found

    def simulated(
        self, *, confidence: Exact = 0.95, draws: int = 200, source: Source | None = None
    ) -> list[Answer]:
        """The read values of the listed questions, with intervals by simulation; free.

        The published reading x is taken for the truth: noise of the published law is drawn anew
        `draws` times, every draw is read like the publication was, and the quantiles of its errors
        are taken off the read values (a parametric bootstrap).

        What they promise. No more than that: about the stated chance, if the truth is like the
        reading. Where many cells are 0 they are much shorter than those of `answers`, because they
        know that no cell is negative; but the reading lifts empty cells a little, which no draw
        can undo, so that they may hold less often than they say. What holds whatever the data
        are is the interval of `answers`.

        Args:
            confidence: of the intervals.
            draws: how many; each takes as long as reading once.
            source: for tests; the default is the system's randomness.
        """
        level = probability(confidence, name="confidence")
        number = whole(draws, name="draws", at_least=20, at_most=100_000)
        rows, truth = self._questions, self.cells("read").reshape(-1)
        exact = np.concatenate([truth * self.strategy.own, self.strategy.rows @ truth])
        read = rows @ truth
        none = np.zeros((number, len(exact)), dtype=np.int64)
        noise = Account(self.terms, source).measure(
            none, self.terms.epsilon, depth=self.strategy.norm
        )
        errors = np.empty((number, len(read)))
        for i, drawn in enumerate(noise.values):
            found = self._nearest(self._seen(exact + drawn), truth).reshape(-1)
            errors[i] = rows @ found - read
        ends = np.quantile(errors, [float(1 - level) / 2, float(1 + level) / 2], axis=0)
        return [
            Answer(float(v), max(float(v - high), 0.0), max(float(v - low), 0.0), float(level))
            for v, low, high in zip(read, ends[0], ends[1], strict=True)
        ]


def workload(
    cells: Array,
    wanted: Workload,
    *,
    epsilon: Exact,
    strategy: Strategy | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Worked:
    """Publish cells so that the questions of a workload have the least error together.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. The theorem of this module: one step, at the rate epsilon/(norm sensitivity).
    Tested by tests/publish/test_workloads.py

    Args:
        cells: exact counts.
        wanted: the questions.
        epsilon: the privacy parameter of everything together.
        strategy: what to measure; `strategy_for(wanted)` if left out.
        sensitivity: how far the cells of neighbours can be apart.
        neighbours: the relation under which that holds.
        source: for tests; the default is the system's randomness.

    >>> from discreet.publish import prefixes
    >>> made = workload(np.array([5, 0, 3, 9]), prefixes(4), epsilon=1)
    >>> made.range(0, 2).low <= made.range(0, 2).value
    True
    """
    account = Account(fitting_terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells, axes=tuple(range(1, 65)))
    if values.shape != wanted.shape:
        raise ParameterError("cells", values.shape, f"must have the shape {wanted.shape}")
    chosen = strategy or strategy_for(wanted)
    if chosen.size != values.size:
        raise ParameterError("strategy", chosen.name, f"must be over {values.size} cells")
    noisy = _measured(values.reshape(-1), chosen, account)
    return Worked(f"workload by {chosen.name}", account.terms, values.shape, chosen, noisy, wanted)


def fitting_terms(epsilon: Exact, sensitivity: Exact, neighbours: Neighbours) -> Terms:
    """The terms of a workload; ParameterError where the noise may not fit 64 bits."""
    made = Terms(epsilon, sensitivity, neighbours)
    if made.unit < SMALLEST:
        least = float(SMALLEST * made.sensitivity)
        problem = f"must be at least {least:.3g} here: larger noise does not fit 64 bits"
        raise ParameterError("epsilon", shown(made.epsilon), problem)
    return made


def _measured(cells: Array, strategy: Strategy, account: Account) -> Noisy:
    """C x with noise: the only function here that sees cells."""
    upper, lower = (_product(strategy, part) for part in (cells >> _HALF, cells & _LOWER))
    most = np.int64(1) << 61
    small = np.minimum(upper, 1 << (61 - _HALF))
    exact = np.where(small == upper, (small << _HALF) + lower, most)  # no sum leaves 63 bits
    return account.measure(np.minimum(exact, most), account.left, depth=strategy.norm)


_LOWER = (1 << _HALF) - 1


def _product(strategy: Strategy, cells: Array) -> Array:
    """C times numbers below 2^31: its entries are up to 2^17, and there are at most 10^4 cells."""
    return np.concatenate([strategy.own * cells, strategy.extra @ cells])
