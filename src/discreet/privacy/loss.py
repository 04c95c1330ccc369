"""What one release leaks: small frozen values that can be stored for years.

A loss says what was done, not how anybody adds it up. Its dictionary form carries a format number
and the name of its kind; a kind, once published, never changes its meaning, and what a reader does
not know is refused, never guessed. A loss is written in the oldest format that can say it, so that
old ledgers and old readers go on.

>>> loss = GeometricLoss(epsilon="0.1", sensitivity=1)
>>> loss.to_dict()["epsilon"], loss_from_dict(loss.to_dict()) == loss
('1/10', True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, positive, probability, whole
from discreet.privacy.guarantee import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbours,
    PureDP,
    RandomDP,
    neighbours_of,
)

__all__ = [
    "ApproxLoss",
    "GaussianLoss",
    "GeometricLoss",
    "HasLoss",
    "LaplaceLoss",
    "Loss",
    "NormalLoss",
    "PairLoss",
    "PureLoss",
    "RandomLoss",
    "RangeLoss",
    "ZCDPLoss",
    "loss_from_dict",
    "loss_of",
]

_LARGEST = 1 << 62
_EITHER: Neighbours = "add_or_remove"


class _Stored:
    """Writes the fields of a loss as plain JSON values; a rational becomes a string."""

    __slots__ = ()
    kind: ClassVar[str]
    neighbours: Neighbours

    def _put(self, neighbours: object, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    @property
    def format(self) -> int:
        """The oldest format that can say this loss."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain values, fit for JSON."""
        stored: dict[str, Any] = {"format": self.format, "kind": self.kind}
        for item in fields(self):  # type: ignore[arg-type]
            stored[item.name] = _plain(getattr(self, item.name))
        return stored


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


