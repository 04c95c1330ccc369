"""Numbers made to obey what the truth obeys: small functions, each the nearest point of its kind.

All of it is post-processing of released numbers: it looks at nothing private and costs nothing.
None of it is unbiased, except `tree_fit`; so the raw numbers stay with whoever published them.

| function | nearest, in weighted squares, among |
|---|---|
| `nonnegative` | vectors without a negative entry |
| `whole_numbers` | vectors of whole numbers with a given sum |
| `whole_tree` | for each family, whole numbers that add up to their parent's |
| `discreet.mechanisms.nearest.onto_simplex` | vectors without a negative entry and a given sum |
| `rising` | sequences that never fall and never are negative (a cumulative count) |
| `tree_fit` | all trees in which children add up to parents |
| `nonnegative_fit` | the same, without a negative node; also with given totals |

Trees are given level by level, the leaves first: `values[l]` are the numbers of level l, and
`parents[l][i]` is the place, in level l + 1, of the parent of node i of level l.

Theorem 1 (`whole_numbers`). Rounding v down and giving the missing units to the largest remainders
is nearest among whole vectors with sum T, where floor sums to at most T and T is at most n more.
Proof. Moving a unit from i to j changes the sum of squares by 2 (n_j - v_j) - 2 (n_i - v_i) + 2.
With every n_i equal to v_i rounded down or up and the units at the largest remainders this is never
negative, and for separable convex sums no better exchange means no better vector.

Theorem 2 (`rising`). Pooling adjacent violators gives the nearest sequence that never falls
(Ayer et al. 1955), and cutting it at 0 the nearest that is also nowhere negative.
Proof of the second. Let c be the first fit, e = max(c, 0). The conditions for the cone of rising
sequences are sum_{i >= k} w_i (v_i - c_i) <= 0 for all k, with equality at the first k of every
block of c. For e the conditions are the same inequalities (the directions are the indicators of
{i >= k}, and now k = 1 is one-sided too), with equality wherever e rises above what was before, 0
at the start. Where c <= 0 the differences v - e <= v - c, so inequalities stay; e rises only at the
first of a block with c > 0, from where on e = c, so equalities stay as well.

Theorem 3 (`tree_fit`; Hay et al. 2010 for regular trees). Give each number y_v with variance s_v.
Upward, z_v = the average of y_v and of the sum of the children's z, weighted by one over the
variance, with its variance; downward, what the parent has more than its children's z is divided
among these in proportion to their variances. The result minimises sum (x_v - y_v)^2/s_v over
consistent x; for independent noise it is the linear unbiased estimate of least variance of every
sum of leaves.
Proof. By induction the cost of a subtree as a function of its total t is (t - z)^2/V plus a
constant: children with costs (t_c - z_c)^2/V_c, at best for sum t, cost (t - sum z_c)^2/sum V_c,
attained at t_c = z_c + (t - sum z) V_c/sum V; adding (t - y)^2/s completes the square. The root is
free, so t = z. The second sentence is the theorem of Gauss and Markov.

Theorem 4 (`nonnegative_fit`). The cost of a subtree as a function of its total t >= 0 is convex,
with a derivative whose inverse t(m) is piecewise linear, rising, and 0 up to its first bend. A leaf
has t(m) = max(0, y + m/2w). Children together have the sum of theirs, and adding w (t - y)^2 moves
the bend at m to m + 2w (t(m) - y) and turns a slope g into g/(1 + 2wg). Passing these functions up
and, from m = 0 at the root (or the m that gives its total), the multipliers m - 2w (t - y) down,
gives the minimum.
Proof. Infimal convolution adds the inverses of derivatives, adding a function adds derivatives, and
a convex problem is solved where its conditions of Karush, Kuhn and Tucker hold, as they do then.
It takes n log n steps for each level.
Tested by tests/publish/test_consistency.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = [
    "nonnegative",
    "nonnegative_fit",
    "rising",
    "rising_cells",
    "summed",
    "tree_fit",
    "whole_numbers",
    "whole_tree",
]

Array = NDArray[Any]


def nonnegative(values: Array) -> Array:
    """The nearest vector without a negative entry, whatever the weights: cut at 0."""
    return np.asarray(np.maximum(values, 0))


def whole_numbers(values: Array, total: int | None = None) -> Array:
    """The nearest whole numbers with this sum (by default that of the values, rounded); int64.

    Without negative values, and with the default total, none is negative. Ties: the earlier.

    >>> whole_numbers(np.array([0.4, 1.4, 2.4])).tolist()
    [1, 1, 2]
    """
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    down = np.floor(flat).astype(np.int64)
    wanted = round(float(flat.sum())) if total is None else total
    missing = wanted - int(down.sum())
    if not 0 <= missing <= flat.size:
        raise ParameterError("total", total, "must be within one a number of the sum of the values")
    order = np.argsort(down - flat, kind="stable")
    down[order[:missing]] += 1
    return down.reshape(np.shape(values))


_PARTS = 1 << 20
"""Values are taken to this part of one before a tree of them is rounded, so that sums are exact."""


def whole_tree(leaves: Array, parents: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Whole numbers in which children add up to parents, near to those of the leaves; int64.

    The top is rounded; then, going down, the children of each node get its units by the rule of
    `whole_numbers`, so each family is nearest given its parent. Every number is its value rounded
    down or up: by Theorem 1 a node that is p rounded down or up lies between the sums of its
    children rounded down and rounded up. All levels, the leaves first.

    >>> up = np.array([0, 0, 0])
    >>> [level.tolist() for level in whole_tree(np.array([0.4, 1.4, 2.4]), [up], [3, 1])]
    [[1, 1, 2], [4]]
    """
    exact = [np.rint(np.asarray(leaves, dtype=np.float64) * _PARTS).astype(np.int64)]
    for up, size in zip(parents, sizes[1:], strict=True):
        above = np.zeros(size, dtype=np.int64)
        np.add.at(above, up, exact[-1])
        exact.append(above)
    made = [(exact[-1] + _PARTS // 2) // _PARTS]
    for level in range(len(parents) - 1, -1, -1):
        down, rest = np.divmod(exact[level], _PARTS)
        up = parents[level]
        missing = made[-1].copy()
        np.subtract.at(missing, up, down)
        order = np.lexsort((-rest, up))
        first = np.searchsorted(up[order], np.arange(len(missing)))
        rank = np.empty(len(up), dtype=np.int64)
        rank[order] = np.arange(len(up)) - first[up[order]]
        made.append(down + (rank < missing[up]))
    return made[::-1]


def rising(values: Array, weights: Array | None = None) -> Array:
    """The nearest sequence that never falls and never is negative: Theorem 2.

    >>> rising(np.array([-1.0, 3.0, 1.0, 4.0])).tolist()
    [0.0, 2.0, 2.0, 4.0]
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    return nonnegative(isotonic_regression(values, weights=weights).x)


def rising_cells(cells: Array) -> Array:
    """Cells without a negative one whose cumulative sums are nearest to those of the given cells.

    >>> rising_cells(np.array([2.0, -1.0, 3.0])).tolist()
    [1.5, 0.0, 2.5]
    """
    return np.asarray(np.diff(rising(np.cumsum(cells)), prepend=0.0))


def summed(values: Array, parents: Array, size: int) -> Array:
    """The sums of the children of each of `size` parents."""
    return np.bincount(parents, weights=values, minlength=size)


def tree_fit(
    values: Sequence[Array], variances: Sequence[Array | float], parents: Sequence[Array]
) -> list[Array]:
    """The consistent tree nearest to noisy numbers: Theorem 3. All levels, the leaves first.

    A variance of infinity says that a number was not measured (whatever stands there), 0 that it is
    given; what is not determined at all is divided equally.

    >>> fitted = tree_fit([np.array([3.0, 5.0]), np.array([11.0])], [1.0, 1.0], [np.array([0, 0])])
    >>> [level.tolist() for level in fitted]
    [[4.0, 6.0], [10.0]]
    """
    z, v = [np.asarray(values[0], dtype=np.float64)], [_spread(variances[0], values[0])]
    z[0] = np.where(np.isinf(v[0]), 0.0, z[0])
    below: list[tuple[Array, Array]] = []
    for own, spread, up in zip(values[1:], variances[1:], parents, strict=True):
        total, noise = summed(z[-1], up, len(own)), summed(v[-1], up, len(own))
        below.append((total, noise))
        own_noise = _spread(spread, own)
        share = _share_of_own(own_noise, noise)
        z.append(np.where(share > 0, share * own, 0.0) + (1 - share) * total)
        measured = np.isfinite(own_noise)
        v.append(np.where(measured, share * np.where(measured, own_noise, 0.0), noise))
    fitted = [z[-1]]
    for level in range(len(z) - 2, -1, -1):
        total, noise = below[level]
        up = parents[level]
        fitted.append(z[level] + _shares(v[level], noise, up) * (fitted[-1] - total)[up])
    return fitted[::-1]


def _spread(variance: Array | float, like: Array) -> Array:
    return np.broadcast_to(np.asarray(variance, dtype=np.float64), np.shape(like))


def _share_of_own(own: Array, below: Array) -> Array:
    """The weight of a node's own number, against the sum of its children."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isinf(below), 1.0, below / (own + below))
    share = np.where(np.isinf(own), 0.0, share)
    return np.where(own == 0, 1.0, share)


def _shares(variances: Array, total: Array, up: Array) -> Array:
    """By which part of what is missing each child moves."""
    free = np.isinf(variances)
    count = summed(free.astype(np.float64), up, len(total))
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = np.where(total[up] > 0, variances / total[up], 0.0)
        equal = free / count[up]
    return np.where(count[up] > 0, equal, plain)


@dataclass(frozen=True, slots=True, eq=False)
class _Bends:
    """Piecewise linear functions t(m), one for each node of a level: sums of hinges.

    t of node i is the sum of slope * max(0, m - bend) over the hinges with owner i.
    """

    owner: Array
    bend: Array
    slope: Array

    def at(self, multipliers: Array) -> Array:
        """The value of each node's function at its multiplier."""
        over = np.maximum(multipliers[self.owner] - self.bend, 0.0) * self.slope
        return np.bincount(self.owner, weights=over, minlength=len(multipliers))

    def raised(self, up: Array) -> _Bends:
        """The sums over the children of each parent, in order of the bends."""
        owner = up[self.owner]
        order = np.lexsort((self.bend, owner))
        return _Bends(owner[order], self.bend[order], self.slope[order])

    def running(self) -> tuple[Array, Array]:
        """At each bend: the slope from there on, and the value (the hinges are in order)."""
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        slopes = _running(self.slope, first)
        before = np.concatenate([[0.0], slopes[:-1]])
        steps = np.diff(self.bend, prepend=0.0) * before
        steps[first] = 0.0
        return slopes, _running(steps, first)

    def loaded(self, values: Array, weights: Array) -> _Bends:
        """After w (t - y)^2 was added to the cost of each node."""
        slopes, heights = self.running()
        w, y = weights[self.owner], values[self.owner]
        after = slopes / (1 + 2 * w * slopes)
        before = np.concatenate([[0.0], after[:-1]])
        before[np.flatnonzero(np.diff(self.owner, prepend=-1))] = 0.0
        return _Bends(self.owner, self.bend + 2 * w * (heights - y), after - before)

    def inverse(self, totals: Array) -> Array:
        """The multiplier at which each node has its total, which is not negative."""
        slopes, heights = self.running()
        place = np.bincount(
            self.owner[heights <= totals[self.owner]], minlength=len(totals)
        ) + np.searchsorted(self.owner, np.arange(len(totals)))
        last = place - 1
        return np.asarray(self.bend[last] + (totals - heights[last]) / slopes[last])


def _running(values: Array, first: Array) -> Array:
    """Cumulative sums that begin anew at each place of `first`."""
    sums = np.cumsum(values)
    lengths = np.diff(np.append(first, len(values)))
    start = sums[first] - values[first]
    return np.asarray(sums - np.repeat(start, lengths))


def nonnegative_fit(
    values: Sequence[Array],
    variances: Sequence[Array | float],
    parents: Sequence[Array],
    *,
    totals: Array | None = None,
) -> list[Array]:
    """The consistent tree without a negative node nearest to noisy numbers: Theorem 4.

    All leaves must be measured. With `totals` the numbers of the last level are given, none of them
    negative, and what was measured there is left out.

    >>> values = [np.array([3.0, -5.0]), np.array([1.0])]
    >>> fitted = nonnegative_fit(values, [1.0, 1.0], [np.array([0, 0])])
    >>> [level.tolist() for level in fitted]
    [[2.0, 0.0], [2.0]]
    """
    weights = [
        1 / _spread(variance, level) for variance, level in zip(variances, values, strict=True)
    ]
    if not (weights[0].size and np.isfinite(weights[0]).all() and (weights[0] > 0).all()):
        raise ParameterError("variances", None, "of the leaves must be above 0 and finite")
    leaves = np.arange(len(values[0]))
    bends = _Bends(leaves, -2 * weights[0] * values[0], 1 / (2 * weights[0]))
    kept = [bends]
    last = len(values) - 1
    for level, (own, up) in enumerate(zip(values[1:], parents, strict=True), start=1):
        bends = bends.raised(up)
        if level < last or totals is None:
            bends = bends.loaded(own, weights[level])
        kept.append(bends)
    multipliers = np.zeros(len(values[-1])) if totals is None else bends.inverse(totals)
    for level in range(last, 0, -1):
        own = kept[level].at(multipliers)
        if level < last or totals is None:
            multipliers = multipliers - 2 * weights[level] * (own - values[level])
        multipliers = multipliers[parents[level - 1]]
    fitted = [kept[0].at(multipliers)]
    for own, up in zip(values[1:], parents, strict=True):
        fitted.append(summed(fitted[-1], up, len(own)))
    return fitted
