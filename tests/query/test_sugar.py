"""What SQL says in one word: the same values as the word has."""

from datetime import date
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.example import PEOPLE, TABLES

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import sugar, total
from discreet.query.evaluate import evaluate
from discreet.query.kinds import Day, Flag, Number, Text
from discreet.query.render import expr_sql
from discreet.query.schema import Keys, PerRow, PublicTable, Schema
from discreet.query.sql import expression

X = e.Column("x", Number(-40, 400, Fraction(1, 4), nullable=True))
F = e.Column("f", Flag(nullable=True))


@given(
    st.one_of(st.none(), st.integers(-40, 400)),
    st.fractions(-10, 50, max_denominator=4),
    st.fractions("1/4", 30, max_denominator=4),
    st.integers(1, 9),
)
def test_width_bucket_is_sqls(n, low, width, buckets):
    """0 below, n + 1 from the upper end on, NULL for NULL."""
    node = sugar.bucket(X, low, low + width, Fraction(buckets))
    found = evaluate(node, {"x": n})
    if n is None:
        assert found is None
        return
    x = Fraction(n, 4)
    edges = [low + width * i / buckets for i in range(buckets + 1)]
    assert found == sum(edge <= x for edge in edges)
    assert node.kind.low <= found <= min(node.kind.high, buckets + 1)


def test_buckets_that_make_no_sense_are_refused():
    for low, high, buckets in (
        (5, 5, 3),
        (6, 5, 3),
        (0, 5, 0),
        (0, 5, Fraction(1, 2)),
        (0, 5, 10**7),
    ):
        with pytest.raises(QueryError, match="needs low < high"):
            sugar.bucket(X, Fraction(low), Fraction(high), Fraction(buckets))


@pytest.mark.parametrize("n", [None, -3, 0, 7])
def test_sign(n):
    (wanted,) = duckdb.execute("SELECT sign(?::INT)", [n]).fetchone()
    assert evaluate(sugar.sign(X), {"x": n}) == wanted


@pytest.mark.parametrize("x", [None, 1, 2])
@pytest.mark.parametrize("y", [None, 1, 2])
def test_same_and_surely(x, y):
    other = e.Column("y", X.kind)
    (wanted,) = duckdb.execute("SELECT ?::INT IS NOT DISTINCT FROM ?::INT", [x, y]).fetchone()
    assert evaluate(sugar.same(X, other), {"x": x, "y": y}) == wanted
    truth = None if x is None else x == 1
    assert evaluate(sugar.surely(F), {"f": truth}) is (truth is True)
    assert not sugar.surely(F).kind.nullable


def test_text_stands_for_a_date_beside_a_date():
    day = e.Column("d", Day(date(2020, 1, 1), date(2021, 1, 1)))
    node = sugar.compared("<", day, total.constant("2020-06-01"))
    assert evaluate(node, {"d": date(2020, 3, 1)}) is True
    assert (
        evaluate(sugar.compared("<", total.constant("2020-06-01"), day), {"d": date(2020, 3, 1)})
        is False
    )
    for text in ("2020-6-1", "20200601", "2020-W01-1", "2020-02-30", "", "0000-01-01"):
        with pytest.raises(QueryError, match="is no date"):
            sugar.day_of(text)


def test_lookups():
    zipped = e.Column("zip", PEOPLE.kind("zip"))
    node = sugar.lookup(PEOPLE, "regions", "rank", zipped)
    assert node.kind == Number(1, 30, nullable=True)
    assert evaluate(node, {"zip": 8001}, TABLES) == 2
    there = sugar.present(PEOPLE, "regions", zipped)
    assert [evaluate(there, {"zip": z}, TABLES) for z in (8001, 9999, None)] == [True, False, False]
    with pytest.raises(QueryError, match="do not compare with text"):
        sugar.lookup(PEOPLE, "regions", "rank", e.Column("s", Text()))
    with pytest.raises(QueryError, match="whole numbers"):
        sugar.lookup(PEOPLE, "regions", "rank", X)
    fives = e.Column("y", Number(0, 3000, Fraction(5)))
    assert evaluate(sugar.lookup(PEOPLE, "regions", "rank", fives), {"y": 202}, TABLES) == 1


def test_a_table_without_a_full_column_is_searched_by_its_keys():
    from discreet.query.schema import PublicTable, Schema

    table = PublicTable("k", {1: {"a": None}, 2: {"a": 5}})
    schema = Schema("t", PEOPLE.unit, {}, {}, {"u": table})
    node = sugar.present(schema, "u", e.Column("x", Number(0, 9, nullable=True)))
    assert [evaluate(node, {"x": n}) for n in (1, 2, 3, None)] == [True, True, False, None]


SLIPS = [
    ("dept = 'clark'", "'dept' is never 'clark' (did you mean 'clerk'?); its declared keys are:"),
    ("'clark' <> dept", "did you mean 'clerk'?"),
    ("dept IN ('nurse', 'clark')", "did you mean 'clerk'?"),
    ("dept NOT IN ('nurse', 'clark')", "did you mean 'clerk'?"),
    ("dept IS DISTINCT FROM 'clark'", "did you mean 'clerk'?"),
    ("CASE dept WHEN 'clark' THEN 1 END = 1", "did you mean 'clerk'?"),
    ("NULLIF(dept, 'clark') = 'nurse'", "did you mean 'clerk'?"),
    ("dept = 'boss'", "'dept' is never 'boss'; its declared keys are: clerk, nurse, it's, Ärzte"),
    ("zip = 5", "'zip' is never 5; its declared keys are: 1010, 8001, 9999"),
    ("code = 1.5", "'code' is never 1.5"),
    ("day = '2020-01-02'", "is never datetime.date(2020, 1, 2)"),
]


@pytest.mark.parametrize(("text", "words"), SLIPS)
def test_a_constant_that_is_no_key_is_refused(text, words):
    columns = {**PEOPLE.columns, "day": Keys([date(2020, 1, 1)])}
    with pytest.raises(QueryError) as refused:
        expression(text, Schema("t", PerRow(), columns, {}))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["dept = 'nurse'", "dept > 'boss'", "dept LIKE 'boss'", "COALESCE(dept, 'x') = 'x'",
     "note = 'boss'", "code = 1.0", "code < 7", "SIGN(code) = 1", "dept = NULL", "dept = note"],
)  # fmt: skip
def test_what_may_be_compared(text):
    made = expression(text, PEOPLE)
    assert expression(expr_sql(made), PEOPLE) == made


def test_a_join_without_a_full_column_names_possible_keys_only():
    table = PublicTable("zip", {1010: {"a": None}, 7: {"a": 1}})
    schema = Schema("t", PerRow(), PEOPLE.columns, {}, {"some": table})
    zips = e.Column("zip", schema.kind("zip"))
    assert sugar.present(schema, "some", zips) == expression("zip IN (1010)", schema)
    none = Schema("t", PerRow(), {"zip": Keys([1])}, {}, {"some": table})
    column = e.Column("zip", none.kind("zip"))
    assert sugar.present(none, "some", column) == total.constant(value=False)


def test_very_long_lists_of_keys_are_not_looked_through():
    long = Schema("t", PerRow(), {"x": Keys(range(sugar.MOST_CHECKED + 1))}, {})
    assert expression("x = -5", long).op == "="
    with pytest.raises(QueryError, match="'x' is never -5"):
        expression("x = -5", Schema("t", PerRow(), {"x": Keys(range(sugar.MOST_CHECKED))}, {}))
