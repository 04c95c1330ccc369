"""PrivTree (Zhang, Xiao and Xie 2016) with discrete noise: a tree of any depth for a fixed price.

A box at depth i with exact count c is split (every axis of two or more cells in half) if
b + Z > 0 with b = max(c - i D, -D) and Z two-sided geometric at rate r; boxes of one cell are not
split. The split decisions are published, the noisy numbers behind them are not. With half of
epsilon for the decisions, r = (half/sensitivity) (k - 1)/(2k - 1), where k is 2 to the number of
axes, and D is the least whole number with exp(-r D) <= 1/k. The other half buys the counts of the
boxes that were not split.

The published proof is for Laplace noise; this one is for geometric noise and whole numbers.

Theorem. The decisions are half-differentially private.
Proof. d is a sum of at most `sensitivity` unit moves, so let y have one record more than x, in one
cell: the claim is a log ratio of at most r (2k - 1)/(k - 1) in either direction. Only the boxes on
the path to that cell have other counts. Write a = exp(-r), T(b) = P(b + Z > 0); T rises with b, and

    T(b) = a^(1-b)/(1+a) for b <= 0,        T(b) = 1 - a^b/(1+a) for b >= 1.

From y to x. A split is no likelier for x, so only the box at which the path ends can count, by
(1 - T(b))/(1 - T(b+1)) <= 1/a: r at most.
From x to y. The box at which the path ends is no likelier left whole for y, so only splits count:
f(b) = ln(T(b+1)/T(b)) for every split box on the path with b(y) = b(x) + 1.
(1) b <= 0: f(b) = r; at b = 0 because T(1) = 1/(1+a) and T(0) = a/(1+a).
(2) b >= 1: T(b+1)/T(b) = 1 + a^b (1 - a)/(1 + a - a^b) <= 1 + a^b (1 - a), because a^b <= a. So
f(b) <= (1 - a) a^b <= r a^b.
Let b_i = c_i - i D along the path. Cells are not negative, so c_i does not rise and b_i falls by D
at least at each step; and b(y) = b(x) + 1 only where b_i >= -D. The numbers from -D to 0 hold two
of the b_i at most, and two only if these are 0 and -D, after which all earlier ones are D, 2D, ...
at least. Then the sum is at most 2r + r (A + A^2 + ...) with A = a^D <= 1/k: r (2 + 1/(k-1)), which
is the bound. If they hold one, the earlier ones are at least 1, 1 + D, 1 + 2D, ...: at most
r + r (a + a A + a A^2 + ...) <= r (1 + k/(k-1)), which is the same. If none, the sum is smaller.

Tight in the limit of small r: the bound is approached where counts stay the same along the path.
Counts. The boxes are disjoint: half of epsilon by the theorem of `discreet.publish.measured`.
Tested by tests/publish/test_privtree.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Exact, Interval, log
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.measured import Account, Array, Terms, counted
from discreet.publish.partition import Boxes, Partition, box_sums

__all__ = ["Decisions", "privtree"]

HALF = Fraction(1, 2)
"""The share of epsilon for the decisions."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The rate r of the noise on the decisions, and the step D, for a share of epsilon.

    >>> Decisions.of(Fraction(1, 20), sensitivity=1, axes=2)
    Decisions(rate=Fraction(3, 140), step=65)
    """

    rate: Fraction
    step: int

    @classmethod
    def of(cls, share: Fraction, *, sensitivity: int, axes: int) -> Decisions:
        """Those of the theorem at the top of this module."""
        parts = 1 << axes
        rate = share / sensitivity * Fraction(parts - 1, 2 * parts - 1)
        deep = log(Interval.of(parts), 128).upper / rate
        return cls(rate, -(-deep.numerator // deep.denominator))

    def biased(self, counts: Array, depth: int) -> Array:
        """The numbers b of boxes at a depth."""
        return np.asarray(np.maximum(counts - depth * self.step, -self.step))


def halved(boxes: Boxes) -> Boxes:
    """All boxes split in half along every axis of two or more cells."""
    for axis in range(boxes.low.shape[1]):
        is_long = boxes.high[:, axis] - boxes.low[:, axis] > 1
        left, right = boxes.taken(is_long), boxes.taken(is_long)
        middle = (left.low[:, axis] + left.high[:, axis]) // 2
        left.high[:, axis] = middle
        right.low[:, axis] = middle
        boxes = boxes.taken(~is_long).joined(left).joined(right)
    return boxes


def _leaves(values: Array, decisions: Decisions, source: Source) -> Boxes:
    """The boxes that the private decisions leave whole."""
    mechanism = Geometric(epsilon=decisions.rate)
    active = Boxes(np.zeros((1, values.ndim), dtype=np.int64), np.array([values.shape]))
    leaves, depth = active.taken(np.zeros(1, dtype=bool)), 0
    while len(active):
        noisy = mechanism.release(decisions.biased(box_sums(values, active), depth), source=source)
        is_split = (noisy > 0) & (active.sizes > 1)
        leaves = leaves.joined(active.taken(~is_split))
        active, depth = halved(active.taken(is_split)), depth + 1
    return leaves


def privtree(
    cells: Array,
    *,
    epsilon: Exact,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Partition:
    """Publish a partition that is fine where many are, and its counts.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. At the top of this module.
    Tested by tests/publish/test_privtree.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    share = HALF * account.terms.epsilon
    account.spend(share)
    decisions = Decisions.of(share, sensitivity=account.terms.sensitivity, axes=values.ndim)
    boxes = _leaves(values, decisions, account.source)
    counts = account.measure(box_sums(values, boxes), account.left)
    return Partition("privtree", account.terms, values.shape, boxes, counts)
