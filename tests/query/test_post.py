"""Post-processing never fails, follows SQL, and is decided by released numbers alone."""

import math
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.query.example import PEOPLE

from discreet.query.plan import (
    Aggregate,
    Order,
    Plan,
    PostAggregate,
    PostCall,
    PostGroup,
    PostValue,
)
from discreet.query.post import arrange, evaluate
from discreet.query.sql import parse

COUNT, SUM = Aggregate("count"), Aggregate("sum")
A, B = PostAggregate(COUNT), PostAggregate(SUM)
NUMBERS = st.one_of(
    st.none(),
    st.integers(-(10**40), 10**40),
    st.integers(-3, 3),
    st.floats(),
    st.fractions(),
    st.sampled_from([10**400, Fraction(1, 10**400), float("inf"), float("nan"), -0.0]),
)
UNARY = ("abs", "floor", "ceil", "sqrt", "ln", "exp")
BINARY = ("+", "-", "*", "/", "least", "greatest", "coalesce")
TESTS = ("=", "<>", "<", "<=", ">", ">=", "in")


def functions(depth=3):
    leaf = st.one_of(
        st.sampled_from([A, B, PostGroup(0)]), NUMBERS.filter(_constant).map(PostValue)
    )
    if depth == 0:
        return leaf
    sub = functions(depth - 1)
    condition = st.tuples(st.sampled_from(TESTS), sub, sub).map(lambda t: PostCall(t[0], t[1:]))
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(UNARY), sub).map(lambda t: PostCall(t[0], t[1:])),
        st.tuples(st.sampled_from(BINARY), sub, sub).map(lambda t: PostCall(t[0], t[1:])),
        st.tuples(sub, st.integers(-18, 18).map(PostValue)).map(lambda t: PostCall("round", t)),
        st.tuples(condition, sub, sub).map(lambda t: PostCall("case", t)),
        condition,
        st.tuples(condition, condition).map(lambda t: PostCall("and", t)),
        st.tuples(sub, sub, sub).map(lambda t: PostCall("between", t)),
    )


def _constant(value):
    return value is None or isinstance(value, int | Fraction)


@settings(max_examples=examples(300))
@given(functions(), NUMBERS, NUMBERS, NUMBERS)
def test_nothing_released_can_make_it_fail(post, a, b, key):
    found = evaluate(post, (key,), {COUNT: a, SUM: b})
    assert not (isinstance(found, float) and not math.isfinite(found))


def at(text, row=()):
    """A SELECT item on the numbers count = 7, sum = 20.5 or on those given."""
    plan = parse(f"SELECT {text} AS x, COUNT(*) AS c, SUM(age) AS s FROM t", PEOPLE)
    count, total = (o.value.aggregate for o in plan.outputs[1:])
    a, b = row or (7, 20.5)
    return evaluate(plan.outputs[0].value, (), {count: a, total: b})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("COUNT(*) / 2", Fraction(7, 2)),
        ("COUNT(*) / 7", 1),
        ("COUNT(*) / 0", None),
        ("SUM(age) / 0", None),
        ("0 / 0", None),
        ("SUM(age) + 1", 21.5),
        ("COUNT(*) + NULL", None),
        ("COUNT(*) > NULL", None),
        ("COUNT(*) > 3 OR NULL", True),
        ("COUNT(*) > 9 OR NULL", None),
        ("COUNT(*) > 9 AND NULL", False),
        ("NOT COUNT(*) = 7", False),
        ("COUNT(*) IN (1, NULL)", None),
        ("COUNT(*) IN (7, NULL)", True),
        ("COUNT(*) IN (1, 2)", False),
        ("NULL IN (1, 2)", None),
        ("COUNT(*) BETWEEN 7 AND 9", True),
        ("COUNT(*) BETWEEN NULL AND 6", False),
        ("COUNT(*) IS NULL", False),
        ("NULLIF(COUNT(*), 7)", None),
        ("COALESCE(NULL, COUNT(*))", 7),
        ("CASE WHEN NULL THEN 1 WHEN COUNT(*) > 1 THEN NULL ELSE 3 END", None),
        ("CASE WHEN COUNT(*) > 8 THEN 1 ELSE 3 END", 3),
        ("LEAST(COUNT(*), NULL, 3)", 3),
        ("GREATEST(NULL, NULL)", None),
        ("ROUND(SUM(age))", 21),
        ("ROUND(0 - SUM(age))", -20),  # halves go up
        ("ROUND(COUNT(*) / 3, 2)", Fraction(233, 100)),
        ("ROUND(SUM(age) / 3, 1)", 6.8),
        ("ROUND(COUNT(*), -1)", 10),
        ("FLOOR(SUM(age))", 20),
        ("CEIL(SUM(age))", 21),
        ("ABS(0 - SUM(age))", 20.5),
        ("SQRT(0 - 4)", None),
        ("SQRT(COUNT(*) + 2)", 3.0),
        ("LN(0)", None),
        ("LN(1)", 0.0),
        ("EXP(1000)", None),
        ("EXP(0)", 1.0),
        ("-COUNT(*)", -7),
        ("1e300 * 1e300 * SUM(age)", None),
    ],
)
def test_values(text, wanted):
    found = at(text)
    assert found == wanted
    assert type(found) is type(wanted) or isinstance(found, Fraction)


