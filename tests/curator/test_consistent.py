"""Adding up: nearest by brute force, nearest by its conditions, and honest about promises."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.releases import counts, make

from discreet.curator.consistent import adding_up, projected
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import PureDP

fractions = st.fractions(min_value=-20, max_value=20, max_denominator=12)
weights = st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9)


def distance(x, values, trusted):
    return sum(w * (a - Fraction(v)) ** 2 for a, v, w in zip(x, values, trusted, strict=True))


def whole_vectors(size, total):
    """All vectors of whole numbers >= 0 with this sum."""
    if size == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in whole_vectors(size - 1, total - first):
            yield (first, *rest)


@given(st.lists(st.tuples(fractions, weights), min_size=1, max_size=8), st.integers(0, 60))
def test_the_projection_meets_the_conditions_of_karush_kuhn_and_tucker(pairs, total):
    """There is a t with w (x - v) = -t where x > 0 and w (0 - v) >= -t where x = 0."""
    values, trusted = [v for v, _ in pairs], [w for _, w in pairs]
    x = projected(values, total, trusted)
    assert sum(x) == total
    assert min(x) >= 0
    slopes = [w * (a - v) for a, v, w in zip(x, values, trusted, strict=True)]
    inside = [s for s, a in zip(slopes, x, strict=True) if a > 0]
    assert len(set(inside)) <= 1
    outside = [s for s, a in zip(slopes, x, strict=True) if a == 0]
    assert all(s >= level for s in outside for level in inside)


@given(
    st.lists(st.fractions(min_value=-6, max_value=6, max_denominator=4), min_size=1, max_size=4),
    st.integers(0, 7),
)
def test_whole_numbers_are_nearest_of_all(values, total):
    """Theorem 2, against every vector of whole numbers with that sum."""
    equal = [1] * len(values)
    found = adding_up(values, total)
    best = min(distance(x, values, equal) for x in whole_vectors(len(values), total))
    assert sum(found) == total
    assert min(found) >= 0
    assert distance(found, values, equal) == best


@given(st.lists(st.tuples(fractions, weights), min_size=1, max_size=5), st.integers(0, 30))
def test_with_weights_nearest_among_those_that_round_up_or_down(pairs, total):
    values, trusted = [v for v, _ in pairs], [w for _, w in pairs]
    x = projected(values, total, trusted)
    found = adding_up(values, total, weights=trusted)
    choices = [{a.__floor__(), a.__ceil__()} for a in x]
    allowed = [n for n in itertools.product(*choices) if sum(n) == total]
    assert tuple(found) in allowed
    assert distance(found, values, trusted) == min(distance(n, values, trusted) for n in allowed)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.integers(0, 500))
def test_order_does_not_matter_but_for_ties(values, total):
    found = adding_up(values, total)
    turned = adding_up(values[::-1], total)[::-1]
    assert sum(found) == sum(turned) == total
    assert max(abs(a - b) for a, b in zip(found, turned, strict=True)) <= 1
    ranked = [found[i] for i in sorted(range(len(values)), key=lambda i: values[i])]
    assert all(a <= b + 1 for a, b in itertools.pairwise(ranked))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_what_adds_up_stays(values):
    assert adding_up(values, sum(values)) == values


def test_small_cases_by_hand():
    assert adding_up([], 0) == []
    assert adding_up([5], 3) == [3]
    assert adding_up([-5], 3) == [3]
    assert adding_up([-5, -5], 0) == [0, 0]
    assert adding_up([0, 0, 0], 2) == [1, 1, 0]  # ties go to the earlier ones
    assert adding_up([0.1, 0.2, 0.7], 1) == [0, 0, 1]
    assert adding_up([10, 10], 10, weights=[1, 3]) == [3, 7]  # from 2.5 and 7.5
    assert adding_up(np.array([3, 4]), 8) == [4, 4]


def test_exact_where_floats_are_not():
    """Sums beyond 2^53, and a tie that floats would decide by rounding."""
    assert adding_up([2**60 + 3, 2**60], 2**61 + 3) == [2**60 + 3, 2**60]
    assert sum(adding_up([0.1] * 10, 1)) == 1


@pytest.mark.parametrize("total", [-1, 1.5, "x", None, True, float("nan")])
def test_a_total_is_a_whole_number(total):
    with pytest.raises(ParameterError, match="total"):
        adding_up([1, 2], total)


def test_refusals_are_in_words():
    with pytest.raises(ParameterError, match="nothing adds up to 3"):
        adding_up([], 3)
    with pytest.raises(ParameterError, match="as many as the values, 2"):
        adding_up([1, 2], 3, weights=[1])
    with pytest.raises(ParameterError, match="weights must be above 0"):
        adding_up([1, 2], 3, weights=[1, 0])
    with pytest.raises(ParameterError, match="finite"):
        adding_up([1, float("nan")], 3)


def test_ten_thousand_numbers_are_no_trouble():
    values = [(i * 7919) % 1000 - 200 for i in range(10_000)]
    assert sum(adding_up(values, 2_000_000)) == 2_000_000


# Releases


def test_a_release_adds_up_to_a_number():
    release = counts([10, 7, -2])
    fitted = release.adding_up_to(16)
    assert fitted["count"] == [10, 6, 0]
    assert fitted.guarantee == release.guarantee
    assert fitted.losses == release.losses
    assert fitted.intervals == release.intervals  # they are about the truth
    assert fitted.raw == release.raw
    assert fitted.steps == ("count adds up to 16",)
    assert "moved to add up" in fitted.mechanisms["count"]
    assert fitted["department"] == release["department"]
    assert release["count"] == [10, 7, 0]


def test_the_raw_values_are_what_is_moved():
    """From the clamped values (0, 0, 10) each would lose 1; from the noisy ones only the last."""
    release = counts([-30, -30, 10])
    assert release.adding_up_to(9)["count"] == [0, 0, 9]
    assert release.adding_up_to(30)["count"] == [0, 0, 30]
    bare = make(release.columns, release.keys, release.rows)
    assert bare.adding_up_to(30)["count"] == [7, 7, 16]


def test_a_release_adds_up_to_a_release_of_one_row():
    parts, total = counts([10, 7]), make(("count",), (), ((15,),), guarantee=PureDP("0.25"))
    fitted = parts.adding_up_to(total)
    assert sum(fitted["count"]) == 15
    assert fitted.guarantee == PureDP("0.75")  # it tells about both
    assert fitted.losses == parts.losses + total.losses
    assert fitted.steps == ("count adds up to the published total",)
    other = make(("people",), (), ((15,),))
    assert parts.adding_up_to(other)["count"] == fitted["count"]


def tree():
    rows = tuple(
        (region, town, n)
        for region, towns in (("north", (5, 6, 7)), ("south", (1, -2)), (None, (4,)))
        for town, n in enumerate(towns)
    )
    return make(("region", "town", "count"), ("region", "town"), rows)


def test_the_parts_of_each_parent_add_up_to_it():
    parents = make(
        ("region", "count"), ("region",), (("south", 3), ("north", 20), (None, 0), ("east", 0))
    )
    fitted = tree().adding_up_to(parents)
    assert fitted["count"] == [6, 7, 7, 3, 0, 0]
    assert fitted.steps == ("count adds up to the total by region",)


def test_types_of_keys_are_told_apart():
    parts = make(("k", "j", "count"), ("k", "j"), ((1, "a", 5), (True, "a", 6), ("1", "a", 7)))
    parents = make(("k", "count"), ("k",), ((1, 1), (True, 2), ("1", 3)))
    assert parts.adding_up_to(parents)["count"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((("north", 20), ("south", 3)), "no row for region None"),
        ((("north", 20), ("south", 3), (None, 1), ("east", 5)), "total of region east"),
        ((("north", 20), ("north", 3), ("south", 1), (None, 1)), "two rows for region north"),
        ((("north", -1), ("south", 3), (None, 1)), "the total of region north must be at least 0"),
        ((("north", 1.5), ("south", 3), (None, 1)), "north must be a whole number"),
        ((("north", None), ("south", 3), (None, 1)), "north must be a number"),
    ],
)
def test_a_total_that_does_not_fit_is_refused_in_words(rows, words):
    parents = make(("region", "count"), ("region",), rows)
    with pytest.raises((UnsupportedError, ParameterError), match=words):
        tree().adding_up_to(parents)


def test_other_refusals():
    with pytest.raises(ParameterError, match="grouped by some of department only"):
        counts([1]).adding_up_to(counts([1], name="town"))
    with pytest.raises(ParameterError, match="must be a number"):
        counts([1]).adding_up_to("many")
    with pytest.raises(ParameterError, match="must be one of department, count"):
        counts([1]).adding_up_to(5, column="mean")
    with pytest.raises(ParameterError, match="a number in every row"):
        make(("k", "count"), ("k",), (("a", None),)).adding_up_to(5)
    with pytest.raises(ParameterError, match="must have a column 'count'"):
        counts([1]).adding_up_to(make(("a", "b"), (), ((1, 2),)))
    total = make(("count",), (), ((5,),), guarantee=PureDP(1, "replace"))
    with pytest.raises(ParameterError, match="neighbours"):
        counts([1]).adding_up_to(total)


def test_nothing_adds_up_to_nothing():
    empty = counts([])
    assert len(empty.adding_up_to(0)) == 0
    with pytest.raises(ParameterError, match="nothing adds up to 5"):
        empty.adding_up_to(5)
