"""What is known about a value before any row is seen: its kind, its range, whether it may miss.

Integers from row to release. A number is a whole multiple of a public grid, and the engine holds
the multiple: the salary 51,250.50 on a grid of 0.01 is the integer 5125050. So no float takes part
in any expression, and every expression has the same value on every engine.
Tested by tests/query/test_kinds.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from discreet.exact import shown

__all__ = [
    "WIDEST",
    "Day",
    "Flag",
    "Kind",
    "Number",
    "Text",
    "are_beside",
    "common_grid",
    "said",
    "with_null",
]

WIDEST = 1 << 62
"""No expression leaves these bounds, so that 64-bit arithmetic cannot overflow for any row."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole multiple of `grid`: the engine holds n with low <= n <= high, which means n grid."""

    low: int
    high: int
    grid: Fraction = Fraction(1)
    nullable: bool = False

    @property
    def least(self) -> Fraction:
        """The smallest value it can have."""
        return self.low * self.grid

    @property
    def most(self) -> Fraction:
        """The largest value it can have."""
        return self.high * self.grid

    @property
    def width(self) -> int:
        """How many steps of the grid lie between the ends."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A string, compared byte by byte in UTF-8."""

    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Day:
    """A date between two public dates."""

    low: date
    high: date
    nullable: bool = False


Kind = Number | Flag | Text | Day


def with_null(kind: Kind, *, nullable: bool) -> Kind:
    """The same kind, with or without missing values."""
    return kind if kind.nullable == nullable else replace(kind, nullable=nullable)


def are_beside(first: Kind, second: Kind) -> bool:
    """Whether both are numbers on one grid.

    (Two equal fractions are told sooner by their parts: a fraction asks for types first.)
    """
    if type(first) is not Number or type(second) is not Number:
        return False
    one, other = first.grid, second.grid
    return one.numerator == other.numerator and one.denominator == other.denominator


def common_grid(first: Fraction, second: Fraction) -> Fraction:
    """The coarsest grid that both are whole multiples of."""
    if first == second:
        return first
    return Fraction(
        math.gcd(first.numerator * second.denominator, second.numerator * first.denominator),
        first.denominator * second.denominator,
    )


def said(kind: Kind) -> str:
    """The kind in words, for explanations and refusals.

    >>> said(Number(0, 40_000_000, Fraction(1, 100)))
    'a number from 0 to 400000 on a grid of 0.01'
    """
    match kind:
        case Number():
            grid = "" if kind.grid == 1 else f" on a grid of {shown(kind.grid)}"
            whole = "a whole number" if kind.grid == 1 else "a number"
            text = f"{whole} from {shown(kind.least)} to {shown(kind.most)}{grid}"
        case Flag():
            text = "true or false"
        case Text():
            text = "text"
        case _:
            text = f"a date from {kind.low} to {kind.high}"
    return text + (" or missing" if kind.nullable else "")
