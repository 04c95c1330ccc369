"""What the measurements of a tree promise, and the noise that keeps it: pure, or concentrated.

The account of every cell is divided into `UNITS` equal units. A node that is measured with k units
gets, independent of all else,

* `Pure`: two-sided geometric noise of rate k epsilon/(UNITS sensitivity);
* `Concentrated`: discrete Gaussian noise with 1/variance = k 2 rho/(UNITS sensitivity^2).

Neighbours. The cells of neighbours differ by an integer vector d with sum |d_c| <= sensitivity; one
person may be in several cells. The count of a node v differs by d_v, the sum of d_c over its cells.

Theorem. Publish noisy counts of nodes one step after the other; which nodes come next, with how
many units, is a function of earlier published values only. If on every transcript no cell is spent
on more than UNITS units in all, the whole is epsilon-differentially private, or rho-zero-
concentrated differentially private. It does not matter whether nodes of one step overlap.

Proof, pure. Given the earlier values, neighbours are asked the same nodes with the same units. As
|d_v| is at most the sum of |d_c| over its cells, the chance of the value that is published for it
changes by a factor of at most exp(rate_v sum_{c in v} |d_c|). The product over the transcript is at
most exp(sum_c |d_c| sum_{v holds c} rate_v) <= exp(sensitivity UNITS epsilon/(UNITS sensitivity)) =
exp(epsilon). With d = `sensitivity` in one cell whose units are spent, and values on one side of
both counts, there is equality.

Proof, concentrated. Given the earlier values, the Renyi divergence of order a of the value of v is
at most a d_v^2/(2 variance_v) = a rho k_v d_v^2/(UNITS sensitivity^2) (`discreet.mechanisms.
gaussian`). Let R be the sum of rho k_v d_v^2/(UNITS sensitivity^2) over a transcript.

1. R <= rho on every transcript: as a function of d it is a sum of squares of linear functions, so
   it is convex, and on the polytope sum |d_c| <= sensitivity it is largest at a corner, where d is
   +-sensitivity in one cell c. There it is rho/UNITS times the units spent on c, at most rho. So
   who is in several cells costs no more than who is in one cell alone.
2. The steps add up, though they are chosen by what was published. Let p and q be the chances of a
   transcript for neighbours. Given what came before, the expectation under q of the last step's
   (p_t/q_t)^a is at most exp(a (a - 1) R_t), R_t being known by then. Taking the steps away one by
   one from the last, the expectation under q of (p/q)^a exp(-a (a - 1) R) is at most 1. With 1,
   that of (p/q)^a is at most exp(a (a - 1) rho): a divergence of at most a rho, for every a > 1.

With d = `sensitivity` in one cell whose units are spent, and a whole order a, there is equality.
Tested by tests/publish/tree/test_terms.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Exact, shown
from discreet.mechanisms.geometric import sensitivity_of
from discreet.noise.gaussian_many import gaussians
from discreet.noise.sampler import one_sided
from discreet.noise.source import Source
from discreet.privacy.guarantee import ZCDP, Neighbours, PureDP, epsilon_of, neighbours_of
from discreet.privacy.loss import PureLoss, ZCDPLoss

__all__ = ["UNITS", "Concentrated", "Pure", "Terms", "terms_from_dict", "terms_of"]

Array = NDArray[Any]

UNITS = 1 << 16
"""Into how many equal units the account of a cell is divided; all shares are whole units."""
SMALLEST = Fraction(1, 1 << 40)
"""A draw at 2^-16 of this rate passes 2^63 with probability e^-128; 64 bits hold no more noise."""


@dataclass(frozen=True)
class Terms(ABC):
    """What is promised, to whom, and how much noise that takes."""

    sensitivity: int
    neighbours: Neighbours

    @property
    @abstractmethod
    def guarantee(self) -> PureDP | ZCDP:
        """What is promised to each person."""

    @property
    @abstractmethod
    def privacy_loss(self) -> PureLoss | ZCDPLoss:
        """What the release leaks, for an accountant."""

    @abstractmethod
    def noise(self, units: Array, source: Source) -> Array:
        """A draw for each number of units, exactly."""

    @abstractmethod
    def sharpness(self, units: Array) -> Array:
        """For reading and planning: the rate of Laplace noise that has the noise's variance."""

    @abstractmethod
    def unlikely(self, sharpness: Array, distance: Array) -> Array:
        """For reading: minus the logarithm of the chance of noise this far away, but a constant."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain values fit for JSON; `terms_from_dict` reads them back."""


