"""A plan as SQL that a person can read, and that reads back as the same plan.

Guarantee. `parse(to_sql(plan, schema), schema) == plan` for every plan that `parse` and the fluent
form can make, as long as the text stays within the limits of a question (long lists of given keys
may not). Without the schema the text is for reading: given keys are left out, and the person's
column is called PEOPLE().
Tested by tests/query/test_render.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache

import sqlglot

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.keys import Key, admitted, keys_of, shown_key
from discreet.query.kinds import WIDEST, Number
from discreet.query.plan import (
    Aggregate,
    Grouping,
    Plan,
    Post,
    PostAggregate,
    PostCall,
    PostGroup,
    PostValue,
)
from discreet.query.price import Priced
from discreet.query.schema import PerPerson, Schema
from discreet.remembered import remembered

__all__ = ["expr_sql", "name_sql", "post_sql", "question_sql", "to_sql"]

# how tightly a piece of SQL holds together; an operand that holds less tightly gets parentheses
_OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _ATOM = range(7)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
Piece = tuple[str, int]


def to_sql(plan: Plan, schema: Schema | None = None) -> str:
    """The plan as SQL.

    Args:
        plan: what is asked.
        schema: of which table; with it the text reads back as the same plan.
    """
    return _Writer(plan, schema).sql(plan.where)


def question_sql(question: Priced) -> str:
    """`to_sql` of a priced question under its schema, written once but for what WHERE says.

    All else depends on the condition only in whether it gives the keys that a grouping has.
    """
    plan, schema = question.plan, question.schema
    where = plan.where if plan.combinations is None else None
    usual = question.once("usual keys", lambda: [_keys_of(g, schema) for g in plan.groupings])
    given = tuple([
        grouping.keys != admitted(keys, grouping.value, where)
        for grouping, keys in zip(plan.groupings, usual, strict=True)
    ])  # fmt: skip
    writer = question.once(("sql", given), lambda: _Writer(plan, schema))
    return writer.sql(plan.where)


def expr_sql(node: e.Expr) -> str:
    """An expression about a row as SQL, for display.

    >>> from discreet.query import total
    >>> age = e.Column("age", Number(0, 120))
    >>> expr_sql(total.multiply(total.floor(total.divide(age, total.constant(10))),
    ...                         total.constant(10)))
    '10 * FLOOR(age / 10)'
    """
    return _Rows(()).text(node)


def post_sql(post: Post, groupings: Sequence[Grouping] = ()) -> str:
    """A function of released numbers as SQL, for display."""
    plan = Plan("t", None, tuple(groupings), ())
    return _Writer(plan, None).post(post)


@remembered(1024)
def name_sql(name: str) -> str:
    """An identifier, in quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name.upper() not in _reserved():
        return name
    return '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=1)
def _reserved() -> frozenset[str]:
    return frozenset(sqlglot.Dialect.get_or_raise("duckdb").tokenizer_class.KEYWORDS)


