"""Draws from discrete Gaussians of many different variances at once, exactly, without a table each.

All variances are V/k for one rational V and whole numbers k. A proposal is two-sided geometric: Y
is the difference of two values floor(G/m), where G is geometric of one small rate u, so that Y has
the rate r = m u exactly, with m chosen so that r is about one over the deviation. It is kept with
probability exp(-g), and drawn anew otherwise:

    g = (|Y| - r v)^2/(2 v),  v = V/k.

Theorem (Canonne, Kamath and Steinke 2020). What is kept is discrete Gaussian of variance parameter
v. Proof. r |y| + g = y^2/(2 v) + r^2 v/2 for every y, so the chance that y is proposed and kept is
a constant times exp(-y^2/(2 v)). It holds for every rate r; which one only decides how often.

Keeping means U < exp(-g) for a uniform real U. Its first 64 bits are compared with a float of
exp(-g) that is off by less than 2^-40, and decide where they lie more than 2^-32 away. The others,
one in two billion, are decided by certified bounds and as many more bits of the *same* U as it
takes (`is_kept`). So floats settle only what they cannot get wrong.

Why the float is that good. |y| and r v are each off by a few parts in 2^53, so the root of g is off
by less than 2^-49 (|y| + r v)/sqrt(v), and r sqrt(v) is below 2. Where |y| is beyond 16 deviations,
exp(-g) is below 2^-60 and so is any float near it. Elsewhere sqrt(g) is off by less than 2^-44 and
exp(-g), whose slope in sqrt(g) is below 1, by less than 2^-43 and the rounding of exp itself.
Tested by tests/noise/test_gaussian_many.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise.gaussian_sampler import is_kept
from discreet.noise.sampler import one_sided
from discreet.noise.source import Source
from discreet.remembered import remembered

__all__ = ["MOST", "Gaussians", "gaussians"]

Array = NDArray[Any]

MOST = 1 << 16
"""The largest k."""
_FINE = 8
"""The rate of a proposal is within one part in 2^8 of the best one."""
_MARGIN = 2.0**-32


class Gaussians:
    """Draws of variance V/k, for whole numbers k from 1 to 2^16 that are told with each call.

    Attributes:
        variance: V.
        rate: u; every proposal's rate is a whole multiple of it.
    """

    def __init__(self, variance: Fraction) -> None:
        if not variance > 0:
            raise ParameterError("variance", variance, "must be above 0")
        self.variance = variance
        root = math.isqrt(math.ceil(variance)) + 1  # at least the largest deviation
        self.rate = Fraction(1, root << _FINE)

    def factors(self, units: Array) -> Array:
        """For each k the m of its proposals: about sqrt(k/V)/u, at least 1."""
        wanted = np.sqrt(units / float(self.variance)) / float(self.rate)
        return np.maximum(np.rint(wanted), 1).astype(np.int64)

    def gap(self, unit: int, factor: int, value: int) -> Fraction:
        """G: a proposal of this value is kept with probability exp(-g)."""
        variance = self.variance / unit
        return (abs(value) - factor * self.rate * variance) ** 2 / (2 * variance)

    def many(self, units: Array, source: Source) -> Array:
        """One draw for each k in `units`, as int64."""
        if len(units) and not 1 <= int(units.min()) <= int(units.max()) <= MOST:
            raise ParameterError("units", None, f"must be 1 to {MOST}")
        out = np.zeros(len(units), dtype=np.int64)
        waiting = np.arange(len(units))
        while len(waiting):
            drawn, kept = self._proposed(units[waiting], source)
            out[waiting[kept]] = drawn[kept]
            waiting = waiting[~kept]
        return out

    def _proposed(self, units: Array, source: Source) -> tuple[Array, Array]:
        """A proposal for each, and which of them are kept."""
        factors, fine = self.factors(units), one_sided(self.rate)
        first, second = (fine.many(len(units), source) // factors for _ in range(2))
        drawn = first - second
        return drawn, self.decided(units, factors, drawn, source.array(len(units), 64), source)

    def decided(
        self, units: Array, factors: Array, drawn: Array, words: Array, source: Source
    ) -> Array:
        """Which proposals are kept, for U that begin with these 64 bits."""
        variance = float(self.variance) / units
        shift = factors * float(self.rate) * variance
        root = (np.abs(drawn) - shift) / np.sqrt(2 * variance)
        apart = np.exp(-(root * root)) - words * 2.0**-64
        kept = np.asarray(apart > 0)
        for i in np.flatnonzero(np.abs(apart) <= _MARGIN).tolist():
            gap = self.gap(int(units[i]), int(factors[i]), int(drawn[i]))
            kept[i] = is_kept(gap, int(words[i]), 64, source)
        return kept


@remembered(64)
def gaussians(variance: Fraction) -> Gaussians:
    """Draws of variance V/k; the same object for the same V."""
    return Gaussians(variance)
