"""Expressions about a row: what each word of SQL means, and what is refused."""

from datetime import date
from fractions import Fraction

import duckdb
import pytest
from tests.query.example import PEOPLE, TABLES

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.evaluate import evaluate
from discreet.query.kinds import Number
from discreet.query.sql import expression

ROW = {
    "salary": 1234567,  # 12,345.67
    "age": 47,
    "temperature": -7,  # -3.5
    "height": 6,  # 1.8
    "dept": "it's",
    "code": -7,
    "zip": 8001,
    "active": True,
    "hired": date(2021, 8, 19),
    "left_on": date(2022, 2, 28),
    "note": "naïve",
    'we"ird; DROP': 3,
    "Group": None,
}
PLAIN = ROW | {"salary": 12345.67, "temperature": -3.5, "height": 1.8}


def value(text, row=ROW):
    node = expression(text, PEOPLE)
    found = evaluate(node, row, TABLES)
    return found * node.kind.grid if isinstance(node.kind, Number) and found is not None else found


SQL = [
    "age + 1 - code * 2",
    "-age",
    "+age",
    "- - age",
    "age / 4",
    "(age + code) / 5",
    "age % 10",
    "MOD(code, 3)",
    "FLOOR(temperature)",
    "CEIL(temperature)",
    "CEILING(temperature)",
    "ROUND(salary, 1)",
    "ROUND(salary, -2)",
    "ABS(temperature)",
    "@temperature",
    "SIGN(temperature)",
    "POWER(age, 2)",
    "age ** 3",
    "age ^ 2",
    "LEAST(age, 3, code)",
    'GREATEST(age, "Group"::INT, 99)',
    "age = 47",
    "age == 47",
    "age != 47",
    "age <> 46",
    "age < 47",
    "age <= 47",
    "age > 46.5",
    "age >= 48",
    "age BETWEEN 40 AND 47",
    "age NOT BETWEEN 40 AND 47",
    "age IN (1, 47)",
    "age NOT IN (1, 47)",
    "dept = 'it''s'",
    "dept < 'j'",
    "dept LIKE 'it%'",
    "dept NOT LIKE '_'",
    "note IS NULL",
    "note IS NOT NULL",
    "note NOTNULL",
    '"Group" IS TRUE',
    '"Group" IS NOT TRUE',
    "active IS FALSE",
    'active AND "Group"',
    'active OR "Group"',
    "NOT active",
    "NOT (active AND age > 3)",
    '"Group" IS DISTINCT FROM active',
    '"Group" IS NOT DISTINCT FROM "Group"',
    "CASE WHEN age > 50 THEN 'old' WHEN active THEN 'on' END",
    "CASE age WHEN 1 THEN 2 WHEN 47 THEN 3 ELSE 4 END",
    'CASE WHEN "Group" THEN 1 END',
    "IF(active, age, 0)",
    'IF("Group", age, NULL)',
    "NULLIF(age, 47)",
    "NULLIF(age, 3)",
    'COALESCE("Group", active)',
    'IFNULL("Group", FALSE)',
    "CAST(active AS INTEGER) + 1",
    "active::INT",
    "CAST(age AS BIGINT)",
    "CAST(age AS DOUBLE)",
    "CAST(dept AS VARCHAR)",
    "hired = DATE '2021-08-19'",
    "hired > '2020-01-01'",
    "'2020-01-01' < hired",
    "hired IN ('2021-08-19', '2020-01-01')",
    "hired BETWEEN '2021-01-01' AND '2021-12-31'",
    "hired::DATE = CAST('2021-08-19' AS DATE)",
    "DATE_TRUNC('month', hired)::DATE",
    "DATE_TRUNC('WEEK', hired)::DATE",
    "DATE('2021-08-19') = hired",
    "EXTRACT(YEAR FROM hired)",
    "EXTRACT(dow FROM hired)",
    "DATE_PART('quarter', hired)",
    "YEAR(hired) * 100 + MONTH(hired)",
    "DAY(hired)",
    "WEEK(hired)",
    "DAYOFYEAR(hired)",
    "DAYOFWEEK(hired)",
    "left_on - hired",
    "DATE_DIFF('day', hired, left_on)",
    "DATEDIFF('day', left_on, hired)",
    "TRUE AND 1_000 = 1e3 AND .5 = 0.5",
    "1 < 2 AND 'a' < 'b'",
    "NULL IS NULL",
    "t.age",
    '"we""ird; DROP" * 2',
]


