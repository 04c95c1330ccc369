"""SQL becomes a plan or is refused in words, whatever the text."""

import sys
import time
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.query.example import PEOPLE, ROWS, TABLES
from tests.query.generate import questions
from tests.query.hostile import EXPRESSIONS, QUERIES, placed
from tests.query.rows import ROWS as SOME_ROWS

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total
from discreet.query.evaluate import evaluate
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
)
from discreet.query.schema import Bounds, FreeText, PerRow, Schema
from discreet.query.sql import expression, parse

COUNT = PostAggregate(Aggregate("count"))


def column(name):
    return e.Column(name, PEOPLE.kind(name))


def expressions_of(plan):
    found = [g.value for g in plan.groupings] + [plan.where]
    found += [x for a in aggregates(plan) for x in (a.operand, a.where)]
    return [x for x in found if x is not None]


def test_a_whole_question():
    plan = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-6, other = true) "
        "dept, AVG(salary) AS pay, COUNT(*) * 2 FROM t AS x WHERE x.age < 30 GROUP BY 1 "
        "HAVING pay > 10 AND COUNT(*) > 1 ORDER BY pay DESC, dept LIMIT 3",
        PEOPLE,
    )
    mean = PostAggregate(Aggregate("mean", column("salary")))
    assert plan == Plan(
        table="t",
        where=total.compare("<", column("age"), total.constant(30)),
        groupings=(Grouping("dept", column("dept"), ("clerk", "nurse", "it's", "Ärzte")),),
        outputs=(
            Output("dept", PostGroup(0)),
            Output("pay", mean),
            Output("count", PostCall("*", (COUNT, PostValue(2)))),
        ),
        having=PostCall(
            "and",
            (PostCall(">", (mean, PostValue(10))), PostCall(">", (COUNT, PostValue(1)))),
        ),
        order=(Order(mean, descending=True), Order(PostGroup(0))),
        limit=3,
        other=True,
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 10**6),
    )


