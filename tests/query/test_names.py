"""What the columns of an answer are called."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from tests.examples import examples
from tests.query.example import PEOPLE
from tests.query.generate import questions

from discreet.errors import QueryError
from discreet.query.assemble import assembled
from discreet.query.build import Query
from discreet.query.names import Item, extreme_name, group_name, named
from discreet.query.plan import Aggregate, Output, PostAggregate, PostCall, PostGroup, PostValue
from discreet.query.render import to_sql
from discreet.query.sql import expression, parse

COUNT = PostAggregate(Aggregate("count"))


def x(text):
    return expression(text, PEOPLE)


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


GROUPS = [
    ("dept", "dept"),
    ("DATE_TRUNC('month', hired)", "hired_month"),
    ("EXTRACT(YEAR FROM hired)", "hired_year"),
    ("LOOKUP('regions', 'rank', zip)", "rank"),
    ("COALESCE(dept, 'none')", "dept"),
    ("COALESCE(LOOKUP('regions', 'region', zip), 'none')", "region"),
    ("COALESCE(code, age)", "group"),
    ("FLOOR(salary / 10000) * 10000", "salary_group"),
    ("WIDTH_BUCKET(salary, 0, 100000, 8)", "salary_group"),
    ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", "age_group"),
    ("age > 18", "age_group"),
    ("age + code", "group"),
]


@pytest.mark.parametrize(("text", "name"), GROUPS)
def test_group_names(text, name):
    assert group_name(x(text)) == name
    plan = parse(f"SELECT {text}, COUNT(*) FROM t GROUP BY 1", PEOPLE)
    assert [g.name for g in plan.groupings] == [plan.outputs[0].name] == [name]


SELECTS = [
    ("COUNT(*), COUNT(note), COUNT(DISTINCT person_id)", "count count_note people"),
    ("AVG(salary), SUM(salary / 12), MEDIAN(age)", "mean_salary sum_salary median_age"),
    ("AVG(salary), COUNT(*) AS mean_salary", "mean_salary_2 mean_salary"),
    ("COUNT(*) * 2, COUNT(*), COUNT(*) + 1", "count_2 count count_3"),
    ("COUNT_IF(active), COUNT(*), COUNT_IF(age > 3)", "count_if_active count count_if_age"),
    ("AVG(salary) FILTER (WHERE active AND age > 3)", "mean_salary_if"),
    ("SUM(salary) / COUNT(*), AVG(salary) - AVG(age)", "value value_2"),
    ("1, 2, COUNT(*), COUNT(*) / COUNT(*)", "value value_2 count count_2"),
    ("-AVG(age), ROUND(AVG(salary), 2), ABS(SUM(age + code))", "mean_age mean_salary sum"),
    ("QUANTILE(age, 0.999), QUANTILE(age, 0.05)", "p99.9_age p5_age"),
    ("AVG(LOOKUP('regions', 'rank', zip))", "mean_rank"),
]


@pytest.mark.parametrize(("items", "names"), SELECTS)
def test_names_of_numbers(items, names):
    plan = parse(f"SELECT {items} FROM t", PEOPLE)
    assert " ".join(o.name for o in plan.outputs) == names
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


def test_extremes_are_named_by_their_word():
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (extremes = 0.01) {} FROM t"
    plan = parse(text.format("MIN(age), MAX(age) FILTER (WHERE active), MIN(age)"), PEOPLE)
    assert [o.name for o in plan.outputs] == ["min_age", "max_age_if_active", "min_age_2"]
    twice = Query(PEOPLE).minimum("age", as_quantile=0.1).minimum("age", as_quantile=0.2)
    assert [o.name for o in twice.plan.outputs] == ["min_age", "min_age_2"]


def test_a_column_of_a_subquery_is_called_as_there():
    plan = parse("SELECT q.F, COUNT(*) FROM (SELECT dept AS f FROM t) q GROUP BY q.f", PEOPLE)
    assert [o.name for o in plan.outputs] == ["f", "count"]
    assert plan.groupings[0].name == "f"
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan
    plain = parse("SELECT DEPT, dept, COUNT(*) FROM t GROUP BY dept", PEOPLE)
    assert [o.name for o in plain.outputs] == ["dept", "dept_2", "count"]


def test_both_languages_call_a_column_the_same():
    fluent = Query(PEOPLE).group_by("FLOOR(age / 10) * 10").count(where="active").mean("salary")
    text = (
        "SELECT FLOOR(age / 10) * 10, COUNT_IF(active), AVG(salary) FROM t "
        "GROUP BY FLOOR(age / 10) * 10"
    )
    assert fluent.plan == parse(text, PEOPLE)
    assert fluent.plan.groupings[0].name == "age_group"


def test_a_name_is_text():
    with pytest.raises(QueryError, match="is text, not int"):
        named([Item(10**5000, COUNT)], ())


@settings(max_examples=examples(100))
@given(questions())
def test_all_names_are_different_and_read_back(text):
    try:
        plan = parse(text, PEOPLE)
    except QueryError:
        assume(False)
    names = [o.name.lower() for o in plan.outputs]
    assert len(set(names)) == len(names)
    assert parse(to_sql(plan, PEOPLE), PEOPLE).outputs == plan.outputs


def test_a_grouping_is_called_by_the_column_that_shows_it():
    plan = assembled(
        PEOPLE, None, (x("dept"), x("code")),
        (Output("a", PostGroup(1)), Output("b", PostGroup(1)), Output("dept", COUNT)),
    )  # fmt: skip
    assert [g.name for g in plan.groupings] == ["dept_2", "a"]
