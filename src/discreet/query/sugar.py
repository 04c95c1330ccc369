"""Expressions that are made of others: what SQL says in one word and `total` in several.

Tested by tests/query/test_sugar.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction

from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query import expr as e
from discreet.query import total
from discreet.query.kinds import Day, Number, said
from discreet.query.schema import Keys, Schema
from discreet.query.words import listed, meant

__all__ = [
    "as_date", "bucket", "compared", "day_of", "expect_keys", "lookup", "present", "public_key",
    "same", "sign", "surely",
]  # fmt: skip

MOST_BUCKETS = 1_000_000
MOST_CHECKED = 10_000
"""Constants are looked up in lists of up to this many declared keys; longer ones take time."""


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
    signs = ((">", 1), (">=", 0), ("<", -1))
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
    there = [total.constant(at) for at, _ in public.rows]
    keys = _declared(schema, key)
    possible = [one for one in there if keys is None or _is_key(one, key, keys)]
    return total.member(key, possible) if possible else total.constant(value=False)


def expect_keys(schema: Schema, value: e.Expr, constants: Sequence[e.Expr]) -> None:
    """Refuse to compare a column with a constant that is none of its declared keys: a slip."""
    keys = _declared(schema, value)
    if keys is None:
        return
    for one in constants:
        if isinstance(one, e.Literal) and not _is_key(one, value, keys):
            slip = _constant(one)
            said_slip = shown(slip) if isinstance(slip, Fraction) else repr(slip)[:60]
            column = value.name if isinstance(value, e.Column) else ""
            raise QueryError(
                f"{column!r} is never {said_slip}{meant(slip, keys)}; "
                f"its declared keys are: {listed(keys, 10)}"
            )


def _declared(schema: Schema, value: e.Expr) -> Mapping[object, None] | None:
    """The declared keys of a column, in their order; None for anything else, and for very many."""
    found = schema.columns.get(value.name) if isinstance(value, e.Column) else None
    if not isinstance(found, Keys) or len(found.values) > MOST_CHECKED:
        return None
    return dict.fromkeys(found.values)


def _is_key(one: e.Literal, value: e.Expr, keys: Mapping[object, None]) -> bool:
    """Whether it is a key; true of NULL and of another kind, which others refuse."""
    return one.value is None or type(one.kind) is not type(value.kind) or _constant(one) in keys


def _constant(node: e.Literal) -> Fraction | int | str | date | None:
    """A constant as it is written: the number itself, not the multiple of its grid."""
    if isinstance(node.kind, Number) and isinstance(node.value, int):
        return node.value * node.kind.grid
    return node.value
