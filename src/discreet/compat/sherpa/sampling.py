"""Distributions, norms and the sampler of sensitivities, under the names of Sherpa.ai's framework.

The sampler takes the fewest pairs that exchangeability allows (19 for gamma 0.05, where the bound
of Rubinstein and Alda takes 1,305); what it returns is no number but a `SampledSensitivity`.
Tested by tests/compat/sherpa/test_sampling.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial, total_ordering
from typing import Any, ClassVar

import numpy as np

from discreet.compat.sherpa.access import Query
from discreet.errors import ParameterError
from discreet.noise.source import Source, system_source
from discreet.sensitivity import oracle as oracles
from discreet.sensitivity.norms import L1, L2, NormName, Number
from discreet.sensitivity.sampler import SensitivityEstimate, sample_sensitivity

__all__ = [
    "GaussianMixture",
    "L1SensitivityNorm",
    "L2SensitivityNorm",
    "NormalDistribution",
    "ProbabilityDistribution",
    "SampledSensitivity",
    "SensitivityNorm",
    "SensitivitySampler",
]


class ProbabilityDistribution(ABC):
    """What records are assumed to come from."""

    @abstractmethod
    def sample(self, size: int) -> Any:
        """This many independent records."""


class NormalDistribution(ProbabilityDistribution):
    """The normal distribution."""

    def __init__(self, mean: float, std: float) -> None:
        self._law = oracles.Normal(mean, std)

    def sample(self, size: int) -> Any:
        """This many independent numbers."""
        return self._law.draw(size, system_source())


class GaussianMixture(ProbabilityDistribution):
    """Normal distributions, rows (mean, std) of `params`, chosen with `weights`."""

    def __init__(self, params: Any, weights: Any) -> None:
        rows = [(float(mean), float(sd)) for mean, sd in np.asarray(params).tolist()]
        self._law = oracles.GaussianMixture(rows, [float(weight) for weight in weights])

    def sample(self, size: int) -> Any:
        """This many independent numbers."""
        return self._law.draw(size, system_source())


class SensitivityNorm(ABC):
    """A distance of two answers: of lists one for each element, along an axis one for each place.

    Args:
        axis: None for one number of an array, or the axis that is summed over.
    """

    def __init__(self, axis: int | None = None) -> None:
        self._axis = axis

    def compute(self, x_1: Any, x_2: Any) -> Any:
        """The distance, rounded up where it is no exact number."""
        if isinstance(x_1, list):
            return [self.compute(a, b) for a, b in zip(x_1, x_2, strict=True)]
        first, second = np.asarray(x_1), np.asarray(x_2)
        if self._axis is None or not first.ndim:
            return self._between(first.reshape(-1), second.reshape(-1))
        moved = [np.moveaxis(one, self._axis, -1) for one in (first, second)]
        shape = moved[0].shape[:-1]
        return np.array([self._between(moved[0][i], moved[1][i]) for i in np.ndindex(shape)],
                        dtype=object).reshape(shape)  # fmt: skip

    @abstractmethod
    def _between(self, x_1: Any, x_2: Any) -> Number: ...


class L1SensitivityNorm(SensitivityNorm):
    """The sum of all moves."""

    name: ClassVar[NormName] = "L1"

    def _between(self, x_1: Any, x_2: Any) -> Number:
        return L1().between(x_1, x_2)


class L2SensitivityNorm(SensitivityNorm):
    """The root of the sum of squares."""

    name: ClassVar[NormName] = "L2"

    def _between(self, x_1: Any, x_2: Any) -> Number:
        return L2().between(x_1, x_2)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class SampledSensitivity:
    """A sampled sensitivity: it prints, rounds and compares, and mechanisms take it for what it is.

    Whoever writes `float(...)` around it leaves the guarantee behind.
    """

    estimate: SensitivityEstimate

    def __float__(self) -> float:
        return float(self.estimate.value)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __str__(self) -> str:
        return str(float(self))

    def __format__(self, form: str) -> str:
        return format(float(self), form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampledSensitivity | float | int) and float(self) == float(other)

    def __lt__(self, other: Any) -> bool:
        return float(self) < float(other)

    def __hash__(self) -> int:
        return hash(float(self))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A distribution as the sampler wants it."""

    distribution: Any

    def draw(self, size: int, source: Source) -> Any:  # noqa: ARG002 - it has its own randomness
        return self.distribution.sample(size)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One number of the distances that a norm computes."""

    norm: Any
    path: tuple[Any, ...]
    name: str

    def between(self, first: Any, second: Any) -> Number:
        found = self.norm.compute(first, second)
        for step in self.path:
            found = found[step]
        number: Number = found
        return number


class SensitivitySampler:
    """Estimates how far apart the answers to neighbouring random datasets are."""

    def sample_sensitivity(  # noqa: PLR0913 - the names of the original
        self,
        query: Query,
        sensitivity_norm: SensitivityNorm,
        oracle: ProbabilityDistribution,
        n: int | None = None,
        m: int | None = None,
        gamma: float | None = None,
        *,
        n_data_size: int | None = None,
        m_sample_size: int | None = None,
    ) -> tuple[Any, Any]:
        """The sampled sensitivity, and the mean of the sampled distances.

        Both have the form that the norm gives: numbers, lists of them, or arrays. Say gamma, or m
        (how many pairs), or both; n is the number of records.
        """
        size = n if n is not None else n_data_size
        if size is None:
            raise ParameterError("n", None, "must be said: how many records there are")
        draws = m if m is not None else m_sample_size
        answer = query.get(oracle.sample(size))
        form = sensitivity_norm.compute(answer, answer)
        name = getattr(sensitivity_norm, "name", "other")

        def one(path: tuple[Any, ...]) -> SensitivityEstimate:
            norm = _Leaf(sensitivity_norm, path, name)
            return sample_sensitivity(query.get, norm, _Drawn(oracle), size, gamma=gamma, m=draws)

        found = _mapped(form, (), one)
        return _mapped(found, (), partial(_at, found, SampledSensitivity)), _mapped(
            found, (), partial(_at, found, _mean)
        )


def _mean(estimate: SensitivityEstimate) -> float:
    return estimate.mean


def _at(found: Any, make: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        found = found[step]
    return make(found)


def _mapped(form: Any, path: tuple[Any, ...], make: Any) -> Any:
    """The same form with other leaves."""
    if isinstance(form, list):
        return [_mapped(one, (*path, place), make) for place, one in enumerate(form)]
    if isinstance(form, np.ndarray) and form.ndim:
        made = np.empty(form.shape, dtype=object)
        for place in np.ndindex(form.shape):
            made[place] = make((*path, place))
        return made
    return make(path)