@dataclass(frozen=True, slots=True, init=False)
class _EpsilonLoss(_Stored):
    """What the losses that are told by their epsilon alone have in common."""

    neighbours: Neighbours
    epsilon: Fraction

    def __init__(self, *, epsilon: Exact, neighbours: Neighbours = _EITHER) -> None:
        self._put(neighbours, epsilon=PureDP(epsilon).epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return PureDP(self.epsilon, self.neighbours)


@dataclass(frozen=True, slots=True, init=False)
class PureLoss(_EpsilonLoss):
    """A release of which only a pure bound is known: the loss is at most epsilon, always."""

    kind: ClassVar[str] = "pure"


@dataclass(frozen=True, slots=True, init=False)
class RangeLoss(_EpsilonLoss):
    """A release whose loss lies, for each pair of neighbours, in some interval of length epsilon.

    The exponential mechanism is one (Durfee and Rogers 2019). It is epsilon-private, because the
    interval contains 0, and concentrated four times as well as that alone would tell.
    """

    kind: ClassVar[str] = "range"


@dataclass(frozen=True, slots=True, init=False)
class LaplaceLoss(_EpsilonLoss):
    """Continuous Laplace noise of scale sensitivity/epsilon on one real number.

    For adding up releases that were made elsewhere. (`dp.Laplace` draws geometric noise on a grid
    and leaks a `GeometricLoss`, which is exact.)
    """

    kind: ClassVar[str] = "laplace"


@dataclass(frozen=True, slots=True, init=False)
class GeometricLoss(_Stored):
    """Two-sided geometric noise on integers: at most `changes` of them move, by `sensitivity` each.

    The noise on each number has the ratio exp(-epsilon/(changes sensitivity)), so that all of them
    together are epsilon-private. The law of the loss is known exactly, which tighter accounting
    uses.
    """

    neighbours: Neighbours
    epsilon: Fraction
    sensitivity: int
    changes: int
    kind: ClassVar[str] = "geometric"

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact = 1,
        changes: Exact = 1,
        neighbours: Neighbours = _EITHER,
    ) -> None:
        self._put(
            neighbours,
            epsilon=PureDP(epsilon).epsilon,
            sensitivity=whole(sensitivity, name="sensitivity", at_least=1, at_most=_LARGEST),
            changes=whole(changes, name="changes", at_least=1, at_most=_LARGEST),
        )

    @property
    def format(self) -> int:
        """1 where one number moves, as it was before `changes` could be said; 2 otherwise."""
        return 1 if self.changes == 1 else 2

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain values, fit for JSON."""
        stored = _Stored.to_dict(self)
        if self.format == 1:
            del stored["changes"]
        return stored

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return PureDP(self.epsilon, self.neighbours)


@dataclass(frozen=True, slots=True, init=False)
class _SquaredLoss(_Stored):
    """What the losses of normal noise, discrete or not, have in common."""

    neighbours: Neighbours
    sigma_squared: Fraction
    distance_squared: Fraction

    def __init__(
        self,
        *,
        sigma_squared: Exact,
        distance_squared: Exact = 1,
        neighbours: Neighbours = _EITHER,
    ) -> None:
        self._put(
            neighbours,
            sigma_squared=positive(sigma_squared, name="sigma_squared"),
            distance_squared=positive(distance_squared, name="distance_squared"),
        )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return ZCDP(self.distance_squared / (2 * self.sigma_squared), self.neighbours)


@dataclass(frozen=True, slots=True, init=False)
class GaussianLoss(_SquaredLoss):
    """Discrete Gaussian noise of variance parameter sigma_squared on a vector of integers.

    `distance_squared` bounds the squared Euclidean distance that one person moves the vector.
    """

    kind: ClassVar[str] = "gaussian"


@dataclass(frozen=True, slots=True, init=False)
class NormalLoss(_SquaredLoss):
    """Continuous normal noise of variance sigma_squared on a vector of real numbers.

    For adding up releases that were made elsewhere; `dp.Gaussian` leaks a `GaussianLoss`.
    """

    kind: ClassVar[str] = "normal"


@dataclass(frozen=True, slots=True, init=False)
class ApproxLoss(_Stored):
    """A release of which only an approximate bound is known."""

    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "approximate"

    def __init__(self, *, epsilon: Exact, delta: Exact, neighbours: Neighbours = _EITHER) -> None:
        bound = ApproxDP(epsilon, delta)
        self._put(neighbours, epsilon=bound.epsilon, delta=bound.delta)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return ApproxDP(self.epsilon, self.delta, self.neighbours)


@dataclass(frozen=True, slots=True, init=False)
class ZCDPLoss(_Stored):
    """A release of which only a zero-concentrated bound is known."""

    neighbours: Neighbours
    rho: Fraction
    kind: ClassVar[str] = "concentrated"

    def __init__(self, *, rho: Exact, neighbours: Neighbours = _EITHER) -> None:
        self._put(neighbours, rho=ZCDP(rho).rho)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return ZCDP(self.rho, self.neighbours)


@dataclass(frozen=True, slots=True, init=False)
class PairLoss(_Stored):
    """A release with finitely many outputs, and the two laws that no pair of neighbours exceeds.

    `first` and `second` are the probabilities of the same outputs, in the same order, under the
    worst pair of neighbours, in either direction; each adds up to 1 and none is 0. For mechanisms
    of one's own whose laws can be written down. Loss distributions use all of it where the pair is
    symmetric (exchanging the two only renames outputs), and its epsilon alone where it is not.

    >>> coins = PairLoss(first=["3/4", "1/4"], second=["1/4", "3/4"])
    >>> round(float(coins.guarantee.epsilon), 6)
    1.098612
    """

    neighbours: Neighbours
    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    kind: ClassVar[str] = "pair"

    def __init__(
        self,
        *,
        first: Sequence[Exact],
        second: Sequence[Exact],
        neighbours: Neighbours = _EITHER,
    ) -> None:
        self._put(neighbours, first=_law(first, "first"), second=_law(second, "second"))
        if len(self.first) != len(self.second):
            raise ParameterError("second", len(self.second), "must list as many outputs as first")
        if self.first == self.second:
            raise ParameterError("second", None, "must differ from first: equal laws leak nothing")

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone; its epsilon is rounded up."""
        from discreet.privacy.bounds import pure_upper  # noqa: PLC0415

        return PureDP(pure_upper(self) or 0, self.neighbours)


