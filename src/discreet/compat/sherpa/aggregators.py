"""Aggregators of clients' updates under the names of Sherpa.ai's framework, with their true cost.

An update is an array, or a list of arrays, the same shapes for every client. Whoever aggregates
sees the updates: this is the central model, with clients as persons.

Theorem. `CDPAggregator` is rho-zCDP with rho = 2/noise_mult^2 for each aggregation, when one
client's update is replaced by any other of finite numbers; the number of clients is public. (What
is not finite is refused, which whoever sees the refusal learns.)
Proof. Each update becomes a vector of integers, in steps of a public grid, whose Euclidean norm is
at most clip: rounding is towards 0, and the norm is checked in integers and the update shrunk until
it holds. So replacing one client moves the sum by at most 2 clip, and it gets discrete Gaussian
noise of standard deviation noise_mult clip: rho = (2 clip)^2/(2 (noise_mult clip)^2)
(`discreet.mechanisms.gaussian`). Dividing by the public number is post-processing.

The original adds floating-point noise of the same size and states no cost. Half of this
sensitivity (clip instead of 2 clip) is right where a client is added or removed, but then the
number of clients is not public, and its mean divides by it.
Tested by tests/compat/sherpa/test_aggregators.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compat.sherpa.mechanisms import grid_of
from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.exact import Exact, positive
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.source import Source
from discreet.privacy.convert import zcdp_epsilon_upper
from discreet.privacy.guarantee import LARGEST_EPSILON, Guarantee, delta_of
from discreet.privacy.loss import Loss, ZCDPLoss

__all__ = ["CDPAggregator", "NormClipAggregator", "WeakDPAggregator"]

_Vector = NDArray[Any]


class NormClipAggregator:
    """The mean of updates, each clipped to a Euclidean norm.

    Clipping alone promises no privacy: there is no `privacy_loss`.
    """

    def __init__(self, clip: Exact) -> None:
        self.clip = positive(clip, name="clip")

    @property
    def privacy_loss(self) -> Loss:
        """None: refused."""
        raise UnsupportedError("clipping without noise promises nothing; use CDPAggregator")

    def aggregate_weights(self, clients_params: Sequence[Any]) -> Any:
        """The mean of the clipped updates, in the shape of one."""
        updates = _updates(clients_params)
        total, grid = self._total(updates)
        return _shaped(total, grid, len(updates), clients_params[0])

    def _total(self, updates: list[_Vector]) -> tuple[_Vector, Fraction]:
        """The sum of the clipped updates in steps of a grid, and the step."""
        grid = grid_of(self.clip / max(updates[0].size, 1))
        total = np.zeros(updates[0].size, dtype=np.int64)
        for one in updates:
            total += _clipped(one, self.clip, grid)
        return total, grid


class CDPAggregator(NormClipAggregator):
    """The mean of clipped updates with noise of standard deviation noise_mult clip/clients.

    Guarantee. One aggregation is rho-zCDP (`guarantee`), rho = 2/noise_mult^2; `epsilon` says what
    that is at a delta. Each further one costs as much again: hand `privacy_loss` to a budget.
    Neighbours. "replace": one client's update is replaced by any other.
    Assumes. Whoever aggregates is trusted with the updates.
    Proof. At the top of this module.
    Tested by tests/compat/sherpa/test_aggregators.py

    >>> CDPAggregator(clip=1, noise_mult=2).guarantee.rho
    Fraction(1, 2)
    """

    def __init__(self, clip: Exact, noise_mult: Exact) -> None:
        super().__init__(clip)
        self.noise_mult = positive(noise_mult, name="noise_mult")
        if self.rho > LARGEST_EPSILON:
            cost = f"one aggregation would be {float(self.rho):,.6g}-zCDP, which protects nobody"
            least = math.sqrt(2 / LARGEST_EPSILON)
            problem = f"must be larger: {cost}. From {least:.2g} on there is a promise"
            raise ParameterError("noise_mult", noise_mult, problem)

    @property
    def rho(self) -> Fraction:
        """Of one aggregation."""
        return 2 / self.noise_mult**2

    @property
    def privacy_loss(self) -> Loss:
        """What one aggregation leaks."""
        return ZCDPLoss(neighbours="replace", rho=self.rho)

    @property
    def guarantee(self) -> Guarantee:
        """What one aggregation promises."""
        return self.privacy_loss.guarantee

    def epsilon(self, delta: Exact) -> Fraction:
        """An epsilon, rounded up, for which one aggregation is (epsilon, delta)-private."""
        return zcdp_epsilon_upper(self.rho, delta_of(delta))

    def aggregate_weights(
        self, clients_params: Sequence[Any], *, source: Source | None = None
    ) -> Any:
        """The noisy mean of the clipped updates, in the shape of one."""
        updates = _updates(clients_params)
        total, grid = self._total(updates)
        mechanism = Gaussian(rho=self.rho, sensitivity=2 * self.clip / grid, neighbours="replace")
        noisy = mechanism.release(total, source=source)
        return _shaped(noisy, grid, len(updates), clients_params[0])


class WeakDPAggregator(CDPAggregator):
    """The same, made for little noise, of which its authors say that it is not really private.

    With their noise_mult of 0.025 one aggregation would be 3,200-zCDP: that is refused, in these
    words. Who only wants to blunt single clients takes `NormClipAggregator`.

    >>> WeakDPAggregator(clip=1, noise_mult="0.1").rho
    Fraction(200, 1)
    """

    def __init__(self, clip: Exact, noise_mult: Exact = "0.025") -> None:
        super().__init__(clip, noise_mult)


def _flat(update: Any) -> _Vector:
    """All numbers of an update as one vector."""
    parts = update if isinstance(update, list) else [update]
    arrays = [np.asarray(part) for part in parts]
    if not arrays or any(one.dtype.kind not in "iuf" for one in arrays):
        raise InputTypeError("an update is an array of numbers or a list of these")
    flat = np.concatenate([one.reshape(-1).astype(np.float64) for one in arrays])
    if not np.isfinite(flat).all():
        raise InputTypeError("an update holds finite numbers; nothing was released")
    return flat


def _shapes(update: Any) -> tuple[bool, list[tuple[int, ...]]]:
    many = isinstance(update, list)
    return many, [np.shape(part) for part in (update if many else [update])]


def _updates(clients: Sequence[Any]) -> list[_Vector]:
    if not clients:
        raise ParameterError("clients_params", None, "must be the update of at least one client")
    if any(_shapes(one) != _shapes(clients[0]) for one in clients):
        raise ParameterError("clients_params", None, "must have the same shapes for every client")
    return [_flat(one) for one in clients]


def _clipped(update: _Vector, clip: Fraction, grid: Fraction) -> _Vector:
    """An update in steps of the grid, with a norm of at most clip; the norm is exact."""
    most = (clip / grid) ** 2
    largest = float(np.abs(update).max(initial=0.0))
    norm = 0.0 if largest == 0 else largest * math.sqrt(float(((update / largest) ** 2).sum()))
    factor = min(1.0, float(clip) / norm) if norm > 0 else 1.0
    while True:
        steps = np.trunc(update * factor / float(grid)).astype(np.int64)
        if sum(step * step for step in steps.tolist()) <= most:
            return steps
        factor *= 1 - 2.0**-40


def _shaped(total: Any, grid: Fraction, clients: int, like: Any) -> Any:
    """The mean in the shape of an update."""
    mean = np.asarray(total, dtype=np.float64) * float(grid) / clients
    many, shapes = _shapes(like)
    found, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        found.append(mean[start : start + size].reshape(shape))
        start += size
    return found if many else found[0]
