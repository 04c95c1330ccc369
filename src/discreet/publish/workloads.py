"""Workloads: any set of linear counting questions about some cells, answered together.

A workload is a matrix W over the cells, one row for each question. A *strategy* is another matrix
A; A x is measured, x is reconstructed by least squares, and W x is answered. The strategy is chosen
for the workload, from public facts alone.

Strategies. `optimised` takes A = [I; T] D, where T has a few rows without a negative entry and the
diagonal D makes all columns of A sum to 1 (McKenna et al. 2018 call it p-identity). For one such A
and Laplace noise the total squared error of all answers is 2/epsilon^2 times
tr((A'A)^-1 M) = sum s_j^2 M_jj - tr(K^-1 T S M S T') with M = W'W, K = I + T T' and S = D^-1, the
diagonal of the s_j: smooth in T, and as cheap as the product T M. It is minimised by gradient
(T = V*V keeps it from being negative), from blocks of cells. `strategy_for` takes the best of that,
identity and hierarchies.

Whole numbers. The entries of A are rounded down to multiples of 1/N, which gives a matrix C = N A
of whole numbers, and C x is whole.

Theorem. Let k be the largest sum of a column of C, whose entries are whole and not negative. Adding
independent two-sided geometric noise at rate epsilon/(k sensitivity) to C x is epsilon-private.
Proof. |C d|_1 <= sum_j |d_j| sum_i C_ij <= k |d|_1 <= k sensitivity for the difference d of
neighbours, and the log ratio of the masses of any output is at most the rate times that. It is
met where a person moves the column with the sum k by the whole sensitivity. k is a sum of whole
numbers, computed exactly; how the strategy was found does not matter.

Bound. No strategy has tr((A'A)^-1 M) below (sum of the singular values of W)^2 / n when columns
have L2 norm 1 at most (Li and Miklau 2013), let alone L1 norm 1: `least_possible`.
Tested by tests/publish/test_workloads.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, probability, whole
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.blocks import blocks_of
from discreet.publish.measured import (
    Account,
    Array,
    Box,
    Linear,
    LinearAnswer,
    Measured,
    Noisy,
    Terms,
    counted,
)

__all__ = [
    "Strategy",
    "Worked",
    "Workload",
    "all_ranges",
    "boxes",
    "least_possible",
    "levels_strategy",
    "optimised",
    "prefixes",
    "strategy_for",
    "workload",
]

LARGEST = 2048
"""Strategies are optimised, and reconstructed from, up to so many cells: matrices are dense."""
_GRAIN = 1 << 16
"""N: entries of a strategy are multiples of one over this."""
_BRANCHINGS = (2, 4, 8, 16, 32)
_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Workload:
    """Questions about cells.

    Attributes:
        shape: of the cells.
        gram: M = W'W over the flat cells.
        rows: W itself, where the questions are listed.
    """

    shape: tuple[int, ...]
    gram: Array
    rows: Array | None = None

    @property
    def size(self) -> int:
        """How many cells."""
        return math.prod(self.shape)


def boxes(shape: Sequence[int], listed: Sequence[Sequence[tuple[int, int]]]) -> Workload:
    """Questions for boxes: for each axis the first cell and the first that is no longer in it.

    >>> boxes((4,), [[(0, 2)], [(1, 4)]]).rows.tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]
    """
    sizes = tuple(whole(n, name="shape", at_least=1) for n in shape)
    if not listed or not sizes or math.prod(sizes) > LARGEST:
        raise ParameterError("boxes", sizes, f"must be some, over at most {LARGEST} cells")
    rows = np.zeros((len(listed), *sizes))
    for row, box in zip(rows, listed, strict=True):
        if len(box) != len(sizes):
            raise ParameterError("box", len(box), f"must have {len(sizes)} sides")
        inside = []
        for (low, high), size in zip(box, sizes, strict=True):
            first = whole(low, name="low", at_least=0, at_most=size)
            inside.append(slice(first, whole(high, name="high", at_least=first, at_most=size)))
        row[tuple(inside)] = 1
    flat = rows.reshape(len(listed), -1)
    return Workload(sizes, flat.T @ flat, flat)


def _line(size: int) -> tuple[Array, Array]:
    n = whole(size, name="size", at_least=1, at_most=LARGEST)
    places = np.arange(n)
    return np.minimum.outer(places, places), np.maximum.outer(places, places)


def prefixes(size: int) -> Workload:
    """All n questions for the cells up to one."""
    _, upper = _line(size)
    return Workload((size,), (size - upper).astype(np.float64))


def all_ranges(size: int) -> Workload:
    """All n (n + 1)/2 questions for neighbouring cells."""
    lower, upper = _line(size)
    return Workload((size,), ((lower + 1) * (size - upper)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is measured: a matrix of whole numbers, none negative.

    Attributes:
        name: how it was found.
        matrix: C, of int64; its columns are the cells.
    """

    name: str
    matrix: Array

    def __post_init__(self) -> None:
        if self.matrix.dtype != np.int64 or self.matrix.ndim != 2 or self.matrix.min() < 0:
            raise ParameterError("matrix", None, "must be of whole numbers, none negative")
        if np.linalg.matrix_rank(self.matrix.astype(np.float64)) < self.matrix.shape[1]:
            raise ParameterError("matrix", None, "must tell all cells apart")
        self.matrix.setflags(write=False)

    @property
    def norm(self) -> int:
        """K of the theorem: the largest sum of a column, exactly."""
        return int(self.matrix.sum(axis=0).max())

    @cached_property
    def inverse(self) -> Array:
        """(C'C)^-1."""
        real = self.matrix.astype(np.float64)
        return np.linalg.inv(real.T @ real)

    def error(self, wanted: Workload) -> float:
        """The total of all squared errors over 2/epsilon^2, for Laplace noise and sensitivity 1."""
        return self.norm**2 * float((self.inverse * wanted.gram).sum())


