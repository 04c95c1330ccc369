"""Aggregates."""

from fractions import Fraction

import pytest
from tests.query.example import PEOPLE, ROWS

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.parse_aggregate import aggregate, counted, measured, quantile
from discreet.query.plan import Aggregate
from discreet.query.scope import base
from discreet.query.sql import expression
from discreet.query.tree import fragment


def made(text, schema=PEOPLE, extremes=None):
    return aggregate(fragment(text, what="it"), base(schema), extremes)


def x(text):
    return expression(text, PEOPLE)


AGE, OLD, ACTIVE = x("age"), x("age > 30"), x("active")
WEIRD = x('"we""ird; DROP"')


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("COUNT(*)", Aggregate("count")),
        ("COUNT(7)", Aggregate("count")),
        ("COUNT(age)", Aggregate("count", AGE)),
        ("COUNT(COALESCE(age, 0))", Aggregate("count")),
        ("COUNT(person_id)", Aggregate("count")),
        ("COUNT(DISTINCT person_id)", Aggregate("people")),
        ("PEOPLE()", Aggregate("people")),
        ("COUNT_IF(age > 30)", Aggregate("count", where=OLD)),
        ("COUNTIF(age > 30)", Aggregate("count", where=OLD)),
        ("COUNT(age) FILTER (WHERE age > 30)", Aggregate("count", AGE, OLD)),
        ("SUM(age) FILTER (WHERE active)", Aggregate("sum", AGE, ACTIVE)),
        ("SUM(active)", Aggregate("count", where=ACTIVE)),
        ("SUM(1)", Aggregate("count")),
        ("SUM(CASE WHEN active THEN 1 END)", Aggregate("count", x("CASE WHEN active THEN 1 END"))),
        ("SUM(IF(active, 3, 0))", Aggregate("sum", x("IF(active, 3, 0)"))),
        ("SUM(NULLIF(1, age))", Aggregate("count", x("NULLIF(1, age)"))),
        (
            "SUM(active) FILTER (WHERE age > 30)",
            Aggregate("count", where=x("active AND age > 30")),
        ),
        ("SUM(age)", Aggregate("sum", AGE)),
        ("AVG(age)", Aggregate("mean", AGE)),
        ("AVG(active)", Aggregate("mean", x("CAST(active AS INTEGER)"))),
        ("VARIANCE(age)", Aggregate("variance", AGE)),
        ("VAR_POP(age)", Aggregate("variance", AGE)),
        ("VAR_SAMP(age)", Aggregate("variance", AGE)),
        ("STDDEV(age)", Aggregate("stddev", AGE)),
        ("STDDEV_POP(age)", Aggregate("stddev", AGE)),
        ("STDDEV_SAMP(age)", Aggregate("stddev", AGE)),
        ("MEDIAN(age)", Aggregate("quantile", AGE, level=Fraction(1, 2))),
        ("QUANTILE(age, 1/3)", Aggregate("quantile", AGE, level=Fraction(1, 3))),
        ("QUANTILE_CONT(age, 0.9)", Aggregate("quantile", AGE, level=Fraction(9, 10))),
        ("QUANTILE_DISC(age, 0.9)", Aggregate("quantile", AGE, level=Fraction(9, 10))),
        ("APPROX_QUANTILE(age, 0.9)", Aggregate("quantile", AGE, level=Fraction(9, 10))),
        (
            "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)",
            Aggregate("quantile", AGE, level=Fraction(9, 10)),
        ),
        (
            "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age DESC)",
            Aggregate("quantile", AGE, level=Fraction(1, 10)),
        ),
        (
            "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FILTER (WHERE active)",
            Aggregate("quantile", AGE, ACTIVE, Fraction(9, 10)),
        ),
        ('PRODUCT("we""ird; DROP")', Aggregate("product", WEIRD)),
        ('GEOMEAN("we""ird; DROP")', Aggregate("geometric_mean", WEIRD)),
        ('GEOMETRIC_MEAN("we""ird; DROP")', Aggregate("geometric_mean", WEIRD)),
    ],
)
def test_every_aggregate(text, wanted):
    assert made(text) == wanted


