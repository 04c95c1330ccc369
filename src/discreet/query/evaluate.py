"""What an expression means, in plain Python: the reference that every engine has to equal.

A row is a mapping from column names to *cleaned* values as the engine holds them: the multiple of
the grid for a number, None for a missing value. Three-valued logic as in SQL; nothing can fail.
Tested by tests/query/test_evaluate.py
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from discreet.query import expr as e
from discreet.query.calendar import first_day
from discreet.query.schema import PublicTable

__all__ = ["COMPARISONS", "Meaning", "Row", "Value", "compiled", "evaluate", "matches"]

Value = int | bool | str | date | None
Row = Mapping[str, Value]
Meaning = Callable[[Row], Value]


def evaluate(node: e.Expr, row: Row, tables: Mapping[str, PublicTable] | None = None) -> Value:
    """The value of an expression on one row; None where it is missing.

    >>> from discreet.query.kinds import Number
    >>> age = e.Column("age", Number(0, 120, nullable=True))
    >>> decade = e.FloorDivide(age, 10, Number(0, 12, nullable=True))
    >>> evaluate(decade, {"age": 47}), evaluate(decade, {"age": None})
    (4, None)
    """
    return compiled(node, tables)(row)


def compiled(node: e.Expr, tables: Mapping[str, PublicTable] | None = None) -> Meaning:
    """The expression as a function of the row."""
    parts = [compiled(child, tables) for child in e.children(node)]
    match node:
        case e.Column(name=name):
            return lambda row: row[name]
        case e.Literal(value=value):
            return lambda _: value
        case e.IsNull():
            return lambda row: parts[0](row) is None
        case e.Logic(op=op):
            return lambda row: _logic(op, [part(row) for part in parts])
        case e.Coalesce():
            return lambda row: next((v for part in parts if (v := part(row)) is not None), None)
        case e.Extreme(which=which):
            pick: Any = min if which == "least" else max
            return lambda row: pick((v for p in parts if (v := p(row)) is not None), default=None)
        case e.Case():
            return lambda row: _chosen(parts, row)
        case e.Lookup():
            index = _index(node, (tables or {})[node.table])
            return lambda row: index.get(parts[0](row))
        case _:
            return _strict(parts, _operation(node))


def _strict(parts: Sequence[Meaning], apply: Callable[..., Value]) -> Meaning:
    """Missing as soon as one operand is."""

    def value(row: Row) -> Value:
        values = [part(row) for part in parts]
        return None if None in values else apply(*values)

    return value


def _chosen(parts: Sequence[Meaning], row: Row) -> Value:
    """CASE: conditions and values in turn, and the value of ELSE at the end."""
    for i in range(0, len(parts) - 1, 2):
        if parts[i](row) is True:
            return parts[i + 1](row)
    return parts[-1](row)


def _index(node: e.Lookup, table: PublicTable) -> dict[Value, Value]:
    place = table.columns.index(node.column)
    return {key: values[place] for key, values in table.rows}


def _logic(op: str, values: Sequence[Value]) -> bool | None:
    """False wins in an AND, true in an OR; otherwise a missing one makes the whole missing."""
    decisive = op == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Texts by code points, which is the order of their UTF-8 bytes."""


def _operation(node: e.Expr) -> Callable[..., Any]:  # noqa: C901, PLR0912 - one line each
    """What a node does with its operands, none of which is missing."""
    match node:
        case e.Linear(terms=terms, constant=constant):
            factors = [factor for factor, _ in terms]
            return lambda *ns: constant + sum(map(operator.mul, factors, ns))
        case e.Product():
            return operator.mul
        case e.Quotient(factor=factor):
            return lambda n, by: n * factor // by if by else None
        case e.FloorDivide(divisor=divisor):
            return lambda n: n // divisor
        case e.Remainder(divisor=divisor):
            return lambda n: -(-n % divisor) if n < 0 else n % divisor
        case e.Absolute():
            return abs
        case e.Logarithm(knots=knots, levels=levels):
            return lambda n: _chord(n, knots, levels)
        case e.FlagNumber():
            return int
        case e.Compare(op=op):
            return COMPARISONS[op]
        case e.Not():
            return operator.not_
        case e.Member():
            return lambda value, *listed: value in listed
        case e.Like(pattern=pattern):
            return lambda text: matches(text, pattern)
        case e.DateTrunc(unit=unit):
            return lambda day: first_day(unit, day)
        case e.DatePart(part=part):
            return lambda day: _part(part, day)
        case e.DaysBetween():
            return lambda left, right: (left - right).days
        case _:  # pragma: no cover - `compiled` has met the others
            raise AssertionError(type(node).__name__)


def _chord(n: int, knots: Sequence[int], levels: Sequence[int]) -> int:
    i = bisect_right(knots, n) - 1
    if i == len(knots) - 1:
        return levels[i]
    rise, run = levels[i + 1] - levels[i], knots[i + 1] - knots[i]
    return levels[i] + (n - knots[i]) * rise // run


def _part(part: str, of: date) -> int:
    match part:
        case "quarter":
            return (of.month - 1) // 3 + 1
        case "week":
            return of.isocalendar().week
        case "dayofweek":
            return of.isoweekday() % 7
        case "dayofyear":
            return of.timetuple().tm_yday
        case _:
            return int(getattr(of, part))


def matches(text: str, pattern: str) -> bool:
    """SQL's LIKE: % is any run of characters, _ is one; in time |text| |pattern| at most.

    >>> matches("clerk", "c%_k"), matches("ck", "c%_k")
    (True, False)
    """
    at = i = 0
    star, resume = -1, 0
    while at < len(text):
        if i < len(pattern) and pattern[i] == "%":
            star, resume = i, at
            i += 1
        elif i < len(pattern) and pattern[i] in ("_", text[at]):
            at, i = at + 1, i + 1
        elif star >= 0:
            resume += 1
            at, i = resume, star + 1
        else:
            return False
    return all(c == "%" for c in pattern[i:])
