"""What the dialects say differently, and that DuckDB means the same by it as Python."""

from datetime import date, timedelta
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.engines.dialects import (
    DIALECTS,
    call,
    case,
    cast,
    column,
    day,
    double,
    name,
    number,
    to_integer,
    typed,
)
from discreet.errors import QueryError
from discreet.query.calendar import first_day
from discreet.query.kinds import Day, Flag, Number, Text

DUCKDB = DIALECTS["duckdb"]


def value(node):
    return duckdb.execute(exp.Select(expressions=[node]).sql("duckdb")).fetchall()[0][0]


def test_all_dialects_are_known_to_sqlglot_by_their_names():
    assert list(DIALECTS) == ["duckdb", "postgres", "spark", "bigquery", "snowflake", "trino"]
    for title, sql in DIALECTS.items():
        assert sql.name == title
        assert sql.render(exp.Select(expressions=[number(1)])) == "SELECT 1"


@pytest.mark.parametrize("text", ["a", 'a"b', "a`b", "select", "ü 📏", "a.b", "'; --", "\\"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_quoted(dialect, text):
    if (dialect, text) == ("bigquery", "a.b"):
        pytest.skip("BigQuery has no such names")
    written = column(text, "t").sql(dialect)
    back = parse_one(written, dialect=dialect)
    assert back.this.this == text
    assert back.this.args["quoted"] is True


@given(st.integers(-(1 << 62), 1 << 62))
def test_whole_numbers_are_written_exactly(n):
    assert value(number(n)) == n


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_written_exactly(x):
    assert value(cast(double(Fraction(x)), "DOUBLE")) == x


@pytest.mark.parametrize(
    "to", ["BIGINT", "TEXT", "DATE", "DOUBLE", "INT128", "BOOLEAN", "DECIMAL(38, 0)", "UINT"]
)
def test_types_by_name(to):
    assert typed(to).is_type(exp.DataType.build(to, dialect="duckdb"))


def test_days():
    assert value(day(date(2020, 2, 29))) == date(2020, 2, 29)
    assert value(DUCKDB.days(day(date(2020, 3, 1)), day(date(2019, 3, 1)))) == 366


@pytest.mark.parametrize("unit", ["week", "month", "quarter", "year"])
def test_first_days(unit):
    for i in range(0, 4000, 37):
        of = date(1995, 12, 20) + timedelta(days=i)
        assert value(DUCKDB.trunc(unit, day(of))) == first_day(unit, of)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "part", ["year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"]
)
def test_parts_of_dates_can_be_said(dialect, part):
    sql = DIALECTS[dialect]
    text = sql.part(part, column("d", "t")).sql(dialect)
    assert parse_one(text, dialect=dialect)


def test_parts_of_dates_on_duckdb():
    for i in range(0, 1200, 7):
        of = date(2018, 12, 28) + timedelta(days=i)
        assert value(DUCKDB.part("dayofweek", day(of))) == of.isoweekday() % 7
        assert value(DUCKDB.part("week", day(of))) == of.isocalendar().week
        assert value(DUCKDB.part("dayofyear", day(of))) == of.timetuple().tm_yday


def test_sums_are_widened_only_where_they_might_wrap():
    for sql in DIALECTS.values():
        few = sql.sum(column("n", "t"), most=(1 << 63) - 1).sql(sql.name)
        many = sql.sum(column("n", "t"), most=1 << 63).sql(sql.name)
        assert "CAST" not in few
        assert ("CAST" in many) == sql.integer_sums_wrap


def test_missing_values_are_left_out_of_extremes():
    nodes = [to_integer(exp.Null()), number(3), number(5)]
    assert value(DUCKDB.extreme("least", nodes)) == 3
    careful = DIALECTS["trino"].extreme("greatest", nodes).sql("trino")
    assert careful.count("COALESCE") == 3
    assert value(parse_one(careful, dialect="trino")) == 5


def test_quotients_and_remainders_round_towards_0():
    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2)):
        assert value(DUCKDB.divide(number(a), number(b))) == int(a / b)
        assert value(DUCKDB.remainder(number(a), number(b))) == a - b * int(a / b)
    snowflake = DIALECTS["snowflake"].divide(column("a", "t"), column("b", "t")).sql("snowflake")
    assert snowflake == 'CAST(("t"."a" - "t"."a" % "t"."b") / "t"."b" AS BIGINT)'


def test_text_is_compared_byte_by_byte():
    nocase = exp.Collate(this=exp.Literal.string("a"), expression=name("nocase"))
    assert value(exp.EQ(this=nocase, expression=exp.Literal.string("A"))) is True
    pinned = DUCKDB.text(exp.Paren(this=nocase.copy()))
    assert value(exp.EQ(this=pinned, expression=exp.Literal.string("A"))) is False
    assert '"C"' in DIALECTS["postgres"].string("a").sql("postgres")


def test_the_portable_hash_reads_texts():
    written = [
        (number(-5), Number(-5, -5), "-5"),
        (exp.true(), Flag(), "true"),
        (day(date(2020, 1, 2)), Day(date(2020, 1, 2), date(2020, 1, 2)), "2020-01-02"),
        (exp.Literal.string("a|b"), Text(), "a|b"),
        (to_integer(exp.Null()), Number(0, 0), ""),
    ]
    for node, kind, text in written:
        assert value(DUCKDB.portable(node, kind)) == text


def test_people_are_written_alike_however_they_are_stored():
    for node, storage, text in (
        (number(7), "integer", "7"),
        (cast(number(7), "DOUBLE"), "real", "7"),
        (cast(exp.Literal.string("-0.0"), "DOUBLE"), "real", "0"),
        (cast(exp.Literal.string("1e300"), "DOUBLE"), "real", "1e+300"),
        (cast(number(7), "DECIMAL(38, 0)"), "real", "7"),
        (exp.Literal.string("7"), "text", "7"),
        (exp.true(), "boolean", "true"),
    ):
        assert value(DUCKDB.person_text(node, storage)) == text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("hashing", ["engine", "portable"])
def test_hashes_depend_on_the_key(dialect, hashing):
    sql = DIALECTS[dialect]
    values = [(column("p", "t"), sql.text(column("p", "t")))]
    one = sql.hashed(hashing, "one", values).sql(dialect)
    two = sql.hashed(hashing, "two", values).sql(dialect)
    assert one != two
    assert parse_one(one, dialect=dialect)


def test_duckdb_hashes_spread():
    """32 bits of 20,000 pairs: few collisions, and other keys give another order."""
    rows = ", ".join(f"({i})" for i in range(20_000))
    orders = []
    for key in ("a", "b"):
        node = DUCKDB.own_hash(key, [(column("x", "t"), column("x", "t"))]).sql("duckdb")
        text = f'SELECT {node}, x FROM (VALUES {rows}) AS "t"(x)'
        found = duckdb.execute(text).fetchall()
        assert len({h for h, _ in found}) > 19_990
        orders.append([x for _, x in sorted(found)])
    assert sum(a == b for a, b in zip(*orders, strict=True)) < 20


def test_nul_is_refused():
    with pytest.raises(QueryError, match="NUL"):
        DUCKDB.string("\0")


def test_case_and_call():
    node = case([(exp.true(), number(1))], number(2))
    assert node.sql("duckdb") == "CASE WHEN TRUE THEN 1 ELSE 2 END"
    assert call("F", number(1)).sql("duckdb") == "F(1)"
