"""Expressions about one row: a tree of SQL becomes an expression that has a value for every row.

An allow-list: a kind of node that has no rule here is refused by name, and so is every word of an
allowed node that the rule does not read. Rules build with `total`, which refuses what could fail.
Tested by tests/query/test_parse_expr.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query import calendar, sugar, total
from discreet.query import expr as e
from discreet.query.kinds import Day, Flag, Number, Text, said
from discreet.query.schema import Schema
from discreet.query.tree import Node, found, number, only, part, refused
from discreet.query.words import listed, meant

__all__ = [
    "COMPARISONS", "Names", "between", "compared", "constant_number", "digits_of", "is_aggregate",
    "read", "spine", "text_of",
]  # fmt: skip

_AGGREGATES = frozenset(
    {"count", "countif", "sum", "avg", "variance", "variancepop", "stddev", "stddevpop"}
    | {"stddevsamp", "median", "quantile", "approxquantile", "percentilecont", "percentiledisc"}
    | {"min", "max", "filter", "withingroup"}
)
"""The kinds of nodes that make one number out of many rows."""
_AGGREGATE_NAMES = frozenset(
    {"PRODUCT", "GEOMEAN", "GEOMETRIC_MEAN", "MEAN", "PEOPLE", "STD", "VAR", "QUANTILE_CONT"}
)
"""Aggregates that the SQL parser knows as functions without a meaning."""

COMPARISONS = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_PARTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "weekofyear": "week",
    "day": "day",
    "dayofmonth": "day",
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "dayofyear": "dayofyear",
    "doy": "dayofyear",
}
_WHERE = "an expression about a row"
Memory = dict[int, e.Expr | tuple[str, str | None]]
"""What was read; or the words with which it was refused, and the name that is no column."""


class Names(Protocol):
    """What the names in an expression mean: see `discreet.query.scope`."""

    @property
    def schema(self) -> Schema:
        """The table."""
        ...

    @property
    def memory(self) -> Memory | None:
        """What was read or refused before, by the identity of its node; None keeps nothing."""
        ...

    def column(self, node: exp.Column) -> e.Expr:
        """The expression behind a name."""
        ...


Rule = tuple[tuple[str, ...], Callable[[Any, Names], e.Expr]]


def read(node: Node, names: Names) -> e.Expr:
    """The expression that a tree means."""
    memory = names.memory
    if memory is None:
        return _read(node, names)
    if id(node) not in memory:
        try:
            memory[id(node)] = _read(node, names)
        except QueryError as error:
            memory[id(node)] = error.problem, error.column
    known = memory[id(node)]
    if isinstance(known, tuple):
        raise QueryError(known[0], column=known[1])
    return known


def _read(node: Node, names: Names) -> e.Expr:
    if not isinstance(node, exp.Expression):
        raise QueryError("an argument is missing")
    if is_aggregate(node):
        raise QueryError(
            "an aggregate cannot stand in WHERE, in GROUP BY or inside another aggregate; "
            "conditions on released numbers go into HAVING"
        )
    rule = _RULES.get(node.key)
    if rule is None:
        raise refused(node, _WHERE)
    allowed, make = rule
    only(node, *allowed)
    return make(node, names)


def is_aggregate(node: Any) -> bool:
    """Whether the node makes one number out of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() in _AGGREGATE_NAMES
    return node.key in _AGGREGATES


def spine(node: Node, *keys: str) -> list[tuple[str, Node]]:
    """A chain a + b - c as [("", a), ("add", b), ("sub", c)], however long it is."""
    links: list[tuple[str, Node]] = []
    while node.key in keys:
        only(node, "this", "expression")
        links.append((node.key, part(node, "expression")))
        node = node.this
    return [("", node), *reversed(links)]


def _column(node: exp.Column, names: Names) -> e.Expr:
    return names.column(node)


def _literal(node: exp.Literal, _: Names) -> e.Expr:
    text = str(node.this)
    return total.constant(text if node.args.get("is_string") else number(text))


def _boolean(node: exp.Boolean, _: Names) -> e.Expr:
    return total.constant(bool(node.this))


def _null(_node: exp.Null, _: Names) -> e.Expr:
    return total.constant(None)


def _paren(node: exp.Paren, names: Names) -> e.Expr:
    return read(node.this, names)


def _neg(node: exp.Neg, names: Names) -> e.Expr:
    return total.negate(read(node.this, names))


