"""How the count of a node may fall on its two halves, given what was measured below.

For a count n the ways are: everything right, everything left, the even split, and left counts
n sin^2(a) at `ANGLES` midpoints a of the angles for which both halves lie on their grids. Each has
a chance without weights, U_l(t) U_r(n - t) times the density of the prior's part that it is of.
Likelihoods between grid points are interpolated. Rows are ways, columns are counts.

Where the halves lie, and the densities, follow from the grids alone (`Places`); the likelihoods of
the halves come on top (`Ways`), and change with what was learned of the prior.
Tested by tests/publish/tree/test_splitting.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.publish.tree.levels import POINTS, Level
from discreet.publish.tree.prior import Prior

__all__ = ["ANGLES", "Places", "Ways", "interpolated", "places", "position"]

Array = NDArray[Any]

ANGLES = 16
_TINY = 1e-300
_ODD = 1 / (2 * np.arange(POINTS) + 1)


@dataclass
class Places:
    """Where the halves of some counts lie. The first three rows are: none left, all left, even.

    Attributes:
        left, right: where on the flat grids of the children the halves lie: the point below, and
            how far on towards the next.
        counts: the left counts.
        inside: for the first three rows, whether both halves lie on their grids.
        width: of the step between angles.
        nothing: the columns of counts of 0, for which every way is the same.
        densities: for each alpha, the density at the angles.
    """

    left: tuple[Array, Array]
    right: tuple[Array, Array]
    counts: Array
    inside: Array
    width: Array
    nothing: Array
    densities: list[Array]

    def ways(self, child: Level) -> Ways:
        """The ways, by the likelihoods of the children."""
        up = child.up.reshape(-1)
        both = _value(up, *self.left)
        both *= _value(up, *self.right)
        both[:3] *= self.inside  # the angles lie on both grids by construction
        both[3:] *= self.width
        if len(self.nothing):
            both[3:, self.nothing] = both[0, self.nothing] / ANGLES
        return Ways(self.left, self.right, self.counts, both, self.densities)


@dataclass
class Ways:
    """The ways for some counts.

    Attributes:
        left, right, counts, densities: as in `Places`.
        both: the likelihood of both halves; for the angles, times their width.
    """

    left: tuple[Array, Array]
    right: tuple[Array, Array]
    counts: Array
    both: Array
    densities: list[Array]

    def only(self, columns: Array) -> Ways:
        """The ways of some of the counts."""
        return Ways(
            (self.left[0][:, columns], self.left[1][:, columns]),
            (self.right[0][:, columns], self.right[1][:, columns]),
            self.counts[:, columns],
            self.both[:, columns],
            [density[:, columns] for density in self.densities],
        )

    def total(self, weights: Array) -> Array:
        """The chance of all ways together."""
        both = self.both
        found = 0.5 * weights[0] * (both[0] + both[1]) + weights[1] * both[2]
        found += np.einsum("ij,ij->j", both[3:], self._mixed(weights))
        return np.asarray(found)

    def _mixed(self, weights: Array) -> Array:
        mixed = weights[2] * self.densities[0]
        for weight, density in zip(weights[3:], self.densities[1:], strict=True):
            mixed += weight * density
        return np.asarray(mixed)

    def chances(self, weights: Array) -> tuple[Array, Array]:
        """The chance of each way; and of each part of the prior: empty, even, and the alphas."""
        chances = self.both.copy()
        chances[:2] *= 0.5 * weights[0]
        chances[2] *= weights[1]
        chances[3:] *= self._mixed(weights)
        sums = [chances[0] + chances[1], chances[2]]
        for weight, density in zip(weights[2:], self.densities, strict=True):
            sums.append(weight * np.einsum("ij,ij->j", self.both[3:], density))
        return chances, np.stack(sums)


def places(level: Level, child: Level, at: Array, counts: Array, prior: Prior) -> Places:
    """Where counts of the nodes at these places fall, which have two children each."""
    left, right = level.left[at], level.right[at]
    lefts = np.empty((3 + ANGLES, len(counts)))
    lefts[0], lefts[1], lefts[2] = 0.0, counts, level.share[at] * counts
    width, doubled = _angles(child, left, right, counts, lefts[3:])
    rights = counts - lefts
    rights[1] = 0.0
    inside = _inside(child, left, lefts[:3]) & _inside(child, right, rights[:3])
    densities = _densities(doubled, prior)
    nothing = np.flatnonzero(counts <= 0)
    for density in densities if len(nothing) else ():
        density[:, nothing] = 1.0
    on_left, on_right = position(child, left, lefts), position(child, right, rights)
    return Places(on_left, on_right, lefts, inside, width / ANGLES, nothing, densities)


def _angles(
    child: Level, left: Array, right: Array, counts: Array, out: Array
) -> tuple[Array, Array]:
    """Put the left counts at the midpoints into `out`; the width of the angles, sin of twice them.

    The sines and cosines of equidistant angles come from turning by the same angle each time.
    """
    low = np.maximum(np.maximum(child.low[left], counts - child.high[right]), 0.0)
    high = np.minimum(np.minimum(child.high[left], counts - child.low[right]), counts)
    n = np.maximum(counts, _TINY)
    ends = np.stack([low, np.maximum(high, low)]) / n
    first, last = np.arcsin(np.sqrt(np.minimum(ends, 1.0)))
    width = last - first
    turn, at = 2 * width / ANGLES, 2 * first + width / ANGLES
    c, s, cosine, sine = np.cos(turn), np.sin(turn), np.cos(at), np.sin(at)
    half = 0.5 * counts
    doubled = np.empty_like(out)
    for row in range(ANGLES):
        np.multiply(half, 1 - cosine, out=out[row])
        doubled[row] = sine
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    width[high < low] = 0.0
    return width, doubled


def _densities(doubled: Array, prior: Prior) -> list[Array]:
    """Exp(constant) (sin cos)^exponent; sin cos is half the sine of the doubled angle."""
    product = np.maximum(0.5 * doubled, 1e-30).astype(np.float32)
    log = None
    found = []
    for constant, exponent in zip(prior.constants, prior.exponents, strict=True):
        if exponent == 1:
            density = product * np.float32(np.exp(constant))
        else:
            log = np.log(product) if log is None else log
            density = np.exp(np.float32(exponent) * log + np.float32(constant))
        found.append(density)
    return found


def position(level: Level, place: Array, counts: Array) -> tuple[Array, Array]:
    """The point of the flat grids below each count, and how far on it lies towards the next."""
    low, high = level.low[place], level.high[place]
    along = counts - low
    along *= 1 / (high - low)
    np.maximum(along, 0.0, out=along)
    np.minimum(along, 1.0, out=along)
    even = low > 0
    steps = np.sqrt(along)
    np.copyto(steps, along, where=even)
    steps *= POINTS - 1
    point = np.minimum(steps.astype(np.intp), POINTS - 2)
    part = steps - point
    # between squares: (s^2 - k^2)/(2k + 1) = (s - k)(s + k)/(2k + 1)
    steps += point
    steps *= _ODD.take(point)
    np.copyto(steps, 1.0, where=even)
    part *= steps
    point += place * POINTS
    return point, part


def _inside(level: Level, place: Array, counts: Array) -> Array:
    low, high = level.low[place], level.high[place]
    slack = 1e-9 * (high - low)
    return np.asarray((counts >= low - slack) & (counts <= high + slack))


def _value(flat: Array, at: Array, part: Array) -> Array:
    low = flat.take(at)
    found = flat.take(at + 1)
    found -= low
    found *= part
    found += low
    return found


def interpolated(level: Level, place: Array, counts: Array) -> Array:
    """The upward likelihood of nodes at counts; 0 outside their grids."""
    found = _value(level.up.reshape(-1), *position(level, place, counts))
    return np.asarray(np.where(_inside(level, place, counts), found, 0.0))
