"""A question as a frozen value: what SQL and the fluent form both become.

A plan says what is wanted, never how it is computed nor what it costs. Its aggregates are private
and get noise; everything in `outputs`, `having`, `order` and `limit` works on released numbers
only (`Post`), and is free.
Tested by tests/query/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal

from discreet.query.expr import Expr

__all__ = [
    "Aggregate",
    "Function",
    "Grouping",
    "Order",
    "Output",
    "Plan",
    "Post",
    "PostAggregate",
    "PostCall",
    "PostGroup",
    "PostValue",
    "aggregates",
    "but_for_where",
    "inside",
]

Function = Literal[
    "count",  # rows, or rows where the operand is not missing
    "people",  # different people
    "sum",
    "mean",
    "variance",  # of the population: divided by n
    "stddev",
    "quantile",
    "product",  # of positive values
    "geometric_mean",
]
Key = int | bool | str | date | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One private number per group.

    Attributes:
        function: what is aggregated.
        operand: of what; None for rows and people.
        where: FILTER (WHERE ...): only these rows count.
        level: of a quantile, between 0 and 1.
    """

    function: Function
    operand: Expr | None = None
    where: Expr | None = None
    level: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Grouping:
    """One thing to group by.

    Attributes:
        name: what its column of the answer is called.
        value: the expression; its values are multiples of the grid for numbers.
        keys: all the values there can be, as the engine holds them, in the order of the answer;
            None where they are not public and have to be selected.
    """

    name: str
    value: Expr
    keys: tuple[Key, ...] | None


@dataclass(frozen=True, slots=True)
class PostValue:
    """A constant in a released expression."""

    value: int | Fraction | bool | str | date | None


@dataclass(frozen=True, slots=True)
class PostGroup:
    """The key of one grouping, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class PostAggregate:
    """A released aggregate."""

    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class PostCall:
    """A function of released values: free post-processing, computed on the answer.

    Names: + - * / = <> < <= > >= and or not is_null in between case coalesce round abs least
    greatest floor ceil sqrt ln exp.
    """

    name: str
    arguments: tuple[Post, ...]


Post = PostValue | PostGroup | PostAggregate | PostCall


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer."""

    name: str
    value: Post


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY item."""

    value: Post
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A question to one table.

    Attributes:
        table: the name of the table.
        where: only rows for which this is true.
        groupings: what is grouped by; empty for one row about everybody.
        outputs: the columns of the answer, in order.
        having: only released rows for which this is true.
        order: the order of the released rows; by keys without it.
        limit: at most this many released rows.
        combinations: the listed combinations of keys; None for all (the product).
        other: with True, one more row for all rows that are in no listed or selected group.
        rollup: with True, also the groups by all but the last key, and so on up to everybody.
        epsilon, delta, rho: what OPTIONS of the SQL said, if anything.
    """

    table: str
    where: Expr | None
    groupings: tuple[Grouping, ...]
    outputs: tuple[Output, ...]
    having: Post | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    combinations: tuple[tuple[Key, ...], ...] | None = None
    other: bool = False
    rollup: bool = False
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None


def with_where(plan: Plan, where: Expr | None) -> Plan:
    """The plan with another condition."""
    return Plan(
        plan.table, where, plan.groupings, plan.outputs, plan.having, plan.order, plan.limit,
        plan.combinations, plan.other, plan.rollup, plan.epsilon, plan.delta, plan.rho,
    )  # fmt: skip


def but_for_where(plan: Plan) -> tuple[int, ...]:
    """Which objects a plan has besides its condition: two plans that have this in common, while one
    of them is alive, differ in what WHERE says, and in nothing else. (Equal plans may differ here.)
    """
    return (
        id(plan.table), id(plan.groupings), id(plan.outputs), id(plan.having), id(plan.order),
        id(plan.limit), id(plan.combinations), id(plan.other), id(plan.rollup), id(plan.epsilon),
        id(plan.delta), id(plan.rho),
    )  # fmt: skip


def keys_in(plan: Plan) -> int:
    """How many keys a plan holds, of all its groupings."""
    listed = [len(grouping.keys or ()) for grouping in plan.groupings]
    return sum(listed, len(plan.combinations or ()))


def aggregates(plan: Plan) -> tuple[Aggregate, ...]:
    """The private numbers that a plan needs, each once, in the order of their first use."""
    posts = [output.value for output in plan.outputs]
    posts += [] if plan.having is None else [plan.having]
    posts += [order.value for order in plan.order]
    return tuple(dict.fromkeys(found for post in posts for found in inside(post)))


def inside(post: Post) -> Iterator[Aggregate]:
    """The private numbers that a function of them needs."""
    match post:
        case PostAggregate(aggregate=found):
            yield found
        case PostCall(arguments=arguments):
            for argument in arguments:
                yield from inside(argument)
        case _:
            pass
