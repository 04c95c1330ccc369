"""Marginals that agree with each other and have no negative cell, near to measured ones.

Nothing here sees data: it reads what was published.

A marginal B is the sum over A in B of the residual r_A, spread evenly over the other columns
(`discreet.publish.marginals`), so |x_B|^2 = sum over A of |r_A|^2 / prod_(B - A) n: in residuals
the problem

    least  sum over A of trust_A |r_A - measured_A|^2   with   x_B >= 0 for all wanted B

has no cross terms but for the signs. It is solved by the alternating directions method of
multipliers (Boyd et al. 2011): x_B is doubled by y_B >= 0, and in turns the residuals that are
nearest to all, y_B = max(x_B + u_B, 0), and u_B = u_B + x_B - y_B.

Tables of the same shape are kept in one array, so that a turn takes a few operations for each shape
and not for each table.
Tested by tests/publish/test_agreeing.py
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from discreet.publish.measured import Array
from discreet.publish.residuals import Columns, centred

__all__ = ["agreeing"]

TURNS = 300
_NEAR = 1e-3
"""A cell may be below 0 by this part of its standard error, for the rest to be mended."""

Shape = tuple[int, ...]
Tables = dict[Shape, Array]


@dataclass(frozen=True)
class _Stack:
    """Columns by the shape of their tables, and the row of each in the array of its shape."""

    sets: dict[Shape, list[Columns]]
    rows: dict[Columns, int]

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Sequence[Columns]) -> _Stack:
        found: dict[Shape, list[Columns]] = defaultdict(list)
        rows = {}
        for columns in sets:
            same = found[tuple(sizes[i] for i in columns)]
            rows[columns] = len(same)
            same.append(columns)
        return cls(dict(found), rows)

    def tables(self, each: Mapping[Columns, Array]) -> Tables:
        return {s: np.stack([np.asarray(each[c]) for c in same]) for s, same in self.sets.items()}

    def numbers(self, each: Mapping[Columns, float]) -> Tables:
        """One number for each set, to be multiplied with the tables."""
        return {
            shape: np.array([each[c] for c in same]).reshape(-1, *[1] * len(shape))
            for shape, same in self.sets.items()
        }


@dataclass(frozen=True)
class _Part:
    """What all tables of one shape have to do with the residuals along some of their axes.

    Attributes:
        of: the shape of the tables.
        axes: which of them.
        rows: for each table the row of its residual.
        others: how many cells a number of the residual is spread over.
    """

    of: Shape
    axes: tuple[int, ...]
    rows: Array
    others: int

    @property
    def shape(self) -> Shape:
        return tuple(self.of[a] for a in self.axes)

    def spread(self, residuals: Tables) -> Array:
        """The part's share in the tables."""
        wide = [n if a in self.axes else 1 for a, n in enumerate(self.of)]
        return residuals[self.shape][self.rows].reshape(-1, *wide) / self.others

    def added(self, tables: Array, into: Array) -> None:
        """Add the tables' sums along the other axes to the rows of the residuals."""
        along = tuple(a + 1 for a in range(len(self.of)) if a not in self.axes)
        np.add.at(into, self.rows, tables.sum(axis=along) / self.others)


def _parts(tops: _Stack, parts: _Stack) -> Iterator[_Part]:
    for shape, same in tops.sets.items():
        places = range(len(shape))
        for axes in chain.from_iterable(combinations(places, k) for k in range(len(shape) + 1)):
            rows = np.array([parts.rows[tuple(top[a] for a in axes)] for top in same])
            others = math.prod(n for a, n in enumerate(shape) if a not in axes)
            yield _Part(shape, axes, rows, others)


class _Problem:
    """The residuals that were measured, and the tables that are to have no negative cell."""

    def __init__(
        self, sizes: Sequence[int], residuals: Mapping[Columns, Array],
        trust: Mapping[Columns, float], penalty: Mapping[Columns, float],
    ) -> None:  # fmt: skip
        self.stack, tops = _Stack.of(sizes, list(residuals)), _Stack.of(sizes, list(penalty))
        self.parts = list(_parts(tops, self.stack))
        self.measured, self.force = self.stack.tables(residuals), tops.numbers(penalty)
        self._below = self.stack.numbers(trust)
        self._pull = {shape: self._below[shape] * own for shape, own in self.measured.items()}
        for part in self.parts:
            force = self.force[part.of].reshape(-1, *[1] * len(part.shape))
            np.add.at(self._below[part.shape], part.rows, force / part.others)

    def least(self, near: Tables) -> Tables:
        """The residuals with the least distance from the measured ones and from some tables."""
        sums = {shape: np.zeros_like(own) for shape, own in self._pull.items()}
        for part in self.parts:
            part.added(self.force[part.of] * near[part.of], sums[part.shape])
        found = {}
        for shape, total in sums.items():
            own = total
            for axis in range(1, own.ndim):
                own = centred(own, axis)
            found[shape] = (self._pull[shape] + own) / self._below[shape]
        return found

    def joined(self, residuals: Tables) -> Tables:
        """The tables that residuals amount to."""
        made: Tables = {}
        for part in self.parts:
            made[part.of] = made.get(part.of, 0) + part.spread(residuals)
        return made

    def obeys(self, tables: Tables) -> bool:
        """Whether no cell is below 0 by more than next to nothing."""
        return all(
            (own * np.sqrt(self.force[shape])).min() > -_NEAR for shape, own in tables.items()
        )


def agreeing(
    sizes: Sequence[int],
    residuals: Mapping[Columns, Array],
    trust: Mapping[Columns, float],
    penalty: Mapping[Columns, float],
) -> dict[Columns, Array]:
    """Residuals near to measured ones whose marginals have next to no negative cell.

    Args:
        sizes: how many keys each column has.
        residuals: as they were measured.
        trust: how much each of them is worth: one over its variance.
        penalty: for each marginal that is to have no negative cell, one over its variance.
    """
    problem = _Problem(sizes, residuals, trust, penalty)
    found = problem.measured
    tables = problem.joined(found)
    near = {shape: np.maximum(own, 0) for shape, own in tables.items()}
    push = {shape: np.zeros_like(own) for shape, own in tables.items()}
    for _ in range(TURNS):
        found = problem.least({shape: near[shape] - push[shape] for shape in near})
        tables = problem.joined(found)
        for shape, own in tables.items():
            near[shape] = np.maximum(own + push[shape], 0)
            push[shape] += own - near[shape]
        if problem.obeys(tables):
            break
    return {
        columns: found[shape][row]
        for shape, same in problem.stack.sets.items()
        for row, columns in enumerate(same)
    }
