"""What the columns of an answer are called.

Without AS, a column is called by what it shows; a name never depends on the data:

    dept                              dept               a column: its name, as declared or as a
                                                         subquery called it
    DATE_TRUNC('month', hired)        hired_month        a unit or a part of a date
    COALESCE(dept, 'none')            dept               a column with a word for what is missing
    FLOOR(salary / 1000) * 1000       salary_group       any other expression of one column
    age + code                        group              and of several
    COUNT(*), COUNT(DISTINCT person)  count, people
    AVG(salary), SUM(salary / 12)     mean_salary, sum_salary
    MEDIAN(age), QUANTILE(age, 0.9)   median_age, p90_age
    MIN(age)                          min_age            with OPTIONS (extremes = ...)
    COUNT(*) FILTER (WHERE age > 9)   count_if_age       with the one column of the condition;
                                                         count_if for none and for several
    ROUND(AVG(salary), 2)             mean_salary        a function of one aggregate
    SUM(salary) / COUNT(*)            value              and of several, or of none

Names are different without regard to case. Who comes first keeps a name, and others get _2, _3 and
so on: first what AS says, then bare keys and aggregates, then functions of them, each from left to
right. So a plan written as SQL, where every name that needs it has its AS, reads back the same.
Tested by tests/query/test_names.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import QueryError
from discreet.exact import shown
from discreet.query import expr as e
from discreet.query.plan import (
    Aggregate,
    Output,
    Post,
    PostAggregate,
    PostCall,
    PostGroup,
    inside,
)

__all__ = ["Item", "extreme_name", "group_name", "group_names", "named"]


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the answer.

    Attributes:
        name: what AS says; None for a name of its own.
        value: what it shows.
        like: the name to take where AS says none; None for the one that its value gives.
    """

    name: str | None
    value: Post
    like: str | None = None


def named(items: Sequence[Item], groups: Sequence[e.Expr]) -> tuple[Output, ...]:
    """Every column of the answer with a name of its own."""
    taken: set[str] = set()
    for item in items:
        if item.name is None:
            continue
        if not isinstance(item.name, str):
            raise QueryError(f"the name of a column is text, not {type(item.name).__name__}")
        if item.name.lower() in taken:
            raise QueryError(f"two columns of the answer are called {item.name[:60]!r}")
        taken.add(item.name.lower())
    names = {place: item.name for place, item in enumerate(items) if item.name is not None}
    for bare in (True, False):
        for place, item in enumerate(items):
            if place not in names and isinstance(item.value, PostGroup | PostAggregate) is bare:
                name = _free(item.like or _said_name(item.value, groups), taken)
                taken.add(name.lower())
                names[place] = name
    return tuple(Output(names[place], item.value) for place, item in enumerate(items))


def _free(name: str, taken: Iterable[str]) -> str:
    used, number, free = set(taken), 1, name
    while free.lower() in used:
        number += 1
        free = f"{name}_{number}"
    return free


def _said_name(post: Post, groups: Sequence[e.Expr]) -> str:
    match post:
        case PostGroup(place=place):
            return group_name(groups[place])
        case PostAggregate(aggregate=aggregate):
            return _aggregate_name(aggregate)
        case PostCall():
            found = dict.fromkeys(inside(post))
            return _aggregate_name(next(iter(found))) if len(found) == 1 else "value"
        case _:
            return "value"


def _aggregate_name(aggregate: Aggregate) -> str:
    function: str = aggregate.function
    if aggregate.level is not None:
        half = aggregate.level == Fraction(1, 2)
        function = "median" if half else f"p{shown(aggregate.level * 100)}"
    return _of(function, aggregate)


def extreme_name(word: str, aggregate: Aggregate) -> str:
    """MIN(salary) is called min_salary, although it is a quantile."""
    return _of(word, aggregate)


def _of(function: str, aggregate: Aggregate) -> str:
    """The words for function, column and condition."""
    of = "" if aggregate.operand is None else _one_column(aggregate.operand)
    name = f"{function}_{of}" if of else function
    if aggregate.where is None:
        return name
    condition = _one_column(aggregate.where)
    return f"{name}_if_{condition}" if condition else f"{name}_if"


def _one_column(node: e.Expr) -> str:
    """The only column inside; nothing where there are several."""
    if isinstance(node, e.Lookup):
        return node.column
    names = {part.name for part in e.walk(node) if isinstance(part, e.Column)}
    return names.pop() if len(names) == 1 else ""


def group_name(group: e.Expr) -> str:
    """What a grouping is called when nobody says; see the top of this file."""
    match group:
        case e.Column(name=name) | e.Lookup(column=name):
            return name
        case e.DateTrunc(unit=unit, operand=e.Column(name=name)):
            return f"{name}_{unit}"
        case e.DatePart(part=part, operand=e.Column(name=name)):
            return f"{name}_{part}"
        case e.Coalesce(operands=(first, *rest)) if all(isinstance(r, e.Literal) for r in rest):
            return group_name(first)
        case _:
            column = _one_column(group)
            return f"{column}_group" if column else "group"


def group_names(groups: Sequence[e.Expr], outputs: Sequence[Output]) -> list[str]:
    """The name of the first column that shows a grouping, or one of its own."""
    shown_as: dict[int, str] = {}
    for output in outputs:
        if isinstance(output.value, PostGroup):
            shown_as.setdefault(output.value.place, output.name)
    taken = {output.name.lower() for output in outputs}
    names = []
    for place, group in enumerate(groups):
        name = shown_as.get(place) or _free(group_name(group), taken)
        taken.add(name.lower())
        names.append(name)
    return names
