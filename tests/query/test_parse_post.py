"""Functions of released numbers: what is a key, what is an aggregate, and what fits together."""

from datetime import date
from fractions import Fraction

import pytest
from tests.query.example import PEOPLE

from discreet.errors import QueryError
from discreet.query.parse_post import Released, kind_of
from discreet.query.plan import Aggregate, PostAggregate, PostCall, PostGroup, PostValue
from discreet.query.scope import base
from discreet.query.sql import expression
from discreet.query.tree import fragment

GROUPS = tuple(expression(t, PEOPLE) for t in ("dept", "FLOOR(age / 10) * 10", "hired", "active"))
COUNT = PostAggregate(Aggregate("count"))
DEPT, DECADE, HIRED, ACTIVE = (PostGroup(i) for i in range(4))


def read(text, **how):
    return Released(base(PEOPLE), GROUPS, **how).read(fragment(text, what="it"))


def call(name, *arguments):
    return PostCall(name, arguments)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dept", DEPT),
        ("t.DEPT", DEPT),
        ("10 * FLOOR(age / 10)", DECADE),
        ("FLOOR(age / 10) * 10 + 5", call("+", DECADE, PostValue(5))),
        ("COUNT(*)", COUNT),
        ("COUNT(*) / 2.5", call("/", COUNT, PostValue(Fraction(5, 2)))),
        ("-COUNT(*)", call("-", PostValue(0), COUNT)),
        ("-3", PostValue(-3)),
        ("-(-3)", PostValue(3)),
        ("1 - COUNT(*) + 2", call("+", call("-", PostValue(1), COUNT), PostValue(2))),
        ("COUNT(*) > 1 AND active AND TRUE", call("and", call(">", COUNT, PostValue(1)), ACTIVE, PostValue(True))),  # noqa: E501
        ("NOT (NOT active)", ACTIVE),
        ("NOT active OR active", call("or", call("not", ACTIVE), ACTIVE)),
        ("COUNT(*) IS NULL", call("is_null", COUNT)),
        ("COUNT(*) IS NOT NULL", call("not", call("is_null", COUNT))),
        ("dept IN ('a', 'b')", call("in", DEPT, PostValue("a"), PostValue("b"))),
        ("COUNT(*) BETWEEN 1 AND 2", call("between", COUNT, PostValue(1), PostValue(2))),
        ("hired > '2020-01-01'", call(">", HIRED, PostValue(date(2020, 1, 1)))),
        ("hired = DATE '2020-01-01'", call("=", HIRED, PostValue(date(2020, 1, 1)))),
        ("hired IN ('2020-01-01')", call("in", HIRED, PostValue(date(2020, 1, 1)))),
        ("CASE WHEN active THEN 1 END", call("case", ACTIVE, PostValue(1), PostValue(None))),
        ("IF(active, 1, 2)", call("case", ACTIVE, PostValue(1), PostValue(2))),
        ("NULLIF(COUNT(*), 0)", call("case", call("=", COUNT, PostValue(0)), PostValue(None), COUNT)),  # noqa: E501
        ("COALESCE(COUNT(*), 0)", call("coalesce", COUNT, PostValue(0))),
        ("ROUND(COUNT(*))", call("round", COUNT, PostValue(0))),
        ("ROUND(COUNT(*), -1)", call("round", COUNT, PostValue(-1))),
        ("SQRT(ABS(COUNT(*)))", call("sqrt", call("abs", COUNT))),
        ("LEAST(COUNT(*), 5)", call("least", COUNT, PostValue(5))),
        ("CAST(COUNT(*) AS DOUBLE)", COUNT),
    ],
)  # fmt: skip
def test_reading(text, wanted):
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("salary", "neither grouped by"),
        ("age", "neither grouped by"),
        ("nothing", "no column 'nothing'"),
        ("COUNT(*) + dept", "needs a number, not a text"),
        ("COUNT(*) > dept", "mixes a number with a text"),
        ("COUNT(*) AND active", "AND needs a condition"),
        ("NOT COUNT(*)", "NOT needs a condition"),
        ("active > TRUE", "no order"),
        ("CASE WHEN COUNT(*) THEN 1 END", "WHEN needs a condition"),
        ("CASE WHEN active THEN 1 ELSE 'a' END", "CASE mixes"),
        ("CASE COUNT(*) WHEN 1 THEN 2 END", "say CASE WHEN"),
        ("COALESCE(COUNT(*), 'a')", "COALESCE mixes"),
        ("ROUND(dept)", "ROUND needs a number"),
        ("-dept", "needs a number"),
        ("-TRUE", "needs a number"),
        ("COUNT(*) IS TRUE", "NULL or NOT NULL"),
        ("CAST(COUNT(*) AS INTEGER)", "DOUBLE only"),
        ("CAST(dept AS DOUBLE)", "DOUBLE only"),
        ("hired > 'soon'", "is no date"),
        ("COUNT(*) % 2", "MOD"),
        ("COUNT(*) || 'a'", "DPIPE"),
        ("random()", "cannot be used"),
        ("SUM(COUNT(*))", "inside another aggregate"),
        ("(SELECT 1)", "FROM only"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(QueryError, match=words):
        read(text)


def test_names_of_the_answer():
    outputs = {"n": COUNT, "Dept": DEPT, "active": COUNT}
    assert read("N", outputs=outputs) == COUNT
    assert read("dept", outputs=outputs) == DEPT
    with pytest.raises(QueryError, match="both a column and a name"):
        read("active", outputs=outputs)
    assert read("active", outputs=outputs, outputs_first=True) == COUNT
    assert read("t.active", outputs=outputs) == ACTIVE
    with pytest.raises(QueryError, match="no table 'n'"):
        read("n.n", outputs=outputs)


def test_conditions_and_kinds():
    reader = Released(base(PEOPLE), GROUPS)
    with pytest.raises(QueryError, match="HAVING needs a condition"):
        reader.condition(fragment("COUNT(*)", what="it"))
    assert kind_of(PostValue(None), GROUPS) == ""
    assert [kind_of(PostGroup(i), GROUPS) for i in range(4)] == [
        "text",
        "number",
        "date",
        "condition",
    ]
    assert kind_of(reader.condition(fragment("NULL", what="it")), ()) == ""
