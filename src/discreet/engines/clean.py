"""The cleaned value of a declared column, as SQL that has a value for every row.

What the value is, is said in `discreet.query.schema`. How it is held: a number as the multiple of
its grid (BIGINT), a flag as BOOLEAN, text as text in byte order, a date as DATE.

As stored. A whole number that nothing is computed with, on the grid 1, need not become a BIGINT
first: DuckDB adds up 32 bits faster than 64. Then no branch of the CASE has a cast, and its type is
the narrowest that holds both the stored type and the bounds, so that every value is still exact.

Real numbers. A stored real is read as a double v. NaN is missing; v below or above the bounds is
the bound; between them n = floor(v * q / p + 0.5) for a grid of p/q, each operation one IEEE
operation on doubles (without * 1 and / 1), clamped to the bounds at the end. So every engine has
the same n to the last digit, tests/engines/reference.py included. All steps rise with v: where the
doubles at both bounds already come out between them, the last clamp is left out.

Whole numbers. v below or above the bounds is the bound; between them n = floor((2 v q + p) / 2p)
in integers.

Text is parsed where the dialect can do it without failing (DuckDB): text that is no number or no
date counts as missing. True and false are the words true, t, 1 and false, f, 0.

Nothing fails for any row: every cast is inside the CASE that makes it safe, because an engine may
compute an expression before a filter that stands elsewhere.
Tested by tests/engines/test_clean.py, tests/engines/test_as_stored.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction

from sqlglot import exp

from discreet.engines.dialects import (
    Dialect,
    Node,
    case,
    cast,
    day,
    double,
    number,
    to_integer,
    typed,
)
from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query.kinds import WIDEST
from discreet.query.schema import Boolean, Bounds, Dates, Declared, FreeText, Keys, Storage

__all__ = ["cleaned", "floor_divided", "in_range", "on_double_grid", "read"]

_FAR = 10**60
_WORDS = ((("true", "t", "1"), True), (("false", "f", "0"), False))


def read(column: str, declared: Declared, storage: Storage, raw: Node, sql: Dialect) -> Node:
    """The stored value in the one type that `cleaned` starts from; QueryError if there is none."""
    wanted, made = _reading(declared, storage, raw, sql)
    if made is not None:
        return made
    said = {
        "integer": "whole numbers",
        "real": "real numbers",
        "boolean": "true and false",
        "date": "dates",
        "timestamp": "timestamps",
        "other": "something else",
    }.get(storage, storage)
    way_out = "; declare it as what it is, or hide it with dp.Hidden()"
    if storage == "text" and not sql.reads_text:
        way_out = f" in {sql.name}, which parses no text without failing; store it as {wanted}"
    raise QueryError(
        f"the column {column!r} is stored as {said}, which cannot be read as {wanted}{way_out}"
    )


def _reading(
    declared: Declared, storage: Storage, raw: Node, sql: Dialect
) -> tuple[str, Node | None]:
    match declared:
        case Bounds():
            return "numbers", _number_read(storage, raw, sql)
        case Boolean():
            return "true or false", _flag_read(storage, raw, sql)
        case Dates():
            return "dates", _date_read(storage, raw, sql)
        case Keys(values=(bool(), *_)):
            return "true or false", _flag_read(storage, raw, sql)
        case Keys(values=(int(), *_)):
            return "whole numbers", _number_read(storage, raw, sql)
        case Keys(values=(date(), *_)):
            return "dates", _date_read(storage, raw, sql)
        case Keys() | FreeText():
            return "text", sql.text(raw) if storage == "text" else None
        case _:
            return "anything", None


def _number_read(storage: Storage, raw: Node, sql: Dialect) -> Node | None:
    match storage:
        case "integer":
            return raw
        case "boolean":
            return sql.flag_number(raw)
        case "real":
            return sql.real(raw)
        case "text" if sql.reads_text:
            return _tried(raw, "DOUBLE", sql)
        case _:
            return None


def _flag_read(storage: Storage, raw: Node, sql: Dialect) -> Node | None:
    match storage:
        case "boolean":
            return raw
        case "integer" | "real":
            places = [([number(1)], True), ([number(0)], False)]
            value = sql.sealed(raw)
        case "text":
            places = [([sql.string(w) for w in words], flag) for words, flag in _WORDS]
            value = exp.Lower(this=sql.text(raw))
        case _:
            return None
    return case(
        [
            (exp.In(this=value.copy(), expressions=list(words)), exp.Boolean(this=flag))
            for words, flag in places
        ]
    )


def _date_read(storage: Storage, raw: Node, sql: Dialect) -> Node | None:
    match storage:
        case "date" | "timestamp":
            return raw
        case "text" if sql.reads_text:
            return _tried(raw, "TIMESTAMP", sql)
        case _:
            return None


def _tried(raw: Node, to: str, sql: Dialect) -> Node:
    return exp.TryCast(this=sql.sealed(raw), to=typed(to))


def cleaned(
    column: str,
    declared: Declared,
    storage: Storage,
    value: Node,
    sql: Dialect,
    *,
    as_stored: bool = False,
) -> Node:
    """The value that questions see, from the value that was `read`.

    Args:
        column: its name, for refusals.
        declared: what it was declared as.
        storage: how it is stored.
        value: the value that was `read`.
        sql: the dialect.
        as_stored: whether integers may stay in the type that they are stored in, because nothing
            is computed with them; only where the dialect `sums_as_stored`.
    """
    bare = as_stored and storage == "integer"
    match declared:
        case Bounds():
            bare = bare and declared.grid == 1
            if storage in ("integer", "boolean"):
                held = _from_integer(column, declared, value, sql, bare=bare)
            else:
                held = _from_real(column, declared, value, sql)
            if declared.missing is None:
                return held
            instead = number(int(declared.missing / declared.grid))
            return exp.Coalesce(this=held, expressions=[instead if bare else to_integer(instead)])
        case Dates(low=low, high=high):
            inside = [
                (_before(value, low, storage), day(low)),
                (_after(value, high, storage), day(high)),
            ]
            return case(inside, value if storage == "date" else sql.cut(value))
        case Keys(values=values):
            return _key(values, storage, value, sql, bare=bare)
        case _:
            return value


def _from_integer(column: str, bounds: Bounds, value: Node, sql: Dialect, *, bare: bool) -> Node:
    low, high = math.ceil(bounds.low), math.floor(bounds.high)
    p, q = bounds.grid.numerator, bounds.grid.denominator
    furthest = max(abs(low), abs(high))
    if (furthest * q if p == 1 else max(2 * furthest * q + 4 * p, furthest)) > WIDEST:
        raise QueryError(
            f"the bounds {shown(bounds.low)} to {shown(bounds.high)} of {column!r} on a grid of "
            f"{shown(bounds.grid)} go beyond 2^62 steps; declare tighter bounds or a coarser grid"
        )
    whole = value.copy() if bare else to_integer(value.copy())
    if low > high:  # no whole number lies between the bounds
        inside: Node = to_integer(number(bounds.kind.low))
    elif p == 1:
        inside = whole if q == 1 else exp.Mul(this=whole, expression=number(q))
    else:
        doubled = exp.Mul(this=whole, expression=number(2 * q))
        raised = exp.Add(this=doubled, expression=number(p))
        inside = floor_divided(raised, 2 * low * q + p, 2 * p, sql)
    ends = [
        (exp.LT(this=value.copy(), expression=number(low)), bounds.kind.low),
        (exp.GT(this=value.copy(), expression=number(high)), bounds.kind.high),
    ]
    return case([(at, number(n) if bare else _held(n)) for at, n in ends], inside)


def _held(n: int) -> Node:
    return to_integer(number(n))


def floor_divided(node: Node, low: int, divisor: int, sql: Dialect) -> Node:
    """floor(node / divisor) for a node >= low.

    Below 0 it is shifted first, so that cutting the fraction off is rounding down.
    """
    if divisor == 1:
        return node
    start = min(low, 0) // divisor
    if start == 0:
        return sql.divide(node, number(divisor))
    shifted = exp.Add(this=node, expression=number(-start * divisor))
    return exp.Sub(this=sql.divide(shifted, number(divisor)), expression=number(-start))


def on_double_grid(value: float, grid: Fraction) -> int:
    """The n of a real number between its bounds, before the last clamp: the SQL in Python."""
    p, q = grid.numerator, grid.denominator
    if q != 1:
        value = value * float(q)
    if p != 1:
        value = value / float(p)
    return math.floor(value + 0.5)


def _from_real(column: str, bounds: Bounds, value: Node, sql: Dialect) -> Node:
    p, q = bounds.grid.numerator, bounds.grid.denominator
    if max(p, q) > _FAR:
        raise QueryError(
            f"the grid {shown(bounds.grid)} of {column!r} is beyond what stored real numbers can "
            "hold; declare one between 1e-60 and 1e60"
        )
    scaled = value.copy()
    if q != 1:
        scaled = exp.Mul(this=scaled, expression=double(Fraction(q)))
    if p != 1:
        scaled = exp.Div(this=scaled, expression=double(Fraction(p)), typed=True)
    half = exp.Literal(this="0.5", is_string=False)
    inside = sql.whole(exp.Floor(this=exp.Add(this=scaled, expression=half)))
    kind = bounds.kind
    first, last = (on_double_grid(float(b), bounds.grid) for b in (bounds.low, bounds.high))
    if not kind.low <= first <= last <= kind.high:
        inside = sql.extreme(
            "least", [sql.extreme("greatest", [inside, _held(kind.low)]), _held(kind.high)]
        )
    within = exp.Between(this=value.copy(), low=double(bounds.low), high=double(bounds.high))
    below = exp.LT(this=sql.sealed(value.copy()), expression=double(bounds.low))
    above = exp.Not(this=sql.is_nan(value.copy()))
    return case([(within, inside), (below, _held(kind.low)), (above, _held(kind.high))])


def _before(value: Node, low: date, storage: Storage) -> Node:
    return exp.LT(this=value.copy(), expression=_moment(low, storage))


def _after(value: Node, high: date, storage: Storage) -> Node:
    if storage == "date":
        return exp.GT(this=value.copy(), expression=day(high))
    return exp.GTE(this=value.copy(), expression=_moment(high + timedelta(days=1), storage))


def _moment(of: date, storage: Storage) -> Node:
    if storage == "date":
        return day(of)
    return cast(exp.Literal.string(f"{of.isoformat()} 00:00:00"), "TIMESTAMP")


def in_range(declared: Declared, storage: Storage, value: Node) -> Node | None:
    """Whether a stored integer is one of the keys, where they are all from one to another.

    None where they are not, or are not stored as integers: a list of keys costs a condition as
    much as a CASE.
    """
    if storage != "integer" or not isinstance(declared, Keys):
        return None
    numbers = [v for v in declared.values if isinstance(v, int) and not isinstance(v, bool)]
    low, high = min(numbers, default=0), max(numbers, default=0)
    if len(numbers) != len(declared.values) or len(set(numbers)) != high - low + 1:
        return None
    return exp.Between(this=value.copy(), low=number(low), high=number(high))


def _key(
    values: Sequence[int | bool | str | date],
    storage: Storage,
    value: Node,
    sql: Dialect,
    *,
    bare: bool,
) -> Node:
    """The value where it is one of the keys, else missing."""
    first = values[0]
    if isinstance(first, bool):
        listed: list[Node] = [exp.Boolean(this=bool(v)) for v in values]
        return case([(exp.In(this=value.copy(), expressions=listed), value)])
    if isinstance(first, str):
        texts = [exp.Literal.string(str(v)) for v in values]
        return case([(exp.In(this=value.copy(), expressions=texts), value)])
    if isinstance(first, int):
        numbers = sorted(int(v) for v in values if isinstance(v, int))
        whole = _whole(numbers[0], numbers[-1], storage, value, sql, bare=bare)
        exact = storage in ("integer", "boolean") or max(map(abs, numbers)) <= 1 << 53
        if exact and len(numbers) == numbers[-1] - numbers[0] + 1:
            return whole
        held = value if storage in ("integer", "boolean") else whole
        wanted = exp.In(this=held.copy(), expressions=[number(n) for n in numbers])
        return case([(wanted, held.copy() if bare else to_integer(held.copy()))])
    days = sorted(v for v in values if isinstance(v, date))
    return _listed_day(days, storage, value, sql)


def _whole(low: int, high: int, storage: Storage, value: Node, sql: Dialect, *, bare: bool) -> Node:
    """The integer where it lies between two keys."""
    inside: Node = exp.Between(this=value.copy(), low=number(low), high=number(high))
    if storage not in ("integer", "boolean"):
        even = exp.EQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
        ends = double(Fraction(low)), double(Fraction(high))
        inside = exp.And(
            this=exp.Between(this=value.copy(), low=ends[0], high=ends[1]), expression=even
        )
        return case([(inside, sql.whole(value.copy()))])
    return case([(inside, value.copy() if bare else to_integer(value.copy()))])


def _listed_day(days: Sequence[date], storage: Storage, value: Node, sql: Dialect) -> Node:
    early, late = _before(value, days[0], storage), _after(value, days[-1], storage)
    held = value if storage == "date" else sql.cut(value)
    within = exp.Not(this=exp.Paren(this=exp.Or(this=early, expression=late)))
    between = case([(within, held.copy())])
    if len(days) == (days[-1] - days[0]).days + 1:
        return between
    return case([(exp.In(this=between, expressions=[day(d) for d in days]), held.copy())])
