"""The geometric mechanism: a count, plus two-sided geometric noise; clamped where a range is known.

Theorem (Ghosh, Roughgarden and Sundararajan 2009). Let f be integer-valued with
|f(x) - f(y)| <= D for all neighbours x, y, and let Z have P(Z = k) = (1-a)/(1+a) a^|k| with
a = exp(-epsilon/D). Then releasing f(x) + Z is epsilon-differentially private.

Proof. For every output k, P(k|x)/P(k|y) = a^(|k - f(x)| - |k - f(y)|) <= a^(-|f(x) - f(y)|) <=
a^(-D) = e^epsilon, by the triangle inequality. At k = f(x) with |f(x) - f(y)| = D there is
equality, so no smaller epsilon could be promised. For a vector, multiply the ratios of its
numbers: what counts is the sum of the moves, at most (numbers that change) x (largest move).

Clamping the input and the output to a public range keeps the guarantee: the input's clamp moves
neighbours no further apart, the output's clamp is post-processing.

Theorem (the same authors; Gupte and Sundararajan 2010 for the worst case). For one count in
{0..n} and D = 1, the clamped mechanism followed by the right *reading* of its output is optimal
among all epsilon-private mechanisms, whatever the reader's prior and for every loss that grows
with the distance. `remap` and `minimax` compute those readings; they cost nothing.

Variance. 2a/(1-a)^2 is below 2 D^2/epsilon^2, the variance of Laplace noise with the same
guarantee, for all epsilon and D: with t = epsilon/D it is 1/(2 sinh^2(t/2)) <= 2/t^2, since
sinh(s) >= s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, whole, written
from discreet.mechanisms.base import AdditiveMechanism, IntegerArray, PureMechanism, integer
from discreet.noise.clamped import ClampedGeometric, Shifted
from discreet.noise.constant_time import FixedWords, FixedWordsLaw
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.sampler import HIGHEST, LOWEST, Sampler, Shared, fitting, two_sided
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.privacy.loss import GeometricLoss, PureLoss

if TYPE_CHECKING:
    from discreet.mechanisms.reading import LossFunction, Prior, Reading

__all__ = ["LARGEST_SENSITIVITY", "Bounds", "Geometric", "bounds_of"]

LARGEST_SENSITIVITY = 1 << 62
Bounds = tuple[int, int]


def bounds_of(value: object) -> Bounds:
    """A public range (low, high) of whole numbers with low < high."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ParameterError("bounds", value, "must be a pair (low, high) of whole numbers")
    low, high = whole(value[0], name="bounds[0]"), whole(value[1], name="bounds[1]")
    if not low < high:
        raise ParameterError("bounds", value, "must have its low end below its high end")
    return low, high


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Geometric(PureMechanism, AdditiveMechanism):
    """Add two-sided geometric noise to integers; with `bounds`, clamp to a public range.

    Guarantee. If one person moves at most `changes` of the released numbers, each by at most
    `sensitivity`, releasing them is epsilon-differentially private.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation. (A count
    has sensitivity 1 under both; a histogram has `changes` 1 when a person is added or removed
    and 2 when one is replaced.)
    Assumes. The numbers are integers and the sensitivity is a true bound; nothing else.
    Proof. At the top of this module.
    Tested by tests/mechanisms/test_geometric.py

    Args:
        epsilon: the privacy parameter, exact as typed.
        sensitivity: how far one person can move one number.
        bounds: a public range (low, high). The input is clamped to it first, the output last.
        constant_time: with `bounds` only: read a number of random words and take a number of
            steps that do not depend on the value or the noise. The law then is a rational law
            with the same guarantee, exactly; see `discreet.noise.constant_time`.
        changes: how many numbers of a vector one person can move.
        neighbours: "add_or_remove" or "replace".

    >>> mechanism = Geometric(epsilon="0.1", bounds=(0, 30))
    >>> 0 <= mechanism.release(20) <= 30
    True
    >>> round(mechanism.law(20).mass(0), 5)
    0.07105
    >>> Geometric(epsilon=1).error(confidence=0.95)
    3
    """

    epsilon: Fraction
    sensitivity: int
    bounds: Bounds | None
    constant_time: bool
    changes: int
    neighbours: Neighbours
    rate: Fraction = field(compare=False)
    _draws: Shared = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact = 1,
        bounds: Bounds | None = None,
        constant_time: bool = False,
        changes: int = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "sensitivity", sensitivity_of(sensitivity))
        put(self, "changes", changes_of(changes))
        put(self, "bounds", None if bounds is None else bounds_of(bounds))
        put(self, "constant_time", bool(constant_time))
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "rate", self.epsilon / (self.sensitivity * self.changes))
        put(self, "_draws", Shared(two_sided, self.rate))
        if self.constant_time and self.bounds is None:
            raise ParameterError("constant_time", constant_time, "needs bounds=(low, high)")

    def __repr__(self) -> str:
        said = [f"epsilon={written(self.epsilon)}", f"sensitivity={self.sensitivity}"]
        said += [] if self.bounds is None else [f"bounds={self.bounds}"]
        said += ["constant_time=True"] if self.constant_time else []
        said += [] if self.changes == 1 else [f"changes={self.changes}"]
        return f"Geometric({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    @property
    def privacy_loss(self) -> GeometricLoss | PureLoss:
        """The law of the loss; a pure bound with fixed words, whose law is a little different."""
        if self.constant_time:
            return PureLoss(neighbours=self.neighbours, epsilon=self.epsilon)
        return GeometricLoss(
            neighbours=self.neighbours,
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            changes=self.changes,
        )

    @property
    def parts(self) -> int:
        """The numbers that one person moves: each takes an equal share of epsilon."""
        return self.changes

    @property
    def noise_law(self) -> TwoSidedGeometric:
        """The law of the noise on one number, before clamping."""
        return TwoSidedGeometric(self.rate)

    @property
    def _sampler(self) -> Sampler:
        return self._draws()

    @property
    def _fixed_words(self) -> FixedWords:
        low, high = self._range()
        return FixedWords(self.rate, low, high)

    def _range(self) -> Bounds:
        if self.bounds is None:
            raise UnsupportedError("this needs bounds=(low, high): the noise has no range")
        return self.bounds

    def _one(self, value: int, source: Source) -> int:
        if self.bounds is None:
            return value + self._sampler.one(source)
        low, high = self.bounds
        inside = min(max(value, low), high)
        if self.constant_time:
            return self._fixed_words.draw(inside, source)
        return min(max(inside + self._sampler.one(source), low), high)

    def _several(self, values: list[int], source: Source) -> list[int]:
        if self.bounds is not None:
            return [self._one(value, source) for value in values]
        drawn = self._sampler.several(len(values), source)
        return [value + z for value, z in zip(values, drawn, strict=True)]

    def _many(self, values: IntegerArray, source: Source) -> IntegerArray:
        if self.bounds is None:
            return self._sampler.add(values, source)
        low, high = self.bounds
        if self.constant_time or low > HIGHEST or high < LOWEST:
            flat = [self._one(value, source) for value in values.reshape(-1).tolist()]
            return fitting(flat).reshape(values.shape)
        inside = np.clip(values, max(low, LOWEST), min(high, HIGHEST))
        return self._sampler.add(inside, source, bounds=self.bounds)

    def law(self, value: int) -> Shifted | ClampedGeometric | FixedWordsLaw:
        """The exact law of one released number whose true value is `value`."""
        at = integer(value)
        if self.bounds is None:
            return Shifted(self.noise_law, at)
        low, high = self.bounds
        inside = min(max(at, low), high)
        if self.constant_time:
            return self._fixed_words.law(inside)
        return ClampedGeometric(self.rate, inside, low, high)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """Every value of the range (the first 64), moved by 1 and by as much as one person can.

        Without a range one value stands for all. The pairs move one number; see `parts`.
        """
        low, high = self.bounds or (0, self.sensitivity)
        for value in range(low, min(high, low + 64)) if self.bounds else (0,):
            for move in sorted({1, min(self.sensitivity, high - value)}):
                yield value, value + move

    def remap(self, *, prior: Prior = "uniform", loss: LossFunction = "absolute") -> Reading:
        """The reading of the clamped output that is best for a prior: free post-processing.

        >>> reading = Geometric(epsilon="0.1", bounds=(0, 30)).remap()
        >>> round(reading.expected_loss, 4)
        5.6857
        """
        from discreet.mechanisms.reading import bayes_reading  # noqa: PLC0415

        return bayes_reading(self._kernel_law(), *self._range(), prior=prior, loss=loss)

    def minimax(self, *, loss: LossFunction = "absolute") -> Reading:
        """The reading of the clamped output that is best for the worst true count: free."""
        from discreet.mechanisms.reading import minimax_reading  # noqa: PLC0415

        return minimax_reading(self._kernel_law(), *self._range(), loss=loss)

    def _kernel_law(self) -> Any:
        low, high = self._range()
        return lambda at: ClampedGeometric(self.rate, at, low, high)


def sensitivity_of(value: object) -> int:
    """A sensitivity of integers: a whole number from 1 to 2^62."""
    return whole(value, name="sensitivity", at_least=1, at_most=LARGEST_SENSITIVITY)


def changes_of(value: object) -> int:
    """How many numbers one person can move: a whole number from 1 to 2^62."""
    return whole(value, name="changes", at_least=1, at_most=LARGEST_SENSITIVITY)
