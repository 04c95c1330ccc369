"""Declarations: what an owner may say, and what is refused."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, QueryError
from discreet.query.kinds import Day, Flag, Number, Text
from discreet.query.schema import (
    MOST_KEYS,
    Boolean,
    Bounds,
    Dates,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
    declared,
    storable,
)


@given(
    st.fractions(-(10**6), 10**6, max_denominator=1000),
    st.fractions("1/1000", 10**6, max_denominator=1000),
)
def test_bounds_are_multiples_of_their_grid_or_refused(low, width):
    try:
        made = Bounds(low, low + width)
    except ParameterError as error:
        refused = str(error)
        assert "say grid=" in refused
        return
    assert (made.low / made.grid).denominator == (made.high / made.grid).denominator == 1
    assert made.kind.least == low
    assert made.kind.most == low + width
    assert made.kind.nullable


def test_grids_without_a_word():
    assert Bounds(0, 400_000).grid == 1
    assert Bounds(0, 1).grid == Fraction(1, 10**6)
    assert Bounds(0, 120).grid == Fraction(1, 10**4)
    assert Bounds(0, "1e-300").grid == Fraction(1, 10**306)  # beyond floats
    assert Bounds(0.1, 0.25).low == Fraction(1, 10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bounds(5, 5),
        lambda: Bounds(5, 1),
        lambda: Bounds(0, 1, 0),
        lambda: Bounds(0, 1, "0.3"),
        lambda: Bounds(0, 10**19, 1),
        lambda: Bounds(0, float("inf")),
        lambda: Bounds(0, float("nan")),
        lambda: Bounds(0, "1/3"),
        lambda: Bounds(0, 10**399, "1e-10"),
        lambda: Keys([]),
        lambda: Keys([1, "a"]),
        lambda: Keys([1, True]),
        lambda: Keys([1, 1]),
        lambda: Keys(["a\0"]),
        lambda: Keys(["\ud800"]),
        lambda: Keys([1.5]),
        lambda: Keys([None]),
        lambda: Keys([1 << 63]),
        lambda: Keys([datetime(2020, 1, 1)]),  # noqa: DTZ001
        lambda: Keys(range(MOST_KEYS + 1)),
        lambda: Dates("2020-01-01", "2020-01-01"),
        lambda: Dates("2020-02-30", "2021-01-01"),
        lambda: Dates("0900-01-01", "2021-01-01"),
        lambda: Dates(datetime(2020, 1, 1), "2021-01-01"),  # noqa: DTZ001
        lambda: Dates(5, "2021-01-01"),
        lambda: PerRow(rows=5),
        lambda: PerRow(together=0),
        lambda: PerRow(neighbours="other"),
        lambda: PerPerson(""),
        lambda: PerPerson("p", max_rows=0),
        lambda: PerPerson("p", max_rows="find"),
        lambda: PerPerson("p", find_epsilon=1),
        lambda: PerPerson("p", bounding="most"),
        lambda: PerPerson("p", people=5),
        lambda: PublicTable("k", {}),
        lambda: PublicTable("k", {1: {"a": 1}, 2: {"b": 1}}),
        lambda: PublicTable("k", {1: {"a": 1}, "x": {"a": 1}}),
        lambda: PublicTable("k", {1: {"k": 1}}),
        lambda: PublicTable("k", {1: {"a": None}}),
        lambda: declared("x", 5),
        lambda: declared("x", (5, 1)),
    ],
)
def test_what_cannot_be_declared_is_refused(make):
    with pytest.raises(ParameterError):
        make()


HUGE = 10**5000


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bounds(0, HUGE),
        lambda: Bounds(-HUGE, 0),
        lambda: Bounds(HUGE, 0),
        lambda: Bounds(0, "9" * 5000),
        lambda: Bounds(0, Decimal("9" * 5000)),
        lambda: Bounds(0, Decimal("1e999999")),
        lambda: Bounds(0, 10, HUGE),
        lambda: Bounds(0, 10, 10**60),
        lambda: Bounds(0, 10**60),
        lambda: Bounds(0, 10**90, 10**90),
        lambda: Bounds(0, 10**400, 10**400),
        lambda: Bounds(0, 1, Fraction(1, HUGE)),
        lambda: Bounds(0, Fraction(1, 7**300)),
        lambda: Bounds(0, 10, 1, missing=HUGE),
        lambda: Bounds.find(epsilon=HUGE),
        lambda: Keys([HUGE]),
        lambda: Keys([10**60]),
        lambda: Keys([Fraction(HUGE)]),
        lambda: Keys(HUGE),
        lambda: Keys(range(HUGE)),
        lambda: Keys([*range(MOST_KEYS - 1), 5]),
        lambda: Keys("a" * 5000),
        lambda: Dates(HUGE, "2020-01-01"),
        lambda: Dates("9" * 5000, "2020-01-01"),
        lambda: PerRow(together=HUGE),
        lambda: PerRow(rows=HUGE),
        lambda: PerRow(neighbours="replace", rows=HUGE),
        lambda: PerRow(neighbours=HUGE),
        lambda: PerPerson(HUGE),
        lambda: PerPerson("p", max_rows=HUGE),
        lambda: PerPerson("p", max_groups=HUGE),
        lambda: PerPerson("p", bounding=HUGE),
        lambda: PerPerson("p", people=HUGE),
        lambda: PerPerson("p", max_rows=2, find_epsilon=HUGE),
        lambda: PublicTable("k", {HUGE: {"a": 1}}),
        lambda: PublicTable("k", {1: {"a": HUGE}}),
        lambda: PublicTable("k", {1: {"a": 1}, HUGE: {"b": 1}}),
        lambda: PublicTable(HUGE, {1: {"a": 1}}),
        lambda: declared("x", HUGE),
        lambda: declared("x", [HUGE]),
        lambda: declared("x", (0, HUGE)),
    ],
)
def test_numbers_of_many_digits_are_refused_in_few_words(make):
    """Python writes no integer of more than 4,300 digits: the refusal must not try."""
    with pytest.raises(ParameterError, match="nothing was released") as refused:
        make()
    assert len(str(refused.value)) < 300


def test_bounds_within_eighty_digits_are_held():
    assert Bounds(0, 10**80, 10**80).kind.high == 1
    assert Bounds(0, "1e-40", "1e-50").kind.high == 10**10


def test_kinds_of_declarations():
    assert Keys(["a"]).kind == Text(nullable=True)
    assert Keys([3, -1]).kind == Number(-1, 3, nullable=True)
    assert Keys([True]).kind == Flag(nullable=True)
    assert Keys([date(2020, 5, 1)]).kind == Day(date(2020, 5, 1), date(2020, 5, 1), nullable=True)
    assert Keys([np.int64(3)]).values == (3,)
    assert Boolean().kind == Flag(nullable=True)
    assert FreeText().kind == Text(nullable=True)


def test_declarations_as_they_may_be_written():
    assert declared("x", (0, 5000)) == Bounds(0, 5000)
    assert declared("x", (date(2020, 1, 1), date(2021, 1, 1))) == Dates("2020-01-01", "2021-01-01")
    assert declared("x", ["b", "a"]) == Keys(["b", "a"])
    assert declared("x", {"b", "a"}) == Keys(["a", "b"])
    assert declared("x", Boolean) == Boolean()
    assert declared("x", Hidden()) == Hidden()


def test_public_tables():
    table = PublicTable("zip", {1: {"a": "x", "b": None}, 2: {"a": "x", "b": 5}})
    assert table.keys_of("a") == Keys(["x"])
    assert table.keys_of("b") == Keys([5])
    assert table.rows == ((1, ("x", None)), (2, ("x", 5)))


def test_what_a_question_may_use():
    schema = Schema(
        "t",
        PerRow(),
        {"a": Boolean(), "h": Hidden(), "f": Bounds.find(epsilon="0.1")},
        {"a": "boolean"},
    )
    assert schema.kind("a") == Flag(nullable=True)
    for name in ("h", "nothing"):
        with pytest.raises(QueryError, match=f"no column '{name}' .*; there are: a, f"):
            schema.kind(name)
    assert schema.declaration("f") == FindBounds(Fraction(1, 10))
    with pytest.raises(QueryError, match="have still to be found"):
        schema.kind("f")


def test_units():
    unit = PerPerson("p", max_rows="find", find_epsilon=0.5, neighbours="replace", people=10)
    assert (unit.max_rows, unit.find_epsilon, unit.people) == ("find", Fraction(1, 2), 10)
    assert PerRow(neighbours="replace", rows=5).rows == 5


def test_text():
    assert storable("Ärzte ☃ 𝄞")
    assert not storable("a\0")
    assert not storable("\udfff")
