"""Names, keys and limits of a plan."""

from fractions import Fraction

import pytest
from tests.query.example import PEOPLE

from discreet.errors import QueryError
from discreet.query.assemble import (
    Item,
    Tail,
    assembled,
    extreme_name,
    group_name,
    held_keys,
    named,
)
from discreet.query.options import Options
from discreet.query.plan import Aggregate, Output, PostAggregate, PostCall, PostGroup, PostValue
from discreet.query.sql import expression

COUNT = PostAggregate(Aggregate("count"))
COUNTED = (Output("n", COUNT),)


def x(text):
    return expression(text, PEOPLE)


def keys(text, *given):
    return held_keys("g", x(text), given, PEOPLE)


def made(*groups, **options):
    texts = tuple(x(text) for text in groups)
    return assembled(PEOPLE, None, texts, COUNTED, Tail(), Options(**options))


def test_names_are_different_without_regard_to_case():
    outputs = named([Item(None, COUNT), Item("Count", COUNT), Item(None, COUNT)], ())
    assert [o.name for o in outputs] == ["count_2", "Count", "count_3"]
    with pytest.raises(QueryError, match="two columns of the answer are called 'B'"):
        named([Item("b", COUNT), Item("B", COUNT)], ())


def test_names_say_what_is_inside():
    mean = PostAggregate(Aggregate("mean", x("salary / 12")))
    nested = PostCall("round", (PostCall("/", (PostValue(1), mean)), PostValue(2)))
    assert named([Item(None, nested)], ())[0].name == "mean_salary"
    assert named([Item(None, PostValue(1))], ())[0].name == "value"
    level = Aggregate("quantile", x("age"), level=Fraction(1, 3))
    assert named([Item(None, PostAggregate(level))], ())[0].name == "p100/3_age"
    assert extreme_name("min", level) == "min_age"
    assert extreme_name("min", Aggregate("quantile", x("age + code"))) == "min"


def test_group_names():
    assert group_name(x("DATE_TRUNC('month', hired)")) == "hired_month"
    assert group_name(x("EXTRACT(YEAR FROM hired)")) == "hired_year"
    assert group_name(x("LOOKUP('regions', 'rank', zip)")) == "rank"
    assert group_name(x("age + code")) == "group"


def test_given_keys_become_multiples_of_the_grid():
    assert keys("FLOOR(age / 10) * 10", 30, 0) == (3, 0)
    assert keys("salary", Fraction("0.05"), 7) == (5, 700)
    assert keys("note", "b", "a") == ("b", "a")
    assert keys("active", True) == (True,)


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("age", (1, 1), "different"),
        ("age", (), "at least one"),
        ("age", (121,), "is never 121"),
        ("age", (Fraction(1, 2),), "is not a whole number"),
        ("age", ("a",), "is not a whole number"),
        ("age", (True,), "is not a whole number"),
        ("salary", (-1,), "is never -1"),
        ("dept", ("boss",), "is never 'boss'"),
        ("note", (1,), "is not text"),
        ("note", ("a\0",), "is not text"),
        ("active", (1,), "is not true or false"),
        ("hired", ("2020-01-01",), "is not a date"),
    ],
)
def test_keys_that_cannot_be_are_refused(text, given, words):
    with pytest.raises(QueryError, match=words):
        keys(text, *given)


def test_combinations():
    plan = made("note", "active", combinations=(("a", True), ("b", True)))
    assert plan.combinations == (("a", True), ("b", True))
    assert plan.groupings[0].keys == ("a", "b")
    for rows, words in (
        ((), "every combination needs 2 keys"),
        ((("a",),), "every combination needs 2 keys"),
        ((("a", True), ("a", True)), "different"),
        ((("a", 1),), "is not true or false"),
    ):
        with pytest.raises(QueryError, match=words):
            made("note", "active", combinations=rows)
    with pytest.raises(QueryError, match="'dept' never has"):
        made("dept", combinations=(("boss",),))
    with pytest.raises(QueryError, match="every combination needs 0"):
        made(combinations=(("a",),))


def test_limits():
    with pytest.raises(QueryError, match="asks for 1030436 groups"):
        made("hired", "code", "age")
    with pytest.raises(QueryError, match="needs an aggregate"):
        assembled(PEOPLE, None, (), (Output("a", PostValue(1)),))
    with pytest.raises(QueryError, match="not a constant"):
        made("1 + 1")
    with pytest.raises(QueryError, match="which is not grouped by"):
        made("dept", keys={"note": ("a",)})
    many = tuple(Output(f"n{i}", COUNT) for i in range(1200))
    with pytest.raises(QueryError, match="1200 parts"):
        assembled(PEOPLE, None, (), many)
    deep = COUNT
    for _ in range(30):
        deep = PostCall("abs", (deep,))
    with pytest.raises(QueryError, match="28 deep"):
        assembled(PEOPLE, None, (), (Output("a", deep),))
    with pytest.raises(QueryError, match="UTF-8"):
        assembled(PEOPLE, None, (), (Output("a\0", COUNT),))


def test_a_grouping_is_called_by_the_column_that_shows_it():
    plan = assembled(
        PEOPLE, None, (x("dept"), x("code")),
        (Output("a", PostGroup(1)), Output("b", PostGroup(1)), Output("dept", COUNT)),
    )  # fmt: skip
    assert [g.name for g in plan.groupings] == ["dept_2", "a"]