SAME = [
    ("SELECT COUNT(*) FROM t", "select count( * ) from T;"),
    ("SELECT COUNT(*) AS count FROM t", "SELECT COUNT(1) FROM t"),
    ("SELECT COUNT(*) FROM t", "(SELECT COUNT(*) FROM t)"),
    ("SELECT COUNT(*) FROM t", "SELECT COUNT(person_id) FROM t"),
    ("SELECT PEOPLE() FROM t", "SELECT COUNT(DISTINCT t.PERSON_ID) FROM t"),
    ("SELECT COUNT(*) FILTER (WHERE age > 5) FROM t", "SELECT COUNT_IF(age > 5) FROM t"),
    ("SELECT COUNT_IF(active) FROM t", "SELECT SUM(active) FROM t"),
    ("SELECT MEDIAN(age) FROM t", "SELECT QUANTILE(age, 0.5) FROM t"),
    ("SELECT MEDIAN(age) FROM t", "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM t"),
    ("SELECT QUANTILE(age, 0.9) FROM t", "SELECT QUANTILE_CONT(age, 0.9) FROM t"),
    ("SELECT QUANTILE(age, 0.9) FROM t", "SELECT APPROX_QUANTILE(age, 0.9) FROM t"),
    (
        "SELECT QUANTILE(age, 0.9) FROM t",
        "SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY age DESC) FROM t",
    ),
    ("SELECT VAR_POP(age) FROM t", "SELECT VARIANCE(age) FROM t"),
    ("SELECT VAR_POP(age) FROM t", "SELECT VAR_SAMP(age) FROM t"),
    ("SELECT STDDEV(age) FROM t", "SELECT STDDEV_POP(age) FROM t"),
    ("SELECT AVG(age) FROM t", "SELECT MEAN(age) FROM t"),
    ("SELECT AVG(active) FROM t", "SELECT AVG(CAST(active AS INTEGER)) FROM t"),
    (
        'SELECT GEOMEAN("we""ird; DROP") FROM t',
        'SELECT GEOMETRIC_MEAN(t."WE""IRD; drop") FROM t',
    ),
    (
        "SELECT SUM(salary) FROM t WHERE age > 3 AND active",
        "WITH a AS (SELECT * FROM t WHERE age > 3) SELECT SUM(salary) FROM a WHERE active",
    ),
    (
        "SELECT SUM(salary / 12) FROM t WHERE active",
        "SELECT SUM(m) AS sum_salary FROM (SELECT salary / 12 AS m, active f FROM t) q WHERE q.f",
    ),
    (
        "SELECT COUNT(DISTINCT person_id) FROM t WHERE active",
        "SELECT COUNT(DISTINCT p) FROM (SELECT person_id AS p FROM t WHERE active)",
    ),
    ("SELECT dept, COUNT(*) FROM t GROUP BY dept", "SELECT dept, COUNT(*) FROM t GROUP BY 1"),
    (
        "SELECT FLOOR(age / 10) * 10 AS d, COUNT(*) FROM t GROUP BY d",
        "SELECT 10 * FLOOR(age * 0.1) AS d, COUNT(*) FROM t GROUP BY FLOOR(age / 10) * 10",
    ),
    (
        "SELECT COUNT(*) FROM t WHERE hired >= '2020-01-01'",
        "SELECT COUNT(*) FROM t WHERE hired >= DATE '2020-01-01'",
    ),
    (
        "SELECT COUNT(*) FROM t WHERE age BETWEEN 3 AND 5",
        "SELECT COUNT(*) FROM t WHERE age >= 3 AND age <= 5",
    ),
    (
        "SELECT COUNT(*) FROM t WHERE hired - left_on > 5",
        "SELECT COUNT(*) FROM t WHERE DATE_DIFF('day', left_on, hired) > 5",
    ),
    (
        "SELECT region, COUNT(*) FROM t LEFT JOIN regions USING (zip) GROUP BY region",
        "SELECT r.region, COUNT(*) FROM t LEFT JOIN regions r ON t.zip = r.zip GROUP BY r.region",
    ),
    (
        "SELECT region, COUNT(*) FROM t JOIN regions USING (zip) GROUP BY region",
        (
            "SELECT LOOKUP('regions', 'region', zip) AS region, COUNT(*) FROM t "
            "WHERE LOOKUP('regions', 'region', zip) IS NOT NULL GROUP BY 1"
        ),
    ),
    (
        "SELECT COUNT(*) FROM t WHERE YEAR(hired) = 2020",
        "SELECT COUNT(*) FROM t WHERE DATE_PART('year', hired) = 2020",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (extremes = 0.01) MIN(age), MAX(age) FROM t",
        "SELECT QUANTILE(age, 0.01) AS min_age, QUANTILE(age, 0.99) AS max_age FROM t",
    ),
    ("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM t", "SELECT COUNT(*) FROM t"),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (extremes=0.1) COUNT(*) FROM t ORDER BY MIN(age)",
        "SELECT COUNT(*) FROM t ORDER BY QUANTILE(age, 0.1)",
    ),
    ("SELECT COUNT(*) FROM t LIMIT 5", "SELECT COUNT(*) FROM t FETCH FIRST 5 ROWS ONLY"),
    ("SELECT COUNT(*) FROM t LIMIT 1", "SELECT COUNT(*) FROM t FETCH NEXT ROW ONLY"),
    (
        "SELECT 1, dept, YEAR(hired), COUNT(*) FROM t GROUP BY dept, YEAR(hired)",
        "SELECT 1, dept, YEAR(hired), COUNT(*) FROM t GROUP BY ALL",
    ),
    ("SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t GROUP BY ALL"),
    ("SELECT COUNT(*) AS n FROM t HAVING n > 5", "SELECT COUNT(*) AS n FROM t HAVING COUNT(*) > 5"),
    (
        "SELECT COUNT(*) FROM t HAVING NOT NOT COUNT(*) > 1",
        "SELECT COUNT(*) FROM t HAVING COUNT(*) > 1",
    ),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_question_in_other_words_is_the_same_plan(first, second):
    assert parse(first, PEOPLE) == parse(second, PEOPLE)


