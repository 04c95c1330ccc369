"""Distributions that records are assumed to come from.

An oracle is anything with `draw(size, source)` that returns `size` independent records as an array
or a list. What the sampler promises is true if real records come from the same distribution and
were not used to build the oracle; no test of ours can see whether they do.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Exact, positive, rational
from discreet.noise.source import Source

__all__ = [
    "Empirical",
    "EmpiricalOracleWarning",
    "GaussianMixture",
    "Normal",
    "Oracle",
    "Uniform",
]

Floats = NDArray[np.float64]


class Oracle(Protocol):
    """A supply of independent records from one fixed distribution."""

    def draw(self, size: int, source: Source) -> Any:
        """`size` independent records, as an array (one row each) or a list."""


class EmpiricalOracleWarning(UserWarning):
    """An oracle that resamples records was made; a sensitivity from it has no guarantee."""


@dataclass(frozen=True, slots=True, init=False)
class Normal:
    """The normal distribution.

    >>> round(Normal(170, 1).expected_distance(), 4)
    1.1284
    """

    mean: Fraction
    sd: Fraction

    def __init__(self, mean: Exact, sd: Exact) -> None:
        object.__setattr__(self, "mean", rational(mean, name="mean"))
        object.__setattr__(self, "sd", positive(sd, name="sd"))

    def draw(self, size: int, source: Source) -> Floats:
        """By inversion of `size` uniforms."""
        return float(self.mean) + float(self.sd) * _standard(size, source)

    def expected_distance(self) -> float:
        """E |X - Y| of two independent draws: 2 sd over the root of pi."""
        return _folded_mean(0.0, math.sqrt(2) * float(self.sd))


@dataclass(frozen=True, slots=True, init=False)
class GaussianMixture:
    """Normal distributions, one of which is chosen for each record.

    Args:
        components: pairs (mean, sd).
        weights: relative chances, one for each component; all equal where none are given.

    >>> heights = GaussianMixture([(178, 7), (162, "6.5")])
    >>> round(heights.sd, 2), round(heights.expected_distance(), 3)
    (10.47, 11.994)
    """

    components: tuple[Normal, ...]
    weights: tuple[Fraction, ...]

    def __init__(
        self,
        components: Iterable[tuple[Exact, Exact]],
        weights: Iterable[Exact] | None = None,
    ) -> None:
        parts = tuple(Normal(mean, sd) for mean, sd in components)
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", _shares(weights, len(parts)))

    @property
    def mean(self) -> Fraction:
        """The mean of one record."""
        parts = zip(self.weights, self.components, strict=True)
        return sum((weight * part.mean for weight, part in parts), Fraction(0))

    @property
    def sd(self) -> float:
        """The standard deviation of one record."""
        parts = zip(self.weights, self.components, strict=True)
        square = sum((weight * (part.sd**2 + part.mean**2) for weight, part in parts), Fraction(0))
        return math.sqrt(square - self.mean**2)

    def draw(self, size: int, source: Source) -> Floats:
        """A component for each record, then a normal draw from it."""
        edges = np.cumsum([float(weight) for weight in self.weights])[:-1]
        chosen = np.searchsorted(edges, _uniforms(size, source), side="right")
        means = np.array([float(part.mean) for part in self.components])
        sds = np.array([float(part.sd) for part in self.components])
        drawn: Floats = means[chosen] + sds[chosen] * _standard(size, source)
        return drawn

    def expected_distance(self) -> float:
        """E |X - Y| of two independent draws, by formula.

        X - Y is normal with mean m_i - m_j and variance s_i^2 + s_j^2 with chance w_i w_j.
        """
        parts = list(zip(self.weights, self.components, strict=True))
        return math.fsum(
            float(v * w) * _folded_mean(float(a.mean - b.mean), math.sqrt(a.sd**2 + b.sd**2))
            for v, a in parts
            for w, b in parts
        )


@dataclass(frozen=True, slots=True, init=False)
class Uniform:
    """The uniform distribution on [low, high]."""

    low: Fraction
    high: Fraction

    def __init__(self, low: Exact, high: Exact) -> None:
        object.__setattr__(self, "low", rational(low, name="low"))
        object.__setattr__(self, "high", rational(high, name="high"))
        if not self.low < self.high:
            raise ParameterError("high", high, "must be above low")

    def draw(self, size: int, source: Source) -> Floats:
        """Low plus a share of the width."""
        return float(self.low) + float(self.high - self.low) * _uniforms(size, source)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Empirical:
    """Records drawn again, with replacement, from a list or array of records.

    Fine for public records of the same population. For private records a sensitivity from it has
    no guarantee at all: the noise then depends on the very data that it should hide, and the real
    records are not independent of the oracle. It warns either way, because it cannot tell.
    """

    records: Sequence[Any] | NDArray[Any] = field(repr=False)

    def __init__(self, records: Sequence[Any] | NDArray[Any]) -> None:
        if not len(records) > 0:
            raise ParameterError("records", None, "must be at least one")
        kept = records if isinstance(records, np.ndarray) else tuple(records)
        object.__setattr__(self, "records", kept)
        warnings.warn(
            "a sensitivity sampled from private records has no guarantee: use this oracle with "
            "public records only",
            EmpiricalOracleWarning,
            stacklevel=2,
        )

    def draw(self, size: int, source: Source) -> Any:
        """Each record with the same chance, exactly."""
        places = [source.below(len(self.records)) for _ in range(size)]
        if isinstance(self.records, np.ndarray):
            return self.records[places]
        return [self.records[place] for place in places]


def _uniforms(size: int, source: Source) -> Floats:
    """Uniforms (word + 1/2) / 2^52, exact floats strictly inside (0, 1)."""
    words = source.array(size, 64) >> np.uint64(12)
    inside: Floats = (words.astype(np.float64) + 0.5) / 2.0**52
    return inside


def _standard(size: int, source: Source) -> Floats:
    """Standard normal draws, by inversion."""
    from scipy.special import ndtri  # noqa: PLC0415

    drawn: Floats = ndtri(_uniforms(size, source))
    return drawn


def _folded_mean(mean: float, sd: float) -> float:
    """E |Z| of a normal Z."""
    z = mean / sd
    near = sd * math.sqrt(2 / math.pi) * math.exp(-z * z / 2)
    return near + mean * math.erf(z / math.sqrt(2))


def _shares(weights: Iterable[Exact] | None, parts: int) -> tuple[Fraction, ...]:
    if not parts > 0:
        raise ParameterError("components", None, "must be at least one pair (mean, sd)")
    given = [1] * parts if weights is None else list(weights)
    if len(given) != parts:
        raise ParameterError("weights", None, f"must be {parts}, one for each component")
    shares = [positive(weight, name="weights") for weight in given]
    return tuple(share / sum(shares) for share in shares)
