"""Roll-ups: counts of all levels of nested groups, as GROUP BY ROLLUP asks for, made consistent.

People fall into groups by some keys, such as region, district and age band. A roll-up has the
counts by all keys, by all but the last, and so on up to one count of everybody. Groups are nested:
a group of one level is the disjoint union of its parts on the level below.

Measuring. Every level gets its share of epsilon, and every count of a level two-sided geometric
noise of its own. `Account` adds the shares up in exact arithmetic.

Shares. `"least"` takes those with the least mean over the levels of the mean variance in a level,
after least squares: what a reader has to expect who looks at any level as likely as at any other.
They follow from the sizes of the levels and epsilon, which are public. `"equal"` is the baseline. A
level with share 0 is not measured; it follows from the others.

Theorem (variances). In the tree fit let V_v be the variance of what is known of node v from below
and from itself, and r_c = V_c / sum of V over the children of c's parent p. The final variance is
W_c = V_c (1 - r_c) + r_c^2 W_p, with W = V at the top.
Proof. The fit is x_c = z_c + r_c (x_p - Z) with Z the sum of the children's z. z_c - r_c Z is
uncorrelated with Z, as cov(z_c, Z) = V_c = r_c var Z, and independent of what else x_p is made of.

Reading. `raw` is least squares over all levels: unbiased, children add up to parents, and every sum
of groups has the least variance among linear unbiased estimates. `read` cuts the top at 0, and goes
down: the children of each group move to the nearest numbers, none negative, that add up to it.
`whole` rounds that, going down as well, so children still add up to parents. (The nearest tree of
all without a negative count is no better for the groups and much worse for the total where most
groups are empty: mean squared errors of 153 against 23 for 10,000 groups, 2 % of them not empty,
at epsilon 1. It lifts all empty groups a little, and the total by the sum of that.)

Intervals are about the raw estimates, by `discreet.mechanisms.sums`: each holds its truth at the
confidence, whatever the data are. Where the whole number lies outside, it is stretched to that.
Groups that look alike in the tree have the same law, so widths are computed once for each kind.
Tested by tests/publish/test_rollups.py
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, probability, rational
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.consistency import nonnegative, nonnegative_fit, tree_fit, whole_tree
from discreet.publish.levels import Hierarchy, levels_measured
from discreet.publish.measured import Account, Array, Linear, Noisy, Terms, counted
from discreet.remembered import remembered

__all__ = [
    "Counts",
    "Nested",
    "Rollup",
    "least_shares",
    "level_variances",
    "nested",
    "rollup",
    "unmeasured",
]

Path = tuple[Hashable, ...]
_UNITS = 1000
"""Shares are multiples of one part in so many."""
_FUZZ = 1e-6
"""Ends of intervals are moved out by this before they are rounded to whole numbers."""


@dataclass(frozen=True, eq=False)
class Nested:
    """Groups within groups.

    Attributes:
        nodes: the groups of each level by their keys from the top, the finest level first.
        parents: for each group the place, in the next level, of the one that holds it.
    """

    nodes: tuple[tuple[Path, ...], ...]
    parents: tuple[Array, ...]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """How many groups each level has."""
        return tuple((len(level),) for level in self.nodes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The same, as numbers."""
        return tuple(map(len, self.nodes))

    def sums(self, cells: Array) -> list[Array]:
        """The exact counts of all levels, from int64 counts of the finest groups."""
        levels = [cells]
        for up, size in zip(self.parents, self.sizes[1:], strict=True):
            above = np.zeros(size, dtype=cells.dtype)
            np.add.at(above, up, levels[-1])
            levels.append(above)
        return levels

    @cached_property
    def kinds(self) -> list[Array]:
        """For each level a number for each group: equal where the tree looks the same from both."""
        below: list[list[int]] = [[0] * self.sizes[0]]
        for up, size in zip(self.parents, self.sizes[1:], strict=True):
            parts: list[list[int]] = [[] for _ in range(size)]
            for child, parent in zip(below[-1], up.tolist(), strict=True):
                parts[parent].append(child)
            seen: dict[tuple[int, ...], int] = {}
            below.append([seen.setdefault(tuple(sorted(p)), len(seen)) for p in parts])
        found = [below[-1]]
        for shapes, up in zip(below[-2::-1], self.parents[::-1], strict=True):
            around: dict[tuple[int, int], int] = {}
            above = found[-1]
            found.append([
                around.setdefault((above[parent], shape), len(around))
                for shape, parent in zip(shapes, up.tolist(), strict=True)
            ])  # fmt: skip
        return [np.array(level, dtype=np.int64) for level in found[::-1]]


