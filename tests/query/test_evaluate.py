"""The reference meaning of expressions: three-valued logic, and DuckDB as a second opinion."""

from datetime import date
from itertools import product

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.example import PEOPLE, TABLES

from discreet.query import expr as e
from discreet.query import total
from discreet.query.evaluate import compiled, evaluate, matches
from discreet.query.kinds import Flag, Number, Text
from discreet.query.sql import expression

A, B = e.Column("a", Flag(nullable=True)), e.Column("b", Flag(nullable=True))
TRUTH = (True, False, None)


@pytest.mark.parametrize(("a", "b"), list(product(TRUTH, TRUTH)))
def test_three_valued_logic_is_sqls(a, b):
    row = {"a": a, "b": b}
    asked = duckdb.execute(
        "SELECT a AND b, a OR b, NOT a, a = b, a <> b, a IS NULL, COALESCE(a, b), "
        "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END FROM (SELECT ?::BOOL AS a, ?::BOOL AS b)",
        [a, b],
    ).fetchone()
    one, two, three = (total.constant(n) for n in (1, 2, 3))
    mine = (
        total.all_of([A, B]),
        total.any_of([A, B]),
        total.negation(A),
        total.compare("=", A, B),
        total.compare("<>", A, B),
        total.is_null(A),
        total.coalesce([A, B]),
        total.case([(A, one), (B, two)], three),
    )
    assert tuple(evaluate(node, row) for node in mine) == asked


@given(
    st.text("ab%_é☃\n", max_size=8),
    st.text("ab%_é☃\n", max_size=6),
)
def test_like_is_sqls(text, pattern):
    (wanted,) = duckdb.execute("SELECT ? LIKE ?", [text, pattern]).fetchone()
    assert matches(text, pattern) == wanted


def test_like_does_not_take_forever():
    assert not matches("a" * 20_000, "%a" * 40 + "b")


@given(st.integers(-100, 100), st.integers(1, 9))
def test_integer_division_and_remainder_are_sqls(n, d):
    kind = Number(-100, 100)
    x = e.Column("x", kind)
    floor = e.FloorDivide(x, d, kind)
    rest = e.Remainder(x, d, kind)
    wanted = duckdb.execute("SELECT floor(? / ?)::INT, ? % ?", [n, d, n, d]).fetchone()
    assert (evaluate(floor, {"x": n}), evaluate(rest, {"x": n})) == wanted


def value(text, **row):
    full = dict.fromkeys(PEOPLE.columns) | row
    node = expression(text, PEOPLE)
    found = evaluate(node, full, TABLES)
    scaled = isinstance(node.kind, Number) and found is not None
    return found * node.kind.grid if scaled else found


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("age + 1", {}, None),
        ("salary / 12", {"salary": 1200}, 1),
        ("age / code", {"age": 7, "code": 2}, 3.5),
        ("(0 - age) / 3", {"age": 7}, -7 / 3),
        ("LEAST(age, code)", {"age": 9}, 9),
        ("LEAST(age, code)", {}, None),
        ("GREATEST(age, code, 5)", {}, 5),
        ("age IN (1, 2)", {"age": 2}, True),
        ("age IN (1, 2)", {}, None),
        ("age NOT IN (1, 2)", {"age": 2}, False),
        ("dept LIKE 'c%'", {"dept": "clerk"}, True),
        ("dept < 'd'", {"dept": "Ärzte"}, False),  # by bytes: Ä comes after all of ASCII
        ("EXTRACT(DAYOFWEEK FROM hired)", {"hired": date(2024, 1, 7)}, 0),
        ("EXTRACT(WEEK FROM hired)", {"hired": date(2021, 1, 3)}, 53),
        ("hired - left_on", {"hired": date(2021, 1, 3), "left_on": date(2021, 2, 3)}, -31),
        ("LOOKUP('regions', 'region', zip)", {"zip": 8001}, "west"),
        ("LOOKUP('regions', 'region', zip)", {"zip": 9999}, None),
        ("LOOKUP('regions', 'region', zip)", {}, None),
        ("LOOKUP('regions', 'coast', zip)", {"zip": 1010}, None),
        ("LOOKUP('regions', 'region', age + 1000)", {"age": 10}, "east"),
        ("CAST(active AS INTEGER)", {"active": True}, 1),
        ("ROUND(temperature)", {"temperature": -5}, -2),  # -2.5: halves go up
        ("MOD(0 - age, 10)", {"age": 47}, -7),
        ("ABS(temperature)", {"temperature": -5}, 2.5),
    ],
)
def test_values(text, row, wanted):
    found = value(text, **row)
    assert found == wanted or abs(found - wanted) < 0.002


def test_texts_compare_by_bytes():
    left, right = e.Column("x", Text()), e.Column("y", Text())
    node = total.compare("<", left, right)
    for x, y in product(["", "a", "Z", "é", "\uffff", "𝄞"], repeat=2):
        assert evaluate(node, {"x": x, "y": y}) == (x.encode() < y.encode())


def test_a_function_of_the_row_can_be_used_again():
    double = compiled(total.multiply(e.Column("x", Number(0, 9)), total.constant(-2)))
    assert [double({"x": n}) for n in (0, 3)] == [0, -3]
