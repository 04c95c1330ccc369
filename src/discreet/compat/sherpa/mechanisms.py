"""Mechanisms under the names of Sherpa.ai's framework, each with its true cost.

Numbers are rounded to a public grid, fine against the sensitivity (a thousandth of it, shared by
the numbers of a part), and get integer noise there: `dp.Laplace` and `dp.Gaussian` on steps.
Tested by tests/compat/sherpa/test_mechanisms.py
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.compat.sherpa.access import DPDataAccessDefinition, Query, applied
from discreet.compat.sherpa.sampling import SampledSensitivity
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import positive, probability, rational, sqrt, whole
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.response import RandomizedResponse
from discreet.mechanisms.selection import Exponential
from discreet.noise.source import Source, system_source
from discreet.privacy.convert import largest_rho
from discreet.privacy.guarantee import epsilon_of
from discreet.privacy.loss import ApproxLoss, Loss, PureLoss, RandomLoss

__all__ = [
    "ExponentialMechanism",
    "GaussianMechanism",
    "LaplaceMechanism",
    "RandomizedResponseBinary",
    "RandomizedResponseCoins",
    "grid_of",
]

FINE = 10
"""A grid step is at most 2^-10 of a sensitivity."""
_SLACK = 1 + Fraction(1, 10**12)


class _Coins(DPDataAccessDefinition):
    """Bits through two coins. Each bit is one record; one of them is replaced."""

    def __init__(self, first: Fraction, second: Fraction) -> None:
        """P(1 given 0) and P(1 given 1)."""
        rows = [[1 - first, first], [1 - second, second]]
        self._mechanism = RandomizedResponse(categories=(0, 1), kernel=rows)

    @property
    def privacy_loss(self) -> Loss:
        """The cost of the coins, in both directions."""
        return self._mechanism.privacy_loss

    def apply(self, data: Any, *, source: Source | None = None) -> Any:
        """A randomised bit for each bit; a number for a number."""
        values = np.asarray(data)
        if values.dtype.kind not in "iubf" or not np.isin(values, (0, 1)).all():
            raise ParameterError("data", None, "must be bits, 0 or 1")
        released = self._mechanism.release(values.astype(np.int64), source=source)
        return int(released) if np.ndim(data) == 0 else released


class RandomizedResponseCoins(_Coins):
    """With `prob_head_first` a bit is replaced by one of chance `prob_head_second`.

    Guarantee. `epsilon_delta` is the cost of these coins, whatever they are; ln 3 for fair ones.

    >>> round(RandomizedResponseCoins(0.01, 0.9).epsilon_delta[0], 2)
    6.9
    """

    def __init__(self, prob_head_first: float = 0.5, prob_head_second: float = 0.5) -> None:
        a = _share(prob_head_first, "prob_head_first")
        b = _share(prob_head_second, "prob_head_second")
        super().__init__(a * b, 1 - a + a * b)


class RandomizedResponseBinary(_Coins):
    """A 0 stays with probability f0 and a 1 with f1; `epsilon` must be at least what that costs.

    Guarantee. `epsilon_delta` is the cost of the coins, at most `epsilon`. Both reports count, for
    both answers: the largest of f0/(1-f1), f1/(1-f0) and their reciprocals.
    """

    def __init__(self, f0: float, f1: float, epsilon: float) -> None:
        stay = [probability(f, name=name) for f, name in ((f0, "f0"), (f1, "f1"))]
        allowed = epsilon_of(epsilon)
        super().__init__(1 - stay[0], stay[1])
        true = self._mechanism.epsilon
        if not true <= allowed * _SLACK + Fraction(1, 1 << 50):
            problem = f"must be at least what these coins cost, {float(true):.6g}"
            raise ParameterError("epsilon", epsilon, problem)


def _share(value: object, name: str) -> Fraction:
    number = rational(value, name=name)
    if not 0 <= number <= 1:
        raise ParameterError(name, value, "must lie between 0 and 1")
    return number


class _Additive(DPDataAccessDefinition):
    """Noise on every number of a query's value, scaled to a sensitivity for the whole, or to one
    for each part.
    """

    def __init__(self, sensitivity: Any, query: Query | None) -> None:
        self._query = query
        self._sensitivity = sensitivity
        self._leaves = list(_leaves(sensitivity))
        if not self._leaves:
            raise ParameterError("sensitivity", None, "must be at least one number")
        for leaf in self._leaves:
            positive(_number(leaf), name="sensitivity")

    def apply(self, data: Any, *, source: Source | None = None) -> Any:
        """The query's value with noise: a number, an array, a list or a dictionary like it."""
        supply = system_source() if source is None else source
        return self._noisy(applied(self._query, data), self._sensitivity, supply)

    def _noisy(self, value: Any, sensitivity: Any, source: Source) -> Any:
        whole_of_it = not isinstance(sensitivity, list | dict)
        if isinstance(value, dict | list) and whole_of_it:
            if np.ndim(_bare(sensitivity)):
                raise ParameterError("sensitivity", None, "must be a list or dictionary like data")
            return self._joined(value, sensitivity, source)
        if isinstance(value, dict):
            return {key: self._noisy(value[key], sensitivity[key], source) for key in value}
        if isinstance(value, list):
            pairs = [(part, sensitivity[place]) for place, part in enumerate(value)]
            return [self._noisy(part, one, source) for part, one in pairs]
        if isinstance(value, tuple) or not whole_of_it:
            raise InputTypeError("numbers, arrays, lists and dictionaries of these are released")
        return self._array(value, sensitivity, source)

    def _joined(self, value: Any, sensitivity: Any, source: Source) -> Any:
        """A list or dictionary as one vector, for a sensitivity of the whole."""
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        parts = [np.asarray(value[key]) for key in keys]
        if any(part.dtype.kind not in "iuf" for part in parts):
            raise InputTypeError("numbers and arrays of numbers are released")
        flat = np.concatenate([part.reshape(-1) for part in parts]) if parts else np.zeros(0)
        noisy, start, found = self._part(flat, _number(sensitivity), source), 0, []
        for part in parts:
            piece = noisy[start : start + part.size].reshape(part.shape)
            found.append(float(piece) if part.ndim == 0 else piece)
            start += part.size
        return dict(zip(keys, found, strict=True)) if isinstance(value, dict) else found

    def _array(self, value: Any, sensitivity: Any, source: Source) -> Any:
        values = np.asarray(value)
        if values.dtype.kind not in "iuf":
            raise InputTypeError("numbers and arrays of numbers are released; nothing was")
        scale = np.asarray(_bare(sensitivity), dtype=object)
        if scale.ndim > values.ndim or scale.size > values.size:
            raise ParameterError("sensitivity", None, "must not have more numbers than the data")
        try:
            places = np.broadcast_to(np.arange(scale.size).reshape(scale.shape), values.shape)
        except ValueError:
            raise ParameterError("sensitivity", None, "must fit the shape of the data") from None
        noisy = np.empty(values.shape, dtype=np.float64)
        for place, one in enumerate(scale.reshape(-1).tolist()):
            chosen = places == place
            noisy[chosen] = self._part(values[chosen], _number(one), source)
        return float(noisy) if values.ndim == 0 else noisy

    @abstractmethod
    def _part(self, values: Any, sensitivity: Any, source: Source) -> Any:
        """One vector whose norm one person moves by at most this."""


