"""Functions of released numbers: the SELECT list, HAVING and ORDER BY.

A tree becomes a `Post` over aggregates and group keys. An expression that equals a grouping is its
key; a column that is neither grouped nor aggregated is refused. Everything else is a short list of
functions, with the kinds checked here so that they have a value for every answer.
Tested by tests/query/test_parse_post.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Day, Flag, Number, Text
from discreet.query.parse_aggregate import aggregate
from discreet.query.parse_expr import digits_of, is_aggregate, read, spine, text_of
from discreet.query.plan import Post, PostAggregate, PostCall, PostGroup, PostValue
from discreet.query.scope import Scope, pick
from discreet.query.sugar import day_of
from discreet.query.tree import Node, found, name_of, number, only, part, refused
from discreet.query.words import meant

__all__ = ["Released", "kind_of"]

_WHERE = "a function of released numbers"
_NAMES = {Number: "number", Text: "text", Flag: "condition", Day: "date"}


@dataclass(frozen=True)
class Released:
    """How names and aggregates are read in one place of a question.

    Attributes:
        scope: the names of the rows, for groupings and the insides of aggregates; it should be
            `remembering`, because every part of a tree is tried as a grouping first.
        groups: what is grouped by.
        outputs: columns of the answer that may be called by their names here.
        outputs_first: whether such a name wins over a grouping of the same name (ORDER BY), or is
            refused as ambiguous (HAVING).
        extremes: MIN and MAX are this quantile and its counterpart; None refuses them.
    """

    scope: Scope
    groups: tuple[e.Expr, ...]
    outputs: Mapping[str, Post] = field(default_factory=dict)
    outputs_first: bool = False
    extremes: Fraction | None = None

    def read(self, node: Node) -> Post:
        """The function of released numbers that a tree means."""
        if not isinstance(node, exp.Expression):
            raise QueryError("an argument is missing")
        if is_aggregate(node):
            return PostAggregate(aggregate(node, self.scope, self.extremes))
        if isinstance(node, exp.Column):
            return self._named(node)
        group = self._group(node)
        if group is not None:
            return group
        rule = _RULES.get(node.key)
        if rule is None:
            raise refused(node, _WHERE)
        allowed, make = rule
        only(node, *allowed)
        post = make(node, self)
        kind_of(post, self.groups)
        return post

    def condition(self, node: Node) -> Post:
        """A function of released numbers that is true or false."""
        post = self.read(node)
        _expect("condition", [post], self.groups, "HAVING")
        return post

    def _group(self, node: Node) -> PostGroup | None:
        """The grouping that this very expression is."""
        if not self.groups:
            return None
        try:
            value = read(node, self.scope)
        except QueryError:
            return None
        return PostGroup(self.groups.index(value)) if value in self.groups else None

    def _named(self, node: exp.Column) -> Post:
        """A name: of a column of the answer, or of a grouping."""
        output = None
        if node.args.get("table") is None and isinstance(node.this, exp.Identifier):
            name = name_of(node.this)
            if any(name.lower() == other.lower() for other in self.outputs):
                output = pick(self.outputs, name, "")
        group = self._group(node)
        if output is not None and group is not None and output != group and not self.outputs_first:
            raise QueryError(f"{node.name[:60]!r} is both a column and a name of the answer")
        if output is not None:
            return output
        if group is not None:
            return group
        word = "AVG" if isinstance(self._column(node).kind, Number) else "COUNT"
        raise QueryError(
            f"the column {node.name[:60]!r} is neither grouped by nor inside an aggregate; "
            f"say GROUP BY {node.name[:60]} or {word}({node.name[:60]})"
        )

    def _column(self, node: exp.Column) -> e.Expr:
        """A column of the rows; where there is none, a close name of the answer is suggested."""
        try:
            return self.scope.column(node)
        except QueryError as error:
            close = meant(node.name, self.outputs)
            there = f"; nor is it a name of the answer{close}" if close else ""
            raise QueryError(error.problem + there, column=error.column) from None


def kind_of(post: Post, groups: Sequence[e.Expr]) -> str:
    """A number, text, condition or date; empty for a bare NULL; mixtures are refused."""
    match post:
        case PostAggregate():
            return "number"
        case PostGroup(place=place):
            return _NAMES[type(groups[place].kind)]
        case PostValue(value=value):
            return _constant_kind(value)
        case PostCall(name=name, arguments=arguments):
            return _call_kind(name, arguments, groups)


def _constant_kind(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "condition"
        case str():
            return "text"
        case date():
            return "date"
        case _:
            return "number"


_LOGIC = ("and", "or", "not")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "in", "between")


def _call_kind(name: str, arguments: Sequence[Post], groups: Sequence[e.Expr]) -> str:
    if name == "is_null":
        kind_of(arguments[0], groups)
        return "condition"
    if name in _LOGIC:
        return _expect("condition", arguments, groups, name.upper())
    if name in _COMPARISONS:
        shared = _shared(arguments, groups, name.upper())
        if shared == "condition" and name not in ("=", "<>", "in"):
            raise QueryError("true and false have no order; compare them with = or <>")
        return "condition"
    if name == "case":
        _expect("condition", arguments[:-1:2], groups, "WHEN")
        return _shared([*arguments[1::2], arguments[-1]], groups, "CASE")
    if name == "coalesce":
        return _shared(arguments, groups, "COALESCE")
    return _expect("number", arguments, groups, name.upper())


def _expect(wanted: str, posts: Sequence[Post], groups: Sequence[e.Expr], what: str) -> str:
    for post in posts:
        kind = kind_of(post, groups)
        if kind not in (wanted, ""):
            raise QueryError(f"{what} needs a {wanted}, not a {kind}")
    return wanted


def _shared(posts: Sequence[Post], groups: Sequence[e.Expr], what: str) -> str:
    kinds = {kind for post in posts if (kind := kind_of(post, groups))}
    if len(kinds) > 1:
        raise QueryError(f"{what} mixes a {' with a '.join(sorted(kinds))}")
    return kinds.pop() if kinds else ""


def _dated(posts: Sequence[Post], groups: Sequence[e.Expr]) -> tuple[Post, ...]:
    """Text beside a date stands for a date."""
    if not any(kind_of(post, groups) == "date" for post in posts):
        return tuple(posts)
    return tuple(
        PostValue(day_of(post.value))
        if isinstance(post, PostValue) and isinstance(post.value, str)
        else post
        for post in posts
    )


def _literal(node: Any, _: Released) -> Post:
    if node.args.get("is_string"):
        return PostValue(text_of(node, ""))
    return PostValue(_plain(number(str(node.this))))


def _plain(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _neg(node: Any, at: Released) -> Post:
    post = at.read(node.this)
    if isinstance(post, PostValue) and isinstance(post.value, int | Fraction):
        _expect("number", [post], at.groups, "-")
        return PostValue(-post.value)
    return PostCall("-", (PostValue(0), post))


def _sum(node: Any, at: Released) -> Post:
    links = spine(node, "add", "sub")
    made = at.read(links[0][1])
    for sign, link in links[1:]:
        made = PostCall("+" if sign == "add" else "-", (made, at.read(link)))
    return made


def _binary(node: Any, at: Released) -> Post:
    name = {"mul": "*", "div": "/"}[node.key]
    return PostCall(name, (at.read(node.this), at.read(node.expression)))


_OPERATORS = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


def _compare(node: Any, at: Released) -> Post:
    both = _dated([at.read(node.this), at.read(node.expression)], at.groups)
    return PostCall(_OPERATORS[node.key], both)


def _logic(node: Any, at: Released) -> Post:
    flat: list[Post] = []
    for _, link in spine(node, node.key):
        post = at.read(link)
        same = isinstance(post, PostCall) and post.name == node.key
        flat += post.arguments if isinstance(post, PostCall) and same else [post]
    return PostCall(node.key, tuple(flat))


def _not(node: Any, at: Released) -> Post:
    return negated(at.read(node.this))


def negated(post: Post) -> Post:
    """The opposite."""
    if isinstance(post, PostCall) and post.name == "not":
        return post.arguments[0]
    return PostCall("not", (post,))


def _is(node: Any, at: Released) -> Post:
    if not isinstance(node.expression, exp.Null):
        raise QueryError("IS is followed by NULL or NOT NULL on released numbers")
    return PostCall("is_null", (at.read(node.this),))


def _in(node: Any, at: Released) -> Post:
    listed = [at.read(item) for item in (node.this, *node.expressions)]
    return PostCall("in", _dated(listed, at.groups))


def _between(node: Any, at: Released) -> Post:
    three = [at.read(n) for n in (node.this, part(node, "low"), part(node, "high"))]
    return PostCall("between", _dated(three, at.groups))


def _case(node: Any, at: Released) -> Post:
    if node.this is not None:
        raise QueryError("say CASE WHEN x = 1 THEN ... on released numbers")
    parts: list[Post] = []
    for branch in part(node, "ifs"):
        only(branch, "this", "true")
        parts += [at.read(branch.this), at.read(part(branch, "true"))]
    default = found(node, "default")
    return PostCall("case", (*parts, PostValue(None) if default is None else at.read(default)))


def _if(node: Any, at: Released) -> Post:
    otherwise = found(node, "false")
    last = PostValue(None) if otherwise is None else at.read(otherwise)
    return PostCall("case", (at.read(node.this), at.read(part(node, "true")), last))


def _nullif(node: Any, at: Released) -> Post:
    value, other = at.read(node.this), at.read(node.expression)
    return PostCall("case", (PostCall("=", (value, other)), PostValue(None), value))


def _many(node: Any, at: Released) -> Post:
    return PostCall(node.key, tuple(at.read(item) for item in (node.this, *node.expressions)))


def _one(node: Any, at: Released) -> Post:
    return PostCall(node.key, (at.read(node.this),))


def _round(node: Any, at: Released) -> Post:
    return PostCall("round", (at.read(node.this), PostValue(digits_of(node))))


def _cast(node: Any, at: Released) -> Post:
    """Dates that are written out, and numbers to numbers with a point: nothing changes."""
    target = str(getattr(part(node, "to").this, "value", "")).upper()
    if target == "DATE" and isinstance(node.this, exp.Literal):
        return PostValue(day_of(text_of(node.this, "a date")))
    post = at.read(node.this)
    if target not in ("DOUBLE", "FLOAT") or kind_of(post, at.groups) not in ("number", ""):
        raise QueryError("a CAST of released numbers goes to DOUBLE only; say ROUND(x)")
    return post


_BINARY = ("this", "expression")
_RULES: dict[str, tuple[tuple[str, ...], Callable[[Any, Released], Post]]] = {
    "literal": (("this", "is_string"), _literal),
    "boolean": (("this",), lambda node, _: PostValue(bool(node.this))),
    "null": ((), lambda _node, _: PostValue(None)),
    "paren": (("this",), lambda node, at: at.read(node.this)),
    "neg": (("this",), _neg),
    "add": (_BINARY, _sum),
    "sub": (_BINARY, _sum),
    "mul": (_BINARY, _binary),
    "div": (_BINARY, _binary),
    **dict.fromkeys(_OPERATORS, (_BINARY, _compare)),
    "and": (_BINARY, _logic),
    "or": (_BINARY, _logic),
    "not": (("this",), _not),
    "is": (_BINARY, _is),
    "in": (("this", "expressions"), _in),
    "between": (("this", "low", "high"), _between),
    "case": (("this", "ifs", "default"), _case),
    "if": (("this", "true", "false"), _if),
    "nullif": (_BINARY, _nullif),
    "coalesce": (("this", "expressions"), _many),
    "least": (("this", "expressions", "ignore_nulls"), _many),
    "greatest": (("this", "expressions", "ignore_nulls"), _many),
    **dict.fromkeys(("abs", "floor", "ceil", "sqrt", "ln", "exp"), (("this",), _one)),
    "round": (("this", "decimals"), _round),
    "cast": (("this", "to"), _cast),
}
