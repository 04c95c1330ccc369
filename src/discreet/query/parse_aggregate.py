"""Aggregates: a tree of SQL becomes one private number per group.

VARIANCE, VAR_POP and VAR_SAMP are all the variance of the population (divided by n), and STDDEV
its root: with noise of privacy the factor n/(n - 1) says nothing, and it would need another count.
Tested by tests/query/test_parse_aggregate.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query import expr as e
from discreet.query import total
from discreet.query.kinds import Flag, Number, said
from discreet.query.parse_expr import constant_number, read
from discreet.query.plan import Aggregate, Function
from discreet.query.schema import PerPerson
from discreet.query.scope import Scope, checked
from discreet.query.tree import Node, only, refused

__all__ = ["aggregate", "counted", "measured", "quantile"]


def aggregate(node: Node, scope: Scope, extremes: Fraction | None = None) -> Aggregate:
    """The private number that a tree means.

    Args:
        node: COUNT(...), SUM(...) FILTER (WHERE ...) and the like.
        scope: what the names mean.
        extremes: MIN and MAX are this quantile and its counterpart; None refuses them.
    """
    if isinstance(node, exp.Filter):
        only(node, "this", "expression")
        only(node.expression, "this")
        made = aggregate(node.this, scope, extremes)
        return kept(made, checked(read(node.expression.this, scope)))
    if node.key in ("min", "max"):
        return _extreme(node, scope, extremes)
    rule = _RULES.get(node.key)
    if rule is None:
        raise refused(node, "an aggregate")
    allowed, make = rule
    only(node, *allowed)
    return make(node, scope)


def kept(made: Aggregate, condition: e.Expr) -> Aggregate:
    """The same aggregate, of the rows that meet a condition only."""
    total.flag(condition, "FILTER")
    if made.function == "people":
        raise QueryError("COUNT(DISTINCT person) takes no FILTER; put the condition in WHERE")
    parts = [one for one in (made.where, condition) if one is not None]
    return replace(made, where=checked(total.all_of(parts)))


def counted(operand: e.Expr) -> Aggregate:
    """COUNT of what is not missing; of what never is, the rows."""
    return Aggregate("count", operand if operand.kind.nullable else None)


def measured(function: Function, operand: e.Expr) -> Aggregate:
    """An aggregate of a number; the sum of a condition counts the rows where it is true.

    The sum of what is 1 or missing counts the rows where it is there.
    """
    checked(operand)
    if isinstance(operand.kind, Flag) and function == "sum":
        return Aggregate("count", where=operand)
    if isinstance(operand.kind, Flag):
        operand = total.flag_number(operand)
    if not isinstance(operand.kind, Number):
        raise QueryError(f"the {function} needs a number, not {said(operand.kind)}")
    if operand.kind.low == operand.kind.high:
        if function == "sum" and operand.kind.least == 1:
            return counted(operand)
        raise _constant(function, operand.kind)
    if function in ("product", "geometric_mean"):
        total.logarithm(operand)  # refuses what may be 0 or below
    return Aggregate(function, operand)


def _constant(function: Function, kind: Number) -> QueryError:
    """One value or none: what says the same, or says something."""
    value = shown(kind.least)
    what, of = (
        (f"{value} or missing", "the same expression")
        if kind.nullable
        else (f"always {value}", "*")
    )
    say = f"COUNT({of})"
    if function == "sum" and kind.least:
        return QueryError(f"the sum of what is {what} is a count: say {value} * {say}")
    there = f"; {say} tells how often it is there" if kind.nullable else f": it is {value}"
    return QueryError(f"the {function} of what is {what} says nothing{there}")


def quantile(operand: e.Expr, level: Fraction) -> Aggregate:
    """A quantile at a level strictly between 0 and 1."""
    if not 0 < level < 1:
        raise QueryError(
            f"a quantile needs a level between 0 and 1, not {shown(level)}; the ends are MIN and "
            "MAX, which one person can move anywhere: say 0.01 or 0.99"
        )
    return replace(measured("quantile", operand), level=level)


def people(scope: Scope, node: Node | None = None) -> Aggregate:
    """The number of different people."""
    if node is not None and not scope.is_person(node):
        unit = scope.schema.unit
        say = f"COUNT(DISTINCT {unit.column})" if isinstance(unit, PerPerson) else "COUNT(*)"
        raise QueryError(
            f"COUNT(DISTINCT ...) counts people only: say {say}; "
            "for the different values of a column, GROUP BY it"
        )
    return Aggregate("people")


def _count(node: Any, scope: Scope) -> Aggregate:
    operand = node.this
    if isinstance(operand, exp.Star):
        only(operand)
        return Aggregate("count")
    if operand is None:
        raise QueryError("say COUNT(*) for the number of rows")
    if isinstance(operand, exp.Distinct):
        only(operand, "expressions")
        listed = operand.expressions
        return people(scope, listed[0] if len(listed) == 1 else operand)
    if scope.is_person(operand):
        return Aggregate("count")  # rows without a person are left out anyway
    return counted(checked(read(operand, scope)))


def _count_if(node: Any, scope: Scope) -> Aggregate:
    return kept(Aggregate("count"), checked(read(node.this, scope)))


_FUNCTIONS: dict[str, Function] = {
    "sum": "sum",
    "avg": "mean",
    "mean": "mean",
    "variance": "variance",
    "variancepop": "variance",
    "var": "variance",
    "stddev": "stddev",
    "stddevpop": "stddev",
    "stddevsamp": "stddev",
    "std": "stddev",
    "product": "product",
    "geomean": "geometric_mean",
    "geometric_mean": "geometric_mean",
}


def _of(operand: Node, scope: Scope) -> e.Expr:
    if isinstance(operand, exp.Distinct | exp.Order):
        raise refused(operand, "this aggregate")
    return read(operand, scope)


def _measured(node: Any, scope: Scope) -> Aggregate:
    return measured(_FUNCTIONS[node.key], _of(node.this, scope))


def _level(node: Node | None) -> Fraction:
    if node is None:
        raise QueryError("a quantile needs a level: say QUANTILE(x, 0.9)")
    return constant_number(node, "the level of a quantile")


def _median(node: Any, scope: Scope) -> Aggregate:
    return quantile(_of(node.this, scope), Fraction(1, 2))


def _quantile(node: Any, scope: Scope) -> Aggregate:
    return quantile(_of(node.this, scope), _level(node.args.get("quantile")))


def _percentile(node: Any, scope: Scope) -> Aggregate:
    return quantile(_of(node.this, scope), _level(node.args.get("expression")))


def _within_group(node: Any, scope: Scope) -> Aggregate:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)."""
    inner, order = node.this, node.expression
    if inner.key not in ("percentilecont", "percentiledisc") or not isinstance(order, exp.Order):
        raise refused(inner, "WITHIN GROUP")
    only(inner, "this")
    only(order, "expressions")
    if len(order.expressions) != 1:
        raise QueryError("WITHIN GROUP orders by one expression")
    (by,) = order.expressions
    only(by, "this", "desc")
    level = _level(inner.this)
    return quantile(_of(by.this, scope), 1 - level if by.args.get("desc") else level)


