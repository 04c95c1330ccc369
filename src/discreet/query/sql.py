"""SQL becomes a plan.

    SELECT dept, AVG(salary) AS pay FROM t WHERE age < 30 GROUP BY dept HAVING pay > 0 ORDER BY 2

What is aggregated is private and gets noise. HAVING, ORDER BY, LIMIT and the functions around the
aggregates work on the released answer. FROM names the table, subqueries and CTEs of it that filter
and project, and joins of public lookup tables. Anything else is refused, in words.

Guarantee. The outcome is a plan or a `QueryError`, and depends on the text and the schema alone.
Tested by tests/query/test_sql.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import TokenType, exp

from discreet.errors import ParameterError, QueryError
from discreet.query import expr as e
from discreet.query.assemble import Tail, assembled
from discreet.query.names import Item, extreme_name, named
from discreet.query.options import Options, split
from discreet.query.parse_expr import is_aggregate, read
from discreet.query.parse_post import Released
from discreet.query.plan import Order, Output, Plan, Post, PostAggregate, PostGroup, PostValue
from discreet.query.schema import Schema
from discreet.query.scope import Environment, Scope, base, checked, opened
from discreet.query.tree import (
    Node,
    deeply,
    fragment,
    name_of,
    number,
    only,
    part,
    refused,
    statement,
    tokens_of,
)

__all__ = ["expression", "parse", "parsed"]

_CLAUSES = ("expressions", "from", "from_", "with", "with_", "joins", "where", "kind")
_OUTER = (*_CLAUSES, "group", "having", "order", "limit")


def parse(text: str, schema: Schema) -> Plan:
    """The plan of a question in SQL.

    Args:
        text: one SELECT; see the top of this file.
        schema: the table that it is asked to.
    """
    return deeply(lambda: parsed(text, schema))[0]


def expression(text: str, schema: Schema) -> e.Expr:
    """An expression about a row of the table, such as a condition."""
    node = fragment(text, what="a condition or a column")
    return checked(deeply(lambda: read(node, base(schema))))


def parsed(text: str, schema: Schema) -> tuple[Plan, exp.Select]:
    """The plan, and the tree that it was read from."""
    try:
        return _parsed(text, schema)
    except ParameterError as error:
        raise QueryError(f"{error.name} {error.problem}") from None


def _parsed(text: str, schema: Schema) -> tuple[Plan, exp.Select]:
    tokens, options = split(tokens_of(text))
    select = statement(tokens, text)
    while isinstance(select, exp.Subquery | exp.Paren):
        only(select, "this")
        select = select.this
    if not isinstance(select, exp.Select):
        raise refused(select, "a question; it is one SELECT")
    only(select, *_OUTER)
    scope = opened(select, Environment(schema)).remembering()
    labels = [_labelled(item) for item in select.expressions]
    group = select.args.get("group")
    rolled = _rolled(group)
    groups = _groups(rolled or group, labels, scope)
    reader = Released(scope, groups, extremes=options.extremes)
    outputs = named([_item(label, node, reader) for label, node in labels], groups)
    tail = tail_of(select, scope, groups, outputs, options)
    plan = assembled(schema, scope.where, groups, outputs, tail, options)
    return plan if rolled is None else replace(plan, rollup=True), select


def _rolled(group: Node | None) -> Node | None:
    """What is inside of GROUP BY ROLLUP (...), where that is all of it."""
    items = [] if group is None else group.expressions
    return items[0] if len(items) == 1 and isinstance(items[0], exp.Rollup) else None


def _labelled(item: Node) -> tuple[str | None, Node]:
    """An item of the SELECT list: its alias, if it has one, and what it is."""
    if isinstance(item, exp.Alias):
        only(item, "this", "alias")
        return name_of(part(item, "alias")), item.this
    if isinstance(item, exp.Star):
        raise QueryError("SELECT * has no private meaning; name columns and aggregates")
    return None, item


def _item(label: str | None, node: Node, reader: Released) -> Item:
    post = reader.read(node)
    return Item(label, post, _like(node, post, reader.scope))


def _like(node: Node, post: Post, scope: Scope) -> str | None:
    """The name that a key or an extreme is called by in the question, where AS says none."""
    if isinstance(post, PostAggregate):
        inner = node.this if isinstance(node, exp.Filter) else node
        return extreme_name(inner.key, post.aggregate) if inner.key in ("min", "max") else None
    if isinstance(node, exp.Column) and isinstance(post, PostGroup):
        return scope.spelling(node)
    return None


Labels = Sequence[tuple[str | None, Node]]


def _groups(node: Node | None, labels: Labels, scope: Scope) -> tuple[e.Expr, ...]:
    if node is None:
        return ()
    everything = node.args.get("all") is True and not node.expressions
    only(node, "expressions", *(["all"] if everything else []))
    groups: list[e.Expr] = []
    for item in _unaggregated(labels) if everything else node.expressions:
        group = checked(_group(item, labels, scope))
        if group in groups:
            raise QueryError("GROUP BY says the same thing twice")
        groups.append(group)
    return tuple(groups)


def _unaggregated(labels: Labels) -> list[Node]:
    """GROUP BY ALL: the items of the SELECT list that have a column and no aggregate."""
    return [
        node
        for _, node in labels
        if node.find(exp.Column) is not None and not any(map(is_aggregate, node.walk()))
    ]


def _group(item: Node, labels: Labels, scope: Scope) -> e.Expr:
    """An expression, the place of a column of the answer, or its alias."""
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        return _row_level(labels[_place(item, len(labels))][1], scope)
    if not isinstance(item, exp.Column) or item.args.get("table") is not None:
        return read(item, scope)
    name = item.name.lower()
    aliased = [node for label, node in labels if label is not None and label.lower() == name]
    if not aliased:
        return read(item, scope)
    meant = _row_level(aliased[0], scope)
    try:
        column = scope.column(item)
    except QueryError:
        return meant
    if column != meant:
        raise QueryError(f"the name {item.name[:60]!r} is both a column and a name of the answer")
    return meant


def _row_level(node: Node, scope: Scope) -> e.Expr:
    if any(is_aggregate(inner) for inner in node.walk()):
        raise QueryError("GROUP BY cannot name an aggregate")
    return read(node, scope)


def _place(node: exp.Literal, columns: int) -> int:
    place = number(str(node.this))
    if place.denominator != 1 or not 1 <= place <= columns:
        raise QueryError(f"there is no column {str(node.this)[:20]} in an answer of {columns}")
    return int(place) - 1


def tail_of(
    node: Node,
    scope: Scope,
    groups: tuple[e.Expr, ...],
    outputs: Sequence[Output],
    options: Options,
) -> Tail:
    """HAVING, ORDER BY and LIMIT, which work on the released answer."""
    named_outputs = {output.name: output.value for output in outputs}
    having = node.args.get("having")
    condition = None
    if having is not None:
        only(having, "this")
        reader = Released(scope, groups, named_outputs, extremes=options.extremes)
        condition = reader.condition(having.this)
    order = node.args.get("order")
    items: list[Order] = []
    if order is not None:
        only(order, "expressions")
        reader = Released(
            scope, groups, named_outputs, outputs_first=True, extremes=options.extremes
        )
        items = [_order(item, reader, outputs) for item in order.expressions]
    return Tail(condition, tuple(items), _limit(node.args.get("limit")))


def _order(item: Any, reader: Released, outputs: Sequence[Output]) -> Order:
    if item.args.get("nulls_first"):
        raise QueryError("missing values come last; NULLS FIRST is not known")
    only(item, "this", "desc")
    return ordered(item.this, reader, outputs, descending=bool(item.args.get("desc")))


def ordered(node: Node, reader: Released, outputs: Sequence[Output], *, descending: bool) -> Order:
    """One item of ORDER BY."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        post = outputs[_place(node, len(outputs))].value
    else:
        post = reader.read(node)
    if isinstance(post, PostValue):
        raise QueryError("ORDER BY a constant orders nothing")
    return Order(post, descending)


