"""The public keys of an expression: every value it can have, from the declaration alone.

Where the columns inside have few values, the expression is evaluated on all of them, missing ones
included, and its keys are exactly what can come out. Otherwise they follow from its shape, and may
hold values that no row can have: such a key is answered like any other. A missing value is never a
key; COALESCE gives it a name.

`admitted` leaves out the keys that WHERE excludes: such a group is empty for every table, which is
a public fact of the question.
Tested by tests/query/test_keys.py
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import chain, product
from typing import Any

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.calendar import first_day
from discreet.query.evaluate import compiled
from discreet.query.kinds import Day, Number, Text, said
from discreet.query.schema import MOST_KEYS, FreeText, Keys, Schema

__all__ = ["EVALUATIONS", "Key", "admitted", "keys_of", "shown_key"]

Key = int | bool | str | date
EVALUATIONS = 2_000
"""Up to this many nodes are evaluated to find the exact keys; beyond, they follow from shapes."""


class _TooManyError(Exception):
    """More values than a question may list."""


def keys_of(node: e.Expr, schema: Schema) -> tuple[Key, ...] | None:
    """All the keys as the engine holds them, in the order of the answer; None if not public.

    Declared keys keep their order, branches of CASE theirs; numbers and dates rise. What has more
    than `MOST_KEYS` values is refused.
    """
    try:
        found: Iterable[Key | None] | None = _exact(node, schema)
        if found is None:
            found = _reach(node, schema)
    except _TooManyError:
        raise QueryError(
            f"grouping by {said(node.kind)} would need more than {MOST_KEYS} public keys; "
            "group by bins such as FLOOR(x / 10) * 10, declare a coarser grid, or give the keys"
        ) from None
    if found is None:
        return None
    declared = schema.declaration(node.name) if isinstance(node, e.Column) else None
    distinct = [key for key in dict.fromkeys(found) if key is not None]
    if len(distinct) > MOST_KEYS:
        raise QueryError(f"grouping by this needs {len(distinct)} keys; at most {MOST_KEYS} can be")
    if isinstance(declared, Keys) and distinct == list(declared.values):
        return declared.values  # which are kept once, however many questions have them
    if isinstance(node, e.Column) or isinstance(node.kind, Text):
        return tuple(distinct)
    return tuple(sorted(distinct))


def admitted(
    keys: tuple[Key, ...] | None, node: e.Expr, where: e.Expr | None
) -> tuple[Key, ...] | None:
    """The keys of a grouping for which a condition can be true.

    Only parts that are joined by AND and say something of this very expression count: comparisons
    with a constant, BETWEEN, IN, NOT IN, and a flag itself. Other parts leave all keys.
    """
    if keys is None or where is None:
        return keys
    sieve = _Sieve(node)
    for part in where.operands if isinstance(where, e.Logic) and where.op == "and" else (where,):
        sieve.add(part)
    return tuple(filter(sieve.admits, keys)) if sieve.says else keys


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


class _Sieve:
    """What some conditions say of one expression, folded so that a key is looked at once."""

    def __init__(self, node: e.Expr) -> None:
        self._node = node
        self._allowed: set[Any] | None = None
        self._excluded: set[Any] = set()
        self._ends: dict[str, Any] = {}

    @property
    def says(self) -> bool:
        """Whether any condition was about the expression."""
        return self._allowed is not None or bool(self._excluded or self._ends)

    def admits(self, key: Key) -> bool:
        """Whether all conditions hold for a key."""
        if key in self._excluded or (self._allowed is not None and key not in self._allowed):
            return False
        return all(_ORDERS[op](key, end) for op, end in self._ends.items())

    def add(self, part: e.Expr) -> None:
        """One more condition; nothing where it is about something else."""
        match part:
            case _ if part == self._node:
                self._allow([True])
            case e.Not(operand=operand) if operand == self._node:
                self._allow([False])
            case e.Compare(op=op, left=left, right=e.Literal(value=value)):
                self._compare(op, left, value)
            case e.Compare(op=op, left=e.Literal(value=value), right=right):
                self._compare(_TURNED[op], right, value)
            case e.Member(operand=operand, values=values):
                if (held := self._held(operand, [one.value for one in values])) is not None:
                    self._allow(held)
            case e.Not(operand=e.Member(operand=operand, values=values)):
                if (held := self._held(operand, [one.value for one in values])) is not None:
                    self._excluded.update(held)
            case _:
                pass

    def _allow(self, values: Iterable[Any]) -> None:
        self._allowed = set(values) if self._allowed is None else self._allowed & set(values)

    def _compare(self, op: str, operand: e.Expr, value: Any) -> None:
        held = self._held(operand, [value])
        if held is None:
            return
        if value is None:  # a comparison with a missing value is never true
            self._allow([])
        elif op == "=":
            self._allow(held)
        elif op == "<>":
            self._excluded.update(held)
        else:
            tighter = min if op in ("<", "<=") else max
            self._ends[op] = tighter(held[0], self._ends.get(op, held[0]))

    def _held(self, operand: e.Expr, values: Sequence[Any]) -> list[Any] | None:
        """The values as the keys are held; None where the operand is another expression."""
        if operand == self._node:
            return list(values)
        match operand:  # the same number on a finer grid, beside a constant such as 0.5
            case e.Linear(terms=((factor, term),), constant=constant) if (
                term == self._node and factor > 0
            ):
                return [None if v is None else Fraction(v - constant, factor) for v in values]
        return None


def shown_key(value: int | bool | str | date | None, node: e.Expr) -> Key | Fraction | None:  # noqa: FBT001
    """A key as a person reads it: the number itself instead of the multiple of its grid."""
    if value is None or not isinstance(node.kind, Number) or isinstance(value, str | date):
        return value
    grid = node.kind.grid
    if grid.denominator == 1:
        return int(value) * grid.numerator
    number = value * grid
    return int(number) if number.denominator == 1 else number


def _domain(column: e.Column, schema: Schema) -> Collection[Key] | None:
    """The values of a column; None for free text."""
    match schema.declaration(column.name), column.kind:
        case Keys(values=values), _:
            return values
        case FreeText(), _:
            return None
        case _, Number(low=low, high=high):
            return range(low, high + 1)
        case _, Day(low=low, high=high):
            return _Days(low, high)
        case _:
            return (False, True)


_LONGEST = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


class _Days(Collection[date]):
    """The first days of all units from one to another, not listed before somebody asks."""

    def __init__(self, low: date, high: date, unit: str = "day") -> None:
        self._low, self._high, self._unit = low, high, unit

    def __len__(self) -> int:
        return (self._high - self._low).days // max(1, _LONGEST[self._unit] - 4) + 1

    def __contains__(self, day: object) -> bool:  # pragma: no cover - a collection has to
        return day in list(self)

    def __iter__(self) -> Iterator[date]:
        at = self._low
        while at <= self._high:
            yield at
            if date.max - at < timedelta(days=_LONGEST[self._unit]):
                return
            at = first_day(self._unit, at + timedelta(days=_LONGEST[self._unit]))


def _exact(node: e.Expr, schema: Schema) -> list[Key | None] | None:
    """The value on every row that there can be, where those are few enough; else None."""
    nodes = list(e.walk(node))
    columns = list(dict.fromkeys(n for n in nodes if isinstance(n, e.Column)))
    domains = [_domain(column, schema) for column in columns]
    if isinstance(node, e.Column) or any(domain is None for domain in domains):
        return None
    known = [domain for domain in domains if domain is not None]
    if math.prod(_size(domain) + 1 for domain in known) * len(nodes) > EVALUATIONS:
        return None
    value = compiled(node, schema.tables)
    found: dict[Key | None, None] = {}
    names = [column.name for column in columns]
    for values in product(*(chain(domain, (None,)) for domain in known)):
        found[value(dict(zip(names, values, strict=True)))] = None
    return list(found)


def _reach(node: e.Expr, schema: Schema) -> Iterable[Key | None] | None:
    """Values that contain all there can be, from the shape of the expression."""
    match node:
        case e.Column():
            domain = _domain(node, schema)
            return None if domain is None else _few(domain)
        case e.Literal(value=value):
            return (value,)
        case e.Case(whens=whens, otherwise=otherwise):
            return _union([*(value for _, value in whens), otherwise], schema)
        case e.Coalesce(operands=operands):
            return _union(operands, schema)
        case e.Lookup(table=table, column=column):
            return schema.tables[table].keys_of(column).values
        case e.DateTrunc(unit=unit, kind=kind):
            return _few(_Days(kind.low, kind.high, unit))
        case _:
            return _numbers(node, schema) if isinstance(node.kind, Number) else (False, True)


def _union(nodes: Iterable[e.Expr], schema: Schema) -> Iterable[Key | None] | None:
    parts = [_reach(node, schema) for node in nodes]
    known = [part for part in parts if part is not None]
    return None if len(known) < len(parts) else dict.fromkeys(chain.from_iterable(known))


def _numbers(node: e.Expr, schema: Schema) -> Iterable[Key | None]:
    """Numbers in steps: of a sum the common step of its terms, else the grid."""
    kind = node.kind
    if not isinstance(kind, Number):  # pragma: no cover - the caller has looked
        raise TypeError(said(kind))
    if isinstance(node, e.Linear):
        moving = [(factor, term) for factor, term in node.terms if factor]
        if len(moving) == 1:
            factor, term = moving[0]
            inside = _reach(term, schema)
            return [node.constant + factor * int(n) for n in inside or () if isinstance(n, int)]
        step = math.gcd(*(factor for factor, _ in moving)) or 1
        return _few(range(kind.low, kind.high + 1, step))
    return _few(range(kind.low, kind.high + 1))


def _few(values: Collection[Key]) -> Collection[Key]:
    if _size(values) > MOST_KEYS:
        raise _TooManyError
    return values


def _size(values: Collection[Key]) -> int:
    """The length, also of a range that is too long for len()."""
    if isinstance(values, range):
        return max(0, -((values.start - values.stop) // values.step))
    return len(values)