def nested(paths: Sequence[Path]) -> Nested:
    """The tree of groups with these keys, each from the coarsest to the finest.

    >>> nested([("n", 1), ("n", 2), ("s", 1)]).nodes[1]
    (('n',), ('s',))
    """
    level = tuple(map(tuple, paths))
    depths = {len(path) for path in level}
    if len(depths) != 1 or depths == {0}:
        raise ParameterError("paths", sorted(depths), "must be some, all of one length above 0")
    if len(set(level)) != len(level):
        raise ParameterError("paths", len(level), "must be different")
    nodes, parents = [level], []
    for depth in range(depths.pop() - 1, -1, -1):
        places: dict[Path, int] = {}
        parents.append(np.array(
            [places.setdefault(path[:depth], len(places)) for path in nodes[-1]], dtype=np.int64
        ))  # fmt: skip
        nodes.append(tuple(places))
    return Nested(tuple(nodes), tuple(parents))


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The counts of one level.

    Attributes:
        nodes: the groups, by their keys.
        values: whole numbers, none negative; the parts of a group add up to it.
        low, high: ends of intervals, each of which holds the truth at the stated confidence.
        raw: unbiased, by least squares.
        standard_error: of the raw numbers.
    """

    nodes: tuple[Path, ...]
    values: Array
    low: Array
    high: Array
    raw: Array
    standard_error: Array


@dataclass(frozen=True, eq=False, repr=False)
class Rollup(Hierarchy):
    """Noisy counts of all levels of nested groups. `cells` are those of the finest level.

    Attributes:
        groups: the tree.
    """

    groups: Nested

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Which part of epsilon each level has got, the finest first."""
        unit = self.terms.unit
        return tuple(Fraction(0) if n is None else n.rate / unit for n in self.levels)

    @cached_property
    def raw_levels(self) -> list[Array]:
        """Unbiased counts of all levels, the finest first; parts add up."""
        return tree_fit(self._numbers, self._variances, self.groups.parents)

    def _raw(self) -> Array:
        return self.raw_levels[0].copy()

    @cached_property
    def read_levels(self) -> list[Array]:
        """The same without a negative one, going down from the top."""
        read = [nonnegative(self.raw_levels[-1])]
        spread = level_spreads(self.groups, self._variances)
        for level in range(len(self.levels) - 2, -1, -1):
            below, above = self.raw_levels[level], self.raw_levels[level + 1]
            up = self.groups.parents[level]
            parts = nonnegative_fit([below, above], [spread[level], 1.0], [up], totals=read[-1])
            read.append(parts[0])
        return read[::-1]

    def _read(self) -> Array:
        return self.read_levels[0].copy()

    def whole_levels(self, scale: int = 1) -> list[Array]:
        """Whole numbers, none negative, of all levels; parts add up."""
        return whole_tree(self.read_levels[0] / scale, self.groups.parents, self.groups.sizes)

    def counts(self, *, confidence: Exact = 0.95, scale: int = 1) -> list[Counts]:
        """All levels with intervals, the finest first.

        Args:
            confidence: of each interval.
            scale: how many units of what was measured are one; above 1 the truth need not be whole.
        """
        inward = _FUZZ if scale == 1 else 1 - _FUZZ
        wholes = self.whole_levels(scale)
        risk = 1 - probability(confidence, name="confidence")
        found = []
        for level, (known, where) in enumerate(self._kinds()):
            width = np.array([one.width(risk) for one in known])[where]
            error = np.array([one.standard_error for one in known])[where]
            raw, width, error = self.raw_levels[level] / scale, width / scale, error / scale
            values = wholes[level]
            low = np.maximum(np.ceil(raw - width - inward), 0).astype(np.int64)
            high = np.maximum(np.floor(raw + width + inward), 0).astype(np.int64)
            low, high = np.minimum(low, values), np.maximum(high, values)
            found.append(Counts(self.groups.nodes[level], values, low, high, raw, error))
        return found

    def _kinds(self) -> Iterator[tuple[list[Linear], Array]]:
        """For each level the estimates of groups that look different in the tree, and the number
        of that of each group.
        """
        for level, kinds in enumerate(self.groups.kinds):
            _, first, where = np.unique(kinds, return_index=True, return_inverse=True)
            yield [self.linear(self._members(level, int(place))) for place in first], where

    def off(self, *, confidence: Exact = 0.95, scale: int = 1) -> list[tuple[float, float]]:
        """For each level, the finest first, how far off its noisiest group is: expected, and except
        with the chance that the confidence leaves. It does not depend on what was measured.
        """
        risk = 1 - probability(confidence, name="confidence")
        return [
            (max(one.error for one in known) / scale, max(one.width(risk) for one in known) / scale)
            for known, _ in self._kinds()
        ]

    def _members(self, level: int, place: int) -> Array:
        """Which of the finest groups are in a group, as 0 and 1."""
        inside = np.zeros(self.groups.sizes[level])
        inside[place] = 1
        for up in self.groups.parents[:level][::-1]:
            inside = inside[up]
        return inside