REFUSED = [
    ("SELECT MAX(salary) FROM t", "QUANTILE"),
    ("SELECT COUNT(DISTINCT dept) FROM t", r"say COUNT\(DISTINCT person_id\)"),
    ("SELECT salary FROM t", r"GROUP BY salary or AVG\(salary\)"),
    ("SELECT * FROM t", "name columns"),
    ("SELECT COUNT(*) FROM t WHERE COUNT(*) > 1", "HAVING"),
    ("SELECT COUNT(*) FROM t GROUP BY COUNT(*)", "HAVING"),
    ("SELECT COUNT(*) AS n FROM t GROUP BY n", "cannot name an aggregate"),
    ("SELECT SUM(note) FROM t", "needs a number, not text"),
    ("SELECT PRODUCT(age) FROM t", "LN needs a number above 0"),
    ("SELECT COUNT(*) FROM t WHERE age", "WHERE needs a condition"),
    ("SELECT COUNT(*) FROM t HAVING COUNT(*)", "HAVING needs a condition"),
    ("SELECT COUNT(*) FROM t WHERE CAST(salary AS INTEGER) > 1", r"say ROUND\(x\)"),
    ("SELECT COUNT(*) FROM t WHERE age // 3 = 1", r"say FLOOR\(x / 10\)"),
    ("SELECT COUNT(*) FROM t GROUP BY salary", "FLOOR"),
    ("SELECT COUNT(*) FROM t LIMIT 1 OFFSET 2", "say LIMIT only"),
    ("SELECT COUNT(*) FROM t TABLESAMPLE 5%", "sampling"),
    ("SELECT SUM(salary) OVER () FROM t", "window functions look at other people's rows"),
    ("SELECT dept, COUNT(*) / SUM(COUNT(*)) OVER () FROM t GROUP BY 1", r"release.map\(...\)"),
    ("SELECT COUNT(*) FROM t FETCH FIRST 5 ROWS WITH TIES", "say LIMIT"),
    ("SELECT COUNT(*) FROM t FETCH FIRST 5 PERCENT ROWS ONLY", "say LIMIT"),
    ("SELECT TOP 5 dept, COUNT(*) FROM t GROUP BY dept", "say LIMIT 5"),
    ("SELECT dept, SUM(age) OVER () FROM t GROUP BY ALL", "window functions"),
    ("SELECT dept, COUNT(*) FROM t GROUP BY ALL dept", "list the columns"),
    ("SELECT dept, COUNT(*) FROM t GROUP BY dept, ROLLUP (age)", "takes all columns"),
    ("SELECT dept, COUNT(*) FROM t GROUP BY CUBE (dept)", "has totals"),
    ("SELECT COUNT(*) FROM t GROUP BY dept ORDER BY ALL", "name a column or its place"),
    ("SELECT COUNT(*) FROM u", "say FROM t"),
    ("SELECT COUNT(*) FROM regions", "FROM t JOIN regions"),
    ("SELECT COUNT(*) FROM t JOIN t AS u ON t.age = u.age", "multiply their rows"),
    ("SELECT COUNT(*) FROM t JOIN regions ON age > 5", "USING"),
    ("SELECT COUNT(*) FROM t FULL JOIN regions USING (zip)", "LEFT JOIN"),
    ("SELECT COUNT(*) FROM t WHERE foo(age) = 1", "the function FOO|the function foo"),
    ("SELECT COUNT(*) FROM t WHERE secret = 1", "no column 'secret'"),
    ("SELECT COUNT(*) FROM t WHERE unseen = 1", "no column 'unseen'"),
    ("SELECT COUNT(*) FROM t WHERE person_id = 1", "says whose a row is"),
    ("SELECT dept AS age, COUNT(*) FROM t GROUP BY age", "both a column and a name"),
    ("SELECT COUNT(*) AS dept FROM t GROUP BY dept", "cannot name an aggregate"),
    (
        "SELECT COUNT(*) AS dept FROM t GROUP BY t.dept HAVING dept = 'x'",
        "both a column and a name",
    ),
    ("SELECT COUNT(*) FROM t GROUP BY age, hired, FLOOR(salary / 100)", "at most 1000000"),
    ("SELECT COUNT(*) FROM (SELECT age FROM t LIMIT 3)", "outside of subqueries"),
    ("SELECT COUNT(*) FROM t HAVING dept = 'x'", "neither grouped by"),
    ("SELECT dept, COUNT(*) FROM t GROUP BY dept HAVING dept > 5", "mixes"),
    ("SELECT dept, COUNT(*) FROM t GROUP BY dept ORDER BY 3", "no column 3"),
    ("SELECT COUNT(*), 1 AS one FROM t ORDER BY one", "a constant"),
    ("SELECT COUNT(DISTINCT person_id) FILTER (WHERE active) FROM t", "in WHERE"),
    ("SELECT COUNT(*) FROM t WHERE note LIKE 'a' ESCAPE '!'", "no escapes"),
    ("SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t", "ask two questions"),
    ("SELECT COUNT(*) FROM t WHERE x'", "cannot be read"),
    ("SELECT COUNT(*) FROM t WHERE age > ", "line 1"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_refusals_say_what_to_write_instead(text, words):
    with pytest.raises(QueryError, match=words) as refused:
        parse(text, PEOPLE)
    assert str(refused.value).endswith("Nothing was charged and no row was read")


def outcome(text, schema=PEOPLE):
    """A plan or a refusal; anything else is an error of ours."""
    try:
        plan = parse(text, schema)
    except QueryError as error:
        refusal = error
        assert len(str(refusal)) < 1000
        return refusal
    for node in expressions_of(plan):
        for part in e.walk(node):
            assert isinstance(part, e.Expr)
    return plan


def test_the_corpus_is_large():
    assert len(set(EXPRESSIONS)) >= 200
    assert len(set(QUERIES)) >= 90


@pytest.mark.parametrize("text", EXPRESSIONS, ids=lambda text: text[:40].replace("\0", "NUL"))
def test_hostile_expressions_are_refused_or_total(text):
    for question in placed(text):
        outcome(question)


MEANT = {  # what sounds hostile and has a meaning for every row
    "1 / (age - 42) > 0",
    "salary * salary * salary * salary * salary > 0",
    "note LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "'; DROP TABLE t; --' = note",
    "note = ''' OR ''1''=''1'",
    "1 = 1 OR 1 = 1 --",
    "1 = 1 /* */",
    "age = NULL",
    "1_0_0 = age",
    "@x > age",
}


def test_few_hostile_conditions_have_a_meaning_and_those_are_total():
    accepted = set()
    for text in EXPRESSIONS:
        found = outcome(f"SELECT COUNT(*) FROM t WHERE {text}")
        if isinstance(found, Plan):
            accepted.add(text)
            empty = dict.fromkeys(PEOPLE.columns)
            assert evaluate(found.where, empty, TABLES) in (True, False, None)
    assert accepted <= MEANT, accepted - MEANT


@pytest.mark.parametrize("text", QUERIES, ids=lambda text: text[:40].replace("\0", "NUL"))
def test_hostile_queries_are_refused(text):
    found = outcome(text)
    if isinstance(found, Plan):  # a comment or a strange name, and nothing else
        assert [o.value for o in found.outputs] == [COUNT]
        assert expressions_of(found) == []


@settings(max_examples=examples(150))
@given(st.text(max_size=60))
@example("SELECT\x1c")
@example("'")
@example("/*")
def test_any_text_is_a_plan_or_a_refusal(text):
    outcome(text)


WORDS = """
SELECT FROM t WHERE GROUP BY HAVING ORDER LIMIT WITH AS ( ) [ ] { } , ; * + - / % = <> < > . ' -- /*
*/ :: || -> := ? $1 @ NULL TRUE CASE WHEN THEN ELSE END AND OR NOT IN LIKE IS BETWEEN COUNT SUM AVG
MEDIAN QUANTILE DISTINCT FILTER OVER CAST DATE '2020-01-01' 1 0.5 1e9 salary age dept active hired
note person_id regions JOIN USING ON zip UNION VALUES EXTRACT YEAR INTERVAL DIFFERENTIAL_PRIVACY
OPTIONS epsilon keys combinations EXISTS ANY LATERAL UNNEST PIVOT SAMPLE FLOOR ROUND LOOKUP WITHIN
ASC DESC NULLS FIRST ALL x 'a' COLLATE ESCAPE TABLE SET "
""".split()  # noqa: SIM905


@settings(max_examples=examples(150))
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_of_sql_are_a_plan_or_a_refusal(words):
    outcome("SELECT " + " ".join(words))


@settings(max_examples=examples(100))
@given(questions(), st.data())
def test_a_question_with_a_slip_is_a_plan_or_a_refusal(text, data):
    pieces = text.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(pieces)))
        change = data.draw(st.sampled_from(["drop", "put", "swap"]))
        if change == "put":
            pieces.insert(at, data.draw(st.sampled_from(WORDS)))
        elif pieces and change == "drop":
            pieces.pop(min(at, len(pieces) - 1))
        elif pieces:
            other = data.draw(st.integers(0, len(pieces) - 1))
            here = min(at, len(pieces) - 1)
            pieces[here], pieces[other] = pieces[other], pieces[here]
    outcome(" ".join(pieces))


