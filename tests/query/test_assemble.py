"""Keys and limits of a plan."""

from datetime import date
from fractions import Fraction

import pytest
from tests.query.example import PEOPLE

from discreet.errors import QueryError
from discreet.query.assemble import Tail, assembled, held_keys
from discreet.query.build import Query
from discreet.query.options import Options
from discreet.query.plan import Aggregate, Output, PostAggregate, PostCall, PostValue
from discreet.query.render import to_sql
from discreet.query.sql import expression, parse

COUNT = PostAggregate(Aggregate("count"))
COUNTED = (Output("n", COUNT),)


def x(text):
    return expression(text, PEOPLE)


def keys(text, *given):
    return held_keys("g", x(text), given, PEOPLE)


def made(*groups, **options):
    texts = tuple(x(text) for text in groups)
    return assembled(PEOPLE, None, texts, COUNTED, Tail(), Options(**options))


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


WHERE = [
    ("dept = 'nurse'", "dept", ("nurse",)),
    ("'nurse' = dept", "dept", ("nurse",)),
    ("dept IN ('nurse', 'clerk') AND active", "dept", ("clerk", "nurse")),
    ("dept NOT IN ('nurse', 'clerk')", "dept", ("it's", "Ärzte")),
    ("dept <> 'nurse' AND dept <> 'clerk'", "dept", ("it's", "Ärzte")),
    ("code BETWEEN 1 AND 2.5", "code", (1, 2)),
    ("code > 1 AND 3 > code AND code <> 3", "code", (2,)),
    ("code >= 1.5", "code", (3, 2)),
    ("age < 3 AND age < 2 AND age <= 9", "age", (0, 1)),
    ("age + 1 > 119", "age", (119, 120)),
    ("hired >= '2024-12-30'", "hired", (date(2024, 12, 30), date(2024, 12, 31))),
    ("active", "active", (True,)),
    ("NOT active", "active", (False,)),
    ("active = FALSE", "active", (False,)),
    ("EXTRACT(YEAR FROM hired) >= 2023", "EXTRACT(YEAR FROM hired)", (2023, 2024)),
    ("LOOKUP('regions', 'region', zip) = 'east'", "LOOKUP('regions', 'region', zip)", ("east",)),
    ("age > 118", "age > 118", (True,)),
    ("dept = 'nurse' OR active", "dept", ("clerk", "nurse", "it's", "Ärzte")),
    ("NOT dept = 'nurse'", "dept", ("clerk", "nurse", "it's", "Ärzte")),
    ("COALESCE(dept, 'x') = 'x'", "dept", ("clerk", "nurse", "it's", "Ärzte")),
    ("code - age > 3", "code", (3, 1, 2, -7)),
]


@pytest.mark.parametrize(("where", "group", "wanted"), WHERE)
def test_where_leaves_out_the_keys_that_no_row_can_have(where, group, wanted):
    plan = assembled(PEOPLE, x(where), (x(group),), COUNTED)
    assert plan.groupings[0].keys == wanted
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan
    text = f"SELECT COUNT(*) AS n FROM t WHERE {where} GROUP BY {group}"
    assert parse(text, PEOPLE) == plan
    fluent = Query(PEOPLE).where(where).group_by(f"{group} AS g").count(name="n").plan
    assert fluent.groupings[0].keys == wanted
    assert parse(to_sql(fluent, PEOPLE), PEOPLE) == fluent


def test_where_in_a_subquery_counts_too():
    inner = "SELECT d, COUNT(*) FROM (SELECT dept AS d FROM t WHERE dept = 'nurse') GROUP BY d"
    assert parse(inner, PEOPLE).groupings[0].keys == ("nurse",)


def test_keys_that_are_listed_are_answered_whatever_where_says():
    where, groups = x("dept = 'nurse'"), (x("dept"),)
    for options in (
        Options(keys={"dept": ("clerk", "nurse")}),
        Options(combinations=(("clerk",), ("nurse",))),
    ):
        plan = assembled(PEOPLE, where, groups, COUNTED, Tail(), options)
        assert {"clerk", "nurse"} <= set(plan.groupings[0].keys)
        assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan
    private = assembled(PEOPLE, where, groups, COUNTED, Tail(), Options(keys={"dept": None}))
    assert private.groupings[0].keys is None


@pytest.mark.parametrize(
    "where", ["dept = 'nurse' AND dept = 'clerk'", "dept = NULL", "dept > 'zzz' AND dept < 'a'"]
)
def test_where_that_leaves_no_group_is_refused(where):
    with pytest.raises(QueryError, match="WHERE leaves no key of 'dept'"):
        assembled(PEOPLE, x(where), (x("dept"),), COUNTED)


def test_slips_in_given_keys_are_pointed_at():
    with pytest.raises(QueryError, match=r"never 'clark' \(did you mean 'clerk'\?\); leave out"):
        keys("dept", "clark")
    with pytest.raises(QueryError, match=r"given for 'dpt' \(did you mean 'dept'\?\)"):
        made("dept", keys={"dpt": ("clerk",)})


def test_keys_of_many_digits_are_refused_in_words():
    for key in (10**5000, Fraction(1, 10**5000)):
        with pytest.raises(QueryError, match=r"bits|digits"):
            keys("age", key)
