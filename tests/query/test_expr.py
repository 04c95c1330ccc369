"""Expressions are plain frozen values; kinds say what is known before any row is seen."""

import dataclasses
import typing
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query import expr as e
from discreet.query.kinds import Day, Flag, Number, Text, common_grid, said, with_null

X = e.Column("x", Number(0, 9))
F = e.Column("f", Flag())


def test_every_node_is_a_frozen_hashable_value():
    for node in typing.get_args(e.Expr):
        assert dataclasses.is_dataclass(node)
        assert node.__dataclass_params__.frozen
        assert "kind" in {field.name for field in dataclasses.fields(node)}
    assert hash(e.Not(F, Flag())) == hash(e.Not(F, Flag()))
    with pytest.raises(dataclasses.FrozenInstanceError):
        X.name = "y"


def test_children_are_found_wherever_they_are():
    one = e.Literal(1, Number(1, 1))
    case = e.Case(((F, X), (F, one)), one, Number(0, 9))
    assert list(e.children(case)) == [F, X, F, one, one]
    linear = e.Linear(((2, X), (-1, one)), 3, Number(0, 9))
    assert list(e.children(linear)) == [X, one]
    member = e.Member(X, (one,), Flag())
    assert list(e.children(member)) == [X, one]
    assert list(e.children(e.Coalesce((X, one), Number(0, 9)))) == [X, one]
    assert list(e.children(e.Lookup("t", "c", X, Text()))) == [X]
    assert list(e.children(X)) == []
    assert [type(n).__name__ for n in e.walk(case)] == [
        "Case", "Column", "Column", "Column", "Literal", "Literal",
    ]  # fmt: skip


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