@dataclass(frozen=True)
class Pure(Terms):
    """Epsilon-differential privacy, by geometric noise.

    For a geometric G of rate u and an integer k, floor(G/k) is geometric of rate ku, exactly. So
    all rates, which are whole multiples of one unit, come from one table: two draws at the unit's
    rate, each divided by the units of its node, and subtracted.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon < SMALLEST * self.sensitivity:
            _refuse("epsilon", self.epsilon, float(SMALLEST * self.sensitivity))

    @property
    def guarantee(self) -> PureDP:
        """Epsilon-differential privacy."""
        return PureDP(self.epsilon, self.neighbours)

    @property
    def privacy_loss(self) -> PureLoss:
        """A loss of at most epsilon, always."""
        return PureLoss(epsilon=self.epsilon, neighbours=self.neighbours)

    @cached_property
    def unit(self) -> Fraction:
        """The rate of a measurement with one unit."""
        return self.epsilon / (self.sensitivity * UNITS)

    def noise(self, units: Array, source: Source) -> Array:
        """Two-sided geometric noise of rate units * unit for each number."""
        draws = one_sided(self.unit)
        first, second = (draws.many(len(units), source) // units for _ in range(2))
        return np.asarray(first - second)

    def sharpness(self, units: Array) -> Array:
        """The rates, rounded to floats."""
        return np.asarray(units * float(self.unit))

    def unlikely(self, sharpness: Array, distance: Array) -> Array:
        """The rate times the distance."""
        return np.asarray(sharpness * np.abs(distance))

    def to_dict(self) -> dict[str, Any]:
        """Epsilon, sensitivity and neighbours."""
        return {
            "epsilon": str(self.epsilon), "sensitivity": self.sensitivity,
            "neighbours": self.neighbours,
        }  # fmt: skip


@dataclass(frozen=True)
class Concentrated(Terms):
    """Rho-zero-concentrated differential privacy, by discrete Gaussian noise."""

    rho: Fraction

    def __post_init__(self) -> None:
        if 2 * self.rho < (SMALLEST * self.sensitivity) ** 2:
            _refuse("rho", self.rho, float((SMALLEST * self.sensitivity) ** 2 / 2))

    @property
    def guarantee(self) -> ZCDP:
        """Rho-zero-concentrated differential privacy."""
        return ZCDP(self.rho, self.neighbours)

    @property
    def privacy_loss(self) -> ZCDPLoss:
        """A zero-concentrated loss of rho."""
        return ZCDPLoss(rho=self.rho, neighbours=self.neighbours)

    @cached_property
    def variance(self) -> Fraction:
        """The variance of a measurement with one unit; k units have one k-th of it."""
        return UNITS * self.sensitivity**2 / (2 * self.rho)

    def noise(self, units: Array, source: Source) -> Array:
        """Discrete Gaussian noise of variance parameter variance/units for each number."""
        return gaussians(self.variance).many(units, source)

    def sharpness(self, units: Array) -> Array:
        """The root of two over the variance."""
        return np.asarray(np.sqrt(units * (2 / float(self.variance))))

    def unlikely(self, sharpness: Array, distance: Array) -> Array:
        """The squared distance over twice the variance."""
        return np.asarray((sharpness * distance) ** 2 / 4)

    def to_dict(self) -> dict[str, Any]:
        """Rho, sensitivity and neighbours."""
        return {
            "rho": str(self.rho), "sensitivity": self.sensitivity, "neighbours": self.neighbours,
        }  # fmt: skip


def terms_of(
    *,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
) -> Terms:
    """From the words that people say: epsilon or rho, one of them."""
    moved, relation = sensitivity_of(sensitivity), neighbours_of(neighbours)
    if (epsilon is None) == (rho is None):
        problem = "or rho must be said, and not both"
        raise ParameterError("epsilon", epsilon, problem)
    if rho is None:
        return Pure(moved, relation, epsilon_of(epsilon))
    return Concentrated(moved, relation, ZCDP(rho).rho)


def terms_from_dict(values: Mapping[str, Any]) -> Terms:
    """Read `Terms.to_dict` back; what it cannot have written is refused."""
    named = {"rho" if "rho" in values else "epsilon", "sensitivity", "neighbours"}
    if set(values) != named:
        raise ParameterError("measured", sorted(values), "has other fields than a measurement")
    return terms_of(**values)


def _refuse(name: str, value: Fraction, least: float) -> None:
    problem = f"must be at least {least:.3g} here: larger noise does not fit 64 bits"
    raise ParameterError(name, shown(value), problem)