def _sum(node: Node, names: Names) -> e.Expr:
    links = spine(node, "add", "sub")
    made = read(links[0][1], names)
    for sign, link in links[1:]:
        other = read(link, names)
        if sign == "sub" and isinstance(made.kind, Day):
            made = calendar.days_between(made, sugar.as_date(other))
        else:
            made = total.add(made, other, minus=sign == "sub")
    return made


def _mul(node: exp.Mul, names: Names) -> e.Expr:
    return total.multiply(read(node.this, names), read(node.expression, names))


def _div(node: exp.Div, names: Names) -> e.Expr:
    return total.divide(read(node.this, names), read(node.expression, names))


def _mod(node: exp.Mod, names: Names) -> e.Expr:
    return total.remainder(read(node.this, names), read(node.expression, names))


def _pow(node: exp.Pow, names: Names) -> e.Expr:
    power = constant_number(node.expression, "the exponent of POWER")
    if power not in (1, 2, 3, 4):
        raise QueryError("POWER takes the exponents 1, 2, 3 and 4 in an expression about a row")
    base = made = read(node.this, names)
    for _ in range(int(power) - 1):
        made = total.multiply(made, base)
    return made


def _compare(node: Node, names: Names) -> e.Expr:
    left, right = read(node.this, names), read(part(node, "expression"), names)
    return compared(node.key, left, right, names)


def compared(key: str, left: e.Expr, right: e.Expr, names: Names) -> e.Expr:
    """A comparison, by the kind of its node."""
    op = COMPARISONS[key]
    return _equal(op, left, right, names) if op in ("=", "<>") else sugar.compared(op, left, right)


def _equal(op: str, left: e.Expr, right: e.Expr, names: Names) -> e.Expr:
    """A comparison with = or <>, in which declared keys are spelled right."""
    for value, other in ((left, right), (right, left)):
        if isinstance(value, e.Column):
            held = sugar.as_date(other) if isinstance(value.kind, Day) else other
            sugar.expect_keys(names.schema, value, [held])
    return sugar.compared(op, left, right)


def _between(node: exp.Between, names: Names) -> e.Expr:
    value = read(node.this, names)
    return between(value, read(part(node, "low"), names), read(part(node, "high"), names))


def between(value: e.Expr, low: e.Expr, high: e.Expr) -> e.Expr:
    """Whether a value is low or more, and high or less."""
    return total.all_of([sugar.compared(">=", value, low), sugar.compared("<=", value, high)])


def _in(node: exp.In, names: Names) -> e.Expr:
    value = read(node.this, names)
    values = [read(item, names) for item in node.expressions]
    if isinstance(value.kind, Day):
        values = [sugar.as_date(item) for item in values]
    if isinstance(value, e.Column):
        sugar.expect_keys(names.schema, value, values)
    return total.member(value, values)


def _like(node: exp.Like, names: Names) -> e.Expr:
    made = total.like(read(node.this, names), text_of(node.expression, "a LIKE pattern"))
    return total.negation(made) if node.args.get("negate") else made


def text_of(node: Node | None, what: str) -> str:
    """A constant text."""
    if not isinstance(node, exp.Literal) or not node.args.get("is_string"):
        raise QueryError(f"{what} has to be a text in quotes")
    return str(node.this)


def _is(node: exp.Is, names: Names) -> e.Expr:
    value, right = read(node.this, names), node.expression
    if isinstance(right, exp.Null):
        return total.is_null(value)
    if not isinstance(right, exp.Boolean):
        raise QueryError("IS is followed by NULL, NOT NULL, TRUE or FALSE")
    return sugar.surely(value if right.this else total.negation(value))


def _same(node: Node, names: Names) -> e.Expr:
    """IS NOT DISTINCT FROM: two missing values are the same."""
    left, right = read(node.this, names), read(part(node, "expression"), names)
    _equal("=", left, right, names)
    same = sugar.same(left, right)
    return same if node.key == "nullsafeeq" else total.negation(same)


def _logic(node: Node, names: Names) -> e.Expr:
    parts = [read(link, names) for _, link in spine(node, node.key)]
    return total.all_of(parts) if node.key == "and" else total.any_of(parts)


def _not(node: exp.Not, names: Names) -> e.Expr:
    return total.negation(read(node.this, names))


