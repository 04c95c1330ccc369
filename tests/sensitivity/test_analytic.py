"""Theorems against brute force: every formula is met by some pair and exceeded by none."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity import (
    L1,
    L2,
    LInf,
    check_sensitivity,
    check_utility,
    of_absolute_utility,
    of_count,
    of_counts,
    of_histogram,
    of_mean,
    of_squared_utility,
    of_sum,
)

RELATIONS = ["add_or_remove", "replace"]
NORMS = [L1(), L2(), LInf()]
BOUNDS = [(0, 1), (-3, 5), ("-1/2", "-1/3"), ("0.1", "2.5")]


def spread(lower, upper):
    """The ends of a range and two points between."""
    low, high = Fraction(lower), Fraction(upper)
    return [low, high, (low + high) / 2, low + (high - low) / 5]


def assert_tight(check):
    assert check.holds, str(check)
    assert check.tight, str(check)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_count(neighbours):
    claim = of_count(neighbours)
    assert claim.value == 1
    assert_tight(check_sensitivity(sum, claim, records=(0, 1), n=3, neighbours=neighbours))


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_sum(bounds, neighbours):
    claim = of_sum(*bounds, neighbours)
    query = lambda data: sum(data, Fraction(0))
    assert_tight(
        check_sensitivity(query, claim, records=spread(*bounds), n=3, neighbours=neighbours)
    )


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_mean(bounds, n):
    query = lambda data: sum(data, Fraction(0)) / len(data)
    assert_tight(
        check_sensitivity(query, of_mean(*bounds, n), records=spread(*bounds), n=n, ordered=False)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.name)
def test_a_histogram(norm, neighbours):
    query = lambda data: {bin_: data.count(bin_) for bin_ in "abc"}
    claim = of_histogram(neighbours, norm)
    assert_tight(
        check_sensitivity(query, claim, records="abc", n=3, norm=norm, neighbours=neighbours)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.name)
@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_counts_on_the_same_people(k, norm, neighbours):
    """A record is the set of counts that a person is in: all 2^k of them."""
    query = lambda data: [sum(person >> i & 1 for person in data) for i in range(k)]
    claim = of_counts(k, neighbours, norm)
    assert_tight(
        check_sensitivity(query, claim, records=range(2**k), n=1, norm=norm, neighbours=neighbours)
    )


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_both_utilities(bounds, n):
    places = spread(*bounds)
    mean = lambda data: sum(data, Fraction(0)) / len(data)
    how = {"candidates": places, "records": places, "n": n, "ordered": False}
    squared = lambda data, place: -((mean(data) - place) ** 2)
    assert_tight(check_utility(squared, of_squared_utility(n, *bounds), **how))
    absolute = lambda data, place: -abs(mean(data) - place)
    assert_tight(check_utility(absolute, of_absolute_utility(n, *bounds), **how))


@given(st.integers(2, 10**6))
def test_the_squared_utility_moves_further_than_the_class_notes_say(n):
    assert of_squared_utility(n).value == Fraction(2, n) - Fraction(1, n**2) > Fraction(1, n)
    assert of_absolute_utility(n).value == Fraction(1, n)


def test_roots_are_rounded_up_and_their_squares_exact():
    gwas = of_counts(2_000_000, norm="L2")
    assert gwas.squared == 2_000_000 <= gwas.value**2
    assert float(gwas.value) == pytest.approx(1414.2135, abs=1e-4)
    assert of_counts(9, norm="L2").value == 3
    assert of_histogram("replace", "L2").squared == 2
    assert of_sum(-3, 5).squared == 25


def test_a_sensitivity_says_what_it_is():
    assert str(of_count()) == (
        "1 in the L1 norm (add_or_remove): one person adds 0 or 1 to a count"
    )
    assert "two bins" in str(of_histogram("replace"))
    assert of_count() == of_count("add_or_remove")
    assert hash(of_count())
    with pytest.raises(AttributeError):
        of_count().value = 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: of_count("bounded"),
        lambda: of_sum(1, 1),
        lambda: of_sum(2, 1),
        lambda: of_sum(0, float("nan")),
        lambda: of_mean(0, 1, 0),
        lambda: of_mean(0, 1, 2.5),
        lambda: of_counts(0),
        lambda: of_histogram(norm="L3"),
        lambda: of_squared_utility(0),
        lambda: of_squared_utility(3, 1, 0),
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


@pytest.mark.parametrize(
    "make",
    [
        lambda: of_mean(0, 1, 3, "add_or_remove"),
        lambda: of_squared_utility(3, neighbours="add_or_remove"),
        lambda: of_absolute_utility(3, neighbours="add_or_remove"),
    ],
)
def test_a_mean_over_a_private_number_of_people_is_refused_with_the_way_out(make):
    with pytest.raises(ParameterError, match=r"release a sum .* and a count"):
        make()
