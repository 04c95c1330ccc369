"""Functions of released numbers: free post-processing, with SQL's rules for missing values.

A missing operand makes the result missing; so do a division by 0, a logarithm or a root that does
not exist, and a number too large for a float. Whole numbers and fractions stay exact until a float
joins them. Nothing here can fail, whatever was released.
Tested by tests/query/test_post.py
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from discreet.query.evaluate import COMPARISONS
from discreet.query.plan import (
    Aggregate,
    Plan,
    Post,
    PostAggregate,
    PostCall,
    PostGroup,
    PostValue,
)

__all__ = ["Line", "Released", "are_short", "arrange", "evaluate", "sound"]

LONGEST = 4096
"""An exact number of more bits, above or below, goes on as a float, and is missing beyond those."""
_SHORT = 1 << 63
_WHOLE = frozenset((int,))
Released = int | float | Fraction | bool | str | date | None
_Numbers = Mapping[Aggregate, int | float | Fraction | None]


class Line(Protocol):
    """One row of an answer."""

    @property
    def groups(self) -> Sequence[Released]:
        """Its keys, as a person reads them (`discreet.query.keys.shown_key`)."""

    @property
    def values(self) -> _Numbers:
        """Its released numbers."""


L = TypeVar("L", bound=Line)


def evaluate(post: Post, groups: Sequence[Released], values: _Numbers) -> Released:
    """The value of an expression on one row of an answer; None where it is missing.

    Args:
        post: the expression.
        groups: the keys of the row, as a person reads them.
        values: the released number of each aggregate.

    >>> from discreet.query.plan import Aggregate, PostAggregate
    >>> count = Aggregate("count")
    >>> half = PostCall("/", (PostAggregate(count), PostValue(2)))
    >>> evaluate(half, (), {count: 7}), evaluate(half, (), {count: None})
    (Fraction(7, 2), None)
    """
    match post:
        case PostValue(value=value):
            return value
        case PostGroup(place=place):
            return sound(groups[place])
        case PostAggregate(aggregate=aggregate):
            return sound(values[aggregate])
        case PostCall(name=name, arguments=arguments):
            return _call(name, [evaluate(a, groups, values) for a in arguments])


def sound(value: Any) -> Released:
    """No infinities and no NaN; a whole fraction is a whole number; what is long is a float."""
    if value is None or type(value) is str or (type(value) is int and -_SHORT < value < _SHORT):
        return value
    if isinstance(value, int | Fraction) and _long(value):
        value = _as_float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value  # type: ignore[no-any-return]


def are_short(values: Sequence[Released]) -> bool:
    """Whether all are whole numbers of few digits, which `sound` leaves alone."""
    return _WHOLE.issuperset(map(type, values)) and (
        not values or -_SHORT < min(values) <= max(values) < _SHORT  # type: ignore[type-var, operator]
    )


def _long(value: int | Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST


def _as_float(value: int | Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _call(name: str, values: Sequence[Any]) -> Released:
    match name:
        case "and" | "or":
            return _logic(values, decisive=name == "or")
        case "is_null":
            return values[0] is None
        case "coalesce":
            return _first(values)
        case "case":
            pairs = zip(values[:-1:2], values[1::2], strict=True)
            return _first([v for c, v in pairs if c is True][:1] or values[-1:])
        case "in":
            return _member(values[0], values[1:])
        case "least" | "greatest":
            there = [value for value in values if value is not None]
            return _tried(min if name == "least" else max, [there]) if there else None
        case "between":
            return _call("and", [_call(">=", values[:2]), _call("<=", [values[0], values[2]])])
        case _:
            missing = any(value is None for value in values)
            return None if missing else _tried(_STRICT[name], values)


def _first(values: Sequence[Released]) -> Released:
    """The first that is not missing."""
    return next((value for value in values if value is not None), None)


def _tried(function: Callable[..., Any], values: Sequence[Any]) -> Released:
    """The value, or a missing one where there is none."""
    try:
        return sound(function(*values))
    except (ArithmeticError, ValueError, TypeError):
        return None


def _logic(values: Sequence[Any], *, decisive: bool) -> bool | None:
    if any(value is decisive for value in values):
        return decisive
    return None if any(value is None for value in values) else not decisive


def _member(value: Released, listed: Sequence[Released]) -> bool | None:
    if value is None:
        return None
    if any(value == other for other in listed if other is not None):
        return True
    return None if None in listed else False


def _divide(left: Any, right: Any) -> Any:
    """Exact for whole numbers and fractions."""
    exact = isinstance(left, int | Fraction) and isinstance(right, int | Fraction)
    return Fraction(left) / Fraction(right) if exact else left / right


def _round(value: Any, digits: int) -> Any:
    """Halves up, as in expressions about rows."""
    step = Fraction(10) ** -digits
    rounded = math.floor(Fraction(value) / step + Fraction(1, 2)) * step
    return float(rounded) if isinstance(value, float) and digits > 0 else rounded


_STRICT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    **COMPARISONS,
    "not": operator.not_,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": _round,
    "sqrt": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
}


def arrange(plan: Plan, rows: Sequence[L]) -> list[L]:
    """HAVING, ORDER BY and LIMIT on the rows of an answer.

    Rows that are equal in the order keep their places, and missing values come last, so the result
    is decided by the released numbers alone.
    """
    kept = [
        row
        for row in rows
        if plan.having is None or evaluate(plan.having, row.groups, row.values) is True
    ]
    for order in reversed(plan.order):  # sorting is stable: the first item decides at last
        found = [(evaluate(order.value, row.groups, row.values), row) for row in kept]
        there = [pair for pair in found if pair[0] is not None]
        there.sort(key=lambda pair: pair[0], reverse=order.descending)  # type: ignore[arg-type, return-value]
        kept = [row for _, row in there] + [row for value, row in found if value is None]
    return kept if plan.limit is None else kept[: plan.limit]
