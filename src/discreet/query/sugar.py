"""Expressions that are made of others: what SQL says in one word and `total` in several.

Tested by tests/query/test_sugar.py
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total
from discreet.query.kinds import Day, Number, said
from discreet.query.schema import Schema

__all__ = [
    "as_date", "bucket", "compared", "day_of", "lookup", "present", "public_key",
    "same", "sign", "surely",
]  # fmt: skip

MOST_BUCKETS = 1_000_000


def compared(op: str, left: e.Expr, right: e.Expr) -> e.Expr:
    """A comparison, in which text stands for a date beside a date."""
    if isinstance(left.kind, Day):
        right = as_date(right)
    if isinstance(right.kind, Day):
        left = as_date(left)
    return total.compare(op, left, right)


def as_date(node: e.Expr) -> e.Expr:
    """Text such as '2024-12-31' as a date; anything else as it is."""
    if isinstance(node, e.Literal) and isinstance(node.value, str):
        return total.constant(day_of(node.value))
    return node


def day_of(text: str) -> date:
    """The day that a text such as '2024-12-31' names."""
    try:
        made = date.fromisoformat(text)
    except ValueError:
        made = None
    if made is None or made.isoformat() != text:
        raise QueryError(f"{text[:40]!r} is no date; say DATE '2024-12-31'")
    return made


def surely(node: e.Expr) -> e.Expr:
    """Whether a condition is true, so that a missing one is not: IS TRUE."""
    total.flag(node, "IS TRUE")
    return total.coalesce([node, total.constant(value=False)])


def same(left: e.Expr, right: e.Expr) -> e.Expr:
    """IS NOT DISTINCT FROM: two missing values are the same."""
    both = total.all_of([total.is_null(left), total.is_null(right)])
    return total.any_of([both, surely(compared("=", left, right))])


def sign(value: e.Expr) -> e.Expr:
    """1, 0 or -1."""
    signs = ((">", 1), ("=", 0), ("<", -1))
    zero = total.constant(0)
    return total.case(
        [(compared(op, value, zero), total.constant(what)) for op, what in signs], None
    )


def bucket(value: e.Expr, low: Fraction, high: Fraction, buckets: Fraction) -> e.Expr:
    """WIDTH_BUCKET of a number, missing where that is."""
    if not low < high or buckets.denominator != 1 or not 1 <= buckets <= MOST_BUCKETS:
        raise QueryError("WIDTH_BUCKET(x, low, high, n) needs low < high and n from 1 to 1000000")
    moved = total.add(value, total.constant(low), minus=True)
    place = total.floor(total.multiply(moved, total.constant(buckets / (high - low))))
    above = total.extreme("greatest", [total.add(place, total.constant(1)), total.constant(0)])
    inside = total.extreme("least", [above, total.constant(buckets + 1)])
    return total.case([(total.negation(total.is_null(value)), inside)], None)


def lookup(schema: Schema, table: str, column: str, key: e.Expr) -> e.Expr:
    """A column of a public table, at a key; missing where the table has no such key."""
    public = schema.tables[table]
    held = public_key(schema, table, key)
    return e.Lookup(table, column, held, public.keys_of(column).kind)


def public_key(schema: Schema, table: str, key: e.Expr) -> e.Expr:
    """The key as a public table holds it: of the same kind, and whole if it is a number."""
    wanted = total.constant(schema.tables[table].rows[0][0]).kind
    key = as_date(key) if isinstance(wanted, Day) else key
    if type(key.kind) is not type(wanted):
        raise QueryError(f"the keys of {table!r} do not compare with {said(key.kind)}")
    if isinstance(key.kind, Number) and key.kind.grid.denominator != 1:
        raise QueryError(f"the keys of {table!r} are whole numbers; say ROUND(x) or FLOOR(x)")
    return total.on_grid(key, Fraction(1)) if isinstance(key.kind, Number) else key


def present(schema: Schema, table: str, key: e.Expr) -> e.Expr:
    """Whether a public table has a key."""
    public = schema.tables[table]
    for place, column in enumerate(public.columns):
        if all(values[place] is not None for _, values in public.rows):
            return total.negation(total.is_null(lookup(schema, table, column, key)))
    return total.member(key, [total.constant(at) for at, _ in public.rows])
