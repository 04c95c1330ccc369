"""The checker tries every pair of neighbours once, refutes what is false and stays in bounds."""

import math
from fractions import Fraction
from itertools import product

import pytest

from discreet.errors import InputTypeError, ParameterError
from discreet.sensitivity import (
    L2,
    LInf,
    check_sensitivity,
    check_utility,
    of_count,
    of_histogram,
    of_squared_utility,
)
from discreet.sensitivity.brute import _number_of_pairs, _pairs


def utilities(data):
    mean = Fraction(sum(data), len(data))
    return tuple(-((mean - place) ** 2) for place in (0, Fraction(1, 2), 1))


def squared(data, place):
    return -((Fraction(sum(data), len(data)) - place) ** 2)


@pytest.mark.parametrize("n", [2, 3, 4, 6, 8])
def test_one_over_n_is_refuted_for_the_squared_utility(n):
    check = check_sensitivity(utilities, Fraction(1, n), records=(0, 1), n=n, norm=LInf())
    assert not check.holds
    assert not check.tight
    assert check.found == Fraction(2, n) - Fraction(1, n**2) == of_squared_utility(n).value
    moved = LInf().between(utilities(check.first), utilities(check.second))
    assert moved == check.found


def test_the_verdict_in_words():
    refuted = check_sensitivity(utilities, "1/3", records=(0, 1), n=3, norm=LInf())
    assert str(refuted) == (
        "refuted: records (0, 0, 0) and (1, 0, 0) are 5/9 apart, more than the claimed 1/3"
    )
    tight = check_sensitivity(utilities, of_squared_utility(3), records=(0, 1), n=3, norm=LInf())
    assert str(tight) == (
        "holds on all 12 pairs and is tight: records (0, 0, 0) and (1, 0, 0) are 5/9 apart, "
        "as claimed"
    )
    loose = check_sensitivity(sum, 2, records=(0, 1), n=1, neighbours="add_or_remove")
    assert str(loose) == (
        "holds on all 10 pairs, with room: records () and (1,) are 1 apart, less than the claimed 2"
    )
    assert loose.holds
    assert not loose.tight


def hamming(first, second):
    return sum(one != two for one, two in zip(first, second, strict=True))


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_replacements_are_tried(values, n):
    datasets = list(product(range(values), repeat=n))
    wanted = {frozenset((x, y)) for x in datasets for y in datasets if hamming(x, y) == 1}
    made = list(_pairs(values, n, "replace", ordered=True))
    assert {frozenset(pair) for pair in made} == wanted
    assert len(made) == len(wanted) == _number_of_pairs(values, n, "replace", ordered=True)
    bags = {frozenset((tuple(sorted(x)), tuple(sorted(y)))) for x, y in made}
    unordered = [
        (tuple(sorted(x)), tuple(sorted(y))) for x, y in _pairs(values, n, "replace", ordered=False)
    ]
    assert {frozenset(pair) for pair in unordered} == bags
    assert len(unordered) == _number_of_pairs(values, n, "replace", ordered=False)


