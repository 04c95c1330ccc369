"""A plan is a frozen value that knows its private numbers."""

import dataclasses

import pytest
from tests.query.example import PEOPLE

from discreet.query.plan import (
    Aggregate,
    Grouping,
    Order,
    Output,
    Plan,
    PostAggregate,
    PostCall,
    PostGroup,
    PostValue,
    aggregates,
    with_where,
)
from discreet.query.sql import parse

COUNT, PEOPLE_ = Aggregate("count"), Aggregate("people")


def test_private_numbers_come_once_in_the_order_of_their_first_use():
    count, people = PostAggregate(COUNT), PostAggregate(PEOPLE_)
    other = PostAggregate(Aggregate("count", where=None, level=None))
    plan = Plan(
        "t",
        None,
        (),
        (Output("a", PostCall("/", (people, count))), Output("b", PostValue(1))),
        having=PostCall(">", (other, PostGroup(0))),
        order=(Order(PostAggregate(Aggregate("sum"))),),
    )
    assert aggregates(plan) == (PEOPLE_, COUNT, Aggregate("sum"))


def test_plans_are_frozen_hashable_values():
    first, second = (parse("SELECT dept, COUNT(*) FROM t GROUP BY dept", PEOPLE) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    for made in (first, first.groupings[0], COUNT, Grouping("a", None, None)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, dataclasses.fields(made)[0].name, 1)


def test_another_condition_changes_nothing_else():
    """Every field of a plan, whichever there are."""
    marks = {field.name: object() for field in dataclasses.fields(Plan)}
    plan, where = Plan(**marks), object()
    assert with_where(plan, where) == dataclasses.replace(plan, where=where)
