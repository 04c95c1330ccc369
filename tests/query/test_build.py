"""The fluent form gives the same plan as the same question in SQL."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from tests.query.example import PEOPLE, ROWS

from discreet.errors import QueryError
from discreet.query.build import Query
from discreet.query.evaluate import evaluate
from discreet.query.plan import PostAggregate
from discreet.query.schema import Bounds, PerRow, Schema
from discreet.query.sql import expression, parse

Q = Query(PEOPLE)
PAIRS = [
    (Q.count(), "SELECT COUNT(*) FROM t"),
    (Q.people(), "SELECT COUNT(DISTINCT person_id) FROM t"),
    (Q.count("note"), "SELECT COUNT(note) FROM t"),
    (Q.count(where="age > 3"), "SELECT COUNT_IF(age > 3) FROM t"),
    (Q.count(name="n"), "SELECT COUNT(*) AS n FROM t"),
    (Q.sum("salary"), "SELECT SUM(salary) FROM t"),
    (Q.sum("active"), "SELECT SUM(active) FROM t"),
    (Q.sum("salary / 12", name="monthly"), "SELECT SUM(salary / 12) AS monthly FROM t"),
    (Q.mean("salary", where="active"), "SELECT AVG(salary) FILTER (WHERE active) FROM t"),
    (Q.variance("age"), "SELECT VARIANCE(age) FROM t"),
    (Q.stddev("age"), "SELECT STDDEV(age) FROM t"),
    (Q.median("age"), "SELECT MEDIAN(age) FROM t"),
    (Q.quantile("age", 0.25, 0.75), "SELECT QUANTILE(age, 0.25), QUANTILE(age, 0.75) FROM t"),
    (Q.product('"we""ird; DROP"'), 'SELECT PRODUCT("we""ird; DROP") FROM t'),
    (Q.geometric_mean("GREATEST(age, 1)"), "SELECT GEOMEAN(GREATEST(age, 1)) FROM t"),
    (
        Q.minimum("age", as_quantile=0.02).maximum("age", as_quantile=0.02),
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (extremes = 0.02) MIN(age), MAX(age) FROM t",
    ),
    (
        Q.where("salary > 100000").group_by("dept").count().sum("salary").mean("salary"),
        "SELECT dept, COUNT(*), SUM(salary), AVG(salary) FROM t WHERE salary > 1e5 GROUP BY dept",
    ),
    (
        Q.where("age > 3").where("active").count(),
        "SELECT COUNT(*) FROM t WHERE age > 3 AND active",
    ),
    (Q.where(expression("age > 3", PEOPLE)).count(), "SELECT COUNT(*) FROM t WHERE age > 3"),
    (
        Q.group_by("FLOOR(age / 10) * 10 AS decade", "active", other=True).count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (other = TRUE) "
            "FLOOR(age / 10) * 10 AS decade, active, COUNT(*) FROM t GROUP BY 1, 2"
        ),
    ),
    (
        Q.group_by("dept").group_by("code").count(),
        "SELECT dept, code, COUNT(*) FROM t GROUP BY dept, code",
    ),
    (
        Q.group_by("note", keys=["b", "a"]).count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'note': ['b', 'a']}) "
            "note, COUNT(*) FROM t GROUP BY note"
        ),
    ),
    (
        Q.group_by("salary", keys=[0.5, 7, np.int64(9)]).count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'salary': [0.5, 7, 9]}) "
            "salary, COUNT(*) FROM t GROUP BY salary"
        ),
    ),
    (
        Q.group_by("dept", keys="unknown").count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'dept': NULL}) "
            "dept, COUNT(*) FROM t GROUP BY dept"
        ),
    ),
    (
        Q.group_by(
            "note", "hired", keys=[("a", date(2020, 1, 1)), ("b", date(2020, 1, 2))]
        ).count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (combinations = [('a', DATE '2020-01-01'), "
            "('b', DATE '2020-01-02')]) note, hired, COUNT(*) FROM t GROUP BY note, hired"
        ),
    ),
    (
        Q.group_by("note", "code AS c", keys={"note": ["a"], "c": [1, 3]}).count(),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'note': ['a'], 'c': [1, 3]}) "
            "note, code AS c, COUNT(*) FROM t GROUP BY note, c"
        ),
    ),
    (
        Q.group_by("dept").count().having("count > 10").order_by("count DESC", "dept").limit(3),
        (
            "SELECT dept, COUNT(*) FROM t GROUP BY dept HAVING COUNT(*) > 10 "
            "ORDER BY COUNT(*) DESC, dept LIMIT 3"
        ),
    ),
    (
        Q.having("count > 1").having("count < 5 AND NOT count = 3").count().order_by("1 ASC"),
        "SELECT COUNT(*) FROM t HAVING count > 1 AND count < 5 AND NOT count = 3 ORDER BY 1",
    ),
    (
        Q.select("SUM(salary) / COUNT(*) AS mean", "COUNT(*)"),
        "SELECT SUM(salary) / COUNT(*) AS mean, COUNT(*) FROM t",
    ),
    (
        Q.histogram("age", bins=[0, 18, 65, 120]),
        (
            "SELECT CASE WHEN age < 0 THEN NULL WHEN age < 18 THEN 0 WHEN age < 65 THEN 18 "
            "WHEN age <= 120 THEN 65 END AS age_group, COUNT(*) FROM t "
            "GROUP BY CASE WHEN t.age < 0 THEN NULL WHEN t.age < 18 THEN 0 WHEN t.age < 65 THEN 18 "
            "WHEN t.age <= 120 THEN 65 END"
        ),
    ),
    (
        Q.histogram("salary", bins=4).mean("age"),
        (
            "SELECT CASE WHEN salary IS NOT NULL THEN FLOOR(LEAST(salary, 399999.99) / 1e5) * 1e5 "
            "END AS bin, COUNT(*), AVG(age) FROM t GROUP BY bin"
        ),
    ),
]


@pytest.mark.parametrize(("query", "text"), PAIRS, ids=[text[:60] for _, text in PAIRS])
def test_both_forms_are_one_plan(query, text):
    wanted = parse(text, PEOPLE)
    found = query.plan
    if "AS bin" not in text:
        assert found == wanted
    assert [g.value for g in found.groupings] == [g.value for g in wanted.groupings]
    assert [o.value for o in found.outputs] == [o.value for o in wanted.outputs]
    assert parse(query.to_sql(), PEOPLE) == found


def test_names():
    query = Q.group_by("dept").count().sum("salary").mean("salary").median("salary").count()
    assert [o.name for o in query.plan.outputs] == [
        "dept", "count", "sum_salary", "mean_salary", "median_salary", "count_2",
    ]  # fmt: skip


def test_histograms_hold_every_value_once():
    plan = Q.histogram("age", bins=7).plan
    (group,) = plan.groupings
    width = Fraction(120, 7)
    grid = group.value.kind.grid
    assert [key * grid for key in group.keys] == [width * i for i in range(7)]
    for age in range(121):
        edge = evaluate(group.value, {"age": age}) * grid
        assert edge <= age < edge + width or (age == 120 and edge == width * 6)
    assert evaluate(group.value, {"age": None}) is None
    assert len(Q.count().histogram("age").plan.outputs) == 2  # one count is enough
    edged = Q.histogram("age", bins=[10, 20]).plan.groupings[0]
    assert edged.keys == (10,)
    ends = [evaluate(edged.value, {"age": age}) for age in (9, 10, 20, 21)]
    assert ends == [None, 10, 10, None]


def test_every_step_is_a_new_query():
    one = Q.count()
    two = one.where("active")
    assert one.plan.where is None
    assert two.plan.where is not None
    assert Q.limit(3).count().plan.limit == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Q.where("nothing > 1"), "no column 'nothing'"),
        (lambda: Q.where("age > 1; DROP TABLE t"), "one statement"),
        (lambda: Q.where("age AS x"), "a name was not expected"),
        (lambda: Q.where("SELECT 1"), "SELECT cannot be used"),
        (lambda: Q.where("DROP TABLE t"), "is an expression"),
        (lambda: Q.where("age").plan, "WHERE needs a condition"),
        (lambda: Q.sum("COUNT(*)"), "inside another aggregate"),
        (lambda: Q.count().having("salary > 1").plan, "neither grouped by"),
        (lambda: Q.count().order_by("nothing").plan, "no column 'nothing'"),
        (lambda: Q.count().order_by("DESC").plan, "no column 'DESC'|cannot be read|not"),
        (lambda: Q.count().limit(-1), "at least 0"),
        (lambda: Q.count().limit("many"), "limit must be"),
        (lambda: Q.plan, "needs an aggregate"),
        (Q.group_by, "needs a column"),
        (lambda: Q.where(5), "SQL text, not int"),
        (lambda: Q.group_by(10**5000), "SQL text, not int"),
        (lambda: Q.select(10**5000).plan, "SQL text, not int"),
        (lambda: Q.count(name=10**5000).plan, "is text, not int"),
        (lambda: Q.minimum(10**5000), "a number of 16610 bits"),
        (lambda: Q.histogram("age", bins=10**5000).plan, "a number of 16610 bits"),
        (lambda: Q.histogram("age", bins=[0, 10**5000]).plan, "bins must lie within"),
        (lambda: Q.histogram("age", bins=[0, 10**60]).plan, "too large"),
        (lambda: Q.limit(10**5000), "limit must lie within"),
        (lambda: Q.quantile("age", 10**5000), "a level must lie within"),
        (lambda: Q.group_by("age", keys=[10**5000]), "have to be text"),
        (lambda: Q.group_by("age", keys={10**5000: [1]}), "a number of 16610 bits"),
        (lambda: Q.group_by("dept", keys={"dpt": ["clerk"]}), "did you mean 'dept'"),
        (lambda: Q.group_by("dept").group_by("dept").count().plan, "twice"),
        (lambda: Q.group_by("dept", keys={"note": ["a"]}), "not grouped by"),
        (lambda: Q.group_by("dept", keys="some"), "'unknown'"),
        (lambda: Q.group_by("dept", keys=[object()]), "have to be text"),
        (lambda: Q.group_by("dept", keys=5), "have to be text"),
        (lambda: Q.group_by("age", keys=[float("nan")]), "have to be text"),
        (lambda: Q.group_by("dept", keys=["boss"]).count().plan, "never 'boss'"),
        (lambda: Q.group_by("dept", "code", keys=["a"]), "list of tuples"),
        (lambda: Q.minimum("age"), "as_quantile=0.01"),
        (lambda: Q.maximum("age"), "as_quantile=0.01"),
        (lambda: Q.maximum("age", as_quantile=2), "strictly between"),
        (lambda: Q.quantile("age"), "needs a level"),
        (lambda: Q.quantile("age", 1), "strictly between"),
        (lambda: Q.histogram("age", bins=0), "1 to 120 bins"),
        (lambda: Q.histogram("age", bins=[5]), "two edges"),
        (lambda: Q.histogram("age", bins=[5, 5]), "rising"),
        (lambda: Q.histogram("age", bins=["a", "b"]), "bins must be"),
        (lambda: Q.histogram("dept"), "needs a number"),
        (lambda: Q.select("salary").plan, "neither grouped by"),
        (lambda: Q.count(name="a\0").plan, "UTF-8"),
        (lambda: Q.ask(epsilon=1), "needs a table behind the query"),
        (Q.explain, "needs a table behind the query"),
        (lambda: Q.price(epsilon=1), "needs a table behind the query"),
        (lambda: Q.epsilon_for(within=5), "needs a table behind the query"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(QueryError, match=words):
        make()


class Echo:
    def explain(self, query, /, **how):
        return "explain", query, how

    def price(self, query, /, **how):
        return "price", query, how

    def epsilon_for(self, query, /, **how):
        return "epsilon_for", query, how

    def ask(self, query, /, **how):
        return "ask", query, how


def test_whoever_answers_gets_the_query():
    query = Query(PEOPLE, Echo()).count()
    assert query.explain() == ("explain", query, {})
    assert query.price(epsilon=1) == ("price", query, {"epsilon": 1})
    assert query.epsilon_for(within=5) == ("epsilon_for", query, {"within": 5})
    assert query.ask(epsilon=2) == ("ask", query, {"epsilon": 2})
    assert Q.count().with_asker(query.asker).ask()[0] == "ask"


def test_bounds_that_have_still_to_be_found_do_not_stop_the_building():
    columns = {"x": Bounds.find(epsilon=1), "y": Bounds(0, 9, 1)}
    query = Query(Schema("t", PerRow(), columns, {})).where("x > 3").sum("x")
    with pytest.raises(QueryError, match="still to be found"):
        query.plan  # noqa: B018
    found = Schema("t", PerRow(), columns | {"x": Bounds(0, 5, 1)}, {})
    assert query.with_schema(found).plan == parse("SELECT SUM(x) FROM t WHERE x > 3", found)


def test_people_without_a_person_column():
    made = Query(ROWS).people().plan.outputs[0].value
    assert isinstance(made, PostAggregate)
    assert made.aggregate.function == "people"
    assert Query(ROWS).people().to_sql() == "SELECT PEOPLE() AS people\nFROM t"


def test_a_query_shows_its_sql():
    assert repr(Q.count(name="n")) == "<Query\nSELECT COUNT(*) AS n\nFROM t>"
    assert "unfinished: a question needs an aggregate" in repr(Q)
