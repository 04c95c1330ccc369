"""The values of columns in as few classes as some expressions can tell apart: a public partition.

An *atom* is an expression about a row that some question depends on. Rows on which all atoms have
the same values are the same to every question. Columns that share an atom are one axis; on every
axis the declared values, and the missing one, fall into classes on which all of its atoms are
constant. Which classes there are follows from the declaration and the questions, never from rows.

* Keys and flags: every atom is evaluated on every value, missing included.
* Numbers and dates: the classes are runs of neighbouring values. Up to `LISTED` values are
  evaluated one by one. Beyond that the atoms have to be comparisons of functions that rise or fall
  with the column, and bisection finds the ends of the runs with the same evaluator.
* Several columns in one atom: all combinations of their values, up to `LISTED`.

Guarantee. Every row that the declaration allows is in exactly one class of every axis, and the
atoms have there the values that they have on the class's representative.
Tested by tests/query/test_classes.py
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise, product
from typing import Any

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import sugar, total
from discreet.query.evaluate import Value, compiled
from discreet.query.kinds import Day, Number
from discreet.query.request import Key
from discreet.query.schema import Boolean, FreeText, Keys, Schema

__all__ = ["LISTED", "MISSING", "Atom", "Line", "atoms_of", "lines"]

LISTED = 20_000
"""So many values of an axis are evaluated one by one at most."""
_FEW = 64
"""Up to so many runs are told apart by comparisons, which databases make one after the other."""
MISSING = -1
"""What stands for a missing value among the numbers of runs."""


@dataclass(frozen=True, slots=True)
class Atom:
    """An expression that a question depends on.

    Attributes:
        value: the expression.
        among: where it is grouped by, the keys that are told apart; None where any value matters.
    """

    value: e.Expr
    among: tuple[Key, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        found = (n.name for n in e.walk(self.value) if isinstance(n, e.Column))
        return tuple(dict.fromkeys(found))


def atoms_of(condition: e.Expr) -> Iterator[Atom]:
    """The parts of a condition that AND, OR and NOT join."""
    match condition:
        case e.Logic(operands=operands):
            for part in operands:
                yield from atoms_of(part)
        case e.Not(operand=operand):
            yield from atoms_of(operand)
        case _:
            yield Atom(condition)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One axis: columns that are told apart together.

    Attributes:
        columns: their names.
        keys: what an engine groups by, so that every group is in one class.
        rows: for each class a row that stands for it.
        places: the class of each group that an engine can return.
    """

    columns: tuple[str, ...]
    keys: tuple[e.Expr, ...]
    rows: tuple[Mapping[str, Value], ...]
    places: Mapping[tuple[Key, ...], int]


def lines(atoms: Iterable[Atom], schema: Schema) -> tuple[Line, ...]:
    """The axes of some atoms; QueryError where their values are not public, or too many."""
    each = tuple(dict.fromkeys(atom for atom in atoms if atom.columns))
    found = []
    for names in _together([atom.columns for atom in each]):
        own = [atom for atom in each if atom.columns[0] in names]
        columns = [_column(name, own) for name in names]
        for column in columns:
            _check_public(column, schema)
        if len(columns) == 1 and isinstance(columns[0].kind, Number | Day):
            declared = schema.declaration(names[0])
            if not isinstance(declared, Keys):
                found.append(_ordered(columns[0], own, schema))
                continue
        found.append(_listed(columns, own, schema))
    return tuple(found)