def rollup(
    cells: Array,
    groups: Nested,
    *,
    epsilon: Exact,
    shares: Literal["least", "equal"] | Sequence[Exact] = "least",
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Rollup:
    """Publish the counts of all levels of nested groups.

    Guarantee. Epsilon-differential privacy for neighbours whose counts of the finest groups differ
    by at most `sensitivity` in the sum of differences.
    Proof. `discreet.publish.measured`, one step for each level: the groups of a level are disjoint,
    and the shares add up to epsilon at most.
    Tested by tests/publish/test_rollups.py

    Args:
        cells: exact counts of the finest groups, in the order of `groups.nodes[0]`.
        groups: the tree, from `nested`.
        epsilon: the privacy parameter of everything together.
        shares: "least", "equal", or the parts of epsilon, the finest level first.
        sensitivity: how far the counts of neighbours can be apart.
        neighbours: the relation under which that holds.
        source: for tests; the default is the system's randomness.

    >>> made = rollup(np.array([3, 1, 4]), nested([("n", 1), ("n", 2), ("s", 1)]), epsilon=1)
    >>> finest, middle, top = (level.values.tolist() for level in made.counts())
    >>> [finest[0] + finest[1], finest[2]] == middle and sum(middle) == top[0]
    True
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells, axes=(1,))
    if len(values) != groups.sizes[0]:
        raise ParameterError("cells", len(values), f"must be {groups.sizes[0]}, one for each group")
    parts = _shares(shares, groups, account.terms)
    levels = levels_measured(values, groups, [account.terms.epsilon * p for p in parts], account)
    return Rollup("roll-up", account.terms, values.shape, groups, levels, groups)


def unmeasured(groups: Nested, terms: Terms) -> Rollup:
    """A roll-up in which nobody was counted and no noise was drawn: it tells beforehand how far off
    the numbers of a real one will be (`Rollup.off`).
    """
    rates = [terms.unit * share for share in least_shares(groups.sizes, terms.unit)]
    levels = [
        Noisy(np.zeros(size, dtype=np.int64), rate) if rate else None
        for size, rate in zip(groups.sizes, rates, strict=True)
    ]
    return Rollup("roll-up", terms, (groups.sizes[0],), groups, tuple(levels), groups)


def _shares(
    said: Literal["least", "equal"] | Sequence[Exact], groups: Nested, terms: Terms
) -> list[Fraction]:
    number = len(groups.sizes)
    if said == "least":
        return list(least_shares(groups.sizes, terms.unit))
    if said == "equal":
        return [Fraction(1, number)] * number
    if isinstance(said, str) or len(said) != number:
        raise ParameterError("shares", said, f"must be 'least', 'equal' or {number} numbers")
    parts = [rational(one, name="shares") for one in said]
    if min(parts) < 0 or not parts[0] > 0 or sum(parts) > 1:
        problem = "must not be negative, that of the finest level above 0, and add up to at most 1"
        raise ParameterError("shares", list(map(str, parts)), problem)
    return parts


def level_spreads(groups: Nested, variances: Sequence[float]) -> list[Array]:
    """For each group the V of this module's theorem: known from itself and below."""
    spread = [np.full(groups.sizes[0], variances[0])]
    for up, size, own in zip(groups.parents, groups.sizes[1:], variances[1:], strict=True):
        below = np.bincount(up, weights=spread[-1], minlength=size)
        spread.append(1 / (1 / own + 1 / below))
    return spread


def level_variances(sizes: Sequence[int], rates: Sequence[float]) -> list[float]:
    """The final variance of a count of each level, by the theorem, where all families are equal.

    In other trees families are taken to be as large as their mean; a rate of 0 is not measured.
    """
    noise = [math.inf if rate <= 0 else 0.5 / math.sinh(rate / 2) ** 2 for rate in rates]
    families = [below / above for below, above in pairwise(sizes)]
    known = [noise[0]]
    for own, family in zip(noise[1:], families, strict=True):
        known.append(1 / (1 / own + 1 / (family * known[-1])))
    final = [known[-1]]
    for below, family in zip(known[-2::-1], families[::-1], strict=True):
        final.append(below * (1 - 1 / family) + final[-1] / family**2)
    return final[::-1]


@remembered(256)
def least_shares(sizes: tuple[int, ...], unit: Fraction) -> tuple[Fraction, ...]:
    """The shares with the least mean variance over the levels, in parts of 1000; public.

    From equal shares, parts move from one level to another as long as that gains, in steps that
    become smaller. So no result is worse than equal shares (rounded).

    Args:
        sizes: how many groups each level has, the finest first.
        unit: epsilon for a move of one in one group.
    """
    number = len(sizes)
    rate = min(float(unit), 500.0) / _UNITS

    def cost(units: Sequence[int]) -> float:
        return sum(level_variances(sizes, [n * rate for n in units]))

    best = [_UNITS // number + (i < _UNITS % number) for i in range(number)]
    least, step = cost(best), _UNITS // 4
    while step:
        moved = False
        for giver in range(number):
            for taker in range(number):
                tried = list(best)
                tried[giver] -= step
                tried[taker] += step
                if giver != taker and tried[giver] >= (giver == 0) and cost(tried) < least:
                    best, least, moved = tried, cost(tried), True
        step = step if moved else step // 2
    return tuple(Fraction(n, _UNITS) for n in best)