def _case(node: exp.Case, names: Names) -> e.Expr:
    subject = None if node.this is None else read(node.this, names)
    whens = []
    for branch in part(node, "ifs"):
        only(branch, "this", "true")
        condition = read(branch.this, names)
        if subject is not None:
            condition = _equal("=", subject, condition, names)
        whens.append((condition, read(part(branch, "true"), names)))
    default = found(node, "default")
    return total.case(whens, None if default is None else read(default, names))


def _if(node: exp.If, names: Names) -> e.Expr:
    otherwise = found(node, "false")
    last = None if otherwise is None else read(otherwise, names)
    return total.case([(read(node.this, names), read(part(node, "true"), names))], last)


def _nullif(node: exp.Nullif, names: Names) -> e.Expr:
    value, other = read(node.this, names), read(node.expression, names)
    return total.case([(_equal("=", value, other, names), total.constant(None))], value)


def _all(node: Node, names: Names) -> list[e.Expr]:
    return [read(item, names) for item in (node.this, *node.expressions)]


def _coalesce(node: exp.Coalesce, names: Names) -> e.Expr:
    return total.coalesce(_all(node, names))


def _extreme(node: Node, names: Names) -> e.Expr:
    return total.extreme(node.key, _all(node, names))


_UNARY = {
    "abs": total.absolute,
    "floor": total.floor,
    "ceil": total.ceil,
    "ln": total.logarithm,
}


def _unary(node: Node, names: Names) -> e.Expr:
    return _UNARY[node.key](read(node.this, names))


def _round(node: exp.Round, names: Names) -> e.Expr:
    return total.round_to(read(node.this, names), digits_of(node))


def digits_of(node: Node) -> int:
    """The second argument of ROUND."""
    decimals = found(node, "decimals")
    digits = Fraction(0) if decimals is None else constant_number(decimals, "ROUND's digits")
    if digits.denominator != 1 or not -18 <= digits <= 18:
        raise QueryError("ROUND takes a whole number of digits between -18 and 18")
    return int(digits)


def _sign(node: exp.Sign, names: Names) -> e.Expr:
    return sugar.sign(read(node.this, names))


def constant_number(node: Node, what: str) -> Fraction:
    """A number that is written out."""
    made = read(node, _NoNames())
    if not isinstance(made, e.Literal) or not isinstance(made.kind, Number) or made.value is None:
        raise QueryError(f"{what} has to be a constant number")
    return int(made.value) * made.kind.grid  # type: ignore[arg-type]


class _NoNames:
    memory = None

    @property
    def schema(self) -> Schema:
        raise QueryError("a constant was expected, not the value of a public table")

    def column(self, node: exp.Column) -> e.Expr:
        raise QueryError(f"a constant was expected, not the name {node.name[:40]!r}")


_WHOLE = frozenset({"INT", "BIGINT", "SMALLINT", "TINYINT", "INT128"})
_REAL = frozenset({"DOUBLE", "FLOAT"})
_TEXT = frozenset({"VARCHAR", "TEXT"})


def _cast(node: exp.Cast, names: Names) -> e.Expr:
    """Only what cannot fail and changes nothing."""
    to = part(node, "to")
    target = str(getattr(to.this, "value", to.this)).upper()
    if getattr(to, "expressions", None):
        target = str(to)
    value = read(node.this, names)
    kind = value.kind
    match kind:
        case Text() if target == "DATE" and isinstance(value, e.Literal):
            return sugar.as_date(value)
        case Day() if target == "DATE":
            return value
        case Text() if target in _TEXT:
            return value
        case Flag() if target in _WHOLE | _REAL:
            return total.flag_number(value)
        case Number() if target in _REAL or (target in _WHOLE and kind.grid.denominator == 1):
            return value
    remedy = "; say ROUND(x) or FLOOR(x)" if isinstance(kind, Number) else ""
    raise QueryError(f"a CAST of {said(kind)} to {target[:40]} could change or fail{remedy}")


def _to_date(node: Node, names: Names) -> e.Expr:
    value = sugar.as_date(read(node.this, names))
    calendar.day(value, "DATE")
    return value


def _trunc_date(node: Node, names: Names) -> e.Expr:
    unit = str(getattr(part(node, "unit"), "name", "")).lower()
    return calendar.date_trunc(unit, sugar.as_date(read(node.this, names)))


def _extract(node: exp.Extract, names: Names) -> e.Expr:
    return _part(node.this.name, node.expression, names)


