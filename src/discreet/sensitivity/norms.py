"""How far two answers are apart: one number for the whole answer, whatever its shape.

An answer is a number, an array, a list or tuple, or a dictionary, nested to any depth. Its numbers
are laid end to end and the norm is that of the whole difference. (Taking the norm of each part by
itself gives several small numbers, and noise scaled to them costs epsilon once for each part.)

Every finite number is a rational, floats included, so all differences are computed exactly. The
result is exact where all numbers are (integers and fractions), except for roots that are not
rational. It is a float where some number is a float; then it was rounded once, upwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, cast

import numpy as np

from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.exact import sqrt

__all__ = [
    "L1",
    "L2",
    "LInf",
    "Norm",
    "NormName",
    "Number",
    "as_norm",
    "is_exact",
    "real",
    "root_up",
    "size_of",
]

Number = int | Fraction | float
NormName = Literal["L1", "L2", "Linf"]


class Norm(Protocol):
    """A distance between two answers, with a name."""

    @property
    def name(self) -> str:
        """What it is called in a report."""

    def between(self, first: Any, second: Any) -> Number:
        """The norm of the whole difference: finite and at least 0."""


@dataclass(frozen=True, slots=True)
class L1:
    """The sum of all moves: what Laplace and geometric noise pay for.

    Guarantee. Never below the true norm of the difference; equal to it where all numbers are exact.
    Proof. Differences and their sum are rationals; a float result is rounded up once.
    Tested by tests/sensitivity/test_norms.py

    >>> L1().between({"a": 3, "b": [1, 2]}, {"a": 1, "b": [1, 5]})
    5
    """

    name: ClassVar[NormName] = "L1"

    def between(self, first: Any, second: Any) -> Number:
        """The sum of |difference| over all numbers."""
        moves, scale, exact = _moves(first, second)
        return _result(Fraction(sum(moves), scale), exact=exact)


@dataclass(frozen=True, slots=True)
class L2:
    """The root of the sum of squares: what Gaussian noise pays for.

    Guarantee. Never below the true norm of the difference; exact where the numbers are and the
    root is rational, otherwise a float rounded up.
    Proof. The sum of squares is a rational; its root is enclosed to 64 bits and rounded up.
    Tested by tests/sensitivity/test_norms.py

    >>> L2().between([3, 0], [0, 4]), L2().between([1, 0], [0, 1])
    (5, 1.4142135623730951)
    """

    name: ClassVar[NormName] = "L2"

    def between(self, first: Any, second: Any) -> Number:
        """The root of the sum of squared differences over all numbers."""
        moves, scale, exact = _moves(first, second)
        root = root_up(Fraction(sum(move * move for move in moves), scale * scale))
        return root if exact else _up(root)


@dataclass(frozen=True, slots=True)
class LInf:
    """The largest move of any one number: what selection pays for.

    Guarantee. Never below the true norm of the difference; equal to it where all numbers are exact.
    Proof. Differences are rationals; a float result is rounded up once.
    Tested by tests/sensitivity/test_norms.py

    >>> LInf().between([3, 0], [0, 4])
    4
    """

    name: ClassVar[NormName] = "Linf"

    def between(self, first: Any, second: Any) -> Number:
        """The largest |difference| of any number; 0 where there is none."""
        moves, scale, exact = _moves(first, second)
        return _result(Fraction(max(moves, default=0), scale), exact=exact)


def as_norm(value: object) -> Norm:
    """The norm itself, or the one that a word names: "L1", "L2" or "Linf"."""
    known: dict[str, Norm] = {"l1": L1(), "l2": L2(), "linf": LInf()}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    if callable(getattr(value, "between", None)) and isinstance(getattr(value, "name", 0), str):
        return cast("Norm", value)
    raise ParameterError("norm", value, "must be 'L1', 'L2', 'Linf' or a norm such as L1()")


def root_up(square: int | Fraction) -> Number:
    """The root of a rational: itself where it is rational, else a float rounded up.

    >>> root_up(Fraction(9, 4)), root_up(2)
    (Fraction(3, 2), 1.4142135623730951)
    """
    root = sqrt(square, 64)
    if root.lower != root.upper:
        return _up(root.upper)
    return _result(root.upper, exact=True)


def is_exact(answer: Any) -> bool:
    """Whether every number of an answer is an integer or a fraction."""
    return not any(isinstance(one, float) for one, _ in _pairs(answer, answer))


def size_of(answer: Any) -> int:
    """How many numbers an answer has."""
    return sum(1 for _ in _pairs(answer, answer))


def _moves(first: Any, second: Any) -> tuple[list[int], int, bool]:
    """All |differences| as integers over one denominator, and whether all numbers were exact."""
    pairs = list(_pairs(first, second))
    exact = not any(isinstance(one, float) or isinstance(two, float) for one, two in pairs)
    ratios = [(one.as_integer_ratio(), two.as_integer_ratio()) for one, two in pairs]
    scale = math.lcm(*(below for pair in ratios for _, below in pair))
    moves = [abs(a * (scale // b) - c * (scale // d)) for (a, b), (c, d) in ratios]
    return moves, scale, exact


def _result(value: Fraction, *, exact: bool) -> Number:
    if not exact:
        return _up(value)
    return int(value) if value.denominator == 1 else value


def _up(value: Number) -> float:
    """The smallest float that is not below a rational."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    near = near if near >= value else math.nextafter(near, math.inf)
    if near == math.inf:
        raise RangeError("two answers are too far apart for a float; nothing was released")
    return near


