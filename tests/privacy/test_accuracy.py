"""An accuracy: what it means for one number, for many at once, and what is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import exp, log
from discreet.privacy.accuracy import Accuracy, error_of

confidences = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(999, 1000))
TINY = Fraction(1, 2**50)


@given(confidence=confidences, numbers=st.integers(1, 40))
def test_all_numbers_at_once_hold_with_the_confidence_and_hardly_more(confidence, numbers):
    """p^n >= c in exact arithmetic; a p a little smaller is not enough."""
    each = Accuracy(1, confidence, numbers=numbers).each
    assert each**numbers >= confidence
    assert (each - TINY) ** numbers < confidence
    assert each <= 1 - (1 - confidence) / numbers


@pytest.mark.parametrize("numbers", [10**3, 2 * 10**6, 10**12])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999"])
def test_so_it_is_for_very_many(numbers, confidence):
    wish = Accuracy(1, confidence, numbers=numbers)
    assert numbers * log(wish.each, 200).lower >= log(wish.confidence, 200).upper
    looser = 1 - (1 - wish.each) * (1 + TINY)
    assert numbers * log(looser, 200).upper < log(wish.confidence, 200).lower
    assert wish.each <= 1 - (1 - wish.confidence) / numbers


def test_a_confidence_next_to_1():
    wish = Accuracy(1, 1 - Fraction(1, 10**399), numbers=3)
    assert wish.confidence < wish.each < 1 - Fraction(1, 3 * 10**399) * (1 - TINY)
    assert wish.each**3 >= wish.confidence


def test_one_number_needs_the_confidence_itself():
    assert Accuracy(3, "0.9").each == Fraction(9, 10)


def test_a_percentage_is_taken_of_the_public_number():
    assert Accuracy("5%", of=10_000).within == 500
    assert Accuracy(" 2.5 % ", of="300").within == Fraction(15, 2)
    assert Accuracy("5%", of=10_000) == Accuracy(500)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_met_by_is_the_law_of_the_noise(epsilon):
    """P(|Z| <= h) = 1 - 2 a^(h + 1)/(1 + a), for 12 numbers at once."""
    ratio = exp(-Fraction(epsilon), 200)
    for h in range(80):
        power = ratio
        for _ in range(h):
            power = power * ratio
        one = 1 - 2 * power / (1 + ratio)
        truly = one.lower**12 >= Fraction(95, 100)
        assert Accuracy(h, numbers=12).met_by(dp.Geometric(epsilon=epsilon)) is truly


def test_a_fraction_of_a_person_is_rounded_down():
    mechanism = dp.Geometric(epsilon=1)
    assert mechanism.error("0.95") == 3
    assert Accuracy("3.99").met_by(mechanism)
    assert not Accuracy("2.99").met_by(mechanism)


def test_real_units_on_a_grid():
    mechanism = dp.Laplace(epsilon=5, sensitivity=1, grid="0.1")
    at = Fraction(repr(mechanism.error("0.95")))
    assert Accuracy(at).met_by(mechanism)
    assert not Accuracy(at - Fraction(1, 10**9)).met_by(mechanism)


def test_it_reads_as_a_sentence():
    assert str(Accuracy(50)) == "within 50, with probability 0.95"
    said = "within 500, all 12 numbers, with probability 0.9"
    assert str(Accuracy("5%", "0.9", of=10_000, numbers=12)) == said


@pytest.mark.parametrize(
    ("make", "name", "said"),
    [
        (lambda: Accuracy("5%"), "within", "of=..., a public number"),
        (lambda: Accuracy(5, of=100), "of", "goes with a percentage"),
        (lambda: Accuracy("5%", of=0), "of", "above 0"),
        (lambda: Accuracy("-5%", of=10), "within", "0 or more"),
        (lambda: Accuracy("%", of=10), "within", "must be a number"),
        (lambda: Accuracy(-1), "within", "0 or more"),
        (lambda: Accuracy(float("nan")), "within", "finite"),
        (lambda: Accuracy(float("inf")), "within", "finite"),
        (lambda: Accuracy(None), "within", "must be a number"),
        (lambda: Accuracy(1, 0), "confidence", "between 0 and 1"),
        (lambda: Accuracy(1, 1), "confidence", "between 0 and 1"),
        (lambda: Accuracy(1, 95), "confidence", "between 0 and 1"),
        (lambda: Accuracy(1, float("nan")), "confidence", "finite"),
        (lambda: Accuracy(1, numbers=0), "numbers", "at least 1"),
        (lambda: Accuracy(1, numbers=1.5), "numbers", "whole"),
    ],
)
def test_what_has_no_meaning_is_refused_in_words(make, name, said):
    with pytest.raises(ParameterError, match=said) as refused:
        make()
    assert refused.value.name == name


class Endless:
    """A mechanism whose error does not fit a float."""

    def error(self, confidence):
        return float(10**400) if confidence > Fraction(1, 2) else float("inf")


def test_an_error_without_end_meets_nothing():
    assert not Accuracy(10**300).met_by(Endless())
    assert not Accuracy(10**300, "0.4").met_by(Endless())


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (dp.PermuteAndFlip(epsilon=1), "from a confidence alone .*candidates"),
        (dp.RandomizedResponse(truth="1/2"), "from a confidence alone .*'n'"),
        (dp.losses.PureLoss(epsilon=1), "has no error"),
    ],
)
def test_what_has_no_such_error_is_refused_in_words(mechanism, said):
    with pytest.raises(ParameterError, match=said):
        error_of(mechanism, Fraction(1, 2))


class Wordy:
    """A mechanism that refuses in words of its own."""

    def error(self, confidence):
        raise UnsupportedError("answers are names")


def test_a_refusal_of_the_mechanism_is_passed_on():
    with pytest.raises(UnsupportedError, match="answers are names"):
        Accuracy(1).met_by(Wordy())
