"""Kept rows as vectors: plain questions about few rows, counted without a statement.

A database reads, plans and begins a statement for longer than it counts a few thousand rows. What
most questions ask of kept rows (comparisons, sums and counts, by columns of few values) is
therefore counted here; every other question is a statement over the same rows.

Guarantee. `Vectors.cells` are the integers of the statement over the kept rows, or None.
Proof. The vectors are read from the kept table, which does not change, by the numbers of its rows.
Every value of an expression is within 2^62 (`kinds`), so that 64 bits hold it; what is left of a
sum in between is the same modulo 2^64. A flag is two vectors, where it is true and where it is
missing, and AND, OR and NOT are those of three values. Groups are told by the place of a key among
all values of its column in order; the place is the database's own, by the same equality. Terms are
added up as doubles, and only where `MOST_ROWS` of them together stay below 2^53, so that every
partial sum is exact. A test of one column of few values is computed once for each by the reference
of all engines (`discreet.query.evaluate`).

Bounded: at most `MOST_ROWS` rows and `MOST_NODES` parts of a question, so that it takes a moment,
and nobody has to stop it. What is counted here depends on the rows as `Rows.most` does: it is
decided after the charge, and told to nobody. It never depends on which rows a condition chooses:
a statement takes longer, and so would tell an analyst how many they are.
Tested by tests/engines/test_vectors.py
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.parts import furthest
from discreet.query import expr as e
from discreet.query.evaluate import compiled
from discreet.query.kinds import Flag, Text
from discreet.query.request import Cells, Part, Total
from discreet.query.schema import PerPerson, Schema

if TYPE_CHECKING:
    import duckdb

__all__ = ["MOST_NODES", "MOST_ROWS", "Vector", "Vectors", "vectors"]

MOST_ROWS = 1 << 16
MOST_NODES = 64
FEW = 64
"""Columns of at most so many different values are grouped by here."""
_MOST_GROUPS = 1 << 12
_MOST_PAIRS = 1 << 22
"""So many pairs of a group and a person at most are marked to count people."""
_KEPT = 16
"""So many groupings are remembered; then all are forgotten."""
_EXACT = 1 << 53
"""Below this doubles add up whole numbers exactly."""

Array = np.ndarray[Any, np.dtype[Any]]
Key = int | bool | str | date | None
Numbers = tuple[Any, Any]
"""The values of a number or a date, anything where it is missing; and where that is, or None."""
Truth = tuple[Any, Any]
"""Where a condition is true; and where it is missing, or None."""
_FIRST = date(1970, 1, 1).toordinal()
_VALUES = {
    "BIGINT": "coalesce({0}, 0)",
    "BOOLEAN": "coalesce({0}, false)",
    "DATE": f"coalesce({{0}} - DATE '{date.fromordinal(_FIRST)}', 0)",
    "VARCHAR": "0",
}
"""The types that are kept as vectors, and how each is read."""
_ALL = Total()
"""The number of rows."""
_NO_NUMBERS = (Flag, Text)
_NOWHERE = np.zeros(0, dtype=np.intp)
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vector:
    """One kept column.

    Attributes:
        values: whole numbers, days since 1970, true and false; anything where there is none.
        missing: where there is none; None if there is one everywhere.
        keys: its different values in order, the missing one last; None if there are many.
        places: which of them each row has; of no row if there are many.
        is_text: whether `values` say nothing.
    """

    values: Array
    missing: Array | None
    keys: tuple[Key, ...] | None
    places: Array
    is_text: bool


def vectors(connection: duckdb.DuckDBPyConnection) -> Vectors | None:
    """The kept table `rows` as vectors; None if it has too many rows."""
    described = connection.execute("DESCRIBE rows").fetchall()
    types = {row[0]: row[1] for row in described if row[1] in _VALUES and row[0] != "p"}
    size = connection.execute("SELECT count(*) FROM rows").fetchall()[0][0]
    if size > MOST_ROWS:
        return None
    read = _columns(connection, [_VALUES[type_].format(title) for title, type_ in types.items()])
    gone = _columns(connection, [f"{title} IS NULL" for title in types])
    found = {}
    for (title, type_), values, missing in zip(types.items(), read, gone, strict=True):
        text = f"SELECT DISTINCT {title} FROM rows ORDER BY 1 NULLS LAST LIMIT {FEW + 1}"  # noqa: S608 - no word of a question
        keys = tuple(row[0] for row in connection.execute(text).fetchall())
        few = len(keys) <= FEW
        found[title] = Vector(
            values, missing if missing.any() else None, keys if few else None,
            _places(connection, title) if few else _NOWHERE, type_ == "VARCHAR",
        )  # fmt: skip
    people = _places(connection, "p") if any(row[0] == "p" for row in described) else None
    return Vectors(size, found, people)


def _columns(connection: duckdb.DuckDBPyConnection, listed: Sequence[str]) -> list[Array]:
    """Values of the kept rows, in the order in which they are kept."""
    named = ", ".join(f"{what} AS x{i}" for i, what in enumerate(listed))
    text = f"SELECT {named or 1} FROM rows ORDER BY rowid"  # noqa: S608 - as above
    return list(map(np.asarray, connection.execute(text).fetchnumpy().values()))[: len(listed)]


def _places(connection: duckdb.DuckDBPyConnection, title: str) -> Array:
    """The place of each row's value among all values of its column.

    One column at a time: a statement that ranks all of them sorts all of them for each.
    """
    (found,) = _columns(connection, [f"dense_rank() OVER (ORDER BY {title} NULLS LAST) - 1"])
    return found.astype(np.intp)


class _Other(Exception):  # noqa: N818 - no error: a statement answers it
    """A question that is not counted here."""


class Vectors:
    """The kept rows of a table.

    Args:
        size: how many rows.
        columns: by what each column is called there.
        people: a number for whose each row is; None where rows are nobody's.
    """

    def __init__(self, size: int, columns: Mapping[str, Vector], people: Array | None) -> None:
        self._size, self._columns, self._people = size, columns, people
        self._many = 0 if people is None or not size else int(people.max()) + 1
        self._grouped: dict[tuple[str, ...], tuple[Array, list[tuple[Key, ...]]]] = {}

    def cells(
        self, schema: Schema, names: Mapping[str, str], where: e.Expr | None, parts: Sequence[Part]
    ) -> list[Cells] | None:
        """The exact integers of parts that bound nobody; None where a statement has to say them.

        Args:
            schema: the declaration.
            names: what each of its columns is called here.
            where: which rows count.
            parts: what is counted.
        """
        counting = _Counting(self._size, self._columns, schema, names)
        try:
            chosen = None if where is None else counting.rows(where)
            return [self._part(counting, part, chosen) for part in parts]
        except _Other:
            return None

    def _part(self, counting: _Counting, part: Part, chosen: Array | None) -> Cells:
        at, groups = self._groups(counting, part)
        rows = _Rows(at, None, len(groups))
        if chosen is not None:
            rows = rows.where(chosen)
        there = rows.counts()
        if part.people:
            personal = isinstance(counting.schema.unit, PerPerson)
            totals = [self._people_in(rows) if personal else there]
        else:
            totals = [
                there if total == _ALL else _total(counting, total, rows) for total in part.totals
            ]
        listed = zip(groups, there, zip(*totals, strict=True), strict=True)
        return {group: row for group, n, row in listed if n or not part.keys}

    def _groups(self, counting: _Counting, part: Part) -> tuple[Array, list[tuple[Key, ...]]]:
        """Which group each row is in, and the keys of every group that there could be."""
        titles = []
        for node in part.keys:
            if not isinstance(node, e.Column):
                raise _Other
            titles.append(counting.names[node.name])
        found = self._grouped.get(tuple(titles))
        if found is None:
            made = self._combined(titles)
            if len(self._grouped) >= _KEPT:
                self._grouped.clear()
            found = self._grouped[tuple(titles)] = made
        return found

    def _combined(self, titles: Sequence[str]) -> tuple[Array, list[tuple[Key, ...]]]:
        columns = [self._columns.get(title) for title in titles]
        keys = [one.keys for one in columns if one is not None and one.keys is not None]
        if len(keys) < len(titles) or prod(map(len, keys)) > _MOST_GROUPS:
            raise _Other
        at = np.zeros(self._size, dtype=np.intp)
        for one, listed in zip(columns, keys, strict=True):
            assert one is not None  # noqa: S101 - all have keys
            at = at * len(listed) + one.places
        return at, list(product(*keys))

    def _people_in(self, rows: _Rows) -> list[int]:
        """How many different people are in each group."""
        if self._people is None or rows.many * self._many > _MOST_PAIRS:
            raise _Other
        met = np.zeros(rows.many * self._many, dtype=bool)
        met[rows.at * self._many + rows.of(self._people)] = True
        counted: list[int] = met.reshape(rows.many, self._many).sum(axis=1).tolist()
        return counted


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some of the rows.

    Attributes:
        at: which group each of them is in.
        index: which rows they are; None for all.
        many: how many groups there could be.
    """

    at: Array
    index: Array | None
    many: int

    def of(self, values: Any) -> Any:
        """A value of each of these rows, of one for every row or for all."""
        return values if self.index is None or not values.ndim else values[self.index]

    def where(self, chosen: Array) -> _Rows:
        """Those of them that are chosen, of all rows."""
        kept = self.of(chosen).nonzero()[0]
        return _Rows(self.at[kept], kept if self.index is None else self.index[kept], self.many)

    def counts(self) -> list[int]:
        """How many are in each group."""
        if self.many == 1:
            return [len(self.at)]
        found: list[int] = np.bincount(self.at, minlength=self.many).tolist()
        return found


