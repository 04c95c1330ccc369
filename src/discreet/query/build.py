"""The fluent form: the same questions as SQL, word by word, to the same frozen plan.

    t.query().where("salary > 100000").group_by("department").count().mean("salary")

Expressions are SQL text and go through the same parser. Every method returns a new query.
Tested by tests/query/test_build.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, probability, rational, whole
from discreet.query import expr as e
from discreet.query import sugar, total
from discreet.query.assemble import Tail, assembled
from discreet.query.names import Item, extreme_name, group_name, named
from discreet.query.options import Options, Said
from discreet.query.parse_aggregate import counted, kept, measured, people, quantile
from discreet.query.parse_expr import read
from discreet.query.parse_post import Released
from discreet.query.plan import (
    Aggregate,
    Function,
    Output,
    Plan,
    Post,
    PostAggregate,
    PostCall,
    PostGroup,
)
from discreet.query.render import expr_sql, to_sql
from discreet.query.schema import FindBounds, Schema
from discreet.query.scope import base, checked
from discreet.query.sql import order_of
from discreet.query.tree import deeply, fragment, name_of, only, part
from discreet.query.words import brief, meant

__all__ = ["Asker", "Query"]

Text = str | e.Expr
"""An expression: SQL text, or a finished one."""
_MEDIAN = Fraction(1, 2)


class Asker(Protocol):
    """Whoever can price and answer a query; a table or a session."""

    @property
    def explain(self) -> Callable[..., Any]:
        """The plan in words."""

    @property
    def price(self) -> Callable[..., Any]:
        """The error to expect."""

    @property
    def epsilon_for(self) -> Callable[..., Any]:
        """The price of an accuracy."""

    @property
    def ask(self) -> Callable[..., Any]:
        """The private answer."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A column of the answer that was asked for."""

    name: str | None
    function: str
    of: Text | None = None
    where: Text | None = None
    level: Fraction | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """A question to one table, still without a price.

    Attributes:
        schema: the table, as its owner declared it.
        asker: who answers; without one a query can be built, and turned into a plan or SQL.
    """

    schema: Schema
    asker: Asker | None = None
    _wheres: tuple[Text, ...] = ()
    _groups: tuple[Text, ...] = ()
    _wanted: tuple[_Wanted, ...] = ()
    _havings: tuple[str, ...] = ()
    _orders: tuple[str, ...] = ()
    _limit: int | None = None
    _keys: tuple[tuple[int, tuple[Said, ...] | None], ...] = ()
    _combinations: tuple[tuple[Said, ...], ...] | None = None
    _other: bool = False

    def __repr__(self) -> str:
        try:
            return f"<Query\n{self.to_sql()}>"
        except QueryError as error:
            return f"<Query, unfinished: {error.problem}>"

    def where(self, condition: Text) -> Query:
        """Only rows for which this is true; several conditions have to hold together."""
        self._looked_at(condition)
        return replace(self, _wheres=(*self._wheres, condition))

    def group_by(self, *expressions: Text, keys: Any = None, other: bool | None = None) -> Query:
        """Group by columns or expressions; "FLOOR(age / 10) * 10 AS decade" gives a name.

        Args:
            expressions: what to group by, in order.
            keys: the values to answer, where the declaration does not say them or fewer are
                wanted: a list for one expression, for several a list of combinations (tuples) or a
                mapping from names to lists. "unknown" selects them privately, which needs a delta.
            other: one more row for everything that is in no group.
        """
        if not expressions:
            raise QueryError("group_by needs a column or an expression")
        for expression in expressions:
            self._looked_at(expression, alias=True)
        grown = self if keys is None else self._with_keys(expressions, keys)
        if other is not None:
            grown = replace(grown, _other=bool(other))
        return replace(grown, _groups=(*self._groups, *expressions))

    def _with_keys(self, expressions: Sequence[Text], keys: Any) -> Query:
        """Keys for groupings that are about to be added."""
        first, added = len(self._groups), len(expressions)
        if isinstance(keys, Mapping):
            labelled = [_labelled(expression, self.schema) for expression in expressions]
            names = [label or group_name(group) for label, group in labelled]
            unknown = [name for name in keys if name not in names]
            if unknown:
                name = brief(unknown[0])
                close = meant(name, names)
                raise QueryError(f"keys are given for {name!r}{close}, which is not grouped by")
            pairs = [(first + names.index(name), _listed(given)) for name, given in keys.items()]
            return replace(self, _keys=(*self._keys, *pairs))
        if added == 1:
            return replace(self, _keys=(*self._keys, (first, _listed(keys))))
        if first or not all(isinstance(row, tuple | list) for row in keys):
            raise QueryError(
                "several groupings take keys as a list of tuples, all in one group_by, or as "
                "{name: [keys]}"
            )
        return replace(self, _combinations=tuple(_said_all(row) for row in keys))

    def select(self, *expressions: str) -> Query:
        """Columns of the answer in SQL, such as "SUM(salary) / COUNT(*) AS mean"."""
        return self._add(*(_Wanted(None, "select", text) for text in expressions))

    def count(
        self, column: Text | None = None, *, where: Text | None = None, name: str | None = None
    ) -> Query:
        """The number of rows, or of those where the column is not missing."""
        return self._add(_Wanted(name, "count", column, where))

    def people(self, *, name: str | None = None) -> Query:
        """The number of different people."""
        return self._add(_Wanted(name, "people"))

    def sum(self, column: Text, *, where: Text | None = None, name: str | None = None) -> Query:
        """The sum; of a condition, the number of rows where it is true."""
        return self._add(_Wanted(name, "sum", column, where))

    def mean(self, column: Text, *, where: Text | None = None, name: str | None = None) -> Query:
        """The mean."""
        return self._add(_Wanted(name, "mean", column, where))

    def variance(
        self, column: Text, *, where: Text | None = None, name: str | None = None
    ) -> Query:
        """The variance of the population (divided by n)."""
        return self._add(_Wanted(name, "variance", column, where))

    def stddev(self, column: Text, *, where: Text | None = None, name: str | None = None) -> Query:
        """The standard deviation of the population."""
        return self._add(_Wanted(name, "stddev", column, where))

    def median(self, column: Text, *, where: Text | None = None, name: str | None = None) -> Query:
        """The median."""
        return self._add(_Wanted(name, "quantile", column, where, _MEDIAN))

    def quantile(self, column: Text, *levels: Exact, where: Text | None = None) -> Query:
        """Quantiles at levels between 0 and 1; all of them share one release."""
        if not levels:
            raise QueryError("quantile needs a level: say quantile(column, 0.9)")
        found = [_level(level) for level in levels]
        return self._add(*(_Wanted(None, "quantile", column, where, level) for level in found))

    def minimum(self, column: Text, *, as_quantile: Exact | None = None) -> Query:
        """A low quantile in place of the minimum, which cannot be private."""
        return self._extreme("min", column, as_quantile)

    def maximum(self, column: Text, *, as_quantile: Exact | None = None) -> Query:
        """A high quantile in place of the maximum: with as_quantile=0.01 it is that at 0.99."""
        return self._extreme("max", column, as_quantile)

    def _extreme(self, word: str, column: Text, as_quantile: Exact | None) -> Query:
        if as_quantile is None:
            raise QueryError(
                f"a {word}imum cannot be private: one person can move it anywhere; "
                f"say {word}imum({brief(column)!r}, as_quantile=0.01)"
            )
        level = _level(as_quantile)
        level = min(level, 1 - level) if word == "min" else max(level, 1 - level)
        return self._add(_Wanted(None, word, column, None, level))

    def product(self, column: Text, *, where: Text | None = None, name: str | None = None) -> Query:
        """The product of a number that is always above 0."""
        return self._add(_Wanted(name, "product", column, where))

    def geometric_mean(
        self, column: Text, *, where: Text | None = None, name: str | None = None
    ) -> Query:
        """The geometric mean of a number that is always above 0."""
        return self._add(_Wanted(name, "geometric_mean", column, where))

    def histogram(self, column: Text, *, bins: int | Sequence[Exact] = 10) -> Query:
        """Group by bins of a number, called by their lower edges, and count.

        Args:
            column: the number.
            bins: how many bins of equal width between its declared bounds, or their edges, rising;
                a bin holds its lower edge, and the last one its upper edge too.
        """
        value = self._read(column)
        binned = _even(value, bins) if isinstance(bins, int) else _edged(value, bins)
        grown = replace(self, _groups=(*self._groups, binned))
        return grown if any(w.function == "count" for w in self._wanted) else grown.count()

    def having(self, condition: str) -> Query:
        """Only released rows for which this is true, such as "count > 100"; free."""
        return replace(self, _havings=(*self._havings, condition))

    def order_by(self, *items: str) -> Query:
        """The order of the released rows, such as "count DESC", "department"; free."""
        return replace(self, _orders=(*self._orders, *items))

    def limit(self, rows: int) -> Query:
        """At most this many released rows; free."""
        try:
            return replace(self, _limit=whole(rows, name="limit", at_least=0, at_most=10**9))
        except ParameterError as error:
            raise QueryError(f"limit {error.problem}") from None

    def with_schema(self, schema: Schema) -> Query:
        """The same question under another declaration, such as one whose bounds were found."""
        return replace(self, schema=schema)

    def with_asker(self, asker: Asker | None) -> Query:
        """The same question, answered by somebody else."""
        return replace(self, asker=asker)

    @property
    def plan(self) -> Plan:
        """The question as a frozen value; the same as that of the same question in SQL."""
        return deeply(self._planned)

    def to_sql(self) -> str:
        """The question in SQL."""
        return to_sql(self.plan, self.schema)

    def explain(self, **how: Any) -> Any:
        """The plan in words, with sensitivity, mechanism, loss and the SQL that will run."""
        return self._bound("explain").explain(self, **how)

    def price(self, **how: Any) -> Any:
        """The error to expect at a price, such as epsilon=1."""
        return self._bound("price").price(self, **how)

    def epsilon_for(self, **how: Any) -> Any:
        """The epsilon that an accuracy costs, such as within=50, confidence=0.95."""
        return self._bound("epsilon_for").epsilon_for(self, **how)

    def ask(self, **how: Any) -> Any:
        """The private answer at a price, such as epsilon=0.5."""
        return self._bound("ask").ask(self, **how)

    def _bound(self, what: str) -> Asker:
        if self.asker is None:
            raise QueryError(
                f"{what} needs a table behind the query: build it with dp.Table(...).query(), or "
                "hand it to session.ask(query, epsilon=...)"
            )
        return self.asker

    def _add(self, *wanted: _Wanted) -> Query:
        for item in wanted:
            if item.function != "select":
                for text in (item.of, item.where):
                    if text is not None:
                        self._looked_at(text)
        return replace(self, _wanted=(*self._wanted, *wanted))

    def _looked_at(self, text: Text, *, alias: bool = False) -> None:
        """Refuse at once what cannot be read, unless bounds have still to be found."""
        if any(isinstance(d, FindBounds) for d in self.schema.columns.values()):
            return
        _labelled(text, self.schema) if alias else self._read(text)

    def _read(self, text: Text) -> e.Expr:
        label, value = _labelled(text, self.schema)
        if label is not None:
            raise QueryError(f"a name was not expected here: {label[:60]!r}")
        return value

    def _planned(self) -> Plan:
        scope = base(self.schema)
        for condition in self._wheres:
            scope = scope.filtered(self._read(condition))
        labelled = [_labelled(text, self.schema) for text in self._groups]
        groups = tuple(group for _, group in labelled)
        if len(set(groups)) < len(groups):
            raise QueryError("group_by says the same thing twice")
        items = [Item(label, PostGroup(place)) for place, (label, _) in enumerate(labelled)]
        reader = Released(scope, groups)
        items += [self._item(wanted, reader) for wanted in self._wanted]
        outputs = named(items, groups)
        options = Options(
            other=self._other,
            keys={outputs[place].name: keys for place, keys in self._keys},
            combinations=self._combinations,
        )
        tail = self._tail(reader, outputs)
        return assembled(self.schema, scope.where, groups, outputs, tail, options)

    def _item(self, wanted: _Wanted, reader: Released) -> Item:
        if wanted.function == "select":
            node = fragment(wanted.of, what="a column of the answer")  # type: ignore[arg-type]
            label = wanted.name
            if isinstance(node, exp.Alias):
                only(node, "this", "alias")
                label, node = name_of(part(node, "alias")), node.this
            return Item(label, reader.read(node))
        made = self._aggregate(wanted, reader)
        extreme = wanted.function in ("min", "max")
        like = extreme_name(wanted.function, made) if extreme else None
        return Item(wanted.name, PostAggregate(made), like)

    def _aggregate(self, wanted: _Wanted, reader: Released) -> Aggregate:
        made = self._unfiltered(wanted, reader)
        return made if wanted.where is None else kept(made, self._read(wanted.where))

    def _unfiltered(self, wanted: _Wanted, reader: Released) -> Aggregate:
        if wanted.function == "people":
            return people(reader.scope)
        if wanted.of is None:
            return Aggregate("count")
        value = self._read(wanted.of)
        if wanted.function == "count":
            return counted(value)
        if wanted.level is not None:
            return quantile(value, wanted.level)
        function: Function = wanted.function  # type: ignore[assignment]
        return measured(function, value)

    def _tail(self, reader: Released, outputs: Sequence[Output]) -> Tail:
        named_outputs = {output.name: output.value for output in outputs}
        after = replace(reader, outputs=named_outputs)
        conditions = [after.condition(fragment(text, what="having")) for text in self._havings]
        order = tuple(order_of(text, reader.scope, reader.groups, outputs) for text in self._orders)
        return Tail(_all(conditions), order, self._limit)


