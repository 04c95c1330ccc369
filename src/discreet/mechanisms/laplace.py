"""Real numbers: rounded to a public grid, then integer noise. No float ever carries noise.

Theorem. Let x be real with |x - y| <= S between neighbours and let g be a grid step. Put
k = floor(x/g + 1/2), an integer. Releasing g (k + Z) with two-sided geometric Z of ratio
exp(-epsilon/ceil(S/g)) is epsilon-differentially private.

Proof. |k - k'| <= ceil(S/g): rounding is monotone and commutes with whole steps, so moving x by at
most ceil(S/g) steps moves k by at most that many. The rest is the theorem of
`discreet.mechanisms.geometric`; multiplying by g and turning the result into a float is
post-processing of the integer k + Z.

For a vector of which one person moves at most m numbers, by S in all, the steps add up to at most
ceil(S/g) + m - 1: each of the m numbers is rounded up once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.exact import Exact, positive, probability, written
from discreet.mechanisms.base import PureMechanism, half_width, kind_of, plain_array
from discreet.mechanisms.geometric import LARGEST_SENSITIVITY, changes_of
from discreet.noise.clamped import Shifted
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.sampler import two_sided
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.privacy.loss import GeometricLoss, PureLoss

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Laplace(PureMechanism):
    """Round a real number to a grid and add discrete Laplace (two-sided geometric) noise.

    Guarantee. If one person moves the released numbers by at most `sensitivity` in all, and at
    most `changes` of them, the release is epsilon-differentially private.
    Neighbours. As said; the sensitivity must hold under that relation.
    Assumes. A true sensitivity, in exact arithmetic: a float sum computed elsewhere can move
    further than the sum of its real terms would; sum integers or fractions where it matters.
    Proof. At the top of this module. Releases lie on the grid, whatever the input.
    Tested by tests/mechanisms/test_laplace.py

    `release` takes floats, integers, fractions and lists or arrays of them and returns floats,
    each the multiple of the grid step rounded once, at the end. A value that is not finite is
    refused without being quoted.

    >>> mechanism = Laplace(epsilon=1, sensitivity="0.5", grid="1/1024")
    >>> mechanism.steps
    512
    >>> (mechanism.release(3.14) * 1024).is_integer()
    True
    """

    epsilon: Fraction
    sensitivity: Fraction
    grid: Fraction
    changes: int
    neighbours: Neighbours
    steps: int = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact,
        grid: Exact,
        changes: int = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "sensitivity", positive(sensitivity, name="sensitivity"))
        put(self, "grid", positive(grid, name="grid"))
        put(self, "changes", changes_of(changes))
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "steps", math.ceil(self.sensitivity / self.grid) + self.changes - 1)
        if self.steps > LARGEST_SENSITIVITY:
            raise ParameterError("grid", grid, "is too fine: the sensitivity exceeds 2^62 steps")

    def __repr__(self) -> str:
        said = [f"epsilon={written(self.epsilon)}", f"sensitivity={written(self.sensitivity)}"]
        said += [f"grid={written(self.grid)}"]
        said += [] if self.changes == 1 else [f"changes={self.changes}"]
        return f"Laplace({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    @property
    def privacy_loss(self) -> GeometricLoss | PureLoss:
        """The loss of geometric noise on grid steps."""
        if self.changes > 1:
            return PureLoss(neighbours=self.neighbours, epsilon=self.epsilon)
        return GeometricLoss(
            neighbours=self.neighbours, epsilon=self.epsilon, sensitivity=self.steps
        )

    @property
    def noise_law(self) -> TwoSidedGeometric:
        """The law of the noise, in grid steps."""
        return TwoSidedGeometric(self.epsilon / self.steps)

    def release(self, value: Any, *, source: Source | None = None) -> Any:
        """Return the value on the grid plus noise: a float, a list or an array of floats."""
        bits = source or system_source()
        if isinstance(value, np.ndarray):
            value = plain_array(value)
            if value.dtype.kind not in "iuf":
                raise InputTypeError(f"an array of numbers is needed here, not of {kind_of(value)}")
            flat = [self._one(item, bits) for item in value.reshape(-1).tolist()]
            return np.array(flat, dtype=np.float64).reshape(value.shape)
        if isinstance(value, list | tuple):
            return [self._one(item, bits) for item in value]
        return self._one(value, bits)

    def _one(self, value: object, source: Source) -> float:
        noisy = self.on_grid(value) + two_sided(self.epsilon / self.steps).one(source)
        try:
            return float(noisy * self.grid)
        except OverflowError:
            raise RangeError("a noisy value is beyond the range of a float") from None

    def on_grid(self, value: object) -> int:
        """The nearest grid step, floor(x/g + 1/2), in exact arithmetic."""
        return math.floor(_real(value) / self.grid + Fraction(1, 2))

    def law(self, value: object) -> Shifted:
        """The exact law of the release, in grid steps."""
        return Shifted(self.noise_law, self.on_grid(value))

    @property
    def variance(self) -> float:
        """The variance of the noise on one number, in squared units of the value."""
        return self.noise_law.variance * float(self.grid) ** 2

    def error(self, confidence: Exact = 0.95) -> float:
        """A half-width that covers the true value with this probability, rounding included."""
        level = probability(confidence, name="confidence")
        return float((half_width(self.noise_law, level) + Fraction(1, 2)) * self.grid)

    def expected_absolute_error(self, value: object = 0) -> float:
        """E |released - value| for a value on the grid; up to half a step more elsewhere."""
        place = self.on_grid(value)
        return self.law(value).absolute_error(place) * float(self.grid)

    def small_neighbours(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Values on and off the grid, and their largest moves up."""
        for start in (Fraction(0), self.grid / 2, self.grid * Fraction(2, 5)):
            yield start, start + self.sensitivity


def _real(value: object) -> Fraction:
    """The exact number that an integer, a fraction or a float is."""
    match value:
        case bool() | np.timedelta64():
            raise InputTypeError("a real number is needed here; nothing was released")
        case int() | Fraction() | np.integer():
            return Fraction(int(value.numerator), int(value.denominator))
        case float() | np.floating():
            if np.isfinite(value):
                above, below = value.as_integer_ratio()
                return Fraction(int(above), int(below))
            raise InputTypeError(
                "the value to release is not a finite number; clean NaN and infinities first. "
                "Nothing was released"
            )
        case _:
            raise InputTypeError("a real number is needed here; nothing was released")
