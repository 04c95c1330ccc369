"""Adding up: nearest by brute force, and nearest by its conditions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.nearest import adding_up, onto_simplex, projected

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


# In floats

vectors = st.lists(st.floats(-2, 2), min_size=1, max_size=12)


@given(vectors)
def test_the_projection_is_a_distribution_and_nearest(values):
    """Optimality: for the nearest point x of a convex set and any y in it, (v - x).(y - x) <= 0."""
    v = np.array(values)
    x = onto_simplex(v)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1, abs=1e-9)
    for corner in np.eye(len(v)):
        assert (v - x) @ (corner - x) <= 1e-9


@given(vectors)
def test_a_distribution_stays_as_it_is(values):
    x = onto_simplex(np.array(values))
    assert onto_simplex(x) == pytest.approx(x, abs=1e-9)


@given(st.lists(st.tuples(fractions, weights), min_size=1, max_size=8), st.integers(1, 60))
def test_floats_agree_with_fractions(pairs, total):
    values, trusted = [v for v, _ in pairs], [w for _, w in pairs]
    exact = [float(x) for x in projected(values, total, trusted)]
    found = onto_simplex(np.array(values, dtype=float), total, np.array(trusted, dtype=float))
    assert found == pytest.approx(exact, abs=1e-9)


def test_nothing_is_shared_out_of_nothing():
    assert onto_simplex(np.array([3.0, 4.0]), 0).tolist() == [0, 0]