def _extreme(node: Any, scope: Scope, extremes: Fraction | None) -> Aggregate:
    only(node, "this")
    word = node.key.upper()
    if extremes is None:
        raise QueryError(
            f"{word} cannot be private: one person can move it anywhere. Say QUANTILE(x, 0.01) or "
            f"0.99, or OPTIONS (extremes = 0.01) to read {word} so"
        )
    return quantile(_of(node.this, scope), extremes if word == "MIN" else 1 - extremes)


def _anonymous(node: Any, scope: Scope) -> Aggregate:
    name, arguments = str(node.this).lower(), node.expressions
    if name == "people" and not arguments:
        return people(scope)
    if name == "quantile_cont" and len(arguments) == 2:
        return quantile(_of(arguments[0], scope), _level(arguments[1]))
    if name in _FUNCTIONS and len(arguments) == 1:
        return measured(_FUNCTIONS[name], _of(arguments[0], scope))
    raise refused(node, "an aggregate")


_THIS = ("this",)
_RULES: dict[str, tuple[tuple[str, ...], Callable[[Any, Scope], Aggregate]]] = {
    "count": (("this", "big_int"), _count),
    "countif": (_THIS, _count_if),
    **dict.fromkeys((k for k in _FUNCTIONS if "_" not in k), (_THIS, _measured)),
    "median": (_THIS, _median),
    "quantile": (("this", "quantile"), _quantile),
    "approxquantile": (("this", "quantile"), _quantile),
    "percentilecont": (("this", "expression"), _percentile),
    "percentiledisc": (("this", "expression"), _percentile),
    "withingroup": (("this", "expression"), _within_group),
    "anonymous": (("this", "expressions"), _anonymous),
}
