"""A condition that all aggregates of a question share is a condition of the question.

    SELECT COUNT(*) FILTER (WHERE age > 30) AS old FROM t
    SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) AS old FROM t
    SELECT COUNT(*) AS old FROM t WHERE age > 30

are one question, with one plan: under the same name of the column (AS old) it is found again in
each of its forms, costs nothing the second time, and people are bounded by the rows that count.

    SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) AS old, COUNT(*) AS people FROM t

is another one, and stays a sum: it shares its measurement with the number of rows, or with a mean
of the same (`discreet.query.blocks`), and a count under a condition of its own would be twice as
far off at the same price.

Theorem. The exact answer of `narrowed(plan)` is that of `plan`, on every table, people unbounded.
Proof. An aggregate with a filter looks at the rows for which WHERE and the filter are true, and
without one at those for which WHERE is. So each looks at the same rows as before. A sum of ones
where a condition is true, and of zeros or nothing elsewhere, is the number of rows where it is
true; so is the number of rows where something is there that is missing elsewhere. The groups are
the same: they follow from the public keys, which WHERE changes only by parts that compare a
grouping; and the filter has no column of any grouping, so that none of its parts is one. Where keys
have to be selected, the rows outside of the filter count for it, and the plan is left as it is.
Tested by tests/query/test_narrow.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from discreet.query import expr as e
from discreet.query import total
from discreet.query.kinds import Number
from discreet.query.plan import Aggregate, Plan, Post, PostAggregate, PostCall, aggregates
from discreet.query.scope import is_handled

__all__ = ["columns", "narrowed"]


def narrowed(plan: Plan) -> Plan:
    """The same question with the condition in WHERE, if all its aggregates have one and share it.

    What would be too large a condition there is left as it is.
    """
    if any(grouping.keys is None for grouping in plan.groupings):
        return plan
    plan = _moved(plan, {one: one for one in aggregates(plan)})
    return _moved(plan, {one: _counting(one) for one in aggregates(plan)})


def _moved(plan: Plan, read: Mapping[Aggregate, Aggregate]) -> Plan:
    """The plan with the condition in WHERE that its aggregates share, each read as another one."""
    shared = {one.where for one in read.values()}
    condition = shared.pop() if len(shared) == 1 else None
    if condition is None:
        return plan
    if not columns(condition).isdisjoint(columns(*(one.value for one in plan.groupings))):
        return plan
    where = total.all_of([one for one in (plan.where, condition) if one is not None])
    if not is_handled(where):
        return plan

    def bare(post: Post) -> Post:
        match post:
            case PostAggregate(aggregate=aggregate):
                return PostAggregate(replace(read[aggregate], where=None))
            case PostCall(name=name, arguments=arguments):
                return PostCall(name, tuple(map(bare, arguments)))
            case _:
                return post

    return replace(
        plan,
        where=where,
        outputs=tuple(replace(one, value=bare(one.value)) for one in plan.outputs),
        having=None if plan.having is None else bare(plan.having),
        order=tuple(replace(one, value=bare(one.value)) for one in plan.order),
    )


def _counting(one: Aggregate) -> Aggregate:
    """The same number as a count of the rows that meet a condition, if it is one."""
    condition = _counted(one)
    if condition is None:
        return one
    both = [part for part in (one.where, condition) if part is not None]
    return Aggregate("count", where=total.all_of(both))


def _counted(one: Aggregate) -> e.Expr | None:
    """Which rows an aggregate counts, of those in its filter."""
    match one.operand:
        case e.FlagNumber(operand=inner) if one.function == "sum":
            return inner
        case e.Case(whens=((when, value),), otherwise=last):
            of_ones = one.function == "sum" and _is(value, 1)
            of_all = one.function == "count" and not value.kind.nullable
            if (of_ones and _is(last, 0)) or ((of_ones or of_all) and _is(last, None)):
                return when
        case _:
            pass
    return None


def _is(node: e.Expr, value: int | None) -> bool:
    """Whether a node is this whole number, or a missing one."""
    kind = node.kind
    if not (isinstance(node, e.Literal) and isinstance(kind, Number)) or node.value is None:
        return isinstance(node, e.Literal) and node.value is value
    return int(node.value) * kind.grid == value  # type: ignore[arg-type]


def columns(*nodes: e.Expr) -> frozenset[str]:
    """The columns of the table that some expressions look at."""
    return frozenset(_columns(nodes))


def _columns(nodes: Iterable[e.Expr]) -> Iterable[str]:
    return (inner.name for node in nodes for inner in e.walk(node) if isinstance(inner, e.Column))
