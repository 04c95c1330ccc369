"""What is promised: pure, approximate, zero-concentrated, Renyi and random differential privacy.

A guarantee is a frozen value with exact rational parameters and with the neighbour relation that
it speaks of, because the same noise promises different things under different relations.

Guarantees are ordered where an order exists: `a <= b` says that whatever has the guarantee a also
has the guarantee b. The order is partial, so both `a <= b` and `b <= a` can be False.

>>> PureDP("0.5") <= PureDP(1) <= ApproxDP(1, "1e-6")
True
>>> ApproxDP(1, "1e-6") <= ApproxDP(2, "1e-9") or ApproxDP(2, "1e-9") <= ApproxDP(1, "1e-6")
False
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, positive, probability, rational, shown

__all__ = [
    "LARGEST_EPSILON",
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Neighbours",
    "Promise",
    "PureDP",
    "RandomDP",
    "RenyiDP",
    "neighbours_of",
    "same_neighbours",
]

Neighbours = Literal["add_or_remove", "replace"]
"""Two datasets are neighbours if one person was added or removed, or if one was replaced."""

LARGEST_ORDER = 1 << 20
"""A Renyi order above this says nothing that pure privacy does not say."""

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


def order_of(value: object, *, name: str = "order") -> Fraction:
    """Return a Renyi order: an exact rational above 1 and at most 2^20."""
    number = positive(value, name=name, at_most=LARGEST_ORDER)
    if not number > 1:
        raise ParameterError(name, value, "must be above 1")
    return number


def same_neighbours(first: Neighbours, *others: Neighbours) -> Neighbours:
    """The one neighbour relation that all of them speak of, or a refusal in words."""
    for other in others:
        if other != first:
            raise ParameterError(
                "neighbours",
                other,
                f"must be {first!r} like the others: promises under different relations do not "
                "add up (dp.compose.as_replacement changes the relation)",
            )
    return first


class _Ordered:
    """Comparisons: `a <= b` if whatever has a also has b."""

    __slots__ = ()

    def __le__(self, other: object) -> bool:
        if not isinstance(other, _Ordered):
            return NotImplemented
        return implies(cast("Guarantee", self), cast("Guarantee", other))

    def __ge__(self, other: object) -> bool:
        if not isinstance(other, _Ordered):
            return NotImplemented
        return implies(cast("Guarantee", other), cast("Guarantee", self))

    def __lt__(self, other: object) -> bool:
        return self <= other and not self >= other

    def __gt__(self, other: object) -> bool:
        return self >= other and not self <= other


@dataclass(frozen=True, slots=True, init=False)
class PureDP(_Ordered):
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
class ApproxDP(_Ordered):
    """(Epsilon, delta)-differential privacy.

    Guarantee. For all neighbours x, y and every set S of outputs,
    P[M(x) in S] <= exp(epsilon) P[M(y) in S] + delta.

    What delta means. The mechanism that publishes everybody's data with probability delta, and
    nothing otherwise, has this guarantee with epsilon = 0. So delta must be far below one in the
    number of people; see docs/theory/adding-up.md.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    def __init__(
        self, epsilon: Exact, delta: Exact, neighbours: Neighbours = "add_or_remove"
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_or_zero(epsilon))
        object.__setattr__(self, "delta", delta_of(delta))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        said = f"({shown(self.epsilon)}, {shown(self.delta)})-differential privacy"
        return f"{said} (neighbours: {_SAID[self.neighbours]})"


@dataclass(frozen=True, slots=True, init=False)
class ZCDP(_Ordered):
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


