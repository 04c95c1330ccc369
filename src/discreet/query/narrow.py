"""A condition that all aggregates of a question share is a condition of the question.

    SELECT COUNT(*) FILTER (WHERE age > 30) AS old FROM t
    SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) AS old FROM t
    SELECT COUNT(*) AS old FROM t WHERE age > 30

are one question, with one plan: it is found again under each of its names, costs nothing the second
time, and people are bounded by the rows that count. (`discreet.query.parse_aggregate` reads the
second as the first.)

Theorem. The exact answer of `narrowed(plan)` is that of `plan`, on every table, people unbounded.
Proof. An aggregate with a filter looks at the rows for which WHERE and the filter are true, and
without one at those for which WHERE is. So each looks at the same rows as before. The groups are
the same: they follow from the public keys, which WHERE changes only by parts that compare a
grouping; and the filter has no column of any grouping, so that none of its parts is one. Where keys
have to be selected, the rows outside of the filter count for it, and the plan is left as it is.
Tested by tests/query/test_narrow.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.query import expr as e
from discreet.query import total
from discreet.query.plan import Plan, Post, PostAggregate, PostCall, aggregates
from discreet.query.scope import is_handled

__all__ = ["columns", "narrowed"]


def narrowed(plan: Plan) -> Plan:
    """The same question with the condition in WHERE, if all its aggregates have one and share it.

    What would be too large a condition there is left as it is.
    """
    shared = {one.where for one in aggregates(plan)}
    condition = shared.pop() if len(shared) == 1 else None
    if condition is None or any(grouping.keys is None for grouping in plan.groupings):
        return plan
    if not columns(condition).isdisjoint(columns(*(one.value for one in plan.groupings))):
        return plan
    where = total.all_of([one for one in (plan.where, condition) if one is not None])
    if not is_handled(where):
        return plan
    return replace(
        plan,
        where=where,
        outputs=tuple(replace(one, value=_bare(one.value)) for one in plan.outputs),
        having=None if plan.having is None else _bare(plan.having),
        order=tuple(replace(one, value=_bare(one.value)) for one in plan.order),
    )


def columns(*nodes: e.Expr) -> frozenset[str]:
    """The columns of the table that some expressions look at."""
    return frozenset(_columns(nodes))


def _columns(nodes: Iterable[e.Expr]) -> Iterable[str]:
    return (inner.name for node in nodes for inner in e.walk(node) if isinstance(inner, e.Column))


def _bare(post: Post) -> Post:
    """A function of aggregates, each without its condition."""
    match post:
        case PostAggregate(aggregate=aggregate):
            return PostAggregate(replace(aggregate, where=None))
        case PostCall(name=name, arguments=arguments):
            return PostCall(name, tuple(map(_bare, arguments)))
        case _:
            return post
