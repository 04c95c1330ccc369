"""The one parameter of a mechanism that a calibration turns, and how it is turned.

A *maker* is a mechanism's class, or any function that returns a mechanism, with one parameter left
open: its dial, of which more is less noise. It is "epsilon", or what the attribute `dial` names
("rho" for `dp.Gaussian`). Dials are set to decimals of six digits.
Tested by tests/privacy/test_dial.py
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Generic, TypeVar

from discreet.errors import DiscreetError, ParameterError
from discreet.privacy.guarantee import Neighbours
from discreet.privacy.loss import HasLoss

__all__ = [
    "DIGITS",
    "FINEST",
    "LARGEST",
    "Dial",
    "Made",
    "crossing",
    "dial_of",
    "name_of",
    "round_down",
]

Made = TypeVar("Made", bound=HasLoss)
DIGITS = 6  # of a dial
FINEST, LARGEST = Fraction(1, 10**12), Fraction(1000)  # what a dial may be


@dataclass(frozen=True, slots=True)
class Dial(Generic[Made]):
    """A maker with one parameter left open."""

    maker: Callable[..., Made]
    name: str
    parameters: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        maker: Callable[..., Made],
        parameters: Mapping[str, Any],
        neighbours: Neighbours | None = None,
    ) -> Dial[Made]:
        """The dial of this maker; neighbours are passed on where it takes them."""
        name = dial_of(maker)
        if name in parameters:
            raise ParameterError(name, parameters[name], "is what calibration finds; leave it out")
        given = parameters.get("neighbours", neighbours)
        if neighbours is not None and given != neighbours:
            raise ParameterError(
                "neighbours", given, f"must be {neighbours!r}, as the guarantee says"
            )
        said = {"neighbours": given} if given and _takes(maker, "neighbours") else {}
        return cls(maker, name, {**parameters, **said})

    def at(self, value: Fraction) -> Made:
        """The mechanism with its dial at this value."""
        return self.make(**{self.name: value})

    def tried(self, value: Fraction) -> Made | None:
        """The same, or None where the maker refuses this value; other refusals are let through."""
        try:
            return self.at(value)
        except ParameterError as problem:
            if problem.name in (self.name, "grid", "sigma"):
                return None
            raise

    def make(self, **dials: Fraction) -> Made:
        """The mechanism with these parameters on top of those that are fixed."""
        try:
            return self.maker(**dials, **self.parameters)
        except DiscreetError:
            raise
        except TypeError as problem:
            raise ParameterError(
                "maker", name_of(self.maker), f"does not take these parameters ({problem})"
            ) from None


def name_of(maker: object) -> str:
    """What to call a maker."""
    return str(getattr(maker, "__name__", type(maker).__name__))


def dial_of(maker: object) -> str:
    """The parameter of which more is less noise."""
    if not callable(maker):
        raise ParameterError(
            "maker", maker, "must be a mechanism's class, such as dp.Geometric, or make one"
        )
    inner = getattr(maker, "func", None)  # of a functools.partial
    dial = getattr(maker, "dial", getattr(inner, "dial", "epsilon"))
    if not isinstance(dial, str) or not _takes(maker, dial):
        raise ParameterError(
            "maker",
            name_of(maker),
            f"has no parameter {dial!r}; its attribute `dial` must name the parameter of which "
            "more is less noise",
        )
    return dial


def _takes(maker: Callable[..., Any], name: str) -> bool:
    try:
        known = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # nothing is known: the call will tell
        return True
    return name in known or any(one.kind is one.VAR_KEYWORD for one in known.values())


def _index(value: Fraction, digits: int) -> int:
    """The number of the largest decimal of so many digits up to `value`; that of 1 is 0."""
    down = Context(prec=digits, rounding=ROUND_FLOOR)
    near = down.divide(Decimal(value.numerator), Decimal(value.denominator))
    first: int = 10 ** (digits - 1)
    mantissa: int = int(near.scaleb(digits - 1 - near.adjusted()))
    return near.adjusted() * 9 * first + mantissa - first


def round_down(value: Fraction) -> Fraction:
    """The largest decimal of six digits up to `value`."""
    return _decimal(_index(value, DIGITS), DIGITS)


def _decimal(index: int, digits: int) -> Fraction:
    """The decimal of that number."""
    first: int = 10 ** (digits - 1)
    power, rest = divmod(index, 9 * first)
    return (first + rest) * _ten(power - digits + 1)


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def crossing(
    passed: Callable[[Fraction], bool],
    start: Fraction,
    *,
    digits: int = DIGITS,
    ends: tuple[Fraction, Fraction] = (FINEST, LARGEST),
) -> tuple[Fraction | None, Fraction | None]:
    """Neighbouring decimals, one that has not passed and one that has; None beyond the ends.

    What passes, passes when larger. The search sets out from `start` in growing steps, then halves.
    """
    bottom, top = _index(ends[0], digits), _index(ends[1], digits)
    below, above, step = bottom - 1, top + 1, 10 ** (digits - 1) // 8
    at = min(max(_index(start, digits), bottom), top)
    while above - below > 1:
        below, above = (below, at) if passed(_decimal(at, digits)) else (at, above)
        if below < bottom:
            at = max(above - step, bottom)
        elif above > top:
            at = min(below + step, top)
        else:
            at = (below + above) // 2
        step *= 2
    low = None if below < bottom else _decimal(below, digits)
    return low, None if above > top else _decimal(above, digits)
