"""Forms: exact types, words for what is wrong, and the places of problems."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from pydantic import Field

from discreet.curator.policy.form import (
    AmountForm,
    DefaultsForm,
    FamilyForm,
    Form,
    Problems,
    as_table,
    said,
    unknown,
    wrong,
)
from discreet.errors import ParameterError


class Outer(Form):
    """A form in a form."""

    inner: DefaultsForm
    many: dict[str, DefaultsForm] = Field(default_factory=dict)
    names: list[str] = Field(default_factory=list)


def problems(form: type[Form], value: object) -> list[tuple]:
    found = Problems()
    assert found.read(form, value, ("at",)) is None
    return [tuple(one) for one in found]


def test_a_form_that_is_right():
    found = Problems()
    form = found.read(
        FamilyForm, {"epsilon": Decimal("0.1"), "neighbours": "replace"}, ("family", "f")
    )
    assert not found
    assert form is not None
    assert form.epsilon == Fraction(1, 10)
    assert form.releases == "private"


def test_problems_stand_where_they_are():
    value = {"inner": {"epsilon": 0}, "many": {"a": 3, "b": {"epsilonn": 1}}, "names": ["x", 4]}
    assert problems(Outer, value) == [
        (("at", "inner", "epsilon"), "must be above 0, got 0"),
        (("at", "many", "a"), "must be a table, got 3"),
        (
            ("at", "many", "b", "epsilonn"),
            "is not known here (did you mean 'epsilon'?); known are: epsilon, delta, confidence",
        ),
        (("at", "names", 1), "must be text in quotes, got 4"),
    ]


def test_what_is_missing_is_a_problem_of_the_table():
    assert problems(Outer, {}) == [(("at",), "inner is missing")]
    (found,) = problems(FamilyForm, {"epsilon": 1})
    assert found == (
        ("at",),
        'neighbours is missing; say neighbours = "add_or_remove", or "replace"',
    )


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("epsilon", float("nan"), "must be a finite number, got a float"),
        ("epsilon", {}, "must be a number, got a table"),
        ("epsilon", 10**3000, "must lie within 10^±400, got 9966 bits"),
        ("delta", Fraction(1, 128), "must be 0, or above 0 and below 1/128, and far smaller"),
        ("rho", 0, "must be above 0, got 0"),
        ("accounting", True, 'must be "pure" or "zcdp", got true'),
    ],
)
def test_amounts(key, value, text):
    ((path, found),) = problems(AmountForm, {key: value})
    assert path == ("at", key)
    assert found.startswith(text)


def test_the_largest_delta_that_is_allowed():
    assert AmountForm(delta=Fraction(1, 129)).delta == Fraction(1, 129)
    assert AmountForm(delta=0).delta == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("a" * 100, '"' + "a" * 56 + "..."),
        (10**100, "a number of 333 bits"),
        (Decimal("-Infinity"), "-inf"),
        (Decimal("1E-7"), "1E-7"),
        (date(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, 3), "2024-01-02 03:00:00"),  # noqa: DTZ001
        ({}, "a table"),
        ((1,), "a list"),
        (None, "a NoneType"),
    ],
)
def test_values_as_they_may_be_written(value, text):
    assert said(value) == text


def test_tried_keeps_refusals_of_other_layers():
    found = Problems()

    def refuse(error: ParameterError) -> None:
        raise error

    found.tried(("a", "low"), refuse, ParameterError("low", 3, "must be less"))
    found.tried(("a",), refuse, ParameterError("low", "about 1e9", "must be less"))
    found.tried(("a",), refuse, ParameterError("Keys", ["int", "str"], "must be one"))
    found.tried(("a",), refuse, wrong("is odd"))
    assert [one.text for one in found] == [
        "must be less, got 3",
        "low must be less, got about 1e9",
        "keys must be one, got int, str",
        "is odd",
    ]
    assert found.tried((), lambda: 3) == 3


def test_small_helpers():
    assert as_table(3) == {}
    assert as_table({"a": 1}) == {"a": 1}
    assert unknown("zzz", ["a"]) == "is not known here; known are: a"