@pytest.mark.parametrize("text", SQL)
def test_words_mean_what_they_mean_in_duckdb(text):
    columns = ", ".join(f'$p{i} AS "{name}"' for i, name in enumerate(PLAIN)).replace(
        '"we"ird; DROP"', '"we""ird; DROP"'
    )
    typed = columns.replace("$p12", "$p12::BOOL")
    values = {f"p{i}": v for i, v in enumerate(PLAIN.values())}
    (wanted,) = duckdb.execute(f"SELECT {text} FROM (SELECT {typed}) AS t", values).fetchone()
    found = value(text)
    assert found == wanted or abs(Fraction(found) - Fraction(wanted)) < Fraction(1, 10**9)


def test_quotients_of_columns_are_rounded_down_and_missing_at_zero():
    assert value("age / code") == Fraction(-47000 // 7, 1000)
    assert value("age / (code + 7)") is None


def test_logarithms_are_close():
    assert abs(float(value("LN(GREATEST(age, 1))")) - 3.850147) < 0.002


REFUSED = [
    ("note + 1", "needs a number"),
    ("age // 2", "say FLOOR"),
    ("POWER(age, 5)", "exponents 1, 2, 3 and 4"),
    ("POWER(age, code)", "a constant was expected"),
    ("SQRT(age)", "released numbers"),
    ("EXP(age)", "released numbers"),
    ("LOG(age)", r"LN\(x\)"),
    ("TRUNC(age)", "FLOOR"),
    ("age IN (SELECT 1)", "QUERY"),
    ("age IN code", "FIELD"),
    ("age IN (code)", "list of constants"),
    ("note ILIKE 'a'", "LIKE"),
    ("note LIKE note", "text in quotes"),
    ("note LIKE 5", "text in quotes"),
    ("active IS UNKNOWN AND age IS age", "IS is followed by|cannot be read"),
    ("note || 'a'", "DPIPE"),
    ("CAST(note AS INTEGER)", "could change or fail"),
    ("CAST(salary AS INTEGER)", "say ROUND"),
    ("CAST(age AS VARCHAR)", "could change or fail"),
    ("CAST(age AS DECIMAL(3, 1))", "could change or fail"),
    ("CAST(hired AS TIMESTAMP)", "could change or fail"),
    ("TRY_CAST(note AS INTEGER)", "ROUND"),
    ("hired + INTERVAL 1 DAY", "INTERVAL"),
    ("hired + 1", "needs a number"),
    ("DATE_DIFF('month', hired, left_on)", "counts days"),
    ("DATE_TRUNC('hour', hired)", "knows no 'hour'"),
    ("EXTRACT(epoch FROM hired)", "knows no 'epoch'"),
    ("EXTRACT(year FROM age)", "needs a date"),
    ("WIDTH_BUCKET(age, code, 5, 3)", "a constant was expected"),
    ("LOOKUP('regions', 'nothing', zip)", "no public column"),
    ("LOOKUP('nothing', 'rank', zip)", "no public table"),
    ("LOOKUP(dept, 'rank', zip)", "text in quotes"),
    ("LOOKUP('regions', 'rank')", "cannot be used"),
    ("ROUND(age, code)", "a constant was expected"),
    ("ROUND(age, LOOKUP('regions', 'rank', 7))", "a constant was expected"),
    ("DATE(age)", "DATE needs a date"),
    ("NULL * 3 + note", "needs a number"),
    ("WIDTH_BUCKET(age, 1, 2)", "needs one more argument"),
    ("ROUND(age, 0.5)", "whole number of digits"),
    ("ROUND(age, 'a')", "constant number"),
    ("SUM(age)", "cannot stand in WHERE"),
    ("PRODUCT(age)", "cannot stand in WHERE"),
    ("FLOOR(age, 2)", "DECIMALS"),
    ("age COLLATE nocase", "COLLATE"),
    ("sleep(1)", "the functions there are"),
    ("abs(age) OVER ()", "window functions"),
    ("t.t.age", "DB"),
    ("age BETWEEN SYMMETRIC 3 AND 1", "SYMMETRIC"),
    ("CASE WHEN age THEN 1 END", "WHEN needs a condition"),
    ("*", "STAR"),
    ("t.*", "STAR"),
    ("1e400000", "within 10"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_refusals(text, words):
    with pytest.raises(QueryError, match=words):
        expression(text, PEOPLE)


def test_long_chains_are_one_level():
    assert expression("NULL * 3", PEOPLE) == expression("NULL", PEOPLE)
    made = expression(" + ".join(["age"] * 400), PEOPLE)
    assert isinstance(made, e.Linear)
    assert made.terms[0][0] == 1
    assert made.kind.grid == 400
    conditions = expression(" OR ".join(f"age = {i}" for i in range(120)), PEOPLE)
    assert len(conditions.operands) == 120


def test_a_bare_number_is_its_decimal():
    assert expression("0.1", PEOPLE) == e.Literal(1, Number(1, 1, Fraction(1, 10)))