@pytest.mark.parametrize("a", [None, -2, 0, 3])
@pytest.mark.parametrize("b", [None, -2, 0, 3])
def test_comparisons_and_logic_are_duckdbs(a, b):
    texts = ["{a} = {b}", "{a} <> {b}", "{a} < {b}", "{a} >= {b} AND {b} > 0", "NOT {a} > {b}",
             "{a} IN ({b}, 0)", "{a} BETWEEN {b} AND 3", "LEAST({a}, {b})", "{a} IS NULL",
             "CASE WHEN {a} > 0 THEN {b} ELSE 1 END", "COALESCE({a}, {b}, 5)",
             "{a} - {b}", "{a} IS NULL OR {b} > 0"]  # fmt: skip
    for text in texts:
        (wanted,) = duckdb.execute(
            f"SELECT {text.format(a='a', b='b')} FROM (SELECT ?::INT AS a, ?::INT AS b)", [a, b]
        ).fetchone()
        assert at(text.format(a="COUNT(*)", b="SUM(age)"), (a, b)) == wanted, text


@dataclass
class Row:
    groups: tuple
    values: dict


def rows(*numbers):
    return [Row((i,), {COUNT: n}) for i, n in enumerate(numbers)]


def arranged(found, **how):
    return [row.groups[0] for row in arrange(Plan("t", None, (), (), **how), found)]


def test_order_puts_missing_values_last_and_keeps_ties():
    found = rows(3, None, 1, 3, float("nan"), Fraction(5, 2), 2.75)
    up, down = (Order(A),), (Order(A, descending=True),)
    assert arranged(found, order=up) == [2, 5, 6, 0, 3, 1, 4]
    assert arranged(found, order=down) == [0, 3, 6, 5, 2, 1, 4]
    assert arranged(found, order=(*down, Order(PostGroup(0), descending=True)))[:2] == [3, 0]
    assert arranged(found) == list(range(7))


def test_having_keeps_what_is_true_and_limit_cuts_last():
    found = rows(3, None, 1, 5)
    above = PostCall(">", (A, PostValue(1)))
    assert arranged(found, having=above) == [0, 3]
    assert arranged(found, having=PostCall("not", (above,))) == [2]
    assert arranged(found, having=above, order=(Order(A, descending=True),), limit=1) == [3]
    assert arranged(found, limit=0) == []


def test_texts_flags_and_dates_have_an_order_too():
    for keys in (["b", "é", "a"], [True, False], [date(2021, 1, 1), date(2020, 1, 1)]):
        found = [Row((key,), {}) for key in keys]
        assert arranged(found, order=(Order(PostGroup(0)),)) == sorted(keys)


def test_long_exact_numbers_become_floats_and_end_where_those_end():
    far = PostValue(10**400)
    product = PostCall("*", (far, PostCall("*", (far, far))))
    assert evaluate(product, (), {}) == 10**1200
    assert evaluate(PostCall("*", (product, far)), (), {}) is None
    tiny = PostCall("/", (PostValue(1), product))
    assert evaluate(PostCall("/", (tiny, far)), (), {}) == 0.0
    third = PostCall("/", (PostValue(3**1000), PostValue(2**1584)))
    close = PostCall("*", (third, PostCall("*", (third, third))))
    assert evaluate(close, (), {}) == pytest.approx(float(Fraction(3**3000, 2**4752)))
    assert isinstance(evaluate(close, (), {}), float)
    assert evaluate(A, (), {COUNT: 10**5000}) is None
    assert evaluate(PostGroup(0), (10**5000,), {}) is None