def _law(masses: object, name: str) -> tuple[Fraction, ...]:
    if isinstance(masses, str) or not isinstance(masses, Sequence) or len(masses) < 2:
        raise ParameterError(name, masses, "must be a list of at least two probabilities")
    law = tuple(probability(mass, name=f"{name}[{i}]") for i, mass in enumerate(masses))
    if sum(law) != 1:
        raise ParameterError(name, str(sum(law)), "must add up to 1")
    return law


@dataclass(frozen=True, slots=True, init=False)
class RandomLoss(_Stored):
    """A release that is private for random data only: noise scaled to a sampled sensitivity."""

    neighbours: Neighbours
    epsilon: Fraction
    gamma: Fraction
    kind: ClassVar[str] = "random"

    def __init__(self, *, epsilon: Exact, gamma: Exact, neighbours: Neighbours = _EITHER) -> None:
        bound = RandomDP(epsilon, gamma)
        self._put(neighbours, epsilon=bound.epsilon, gamma=bound.gamma)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return RandomDP(self.epsilon, self.gamma, self.neighbours)


Loss = (
    PureLoss
    | RangeLoss
    | GeometricLoss
    | LaplaceLoss
    | GaussianLoss
    | NormalLoss
    | ApproxLoss
    | ZCDPLoss
    | PairLoss
    | RandomLoss
)

_KINDS: dict[str, type[Loss]] = {
    maker.kind: maker
    for maker in (
        PureLoss,
        RangeLoss,
        GeometricLoss,
        LaplaceLoss,
        GaussianLoss,
        NormalLoss,
        ApproxLoss,
        ZCDPLoss,
        PairLoss,
        RandomLoss,
    )
}


class HasLoss(Protocol):
    """Anything that says what one release of it leaks: every mechanism does."""

    @property
    def privacy_loss(self) -> Loss:
        """What one release leaks."""


def _what(what: object) -> str:
    return f"the class {what.__name__}" if isinstance(what, type) else type(what).__name__


def loss_of(what: Loss | HasLoss) -> Loss:
    """The loss itself, or the loss of a mechanism; anything else is refused by its type."""
    given: object = what
    found = given if isinstance(given, Loss) else getattr(given, "privacy_loss", None)
    if not isinstance(found, Loss):
        way = (
            f"make one first, as {given.__name__}(epsilon=...)"
            if isinstance(given, type)
            else "such as dp.Geometric(epsilon='0.1'), with which you will release, or "
            "dp.losses.PureLoss(epsilon='0.1') for a mechanism of your own"
        )
        raise InputTypeError(
            f"a loss or a mechanism is needed here, not {_what(what)}; {way}. Nothing was charged"
        )
    return found


def loss_from_dict(stored: Mapping[str, Any]) -> Loss:
    """Read a stored loss back; what this version does not know is refused, never guessed."""
    if not isinstance(stored, Mapping):
        raise ParameterError("stored", type(stored).__name__, "must be a dictionary")
    if type(stored.get("format")) is not int or stored["format"] not in (1, 2):
        raise ParameterError("format", stored.get("format"), "of a stored loss must be 1 or 2")
    kind = stored.get("kind")
    maker = _KINDS.get(kind) if isinstance(kind, str) else None
    if maker is None:
        known = ", ".join(sorted(_KINDS))
        raise ParameterError("kind", kind, f"of a stored loss must be one of {known}")
    values = {name: stored[name] for name in stored if name not in ("format", "kind")}
    wanted = {item.name for item in fields(maker)}
    if maker is GeometricLoss and stored["format"] == 1:
        wanted.discard("changes")
    if set(values) != wanted:
        problem = "of a stored loss are missing" if wanted - set(values) else "are not known here"
        raise ParameterError("fields", sorted(wanted ^ set(values)), problem)
    loss = maker(**values)
    if loss.format != stored["format"]:
        raise ParameterError(
            "format", stored["format"], f"of this stored loss must be {loss.format}"
        )
    return loss