class LaplaceMechanism(_Additive):
    """Two-sided geometric noise on a fine grid, of scale sensitivity/epsilon.

    Guarantee. One sensitivity, of the whole value in the L1 norm: epsilon. Sensitivities of k parts
    (of a list, a dictionary, the columns of an array): k epsilon, because each part gets noise as
    if it were alone. A sampled sensitivity: random differential privacy, gammas added up.

    >>> LaplaceMechanism(sensitivity=[1, 2], epsilon=0.5).epsilon_delta
    (1.0, 0.0)
    """

    def __init__(self, sensitivity: Any, epsilon: float, query: Query | None = None) -> None:
        super().__init__(sensitivity, query)
        self._epsilon = epsilon_of(epsilon)

    @property
    def privacy_loss(self) -> Loss:
        """Epsilon for each part."""
        cost = self._epsilon * len(self._leaves)
        sampled = [one.estimate for one in self._leaves if isinstance(one, SampledSensitivity)]
        if not sampled:
            return PureLoss(epsilon=cost, neighbours="replace")
        gamma = sum((one.joint_gamma for one in sampled), Fraction(0))
        return RandomLoss(epsilon=cost, gamma=gamma, neighbours="replace")

    def _part(self, values: Any, sensitivity: Any, source: Source) -> Any:
        size = max(values.size, 1)
        exact = positive(sensitivity, name="sensitivity")
        mechanism = Laplace(
            epsilon=self._epsilon, sensitivity=exact, grid=grid_of(exact / size), changes=size,
            neighbours="replace",
        )  # fmt: skip
        return mechanism.release(np.asarray(values), source=source)