@dataclass(frozen=True, slots=True, init=False)
class RenyiDP(_Ordered):
    """Renyi differential privacy at every listed order.

    Guarantee. For all neighbours x, y and every listed order a, the Renyi divergence of order a of
    M(x) from M(y) is at most the number listed with a  (Mironov 2017). ZCDP is the same promise at
    all orders at once.

    >>> print(RenyiDP({8: "0.1"}))
    Renyi differential privacy, 0.1 at order 8 (neighbours: one person is added or removed)
    """

    curve: tuple[tuple[Fraction, Fraction], ...]
    neighbours: Neighbours

    def __init__(
        self, curve: Mapping[Exact, Exact], neighbours: Neighbours = "add_or_remove"
    ) -> None:
        given: object = curve
        if not isinstance(given, Mapping) or not given:
            raise ParameterError("curve", curve, "must be a dictionary from orders to epsilons")
        pairs = {order_of(order): epsilon_of(curve[order]) for order in curve}
        if len(pairs) != len(curve):
            raise ParameterError("curve", curve, "must not name an order twice")
        object.__setattr__(self, "curve", tuple(sorted(pairs.items())))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        said = ", ".join(f"{shown(value)} at order {shown(order)}" for order, value in self.curve)
        return f"Renyi differential privacy, {said} (neighbours: {_SAID[self.neighbours]})"


@dataclass(frozen=True, slots=True, init=False)
class RandomDP(_Ordered):
    """(Epsilon, gamma)-random differential privacy: much weaker than it looks.

    Guarantee. Draw two neighbouring datasets at random from the distribution that was assumed,
    independently of anything that was drawn when M was made. With probability at least 1 - gamma,
    over these draws and those that made M, jointly, M is epsilon-differentially private for that
    pair  (Hall, Rinaldo and Wasserman 2011). Nothing is promised to a person who is unlike the
    assumed distribution, and with probability gamma nothing is promised at all.
    """

    epsilon: Fraction
    gamma: Fraction
    neighbours: Neighbours

    def __init__(
        self, epsilon: Exact, gamma: Exact, neighbours: Neighbours = "add_or_remove"
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "gamma", probability(gamma, name="gamma"))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    def __str__(self) -> str:
        said = f"({shown(self.epsilon)}, {shown(self.gamma)})-random differential privacy"
        return f"{said} (neighbours: {_SAID[self.neighbours]})"


Promise = PureDP | ApproxDP | ZCDP
"""What one mechanism promises, to everybody and by its own law."""

Guarantee = Promise | RenyiDP | RandomDP
"""What may be promised of many releases, or of data that are drawn at random."""


def implies(first: Guarantee, second: Guarantee) -> bool:
    """Whether everything that has the first guarantee also has the second, by definition alone.

    Conversions (zero-concentrated to approximate and so on) are functions with names; they are not
    made here. Where neither follows from the other by definition there is no order: refused.
    """
    same_neighbours(first.neighbours, second.neighbours)
    match first, second:
        case (PureDP(), PureDP() | ApproxDP() | RandomDP()):
            return first.epsilon <= second.epsilon
        case (ApproxDP(), ApproxDP()):
            return first.epsilon <= second.epsilon and first.delta <= second.delta
        case (RandomDP(), RandomDP()):
            return first.epsilon <= second.epsilon and first.gamma <= second.gamma
        case (ApproxDP() | RandomDP(), PureDP()):
            return False
        case (ZCDP(), ZCDP()):
            return first.rho <= second.rho
        case (ZCDP(), RenyiDP()):
            return all(first.rho * order <= value for order, value in second.curve)
        case (RenyiDP(), ZCDP()):
            return False
        case (RenyiDP(), RenyiDP()):
            return all(
                any(order <= at and value <= limit for at, value in first.curve)
                for order, limit in second.curve
            )
        case _:
            raise UnsupportedError(
                f"there is no order between {type(first).__name__} and {type(second).__name__}; "
                "convert one of them first (dp.compose has the conversions)"
            )


def epsilon_or_zero(value: object, *, name: str = "epsilon") -> Fraction:
    """Return an epsilon that may be 0, as an exact rational at most 1000."""
    number = rational(value, name=name)
    if not 0 <= number <= LARGEST_EPSILON:
        raise ParameterError(name, value, f"must lie between 0 and {LARGEST_EPSILON}")
    return number


def delta_of(value: object, *, name: str = "delta") -> Fraction:
    """Return a delta as an exact rational strictly between 0 and 1."""
    return probability(value, name=name)
