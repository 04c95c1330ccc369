"""The discrete Gaussian mechanism: integers, plus discrete Gaussian noise.

Theorem (Canonne, Kamath and Steinke 2020). Let f be a vector of integers with squared Euclidean
distance |f(x) - f(y)|^2 <= D2 for all neighbours x, y, and let each number get its own Y with
P(Y = k) proportional to exp(-k^2/(2 v)). Then releasing f(x) + Y is rho-zero-concentrated
differentially private with rho = D2/(2 v).

Proof. Write Z(t) for the sum of exp(-(k - t)^2/(2 v)) over all integers k. For one number and an
integer move d, the Renyi divergence of order a satisfies
exp((a - 1) D_a) = (the sum of exp(-(a k^2 + (1 - a) (k - d)^2)/(2 v)))/Z(0)
= exp(a (a - 1) d^2/(2 v)) Z((1 - a) d)/Z(0), as a k^2 + (1 - a) (k - d)^2 =
(k - (1 - a) d)^2 + a (1 - a) d^2. By Poisson summation Z(t) is a sum of cosines of t with positive
coefficients, so Z(t) <= Z(0), and D_a <= a d^2/(2 v). Divergences of independent numbers add up.

With one person moving at most `changes` numbers by at most `sensitivity` each, D2 = changes
sensitivity^2. What (epsilon, delta) needs is in `discreet.mechanisms.gaussian_calibration`: the
exact least delta for one number, and a proved bound for several.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, Interval, certify, positive, sqrt, whole, written
from discreet.mechanisms.base import AdditiveMechanism
from discreet.mechanisms.gaussian_calibration import (
    exact_delta,
    least_variance,
    least_variance_for_many,
    many_delta_upper,
)
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_sampler import gaussian
from discreet.noise.sampler import Sampler, Shared
from discreet.privacy.guarantee import (
    ZCDP,
    ApproxDP,
    Neighbours,
    delta_of,
    epsilon_of,
    neighbours_of,
)
from discreet.privacy.loss import GaussianLoss

__all__ = ["Gaussian"]

_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gaussian(AdditiveMechanism):
    """Add discrete Gaussian noise to integers.

    Guarantee. If one person moves at most `changes` of the released numbers, each by at most
    `sensitivity`: with `rho`, rho-zero-concentrated differential privacy for sigma^2 =
    changes sensitivity^2/(2 rho) exactly; with `epsilon` and `delta`,
    (epsilon, delta)-differential privacy for the least sigma that this takes. For one number the
    delta is the exact one of this law, so no smaller sigma would do (to one part in 30,000); for
    several it is a proved upper bound.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. The numbers are integers and the sensitivity is a true bound; nothing else.
    Proof. At the top of this module and of `discreet.mechanisms.gaussian_calibration`.
    Tested by tests/mechanisms/test_gaussian.py

    Args:
        rho: the parameter of zero-concentrated privacy; give this, or epsilon and delta.
        epsilon: the privacy parameter, exact as typed.
        delta: how much probability may escape the factor e^epsilon.
        sensitivity: how far one person can move one number: a whole number. With `rho` also any
            other rational from 1 on, which is read as the Euclidean distance of whole vectors.
        changes: how many numbers of a vector one person can move.
        neighbours: "add_or_remove" or "replace".

    >>> Gaussian(rho="1/8").sigma
    2.0
    >>> round(Gaussian(epsilon=1, delta=1e-6).sigma, 3)
    4.231
    """

    dial: ClassVar[str] = "rho"
    rho: Fraction | None
    epsilon: Fraction | None
    delta: Fraction | None
    sensitivity: int | Fraction
    changes: int
    neighbours: Neighbours
    sigma_squared: Fraction = field(compare=False)
    _draws: Shared = field(compare=False)

    def __init__(
        self,
        *,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        sensitivity: Exact = 1,
        changes: int = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        _check_which(rho, epsilon, delta)
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "changes", whole(changes, name="changes", at_least=1, at_most=_LARGEST))
        put(self, "sensitivity", _sensitivity_of(sensitivity, as_distance=rho is not None))
        put(self, "rho", None if rho is None else ZCDP(rho).rho)
        put(self, "epsilon", None if epsilon is None else epsilon_of(epsilon))
        put(self, "delta", None if delta is None else delta_of(delta))
        put(self, "sigma_squared", self._calibrated())
        put(self, "_draws", Shared(gaussian, self.sigma_squared))

    def _calibrated(self) -> Fraction:
        if self.rho is not None:
            return self.distance_squared / (2 * self.rho)
        epsilon, delta = self._asked()
        if self.changes == 1:
            return least_variance(int(self.sensitivity), epsilon, delta)
        return least_variance_for_many(self.changes, self.distance_squared, epsilon, delta)

    def _asked(self) -> tuple[Fraction, Fraction]:
        if self.epsilon is None or self.delta is None:
            raise UnsupportedError("this mechanism was given a rho; say at which epsilon")
        return self.epsilon, self.delta

    def __repr__(self) -> str:
        said = [
            f"{name}={written(value)}"
            for name, value in (("rho", self.rho), ("epsilon", self.epsilon), ("delta", self.delta))
            if value is not None
        ]
        said.append(f"sensitivity={written(Fraction(self.sensitivity))}")
        said += [] if self.changes == 1 else [f"changes={self.changes}"]
        return f"Gaussian({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    @property
    def guarantee(self) -> ZCDP | ApproxDP:
        """What was asked for: zero-concentrated or approximate privacy."""
        if self.rho is not None:
            return ZCDP(self.rho, self.neighbours)
        return ApproxDP(*self._asked(), self.neighbours)

    @property
    def privacy_loss(self) -> GaussianLoss:
        """The noise and the distance, from which every accountant can work."""
        return GaussianLoss(
            neighbours=self.neighbours,
            sigma_squared=self.sigma_squared,
            distance_squared=self.distance_squared,
        )

    @property
    def parts(self) -> int:
        """The numbers that one person moves: shares of rho add up, those of a delta do not."""
        return self.changes if isinstance(self.guarantee, ZCDP) or self.changes == 1 else 0

    @property
    def distance_squared(self) -> Fraction:
        """The squared Euclidean distance that one person can move the numbers, at most."""
        return self.changes * Fraction(self.sensitivity) ** 2

    @property
    def sigma(self) -> float:
        """The scale of the noise; the exact value is the square root of `sigma_squared`."""
        found = sqrt(self.sigma_squared, 64)
        return math.inf if found.upper > Fraction(10) ** 308 else float(found)

    @property
    def noise_law(self) -> DiscreteGaussian:
        """The law of the noise on one number."""
        return DiscreteGaussian(self.sigma_squared)

    @property
    def _sampler(self) -> Sampler:
        return self._draws()

    def delta_bounds(self, epsilon: Exact | None = None, *, bits: int = 32) -> Interval:
        """Enclose the exact least delta at an epsilon (by default the one asked for).

        For one number that moves by a whole number; `delta_upper` bounds all other cases.
        """
        at = self._asked()[0] if epsilon is None else epsilon_of(epsilon)
        move = self.sensitivity
        if self.changes > 1 or not isinstance(move, int):
            raise UnsupportedError(
                "the exact delta is known where one number moves by a whole number; "
                "use delta_upper for a proved bound"
            )
        return certify(lambda w: exact_delta(self.sigma_squared, move, at, w), bits)

    def delta_upper(self, epsilon: Exact | None = None) -> Fraction:
        """A delta, rounded up, that holds at an epsilon (by default the one asked for).

        `changes` numbers may move by a whole `sensitivity` each, or, where it is not whole, any
        number of them by that Euclidean distance.
        """
        at = self._asked()[0] if epsilon is None else epsilon_of(epsilon)
        if self.changes == 1 and isinstance(self.sensitivity, int):
            return self.delta_bounds(at).upper
        changes = self.changes
        if not isinstance(self.sensitivity, int):
            changes = math.floor(self.distance_squared)  # each integer that moves adds 1 or more
        return many_delta_upper(self.sigma_squared, changes, self.distance_squared, at)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """The pair that attains the largest loss of one number, whole moves given."""
        if isinstance(self.sensitivity, int):
            yield 0, self.sensitivity


def _check_which(rho: object, epsilon: object, delta: object) -> None:
    """Either rho, or epsilon with delta."""
    if rho is not None and (epsilon is not None or delta is not None):
        problem = "cannot be combined with epsilon or delta; give rho alone, or these two"
        raise ParameterError("rho", rho, problem)
    if rho is None and epsilon is None:
        raise ParameterError("rho", rho, "is missing: say rho=..., or epsilon=... with delta=...")
    if rho is None and delta is None:
        problem = "is missing: Gaussian noise has no pure epsilon; say delta=1e-6, or use Geometric"
        raise ParameterError("delta", delta, problem)


def _sensitivity_of(value: object, *, as_distance: bool) -> int | Fraction:
    """A whole number from 1 on; as a Euclidean distance, any rational from 1 on."""
    if not as_distance:
        return whole(value, name="sensitivity", at_least=1, at_most=_LARGEST)
    number = positive(value, name="sensitivity", at_most=_LARGEST)
    if not number >= 1:
        problem = "must be at least 1: different vectors of integers are that far apart"
        raise ParameterError("sensitivity", value, problem)
    return int(number) if number.denominator == 1 else number
