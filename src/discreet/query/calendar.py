"""Expressions on dates, total like those of `discreet.query.total`.

A date lies between two public dates, so that no arithmetic on it leaves the calendar.
Tested by tests/query/test_calendar.py
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import get_args

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Day, Number, said

__all__ = ["date_part", "date_trunc", "days_between", "first_day"]


def day(node: e.Expr, what: str) -> Day:
    """The kind of an operand that has to be a date."""
    if not isinstance(node.kind, Day):
        raise QueryError(f"{what} needs a date, not {said(node.kind)}")
    return node.kind


def first_day(unit: str, of: date) -> date:
    """The first day of the unit that a day is in."""
    match unit:
        case "day":
            return of
        case "week":
            return of - timedelta(days=of.weekday())
        case "month":
            return of.replace(day=1)
        case "quarter":
            return of.replace(month=(of.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return of.replace(month=1, day=1)
        case _:
            units = ", ".join(get_args(e.Unit))
            raise QueryError(f"DATE_TRUNC knows no {unit!r}; say one of {units}")


def date_trunc(unit: str, node: e.Expr) -> e.Expr:
    """The first day of the year, quarter, month or week."""
    kind = day(node, "DATE_TRUNC")
    if unit == "week" and kind.low - date.min < timedelta(days=7):
        raise QueryError("DATE_TRUNC('week', ...) needs a low bound after the first week of year 1")
    low, high = first_day(unit, kind.low), first_day(unit, kind.high)
    return e.DateTrunc(unit, node, Day(low, high, kind.nullable))  # type: ignore[arg-type]


_RANGES = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "dayofyear": (1, 366),
}


def date_part(part: str, node: e.Expr) -> e.Expr:
    """A number of the calendar, such as the month."""
    kind = day(node, "EXTRACT")
    if part == "year":
        low, high = kind.low.year, kind.high.year
    elif part in _RANGES:
        low, high = _RANGES[part]
    else:
        raise QueryError(f"EXTRACT knows no {part!r}; say one of {', '.join(get_args(e.Part))}")
    return e.DatePart(part, node, Number(low, high, nullable=kind.nullable))  # type: ignore[arg-type]


def days_between(left: e.Expr, right: e.Expr) -> e.Expr:
    """Left - right, in days."""
    first, second = day(left, "a difference of dates"), day(right, "a difference of dates")
    low, high = (first.low - second.high).days, (first.high - second.low).days
    return e.DaysBetween(left, right, Number(low, high, nullable=first.nullable or second.nullable))