def _constant(value: object) -> str:
    """A constant that is no number."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            raise TypeError(type(value).__name__)


def _decimal(value: Fraction) -> str | None:
    """A number above 0 written out with a point, where that is exact and not too long."""
    left, twos, fives = value.denominator, 0, 0
    while left % 2 == 0:
        left, twos = left // 2, twos + 1
    while left % 5 == 0:
        left, fives = left // 5, fives + 1
    places = max(twos, fives)
    if left != 1 or places > 480:
        return None
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"


def _multiple(n: int, grid: Fraction) -> Piece:
    """The number n * grid."""
    if grid.denominator == 1:
        return str(n * grid.numerator), _PRODUCT if n < 0 else _ATOM
    return _number(n * grid)


def _number(value: Fraction) -> Piece:
    sign = "-" if value < 0 else ""
    written = _decimal(abs(value))
    if written is not None:
        return sign + written, _PRODUCT if sign else _ATOM
    return f"{sign}{abs(value.numerator)} / {value.denominator}", _PRODUCT


def _inside(piece: Piece, tightness: int) -> str:
    text, own = piece
    return text if own >= tightness else f"({text})"


class _Rows:
    """Expressions about a row; the columns in `qualified` are written table.column."""

    def __init__(self, qualified: Iterable[str], table: str = "") -> None:
        self._qualified = {name.lower() for name in qualified}
        self._table = table

    def text(self, node: e.Expr) -> str:
        return self.piece(node)[0]

    def _in(self, node: e.Expr, tightness: int) -> str:
        return _inside(self.piece(node), tightness)

    def _list(self, nodes: Iterable[e.Expr]) -> str:
        return ", ".join(self.text(node) for node in nodes)

    def piece(self, node: e.Expr) -> Piece:
        """The SQL of an expression, and how tightly it holds together."""
        match node:
            case e.Column(name=name):
                there = name.lower() in self._qualified
                return (f"{name_sql(self._table)}." if there else "") + name_sql(name), _ATOM
            case e.Literal(value=value, kind=Number(grid=grid)) if value is not None:
                return _multiple(int(value), grid)  # type: ignore[arg-type]
            case e.Literal(value=value):
                return _constant(value), _ATOM
            case e.Linear():
                return self._linear(node)
            case e.Product(left=left, right=right):
                return f"{self._in(left, _PRODUCT)} * {self._in(right, _ATOM)}", _PRODUCT
            case e.Quotient(left=left, right=right):
                return f"{self._in(left, _PRODUCT)} / {self._in(right, _ATOM)}", _PRODUCT
            case e.DaysBetween(left=left, right=right):
                return f"DATE_DIFF('day', {self.text(right)}, {self.text(left)})", _ATOM
            case e.Compare() | e.Logic() | e.Not() | e.IsNull() | e.Member() | e.Like():
                return self._condition(node)
            case _:
                return self._call(node), _ATOM

    def _condition(self, node: e.Expr) -> Piece:
        match node:
            case e.Compare(op=op, left=left, right=right):
                return f"{self._in(left, _SUM)} {op} {self._in(right, _SUM)}", _COMPARED
            case e.Logic(op=op, operands=operands):
                own = _AND if op == "and" else _OR
                return f" {op.upper()} ".join(self._in(o, own + 1) for o in operands), own
            case e.Not(operand=e.IsNull(operand=operand)):
                return f"{self._in(operand, _SUM)} IS NOT NULL", _COMPARED
            case e.Not(operand=operand):
                return f"NOT {self._in(operand, _ATOM)}", _NOT
            case e.IsNull(operand=operand):
                return f"{self._in(operand, _SUM)} IS NULL", _COMPARED
            case e.Member(operand=operand, values=values):
                return f"{self._in(operand, _SUM)} IN ({self._list(values)})", _COMPARED
            case e.Like(operand=operand, pattern=pattern):
                return f"{self._in(operand, _SUM)} LIKE {_constant(pattern)}", _COMPARED
            case _:  # pragma: no cover - `piece` has looked
                raise TypeError(type(node).__name__)

    def _call(self, node: e.Expr) -> str:  # noqa: C901, PLR0912 - one line for each
        match node:
            case e.FloorDivide():
                return self._rounded(node)
            case e.Remainder(operand=operand, divisor=divisor, kind=kind):
                return f"MOD({self.text(operand)}, {_number(divisor * kind.grid)[0]})"
            case e.Absolute(operand=operand):
                return f"ABS({self.text(operand)})"
            case e.Extreme(which=which, operands=operands):
                return f"{which.upper()}({self._list(operands)})"
            case e.Logarithm(operand=operand):
                return f"LN({self.text(operand)})"
            case e.FlagNumber(operand=operand):
                return f"CAST({self.text(operand)} AS INTEGER)"
            case e.Case(whens=whens, otherwise=otherwise):
                branches = " ".join(f"WHEN {self.text(c)} THEN {self.text(v)}" for c, v in whens)
                return f"CASE {branches} ELSE {self.text(otherwise)} END"
            case e.Coalesce(operands=operands):
                return f"COALESCE({self._list(operands)})"
            case e.DateTrunc(unit=unit, operand=operand):
                return f"DATE_TRUNC('{unit}', {self.text(operand)})"
            case e.DatePart(part=part, operand=operand):
                return f"EXTRACT({part} FROM {self.text(operand)})"
            case e.Lookup(table=table, column=column, key=key):
                return f"LOOKUP({_constant(table)}, {_constant(column)}, {self.text(key)})"
            case _:  # pragma: no cover - `piece` has met the others
                raise TypeError(type(node).__name__)

    def _rounded(self, node: e.FloorDivide) -> str:
        """FLOOR, or ROUND to the power of ten that the step is."""
        step = node.kind.grid
        if step == 1:
            return f"FLOOR({self.text(node.operand)})"
        digits = next((d for d in range(-18, 19) if Fraction(10) ** -d == step), None)
        if digits is None:  # `blocks` makes such nodes; questions do not
            return f"FLOOR({self._in(node.operand, _ATOM)} / {_number(step)[0]})"
        half = e.Linear(((1, node.operand),), 0, node.operand.kind)  # type: ignore[arg-type]
        return f"ROUND({self._linear(half, -step / 2)[0]}, {digits})"

    def _linear(self, node: e.Linear, more: Fraction = Fraction(0)) -> Piece:
        """The sum of share * term, and a constant."""
        grid = node.kind.grid
        terms = [(f * grid / _grid(term), term) for f, term in node.terms]
        constant = node.constant * grid + more
        if len(terms) == 1 and terms[0][0] == 1 and isinstance(terms[0][1], e.Linear):
            return self._linear(terms[0][1], constant)
        signed = [self._share(share, term) for share, term in terms]
        if constant:
            signed.append((constant < 0, _number(abs(constant))))
        negative, first = signed[0]
        text = f"-{_inside(first, _ATOM)}" if negative else first[0]
        for minus, piece in signed[1:]:
            text += f" {'-' if minus else '+'} {_inside(piece, _PRODUCT)}"
        return text, first[1] if len(signed) == 1 and not negative else _SUM

    def _share(self, share: Fraction, term: e.Expr) -> tuple[bool, Piece]:
        """Whether a term is subtracted, and |share| * term."""
        size = abs(share)
        if size == 1:
            return share < 0, self.piece(term)
        if size.numerator == 1 and size.denominator <= WIDEST:
            return share < 0, (f"{self._in(term, _PRODUCT)} / {size.denominator}", _PRODUCT)
        written = _decimal(size)
        if written is not None:
            return share < 0, (f"{written} * {self._in(term, _ATOM)}", _PRODUCT)
        times = f"{size.numerator} * {self._in(term, _ATOM)} / {size.denominator}"
        return share < 0, (times, _PRODUCT)


def _grid(term: e.Expr) -> Fraction:
    return term.kind.grid if isinstance(term.kind, Number) else Fraction(1)


_SYMBOLS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}
_FUNCTIONS = {
    "count": "COUNT", "sum": "SUM", "mean": "AVG", "variance": "VAR_POP", "stddev": "STDDEV_POP",
    "product": "PRODUCT", "geometric_mean": "GEOMEAN",
}  # fmt: skip


class _Writer:
    """One plan."""

    def __init__(self, plan: Plan, schema: Schema | None) -> None:
        self._plan, self._schema = plan, schema
        own = [(o.name, o.value) for o in plan.outputs]
        shadowed = [name for name, value in own if not self._is_itself(name, value)]
        self._rows = _Rows(shadowed, plan.table)
        self._lines: tuple[list[str], list[str]] | None = None

    def sql(self, where: e.Expr | None) -> str:
        """The plan with this condition, or another that gives the same keys to all groupings."""
        if self._lines is None:
            self._lines = [self.select(), f"FROM {name_sql(self._plan.table)}"], self._tail()
        before, after = self._lines
        own = [] if where is None else [f"WHERE {self.row(where)}"]
        return "\n".join([*before, *own, *after])

    def _tail(self) -> list[str]:
        """What follows WHERE."""
        plan, lines = self._plan, []
        if plan.groupings:
            by = ", ".join(self.row(g.value) for g in plan.groupings)
            lines.append(f"GROUP BY ROLLUP ({by})" if plan.rollup else f"GROUP BY {by}")
        if plan.having is not None:
            lines.append(f"HAVING {self.post(plan.having)}")
        if plan.order:
            order = (self.post(o.value) + (" DESC" if o.descending else "") for o in plan.order)
            lines.append("ORDER BY " + ", ".join(order))
        if plan.limit is not None:
            lines.append(f"LIMIT {plan.limit}")
        return lines

    def _is_itself(self, name: str, value: Post) -> bool:
        """Whether a column of the answer is the grouping by the column of that very name."""
        if not isinstance(value, PostGroup):
            return False
        group = self._plan.groupings[value.place].value
        return isinstance(group, e.Column) and group.name == name

    def row(self, node: e.Expr) -> str:
        return self._rows.text(node)

    def select(self) -> str:
        items = ", ".join(self._item(o.name, o.value) for o in self._plan.outputs)
        return f"SELECT {self._options()}{items}"

    def _item(self, name: str, value: Post) -> str:
        text = self.post(value)
        return text if text == name_sql(name) else f"{text} AS {name_sql(name)}"

    def _options(self) -> str:
        plan = self._plan
        told = [
            f"{word} = {_number(value)[0]}"
            for word, value in (("epsilon", plan.epsilon), ("delta", plan.delta), ("rho", plan.rho))
            if value is not None
        ]
        told += ["other = TRUE"] if plan.other else []
        told += self._keys()
        if plan.combinations is not None:
            rows = (
                "(" + ", ".join(map(self._key, plan.groupings, r)) + ")" for r in plan.combinations
            )
            told.append(f"combinations = [{', '.join(rows)}]")
        return f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({', '.join(told)})\n  " if told else ""

    def _keys(self) -> list[str]:
        """The keys that were given, and do not follow from the schema."""
        given = []
        where = self._plan.where if self._plan.combinations is None else None
        for grouping in self._plan.groupings:
            if self._schema is None:
                continue
            usual = _keys_of(grouping, self._schema)
            if grouping.keys == admitted(usual, grouping.value, where):
                continue
            keys = "NULL"
            if grouping.keys is not None:
                keys = f"[{', '.join(self._key(grouping, key) for key in grouping.keys)}]"
            given.append(f"{_constant(grouping.name)}: {keys}")
        return [f"keys = {{{', '.join(given)}}}"] if given else []

    def _key(self, grouping: Grouping, key: int | bool | str | date | None) -> str:  # noqa: FBT001
        value = shown_key(key, grouping.value)
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            return _number(Fraction(value))[0]
        return _constant(value)

    def post(self, post: Post) -> str:
        return self._post(post)[0]

    def _in(self, post: Post, tightness: int) -> str:
        return _inside(self._post(post), tightness)

    def _post(self, post: Post) -> Piece:
        match post:
            case PostValue(value=value):
                if isinstance(value, int | Fraction) and not isinstance(value, bool):
                    return _number(Fraction(value))
                return _constant(value), _ATOM
            case PostGroup(place=place):
                return self._rows.piece(self._plan.groupings[place].value)
            case PostAggregate(aggregate=aggregate):
                return self._aggregate(aggregate), _ATOM
            case PostCall(name=name, arguments=arguments):
                return self._called(name, arguments)

    def _aggregate(self, wanted: Aggregate) -> str:
        of = "*" if wanted.operand is None else self.row(wanted.operand)
        if wanted.function == "people":
            unit = None if self._schema is None else self._schema.unit
            person = name_sql(unit.column) if isinstance(unit, PerPerson) else None
            return "PEOPLE()" if person is None else f"COUNT(DISTINCT {person})"
        if wanted.level is not None:
            half = wanted.level == Fraction(1, 2)
            text = f"MEDIAN({of})" if half else f"QUANTILE({of}, {_number(wanted.level)[0]})"
        else:
            text = f"{_FUNCTIONS[wanted.function]}({of})"
        return text if wanted.where is None else f"{text} FILTER (WHERE {self.row(wanted.where)})"

    def _called(self, name: str, arguments: Sequence[Post]) -> Piece:
        if name in _SYMBOLS:
            own = _SYMBOLS[name]
            return f"{self._in(arguments[0], own)} {name} {self._in(arguments[1], own + 1)}", own
        match name:
            case "and" | "or":
                own = _AND if name == "and" else _OR
                return f" {name.upper()} ".join(self._in(a, own + 1) for a in arguments), own
            case "not":
                return f"NOT {self._in(arguments[0], _ATOM)}", _NOT
            case "is_null":
                return f"{self._in(arguments[0], _SUM)} IS NULL", _COMPARED
            case "in":
                first, *listed = (self._in(a, _SUM) for a in arguments)
                return f"{first} IN ({', '.join(listed)})", _COMPARED
            case "between":
                value, low, high = (self._in(a, _SUM) for a in arguments)
                return f"{value} BETWEEN {low} AND {high}", _COMPARED
            case "case":
                return self._case(arguments), _ATOM
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                left, right = (self._in(a, _SUM) for a in arguments)
                return f"{left} {name} {right}", _COMPARED
            case _:
                return f"{name.upper()}({', '.join(map(self.post, arguments))})", _ATOM

    def _case(self, arguments: Sequence[Post]) -> str:
        pairs = zip(arguments[:-1:2], arguments[1::2], strict=True)
        branches = " ".join(f"WHEN {self.post(c)} THEN {self.post(v)}" for c, v in pairs)
        return f"CASE {branches} ELSE {self.post(arguments[-1])} END"


def _keys_of(grouping: Grouping, schema: Schema) -> tuple[Key, ...] | None:
    """The keys that the schema gives; something else where it gives none."""
    try:
        return keys_of(grouping.value, schema)
    except QueryError:
        return ()
