"""Dials: which parameter is turned, and that the search stops between two neighbouring decimals."""

from decimal import Context, Decimal
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy.dial import FINEST, LARGEST, Dial, crossing, dial_of, round_down

limits = st.fractions(min_value=FINEST, max_value=LARGEST).filter(bool)
SIX = Context(prec=6)


def decimal(number):
    """A rational that is a decimal of at most six digits."""
    found = SIX.divide(Decimal(number.numerator), Decimal(number.denominator))
    assert Fraction(found) == number
    return found


@given(limit=limits, start=limits)
def test_the_two_ends_are_neighbours(limit, start):
    """Python's decimals of six digits say what the next smaller one is."""
    low, high = crossing(lambda at: at > limit, start)
    if high is None:
        assert low == LARGEST == limit
        return
    assert high > limit
    if low is None:
        assert high == FINEST
        return
    assert low <= limit
    assert SIX.next_minus(decimal(high)) == decimal(low)


@given(limit=limits)
def test_where_the_search_starts_makes_no_difference(limit):
    found = {crossing(lambda at: at >= limit, Fraction(s)) for s in ("1e-12", "0.3", 1000)}
    assert len(found) == 1


def test_beyond_the_ends_there_is_nothing():
    assert crossing(lambda at: False, Fraction(1)) == (LARGEST, None)
    assert crossing(lambda at: True, Fraction(1)) == (None, FINEST)
    assert crossing(lambda at: at > 7, Fraction(10**9)) == (7, Fraction("7.00001"))


@given(number=st.fractions(min_value=Fraction(1, 10**15), max_value=10**6).filter(bool))
def test_rounding_down_takes_the_decimal_below(number):
    down = round_down(number)
    assert down <= number < Fraction(SIX.next_plus(decimal(down)))
    assert round_down(down) == down


def test_the_dial_is_the_parameter_that_is_named():
    assert dial_of(dp.Geometric) == "epsilon"
    assert dial_of(dp.Gaussian) == "rho"
    assert dial_of(partial(dp.Gaussian, changes=3)) == "rho"
    assert dial_of(lambda epsilon: dp.Geometric(epsilon=epsilon)) == "epsilon"
    assert dial_of(lambda **rest: dp.Geometric(changes=2, **rest)) == "epsilon"


class Unreadable:
    """A maker that does not tell its parameters."""

    __signature__ = "none"

    def __call__(self, *, epsilon):
        return dp.Geometric(epsilon=epsilon)


def test_a_maker_of_which_nothing_is_known_is_called():
    assert Dial.of(Unreadable(), {}).at(Fraction(1)) == dp.Geometric(epsilon=1)


def test_neighbours_are_passed_on_where_they_are_taken():
    assert Dial.of(dp.Geometric, {}, "replace").at(Fraction(1)).neighbours == "replace"
    made = Dial.of(lambda epsilon: dp.Geometric(epsilon=epsilon), {}, "replace").at(Fraction(1))
    assert made.neighbours == "add_or_remove"
    said = {"neighbours": "replace"}
    assert Dial.of(dp.Geometric, said, "replace").at(Fraction(1)).neighbours == "replace"
    assert Dial.of(dp.Geometric, said).at(Fraction(1)).neighbours == "replace"


def strange(epsilon):
    return epsilon


strange.dial = 7


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dial_of(3), "mechanism's class"),
        (lambda: dial_of(None), "mechanism's class"),
        (lambda: dial_of(strange), "has no parameter 7"),
        (lambda: dial_of(lambda scale: scale), "no parameter 'epsilon'.* `dial` must name"),
        (lambda: Dial.of(dp.Geometric, {"epsilon": 1}), "leave it out"),
        (lambda: Dial.of(dp.Geometric, {"neighbours": "replace"}, "add_or_remove"), "guarantee"),
        (lambda: Dial.of(dp.Geometric, {"grid": 1}).at(Fraction(1)), "take these .*'grid'"),
        (lambda: Dial.of(dp.SelectKeys, {}).at(Fraction(1)), "take these .*'delta'"),
        (lambda: Dial.of(dp.Geometric, {"sensitivity": -1}).at(Fraction(1)), "at least 1"),
    ],
)
def test_what_cannot_be_turned_is_refused_in_words(make, said):
    with pytest.raises(ParameterError, match=said):
        make()
