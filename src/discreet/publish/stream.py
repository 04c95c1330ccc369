"""Counts over time: every prefix of a stream, at any time, for one epsilon (continual counting).

Time is cut into blocks of 1, k, k^2, ... steps (Dwork et al. 2010; Chan, Shi and Song 2011). When a
block is complete, its exact count gets two-sided geometric noise and becomes public; the exact
counts of blocks that are not complete yet are kept inside. A prefix is a sum of at most k - 1
blocks of each size.

Guarantee. Epsilon-differential privacy of everything that is ever returned, for neighbouring
streams that differ by counts d with |d|_1 <= sensitivity over all time: one event added or removed,
or moved (2). The counts may be chosen by somebody who sees what was returned before.
Proof. Within its epoch (below) a step lies in one block of each of the h sizes that are measured,
at rate epsilon/(h sensitivity). Given the same outputs the log ratio of the next one is at most its
rate times the difference of its block; over all blocks that is at most
sum_t |d_t| h epsilon/(h sensitivity) <= epsilon. One step with |d_t| = sensitivity meets it, once
all its blocks are complete.

Known horizon T: one epoch with h = log_k T sizes, rounded up; the whole is not measured. Without a
branching, the k with the least (k - 1) h^3: the mean variance of a prefix is (k - 1)/2 h blocks of
variance 2 h^2 (sensitivity/epsilon)^2.
No horizon: epochs of k, k^2, k^3, ... steps follow each other, the e-th with e + 1 sizes, its own
whole among them. A step lies in one epoch only, so each has all of epsilon.

The plain estimate adds up the blocks of the prefix. The better one is least squares on everything
measured so far: a complete block's count is the average of its own number and of its parts', each
weighted by one over its variance (theorem 3 of `discreet.publish.consistency`). Both are unbiased;
`Prefix.standard_error` and the interval are those of the second, exactly and without a normal
approximation. `smoothed` gives all prefixes so far as they are seen from now.
Tested by tests/publish/test_stream.py
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StreamEndedError, UnsupportedError
from discreet.exact import Exact, probability, whole
from discreet.mechanisms.base import integer
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.sums import geometric_variance, geometric_width
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours, PureDP
from discreet.privacy.loss import PureLoss
from discreet.publish.consistency import tree_fit
from discreet.publish.measured import Terms
from discreet.remembered import remembered

__all__ = ["Prefix", "RunningCount", "best_branching"]

Array = NDArray[Any]
UNBOUNDED_BRANCHING = 8
LONGEST = 1 << 62


@remembered(256)
def best_branching(horizon: int) -> int:
    """The branching with the least mean variance for so many steps: the rule of this module.

    >>> best_branching(1000), best_branching(2)
    (10, 2)
    """
    return min(
        range(2, max(min(horizon, 64), 2) + 1), key=lambda k: (k - 1) * _sizes(horizon, k) ** 3
    )


def _sizes(horizon: int, branching: int) -> int:
    found, length = 1, branching
    while length < horizon:
        found, length = found + 1, length * branching
    return found


@dataclass(frozen=True, slots=True)
class Epoch:
    """A time with one tree: how many sizes of blocks are measured, at which rate."""

    branching: int
    sizes: int
    rate: Fraction

    def blend(self, size: int) -> float:
        """The weight of a block's own number in its estimate, against its parts."""
        below = self.branching * self.variance(size - 1) if size else math.inf
        own = geometric_variance(self.rate)
        return 1.0 if size == 0 else below / (own + below)

    def variance(self, size: int) -> float:
        """Of the estimate of a complete block of this size."""
        return _block_variance(self, size)

    def weights(self, size: int) -> tuple[list[float], list[int]]:
        """The weights of all numbers in the estimate of a complete block, and how often."""
        weights, times, left = [], [], 1.0
        for below in range(size, -1, -1):
            weights.append(left * self.blend(below))
            times.append(self.branching ** (size - below))
            left *= 1 - self.blend(below)
        return weights, times