def _pairs(first: Any, second: Any) -> Iterator[tuple[Number, Number]]:
    """The numbers of two answers side by side; InputTypeError where they are not of one shape."""
    match first, second:
        case dict(), dict():
            _same(first.keys() == second.keys(), "two dictionaries with different keys")
            for key in first:
                yield from _pairs(first[key], second[key])
        case (list() | tuple(), list() | tuple()):
            _same(len(first) == len(second), "two lists of different lengths")
            for one, two in zip(first, second, strict=True):
                yield from _pairs(one, two)
        case np.ndarray(), np.ndarray():
            _same(first.shape == second.shape, "two arrays of different shapes")
            yield from zip(_flat(first), _flat(second), strict=True)
        case _:
            plain = not any(isinstance(one, _CONTAINERS) for one in (first, second))
            _same(plain, "two answers of different kinds")
            yield real(first), real(second)


_CONTAINERS = (dict, list, tuple, np.ndarray)
_NOT_FINITE = "an answer is not finite; nothing was released"


def _same(same: bool, problem: str) -> None:  # noqa: FBT001
    if not same:
        raise InputTypeError(f"{problem} have no difference; nothing was released")


def _flat(values: Any) -> list[Number]:
    """The numbers of an array, refused by its type where it has others."""
    kind, width = values.dtype.kind, values.dtype.itemsize
    if isinstance(values, np.ma.MaskedArray) or kind not in "iufO" or (kind == "f" and width > 8):
        raise InputTypeError(
            "an answer must be an array of integers, fractions or floats of at most 64 bits; "
            "nothing was released"
        )
    flat: list[Number] = values.reshape(-1).tolist()
    if kind == "O":
        return [real(value) for value in flat]
    if not np.isfinite(values).all():
        raise InputTypeError(_NOT_FINITE)
    return flat


def real(value: object) -> Number:
    """A finite real number as a plain one; anything else is refused without being quoted."""
    match value:
        case bool() | np.bool_() | np.timedelta64():
            pass
        case int() | np.integer():
            return int(value)
        case Fraction():
            return Fraction(int(value.numerator), int(value.denominator))
        case float() | np.floating() if not isinstance(value, np.longdouble):
            if not math.isfinite(value):
                raise InputTypeError(_NOT_FINITE)
            return float(value)
        case _:
            pass
    raise InputTypeError(
        f"an answer must be made of integers, fractions and floats, not of "
        f"{type(value).__qualname__}; nothing was released"
    )