def _limit(node: Node | None) -> int | None:
    if node is None:
        return None
    if isinstance(node, exp.Fetch):
        return _fetched(node)
    only(node, "expression")
    return limit_of(part(node, "expression"))


def _fetched(node: exp.Fetch) -> int:
    """FETCH FIRST 5 ROWS ONLY, which is LIMIT 5."""
    only(node, "direction", "count", "limit_options")
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise QueryError("FETCH FIRST takes neither PERCENT nor WITH TIES; say LIMIT 5")
    if options is not None:
        only(options, "rows")
    count = node.args.get("count")
    return 1 if count is None else limit_of(count)


def limit_of(node: Node) -> int:
    """A whole number of rows."""
    value = Fraction(-1)
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        value = number(str(node.this))
    if value.denominator != 1 or not 0 <= value <= 10**9:
        raise QueryError("LIMIT needs a whole number of rows, from 0 to 1000000000")
    return int(value)


def order_of(
    text: str, scope: Scope, groups: tuple[e.Expr, ...], outputs: Sequence[Output]
) -> Order:
    """One item of ORDER BY, such as "count DESC"."""
    tokens = tokens_of(text)
    last = tokens[-1].token_type
    ending = len(tokens) > 1 and last in (TokenType.DESC, TokenType.ASC)
    node = fragment(text[: tokens[-1].start] if ending else text, what="an order")
    reader = Released(scope, groups, {o.name: o.value for o in outputs}, outputs_first=True)
    return ordered(node, reader, outputs, descending=ending and last is TokenType.DESC)
