"""What is promised: pure, approximate and zero-concentrated differential privacy.

A guarantee is a frozen value with exact rational parameters and with the neighbour relation that
it speaks of, because the same noise promises different things under different relations.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import Exact, positive, rational, shown

__all__ = [
    "LARGEST_EPSILON",
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Neighbours",
    "PureDP",
    "neighbours_of",
]

Neighbours = Literal["add_or_remove", "replace"]
"""Two datasets are neighbours if one person was added or removed, or if one was replaced."""

LARGEST_EPSILON = 1000
"""An epsilon above this promises nothing (a factor e^1000) and is taken for a slip."""

_RELATIONS: dict[str, Neighbours] = {"add_or_remove": "add_or_remove", "replace": "replace"}
_SAID: dict[str, str] = {
    "add_or_remove": "one person is added or removed",
    "replace": "one person is replaced by another",
}


def neighbours_of(value: object) -> Neighbours:
    """Return the neighbour relation that `value` names, or refuse in words."""
    if not isinstance(value, str) or value not in _RELATIONS:
        raise ParameterError("neighbours", value, "must be 'add_or_remove' or 'replace'")
    return _RELATIONS[value]


def epsilon_of(value: object, *, name: str = "epsilon") -> Fraction:
    """Return an epsilon as an exact rational above 0 and at most 1000."""
    return positive(value, name=name, at_most=LARGEST_EPSILON)


@dataclass(frozen=True, slots=True, init=False)
class PureDP:
    """Epsilon-differential privacy.

    Guarantee. For all neighbours x, y and every set S of outputs,
    P[M(x) in S] <= exp(epsilon) P[M(y) in S]  (Dwork, McSherry, Nissim and Smith 2006).

    >>> print(PureDP(0.1))
    0.1-differential privacy (neighbours: one person is added or removed)
    """

    epsilon: Fraction
    neighbours: Neighbours

    def __init__(self, epsilon: Exact, neighbours: Neighbours = "add_or_remove") -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        return f"{shown(self.epsilon)}-differential privacy (neighbours: {_SAID[self.neighbours]})"


@dataclass(frozen=True, slots=True, init=False)
class ApproxDP:
    """(Epsilon, delta)-differential privacy.

    Guarantee. For all neighbours x, y and every set S of outputs,
    P[M(x) in S] <= exp(epsilon) P[M(y) in S] + delta.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __init__(
        self, epsilon: Exact, delta: Exact, neighbours: Neighbours = "add_or_remove"
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "delta", delta_of(delta))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        said = f"({shown(self.epsilon)}, {shown(self.delta)})-differential privacy"
        return f"{said} (neighbours: {_SAID[self.neighbours]})"


@dataclass(frozen=True, slots=True, init=False)
class ZCDP:
    """Rho-zero-concentrated differential privacy.

    Guarantee. For all neighbours x, y and every order a > 1, the Renyi divergence of order a of
    M(x) from M(y) is at most rho a  (Bun and Steinke 2016).
    """

    rho: Fraction
    neighbours: Neighbours

    def __init__(self, rho: Exact, neighbours: Neighbours = "add_or_remove") -> None:
        object.__setattr__(self, "rho", positive(rho, name="rho", at_most=LARGEST_EPSILON))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        said = f"{shown(self.rho)}-zero-concentrated differential privacy"
        return f"{said} (neighbours: {_SAID[self.neighbours]})"


Guarantee = PureDP | ApproxDP | ZCDP


def delta_of(value: object, *, name: str = "delta") -> Fraction:
    """Return a delta as an exact rational strictly between 0 and 1."""
    number = rational(value, name=name)
    if not 0 < number < 1:
        raise ParameterError(name, value, "must lie strictly between 0 and 1")
    return number
