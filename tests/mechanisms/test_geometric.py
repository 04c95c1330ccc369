"""The geometric mechanism: the theorem, its tightness, and every way in."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.test_sampler import goodness

import discreet as dp
from discreet.exact import Interval, exp, log
from discreet.noise.source import KeyedSource, ReplayedSource, new_key

epsilons = st.one_of(
    st.fractions("1/1000", 10, max_denominator=1000),
    st.sampled_from([Fraction(1, 10**9), Fraction(100)]),
)


@given(epsilons, st.integers(1, 6), st.integers(0, 6), st.integers(-30, 30))
def test_the_loss_is_at_most_epsilon(epsilon, sensitivity, shift, output):
    """For all outputs k and |f(x) - f(y)| <= D: ln P[k|x] - ln P[k|y] <= epsilon."""
    mechanism = dp.Geometric(epsilon=epsilon, sensitivity=sensitivity)
    x, y = mechanism.law(0), mechanism.law(min(shift, sensitivity))
    loss = log(x.mass_bounds(output, bits=128) / y.mass_bounds(output, bits=128), 120)
    assert loss.lower <= epsilon
    assert loss.upper <= epsilon + Fraction(1, 1 << 100)


@given(epsilons, st.integers(1, 6))
def test_the_guarantee_is_tight(epsilon, sensitivity):
    """At output 0 the bound is met, so no smaller epsilon could be promised."""
    mechanism = dp.Geometric(epsilon=epsilon, sensitivity=sensitivity)
    ratio = mechanism.law(0).mass_bounds(0, bits=128) / mechanism.law(sensitivity).mass_bounds(
        0, bits=128
    )
    assert log(ratio, 120).lower >= epsilon - Fraction(1, 1 << 100)


@pytest.mark.parametrize("constant_time", [False, True])
@pytest.mark.parametrize(("epsilon", "n"), [("0.1", 30), (1, 10), ("0.01", 5), (3, 2), ("0.5", 1)])
def test_the_clamped_mechanism_is_proven_by_enumeration(epsilon, n, constant_time):
    verdict = dp.audit.verify(
        dp.Geometric(epsilon=epsilon, bounds=(0, n), constant_time=constant_time)
    )
    assert verdict.proven
    assert verdict.tight


@given(epsilons, st.integers(1, 1 << 40))
def test_the_variance_never_exceeds_that_of_laplace_noise(epsilon, sensitivity):
    """2a/(1-a)^2 <= 2 D^2/epsilon^2, certified, for all epsilon and sensitivity."""
    law = dp.Geometric(epsilon=epsilon, sensitivity=sensitivity).noise_law
    assert law.variance_bounds(bits=256).upper < 2 * (sensitivity / epsilon) ** 2


def test_variance_ratios_of_the_literature():
    """Laplace over geometric: 2.02 at 3 (not over 10, as is claimed); ten is reached at 5.84."""

    def ratio(epsilon):
        return 2 / float(epsilon) ** 2 / dp.Geometric(epsilon=epsilon).variance

    assert round(ratio("1"), 2) == 1.09
    assert round(ratio("3"), 2) == 2.02
    assert ratio("5.83") < 10 < ratio("5.84")


def test_the_classroom():
    """Counts out of 30 at epsilon 0.1: the chance of the answer 0, and of either end, at 20."""
    law = dp.Geometric(epsilon="0.1", bounds=(0, 30)).law(20)
    assert round(law.mass(0), 4) == 0.0710
    assert round(law.mass(0) + law.mass(30), 4) == 0.2642
    assert math.isclose(math.fsum(law.mass(k) for k in range(31)), 1)


def test_the_table_of_expected_errors_to_four_decimals():
    clamped = dp.Geometric(epsilon="0.1", bounds=(0, 30))
    assert round(clamped.expected_absolute_error(20), 4) == 7.4715
    assert round(sum(clamped.expected_absolute_error(i) for i in range(31)) / 31, 4) == 6.7517


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.Geometric(epsilon=1),
        dp.Geometric(epsilon="0.1", bounds=(0, 30)),
        dp.Geometric(epsilon="0.1", bounds=(0, 30), constant_time=True),
    ],
    ids=repr,
)
@pytest.mark.statistical
def test_releases_have_the_stated_law(mechanism):
    """False alarm below 1e-9; the law of a neighbour is told apart."""
    size = 20_000 if mechanism.constant_time else 300_000
    released = mechanism.release(np.full(size, 20))
    assert goodness(released, mechanism.law(20), bins=25) > 1e-10
    if size > 100_000:
        assert goodness(released, mechanism.law(21), bins=25) < 1e-10
    assert (
        goodness([mechanism.release(20) for _ in range(5000)], mechanism.law(20), bins=12) > 1e-10
    )


def test_every_shape_in_and_out():
    mechanism = dp.Geometric(epsilon=1)
    assert type(mechanism.release(412)) is int
    assert type(mechanism.release(np.int32(412))) is int
    assert type(mechanism.release(10**40)) is int
    assert abs(mechanism.release(10**40) - 10**40) < 1000
    assert [type(x) for x in mechanism.release([1, 10**30])] == [int, int]
    assert mechanism.release((1, 2))
    for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64):
        released = mechanism.release(np.ones((2, 3), dtype=dtype))
        assert released.dtype == np.int64
        assert released.shape == (2, 3)
    assert mechanism.release(np.zeros(0, dtype=np.int64)).shape == (0,)
    assert mechanism.release([]) == []


def test_narrow_integers_do_not_wrap():
    """300 ones in int8 are 300, and noise on 127 is not taken modulo 256."""
    released = dp.Geometric(epsilon="0.001").release(np.full(1000, 127, dtype=np.int8))
    assert np.abs(released).max() > 1000


@pytest.mark.parametrize(
    "wrong",
    [
        1.0,
        412.5,
        True,
        np.True_,
        "412",
        None,
        np.array([1.0]),
        np.array([True]),
        [1, 2.0],
        np.array(["a"]),
        float("nan"),
        np.array([np.nan]),
    ],
)
def test_what_is_not_an_integer_is_refused_by_its_type(wrong):
    with pytest.raises(dp.InputTypeError) as caught:
        dp.Geometric(epsilon=1).release(wrong)
    for private in ("412", "nan", "2.0"):
        assert private not in str(caught.value)


def test_wide_values_are_refused_or_released_exactly():
    mechanism = dp.Geometric(epsilon=1)
    for value in (1, 2**64 - 1):  # refused by the type, whatever the value
        with pytest.raises(dp.InputTypeError, match="uint64"):
            mechanism.release(np.array([value], dtype=np.uint64))
    with pytest.raises(dp.RangeError):
        mechanism.release(np.full(100, 2**63 - 1))
    assert abs(mechanism.release(2**63) - 2**63) < 1000


@pytest.mark.parametrize("constant_time", [False, True])
def test_inputs_outside_the_range_are_clamped_first(constant_time):
    mechanism = dp.Geometric(epsilon=1, bounds=(-3, 4), constant_time=constant_time)
    assert mechanism.law(-100).mass(-3) == mechanism.law(-3).mass(-3)
    for value in (-(10**30), 10**30):
        assert -3 <= mechanism.release(value) <= 4
    assert set(np.unique(mechanism.release(np.array([-1000, 0, 1000] * 200)))) <= set(range(-3, 5))


def test_wide_bounds_work_too():
    mechanism = dp.Geometric(epsilon=1, bounds=(0, 10**30))
    assert 0 <= mechanism.release(10**29) <= 10**30
    assert mechanism.release(np.array([5])).dtype == np.int64
    assert mechanism.expected_absolute_error(10**29) == pytest.approx(
        dp.Geometric(epsilon=1).expected_absolute_error(0)
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
        ({"epsilon": -1}, "epsilon must be above 0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number"),
        ({"epsilon": 10**6}, "epsilon must be at most 1000"),
        ({"epsilon": "lots"}, "epsilon must be a number"),
        ({"epsilon": 1, "sensitivity": 0}, "sensitivity must be at least 1"),
        ({"epsilon": 1, "sensitivity": "0.5"}, "sensitivity must be a whole number"),
        ({"epsilon": 1, "sensitivity": 2**63}, "sensitivity must be at most"),
        ({"epsilon": 1, "changes": 0}, "changes must be at least 1"),
        ({"epsilon": 1, "bounds": (5, 5)}, "bounds must have its low end below its high end"),
        ({"epsilon": 1, "bounds": 5}, r"bounds must be a pair \(low, high\)"),
        ({"epsilon": 1, "bounds": (0, float("inf"))}, r"bounds\[1\] must be a finite number"),
        ({"epsilon": 1, "constant_time": True}, "constant_time needs bounds"),
        ({"epsilon": 1, "neighbours": "swap"}, "neighbours must be 'add_or_remove' or 'replace'"),
    ],
)
def test_bad_parameters_are_refused_in_words(parameters, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.Geometric(**parameters)


def test_readings_need_a_range():
    for ask in (dp.Geometric(epsilon=1).remap, dp.Geometric(epsilon=1).minimax):
        with pytest.raises(dp.UnsupportedError, match="bounds"):
            ask()


@given(epsilons, st.fractions("1/100", "99/100", max_denominator=100))
def test_error_is_the_smallest_half_width_that_covers(epsilon, confidence):
    mechanism = dp.Geometric(epsilon=epsilon)
    h = mechanism.error(confidence)
    law = mechanism.noise_law
    assert 1 - 2 * law.tail_bounds(h).upper >= confidence
    if h > 0:
        assert 1 - 2 * law.tail_bounds(h - 1).lower < confidence


@pytest.mark.parametrize("value", [0, 7, 20, 30])
@pytest.mark.parametrize("level", ["1/2", "0.8", "0.99"])
def test_error_at_a_value_is_the_smallest_half_width_there(value, level):
    mechanism = dp.Geometric(epsilon="0.1", bounds=(0, 30))
    h = mechanism.error(level, value=value)
    assert h <= mechanism.error(level)

    def inside(h):
        return sum(mechanism.law(value).mass(k) for k in range(value - h, value + h + 1))

    assert inside(h) >= Fraction(level) > inside(h - 1)


def test_the_error_of_a_clamped_count_needs_its_value():
    with pytest.raises(dp.ParameterError, match="value must be said"):
        dp.Geometric(epsilon=1, bounds=(0, 9)).expected_absolute_error()
    assert dp.Geometric(epsilon=1).expected_absolute_error() > 0


def test_changes_divide_epsilon_over_a_vector():
    """Two numbers moved by 1 each cost what one number moved by 2 does."""
    assert (
        dp.Geometric(epsilon=1, changes=2).rate
        == dp.Geometric(epsilon=1, sensitivity=2).rate
        == Fraction(1, 2)
    )
    assert dp.Geometric(epsilon=1, changes=2).privacy_loss.changes == 2
    assert dp.Geometric(epsilon=1).privacy_loss.kind == "geometric"


def test_the_same_words_give_the_same_release():
    mechanism = dp.Geometric(epsilon=1)
    assert mechanism.release(5, source=ReplayedSource([1 << 63])) == mechanism.release(
        5, source=ReplayedSource([1 << 63])
    )
    with pytest.raises(dp.SourceExhaustedError):
        mechanism.release(5, source=ReplayedSource([]))


def test_mass_ratio_of_a_is_exactly_e_to_the_rate():
    law = dp.Geometric(epsilon="0.3").law(0)
    ratio = law.mass_bounds(3, bits=128) / law.mass_bounds(4, bits=128)
    truth = exp(Fraction(3, 10), 128)
    assert Interval(ratio.lower, ratio.upper).lower <= truth.upper
    assert truth.lower <= ratio.upper


@pytest.mark.parametrize("bounds", [None, (0, 30)])
@pytest.mark.parametrize("epsilon", ["2", "0.01"])
def test_a_list_has_the_noise_of_its_numbers_one_by_one(epsilon, bounds):
    mechanism, values = dp.Geometric(epsilon=epsilon, bounds=bounds), [5, 0, 31, -4, 10**30] * 30
    key = new_key()
    first, second = KeyedSource(key), KeyedSource(key)
    alone = [mechanism.release(value, source=second) for value in values]
    assert mechanism.release(values, source=first) == alone
    assert mechanism.release([], source=first) == []
