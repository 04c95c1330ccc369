"""Kinds say what is known before any row is seen."""

from datetime import date
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.query.kinds import Day, Flag, Number, Text, common_grid, said, with_null


@given(st.fractions(min_value="0.001", max_value=50), st.fractions(min_value="0.001", max_value=50))
def test_the_common_grid_is_the_coarsest(a, b):
    grid = common_grid(a, b)
    assert (a / grid).denominator == (b / grid).denominator == 1
    for k in (2, 3, 5, 7):
        coarser = grid * k
        assert (a / coarser).denominator != 1 or (b / coarser).denominator != 1


def test_kinds_in_words():
    assert said(Number(0, 5)) == "a whole number from 0 to 5"
    assert said(Number(1, 3, Fraction(1, 2), nullable=True)) == (
        "a number from 0.5 to 1.5 on a grid of 0.5 or missing"
    )
    assert said(Flag()) == "true or false"
    assert said(Text(nullable=True)) == "text or missing"
    assert said(Day(date(2020, 1, 1), date(2021, 1, 1))) == "a date from 2020-01-01 to 2021-01-01"


def test_a_number_knows_its_ends():
    kind = Number(-3, 8, Fraction(1, 4))
    assert (kind.least, kind.most, kind.width) == (Fraction(-3, 4), 2, 11)
    assert with_null(kind, nullable=False) is kind
    assert with_null(kind, nullable=True).nullable
