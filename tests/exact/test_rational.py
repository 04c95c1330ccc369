from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational, shown, whole, written


@pytest.mark.parametrize(
    "typed",
    [
        0.1,
        "0.1",
        "1/10",
        " 1 / 10 ",
        "1e-1",
        ".1",
        Fraction(1, 10),
        Decimal("0.1"),
        np.float64(0.1),
        np.float32(0.1),
    ],
)
def test_every_way_to_type_a_tenth_is_a_tenth(typed):
    assert rational(typed, name="epsilon") == Fraction(1, 10)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(3, 3), ("1/3", Fraction(1, 3)), (np.int64(7), 7), ("-2", -2), ("1e-6", Fraction(1, 10**6))],
)
def test_other_numbers_are_exact(typed, meant):
    assert rational(typed, name="x") == meant


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(value):
    assert rational(value, name="x") == Fraction(repr(value))
    assert float(rational(value, name="x")) == value


@pytest.mark.parametrize(
    "typed",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        "nan",
        "inf",
        Decimal("NaN"),
        Decimal("Infinity"),
        np.float64("nan"),
        np.float32("inf"),
    ],
)
def test_what_is_not_finite_is_refused_in_words(typed):
    with pytest.raises(
        ParameterError, match=r"epsilon must be a finite number, got .*; nothing was released"
    ):
        rational(typed, name="epsilon")


@pytest.mark.parametrize(
    "typed", [True, None, "a", "", "1//2", "1/2/3", "0x10", "1_000", [1], 1j, "½"]
)
def test_what_is_no_number_is_refused_in_words(typed):
    with pytest.raises(ParameterError, match="epsilon must be a number"):
        rational(typed, name="epsilon")


@pytest.mark.parametrize(
    "typed",
    [
        "1e999999999",
        "1e-999999999",
        "9" * 5000,
        10**1000,
        Fraction(1, 10**1000),
        Decimal("1e5000"),
        "1/0",
    ],
)
def test_absurd_numbers_are_refused_at_once(typed):
    with pytest.raises(ParameterError) as caught:
        rational(typed, name="epsilon")
    assert len(str(caught.value)) < 250


def test_limits_are_named():
    with pytest.raises(ParameterError, match=r"epsilon must be above 0, got 0"):
        positive(0, name="epsilon")
    with pytest.raises(ParameterError, match=r"epsilon must be above 0, got -1"):
        positive(-1, name="epsilon")
    with pytest.raises(ParameterError, match=r"epsilon must be at most 5"):
        positive(6, name="epsilon", at_most=5)
    with pytest.raises(ParameterError, match=r"p must lie strictly between 0 and 1, got 1"):
        probability(1, name="p")
    with pytest.raises(ParameterError, match=r"n must be a whole number, got 2.5"):
        whole(2.5, name="n")
    with pytest.raises(ParameterError, match=r"n must be at least 1"):
        whole(0, name="n", at_least=1)
    with pytest.raises(ParameterError, match=r"n must be at most 3"):
        whole(4, name="n", at_most=3)
    assert whole("4", name="n") == whole(4.0, name="n") == 4


@given(st.fractions())
def test_what_is_written_reads_back(number):
    assert rational(written(number).strip("'"), name="x") == number
    assert isinstance(shown(number), str)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.25", "0.25"), ("3/8", "0.375"), ("-3/4", "-0.75"), ("1/64", "0.015625"),
        ("1/1024", "1/1024"), ("1/3", "1/3"), ("1000000000000", "1000000000000"), ("1e-8", "1e-08"),
    ],
)  # fmt: skip
def test_decimals_are_shown_where_they_are_exact_and_short(number, text):
    assert shown(Fraction(number)) == text


def test_a_long_number_is_shown_short():
    assert shown(Fraction(10**30 + 1, 3**40)).startswith("about ")