def _part(name: str, operand: Node, names: Names) -> e.Expr:
    known = _PARTS.get(name.lower(), name.lower())
    return calendar.date_part(known[:40], sugar.as_date(read(operand, names)))


def _part_function(node: Node, names: Names) -> e.Expr:
    return _part(node.key, node.this, names)


def _datediff(node: exp.DateDiff, names: Names) -> e.Expr:
    unit = found(node, "unit")
    if unit is not None and str(unit.name).lower() != "day":
        raise QueryError("DATE_DIFF counts days: say DATE_DIFF('day', first, last)")
    later, earlier = read(node.this, names), read(node.expression, names)
    return calendar.days_between(sugar.as_date(later), sugar.as_date(earlier))


def _width_bucket(node: Node, names: Names) -> e.Expr:
    """0 below low, n + 1 from high on, else the bucket from 1 to n."""
    value = read(node.this, names)
    low, high, buckets = (
        constant_number(part(node, name), "a bound of WIDTH_BUCKET")
        for name in ("min_value", "max_value", "num_buckets")
    )
    return sugar.bucket(value, low, high, buckets)


def _anonymous(node: exp.Anonymous, names: Names) -> e.Expr:
    arguments: Sequence[Node] = node.expressions
    match str(node.this).upper(), len(arguments):
        case "DATE_PART" | "DATEPART", 2:
            return _part(text_of(arguments[0], "the part of a date"), arguments[1], names)
        case "LOOKUP", 3:
            table = text_of(arguments[0], "the table of LOOKUP")
            column = text_of(arguments[1], "the column of LOOKUP")
            _expect_public(names.schema, table, column)
            return sugar.lookup(names.schema, table, column, read(arguments[2], names))
        case _:
            raise refused(node, _WHERE)


def _expect_public(schema: Schema, table: str, column: str) -> None:
    public = schema.tables.get(table)
    if public is None:
        close, there = meant(table, schema.tables), listed(schema.tables, 30) or "none"
        raise QueryError(f"there is no public table {table[:40]!r}{close}; there are: {there}")
    if column not in public.columns:
        close = meant(column, public.columns)
        raise QueryError(
            f"there is no public column {column[:40]!r} of {table[:40]!r}{close}; "
            f"there are: {listed(public.columns, 30)}"
        )


_BINARY = ("this", "expression")
_RULES: dict[str, Rule] = {
    "column": (("this", "table"), _column),
    "literal": (("this", "is_string"), _literal),
    "boolean": (("this",), _boolean),
    "null": ((), _null),
    "paren": (("this",), _paren),
    "neg": (("this",), _neg),
    "add": (_BINARY, _sum),
    "sub": (_BINARY, _sum),
    "mul": (_BINARY, _mul),
    "div": (_BINARY, _div),
    "mod": (_BINARY, _mod),
    "pow": (_BINARY, _pow),
    **dict.fromkeys(COMPARISONS, (_BINARY, _compare)),
    "between": (("this", "low", "high"), _between),
    "in": (("this", "expressions"), _in),
    "like": ((*_BINARY, "negate"), _like),
    "is": (_BINARY, _is),
    "nullsafeeq": (_BINARY, _same),
    "nullsafeneq": (_BINARY, _same),
    "and": (_BINARY, _logic),
    "or": (_BINARY, _logic),
    "not": (("this",), _not),
    "case": (("this", "ifs", "default"), _case),
    "if": (("this", "true", "false"), _if),
    "nullif": (_BINARY, _nullif),
    "coalesce": (("this", "expressions"), _coalesce),
    "least": (("this", "expressions", "ignore_nulls"), _extreme),
    "greatest": (("this", "expressions", "ignore_nulls"), _extreme),
    **dict.fromkeys(_UNARY, (("this",), _unary)),
    "round": (("this", "decimals"), _round),
    "sign": (("this",), _sign),
    "cast": (("this", "to"), _cast),
    "date": (("this",), _to_date),
    "datetrunc": (("this", "unit"), _trunc_date),
    "timestamptrunc": (("this", "unit"), _trunc_date),
    "extract": (_BINARY, _extract),
    **dict.fromkeys(_PARTS, (("this",), _part_function)),
    "datediff": ((*_BINARY, "unit", "date_part_boundary"), _datediff),
    "widthbucket": (("this", "min_value", "max_value", "num_buckets"), _width_bucket),
    "anonymous": (("this", "expressions"), _anonymous),
}
