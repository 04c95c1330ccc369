"""The exact cells of a grid over the rows of a table: what a publication is made of.

A grid has one to three axes. An axis is a number that follows from a row (a column, or an
expression), from `low` to `high`, in so many cells of equal width; the last one includes `high`.
Rows where one of the numbers is missing or outside are in no cell: they are left out before people
are bounded. Only cells that hold somebody come back from the engine, so a grid may have far more
cells than a table has rows.

Guarantee. None: the cells are private. `sensitivity` bounds how far one person moves them: the sum
over all cells of the differences, in units of 1/`scale` rows, is at most that.
Proof. The theorems of `discreet.query.stability` for the number of rows in groups whose keys are
not enumerated: they bound people before rows are grouped, whatever the keys are.
Tested by tests/query/test_cells.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, rational, shown, whole
from discreet.query import expr as e
from discreet.query import sugar, total
from discreet.query.blocks import blocks_of
from discreet.query.build import Query
from discreet.query.plan import Grouping, Plan, aggregates
from discreet.query.request import Part, Request
from discreet.query.schema import PerRow, Schema
from discreet.query.sql import expression
from discreet.query.stability import Stability, stabilities

__all__ = ["MOST_AXES", "Axis", "Bounded", "Counted", "counted", "one_line"]

MOST_AXES = 3
_DEEPEST = 60
"""A grid has at most 2^60 cells."""


@dataclass(frozen=True, slots=True, init=False)
class Axis:
    """A number of a row, in cells of equal width.

    Attributes:
        of: the column, or an expression in SQL.
        low: where the first cell begins.
        high: where the last one ends; it belongs to that.
        bins: how many cells.

    >>> axis = Axis("salary", 0, 400_000, 4096)
    >>> axis.place(100_000), axis.edge(1024)
    (Fraction(1024, 1), Fraction(100000, 1))
    """

    of: str
    low: Fraction
    high: Fraction
    bins: int

    def __init__(self, of: str, low: Exact, high: Exact, bins: int) -> None:
        given: object = of
        if not isinstance(given, str) or not given.strip():
            raise ParameterError("column", type(given).__name__, "must be a name or an expression")
        one_line(given, "column")
        object.__setattr__(self, "of", given)
        object.__setattr__(self, "low", rational(low, name="range"))
        object.__setattr__(self, "high", rational(high, name="range"))
        most = 1 << _DEEPEST
        object.__setattr__(self, "bins", whole(bins, name="bins", at_least=1, at_most=most))
        if not self.low < self.high:
            raise ParameterError("range", (low, high), "must rise: (low, high)")

    @property
    def width(self) -> Fraction:
        """Of one cell."""
        return (self.high - self.low) / self.bins

    def edge(self, cell: int) -> Fraction:
        """Where a cell begins; where the last one ends for `bins`."""
        return self.low + cell * self.width

    def place(self, value: Exact) -> Fraction:
        """How many cells there are below a value; 0 and `bins` outside."""
        where = (rational(value, name="value") - self.low) / self.width
        return min(max(where, Fraction(0)), Fraction(self.bins))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "of": self.of, "low": str(self.low), "high": str(self.high), "bins": self.bins,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Axis:
        """Read `to_dict` back."""
        if set(values) != {"of", "low", "high", "bins"}:
            raise ParameterError("axis", sorted(values), "must have of, low, high, bins")
        return cls(values["of"], values["low"], values["high"], values["bins"])

    def __str__(self) -> str:
        return f"{self.of} from {shown(self.low)} to {shown(self.high)} in {self.bins:,} cells"


@dataclass(frozen=True, slots=True)
class Bounded:
    """What an engine is asked for counts, and how far one person moves them.

    Attributes:
        request: for the engine; its one part has the numbers of the cells, or groups, as keys.
        stability: the proof, and how people are bounded.
    """

    request: Request
    stability: Stability

    @property
    def sensitivity(self) -> int:
        """How far one person moves all cells together, in units."""
        return self.stability.l1

    @property
    def scale(self) -> int:
        """How many units a row is that counts in full."""
        return self.stability.bounding.scale


@dataclass(frozen=True, slots=True)
class Counted(Bounded):
    """The cells of a grid.

    Attributes:
        axes: of the grid.
    """

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells along each axis."""
        return tuple(axis.bins for axis in self.axes)


def one_line(text: str, name: str) -> None:
    """Refuse what could change how a ledger or a release is shown: it is kept as it was said."""
    if not text.isprintable():
        raise ParameterError(name, None, "must be one line, without letters that are not shown")


def counted(schema: Schema, axes: Sequence[Axis], where: str | None = None) -> Counted:
    """What to ask for the cells of a grid; QueryError where nothing bounds a person.

    Args:
        schema: the table.
        axes: of the grid, one to three.
        where: only rows for which this condition holds.
    """
    if not 1 <= len(axes) <= MOST_AXES:
        raise ParameterError("axes", len(axes), f"must be one to {MOST_AXES}")
    if sum((axis.bins - 1).bit_length() for axis in axes) > _DEEPEST:
        raise ParameterError("bins", [a.bins for a in axes], f"must be below 2^{_DEEPEST} cells")
    if where is not None:
        one_line(where, "where")
    conditions = [] if where is None else [_condition(where, schema)]
    places = []
    for axis in axes:
        inside, place = _placed(axis, schema)
        conditions += inside
        places.append(place)
    plan = _plan(schema, total.all_of(conditions), places)
    (block,) = set(
        blocks_of(aggregates(plan), rows_are_people=isinstance(schema.unit, PerRow)).values()
    )
    stability = stabilities(block, plan, schema)[0]  # the one that keeps the most rows
    part = Part(tuple(places), block.totals, stability.bounding)
    return Counted(Request(schema, plan.where, (part,)), stability, tuple(axes))


def _plan(schema: Schema, where: e.Expr, places: Sequence[e.Expr]) -> Plan:
    """The count of rows in groups whose keys nobody lists."""
    plan = Query(schema).count().plan
    groupings = tuple(Grouping(f"c{i}", place, None) for i, place in enumerate(places))
    return replace(plan, where=where, groupings=groupings)


def _condition(text: str, schema: Schema) -> e.Expr:
    found = expression(text, schema)
    total.flag(found, "a condition")
    return found


def _placed(axis: Axis, schema: Schema) -> tuple[list[e.Expr], e.Expr]:
    """Conditions under which a row is on an axis, and the number of its cell."""
    value = expression(axis.of, schema)
    kind = total.number(value, f"the axis {axis.of!r}")
    if axis.width < kind.grid:
        raise QueryError(
            f"{axis.of} has steps of {shown(kind.grid)}: from {shown(axis.low)} to "
            f"{shown(axis.high)} there can be at most {(axis.high - axis.low) // kind.grid:,} cells"
        )
    low, high = total.constant(axis.low), total.constant(axis.high)
    inside = [sugar.compared(">=", value, low), sugar.compared("<=", value, high)]
    below = total.extreme("least", [value, total.constant(axis.high - kind.grid)])
    moved = total.add(below, low, minus=True)
    place = total.floor(total.multiply(moved, total.constant(1 / axis.width)))
    return inside, place
