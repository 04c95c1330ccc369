"""Expressions are plain frozen values."""

import dataclasses
import typing

import pytest

from discreet.query import expr as e
from discreet.query.kinds import Flag, Number, Text

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


def test_no_kind_of_node_hides_its_parts():
    """Whatever walks through a question sees every column in it, of kinds that come later, too."""

    @dataclasses.dataclass(frozen=True)
    class Late:
        operand: "e.Expr | None"

    with pytest.raises(TypeError, match=r"Late.operand"):
        e._parts(Late)
    for kind in typing.get_args(e.Expr):
        held = {f.name: X if f.type == "Expr" else (X,) for f in dataclasses.fields(kind)
                if str(f.type) in ("Expr", "tuple[Expr, ...]", "tuple[Literal, ...]")}  # fmt: skip
        if kind not in (e.Case, e.Linear, e.Column, e.Literal):
            others = {f.name: None for f in dataclasses.fields(kind) if f.name not in held}
            assert len(list(e.children(kind(**held, **others)))) == len(held) > 0


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