class GaussianMechanism(_Additive):
    """Discrete Gaussian noise on a fine grid, the least that (epsilon, delta) takes.

    Guarantee. One sensitivity, of the whole value in the L2 norm: (epsilon, delta), for any epsilon
    and for delta below 1. Sensitivities of k parts: k times that.
    Proof. Rounding d numbers to steps moves their difference by at most sqrt(d) steps in the L2
    norm. One number: the exact delta of `dp.Gaussian`. Several: rho-zCDP for the largest rho that
    gives (epsilon, delta).
    """

    def __init__(
        self, sensitivity: Any, epsilon_delta: tuple[float, float], query: Query | None = None
    ) -> None:
        super().__init__(sensitivity, query)
        if any(isinstance(one, SampledSensitivity) for one in self._leaves):
            problem = "must not be sampled: random differential privacy has no rule for Gaussians"
            raise ParameterError("sensitivity", None, problem)
        given: Any = epsilon_delta
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError("epsilon_delta", epsilon_delta, "must be (epsilon, delta)")
        self._epsilon = epsilon_of(given[0])
        self._delta = probability(given[1], name="delta")

    @property
    def privacy_loss(self) -> Loss:
        """(Epsilon, delta) for each part."""
        parts = len(self._leaves)
        return ApproxLoss(
            epsilon=self._epsilon * parts, delta=self._delta * parts, neighbours="replace"
        )

    def _part(self, values: Any, sensitivity: Any, source: Source) -> Any:
        flat = np.asarray(values).reshape(-1)
        exact = positive(sensitivity, name="sensitivity")
        grid = grid_of(exact / max(flat.size, 1))
        steps = Laplace(epsilon=1, sensitivity=exact, grid=grid)  # it rounds, no more
        on_grid = [steps.on_grid(one) for one in flat.tolist()]
        move = math.ceil(exact / grid)
        if flat.size <= 1:
            mechanism = Gaussian(
                epsilon=self._epsilon, delta=self._delta, sensitivity=move, neighbours="replace"
            )
        else:
            reach = Fraction(move + math.ceil(sqrt(flat.size, 32).upper))
            rho = largest_rho(self._epsilon, self._delta)
            mechanism = Gaussian(rho=rho, sensitivity=reach, neighbours="replace")
        noisy = mechanism.release(on_grid, source=source)
        return np.array([float(one * grid) for one in noisy]).reshape(np.shape(values))


class ExponentialMechanism(DPDataAccessDefinition):
    """Candidates drawn with probability proportional to exp(epsilon u/(2 delta_u)).

    Guarantee. Each of the `size` draws costs epsilon, so that all cost size times epsilon. Scores
    are put on a grid of a thousandth of delta_u; the sensitivity in steps is rounded up.
    Assumes. One record moves every score u(data, r) by at most delta_u, floats included.
    """

    def __init__(
        self, u: Callable[[Any, Any], Any], r: Any, delta_u: float, epsilon: float, size: int = 1
    ) -> None:
        self._u, self._r = u, np.asarray(r)
        self._size = whole(size, name="size", at_least=1)
        self._epsilon = epsilon_of(epsilon)
        moved = positive(delta_u, name="delta_u")
        self._grid = grid_of(moved)
        steps = math.ceil(moved / self._grid)
        self._mechanism = Exponential(
            epsilon=self._epsilon, sensitivity=steps, neighbours="replace"
        )

    @property
    def privacy_loss(self) -> Loss:
        """Epsilon for each draw."""
        return PureLoss(epsilon=self._epsilon * self._size, neighbours="replace")

    def apply(self, data: Any, *, source: Source | None = None) -> Any:
        """One candidate, or an array of `size`."""
        scores = np.asarray(self._u(data, self._r), dtype=np.float64).reshape(-1)
        if len(scores) != len(self._r) or not np.isfinite(scores).all():
            raise InputTypeError("u must give one finite score for each candidate")
        rounds = Laplace(epsilon=1, sensitivity=self._grid, grid=self._grid)
        steps = [rounds.on_grid(score) for score in scores.tolist()]
        chosen = [self._mechanism.release(steps, source=source) for _ in range(self._size)]
        return self._r[chosen[0]] if self._size == 1 else self._r[chosen]


def grid_of(sensitivity: Fraction) -> Fraction:
    """The largest power of two that is at most 2^-FINE of a sensitivity."""
    place = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length() - 1 - FINE
    return Fraction(1 << place) if place >= 0 else Fraction(1, 1 << -place)


def _leaves(sensitivity: Any) -> Iterator[Any]:
    """Every number of a sensitivity: as many parts as get noise as if they were alone."""
    match sensitivity:
        case dict():
            for one in sensitivity.values():
                yield from _leaves(one)
        case list():
            for one in sensitivity:
                yield from _leaves(one)
        case np.ndarray():
            yield from sensitivity.reshape(-1).tolist()
        case _:
            yield sensitivity


def _bare(sensitivity: Any) -> Any:
    """A sensitivity without the mark that it was sampled."""
    if isinstance(sensitivity, np.ndarray):
        flat = [_number(one) for one in sensitivity.reshape(-1).tolist()]
        bare = np.empty(len(flat), dtype=object)
        bare[:] = flat
        return bare.reshape(sensitivity.shape)
    return _number(sensitivity)


def _number(sensitivity: Any) -> Any:
    if isinstance(sensitivity, SampledSensitivity):
        return Fraction(sensitivity.estimate.value.number)
    return sensitivity