@settings(max_examples=60)
@given(questions(), SOME_ROWS)
def test_what_is_accepted_has_a_value_on_every_row(text, row):
    found = outcome(text)
    if isinstance(found, Plan):
        for node in expressions_of(found):
            evaluate(node, row, TABLES)


def test_limits_are_stated_in_words():
    with pytest.raises(QueryError, match="65536 bytes"):
        parse("SELECT COUNT(*) FROM t WHERE note = '" + "ä" * 40_000 + "'", PEOPLE)
    with pytest.raises(QueryError, match="nested at most 32"):
        parse("SELECT COUNT(*) FROM t WHERE " + "(" * 40 + "active" + ")" * 40, PEOPLE)
    with pytest.raises(QueryError, match="500 parts"):
        parse("SELECT COUNT(*) FROM t WHERE " + "age > 1 OR " * 600 + "active", PEOPLE)
    with pytest.raises(QueryError, match="at most 4000 parts"):
        parse("SELECT " + "age + " * 4500 + "1 FROM t", PEOPLE)
    with pytest.raises(QueryError, match="at most 10000 words"):
        parse("SELECT " + "age + " * 6000 + "1 FROM t", PEOPLE)
    deep = "ABS(temperature - " * 29 + "1" + ")" * 29
    with pytest.raises(QueryError, match="28 deep"):
        parse(f"SELECT SUM({deep}) FROM t", PEOPLE)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT dept, COUNT(*), " + "- " * 120 + "(" + " + age" * 900 + ") FROM t GROUP BY dept",
        "SELECT dept, COUNT(*), " + "NOT " * 90 + "(" + "active AND " * 900 + "active) FROM t",
        "SELECT COUNT(*) FROM t WHERE age IN (" + "1, " * 3800 + "1)",
        "SELECT COUNT(*) FROM t GROUP BY age IN (" + "1, " * 3800 + "1)",
        "SELECT dept, COUNT(*) FROM t GROUP BY dept HAVING dept IN (" + "'a', " * 3800 + "'b')",
        "SELECT " + "COUNT(*), " * 900 + "COUNT(*) FROM t",
    ],
)  # fmt: skip
def test_no_question_is_slow_to_read(text):
    started = time.process_time()
    outcome(text)
    assert time.process_time() - started < 5  # about 0.3 s; what was quadratic took minutes


