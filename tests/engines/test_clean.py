"""Cleaning: what every stored value becomes, on DuckDB against the words of the schema."""

import math
from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.engines import corpus, reference
from tests.engines.test_duckdb import table_of

from discreet.engines.clean import cleaned, floor_divided, on_double_grid, read
from discreet.engines.dialects import DIALECTS, column, number
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Boolean, Bounds, Dates, FreeText, Keys, PerRow, Schema

DUCKDB = DIALECTS["duckdb"]
moment = datetime  # stored without a zone
EDGE = (1 << 63) - 1


def found(values, declared, storage):
    """What DuckDB makes of some values, and the reference."""
    rows = [{"x": v} for v in values]
    engine = DuckDB.from_frame(table_of(rows, {"x": storage}), threads=1)
    schema = Schema("t", PerRow(), {"x": declared}, {"x": storage}, {}, 10**6)
    part = Part((e.Column("x", schema.kind("x")),), (Total(),), Bounding("none"))
    got = engine.run(Request(schema, None, (part,)))[0]
    expected = {}
    for value in values:
        key = (reference.clean(value, declared, storage),)
        expected[key] = (expected.get(key, (0,))[0] + 1,)
    return got, expected


@pytest.mark.parametrize(
    ("value", "bounds", "n"),
    [
        (0.0, Bounds(0, 10, 1), 0),
        (-0.0, Bounds(0, 10, 1), 0),
        (0.5, Bounds(0, 10, 1), 1),
        (2.5, Bounds(0, 10, 1), 3),
        (-2.5, Bounds(-10, 10, 1), -2),
        (float("inf"), Bounds(0, 10, 1), 10),
        (float("-inf"), Bounds(0, 10, 1), 0),
        (float("nan"), Bounds(0, 10, 1), None),
        (None, Bounds(0, 10, 1), None),
        (1e308, Bounds(-10, 10, "0.1"), 100),
        (12.0, Bounds(0, 50, 5), 2),
        (12.5, Bounds(0, 50, 5), 3),
        (0.3, Bounds("0.1", "0.7", "0.1"), 3),
        (1.005, Bounds(0, 2, "0.01"), 100),  # the double is below 1.005
    ],
)
def test_real_numbers_by_hand(value, bounds, n):
    assert reference.clean(value, bounds, "real") == n
    assert found([value], bounds, "real")[0] == {(n,): (1,)}


@given(
    st.lists(st.floats() | st.floats(-1, 2) | st.none(), min_size=1, max_size=30),
    st.sampled_from([d for d in corpus.DECLARATIONS["real"] if isinstance(d, Bounds)]),
)
def test_real_numbers(values, bounds):
    got, expected = found(values, bounds, "real")
    assert got == expected


@given(
    st.lists(st.integers(-EDGE - 1, EDGE) | st.integers(-40, 40), min_size=1, max_size=30),
    st.sampled_from(corpus.DECLARATIONS["integer"]),
)
def test_whole_numbers(values, declared):
    got, expected = found(values, declared, "integer")
    assert got == expected


@pytest.mark.parametrize("low", [-7, -3, -1, 0, 4])
@pytest.mark.parametrize("divisor", [1, 2, 3, 10])
def test_floor_division_rounds_down(low, divisor):
    node = floor_divided(column("x", "t"), low, divisor, DUCKDB)
    values = exp.Values(
        expressions=[exp.Tuple(expressions=[number(n)]) for n in range(low, low + 25)],
        alias=exp.TableAlias(this=exp.to_identifier("t"), columns=[exp.to_identifier("x")]),
    )
    import duckdb

    text = exp.Select(expressions=[node]).from_(values).sql("duckdb")
    got = [row[0] for row in duckdb.execute(text).fetchall()]
    assert got == [n // divisor for n in range(low, low + 25)]


@given(
    st.floats(0, 1000),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5), Fraction(2, 7)]),
)
def test_the_grid_rises_with_the_value(value, grid):
    """That is why the last clamp may be left out."""
    above = math.nextafter(value, math.inf)
    assert on_double_grid(value, grid) <= on_double_grid(above, grid)


def test_the_last_clamp_is_left_out_only_where_it_does_nothing():
    def text(bounds):
        raw = read("x", bounds, "real", column("x", "r"), DUCKDB)
        return cleaned("x", bounds, "real", raw, DUCKDB).sql("duckdb")

    assert "LEAST" not in text(Bounds(0, 1000, "0.01"))
    wide = Bounds(-(1 << 62), (1 << 62) - 1, 1)
    assert "LEAST" in text(wide)
    got, expected = found([1e300, -1e300, float(1 << 61)], wide, "real")
    assert got == expected


@pytest.mark.parametrize(
    ("declared", "storage"),
    [
        (FreeText(), "integer"),
        (FreeText(), "boolean"),
        (Keys(["a"]), "real"),
        (Bounds(0, 1), "date"),
        (Bounds(0, 1), "other"),
        (Boolean(), "date"),
        (Dates("2020-01-01", "2021-01-01"), "integer"),
        (Keys([date(2020, 1, 1)]), "real"),
        (Keys([1]), "timestamp"),
    ],
)
def test_what_is_stored_otherwise_is_refused(declared, storage):
    with pytest.raises(QueryError, match="the column 'x' is stored as"):
        read("x", declared, storage, column("x", "r"), DUCKDB)


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"duckdb"}))
@pytest.mark.parametrize("declared", [Bounds(0, 1), Keys([1]), Dates("2020-01-01", "2021-01-01")])
def test_text_is_parsed_by_duckdb_only(dialect, declared):
    with pytest.raises(QueryError, match="parses no text without failing"):
        read("x", declared, "text", column("x", "r"), DIALECTS[dialect])
    assert read("x", Boolean(), "text", column("x", "r"), DIALECTS[dialect])


@pytest.mark.parametrize(
    "bounds", [Bounds(0, 3 << 60, 3), Bounds(0, 10**30, 10**20), Bounds(0, 3 << 59, "3/2")]
)
def test_whole_numbers_that_would_overflow_are_refused(bounds):
    with pytest.raises(QueryError, match="tighter bounds or a coarser grid"):
        cleaned("x", bounds, "integer", column("x", "r"), DUCKDB)


def test_grids_that_doubles_cannot_hold_are_refused():
    with pytest.raises(QueryError, match="between 1e-60 and 1e60"):
        cleaned("x", Bounds(0, 10**70, 10**65), "real", column("x", "r"), DUCKDB)


def test_booleans_count_as_0_and_1():
    assert found([True, False, None], Bounds(0, 3, 1), "boolean")[0] == {
        (1,): (1,),
        (0,): (1,),
        (None,): (1,),
    }


def test_times_of_day_are_cut_off():
    moments = [
        moment(1969, 12, 31, 23, 59, 59, 999999),
        moment(1970, 1, 1),
        moment(2020, 2, 29, 12),
        moment(2020, 12, 31, 23, 59),
        moment(2021, 1, 1),
        None,
    ]
    for declared in (
        Dates("1969-12-31", "2020-12-31"),
        Keys([date(1969, 12, 31), date(2020, 2, 29)]),
    ):
        got, expected = found(moments, declared, "timestamp")
        assert got == expected


def test_bounds_between_two_whole_numbers():
    """No whole number lies between: everything is one of the bounds."""
    got, expected = found([-1, 0, 1, 2], Bounds("0.25", "0.75", "0.25"), "integer")
    assert got == expected == {(1,): (2,), (3,): (2,)}
