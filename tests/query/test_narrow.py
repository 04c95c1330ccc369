"""A condition that all aggregates share is the question's: other words, the same rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.example import PEOPLE, TABLES
from tests.query.example import ROWS as BY_ROW
from tests.query.generate import flags
from tests.query.rows import ROWS

from discreet.errors import QueryError
from discreet.query import assemble
from discreet.query.build import Query
from discreet.query.evaluate import compiled
from discreet.query.plan import aggregates
from discreet.query.price import Target, priced
from discreet.query.render import to_sql
from discreet.query.sql import expression, parse

OLD = "SELECT COUNT(*) AS n FROM t WHERE age > 30"
ONE_QUESTION = {
    OLD: [
        "SELECT COUNT(*) FILTER (WHERE age > 30) AS n FROM t",
        "SELECT COUNT_IF(age > 30) AS n FROM t",
        "SELECT SUM(age > 30) AS n FROM t",
        "SELECT SUM(CAST(age > 30 AS INTEGER)) AS n FROM t",
        "SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) AS n FROM t",
        "SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE NULL END) AS n FROM t",
        "SELECT SUM(CASE WHEN age > 30 THEN 1 END) AS n FROM t",
        "SELECT SUM(CASE WHEN age > 30 THEN 1.0 ELSE 0.0 END) AS n FROM t",
        "SELECT SUM(IF(age > 30, 1, 0)) AS n FROM t",
        "SELECT SUM((CASE WHEN (age > 30) THEN 1 ELSE 0 END)) AS n FROM t",
        "SELECT COUNT(CASE WHEN age > 30 THEN 1 END) AS n FROM t",
        "SELECT COUNT(CASE WHEN age > 30 THEN active IS NULL END) AS n FROM t",
    ],
    "SELECT SUM(salary) AS s, COUNT(*) AS n FROM t WHERE active AND age > 30": [
        (
            "SELECT SUM(salary) FILTER (WHERE age > 30) AS s, SUM(IF(age > 30, 1, 0)) AS n FROM t "
            "WHERE active"
        ),
    ],
    "SELECT SUM(CASE WHEN active THEN 1 ELSE 0 END) AS s, COUNT(*) AS n FROM t WHERE age > 30": [
        (
            "SELECT SUM(IF(active, 1, 0)) FILTER (WHERE age > 30) AS s, COUNT_IF(age > 30) AS n "
            "FROM t"
        ),
    ],
    "SELECT dept, AVG(salary) AS a, COUNT(*) AS n FROM t WHERE active AND age > 30 "
    "GROUP BY dept HAVING COUNT(*) > 5 ORDER BY n / 2": [
        (
            "SELECT dept, AVG(salary) FILTER (WHERE age > 30) AS a, COUNT_IF(age > 30) AS n FROM t "
            "WHERE active GROUP BY dept HAVING COUNT_IF(age > 30) > 5 ORDER BY n / 2"
        ),
    ],
    "SELECT MEDIAN(salary) AS m FROM t WHERE age > 3 AND active": [
        "SELECT MEDIAN(salary) FILTER (WHERE active) AS m FROM (SELECT * FROM t WHERE age > 3)",
    ],
}
AS_IT_IS = [
    "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE active) AS m FROM t",
    "SELECT COUNT(*) FILTER (WHERE age > 3) AS n, COUNT(*) FILTER (WHERE active) AS m FROM t",
    "SELECT COUNT(*) FILTER (WHERE active) AS n FROM t HAVING COUNT(*) > 5",
    "SELECT COUNT(*) FILTER (WHERE active) AS n, COUNT(DISTINCT person_id) AS m FROM t",
    "SELECT dept, COUNT(*) FILTER (WHERE dept = 'nurse') AS n FROM t GROUP BY dept",
    "SELECT dept, COUNT(*) FILTER (WHERE age > 3 OR dept <> 'nurse') AS n FROM t GROUP BY dept",
    "SELECT FLOOR(age / 40) AS a, COUNT(*) FILTER (WHERE age > 30) AS n FROM t GROUP BY 1",
    "SELECT note, COUNT(*) FILTER (WHERE active) AS n FROM t GROUP BY note",
    "SELECT dept, note, COUNT(*) FILTER (WHERE active) AS n FROM t GROUP BY dept, note",
    "SELECT SUM(CASE WHEN active THEN 2 ELSE 0 END) AS n FROM t",
    "SELECT SUM(CASE WHEN active THEN 0 ELSE 1 END) AS n FROM t",
    "SELECT SUM(CASE WHEN active THEN 1 ELSE 2 END) AS n FROM t",
    "SELECT SUM(CASE WHEN active THEN 1 ELSE -1 END) AS n FROM t",
    "SELECT SUM(CASE WHEN active THEN 1 ELSE age END) AS n FROM t",
    "SELECT COUNT(CASE WHEN active THEN 1 ELSE age END) AS n FROM t",
    "SELECT SUM(CASE WHEN active THEN 1 WHEN age > 3 THEN 1 ELSE 0 END) AS n FROM t",
    "SELECT AVG(CASE WHEN active THEN 1 ELSE 0 END) AS n FROM t",
    "SELECT COUNT(CASE WHEN active THEN note END) AS n FROM t",
    "SELECT COUNT(CASE WHEN active THEN 1 ELSE 0 END) AS n, COUNT_IF(active) AS m FROM t",
    "SELECT COUNT(CASE WHEN active THEN 1 END) AS n, COUNT(*) AS m FROM t",
]
SHARED = [
    "SELECT SUM(CASE WHEN active THEN 1 ELSE 0 END) AS n, COUNT(*) AS m FROM t",
    "SELECT SUM(IF(active, 1, 0)) AS n, AVG(IF(active, 1, 0)) AS a, COUNT(*) AS m FROM t",
    "SELECT SUM(CAST(active AS INTEGER)) AS n, AVG(CAST(active AS INTEGER)) AS a FROM t",
    "SELECT SUM(IF(active, 1, 0)) / COUNT(*) AS share FROM t",
    "SELECT dept, SUM(IF(age > 30, 1, 0)) AS n, COUNT(*) AS m FROM t GROUP BY dept",
    "SELECT SUM(IF(active, 1, 0)) AS n FROM t HAVING COUNT(*) > 5",
]


@pytest.mark.parametrize("schema", [PEOPLE, BY_ROW], ids=["people", "rows"])
@pytest.mark.parametrize(
    ("wanted", "text"), [(w, text) for w, texts in ONE_QUESTION.items() for text in texts]
)
def test_other_words_for_one_question(text, wanted, schema):
    assert parse(text, schema) == parse(wanted, schema)
    assert to_sql(parse(text, schema), schema) == to_sql(parse(wanted, schema), schema)


def test_a_query_in_python_is_the_same_question():
    built = Query(PEOPLE).count(where="age > 30", name="n").plan
    assert built == parse(OLD, PEOPLE)


@pytest.mark.parametrize("text", AS_IT_IS)
def test_left_as_it_is(text):
    plan = parse(text, PEOPLE)
    assert plan.where is None
    assert any(one.where is not None or one.operand is not None for one in aggregates(plan))


def test_a_name_is_that_of_the_words_that_were_asked():
    plan = parse("SELECT COUNT(*) FILTER (WHERE age > 30) FROM t", PEOPLE)
    assert [output.name for output in plan.outputs] == ["count_if_age"]
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


def test_what_would_be_too_large_is_left_as_it_is():
    """Each of the two conditions can be handled, and both together cannot."""
    many = " OR ".join(f"age + {n} = salary" for n in range(80))
    text = f"SELECT COUNT(*) FILTER (WHERE {many}) AS n FROM t WHERE "
    (there,) = aggregates(parse(text + "active", PEOPLE))
    assert there.where is None
    (there,) = aggregates(parse(text + many.replace("+", "-"), PEOPLE))
    assert there.where is not None


def test_it_costs_what_the_question_costs_and_errs_as_little():
    """The sum of a condition is a count: not noisier, and the same loss."""
    sums, count = (
        priced(parse(text, PEOPLE), PEOPLE, Target(epsilon="0.1"))
        for text in (ONE_QUESTION[OLD][4], OLD)
    )
    assert sums.losses == count.losses
    assert [one.noise for one in sums.measured] == [one.noise for one in count.measured]


@pytest.mark.parametrize("schema", [PEOPLE, BY_ROW], ids=["people", "rows"])
@pytest.mark.parametrize("text", SHARED)
def test_a_sum_that_shares_its_measurement_stays_one(text, schema):
    """With a condition of its own it would be measured apart, for half of the price."""
    plan = parse(text, schema)
    assert plan.where is None
    assert len(priced(plan, schema, Target(epsilon="0.1")).measured) == 1


def _is_listed(group, plan):
    return all(key in one.keys for key, one in zip(group, plan.groupings, strict=True))


def _seen(plan, rows):
    """By group and aggregate: what it sees of every row, in order; its rule is all the rest."""
    holds = (lambda row: True) if plan.where is None else compiled(plan.where, TABLES)
    keys = [compiled(one.value, TABLES) for one in plan.groupings]
    found = []
    for one in aggregates(plan):
        there = (lambda row: True) if one.where is None else compiled(one.where, TABLES)
        value = (lambda row: 1) if one.operand is None else compiled(one.operand, TABLES)
        inside = [row for row in rows if holds(row) is True and there(row) is True]
        groups = [(tuple(key(row) for key in keys), value(row)) for row in inside]
        found.append((one.function, one.level, [g for g in groups if _is_listed(g[0], plan)]))
    return [one.keys for one in plan.groupings], found


@given(
    aggregate=st.sampled_from(
        ["COUNT(*)", "COUNT(age)", "SUM(salary)", "AVG(height)", "MEDIAN(age)"]
    ),
    condition=flags(2), outer=flags(1), rows=st.lists(ROWS, max_size=12),
    group=st.sampled_from(["", "dept", "code", '"Group"', "active", "FLOOR(age / 40)", "zip"]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_the_same_rows_are_looked_at(aggregate, condition, outer, group, rows):
    """The theorem, on random questions and rows, with the reference of what an expression means."""
    key, grouped = (f"{group} AS g, ", " GROUP BY g") if group else ("", "")
    text = (
        f"SELECT {key}{aggregate} FILTER (WHERE {condition}) AS n, COUNT_IF({condition}) AS m "
        f"FROM t WHERE {outer}{grouped}"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "narrowed", lambda plan: plan)
        try:
            plain = parse(text, PEOPLE)
        except QueryError:
            return
    assert _seen(parse(text, PEOPLE), rows) == _seen(plain, rows)


@given(condition=flags(2), rows=st.lists(ROWS, max_size=12), last=st.sampled_from(["ELSE 0", ""]))
@settings(max_examples=150, deadline=None)
def test_the_sum_of_a_condition_is_the_number_of_rows_where_it_is_true(condition, rows, last):
    """So is the number of rows where something is there that is missing elsewhere."""
    case = f"CASE WHEN {condition} THEN 1 {last} END"
    try:
        plan = parse(f"SELECT SUM({case}) AS n FROM t", PEOPLE)
    except QueryError:
        return
    value = compiled(expression(case, PEOPLE), TABLES)
    _, ((function, _, counted),) = _seen(plan, rows)
    assert function == "count"
    assert len(counted) == sum(value(row) or 0 for row in rows)
    if not last:
        assert parse(f"SELECT COUNT({case}) AS n FROM t", PEOPLE) == plan
