"""Dates, with DuckDB's calendar as the judge."""

from datetime import date, timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import QueryError
from discreet.query import calendar
from discreet.query import expr as e
from discreet.query.evaluate import evaluate
from discreet.query.kinds import Day, Number, Text

D = e.Column("d", Day(date(1000, 1, 1), date(9000, 12, 31), nullable=True))
UNITS = ("day", "week", "month", "quarter", "year")
PARTS = ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear")


@given(st.lists(st.dates(date(1000, 1, 1), date(9000, 12, 31)), min_size=1, max_size=20))
def test_the_calendar_is_duckdbs(days):
    asked = [f"date_trunc('{unit}', d)::DATE" for unit in UNITS]
    asked += [f"{part}(d)" for part in PARTS]
    rows = duckdb.execute(
        f"SELECT {', '.join(asked)} FROM (SELECT unnest(?::DATE[]) AS d)", [days]
    ).fetchall()
    nodes = [calendar.date_trunc(unit, D) for unit in UNITS]
    nodes += [calendar.date_part(part, D) for part in PARTS]
    for day, row in zip(days, rows, strict=True):
        assert tuple(evaluate(node, {"d": day}) for node in nodes) == row


@given(st.dates(date(1000, 1, 1), date(9000, 12, 31)))
def test_values_lie_in_their_kinds(day):
    for unit in UNITS:
        node = calendar.date_trunc(unit, D)
        assert node.kind.low <= evaluate(node, {"d": day}) <= day
    for part in PARTS:
        node = calendar.date_part(part, D)
        assert node.kind.low <= evaluate(node, {"d": day}) <= node.kind.high


@given(st.dates(date(1000, 1, 1), date(9000, 12, 31)), st.integers(-300, 300))
def test_days_between(day, apart):
    fixed = e.Literal(day, Day(day, day))
    node = calendar.days_between(D, fixed)
    other = min(max(day + timedelta(days=apart), D.kind.low), D.kind.high)
    assert evaluate(node, {"d": other}) == (other - day).days
    assert node.kind.low <= (other - day).days <= node.kind.high
    assert evaluate(node, {"d": None}) is None
    assert node.kind.nullable


def test_refusals():
    number = e.Column("n", Number(0, 1))
    for make in (
        lambda: calendar.date_trunc("month", number),
        lambda: calendar.date_part("month", e.Column("s", Text())),
        lambda: calendar.days_between(D, number),
    ):
        with pytest.raises(QueryError, match="needs a date"):
            make()
    with pytest.raises(QueryError, match="knows no 'hour'; say one of day, week"):
        calendar.date_trunc("hour", D)
    with pytest.raises(QueryError, match="knows no 'epoch'; say one of year"):
        calendar.date_part("epoch", D)
    early = e.Literal(date(1, 1, 3), Day(date(1, 1, 3), date(1, 1, 3)))
    with pytest.raises(QueryError, match="first week of year 1"):
        calendar.date_trunc("week", early)
