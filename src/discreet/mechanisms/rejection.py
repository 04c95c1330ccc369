"""Geometric noise, drawn again until the result falls into the range.

Conditioning on the range changes the promise. With a = exp(-s) the law around i is a^|i-j|/Z(i),
Z(i) the sum of a^|i-j| over the range, and between neighbouring counts the ratio is at most
e^s Z(i+1)/Z(i). The second factor is largest at the end of the range, so with n the largest count

    loss(s) = s + ln(Z(1)/Z(0)),  Z(0) = (1 - a^(n+1))/(1 - a),  Z(1) = a + (1 - a^n)/(1 - a).

Proof that the end is worst. Z(i) = (1 + a - a^(i+1) - a^(n-i+1))/(1 - a), so Z is symmetric and
concave in i (its second differences are -(a^i + a^(n-i))(1-a) <= 0) and Z(i+1)/Z(i) falls with i.
The largest ratio is Z(1)/Z(0), and the output 0, or any that is nearer to i than to i + 1 from
below, attains e^s times it.

The parameter s is solved from loss(s) = epsilon and rounded down, so that the loss never exceeds
epsilon. Without a correction (s = epsilon) the loss is larger: 0.1818 for 0.1 on {0..30}.

This mechanism is here for comparison with the literature. The clamped geometric mechanism with
the reader's own remap is never worse (Ghosh, Roughgarden and Sundararajan 2009) and mostly much
better: use `Geometric(bounds=...)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.exact import Exact, Interval, certify, exp, log, written
from discreet.mechanisms.base import AdditiveMechanism, IntegerArray, PureMechanism, integer
from discreet.mechanisms.geometric import Bounds, bounds_of
from discreet.noise.clamped import ConditionedGeometric
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.sampler import HIGHEST, LOWEST, Sampler, fitting, one_sided, two_sided
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.remembered import remembered

__all__ = ["RejectionGeometric", "conditioned_loss"]

_STEP = 40  # the rate is found to 40 bits relative to epsilon, and rounded down


def conditioned_loss(rate: Fraction, size: int, bits: int = 64) -> Interval:
    """Enclose the exact loss of conditioning on {0..size} at this rate."""

    def formula(w: int) -> Interval:
        a, last = exp(-rate, w), exp(-rate * size, w)
        ratio = (a * (1 - a) + 1 - last) / (1 - last * a)
        return log(ratio, w) + rate

    return certify(formula, bits)


@remembered(1024)
def exact_rate(epsilon: Fraction, size: int) -> Fraction:
    """The largest rate of the form epsilon k/2^40 whose loss is certainly at most epsilon."""
    low, high = 0, 1 << _STEP
    while high - low > 1:
        middle = (low + high) // 2
        fits = conditioned_loss(epsilon * middle / (1 << _STEP), size).upper <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return epsilon * low / (1 << _STEP)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RejectionGeometric(PureMechanism, AdditiveMechanism):
    """Add two-sided geometric noise to a count, and draw again until it falls into the range.

    Guarantee. For one integer that moves by at most 1 between neighbours, the release is
    epsilon-differentially private: the rate is lowered by exactly what conditioning costs.
    Neighbours. As said.
    Assumes. An integer count of sensitivity 1; the range is public.
    Proof. At the top of this module. Dominated by `Geometric(bounds=...)` with its remap.
    Tested by tests/mechanisms/test_rejection.py

    >>> mechanism = RejectionGeometric(epsilon="0.1", bounds=(0, 30))
    >>> round(float(mechanism.rate), 6)
    0.053252
    """

    epsilon: Fraction
    bounds: Bounds
    neighbours: Neighbours
    rate: Fraction = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        bounds: Bounds,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "bounds", bounds_of(bounds))
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "rate", exact_rate(self.epsilon, self.bounds[1] - self.bounds[0]))

    def __repr__(self) -> str:
        said = f"epsilon={written(self.epsilon)}, bounds={self.bounds}"
        return f"RejectionGeometric({said}, neighbours={self.neighbours!r})"

    @property
    def noise_law(self) -> TwoSidedGeometric:
        """The law of the noise before it is conditioned on the range."""
        return TwoSidedGeometric(self.rate)

    @property
    def _sampler(self) -> Sampler:
        return two_sided(self.rate)

    @property
    def _is_flat(self) -> bool:
        """Whether the range is short against the noise, which then hardly ever falls into it."""
        return self.rate * (self.bounds[1] - self.bounds[0]) <= 4

    def _one(self, value: int, source: Source) -> int:
        """Noise until it fits; or, where that takes long, a uniform place kept with chance a^d.

        Both have the conditioned law. P(G >= d) = a^d for a one-sided geometric G, and every round
        succeeds with a probability above 1/5.
        """
        low, high = self.bounds
        inside = min(max(value, low), high)
        while True:
            if self._is_flat:
                place = low + source.below(high - low + 1)
                if one_sided(self.rate).one(source) >= abs(place - inside):
                    return place
            else:
                noisy = inside + self._sampler.one(source)
                if low <= noisy <= high:
                    return noisy

    def _many(self, values: IntegerArray, source: Source) -> IntegerArray:
        low, high = self.bounds
        if self._is_flat or not LOWEST < low < high < HIGHEST:
            flat = [self._one(value, source) for value in values.reshape(-1).tolist()]
            return fitting(flat).reshape(values.shape)
        inside, wider = np.clip(values, low, high).reshape(-1), (low - 1, high + 1)
        out = self._sampler.add(inside, source, bounds=wider)
        while len(again := np.flatnonzero((out < low) | (out > high))):
            out[again] = self._sampler.add(inside[again], source, bounds=wider)
        return out.reshape(values.shape)

    def law(self, value: int) -> ConditionedGeometric:
        """The exact law of the release of `value`."""
        low, high = self.bounds
        return ConditionedGeometric(self.rate, min(max(integer(value), low), high), low, high)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """All neighbouring counts of the range (the first 64, where it is longer)."""
        low, high = self.bounds
        for value in range(low, min(high, low + 64)):
            yield value, value + 1
