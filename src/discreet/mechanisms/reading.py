"""Optimal readings of a clamped count: free post-processing of what was released.

A reading maps each possible output of a clamped geometric mechanism to an estimate. It looks at
the release only, never at the data, so it costs no privacy. Two are optimal:

* Bayes. For a prior over the true count and a loss that grows with the distance, output j is read
  as the k that minimises the posterior expected loss. Theorem (Ghosh, Roughgarden and
  Sundararajan 2009): no epsilon-private mechanism whatsoever has a smaller prior-averaged loss.
* Minimax. A randomised reading that minimises the largest expected loss over the true counts.
  Theorem (Gupte and Sundararajan 2010): again no epsilon-private mechanism does better.

Both theorems are for one count of sensitivity 1. What is optimal is the prior-averaged (or the
worst) loss, not the loss at one particular count. A prior must not be taken from the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Exact, rational
from discreet.mechanisms.base import integer
from discreet.noise.law import Law
from discreet.noise.source import Source, system_source

__all__ = ["LossFunction", "Prior", "Reading", "bayes_reading", "minimax_reading"]

Prior = Literal["uniform"] | Sequence[Exact]
LossFunction = Literal["absolute", "squared"] | Callable[[int, int], float]
Matrix = NDArray[np.float64]

LARGEST_BAYES = 5_000
LARGEST_MINIMAX = 200


@dataclass(frozen=True, eq=False)
class Reading:
    """How to read a clamped output: a table from outputs to estimates, random if need be.

    Attributes:
        low, high: the public range.
        table: row = output, column = estimate, entry = the probability of giving that estimate.
        losses: the expected loss at every true count, with the mechanism's noise and this reading.
        expected_loss: their average under the prior (Bayes), or the largest (minimax).
    """

    low: int
    high: int
    table: Matrix
    losses: Matrix
    expected_loss: float
    kind: str

    def __repr__(self) -> str:
        said = f"{self.low}..{self.high}, expected loss {self.expected_loss:.4f}"
        return f"<{self.kind} reading of {said}>"

    def __call__(self, released: Any, *, source: Source | None = None) -> Any:
        """Read a released count, or an array or list of them."""
        if isinstance(released, np.ndarray):
            flat = [self._one(value, source) for value in released.reshape(-1).tolist()]
            return np.array(flat, dtype=np.int64).reshape(released.shape)
        if isinstance(released, list | tuple):
            return [self._one(value, source) for value in released]
        return self._one(released, source)

    def _one(self, released: int, source: Source | None) -> int:
        output = integer(released) - self.low
        if not 0 <= output <= self.high - self.low:
            raise ParameterError("released", released, f"must lie in {self.low}..{self.high}")
        row = self.table[output]
        choices = np.flatnonzero(row > 0)
        if len(choices) == 1:
            return self.low + int(choices[0])
        weights = [Fraction(float(row[k])) for k in choices]
        words = (source or system_source()).bits(64)
        level = Fraction(words, 1 << 64) * sum(weights)
        for k, weight in zip(choices, weights, strict=True):
            level -= weight
            if level < 0:
                return self.low + int(k)
        return self.low + int(choices[-1])

    def expected_loss_at(self, value: int) -> float:
        """The expected loss when the true count is `value`."""
        if not self.low <= integer(value) <= self.high:
            raise ParameterError("value", value, f"must lie in {self.low}..{self.high}")
        return float(self.losses[integer(value) - self.low])


def bayes_reading(
    law: Callable[[int], Law], low: int, high: int, *, prior: Prior, loss: LossFunction
) -> Reading:
    """The deterministic reading with the least prior-averaged loss."""
    size = _size(low, high, LARGEST_BAYES)
    weights, losses = _prior(prior, size), _losses(loss, size, low)
    kernel = _kernel(law, low, high)
    posterior = (kernel * weights[:, None]).T @ losses  # row = output, column = estimate
    table = np.zeros((size, size))
    table[np.arange(size), posterior.argmin(axis=1)] = 1
    at = _losses_at(kernel, table, losses)
    return Reading(low, high, table, at, float(weights @ at), "Bayes")


def minimax_reading(
    law: Callable[[int], Law], low: int, high: int, *, loss: LossFunction
) -> Reading:
    """The (random) reading with the least worst expected loss, by a linear programme."""
    from scipy.optimize import linprog  # noqa: PLC0415

    size = _size(low, high, LARGEST_MINIMAX)
    losses, kernel = _losses(loss, size, low), _kernel(law, low, high)
    cells = size * size
    worst = np.hstack(
        [(kernel[:, :, None] * losses[:, None, :]).reshape(size, cells), -np.ones((size, 1))]
    )
    rows = np.hstack([np.kron(np.eye(size), np.ones((1, size))), np.zeros((size, 1))])
    found = linprog(
        np.append(np.zeros(cells), 1.0),
        A_ub=worst,
        b_ub=np.zeros(size),
        A_eq=rows,
        b_eq=np.ones(size),
        bounds=[(0, None)] * (cells + 1),
        method="highs",
    )
    if not found.success or found.x is None:
        raise ParameterError("bounds", (low, high), "gave a linear programme without a solution")
    table = np.clip(found.x[:cells].reshape(size, size), 0, None)
    table[table < 1e-12] = 0
    table /= table.sum(axis=1, keepdims=True)
    at = _losses_at(kernel, table, losses)
    return Reading(low, high, table, at, float(at.max()), "minimax")


def _size(low: int, high: int, largest: int) -> int:
    if high - low > largest:
        problem = f"must span at most {largest} for this reading (its table is quadratic)"
        raise ParameterError("bounds", (low, high), problem)
    return high - low + 1


def _kernel(law: Callable[[int], Law], low: int, high: int) -> Matrix:
    """Row = true count, column = output, entry = probability.

    The clamped geometric law has one inner mass per distance and one end mass per distance, so
    2 (high - low) certified masses fill the matrix.
    """
    size = high - low + 1
    first, last = law(low), law(high)
    ends = np.array([last.mass(high - d) for d in range(1, size - 1)])
    inner = np.concatenate([[law(low + 1).mass(low + 1) if size > 2 else 0.0], ends])
    to_low = np.array([law(low + d).mass(low) for d in range(size)])
    place = np.arange(size)
    distance = np.abs(place[:, None] - place[None, :])
    kernel = np.append(inner, 0.0)[np.minimum(distance, len(inner))]
    kernel[:, 0], kernel[:, -1] = to_low, to_low[::-1]
    if not np.isclose(kernel[0, -1], first.mass(high)):
        raise ArithmeticError("the law is not a clamped symmetric one")
    return np.asarray(kernel, dtype=np.float64)


def _prior(prior: Prior, size: int) -> Matrix:
    if isinstance(prior, str):
        if prior != "uniform":
            raise ParameterError("prior", prior, "must be 'uniform' or a list of weights")
        return np.full(size, 1 / size)
    weights = [rational(weight, name="prior") for weight in prior]
    if len(weights) != size:
        raise ParameterError("prior", None, f"must have {size} weights, not {len(weights)}")
    if min(weights) < 0 or not sum(weights) > 0:
        raise ParameterError("prior", None, "must not be negative, nor all zero")
    total = sum(weights)
    return np.array([float(weight / total) for weight in weights], dtype=np.float64)


def _losses(loss: LossFunction, size: int, low: int) -> Matrix:
    """Row = true count, column = estimate."""
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)[None, :]).astype(float)
    if isinstance(loss, str):
        if loss not in ("absolute", "squared"):
            raise ParameterError("loss", loss, "must be 'absolute', 'squared' or a function")
        return np.asarray(distance if loss == "absolute" else distance**2, dtype=np.float64)
    found = np.array([[float(loss(low + i, low + k)) for k in range(size)] for i in range(size)])
    if not np.all(np.isfinite(found)):
        raise ParameterError("loss", loss, "must be finite for all counts of the range")
    return found


def _losses_at(kernel: Matrix, table: Matrix, losses: Matrix) -> Matrix:
    result: Matrix = ((kernel @ table) * losses).sum(axis=1)
    return result