def _labelled(text: Text, schema: Schema) -> tuple[str | None, e.Expr]:
    """An expression about a row, and its alias if it has one."""
    if not isinstance(text, str | e.Expr):
        raise QueryError(f"an expression is SQL text, not {type(text).__name__}")
    if not isinstance(text, str):  # what it says about ranges decides the noise: read it again
        if _labelled(expr_sql(text), schema)[1] != checked(text):
            raise QueryError("this expression is not one of this table: write it as SQL text")
        return None, text
    node, label = fragment(text, what="a column or a condition"), None
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        label, node = name_of(part(node, "alias")), node.this
    return label, checked(deeply(lambda: read(node, base(schema))))


def _listed(keys: Any) -> tuple[Said, ...] | None:
    if isinstance(keys, str):
        if keys != "unknown":
            raise QueryError("keys are a list, or 'unknown' to select them privately")
        return None
    return _said_all(keys)


def _said_all(keys: Iterable[Any]) -> tuple[Said, ...]:
    """Keys as they are written; floats stand for the decimals that were typed."""
    try:
        return tuple(_said(key) for key in keys)
    except (TypeError, ParameterError):
        raise QueryError("keys have to be text, numbers, dates or True and False") from None


def _said(key: Any) -> Said:
    key = key.item() if type(key).__module__ == "numpy" else key
    if isinstance(key, int | Fraction) and not isinstance(key, bool):
        rational(key, name="keys")  # refuses what is too long to be written
    if isinstance(key, float | Decimal):
        return rational(key, name="keys")
    if not isinstance(key, int | Fraction | str | date):
        raise TypeError(type(key).__name__)
    return key


