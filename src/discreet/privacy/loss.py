"""What one release leaks: small frozen values that can be stored for years.

A loss says what was done, not how anybody adds it up. Its dictionary form carries a format number
and the name of its kind; a kind, once published, never changes its meaning.

>>> loss = GeometricLoss(epsilon=Fraction(1, 10), sensitivity=1, neighbours="add_or_remove")
>>> loss_from_dict(loss.to_dict()) == loss
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from discreet.errors import ParameterError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, Neighbours, PureDP, neighbours_of

__all__ = [
    "ApproxLoss",
    "GaussianLoss",
    "GeometricLoss",
    "Loss",
    "PureLoss",
    "loss_from_dict",
]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class _Stored:
    """Turns the fields of a loss into plain JSON values; a rational becomes a string."""

    neighbours: Neighbours
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain values, fit for JSON."""
        stored: dict[str, Any] = {"format": FORMAT, "kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            stored[field.name] = str(value) if isinstance(value, Fraction) else value
        return stored


@dataclass(frozen=True, slots=True)
class PureLoss(_Stored):
    """A release of which only a pure bound is known: the loss is at most epsilon, always."""

    epsilon: Fraction
    kind: ClassVar[str] = "pure"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return PureDP(self.epsilon, self.neighbours)


@dataclass(frozen=True, slots=True)
class GeometricLoss(_Stored):
    """Two-sided geometric noise of rate epsilon/sensitivity on numbers that move by sensitivity.

    The law of the loss is known exactly, which tighter accounting can use: it is the log ratio
    of two two-sided geometric laws that are `sensitivity` apart.
    """

    epsilon: Fraction
    sensitivity: int
    kind: ClassVar[str] = "geometric"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return PureDP(self.epsilon, self.neighbours)


@dataclass(frozen=True, slots=True)
class GaussianLoss(_Stored):
    """Discrete Gaussian noise of variance parameter sigma_squared on a vector of integers.

    `distance_squared` bounds the squared Euclidean distance that one person moves the vector.
    """

    sigma_squared: Fraction
    distance_squared: Fraction
    kind: ClassVar[str] = "gaussian"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return ZCDP(self.distance_squared / (2 * self.sigma_squared), self.neighbours)


@dataclass(frozen=True, slots=True)
class ApproxLoss(_Stored):
    """A release of which only an approximate bound is known."""

    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "approximate"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that this loss amounts to, alone."""
        return ApproxDP(self.epsilon, self.delta, self.neighbours)


Loss = PureLoss | GeometricLoss | GaussianLoss | ApproxLoss

_READERS: dict[str, tuple[type[Loss], dict[str, Callable[[Any], Any]]]] = {
    "pure": (PureLoss, {"epsilon": Fraction}),
    "geometric": (GeometricLoss, {"epsilon": Fraction, "sensitivity": int}),
    "gaussian": (GaussianLoss, {"sigma_squared": Fraction, "distance_squared": Fraction}),
    "approximate": (ApproxLoss, {"epsilon": Fraction, "delta": Fraction}),
}


def loss_from_dict(stored: Mapping[str, Any]) -> Loss:
    """Read a stored loss back; an unknown format or kind is refused, never guessed."""
    if stored.get("format") != FORMAT:
        raise ParameterError("format", stored.get("format"), f"of a stored loss must be {FORMAT}")
    kind = stored.get("kind")
    if kind not in _READERS:
        known = ", ".join(sorted(_READERS))
        raise ParameterError("kind", kind, f"of a stored loss must be one of {known}")
    maker, readers = _READERS[kind]
    missing = sorted(({"neighbours"} | set(readers)) - set(stored))
    if missing:
        raise ParameterError("fields", missing, "of a stored loss are missing")
    values = {name: read(stored[name]) for name, read in readers.items()}
    return maker(neighbours=neighbours_of(stored["neighbours"]), **values)
