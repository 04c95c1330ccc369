"""What the user types is what is meant: every parameter becomes an exact rational.

A float stands for the shortest decimal that prints as that float, which is what was typed:
0.1 is 1/10, not 3602879701896397/36028797018963968. Integers, fractions, decimals and strings
("0.1", "1e-6", "1/3") are taken as they are.

>>> rational(0.1, name="epsilon"), rational("1/3", name="epsilon")
(Fraction(1, 10), Fraction(1, 3))
>>> rational(float("nan"), name="epsilon")
Traceback (most recent call last):
    ...
discreet.errors.ParameterError: epsilon must be a finite number, got nan; nothing was released
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import Context, Decimal
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.remembered import remembered

__all__ = ["Exact", "positive", "probability", "rational", "shown", "whole", "written"]

type_error = "must be a number (an int, a float, a Fraction, a Decimal or a string such as '1/3')"

Exact = int | float | str | Fraction | Decimal
"""What may be typed where a number is wanted."""

LARGEST_EXPONENT = 400
"""No parameter is above 10^400 or has more than 400 digits: longer ones are slips or attacks."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE]([+-]?\d+))?")
_FRACTION = re.compile(r"[+-]?\d+\s*/\s*\d+")


def rational(value: object, *, name: str) -> Fraction:
    """Return the exact rational that `value` was meant to be, or refuse in words."""
    match value:
        case bool():
            raise ParameterError(name, value, type_error)
        case Fraction():  # its parts may be numpy integers, which would wrap
            plain = Fraction(int(value.numerator), int(value.denominator))
            return _checked_size(plain, value, name)
        case int():
            return _checked_size(Fraction(value), value, name)
        case str():
            return _from_text(value, name)
        case float():
            return _from_float(value, name)
        case Decimal():
            if not value.is_finite():
                raise ParameterError(name, value, "must be a finite number")
            return _from_text(str(value), name)
        case _ if type(value).__module__ == "numpy" and isinstance(value, numbers.Real):
            return _from_numpy(value, name)
        case _:
            raise ParameterError(name, value, type_error)


def positive(value: object, *, name: str, at_most: Fraction | int | None = None) -> Fraction:
    """Return `value` as a rational above 0, and at most `at_most` where that is given."""
    number = rational(value, name=name)
    if not number > 0:
        raise ParameterError(name, value, "must be above 0")
    if at_most is not None and not number <= at_most:
        raise ParameterError(name, value, f"must be at most {at_most}")
    return number


def probability(value: object, *, name: str) -> Fraction:
    """Return `value` as a rational strictly between 0 and 1."""
    number = rational(value, name=name)
    if not 0 < number < 1:
        raise ParameterError(name, value, "must lie strictly between 0 and 1")
    return number


def whole(
    value: object, *, name: str, at_least: int | None = None, at_most: int | None = None
) -> int:
    """Return `value` as an integer within the stated limits; 3.0 and "3" are whole, 3.5 is not."""
    number = rational(value, name=name)
    if number.denominator != 1:
        raise ParameterError(name, value, "must be a whole number")
    if at_least is not None and not number >= at_least:
        raise ParameterError(name, value, f"must be at least {at_least}")
    if at_most is not None and not number <= at_most:
        raise ParameterError(name, value, f"must be at most {at_most}")
    return int(number)


@remembered(1024)
def _from_float(value: float, name: str) -> Fraction:
    if not math.isfinite(value):
        raise ParameterError(name, value, "must be a finite number")
    return Fraction(repr(float(value)))


@remembered(1024)
def _from_text(text: str, name: str) -> Fraction:
    cleaned = text.strip()
    decimal = _DECIMAL.fullmatch(cleaned)
    if len(cleaned) > 1000:  # a fraction of 1,600 bits above and below has 965 characters
        raise ParameterError(name, text, f"must have at most {LARGEST_EXPONENT} digits")
    if decimal is not None:
        exponent = decimal.group(4) or "0"
        if len(exponent) > 6 or abs(int(exponent)) > LARGEST_EXPONENT:
            raise ParameterError(name, text, f"must lie within 10^±{LARGEST_EXPONENT}")
        return _checked_size(Fraction(cleaned), text, name)
    if _FRACTION.fullmatch(cleaned) is None:
        problem = "must be a finite number" if _looks_infinite(cleaned) else type_error
        raise ParameterError(name, text, problem)
    numerator, denominator = cleaned.split("/")
    if int(denominator) == 0:
        raise ParameterError(name, text, "must not have a denominator of 0")
    return _checked_size(Fraction(int(numerator), int(denominator)), text, name)


def _looks_infinite(text: str) -> bool:
    return text.lstrip("+-").lower() in {"nan", "inf", "infinity"}


def _from_numpy(value: numbers.Real, name: str) -> Fraction:
    """A numpy scalar: an integer is itself, a float its own shortest decimal (float32 too)."""
    if isinstance(value, numbers.Integral):
        return rational(int(value), name=name)
    if not math.isfinite(value):
        raise ParameterError(name, float(value), "must be a finite number")
    return _from_text(str(value), name)


def _checked_size(number: Fraction, value: object, name: str) -> Fraction:
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if bits > 4 * LARGEST_EXPONENT:
        shown = f"{bits} bits" if isinstance(value, int | Fraction) else value
        raise ParameterError(name, shown, f"must lie within 10^±{LARGEST_EXPONENT}")
    return number


def written(number: Fraction) -> str:
    """A rational as source text that reads back as the same number.

    >>> written(Fraction(3)), written(Fraction(1, 10)), written(Fraction(1, 3))
    ('3', "'0.1'", "'1/3'")
    """
    if number.denominator == 1:
        return str(number)
    decimal, fraction = f"{_near(number):.12g}", str(number)
    exact = Fraction(decimal) == number and len(decimal) <= len(fraction)
    return repr(decimal if exact else fraction)


_SHORT = 8
"""A decimal of so many characters is easier to read than a shorter fraction: 0.25, not 1/4."""


@remembered(1024)
def shown(number: Fraction) -> str:
    """A rational as a person would write it: exactly where that is short, else with 'about'.

    >>> shown(Fraction(1, 4)), shown(Fraction(1, 3)), shown(Fraction(1, 10**8))
    ('0.25', '1/3', '1e-08')
    """
    if number.denominator != 1:
        decimal = f"{_near(number):.12g}"
        if len(decimal) <= _SHORT and Fraction(decimal) == number:
            return decimal
    exact = written(number).strip("'")
    return exact if len(exact) <= 20 else f"about {_near(number):.6g}"


def _near(number: Fraction) -> float | Decimal:
    """The nearest float, or a decimal where floats end."""
    try:
        near = float(number)
    except OverflowError:
        near = 0.0
    if near or not number:
        return near
    return Context(prec=20).divide(Decimal(number.numerator), Decimal(number.denominator))
