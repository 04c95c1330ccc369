from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp

reals = st.fractions(-100, 100, max_denominator=10**6)
steps = st.fractions("1/100", 5, max_denominator=1000)


@given(reals, reals, steps, steps)
def test_rounding_is_counted_in_the_sensitivity(x, move, sensitivity, grid):
    """For all x, y with |x - y| <= S: the grid places differ by at most `steps`."""
    mechanism = dp.Laplace(epsilon=1, sensitivity=sensitivity, grid=grid)
    y = x + max(-sensitivity, min(sensitivity, move))
    assert abs(mechanism.on_grid(x) - mechanism.on_grid(y)) <= mechanism.steps


@given(steps, steps)
def test_the_count_is_tight(sensitivity, grid):
    """Some pair moves that far, so fewer steps could not be promised."""
    mechanism = dp.Laplace(epsilon=1, sensitivity=sensitivity, grid=grid)
    start = grid * (Fraction(-1, 2) + 1) - Fraction(1, 10**9) * min(grid, sensitivity)
    moves = [
        mechanism.on_grid(x + sensitivity) - mechanism.on_grid(x) for x in (Fraction(0), start)
    ]
    assert max(moves) == mechanism.steps


@pytest.mark.parametrize(("sensitivity", "grid"), [("0.5", "1/16"), ("0.3", "0.25"), (1, 1)])
def test_the_guarantee_holds_and_is_tight(sensitivity, grid):
    verdict = dp.audit.verify(dp.Laplace(epsilon=1, sensitivity=sensitivity, grid=grid))
    assert verdict.proven


@given(st.floats(-1e12, 1e12, allow_nan=False), st.sampled_from(["1/1024", "0.25", "1/8"]))
def test_every_release_lies_on_the_grid(value, grid):
    """Whatever the low bits of the input: nothing of them survives."""
    released = dp.Laplace(epsilon=1, sensitivity=1, grid=grid).release(value)
    assert (Fraction(released) / Fraction(grid)).denominator == 1


def test_the_support_does_not_depend_on_the_value():
    """Inputs 0 and 1 and a float just above 1: the same grid for all (no low-bit attack)."""
    mechanism = dp.Laplace(epsilon=1, sensitivity=1, grid="1/64")
    for value in (0.0, 1.0, float(np.nextafter(1.0, 2.0))):
        released = np.array([mechanism.release(value) for _ in range(400)])
        assert np.all(released * 64 == np.rint(released * 64))


def test_vectors_count_one_more_step_per_further_number():
    assert dp.Laplace(epsilon=1, sensitivity=1, grid="1/4", changes=3).steps == 6
    released = dp.Laplace(epsilon=1, sensitivity=1, grid="1/4", changes=3).release(
        np.array([1.5, 2, 3])
    )
    assert released.shape == (3,)
    assert released.dtype == np.float64
    assert len(dp.Laplace(epsilon=1, sensitivity=1, grid=1).release([1, Fraction(1, 3), 2.5])) == 3


def test_figures():
    mechanism = dp.Laplace(epsilon=1, sensitivity="0.5", grid="1/1024")
    assert mechanism.variance == pytest.approx(0.5, rel=1e-5)
    assert mechanism.error(0.95) == pytest.approx(0.5 * np.log(20), abs=0.002)
    assert mechanism.expected_absolute_error(0) == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float64("nan"),
        "3.5",
        True,
        None,
        1j,
        np.array(["a"]),
        np.array([np.nan]),
    ],
)
def test_what_is_no_real_number_is_refused_without_a_quote(wrong):
    with pytest.raises(dp.InputTypeError) as caught:
        dp.Laplace(epsilon=1, sensitivity=1, grid=1).release(wrong)
    assert "3.5" not in str(caught.value)


def test_what_no_float_can_hold_is_refused():
    with pytest.raises(dp.RangeError, match="range of a float"):
        dp.Laplace(epsilon=1, sensitivity=1, grid=1).release(10**400)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"sensitivity": 0, "grid": 1}, "sensitivity must be above 0"),
        ({"sensitivity": 1, "grid": 0}, "grid must be above 0"),
        ({"sensitivity": 1, "grid": "1e-30"}, "grid is too fine"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.Laplace(epsilon=1, **parameters)
