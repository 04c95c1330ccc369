"""An expression of a question as SQL, on cleaned columns.

Every node of `discreet.query.expr` has one translation, the same tree for all dialects but for the
few methods of `discreet.engines.dialects`. Invariant: a number is a BIGINT, also a constant where
its type would matter, so that no product is computed in fewer bits.

A value that its SQL needs more than once (the operands of a quotient, the operand of a logarithm)
is given a name in a subquery below, so that statements stay as long as the question.
Tested by tests/engines/test_expressions.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from sqlglot import exp

from discreet.engines.clean import floor_divided
from discreet.engines.dialects import (
    Dialect,
    Node,
    case,
    cast,
    column,
    day,
    number,
    to_integer,
)
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Day, Flag, Kind, Number, Text
from discreet.query.schema import PublicTable

__all__ = ["Translator", "grouped", "null", "typed"]

DEEPEST = 6
"""How deep values that need a name may nest."""

_COMPARISONS = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def null(kind: Kind) -> Node:
    """A missing value of its type."""
    return cast(exp.Null(), type_of(kind))


def type_of(kind: Kind) -> str:
    """The SQL type that holds a kind."""
    match kind:
        case Number():
            return "BIGINT"
        case Flag():
            return "BOOLEAN"
        case Text():
            return "TEXT"
        case _:
            return "DATE"


Constant = int | bool | str | date | None


def typed(value: Constant, kind: Kind, sql: Dialect) -> Node:
    """A constant that has its type wherever it stands."""
    if value is None:
        return null(kind)
    if isinstance(kind, Number) and isinstance(value, int):
        return to_integer(number(int(value)))
    return bare(value, kind, sql)


def bare(value: Constant, kind: Kind, sql: Dialect) -> Node:
    """A constant beside a value that has the type already."""
    match kind, value:
        case _, None:
            return null(kind)
        case Flag(), bool():
            return exp.Boolean(this=value)
        case Number(), int():
            return number(value)
        case Text(), str():
            return sql.string(value)
        case Day(), date():
            return day(value)
        case _:
            raise QueryError(f"the constant {value!r} is not {type_of(kind)}")


@dataclass(slots=True)
class Level:
    """One subquery of named values, and the public tables that it joins."""

    values: list[tuple[str, Node]] = field(default_factory=list)
    joins: list[tuple[str, str, Node]] = field(default_factory=list)
    """For each join: its name, the public table, and the key to find."""


class Translator:
    """Translate expressions for one statement.

    Args:
        sql: the dialect.
        columns: what each cleaned column is called, in the subquery "a".
        tables: the public tables.

    Attributes:
        levels: the subqueries of named values, innermost first; each reads the one before, and
            the first one reads the cleaned columns.
    """

    def __init__(
        self, sql: Dialect, *, columns: Mapping[str, str], tables: Mapping[str, PublicTable]
    ) -> None:
        self._sql = sql
        self._columns = columns
        self._tables = tables
        self._named: dict[e.Expr, tuple[str, int]] = {}
        self._joined: dict[tuple[str, e.Expr], tuple[str, int]] = {}
        self.levels: list[Level] = []

    def __call__(self, node: e.Expr) -> Node:
        """The SQL of an expression."""
        method: Callable[[e.Expr], Node] = getattr(self, f"_{type(node).__name__}")
        return method(node)

    def _at(self, text: str) -> Node:
        return column(text, "a")

    # values that need a name

    def _depth(self, node: e.Expr) -> int:
        """How many levels of named values an expression stands on."""
        return max(
            (self._named[inner][1] for inner in e.walk(node) if inner in self._named), default=0
        )

    def named(self, node: e.Expr) -> Node:
        """The value of an expression, computed once in a subquery below."""
        if isinstance(node, e.Column | e.Literal):
            return self(node)
        if node not in self._named:
            made = self(node)
            if node not in self._named:  # a lookup names itself
                self._name(node, made, self._depth(node) + 1)
        return self._at(self._named[node][0])

    def _name(self, node: e.Expr, made: Node, depth: int) -> None:
        title = f"n{len(self._named)}"
        self._named[node] = (title, depth)
        self._level(depth).values.append((title, made))

    def _level(self, depth: int) -> Level:
        if depth > DEEPEST:
            raise QueryError(f"quotients, logarithms and lookups may nest {DEEPEST} deep at most")
        while len(self.levels) < depth:
            self.levels.append(Level())
        return self.levels[depth - 1]

    # one method for each node

    def _Column(self, node: e.Column) -> Node:  # noqa: N802
        return self._at(self._columns[node.name])

    def _Literal(self, node: e.Literal) -> Node:  # noqa: N802
        return typed(node.value, node.kind, self._sql)

    def _Linear(self, node: e.Linear) -> Node:  # noqa: N802
        total: Node | None = None
        for factor, term in node.terms:
            value = grouped(self(term))
            size = abs(factor)
            scaled = value if size == 1 else exp.Mul(this=value, expression=number(size))
            if total is None:
                total = scaled if factor >= 0 else exp.Neg(this=grouped(scaled))
            else:
                total = (exp.Add if factor >= 0 else exp.Sub)(this=total, expression=scaled)
        if total is None:  # pragma: no cover - a sum without terms is a constant
            return to_integer(number(node.constant))
        if node.constant:
            kind = exp.Add if node.constant > 0 else exp.Sub
            total = kind(this=total, expression=number(abs(node.constant)))
        return total

    def _Product(self, node: e.Product) -> Node:  # noqa: N802
        return exp.Mul(this=grouped(self(node.left)), expression=grouped(self(node.right)))

    def _Quotient(self, node: e.Quotient) -> Node:  # noqa: N802
        """Without its fraction, and one less where that rounded up: both below 0 or neither."""
        above, below = node.left.kind, node.right.kind
        if not isinstance(above, Number) or not isinstance(below, Number):
            raise QueryError("a quotient needs numbers")
        sure = min(above.low, below.low) >= 0 or max(above.high, below.high) <= 0
        left = self(node.left) if sure else self.named(node.left)
        right = self(node.right) if sure else self.named(node.right)
        times = exp.Mul(this=grouped(left), expression=number(node.factor))
        divisor = exp.Nullif(this=right, expression=number(0))
        cut = self._sql.divide(times.copy(), divisor.copy())
        if sure:
            return cut
        rest = exp.NEQ(this=self._sql.remainder(times, divisor), expression=number(0))
        signs = exp.NEQ(
            this=exp.Paren(this=exp.LT(this=left.copy(), expression=number(0))),
            expression=exp.Paren(this=exp.LT(this=right.copy(), expression=number(0))),
        )
        down = case([(exp.And(this=rest, expression=signs), number(1))], number(0))
        return exp.Sub(this=cut, expression=down)

    def _FloorDivide(self, node: e.FloorDivide) -> Node:  # noqa: N802
        kind = node.operand.kind
        low = kind.low if isinstance(kind, Number) else 0
        return floor_divided(grouped(self(node.operand)), low, node.divisor, self._sql)

    def _Remainder(self, node: e.Remainder) -> Node:  # noqa: N802
        return self._sql.remainder(self(node.operand), number(node.divisor))

    def _Absolute(self, node: e.Absolute) -> Node:  # noqa: N802
        return exp.Abs(this=self(node.operand))

    def _Extreme(self, node: e.Extreme) -> Node:  # noqa: N802
        if len(node.operands) == 1:
            return self(node.operands[0])
        return self._sql.extreme(node.which, [self(operand) for operand in node.operands])

    def _Logarithm(self, node: e.Logarithm) -> Node:  # noqa: N802
        value = self.named(node.operand)
        if len(node.knots) == 1:
            nothing = exp.Mul(this=value, expression=number(0))
            return exp.Add(this=nothing, expression=number(node.levels[0]))
        return self._chord(value, node, 0, len(node.knots) - 1)

    def _chord(self, value: Node, node: e.Logarithm, first: int, last: int) -> Node:
        """The chord of the segment that the value lies in, found by halving."""
        if last - first > 1:
            middle = (first + last) // 2
            lower = exp.LT(this=value.copy(), expression=number(node.knots[middle]))
            left = self._chord(value, node, first, middle)
            return case([(lower, left)], self._chord(value, node, middle, last))
        start, base = node.knots[first], node.levels[first]
        run, rise = node.knots[last] - start, node.levels[last] - base
        above = exp.Paren(this=exp.Sub(this=value.copy(), expression=number(start)))
        risen = exp.Mul(this=above, expression=number(rise))
        steps = risen if run == 1 else self._sql.divide(risen, number(run))
        return exp.Add(this=steps, expression=number(base))

    def _FlagNumber(self, node: e.FlagNumber) -> Node:  # noqa: N802
        return self._sql.flag_number(self(node.operand))

    def _Compare(self, node: e.Compare) -> Node:  # noqa: N802
        sides = [self._side(side) for side in (node.left, node.right)]
        return _COMPARISONS[node.op](this=sides[0], expression=sides[1])

    def _side(self, node: e.Expr) -> Node:
        if isinstance(node, e.Literal) and not isinstance(node.kind, Text):
            return bare(node.value, node.kind, self._sql)
        return grouped(self(node))

    def _Logic(self, node: e.Logic) -> Node:  # noqa: N802
        kind = exp.And if node.op == "and" else exp.Or
        total = grouped(self(node.operands[0]))
        for operand in node.operands[1:]:
            total = kind(this=total, expression=grouped(self(operand)))
        return total

    def _Not(self, node: e.Not) -> Node:  # noqa: N802
        return exp.Not(this=grouped(self(node.operand)))

    def _IsNull(self, node: e.IsNull) -> Node:  # noqa: N802
        return exp.Is(this=grouped(self(node.operand)), expression=exp.Null())

    def _Member(self, node: e.Member) -> Node:  # noqa: N802
        values = [bare(v.value, v.kind, self._sql) for v in node.values]
        return exp.In(this=grouped(self(node.operand)), expressions=values)

    def _Like(self, node: e.Like) -> Node:  # noqa: N802
        return exp.Like(this=grouped(self(node.operand)), expression=self._sql.string(node.pattern))

    def _Case(self, node: e.Case) -> Node:  # noqa: N802
        whens = [(self(condition), self(value)) for condition, value in node.whens]
        return case(whens, self(node.otherwise))

    def _Coalesce(self, node: e.Coalesce) -> Node:  # noqa: N802
        first, *rest = (self(operand) for operand in node.operands)
        return exp.Coalesce(this=first, expressions=rest)

    def _DateTrunc(self, node: e.DateTrunc) -> Node:  # noqa: N802
        value = self(node.operand)
        return value if node.unit == "day" else self._sql.trunc(node.unit, value)

    def _DatePart(self, node: e.DatePart) -> Node:  # noqa: N802
        return self._sql.part(node.part, self(node.operand))

    def _DaysBetween(self, node: e.DaysBetween) -> Node:  # noqa: N802
        return self._sql.days(self(node.left), self(node.right))

    def _Lookup(self, node: e.Lookup) -> Node:  # noqa: N802
        if node not in self._named:
            if node.table not in self._tables:
                raise QueryError(f"there is no public table {node.table!r}")
            at = (node.table, node.key)
            if at not in self._joined:
                key = self(node.key)
                depth = self._depth(node.key) + 1
                title = f"l{len(self._joined)}"
                self._joined[at] = (title, depth)
                self._level(depth).joins.append((title, node.table, key))
            title, depth = self._joined[at]
            place = self._tables[node.table].columns.index(node.column) + 1
            self._name(node, column(f"v{place}", title), depth)
        return self._at(self._named[node][0])


def grouped(node: Node) -> Node:
    """In brackets, unless it binds tightly already."""
    tight = isinstance(node, exp.Column | exp.Literal | exp.Func | exp.Paren | exp.Boolean)
    return node if tight and not isinstance(node, exp.Binary) else exp.Paren(this=node)
