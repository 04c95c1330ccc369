"""A plan as SQL reads back as the same plan."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.query.example import PEOPLE, ROWS
from tests.query.generate import days, flags, numbers, questions, texts
from tests.query.test_build import PAIRS
from tests.query.test_parse_expr import SQL
from tests.query.test_sql import SAME

from discreet.errors import QueryError
from discreet.query import render
from discreet.query.plan import PostCall, PostGroup, PostValue
from discreet.query.price import Target, priced
from discreet.query.render import expr_sql, post_sql, question_sql, to_sql
from discreet.query.schema import Bounds, FreeText, PerPerson, Schema
from discreet.query.sql import expression, parse


@settings(max_examples=examples(300))
@given(st.one_of(numbers(), flags(), days(), texts()))
def test_every_expression_reads_back(text):
    try:
        made = expression(text, PEOPLE)
    except QueryError as error:
        event(error.problem[:30])
        assume(False)
    assert expression(expr_sql(made), PEOPLE) == made


@settings(max_examples=examples(100))
@given(questions(), st.sampled_from([PEOPLE, ROWS]))
def test_every_plan_reads_back(text, schema):
    try:
        plan = parse(text, schema)
    except QueryError as error:
        event(error.problem[:30])
        assume(False)
    assert parse(to_sql(plan, schema), schema) == plan


CORPUS = [text for pair in SAME for text in pair] + [text for _, text in PAIRS]


@pytest.mark.parametrize("text", CORPUS, ids=lambda text: text[:50])
def test_the_corpus_reads_back(text):
    plan = parse(text, PEOPLE)
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


@pytest.mark.parametrize("text", SQL)
def test_every_word_reads_back(text):
    made = expression(text, PEOPLE)
    assert expression(expr_sql(made), PEOPLE) == made


HAVING = [
    "COUNT(*) IS NULL", "NOT COUNT(*) IN (1, 2)", "COUNT(*) BETWEEN 1 AND -2 OR active",
    "CASE WHEN active THEN COUNT(*) ELSE 1 END = 3", "(COUNT(*) > 1) = active",
    "COALESCE(COUNT(*), 0) - (1 - COUNT(*)) > -(2 * COUNT(*))", "1 / 3 / COUNT(*) <> 2",
    "hired = '2020-01-01' AND dept IN ('a', 'it''s')", "ROUND(SQRT(COUNT(*)), -1) >= 0.125",
    "NOT (COUNT(*) > 1 AND (active OR NOT active)) AND TRUE",
]  # fmt: skip


@pytest.mark.parametrize("text", HAVING)
def test_functions_of_released_numbers_read_back(text):
    question = f"SELECT COUNT(*) FROM t GROUP BY dept, hired, active HAVING {text}"
    plan = parse(question, PEOPLE)
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


READABLE = [
    ("FLOOR(age / 10) * 10", "10 * FLOOR(age / 10)"),
    ("age*2 - code/3 + 1.5", "2 * age - code / 3 + 1.5"),
    ("-(age * code)", "-(age * code)"),
    ("-2 * age", "-(2 * age)"),
    ("2*(age*code)", "2 * (age * code)"),
    ("age*2/3", "2 * age / 3"),
    ("age + age", "2 * age"),
    ("age - age", "0 * age"),
    ("age > 0.5", "age > 0.5"),
    ("salary > age", "salary > age"),
    ("(age > 1 AND active) OR NOT active", "age > 1 AND active OR NOT active"),
    ("age > 1 AND (active OR NOT active)", "age > 1 AND (active OR NOT active)"),
    ("NOT (age > 1)", "NOT (age > 1)"),
    ("(age > 1) = active", "(age > 1) = active"),
    ("age NOT IN (1,2)", "NOT (age IN (1, 2))"),
    ("dept = 'it''s'", "dept = 'it''s'"),
    ("note IS NOT NULL", "note IS NOT NULL"),
    ("ROUND(salary / 3, 1)", "ROUND(salary / 3, 1)"),
    ("ROUND(salary)", "FLOOR(salary + 0.5)"),
    ("MOD(salary, 0.4)", "MOD(salary, 0.4)"),
    ("age / (1/3)", "3 * age"),
    ("COALESCE(age, 1/3)", "COALESCE(age, 1 / 3)"),
    ("(age + 1) * (code - 1)", "(age + 1) * (code - 1)"),
    ("age / code / zip", "age / code / zip"),
    ("age / (code / zip)", "age / (code / zip)"),
    ("hired - left_on", "DATE_DIFF('day', left_on, hired)"),
    ("hired = '2020-01-01'", "hired = DATE '2020-01-01'"),
    ("YEAR(hired)", "EXTRACT(year FROM hired)"),
    ('"we""ird; DROP" + 1', '"we""ird; DROP" + 1'),
    ('"Group"', '"Group"'),
    ("active::INT", "CAST(active AS INTEGER)"),
    ("LOOKUP('regions', 'rank', zip)", "LOOKUP('regions', 'rank', zip)"),
]


@pytest.mark.parametrize(("text", "wanted"), READABLE)
def test_it_reads_like_sql(text, wanted):
    assert expr_sql(expression(text, PEOPLE)) == wanted


def test_a_whole_question():
    text = to_sql(
        parse(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1/3, other = TRUE, "
            "keys = {'note': ['it''s', 'b']}) note, AVG(salary), QUANTILE(age, 1/3) AS q FROM t "
            "WHERE age > 3 AND active GROUP BY note HAVING NOT mean_salary > 5 "
            "ORDER BY q DESC LIMIT 2",
            PEOPLE,
        ),
        PEOPLE,
    )
    assert text == (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1 / 3, other = TRUE, "
        "keys = {'note': ['it''s', 'b']})\n"
        "  note, AVG(salary) AS mean_salary, QUANTILE(age, 1 / 3) AS q\n"
        "FROM t\n"
        "WHERE age > 3 AND active\n"
        "GROUP BY note\n"
        "HAVING NOT (AVG(salary) > 5)\n"
        "ORDER BY QUANTILE(age, 1 / 3) DESC\n"
        "LIMIT 2"
    )


def test_without_the_schema_it_is_for_reading():
    plan = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'note': ['a']}) note, "
        "COUNT(DISTINCT person_id) FROM t GROUP BY note",
        PEOPLE,
    )
    assert to_sql(plan) == "SELECT note, PEOPLE() AS people\nFROM t\nGROUP BY note"
    post = PostCall("*", (PostCall("+", (PostGroup(0), PostValue(-2))), PostValue(3)))
    assert post_sql(post, plan.groupings) == "(note + -2) * 3"


HOSTILE = [
    'a"; DROP TABLE t; --',
    "x'y",
    "select",
    "Ünï ☃",
    "a.b",
    " ",
    "--",
    "/*",
    "{{x}}",
    "COUNT",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_strange_names_read_back(name):
    columns = {name: Bounds(0, 9, 1), "other": FreeText()}
    schema = Schema(name, PerPerson(name + "!"), columns, {})
    quoted = '"' + name.replace('"', '""') + '"'
    person = '"' + (name + "!").replace('"', '""') + '"'
    literal = "'" + name.replace("'", "''") + "'"
    text = (
        f"SELECT {quoted}, COUNT(DISTINCT {person}) AS p, SUM({quoted}) AS {person} FROM {quoted} "
        f"WHERE other = {literal} GROUP BY {quoted} ORDER BY {quoted}"
    )
    plan = parse(text, schema)
    assert parse(to_sql(plan, schema), schema) == plan


@given(st.text(min_size=1, max_size=8), st.text(max_size=8))
def test_any_name_and_any_text_read_back(name, note):
    assume("\0" not in name + note and name.strip("\0"))
    try:
        schema = Schema("t", PerPerson("p"), {name: FreeText()}, {})
        quoted, literal = name.replace('"', '""'), note.replace("'", "''")
        text = f'SELECT COUNT(*) AS "{quoted}" FROM t WHERE "{quoted}" <> \'{literal}\''
        plan = parse(text, schema)
    except QueryError:  # halves of surrogate pairs
        assume(False)
    assert plan.where.right.value == note
    assert plan.outputs[0].name == name
    assert parse(to_sql(plan, schema), schema) == plan


def test_names_of_the_answer_do_not_capture_columns():
    text = (
        "SELECT COUNT(*) AS dept, SUM(age) AS code FROM t GROUP BY t.dept, t.code "
        "HAVING t.dept = 'x'"
    )
    plan = parse(text, PEOPLE)
    assert "t.dept = 'x'" in to_sql(plan, PEOPLE)
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


def test_long_sums_and_deep_questions_read_back():
    long = "SELECT SUM(" + " + ".join(f"{i} * age * code" for i in range(1, 60)) + ") FROM t"
    deep = "SELECT SUM(" + "ABS(temperature - " * 12 + "1" + ")" * 12 + ") FROM t"
    cases = "CASE WHEN age > 3 THEN " * 24 + "1 " + "ELSE 0 END " * 24
    for text in (long, deep, f"SELECT SUM({cases}) FROM t"):
        plan = parse(text, PEOPLE)
        assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


LONG = [
    "1e-300 / 1e300 * COUNT(*)",
    "COUNT(*) * " + "9" * 390,
    "0." + "0" * 390 + "1 * COUNT(*)",
    "SUM(age * 1e-100)",
    "SUM(age / 1e18 / 1e18)",
    "SUM(age / 3 / 1e18)",
    "SUM(SIGN(code))",
]


@pytest.mark.parametrize("item", LONG, ids=lambda text: text[:30])
def test_long_numbers_read_back(item):
    plan = parse(f"SELECT {item} FROM t", PEOPLE)
    assert parse(to_sql(plan, PEOPLE), PEOPLE) == plan


def test_a_priced_question_is_written_as_its_plan_whatever_was_written_before():
    """Conditions that narrow the keys, and keys that were given, share one memory."""
    schema = PEOPLE
    told = [
        "SELECT code, COUNT(*) AS n FROM t WHERE age < 3 GROUP BY code",
        "SELECT code, COUNT(*) AS n FROM t WHERE age > 70 AND active GROUP BY code",
        "SELECT code, COUNT(*) AS n FROM t WHERE code = 3 AND age < 5 GROUP BY code",
    ]
    given = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (keys = {'code': [3]}) code, COUNT(*) AS n "
    told.append(f"{given}FROM t WHERE age < 5 GROUP BY code")
    plans = [parse(text, schema) for text in told]
    for first in plans:
        known = priced(first, schema, Target(epsilon=1))
        alike = [p for p in plans if replace(p, where=None) == replace(first, where=None)]
        for plan in (*alike, *alike):
            assert question_sql(known.asking(plan)) == to_sql(plan, schema)
    assert sum(replace(p, where=None) == replace(plans[2], where=None) for p in plans) == 2


@given(
    st.one_of(st.integers(-20, 20), st.integers(-(2**62), 2**62)),
    st.one_of(st.integers(1, 40), st.fractions(min_value=Fraction(1, 1000), max_value=10**30)),
)
def test_whole_numbers_are_written_as_all_others(n, grid):
    grid = Fraction(grid)
    assume(grid > 0)
    assert render._multiple(n, grid) == render._number(n * grid)