def test_minimum_and_maximum_only_when_asked_for_as_quantiles():
    for word in ("MIN", "MAX"):
        with pytest.raises(QueryError, match=rf"{word} cannot be private.*extremes = 0.01"):
            made(f"{word}(age)")
    assert made("MIN(age)", extremes=Fraction(1, 50)).level == Fraction(1, 50)
    assert made("MAX(age)", extremes=Fraction(1, 50)).level == Fraction(49, 50)
    assert made("MAX(age) FILTER (WHERE active)", extremes=Fraction(1, 50)).where == ACTIVE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("COUNT()", r"say COUNT\(\*\)"),
        ("COUNT(age, code)", "EXPRESSIONS"),
        ("COUNT(DISTINCT age)", r"say COUNT\(DISTINCT person_id\)"),
        ("COUNT(DISTINCT person_id, age)", "counts people only"),
        ("COUNT(DISTINCT person_id) FILTER (WHERE active)", "put the condition in WHERE"),
        ("COUNT_IF(age)", "FILTER needs a condition"),
        ("COUNT(*) FILTER (WHERE age)", "FILTER needs a condition"),
        ("SUM(DISTINCT age)", "only COUNT"),
        ("SUM(age ORDER BY code)", "ORDER"),
        ("SUM(SUM(age))", "inside another aggregate"),
        ("SUM(COUNT(*))", "inside another aggregate"),
        ("SUM(dept)", "needs a number, not text"),
        ("MEDIAN(hired)", "needs a number, not a date"),
        ("SUM(5)", r"of what is always 5 is a count: say 5 \* COUNT\(\*\)"),
        (
            "SUM(CASE WHEN age > 30 THEN 5 END)",
            r"what is 5 or missing is a count: say 5 \* COUNT\(the same exp",
        ),
        ("SUM(CASE WHEN age > 30 THEN 0 END)", "0 or missing says nothing"),
        (
            "AVG(CASE WHEN age > 30 THEN 1 END)",
            r"COUNT\(the same expression\) tells how often it is there",
        ),
        ("AVG(7)", "the mean of what is always 7 says nothing: it is 7"),
        ("AVG(NULL)", "0 or missing says nothing"),
        ("PRODUCT(age)", "LN needs a number above 0"),
        ("PRODUCT(age, code)", "cannot be used in an aggregate"),
        ("GEOMEAN(temperature)", "LN needs a number above 0"),
        ("QUANTILE(age, 0)", "between 0 and 1, not 0"),
        ("QUANTILE(age, 1)", "between 0 and 1, not 1"),
        ("QUANTILE(age, code)", "a constant was expected"),
        ("QUANTILE(age, [0.1, 0.2])", "holds no"),
        ("QUANTILE(age)", "needs a level|cannot be read"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, code)", "one expression"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age NULLS FIRST)", "NULLS FIRST"),
        ("MODE() WITHIN GROUP (ORDER BY age)", "WITHIN GROUP"),
        ("PEOPLE(age)", "cannot be used in an aggregate"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(QueryError, match=words):
        made(text)


def test_without_people_only_rows_can_be_counted():
    with pytest.raises(QueryError, match=r"say COUNT\(\*\)"):
        made("COUNT(DISTINCT age)", ROWS)
    assert made("PEOPLE()", ROWS) == Aggregate("people")


def test_the_makers_behind_the_words():
    assert counted(AGE) == Aggregate("count", AGE)
    assert measured("sum", AGE) == Aggregate("sum", AGE)
    assert quantile(AGE, Fraction(1, 4)).level == Fraction(1, 4)
    assert isinstance(measured("mean", ACTIVE).operand, e.FlagNumber)