def least_possible(wanted: Workload) -> float:
    """No strategy has an `error` below this: the bound at the top of this module."""
    values = np.linalg.eigvalsh(wanted.gram)
    return float(np.sqrt(np.maximum(values, 0)).sum() ** 2) / wanted.size


def _rounded(name: str, real: Array) -> Strategy:
    """A matrix whose columns sum to 1, in whole parts of N, rounded down; no row of zeros."""
    parts = np.floor(real * _GRAIN * (1 + 1e-12)).astype(np.int64)
    return Strategy(name, parts[parts.any(axis=1)])


def _blocks(shape: tuple[int, ...], branching: int) -> list[Array]:
    """The blocks of each level above the cells, as rows of 0 and 1."""
    tree, found = blocks_of(shape, branching), []
    cells = np.arange(math.prod(shape))
    places = cells
    for up, above in zip(tree.parents, tree.shapes[1:], strict=True):
        places = up[places]
        level = np.zeros((math.prod(above), len(cells)))
        level[places, cells] = 1
        found.append(level)
    return found


def levels_strategy(shape: tuple[int, ...], branching: int) -> Strategy:
    """All levels of blocks, measured alike."""
    levels = [np.eye(math.prod(shape)), *_blocks(shape, branching)]
    name = f"hierarchy (branching {branching})"
    return Strategy(name, np.vstack(levels).astype(np.int64))


def optimised(wanted: Workload, branching: int = 16, rounds: int = _ROUNDS) -> Strategy:
    """The identity and a few rows more, found by gradient for a workload.

    Args:
        wanted: the questions.
        branching: of the blocks that it starts from: the finest have so many cells on each axis.
        rounds: how many steps at most.
    """
    from scipy.optimize import minimize  # noqa: PLC0415

    n, gram = wanted.size, wanted.gram
    start = np.vstack(_blocks(wanted.shape, branching) or [np.ones((1, n))])
    wiggle = 0.01 * (1 + np.cos(np.arange(start.size))).reshape(start.shape)  # no two rows alike
    scale = float(np.trace(gram))
    if not scale > 0:
        raise ParameterError("workload", None, "must ask about a cell")

    def cost(flat: Array) -> tuple[float, Array]:
        roots = flat.reshape(start.shape)
        value, slope = total_error(roots * roots, gram)
        return value / scale, (slope * 2 * roots).reshape(-1) / scale

    found = minimize(
        cost, np.sqrt(start + wiggle).reshape(-1), jac=True, method="L-BFGS-B",
        options={"maxiter": rounds, "maxfun": 2 * rounds},
    )  # fmt: skip
    extra = found.x.reshape(start.shape) ** 2
    return _rounded("optimised", np.vstack([np.eye(n), extra]) / (1 + extra.sum(axis=0)))