def test_substitution_cannot_blow_up():
    steps = ", ".join(
        f"a{i + 1} AS (SELECT CASE WHEN y > 1 THEN y ELSE y + 1 END AS y FROM a{i})"
        for i in range(40)
    )
    with pytest.raises(QueryError, match=r"500 parts after substitution|28 deep"):
        parse(f"WITH a0 AS (SELECT age AS y FROM t), {steps} SELECT SUM(y) FROM a40", PEOPLE)


def test_a_full_stack_changes_nothing():
    """The same text is read the same way however deep the caller is."""
    text = "SELECT COUNT(*) FROM t WHERE " + "(" * 25 + "active" + ")" * 25

    def dive(depth):
        return parse(text, PEOPLE) if depth == 0 else dive(depth - 1)

    room = sys.getrecursionlimit() - 400
    assert dive(room) == parse(text, PEOPLE)


def test_names_match_as_in_sql():
    schema = Schema(
        "My Table",
        PerRow(),
        {"a": Bounds(0, 9, 1), "A": Bounds(0, 5, 1), "Größe; --": FreeText(), "select": FreeText()},
        {},
    )
    assert parse('SELECT SUM(a) FROM "my table"', schema).outputs[0].name == "sum_a"
    assert parse('SELECT SUM(A) FROM "My Table"', schema).outputs[0].name == "sum_A"
    one = parse('SELECT COUNT("größe; --") FROM "My Table"', schema)
    assert one.outputs[0].value.aggregate.operand.name == "Größe; --"
    assert parse('SELECT COUNT("select") FROM "My Table"', schema).outputs[0].name == "count_select"
    twins = Schema("t", PerRow(), {"ab": Bounds(0, 9, 1), "AB": Bounds(0, 5, 1)}, {})
    with pytest.raises(QueryError, match="ambiguous"):
        parse("SELECT SUM(Ab) FROM t", twins)


