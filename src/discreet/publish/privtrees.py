"""PrivTree (Zhang, Xiao and Xie 2016) with discrete noise: a tree of any depth for a fixed price.

A box at depth i with exact count c is split (every axis of two or more cells in half) if
b + Z > 0 with b = max(c - i D, -D) and Z two-sided geometric at rate r; boxes of one cell are not
split. The split decisions are published, the noisy numbers behind them are not. D is the least
whole number with exp(-r D) <= 1/k, where k is 2 to the number of axes: so a split adds no more
noise below than it takes away. Half of epsilon pays for the decisions, and r is the largest that
the theorem allows, rounded down. The other half buys the counts of the boxes that were not split.

The published proof is for Laplace noise; this one is for geometric noise and whole numbers, and it
is tight. Write a = exp(-r), T(b) = P(b + Z > 0) and f(b) = ln(T(b+1)/T(b)).

Theorem. On a domain where no path has more than h decisions, the decisions are
(sensitivity x L)-differentially private with L = r for h = 1, and for h >= 2
L = 2r + f(D) + f(2D) + ... + f((h-2) D); and L <= r (2k - 1)/(k - 1), the published bound.
Proof. d is a sum of at most `sensitivity` unit moves, so let y have one record more than x, in one
cell: the claim is a log ratio of at most L in either direction. Only the boxes on the path to that
cell have other counts. T rises with b, and

    T(b) = a^(1-b)/(1+a) for b <= 0,        T(b) = 1 - a^b/(1+a) for b >= 1.

From y to x. A split is no likelier for x, so only the box at which the path ends can count, by
(1 - T(b))/(1 - T(b+1)) <= 1/a: r at most.
From x to y. The box at which the path ends is no likelier left whole for y, so only splits count:
f(b) for every split box on the path with b(y) = b(x) + 1.
(1) b <= 0: f(b) = r; at b = 0 because T(1) = 1/(1+a) and T(0) = a/(1+a).
(2) b >= 1: f(b) = ln(1 + a^b (1 - a)/(1 + a - a^b)), which falls with b, and because a^b <= a it is
at most (1 - a) a^b <= r a^b.
Let b_i = c_i - i D along the path. Cells are not negative, so c_i does not rise and b_i falls by D
at least at each step; and b(y) = b(x) + 1 only where b_i >= -D. The numbers from -D to 0 hold two
of the b_i at most, and two only if these are 0 and -D: then the earlier ones, h - 2 at most, are at
least D, 2D, ..., and the sum is at most L. If they hold one, the earlier ones are at least 1,
1 + D, 1 + 2D, ...: at most r + f(1) + f(1+D) + ... + f(1 + (h-2) D) <= L, term by term. If none,
the sum is smaller. Last, f(iD) <= r A^i with A = a^D <= 1/k, so L <= 2r + r/(k-1).
Tight. With c = (h-2) D on the whole path all h terms are met, so no smaller L holds where the
domain has that many.

Counts. The boxes are disjoint: half of epsilon by the theorem of `discreet.publish.measured`.
Tested by tests/publish/test_privtrees.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Exact, Interval, exp, log
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.measured import Account, Array, Terms, counted
from discreet.publish.partition import Boxes, Partition, box_sums
from discreet.remembered import remembered

__all__ = ["Decisions", "privtree"]

HALF = Fraction(1, 2)
"""The share of epsilon for the decisions."""
_GRID = 1 << 11
"""Rates are tried in steps of the share divided by this."""
_TERMS = 40
"""After so many terms, what follows is below rate 2^(1 - this), because A <= 1/2."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The rate r of the noise on the decisions, and the step D."""

    rate: Fraction
    step: int

    @classmethod
    def at(cls, rate: Fraction, *, axes: int) -> Decisions:
        """Those with this rate: the step is the least that halving every axis asks for."""
        deep = log(Interval.of(1 << axes), 128).upper / rate
        return cls(rate, -(-deep.numerator // deep.denominator))

    @classmethod
    @remembered(256)
    def of(cls, share: Fraction, *, sensitivity: int, axes: int, depth: int) -> Decisions:
        """Those with the largest rate found for a share of epsilon, by certified bounds.

        >>> Decisions.of(Fraction(1, 20), sensitivity=1, axes=2, depth=7)
        Decisions(rate=Fraction(469, 20480), step=61)
        """
        unit, parts = share / sensitivity, 1 << axes
        low = Fraction(-(-_GRID * (parts - 1) // (2 * parts - 1)), _GRID)  # the published bound
        low -= Fraction(1, _GRID)
        high = Fraction(1 if depth <= 1 else Fraction(1, 2)) + Fraction(1, _GRID)
        while high - low > Fraction(1, _GRID):
            middle = Fraction(int((low + high) / 2 * _GRID), _GRID)
            fits = cls.at(unit * middle, axes=axes).loss_upper(depth) <= unit
            low, high = (middle, high) if fits else (low, middle)
        return cls.at(unit * low, axes=axes)

    def loss_upper(self, depth: int) -> Fraction:
        """The L of the theorem for paths of this many decisions, rounded up."""
        if depth <= 1:
            return self.rate
        total = Interval.of(2 * self.rate)
        a = exp(-self.rate, 128)
        for place in range(1, min(depth - 2, _TERMS) + 1):
            power = exp(-self.rate * self.step * place, 128)
            total = total + log(1 + power * (1 - a) / (1 + a - power), 128)
        if depth - 2 > _TERMS:
            total = total + self.rate * Fraction(2, 1 << _TERMS)
        return total.upper

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
    Tested by tests/publish/test_privtrees.py
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    share = HALF * account.terms.epsilon
    account.spend(share)
    decisions = Decisions.of(
        share,
        sensitivity=account.terms.sensitivity,
        axes=values.ndim,
        depth=(max(values.shape) - 1).bit_length(),
    )
    boxes = _leaves(values, decisions, account.source)
    counts = account.measure(box_sums(values, boxes), account.left)
    return Partition("privtree", account.terms, values.shape, boxes, counts)