@pytest.mark.parametrize("values", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_additions_are_tried(values, n):
    small = [data for size in range(n + 1) for data in product(range(values), repeat=size)]
    large = [data for size in range(n + 2) for data in product(range(values), repeat=size)]
    wanted = {
        (x, y)
        for x in small
        for y in large
        if any(x == y[:place] + y[place + 1 :] for place in range(len(y)))
    }
    made = list(_pairs(values, n, "add_or_remove", ordered=True))
    assert set(made) == wanted
    assert len(made) == _number_of_pairs(values, n, "add_or_remove", ordered=True)
    bags = {(x, tuple(sorted(y))) for x, y in wanted if x == tuple(sorted(x))}
    unordered = list(_pairs(values, n, "add_or_remove", ordered=False))
    assert {(x, tuple(sorted(y))) for x, y in unordered} == bags
    assert len(unordered) == _number_of_pairs(values, n, "add_or_remove", ordered=False)


def test_a_query_that_looks_at_one_place_is_caught_wherever_that_is():
    for place in range(3):
        check = check_sensitivity(lambda data, at=place: data[at], 0, records=(0, 7), n=3)
        assert check.found == 7


def test_each_dataset_is_asked_once_and_records_need_not_be_hashable():
    asked = []

    def first(data):
        asked.append(data)
        return data[0][0]

    assert check_sensitivity(first, 4, records=([0], [4]), n=3).tight
    assert len(asked) == 2**3


def test_utilities_are_checked_at_their_worst_candidate():
    how = {"records": (0, 1), "n": 3}
    assert check_utility(squared, "5/9", candidates=(0, 1), **how).tight
    middle = check_utility(squared, "5/9", candidates=(Fraction(1, 2),), **how)
    assert middle.holds
    assert not middle.tight
    with pytest.raises(ParameterError, match="at least one"):
        check_utility(squared, 1, candidates=(), **how)


def test_irrational_claims_are_met():
    query = lambda data: [data.count(bin_) for bin_ in "ab"]
    claim = of_histogram("replace", "L2")
    assert check_sensitivity(query, claim, records="ab", n=2, norm=L2()).tight
    assert not check_sensitivity(query, "1.414", records="ab", n=2, norm=L2()).holds


def test_floats_are_refused_unless_asked_for():
    """Ten times 0.1 is not 1 in floats: a true claim of 1/10 would seem to be refuted."""
    query = lambda data: sum(data) * 0.1 + 0.2
    with pytest.raises(InputTypeError, match="exact=False"):
        check_sensitivity(query, "0.1", records=(0, 1), n=2)
    check = check_sensitivity(query, "0.1", records=(0, 1), n=2, exact=False)
    assert check.tight
    assert check.found != Fraction(1, 10)
    assert not check_sensitivity(query, "0.0999", records=(0, 1), n=2, exact=False).holds
    assert "0.1 apart" in str(check)


@pytest.mark.parametrize("value", [math.nan, math.inf, "text", None, True])
def test_answers_that_are_no_finite_numbers_are_refused(value):
    with pytest.raises(InputTypeError):
        check_sensitivity(lambda data: value, 1, records=(0, 1), n=2, exact=False)


def test_a_search_that_would_not_end_is_refused_before_it_starts():
    def never(data):
        raise AssertionError("the query was asked")

    with pytest.raises(
        ParameterError, match=r"is less than the 17578125000 pairs .* ordered=False"
    ):
        check_sensitivity(never, 1, records=range(25), n=6, at_most=10**9)
    for relation in ("replace", "add_or_remove"):
        with pytest.raises(ParameterError, match=r"over 10\^15 pairs"):
            check_sensitivity(never, 1, records=range(1000), n=1000, neighbours=relation)
    assert check_sensitivity(sum, 1, records=(0, 1), n=100, ordered=False).tight


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": (1,)},
        {"records": (), "neighbours": "add_or_remove"},
        {"n": 0},
        {"n": 1001},
        {"neighbours": "bounded"},
        {"at_most": 0},
        {"claimed": "much"},
        {"claimed": of_count("add_or_remove"), "neighbours": "replace"},
        {"claimed": of_histogram("replace", "L2"), "norm": "L1"},
    ],
)
def test_nonsense_is_refused(wrong):
    how = {"query": sum, "claimed": 1, "records": (0, 1), "n": 2} | wrong
    with pytest.raises(ParameterError):
        check_sensitivity(**how)


def test_a_claim_brings_its_own_norm_and_relation():
    from discreet.sensitivity import check_sensitivity, of_sum

    found = check_sensitivity(sum, of_sum(0, 4), records=range(5), n=3)
    assert found.holds
    assert found.tight
    assert check_sensitivity(sum, 4, records=range(5), n=3, norm="L1").holds