def _level(value: Exact) -> Fraction:
    try:
        return probability(value, name="a level")
    except ParameterError as error:
        raise QueryError(f"a level {error.problem}") from None


def _all(conditions: Sequence[Post]) -> Post | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    flat: list[Post] = []
    for condition in conditions:
        same = isinstance(condition, PostCall) and condition.name == "and"
        flat += condition.arguments if isinstance(condition, PostCall) and same else [condition]
    return PostCall("and", tuple(flat))


def _even(value: e.Expr, bins: int) -> e.Expr:
    """The lower edge of one of so many bins of equal width; the greatest value is in the last."""
    kind = total.number(value, "a histogram")
    if not 1 <= bins <= kind.width:
        given = brief(bins)
        raise QueryError(f"a histogram of this column has 1 to {kind.width} bins, not {given}")
    low, width = kind.least, (kind.most - kind.least) / bins
    below = total.extreme("least", [value, total.constant(kind.most - kind.grid)])
    moved = total.add(below, total.constant(low), minus=True)
    place = total.floor(total.multiply(moved, total.constant(1 / width)))
    edge = total.add(total.multiply(place, total.constant(width)), total.constant(low))
    return total.case([(total.negation(total.is_null(value)), edge)], None)


def _edged(value: e.Expr, bins: Sequence[Exact]) -> e.Expr:
    """The lower edge of the bin; missing outside of all."""
    try:
        edges = [rational(edge, name="bins") for edge in bins]
    except ParameterError as error:
        raise QueryError(f"bins {error.problem}") from None
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise QueryError("bins need at least two edges, rising")
    at = [total.constant(edge) for edge in edges]
    whens = [(sugar.compared("<", value, at[0]), total.constant(None))]
    whens += [(sugar.compared("<", value, high), low) for low, high in pairwise(at[:-1])]
    whens.append((sugar.compared("<=", value, at[-1]), at[-2]))
    return total.case(whens, None)