def test_unaliased_columns_have_names_of_their_own():
    plan = parse(
        "SELECT dept, FLOOR(age / 10), DATE_TRUNC('month', hired), COUNT(*), COUNT(note), "
        "SUM(age), COUNT(*) FILTER (WHERE active), QUANTILE(age, 0.9), QUANTILE(age, 0.025), 1, "
        "SUM(age + code), ROUND(AVG(age), 1) FROM t GROUP BY 1, 2, 3",
        PEOPLE,
    )
    assert [o.name for o in plan.outputs] == [
        "dept", "age_group", "hired_month", "count", "count_note", "sum_age", "count_if_active",
        "p90_age", "p2.5_age", "value", "sum", "mean_age",
    ]  # fmt: skip
    assert [g.name for g in plan.groupings] == ["dept", "age_group", "hired_month"]


def test_a_grouping_that_is_not_shown_keeps_a_name():
    plan = parse("SELECT COUNT(*) AS dept FROM t GROUP BY t.dept, code", PEOPLE)
    assert [g.name for g in plan.groupings] == ["dept_2", "code"]


def test_given_keys_and_combinations():
    plan = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'note': ['b', 'a'], 'd': [10, 30]}) "
        "note, FLOOR(age / 10) * 10 AS d, COUNT(*) FROM t GROUP BY note, d",
        PEOPLE,
    )
    assert [g.keys for g in plan.groupings] == [("b", "a"), (1, 3)]  # multiples of the grid of 10
    plan = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (combinations = [('x', TRUE), ('y', FALSE)]) "
        "note, active, COUNT(*) FROM t GROUP BY note, active",
        PEOPLE,
    )
    assert plan.combinations == (("x", True), ("y", False))
    assert [g.keys for g in plan.groupings] == [("x", "y"), (False, True)]
    plan = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'salary': NULL}) salary, COUNT(*) "
        "FROM t GROUP BY salary",
        PEOPLE,
    )
    assert plan.groupings[0].keys is None


def test_a_row_unit_has_no_person_to_count():
    assert parse("SELECT PEOPLE() FROM t", ROWS).outputs[0].value == PostAggregate(
        Aggregate("people")
    )
    with pytest.raises(QueryError, match=r"say COUNT\(\*\)"):
        parse("SELECT COUNT(DISTINCT dept) FROM t", ROWS)
    with pytest.raises(QueryError, match="no column 'person_id'"):
        parse("SELECT COUNT(person_id) FROM t", ROWS)


def test_an_expression_alone():
    assert expression("age > 3", PEOPLE) == total.compare(">", column("age"), total.constant(3))
    assert expression("hired = '2020-01-01'", PEOPLE).right.value == date(2020, 1, 1)
    for text in (
        "SELECT 1",
        "age > 3; DROP TABLE t",
        "WITH a AS (SELECT 1) SELECT 2",
        "",
        "DROP x",
    ):
        with pytest.raises(QueryError):
            expression(text, PEOPLE)
