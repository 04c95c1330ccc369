"""Strategies: what is measured so that the questions of a workload have the least error together.

A strategy is a matrix A; A x is measured, x is reconstructed by least squares, and W x is answered.
It is chosen for the workload, from public facts alone. All here have the form [D; B]: every cell
by itself with a weight, the diagonal of D, and a few rows B more.

`optimised` takes A = [I; T] D, where T has a few rows without a negative entry and D makes all
columns of A sum to 1 (McKenna et al. 2018 call it p-identity). For one such A and Laplace noise
the total squared error of all answers is 2/epsilon^2 times tr((A'A)^-1 M) = sum s_j^2 M_jj -
tr(K^-1 T S M S T') with M = W'W, K = I + T T' and S = D^-1, the diagonal of the s_j: smooth in T,
and as cheap as the product T M. It is minimised by gradient (T = V*V keeps it from being
negative), from blocks of cells. `strategy_for` takes the best of that, identity and hierarchies.

Whole numbers. The entries of A are rounded down to multiples of 1/N, which gives a matrix C = N A
of whole numbers of the same form, and C x is whole.

Inverse. With p rows in B, C'C = D^2 + B'B has the inverse D^-2 - D^-2 B' K^-1 B D^-2 with
K = I + B D^-2 B', a p x p matrix (Woodbury). So a reconstruction takes n p + p^2 steps and nothing
of n^2 numbers is ever built. All weights in D are above 0: every cell can be reconstructed.
Tested by tests/publish/test_strategies.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.publish.blocks import blocks_of
from discreet.publish.levels import hb_branching
from discreet.publish.measured import Array
from discreet.publish.questions import Workload

__all__ = [
    "LARGEST_NORM",
    "Strategy",
    "blocks",
    "identity_strategy",
    "levels_strategy",
    "optimised",
    "strategy_for",
    "total_error",
]

_GRAIN = 1 << 16
"""N: entries of a strategy are multiples of one over this."""
LARGEST_NORM = 1 << 17
"""No column of a strategy adds up to more: products with it stay within 64 bits."""
_BRANCHINGS = (2, 4, 8, 16, 32)
_ROUNDS = 60
_MOST = 1 << 23
"""The largest B that a hierarchy is taken with, in entries."""
_WIDE = 100
"""So many rows an optimised strategy begins with at most."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is measured: a matrix of whole numbers, none negative.

    Attributes:
        name: how it was found.
        own: the weight with which each cell is measured by itself, of int64, above 0.
        extra: more rows over the cells, of int64, none negative.
    """

    name: str
    own: Array
    extra: Array

    def __post_init__(self) -> None:
        shapes = (self.own.ndim, self.extra.ndim, self.extra.shape[-1]) == (1, 2, self.own.size)
        if not shapes or self.own.dtype != np.int64 or self.extra.dtype != np.int64:
            raise ParameterError("strategy", self.name, "must be of whole numbers over the cells")
        if not self.own.min() > 0 or (self.extra.size and not self.extra.min() >= 0):
            raise ParameterError("strategy", self.name, "must tell all cells apart, none negative")
        most = max(int(part.max(initial=0)) for part in (self.own, self.extra))
        if most > LARGEST_NORM or self.norm > LARGEST_NORM:
            problem = f"must have columns that add up to at most {LARGEST_NORM:,}"
            raise ParameterError("strategy", self.name, problem)
        self.own.setflags(write=False)
        self.extra.setflags(write=False)

    @property
    def size(self) -> int:
        """How many cells."""
        return self.own.size

    @property
    def matrix(self) -> Array:
        """C itself: its columns are the cells."""
        return np.vstack([np.diag(self.own), self.extra])

    @cached_property
    def norm(self) -> int:
        """K of the theorem: the largest sum of a column, exactly."""
        return int((self.own + self.extra.sum(axis=0)).max())

    @cached_property
    def rows(self) -> Array:
        """B in floats."""
        return self.extra.astype(np.float64)

    @cached_property
    def _inner(self) -> tuple[Array, Array]:
        """B D^-2, and K^-1."""
        scaled = self.rows / self.own.astype(np.float64) ** 2
        return scaled, np.linalg.inv(np.eye(len(self.extra)) + scaled @ self.rows.T)

    def solved(self, right: Array) -> Array:
        """(C'C)^-1 times each row of some."""
        scaled, inner = self._inner
        alone = right / self.own.astype(np.float64) ** 2
        return np.asarray(alone - (right @ scaled.T) @ inner @ scaled)

    def error(self, wanted: Workload) -> float:
        """The total of all squared errors over 2/epsilon^2, for Laplace noise and sensitivity 1."""
        scaled, inner = self._inner
        alone = float((wanted.diagonal / self.own.astype(np.float64) ** 2).sum())
        joined = float(((inner @ scaled) * wanted.times(scaled)).sum())
        return self.norm**2 * (alone - joined)


def identity_strategy(size: int) -> Strategy:
    """Every cell by itself."""
    return Strategy("identity", np.ones(size, np.int64), np.zeros((0, size), np.int64))


def _rounded(name: str, extra: Array) -> Strategy:
    """[I; T] with columns that sum to 1, in whole parts of N, rounded down; no row of zeros."""
    parts = _GRAIN * (1 + 1e-12) / (1 + extra.sum(axis=0))
    rows = np.floor(extra * parts).astype(np.int64)
    own = np.maximum(np.floor(parts).astype(np.int64), 1)
    return Strategy(name, own, rows[rows.any(axis=1)])


def blocks(shape: tuple[int, ...], branching: int) -> Array:
    """The blocks of all levels above the cells, as rows of 0 and 1."""
    tree, found = blocks_of(shape, branching), []
    cells = np.arange(math.prod(shape))
    places = cells
    for up, above in zip(tree.parents, tree.shapes[1:], strict=True):
        places = up[places]
        level = np.zeros((math.prod(above), len(cells)), dtype=np.int64)
        level[places, cells] = 1
        found.append(level)
    return np.vstack(found) if found else np.zeros((0, len(cells)), dtype=np.int64)


def _number_of_blocks(shape: tuple[int, ...], branching: int) -> int:
    return sum(math.prod(above) for above in blocks_of(shape, branching).shapes[1:])


def levels_strategy(shape: tuple[int, ...], branching: int) -> Strategy:
    """All levels of blocks, measured alike."""
    name = f"hierarchy (branching {branching})"
    return Strategy(name, np.ones(math.prod(shape), np.int64), blocks(shape, branching))


def optimised(wanted: Workload, start: Array | None = None, rounds: int = _ROUNDS) -> Strategy:
    """The identity and a few rows more, found by gradient for a workload.

    Args:
        wanted: the questions.
        start: the rows that it starts from, none negative; left out: blocks of cells.
        rounds: how many steps at most.
    """
    from scipy.optimize import minimize  # noqa: PLC0415

    if start is None:
        start = blocks(wanted.shape, _branching(wanted.shape))
    start = start.astype(np.float64) if len(start) else np.ones((1, wanted.size))
    wiggle = 0.01 * (1 + np.cos(np.arange(start.size))).reshape(start.shape)  # no two rows alike
    scale = float(wanted.diagonal.sum())
    if not scale > 0:
        raise ParameterError("workload", None, "must ask about a cell")

    def cost(flat: Array) -> tuple[float, Array]:
        roots = flat.reshape(start.shape)
        value, slope = total_error(roots * roots, wanted)
        return value / scale, (slope * 2 * roots).reshape(-1) / scale

    options: Any = {"maxiter": rounds, "maxfun": 2 * rounds, "maxcor": 6}
    found = minimize(
        cost, np.sqrt(start + wiggle).reshape(-1), jac=True, method="L-BFGS-B", options=options
    )
    return _rounded("optimised", found.x.reshape(start.shape) ** 2)


def _branching(shape: tuple[int, ...]) -> int:
    """16 or fewer cells to a block, or twice as many until there are few enough blocks."""
    width = min(16, max(max(shape) // 4, 2))
    while _number_of_blocks(shape, width) > _WIDE:
        width *= 2
    return width


def total_error(extra: Array, wanted: Workload) -> tuple[float, Array]:
    """tr((A'A)^-1 M) for A = [I; T] D, and its derivative by T."""
    sums = 1 + extra.sum(axis=0)
    inner = np.linalg.inv(np.eye(len(extra)) + extra @ extra.T)
    seen = wanted.times(extra * sums) * sums
    both = seen @ extra.T
    kept = inner @ seen
    own = wanted.diagonal
    value = float((sums**2) @ own - (inner * both).sum())
    by_sums = 2 * (own * sums - (extra * kept).sum(axis=0) / sums)
    return value, 2 * (inner @ both @ inner @ extra - kept) + by_sums


def strategy_for(wanted: Workload, rounds: int = _ROUNDS) -> Strategy:
    """The strategy with the least error among identity, hierarchies and optimised ones; public."""
    shape = wanted.shape
    tried = [identity_strategy(wanted.size)]
    tried += [
        levels_strategy(shape, b)
        for b in sorted({*_BRANCHINGS, hb_branching(shape)})
        if b < 2 * max(shape) and _number_of_blocks(shape, b) * wanted.size <= _MOST
    ]
    tried.append(optimised(wanted, None, rounds))
    if wanted.rows is not None and wanted.rows.shape[0] <= _WIDE:
        tried.append(optimised(wanted, np.maximum(wanted.rows.todense(), 0), rounds))
    return min(tried, key=lambda one: one.error(wanted))
