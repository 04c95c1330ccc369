from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1, 1), (1, 2), (2, 10), ("0.5", 7), (4, 3)])
def test_the_guarantee_holds_and_is_tight(epsilon, sensitivity):
    verdict = dp.audit.verify(dp.Staircase(epsilon=epsilon, sensitivity=sensitivity))
    assert verdict.proven
    assert verdict.tight


@given(st.integers(1, 8), st.integers(1, 8))
def test_every_inner_width_is_private(sensitivity, inner):
    if inner <= sensitivity:
        assert dp.audit.verify(dp.Staircase(epsilon=1, sensitivity=sensitivity, inner=inner)).proven


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "ours", "geometric"),
    [(1, 2, 7.715, 7.835), (2, 2, 1.641, 1.841), (4, 2, 0.187, 0.362), (4, 10, 6.66, 12.33)],
)
def test_variances_of_the_specification(epsilon, sensitivity, ours, geometric):
    assert dp.Staircase(epsilon=epsilon, sensitivity=sensitivity).variance == pytest.approx(
        ours, abs=6e-3
    )
    assert dp.Geometric(epsilon=epsilon, sensitivity=sensitivity).variance == pytest.approx(
        geometric, abs=6e-3
    )


def test_absolute_errors_of_the_specification():
    assert round(dp.Staircase(epsilon=4, sensitivity=10).expected_absolute_error(), 2) == 1.33
    assert round(dp.Geometric(epsilon=4, sensitivity=10).expected_absolute_error(), 2) == 2.43


@given(st.fractions("1/10", 6, max_denominator=20), st.integers(1, 30))
def test_never_more_variance_than_the_geometric(epsilon, sensitivity):
    staircase = dp.Staircase(epsilon=epsilon, sensitivity=sensitivity)
    geometric = dp.Geometric(epsilon=epsilon, sensitivity=sensitivity)
    assert staircase.variance <= geometric.variance * (1 + 1e-9)


def test_a_shift_beyond_the_sensitivity_is_refuted():
    mechanism = dp.Staircase(epsilon=1, sensitivity=3)
    assert dp.audit.verify(mechanism, pairs=[(0, 4)]).refuted


def test_shapes_and_bad_input():
    mechanism = dp.Staircase(epsilon=2, sensitivity=10)
    assert type(mechanism.release(10**30)) is int
    assert mechanism.release(np.arange(5)).dtype == np.int64
    assert mechanism.error(0.95) >= mechanism.error(0.5)
    with pytest.raises(dp.ParameterError, match="inner must be at most 3"):
        dp.Staircase(epsilon=1, sensitivity=3, inner=4)
    with pytest.raises(dp.ParameterError, match="epsilon must be above 0"):
        dp.Staircase(epsilon=0, sensitivity=3)
    assert dp.Staircase(epsilon=Fraction(1), sensitivity=2) == dp.Staircase(
        epsilon=1, sensitivity=2
    )
