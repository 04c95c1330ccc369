from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import discreet as dp
from discreet.mechanisms.counts import _count_in_bins, _edges


@given(
    hnp.arrays(
        np.float64,
        st.integers(0, 60),
        elements=st.floats(-20, 20) | st.just(float("nan")) | st.just(float("inf")),
    ),
    st.integers(1, 30),
    st.booleans(),
)
def test_one_person_is_in_at_most_one_bin(values, bins, clamp):
    """Adding any one value moves at most one count, by one; replacing, two."""
    edges = _edges(bins, (-5, 7))
    with_all = _count_in_bins(values, edges, equal=True, clamp=clamp)
    for leave in range(len(values)):
        without = _count_in_bins(np.delete(values, leave), edges, equal=True, clamp=clamp)
        assert np.abs(with_all - without).sum() <= 1


@given(hnp.arrays(np.float64, st.integers(0, 200), elements=st.floats(-10, 10)), st.integers(1, 40))
def test_the_exact_counts_are_those_of_numpy(values, bins):
    expected = np.histogram(values, bins=bins, range=(-5, 7))[0]
    assert (
        _count_in_bins(values, _edges(bins, (-5, 7)), equal=True, clamp=False).tolist()
        == expected.tolist()
    )
    edges = np.linspace(-5, 7, bins + 1) ** 3
    expected = np.histogram(values, bins=edges)[0]
    assert (
        _count_in_bins(values, _edges(edges, None), equal=False, clamp=False).tolist()
        == expected.tolist()
    )


def test_histogram_shapes_and_noise():
    counts, edges = dp.histogram(np.full(1000, 3.5), bins=7, range=(0, 7), epsilon=50)
    assert counts.tolist() == [0, 0, 0, 1000, 0, 0, 0]  # another value has probability below 1e-20
    assert counts.dtype == np.int64
    assert edges.tolist() == list(range(8))


def test_empty_bins_get_noise_too():
    counts, _ = dp.histogram([], bins=10_000, range=(0, 1), epsilon=1)
    assert 0.4 < np.mean(counts != 0) < 0.7


def test_replacement_doubles_the_scale():
    one = dp.histogram([], bins=100_000, range=(0, 1), epsilon=1)[0]
    two = dp.histogram([], bins=100_000, range=(0, 1), epsilon=1, neighbours="replace")[0]
    assert one.var() == pytest.approx(dp.Geometric(epsilon=1).variance, rel=0.1)
    assert two.var() == pytest.approx(dp.Geometric(epsilon="0.5").variance, rel=0.1)


def test_what_lies_outside_is_dropped_or_clamped():
    values = [-5, 0.5, 99, float("nan"), float("inf")]
    dropped, _ = dp.histogram(values, bins=2, range=(0, 2), epsilon=100)
    clamped, _ = dp.histogram(values, bins=2, range=(0, 2), epsilon=100, outside="clamp")
    assert dropped.tolist() == [1, 0]
    assert clamped.tolist() == [2, 2]


@pytest.mark.slow
def test_fifty_million_bins():
    counts, edges = dp.histogram(np.arange(1000), bins=50_000_000, range=(0, 1000), epsilon=1)
    assert counts.shape == (50_000_000,)
    assert len(edges) == 50_000_001


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 5}, "range must be given with a number of bins"),
        ({"bins": 0, "range": (0, 1)}, "bins must be at least 1"),
        ({"bins": 5, "range": (1, 1)}, "range must have its low end below"),
        ({"bins": 5, "range": (0, float("nan"))}, "range must be a finite number"),
        ({"bins": [1.0]}, "bins must be a number or at least two finite edges"),
        ({"bins": [1.0, 1.0]}, "bins must be edges that increase"),
        ({"bins": [0.0, float("inf")]}, "at least two finite edges"),
        ({"bins": 5, "range": (0, 1), "outside": "ignore"}, "outside must be 'drop' or 'clamp'"),
        ({"bins": 5, "range": (0, 1), "neighbours": "x"}, "neighbours"),
    ],
)
def test_bad_histograms(options, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.histogram([1, 2], epsilon=1, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": "auto"}, "bins must be a number or at least two finite edges, got 'auto'"),
        ({"bins": ["a", "b"]}, "bins must be a number or at least two finite edges"),
        ({"bins": 2, "range": 100}, r"range must be a pair \(low, high\), got 100"),
        ({"bins": 2, "range": (0, 1, 2)}, "range must be a pair"),
    ],
)
def test_other_bad_edges(options, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.histogram([1, 2], epsilon=1, **options)


def test_a_table_is_no_list_of_people():
    """One row of a table is one person, who would move the count by a whole row."""
    for flags in (np.ones((5, 1000), dtype=bool), [[True, False], [True, True]], True):
        with pytest.raises(dp.InputTypeError, match="one element for each person"):
            dp.count(flags, epsilon=1)
    for values in (np.ones((5, 2)), [[1, 2], [3, 4]], 5, [[1], [2, 3]]):
        with pytest.raises(dp.InputTypeError, match="one element for each person"):
            dp.histogram(values, bins=2, range=(0, 1), epsilon=1)


def test_bad_values():
    with pytest.raises(dp.InputTypeError, match="values must be numbers"):
        dp.histogram(["a"], bins=2, range=(0, 1), epsilon=1)
    with pytest.raises(dp.InputTypeError, match="compare first"):
        dp.count([1, 2], epsilon=1)


def test_count():
    flags = np.arange(1000) < 300
    assert dp.count(flags, epsilon=100) == 300
    assert dp.count([True, False], epsilon=100) == 1
    assert dp.count([], epsilon=100) == 0
    assert isinstance(dp.count([], epsilon=1, neighbours="replace"), int)
    assert all(
        0 <= dp.count(flags[:3], epsilon="0.1", neighbours="replace") <= 3 for _ in range(50)
    )
    assert any(dp.count(flags[:3], epsilon="0.1") < 0 for _ in range(200))  # fails below 1e-20


def test_a_budget_is_charged_before_anything_is_counted():
    budget = dp.Budget(epsilon=1)
    dp.count([True, False], epsilon="0.4", budget=budget)
    dp.histogram([1, 2], bins=2, range=(0, 2), epsilon="0.5", budget=budget)
    assert budget.left.epsilon == Fraction(1, 10)
    with pytest.raises(dp.BudgetExceededError):
        dp.count([True], epsilon="0.2", budget=budget)
    with pytest.raises(dp.BudgetExceededError):
        dp.histogram([1], bins=2, range=(0, 2), epsilon="0.2", budget=budget)
    assert budget.left.epsilon == Fraction(1, 10)
    replacing = dp.Budget(rho=1, neighbours="replace")
    dp.histogram([1], bins=2, range=(0, 2), epsilon=1, neighbours="replace", budget=replacing)
    assert list(replacing.losses) == [
        dp.losses.GeometricLoss(epsilon=1, changes=2, neighbours="replace")
    ]