def total_error(extra: Array, gram: Array) -> tuple[float, Array]:
    """tr((A'A)^-1 M) for A = [I; T] D, and its derivative by T."""
    sums = 1 + extra.sum(axis=0)
    inner = np.linalg.inv(np.eye(len(extra)) + extra @ extra.T)
    seen = ((extra * sums) @ gram) * sums
    both = seen @ extra.T
    kept = inner @ seen
    own = np.diag(gram)
    value = float((sums**2) @ own - (inner * both).sum())
    by_sums = 2 * (own * sums - (extra * kept).sum(axis=0) / sums)
    return value, 2 * (inner @ both @ inner @ extra - kept) + by_sums


def strategy_for(wanted: Workload, rounds: int = _ROUNDS) -> Strategy:
    """The strategy with the least error among identity, hierarchies and optimised ones; public."""
    if wanted.size > LARGEST:
        raise ParameterError("cells", wanted.size, f"must be at most {LARGEST}")
    longest = max(wanted.shape)
    tried = [Strategy("identity", np.eye(wanted.size, dtype=np.int64))]
    tried += [levels_strategy(wanted.shape, b) for b in _BRANCHINGS if b < 2 * longest]
    tried.append(optimised(wanted, min(16, max(longest // 4, 2)), rounds))
    return min(tried, key=lambda one: one.error(wanted))


@dataclass(frozen=True, eq=False, repr=False)
class Worked(Measured):
    """A measured strategy, and all answers that follow from it.

    Attributes:
        strategy: what was measured.
        noisy: its numbers.
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
        seen = self.strategy.matrix.T @ self.noisy.values.astype(np.float64)
        return np.asarray(self.strategy.inverse @ seen).reshape(self.shape)

    def _read(self) -> Array:
        """Least squares among cells without a negative one."""
        from scipy.optimize import minimize  # noqa: PLC0415

        real = self.strategy.matrix / self.strategy.norm
        gram, seen = real.T @ real, real.T @ (self.noisy.values / self.strategy.norm)

        def cost(x: Array) -> tuple[float, Array]:
            slope = gram @ x - seen
            return float(x @ (slope - seen)) / 2, slope

        start = np.maximum(self.cells("raw").reshape(-1), 0)
        limits: list[Any] = [(0, None)] * start.size
        options: Any = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}
        found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        return np.asarray(np.maximum(found.x, 0)).reshape(self.shape)

    def linear(self, question: Array) -> Linear:
        """The estimate of a weighted sum of the flat cells, with the weights of its noise."""
        weights = self.strategy.matrix @ (self.strategy.inverse @ question)
        value = float(question @ self.cells("raw").reshape(-1))
        return Linear(value, [(weights, self.noisy)])

    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        question = np.zeros(self.shape)
        question[tuple(slice(*side) for side in box)] = 1
        found = self.linear(question.reshape(-1))
        return found, found

    def answers(self, *, confidence: Exact = 0.95) -> list[LinearAnswer]:
        """The answers to the listed questions, in their order."""
        if self.wanted.rows is None:
            raise ParameterError("workload", None, "lists no questions; ask range or rectangle")
        level = probability(confidence, name="confidence")
        read, found = self.cells("read").reshape(-1), []
        for question in self.wanted.rows:
            line = self.linear(question)
            width = line.width(1 - level)
            low, high = max(line.value - width, 0.0), max(line.value + width, 0.0)
            value = min(max(float(question @ read), low), high)
            error = line.standard_error
            found.append(LinearAnswer(value, low, high, float(level), line.value, error))
        return found


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

    >>> made = workload(np.array([5, 0, 3, 9]), prefixes(4), epsilon=1)
    >>> made.range(0, 2).low <= made.range(0, 2).value
    True
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    if values.shape != wanted.shape:
        raise ParameterError("cells", values.shape, f"must have the shape {wanted.shape}")
    chosen = strategy or strategy_for(wanted)
    if chosen.matrix.shape[1] != values.size:
        raise ParameterError("strategy", chosen.name, f"must be over {values.size} cells")
    noisy = _measured(values.reshape(-1), chosen, account)
    return Worked(f"workload by {chosen.name}", account.terms, values.shape, chosen, noisy, wanted)


def _measured(cells: Array, strategy: Strategy, account: Account) -> Noisy:
    """C x with noise: the only function here that sees cells. They are cut so that C x fits."""
    most = (1 << 62) // (cells.size * strategy.norm)
    exact = strategy.matrix @ np.minimum(cells, most)
    return account.measure(exact, account.left, depth=strategy.norm)