def _together(sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Columns that share an atom, directly or by others, in the order of their first use."""
    groups: list[dict[str, None]] = []
    for names in sets:
        joined = dict.fromkeys(names)
        apart = []
        for group in groups:
            if joined.keys() & group.keys():
                joined = group | joined
            else:
                apart.append(group)
        groups = [*apart, joined]
    order = list(dict.fromkeys(name for names in sets for name in names))
    return sorted((tuple(group) for group in groups), key=lambda names: order.index(names[0]))


def _column(name: str, atoms: Sequence[Atom]) -> e.Column:
    inner = (node for atom in atoms for node in e.walk(atom.value))
    return next(node for node in inner if isinstance(node, e.Column) and node.name == name)


def _check_public(column: e.Column, schema: Schema) -> None:
    if isinstance(schema.declaration(column.name), FreeText):
        raise QueryError(
            f"the values of {column.name!r} are not public: questions that are answered together "
            "need them declared, as dp.Keys([...]), dp.Bounds(low, high) or dp.Dates(first, last)"
        )


def _signature(atoms: Sequence[Atom], schema: Schema) -> Callable[[Mapping[str, Value]], Any]:
    """What all atoms say of a row."""
    meanings = [
        (compiled(atom.value, schema.tables), None if atom.among is None else set(atom.among))
        for atom in atoms
    ]

    def said(row: Mapping[str, Value]) -> tuple[Value, ...]:
        values = []
        for meaning, among in meanings:
            value = meaning(row)
            values.append(value if among is None or value in among else None)
        return tuple(values)

    return said


def _listed(columns: Sequence[e.Column], atoms: Sequence[Atom], schema: Schema) -> Line:
    """Every combination of values is looked at."""
    names = tuple(column.name for column in columns)
    domains = [_values(column, schema) for column in columns]
    sizes = [
        len(domain) + column.kind.nullable for domain, column in zip(domains, columns, strict=True)
    ]
    if math.prod(sizes) > LISTED:
        told = " and ".join(names)
        raise QueryError(
            f"a question depends on {told} at once, with {math.prod(sizes):,} combinations of "
            f"values; at most {LISTED:,} can be told apart: use coarser columns, or compare each "
            "with constants"
        )
    said = _signature(atoms, schema)
    kept: dict[Any, int] = {}
    rows: list[Mapping[str, Value]] = []
    places: dict[tuple[Key, ...], int] = {}
    every = [
        [*domain, *([None] if column.kind.nullable else [])]
        for domain, column in zip(domains, columns, strict=True)
    ]
    for values in product(*every):
        row = dict(zip(names, values, strict=True))
        place = kept.setdefault(said(row), len(kept))
        places[values] = place
        if place == len(rows):
            rows.append(row)
    return Line(names, tuple(columns), tuple(rows), places)


def _values(column: e.Column, schema: Schema) -> Sequence[Any]:
    match schema.declaration(column.name):
        case Keys(values=values):
            return values
        case Boolean():
            return (False, True)
        case _:
            return _span(column)


def _span(column: e.Column) -> Sequence[Any]:
    """All values of a number or date, in order, made when they are asked for."""
    kind = column.kind
    if isinstance(kind, Number):
        return range(kind.low, kind.high + 1)
    assert isinstance(kind, Day)  # noqa: S101 - the other kinds were met before
    return _Days(kind.low, kind.high)


class _Days(Sequence[date]):
    def __init__(self, low: date, high: date) -> None:
        self._first, self._size = low.toordinal(), (high - low).days + 1

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < self._size:
            raise IndexError(place)
        return date.fromordinal(self._first + place)


def _ordered(column: e.Column, atoms: Sequence[Atom], schema: Schema) -> Line:
    """Runs of neighbouring values on which all atoms are constant."""
    values, said = _span(column), _signature(atoms, schema)
    name = column.name
    if len(values) <= LISTED:
        told = [said({name: value}) for value in values]
        starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(told)) if a != b)]
    else:
        ends = {0}
        for atom in atoms:
            ends.update(_changes(atom.value, atom.among or (), column, values, schema))
        every = sorted(place for place in ends if place < len(values))
        told = [said({name: values[place]}) for place in every]
        starts = [
            0,
            *(b for b, one, two in zip(every[1:], told, told[1:], strict=False) if one != two),
        ]
    kept: dict[Any, int] = {}
    rows: list[Mapping[str, Value]] = []
    places: dict[tuple[Key, ...], int] = {}

    def add(key: Key, value: Value) -> None:
        row = {name: value}
        place = kept.setdefault(said(row), len(kept))
        places[key,] = place
        if place == len(rows):
            rows.append(row)

    grouped = _grouped(column, values, starts)
    for key, place in grouped.places:
        add(key, values[place])
    if column.kind.nullable:
        add(grouped.missing, None)
    return Line((name,), (grouped.by,), tuple(rows), places)


@dataclass(frozen=True, slots=True)
class _Grouped:
    """What an engine groups by: each key with the place of a value that has it."""

    by: e.Expr
    places: Iterable[tuple[Key, int]]
    missing: Key = None


def _grouped(column: e.Column, values: Sequence[Any], starts: Sequence[int]) -> _Grouped:
    """Few runs: their numbers. Else the values, or steps of equal width, where those are few."""
    kind = column.kind
    if len(starts) > _FEW and len(values) <= LISTED:
        return _Grouped(column, zip(values, range(len(values)), strict=True))
    step = math.gcd(*starts)
    if len(starts) > _FEW and isinstance(kind, Number) and len(values) <= LISTED * step:
        moved = total.add(column, total.constant(kind.least), minus=True)
        by = total.floor(total.multiply(moved, total.constant(1 / (step * kind.grid))))
        return _Grouped(by, ((n, n * step) for n in range(-(-len(values) // step))))
    by = _numbered(column, [values[start] for start in starts])
    return _Grouped(by, enumerate(starts), MISSING)


def _numbered(column: e.Column, starts: Sequence[Any]) -> e.Expr:
    """The number of the run that a value is in: a balanced tree of comparisons."""

    def inside(low: int, high: int) -> e.Expr:
        if high - low == 1:
            return total.constant(low)
        middle = (low + high) // 2
        below = sugar.compared("<", column, _constant(starts[middle], column))
        return total.case([(below, inside(low, middle))], inside(middle, high))

    found = inside(0, len(starts))
    if not column.kind.nullable:
        return found
    return total.case([(total.is_null(column), total.constant(MISSING))], found)


def _constant(held: Any, column: e.Column) -> e.Expr:
    kind = column.kind
    return total.constant(held * kind.grid if isinstance(kind, Number) else held)


def _changes(
    node: e.Expr, targets: Sequence[Any], column: e.Column, values: Sequence[Any], schema: Schema
) -> set[int]:
    """Places at which an expression may change: all where it does, compared with the targets."""
    inner = list(e.children(node))
    match node:
        case _ if (rises := _rises(node)) is not None:
            return _crossings(node, targets, column, values, schema, rises=rises)
        case e.Compare(left=left, right=e.Literal(value=value)):
            return _changes(left, (value,), column, values, schema)
        case e.Compare(left=e.Literal(value=value), right=right):
            return _changes(right, (value,), column, values, schema)
        case e.Member(operand=operand, values=listed):
            return _changes(operand, [one.value for one in listed], column, values, schema)
        case e.Logic() | e.Not() | e.IsNull():
            pass
        case e.Case() | e.Coalesce():
            found: set[int] = set()
            for part in inner:
                found |= _changes(part, targets, column, values, schema)
            return found
        case _:
            raise QueryError(
                f"{column.name!r} has {len(values):,} values, and a question depends on it in a "
                "way that is not a comparison with constants; write it as comparisons, or let the "
                f"owner declare a coarser grid (up to {LISTED:,} values are looked at one by one)"
            )
    return set().union(*(_changes(part, (), column, values, schema) for part in inner))


def _rises(node: e.Expr) -> int | None:
    """1 where it never falls with its column, -1 where it never rises, 0 for constants."""
    found: int | None = None
    match node:
        case e.Literal():
            found = 0
        case e.Column():
            found = 1
        case e.Linear(terms=((factor, term),)):
            inner = _rises(term)
            found = None if inner is None else inner * ((factor > 0) - (factor < 0))
        case e.FloorDivide() | e.Logarithm() | e.DateTrunc():
            found = _rises(node.operand)
        case e.DatePart(part="year", operand=operand):
            found = _rises(operand)
        case e.Extreme(operands=operands):
            ways = {_rises(operand) for operand in operands} - {0}
            found = None if None in ways or len(ways) > 1 else next(iter(ways), 0)
        case _:
            pass
    return found


def _crossings(
    node: e.Expr, targets: Sequence[Any], column: e.Column, values: Sequence[Any], schema: Schema,
    *, rises: int,
) -> set[int]:  # fmt: skip
    """The places where an ordered expression reaches and passes each target."""
    meaning, name = compiled(node, schema.tables), column.name
    if not rises:
        return set()
    found: set[int] = set()
    size = len(values)
    for target in targets:
        if target is None:
            continue
        if rises > 0:
            found.add(bisect_left(values, target, key=lambda v: meaning({name: v})))
            found.add(bisect_right(values, target, key=lambda v: meaning({name: v})))
        else:
            turned = range(size)

            def at(place: int) -> Any:
                return meaning({name: values[size - 1 - place]})

            found.add(size - bisect_left(turned, target, key=at))
            found.add(size - bisect_right(turned, target, key=at))
    return found