@remembered(4096)
def _block_variance(epoch: Epoch, size: int) -> float:
    return epoch.blend(size) * geometric_variance(epoch.rate)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The count of everything so far: public.

    Attributes:
        time: how many steps.
        estimate: least squares on all numbers so far; unbiased.
        plain: the sum of the blocks of the prefix; unbiased, with more noise.
        value: the estimate as a reader wants it: whole and not negative.
        standard_error: of the estimate.
        blocks: the complete blocks that make up the prefix: epoch, size, how many.
    """

    time: int
    estimate: float
    plain: int
    standard_error: float
    blocks: tuple[tuple[Epoch, int, int], ...]

    @property
    def value(self) -> int:
        """The estimate, whole and not negative."""
        return max(round(self.estimate), 0)

    def interval(self, confidence: Exact = 0.95) -> tuple[float, float]:
        """An interval that holds the true count with at least this probability."""
        risk = 1 - probability(confidence, name="confidence")
        parts, times = [], []
        for epoch, size, number in self.blocks:
            weights, often = epoch.weights(size)
            parts.append((np.array(weights), epoch.rate))
            times.append(np.array(often) * number)
        width = geometric_width(parts, risk, times=times)
        return max(self.estimate - width, 0.0), max(self.estimate + width, 0.0)


class _Tree:
    """The blocks of one epoch: exact counts of those not complete, noisy ones of all others."""

    def __init__(self, epoch: Epoch, release: Any) -> None:
        self.epoch = epoch
        self.time = 0
        self.noisy: list[list[int]] = [[] for _ in range(epoch.sizes)]
        self.fitted: list[list[float]] = [[] for _ in range(epoch.sizes)]
        self.__open = [0] * epoch.sizes
        self.__release = release

    def add(self, count: int) -> None:
        """One step: the only place where exact counts are."""
        self.time += 1
        k, length = self.epoch.branching, 1
        for size in range(self.epoch.sizes):
            self.__open[size] += count
            if self.time % length == 0:
                self.noisy[size].append(self.__release(self.__open[size]))
                self.__open[size] = 0
                self._fit(size)
            length *= k

    def _fit(self, size: int) -> None:
        own, share = float(self.noisy[size][-1]), self.epoch.blend(size)
        parts = sum(self.fitted[size - 1][-self.epoch.branching :]) if size else 0.0
        self.fitted[size].append(share * own + (1 - share) * parts)

    def blocks(self) -> list[tuple[int, int]]:
        """The complete blocks that no complete block contains: size, and how many."""
        found, k, sizes = [], self.epoch.branching, self.epoch.sizes
        for size in range(sizes):
            number = self.time // k**size
            number = number % k if size < sizes - 1 else number
            found += [(size, number)] if number else []
        return found

    def totals(self) -> tuple[float, int]:
        """The estimate and the plain sum of all steps so far."""
        blocks = self.blocks()
        estimate = sum(sum(self.fitted[size][-number:]) for size, number in blocks)
        return estimate, sum(sum(self.noisy[size][-number:]) for size, number in blocks)

    def smoothed(self) -> Array:
        """Every step's count, by least squares on all numbers of the epoch."""
        k, own = self.epoch.branching, geometric_variance(self.epoch.rate)
        values, variances, parents = [], [], []
        for size, noisy in enumerate(self.noisy):
            number = -(-self.time // k**size)
            rest = number - len(noisy)
            values.append(np.array([*noisy, *[0] * rest], dtype=np.float64))
            variances.append(np.array([own] * len(noisy) + [math.inf] * rest))
            if size:
                parents.append(np.arange(len(values[-2])) // k)
        return tree_fit(values, variances, parents)[0]


class RunningCount:
    """Counts events as they come, and says at every step how many there were so far.

    Guarantee. Epsilon-differential privacy of all that is ever returned, for streams that differ by
    `sensitivity` events over all time. (A person with more events than that is not covered.)
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Proof. At the top of this module.
    Tested by tests/publish/test_stream.py

    It keeps exact counts of the blocks that are not complete, so it can be neither copied nor
    stored, and has ended in a process forked from the one that opened it.

    Args:
        epsilon: the privacy parameter for all time.
        horizon: how many steps there will be at most; without one there is no end.
        branching: how many blocks make one of the next size.
        sensitivity: how many events neighbours differ by.
        neighbours: "add_or_remove" or "replace".
        source: for tests; the default is the system's randomness.

    >>> visits = RunningCount(epsilon=1, horizon=365)
    >>> [visits.add(count).time for count in (120, 80, 95)]
    [1, 2, 3]
    >>> print(visits.guarantee)
    1-differential privacy (neighbours: one person is added or removed)
    """

    def __init__(
        self,
        *,
        epsilon: Exact,
        horizon: int | None = None,
        branching: int | None = None,
        sensitivity: Exact = 1,
        neighbours: Neighbours = "add_or_remove",
        source: Source | None = None,
    ) -> None:
        self.terms = Terms(epsilon, sensitivity, neighbours)
        self.horizon = (
            None if horizon is None else whole(horizon, name="horizon", at_least=1, at_most=LONGEST)
        )
        ruled = UNBOUNDED_BRANCHING if self.horizon is None else best_branching(self.horizon)
        self.branching = (
            ruled if branching is None else whole(branching, name="branching", at_least=2)
        )
        self.time = 0
        self.__source = source
        self.__trees: list[_Tree] = []
        self.__lock = Lock()
        self.__process = os.getpid()

    def __repr__(self) -> str:
        until = "without end" if self.horizon is None else f"of at most {self.horizon} steps"
        return f"<RunningCount {until}, step {self.time}, {self.guarantee}>"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a running count is not copied or stored: it holds exact counts")

    @property
    def guarantee(self) -> PureDP:
        """What is promised, for all time."""
        return self.terms.guarantee

    @property
    def privacy_loss(self) -> PureLoss:
        """What all answers together leak."""
        return self.terms.privacy_loss

    def add(self, count: int) -> Prefix:
        """The events of the next step; returns the estimate of all so far."""
        value = integer(count)
        with self.__lock:
            self._check_open()
            tree = self.__trees[-1] if self.__trees else None
            if tree is None or (self.horizon is None and self._is_full(tree)):
                tree = self._opened()
            tree.add(value)
            self.time += 1
            return self._prefix()

    def _check_open(self) -> None:
        if self.__process != os.getpid() or self.time == self.horizon:
            raise StreamEndedError(
                "this count has reached its horizon, or was opened by another process; nothing was "
                "released. Open a new one with a budget of its own, or without a horizon"
            )

    def _is_full(self, tree: _Tree) -> bool:
        return bool(tree.time == self.branching ** (tree.epoch.sizes - 1))

    def _opened(self) -> _Tree:
        number = len(self.__trees)
        sizes = number + 2 if self.horizon is None else _sizes(self.horizon, self.branching)
        mechanism = Geometric(
            epsilon=self.terms.epsilon / sizes,
            sensitivity=self.terms.sensitivity,
            neighbours=self.terms.neighbours,
        )
        epoch = Epoch(self.branching, sizes, mechanism.rate)
        source = self.__source
        tree = _Tree(epoch, lambda exact: mechanism.release(exact, source=source))
        self.__trees.append(tree)
        return tree

    def _prefix(self) -> Prefix:
        estimate, plain, variance = 0.0, 0, 0.0
        blocks: list[tuple[Epoch, int, int]] = []
        for tree in self.__trees:
            fitted, summed = tree.totals()
            estimate, plain = estimate + fitted, plain + summed
            for size, number in tree.blocks():
                blocks.append((tree.epoch, size, number))
                variance += number * tree.epoch.variance(size)
        return Prefix(self.time, estimate, plain, math.sqrt(variance), tuple(blocks))

    def smoothed(self) -> Array:
        """All prefixes so far, each by least squares on everything measured until now."""
        with self.__lock:
            steps = [tree.smoothed() for tree in self.__trees]
        return np.cumsum(np.concatenate(steps)) if steps else np.zeros(0)
