"""Workloads: sets of linear counting questions about some cells, W x, as little of them as needed.

What a strategy needs to know of the matrix W is M = W'W: its diagonal, and the products of a few
rows with it. Both follow from sums along the cells where the questions have structure (all
prefixes, all ranges), and from a sparse W where they are listed; M itself is never built for that.

Bound. No strategy has tr((A'A)^-1 M) below (sum of the singular values of W)^2 / n when columns
have L2 norm 1 at most (Li and Miklau 2013), let alone L1 norm 1: `least_possible`.
Tested by tests/publish/test_questions.py
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.publish.measured import Array

__all__ = ["LARGEST", "Workload", "all_ranges", "boxes", "least_possible", "listed", "prefixes"]

LARGEST = 10_000
"""The most cells of a workload."""


@dataclass(frozen=True, eq=False)
class Workload(ABC):
    """Questions about cells.

    Attributes:
        shape: of the cells.
    """

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many cells."""
        return math.prod(self.shape)

    @property
    def rows(self) -> Any:
        """W as a sparse matrix, where the questions are listed; else None."""
        return None

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """Of M: for every cell the sum of its squared weights in all questions."""

    @abstractmethod
    def times(self, left: Array) -> Array:
        """The product of some rows with M."""

    @property
    def gram(self) -> Array:
        """M itself: n numbers for each of n cells."""
        return self.times(np.eye(self.size))


@dataclass(frozen=True, eq=False)
class _Listed(Workload):
    matrix: Any

    @property
    def rows(self) -> Any:
        return self.matrix

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=0), dtype=float).reshape(-1)

    @cached_property
    def _dense(self) -> Array:
        return np.asarray((self.matrix.T @ self.matrix).todense(), dtype=np.float64)

    def times(self, left: Array) -> Array:
        if self.matrix.nnz > self.size**2:  # more questions than cells: M is smaller than W
            return np.asarray(left @ self._dense)
        return np.asarray((self.matrix.T @ (self.matrix @ left.T)).T)


class _Prefixes(Workload):
    @property
    def diagonal(self) -> Array:
        return np.arange(self.size, 0, -1, dtype=np.float64)

    def times(self, left: Array) -> Array:
        sums = np.cumsum(left, axis=1)
        return np.asarray(np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])


class _Ranges(Workload):
    """M_ij = (min(i, j) + 1) (n - max(i, j)), counted from 0."""

    @property
    def diagonal(self) -> Array:
        up = np.arange(1, self.size + 1, dtype=np.float64)
        return up * up[::-1]

    def times(self, left: Array) -> Array:
        up = np.arange(1, self.size + 1, dtype=np.float64)
        down = up[::-1]
        before = np.cumsum(left * up, axis=1)
        after = np.cumsum((left * down)[:, ::-1], axis=1)[:, ::-1] - left * down
        return np.asarray(before * down + after * up)


def _shaped(shape: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(whole(n, name="shape", at_least=1) for n in shape)
    if not sizes or math.prod(sizes) > LARGEST:
        raise ParameterError("shape", sizes, f"must have 1 to {LARGEST:,} cells")
    return sizes


def listed(shape: Sequence[int], matrix: Any) -> Workload:
    """Any questions: a matrix, dense or sparse, with a row for each and a column for each cell.

    >>> listed((3,), [[1, 0, 1], [0, 0.5, 0]]).diagonal.tolist()
    [1.0, 0.25, 1.0]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    sizes = _shaped(shape)
    rows = csr_array(matrix, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != math.prod(sizes) or not rows.shape[0]:
        raise ParameterError("questions", rows.shape, f"must be over {math.prod(sizes)} cells")
    if not np.isfinite(rows.data).all():
        raise ParameterError("questions", None, "must have finite weights")
    return _Listed(sizes, rows)


def boxes(shape: Sequence[int], listed_boxes: Sequence[Sequence[tuple[int, int]]]) -> Workload:
    """Questions for boxes: for each axis the first cell and the first that is no longer in it.

    >>> boxes((4,), [[(0, 2)], [(1, 4)]]).rows.todense().tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    sizes = _shaped(shape)
    if not listed_boxes:
        raise ParameterError("boxes", None, "must be some")
    cells = np.arange(math.prod(sizes)).reshape(sizes)
    inside = [cells[_slices(box, sizes)].reshape(-1) for box in listed_boxes]
    ends = np.cumsum([0, *(len(one) for one in inside)])
    columns = np.concatenate(inside)
    made = csr_array((np.ones(len(columns)), columns, ends), shape=(len(inside), cells.size))
    return _Listed(sizes, made)


def _slices(box: Sequence[tuple[int, int]], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    if len(box) != len(sizes):
        raise ParameterError("box", len(box), f"must have {len(sizes)} sides")
    found = []
    for (low, high), size in zip(box, sizes, strict=True):
        first = whole(low, name="low", at_least=0, at_most=size)
        found.append(slice(first, whole(high, name="high", at_least=first, at_most=size)))
    return tuple(found)


def prefixes(size: int) -> Workload:
    """All n questions for the cells up to one."""
    return _Prefixes(_shaped((size,)))


def all_ranges(size: int) -> Workload:
    """All n (n + 1)/2 questions for neighbouring cells."""
    return _Ranges(_shaped((size,)))


def least_possible(wanted: Workload) -> float:
    """No strategy has an `error` below this: the bound at the top of this module.

    It needs all eigenvalues of M: n^3 steps.
    """
    values = np.linalg.eigvalsh(wanted.gram)
    return float(np.sqrt(np.maximum(values, 0)).sum() ** 2) / wanted.size
