"""Expressions of an analyst's question, as frozen values that cannot fail for any row.

The nodes are plain: they say what is computed on the integers that the engine holds (`kinds`), and
every node knows the kind of its result. `discreet.query.total` builds them and refuses what could
fail; nothing else should. Missing values follow SQL's three-valued logic throughout.
Tested by tests/query/test_expr.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Literal as Words
from typing import get_args

from discreet.query.kinds import Day, Flag, Kind, Number

__all__ = [
    "Absolute",
    "Case",
    "Coalesce",
    "Column",
    "Compare",
    "DatePart",
    "DateTrunc",
    "DaysBetween",
    "Expr",
    "Extreme",
    "FlagNumber",
    "FloorDivide",
    "IsNull",
    "Like",
    "Linear",
    "Literal",
    "Logarithm",
    "Logic",
    "Lookup",
    "Member",
    "Not",
    "Product",
    "Quotient",
    "Remainder",
    "children",
    "walk",
]

Comparison = Words["=", "<>", "<", "<=", ">", ">="]
Part = Words["year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"]
Unit = Words["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column, cleaned as `discreet.query.schema` says."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: the multiple of the grid for a number; None is a missing value of its kind."""

    value: int | bool | str | date | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + sum of factor * term, on one grid, where terms may have had grids of their own."""

    terms: tuple[tuple[int, Expr], ...]
    constant: int
    kind: Number


@dataclass(frozen=True, slots=True)
class Product:
    """left * right."""

    left: Expr
    right: Expr
    kind: Number


@dataclass(frozen=True, slots=True)
class Quotient:
    """floor(left * factor / right); missing where right is 0."""

    left: Expr
    right: Expr
    factor: int
    kind: Number


@dataclass(frozen=True, slots=True)
class FloorDivide:
    """floor(operand / divisor), divisor >= 1."""

    operand: Expr
    divisor: int
    kind: Number


@dataclass(frozen=True, slots=True)
class Remainder:
    """The remainder of operand by divisor >= 1, with the sign of the operand, as in SQL."""

    operand: Expr
    divisor: int
    kind: Number


@dataclass(frozen=True, slots=True)
class Absolute:
    """The operand without its sign."""

    operand: Expr
    kind: Number


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of the operands that are not missing; missing if all are."""

    which: Words["least", "greatest"]
    operands: tuple[Expr, ...]
    kind: Number


@dataclass(frozen=True, slots=True)
class Logarithm:
    """The natural logarithm by a table of chords: see `discreet.query.logarithm`.

    For `knots[i] <= n < knots[i + 1]`: levels[i] + floor((n - knots[i]) * (levels[i + 1] -
    levels[i]) / (knots[i + 1] - knots[i])). The last knot is the largest n there is.
    """

    operand: Expr
    knots: tuple[int, ...]
    levels: tuple[int, ...]
    kind: Number


@dataclass(frozen=True, slots=True)
class FlagNumber:
    """1 for true, 0 for false."""

    operand: Expr
    kind: Number


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two numbers on one grid, two texts, two dates or two flags."""

    op: Comparison
    left: Expr
    right: Expr
    kind: Flag


@dataclass(frozen=True, slots=True)
class Logic:
    """All of the operands, or any of them."""

    op: Words["and", "or"]
    operands: tuple[Expr, ...]
    kind: Flag


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    operand: Expr
    kind: Flag


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether the operand is missing; never missing itself."""

    operand: Expr
    kind: Flag


@dataclass(frozen=True, slots=True)
class Member:
    """Whether the operand is one of these constants, none of which is missing."""

    operand: Expr
    values: tuple[Literal, ...]
    kind: Flag


@dataclass(frozen=True, slots=True)
class Like:
    """SQL's LIKE with % and _ and no escapes."""

    operand: Expr
    pattern: str
    kind: Flag


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first condition that is true, else `otherwise`."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first operand that is not missing."""

    operands: tuple[Expr, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class DateTrunc:
    """The first day of the year, quarter, month or (from Monday on) week."""

    unit: Unit
    operand: Expr
    kind: Day


@dataclass(frozen=True, slots=True)
class DatePart:
    """A number of the calendar; dayofweek is 0 for Sunday to 6, week is the ISO week."""

    part: Part
    operand: Expr
    kind: Number


@dataclass(frozen=True, slots=True)
class DaysBetween:
    """left - right, in days."""

    left: Expr
    right: Expr
    kind: Number


@dataclass(frozen=True, slots=True)
class Lookup:
    """A column of a public lookup table, found by its key; missing where there is none."""

    table: str
    column: str
    key: Expr
    kind: Kind


Expr = (
    Column
    | Literal
    | Linear
    | Product
    | Quotient
    | FloorDivide
    | Remainder
    | Absolute
    | Extreme
    | Logarithm
    | FlagNumber
    | Compare
    | Logic
    | Not
    | IsNull
    | Member
    | Like
    | Case
    | Coalesce
    | DateTrunc
    | DatePart
    | DaysBetween
    | Lookup
)


def _parts(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the expressions that one of this kind has, and those of tuples of them.

    TypeError where a field may hold expressions in another way: they would be overlooked.
    """
    named = {field.name: str(field.type) for field in fields(kind)}
    single = tuple(name for name, said in named.items() if said == "Expr")
    tuples = ("tuple[Expr, ...]", "tuple[Literal, ...]")
    several = tuple(name for name, said in named.items() if said in tuples)
    for name, said in named.items():
        if name not in (*single, *several) and ("Expr" in said or "Literal" in said):
            raise TypeError(f"{kind.__name__}.{name} is {said}, and may hold expressions")
    return single, several


_PARTS = {kind: _parts(kind) for kind in get_args(Expr) if kind not in (Linear, Case)}


def children(node: Expr) -> Sequence[Expr]:
    """The expressions that this one is made of, left to right."""
    kind = type(node)
    if kind is Column or kind is Literal:
        return ()
    if isinstance(node, Linear):
        return [term for _, term in node.terms]
    if isinstance(node, Case):
        return [one for when in node.whens for one in when] + [node.otherwise]
    single, several = _PARTS[kind]
    found = [getattr(node, name) for name in single]
    for name in several:
        found += getattr(node, name)
    return found


def walk(node: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, a node before its parts, from left to right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
