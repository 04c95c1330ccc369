"""Uniform counts and grids: `uniform`, and the uniform and adaptive grids of Qardaji et al. 2013.

* `uniform`: the number of all records, spread evenly. One number with all of epsilon.
* `uniform_grid`: squares whose side makes the errors of noise and of evenness alike. With N records
  and a rate e of epsilon per record, the grid has N e / c squares, c = 10.
* `adaptive_grid`: a coarse grid of max(10, sqrt(N e / c)/4) squares along each axis, half of the
  rest of epsilon; each square with a noisy count y is divided anew, into y e'/c2 parts (c2 = 5,
  e' the other half's rate), measured with that half.

Both grids need the number N of records. The published algorithms use the true one, which is as
private as any other; here a twentieth of epsilon buys a noisy one, and only that is used.
Guarantee of all three. Epsilon-differential privacy for neighbours whose cells differ by at most
`sensitivity` in the sum of differences.
Proof. `discreet.publish.measured`. The total, the coarse squares and the fine ones are one step
each; the squares of one step are disjoint and the shares add up to epsilon; N decides the coarse
grid and the coarse counts the fine one, all by their noisy values alone.
Tested by tests/publish/test_grids.py
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.measured import Account, Array, Noisy, Terms, counted
from discreet.publish.partition import Boxes, Partition, box_sums, grid

__all__ = ["adaptive_grid", "uniform", "uniform_grid"]

TOTAL = Fraction(1, 20)
"""The share of epsilon that buys the number of records."""
COARSE = Fraction(1, 2)
"""The coarse layer's share of the rest."""
EVENNESS, FINE_EVENNESS = 10, 5
"""The constants c and c2: how strongly squares are taken to be uneven."""
FEWEST = 10
"""Coarse squares along each axis, at least."""


def uniform(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Partition:
    """Publish the number of all records, spread evenly over the cells.

    Guarantee. At the top of this module.
    Tested by tests/publish/test_grids.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    whole = Boxes(np.zeros((1, values.ndim), dtype=np.int64), np.array([values.shape]))
    counts = account.measure(box_sums(values, whole), account.terms.epsilon)
    return Partition("uniform", account.terms, values.shape, whole, counts)


def _total(values: Array, account: Account) -> tuple[Noisy, int]:
    """A noisy number of records, and the same without being below 1."""
    total = account.measure(values.sum().reshape(1), TOTAL * account.terms.epsilon)
    return total, max(1, int(total.values[0]))


def uniform_grid(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Partition:
    """Publish one grid of squares whose side suits a noisy number of records.

    Guarantee. At the top of this module.
    Tested by tests/publish/test_grids.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells, axes=(2,))
    total, number = _total(values, account)
    rate = float(account.left / account.terms.sensitivity)
    side = math.sqrt(values.size * EVENNESS / (number * rate))
    boxes = grid((0, 0), values.shape, _within(side, values.shape))
    counts = account.measure(box_sums(values, boxes), account.left)
    return Partition("uniform grid", account.terms, values.shape, boxes, counts, total=total)


def _within(side: float, shape: tuple[int, ...]) -> int:
    """A side as a whole number of cells, at least one and at most the longest axis."""
    return max(1, int(min(side, max(shape))))


def adaptive_grid(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Partition:
    """Publish a coarse grid, and in each square a finer one that suits its noisy count.

    Guarantee. At the top of this module.
    Tested by tests/publish/test_grids.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells, axes=(2,))
    total, number = _total(values, account)
    rest, sensitive = account.left, account.terms.sensitivity
    squares = max(FEWEST, int(math.sqrt(number * float(rest / sensitive) / EVENNESS) / 4))
    side = _within(math.sqrt(values.size) / squares, values.shape)
    coarse = grid((0, 0), values.shape, side)
    coarse_counts = account.measure(box_sums(values, coarse), COARSE * rest)
    rate = float(account.left / sensitive)
    boxes, owners = _divided(coarse, coarse_counts.values, rate)
    counts = account.measure(box_sums(values, boxes), account.left)
    return Partition(
        "adaptive grid",
        account.terms,
        values.shape,
        boxes,
        counts,
        coarse,
        coarse_counts,
        owners,
        total,
    )


def _divided(coarse: Boxes, counts: Array, rate: float) -> tuple[Boxes, Array]:
    """The fine boxes, and the place of the coarse box of each: from noisy counts alone."""
    found, owners = [], []
    pairs = zip(coarse.low.tolist(), coarse.high.tolist(), counts.tolist(), strict=True)
    for place, (low, high, count) in enumerate(pairs):
        parts = max(1, int(math.sqrt(max(count, 0) * rate / FINE_EVENNESS)))
        area = math.prod(b - a for a, b in zip(low, high, strict=True))
        fine = grid(tuple(low), tuple(high), max(1, int(math.sqrt(area) / parts)))
        found.append(fine)
        owners.append(np.full(len(fine), place))
    low_ends = np.concatenate([fine.low for fine in found])
    high_ends = np.concatenate([fine.high for fine in found])
    return Boxes(low_ends, high_ends), np.concatenate(owners)