def _total(counting: _Counting, total: Total, rows: _Rows) -> list[int]:
    """One total of each group."""
    if total.where is not None:
        rows = rows.where(counting.rows(total.where))
    if total.power == 0 or total.value is None:
        missing = None if total.value is None else counting.missing(total.value)
        return (rows if missing is None else rows.where(~missing)).counts()
    if MOST_ROWS * furthest(total) >= _EXACT:
        raise _Other
    values, missing = counting.numbers(total.value)
    if missing is not None:
        rows = rows.where(~missing)
    centred = rows.of(values) - np.int64(total.offset)
    terms = centred
    for _ in range(total.power - 1):
        terms = terms * centred
    terms = np.broadcast_to(terms, rows.at.shape)
    if rows.many == 1:
        return [int(terms.sum())]
    return [int(n) for n in np.bincount(rows.at, weights=terms, minlength=rows.many).tolist()]


class _Counting:
    """The expressions of one question.

    Args:
        size: how many rows.
        columns: by what each column is called.
        schema: the declaration.
        names: what each of its columns is called.
    """

    def __init__(
        self, size: int, columns: Mapping[str, Vector], schema: Schema, names: Mapping[str, str]
    ) -> None:
        self._size, self._columns, self.schema, self.names = size, columns, schema, names
        self._met = 0

    def rows(self, node: e.Expr) -> Array:
        """Where a condition is true."""
        true: Array = self._truth(node)[0]
        return true if true.ndim else np.broadcast_to(true, (self._size,))

    def missing(self, node: e.Expr) -> Array | None:
        """Where a value is missing; None if it is nowhere."""
        if isinstance(node, e.Column):
            return self._column(node).missing
        read = self._truth if isinstance(node.kind, Flag) else self.numbers
        found: Array | None = read(node)[1]
        return found

    def _column(self, node: e.Column) -> Vector:
        found = self._columns.get(self.names.get(node.name, ""))
        if found is None:
            raise _Other
        return found

    def _meet(self) -> None:
        self._met += 1
        if self._met > MOST_NODES:
            raise _Other

    # numbers and dates

    def numbers(self, node: e.Expr) -> Numbers:
        """The values of a number or a date."""
        self._meet()
        match node:
            case e.Column():
                found = self._column(node)
                if found.is_text or isinstance(node.kind, Flag):
                    raise _Other
                return found.values, found.missing
            case e.Literal(value=date() as day):
                return np.int64(day.toordinal() - _FIRST), None
            case e.Literal(value=int() as number) if not isinstance(number, bool):
                return np.int64(number), None
            case e.Linear():
                return self._linear(node)
            case e.Product():
                (left, one), (right, other) = self.numbers(node.left), self.numbers(node.right)
                return left * right, _either(one, other)
            case e.FlagNumber():
                true, missing = self._truth(node.operand)
                return true.astype(np.int64), missing
            case e.Case():
                return self._case(node)
            case _:
                raise _Other

    def _linear(self, node: e.Linear) -> Numbers:
        total, missing = np.int64(node.constant), None
        for factor, term in node.terms:
            values, gone = self.numbers(term)
            total = total + (values if factor == 1 else values * np.int64(factor))
            missing = _either(missing, gone)
        return total, missing

    def _case(self, node: e.Case) -> Numbers:
        values, missing = self.numbers(node.otherwise)
        for condition, value in reversed(node.whens):
            true = self._truth(condition)[0]
            chosen, gone = self.numbers(value)
            values = np.where(true, chosen, values)
            if gone is not None or missing is not None:
                nowhere = np.False_
                missing = np.where(
                    true, nowhere if gone is None else gone, nowhere if missing is None else missing
                )
        return values, missing

    # conditions

    def _truth(self, node: e.Expr) -> Truth:
        self._meet()
        match node:
            case e.Column():
                found = self._column(node)
                return found.values, found.missing
            case e.Compare() if not isinstance(node.left.kind, _NO_NUMBERS):
                (left, one), (right, other) = self.numbers(node.left), self.numbers(node.right)
                missing = _either(one, other)
                true = _COMPARISONS[node.op](left, right)
                return true if missing is None else true & ~missing, missing
            case e.Logic():
                return self._logic(node)
            case e.Not():
                true, missing = self._truth(node.operand)
                return ~(true if missing is None else true | missing), missing
            case _:
                return self._by_key(node)

    def _logic(self, node: e.Logic) -> Truth:
        """Of three values: what decides wins; else a missing one makes the whole missing."""
        parts = [self._truth(operand) for operand in node.operands]
        join, other = (
            (operator.and_, operator.or_) if node.op == "and" else (operator.or_, operator.and_)
        )
        true, false = parts[0][0], _false(parts[0])
        for part in parts[1:]:
            true, false = join(true, part[0]), other(false, _false(part))
        sure = all(missing is None for _, missing in parts)
        return true, None if sure else ~(true | false)

    def _by_key(self, node: e.Expr) -> Truth:
        """A condition on one column of few values: computed once for each of them."""
        inside = list(e.walk(node))
        names = {inner.name for inner in inside if isinstance(inner, e.Column)}
        if len(names) != 1:
            raise _Other
        (name,) = names
        vector = self._columns.get(self.names.get(name, ""))
        if vector is None or vector.keys is None:
            raise _Other
        for _ in inside:
            self._meet()
        meaning = compiled(node, self.schema.tables)
        told = [meaning({name: key}) for key in vector.keys]
        true = np.array([one is True for one in told], dtype=bool)[vector.places]
        if None not in told:
            return true, None
        return true, np.array([one is None for one in told], dtype=bool)[vector.places]


def _either(one: Any, other: Any) -> Any:
    """Where one of two is missing."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def _false(truth: Truth) -> Any:
    true, missing = truth
    return ~(true if missing is None else true | missing)
