"""The odometer: its theorem against the best of all analysts, stopping when she likes."""

import threading
import time
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.analysts import best_gain, response

import discreet as dp
from discreet.exact import exp
from discreet.privacy.convert import largest_rho, zcdp_delta_upper, zcdp_epsilon_upper
from discreet.privacy.loss import ApproxLoss, GaussianLoss, PairLoss, PureLoss, RandomLoss, ZCDPLoss
from discreet.privacy.odometer import RATIO, REACH

SKEWED = PairLoss(first=["1/2", "1/4", "1/4"], second=["1/4", "1/4", "1/2"])
MILLIONTH = Fraction(1, 10**6)


def read(*releases, times=1, **how):
    odometer = dp.Odometer(**how)
    for release in releases:
        odometer.add(release, times=times)
    return odometer.reading


# The theorem.


def worst_escape(menu, *, depth, **how):
    """The most that any analyst gets of the sum of (p - e^reading q)+, stopping when she likes."""

    @lru_cache(None)
    def factor(counts):
        if not any(counts):
            return Fraction(1)
        odometer = dp.Odometer(**how)
        for loss, number in zip(menu, counts, strict=True):
            if number:
                odometer.add(loss, times=number)
        return exp(odometer.reading.epsilon, 60).lower

    def gain(p, q, counts):
        return max(p - factor(counts) * q, Fraction(0))

    return best_gain(menu, lambda counts: True, gain, depth=depth)


@pytest.mark.parametrize(
    ("menu", "how", "depth", "reached"),
    [
        ([response("12/11")], {"delta": "0.05", "expected": "0.5"}, 50, "0.14"),
        ([response("12/11")], {"delta": "0.3", "expected": "0.1"}, 40, "0.24"),
        ([response("5/4"), response(2)], {"delta": "0.1", "expected": 1}, 9, "0.17"),
        ([response("5/4"), response(3), SKEWED], {"delta": "0.2", "expected": 2}, 6, "0.02"),
    ],
    ids=str,
)
def test_no_analyst_who_stops_when_she_likes_escapes_more_than_delta(menu, how, depth, reached):
    """And the best of them gets this part of it."""
    found, delta = worst_escape(menu, depth=depth, **how), Fraction(how["delta"])
    assert Fraction(reached) * delta <= found <= delta


def test_nothing_escapes_a_pure_reading():
    assert worst_escape([response(2), SKEWED], depth=6) < Fraction(1, 10**15)


@pytest.mark.parametrize("delta", ["1e-6", "0.01", "1e-30"])
@pytest.mark.parametrize("expected", ["0.1", 1, 20])
def test_the_deltas_of_all_rungs_add_up_to_at_most_delta(delta, expected):
    """What each rung lets escape is computed back from what is read there."""
    base = largest_rho(Fraction(expected), Fraction(3, 7) * Fraction(delta))
    used = []
    for j in range(-REACH, REACH + 1):
        rung = base * RATIO**j
        if rung <= 100:
            epsilon = read(ZCDPLoss(rho=rung), delta=delta, expected=expected).epsilon
            used.append(zcdp_delta_upper(rung, epsilon))
    assert Fraction(1, 2) * Fraction(delta) < sum(used) <= Fraction(delta)


# Readings.


def test_nothing_is_read_before_anything_was_added():
    for how in ({}, {"delta": "1e-6"}):
        with pytest.raises(dp.ParameterError, match="nothing has leaked yet"):
            _ = dp.Odometer(**how).reading


def test_a_pure_reading_is_the_exact_sum():
    odometer = dp.Odometer(neighbours="replace")
    for epsilon in ("1/3", "1/7", "0.1"):
        odometer.add(PureLoss(epsilon=epsilon, neighbours="replace"))
    odometer.add(PureLoss(epsilon="1e-9", neighbours="replace"), times=10**9)
    whole = Fraction(1, 3) + Fraction(1, 7) + Fraction(1, 10) + 1
    assert odometer.reading == dp.PureDP(whole, "replace")
    assert sum(odometer.losses.values()) == 10**9 + 3


def test_the_smaller_of_the_sum_and_the_rung_is_read():
    assert read(PureLoss(epsilon="0.3"), delta="1e-6") == dp.ApproxDP("0.3", "1e-6")
    many = read(PureLoss(epsilon="0.01"), times=100, delta="1e-6")
    assert many.epsilon < Fraction("0.6")
    assert many.delta == MILLIONTH


def test_one_release_without_a_pure_epsilon_leaves_the_rungs():
    mixed = read(PureLoss(epsilon="0.01"), GaussianLoss(sigma_squared=10**4), delta="1e-6")
    assert mixed == read(ZCDPLoss(rho=Fraction(1, 10**4)), delta="1e-6")
    with pytest.raises(dp.UnsupportedError, match="no pure epsilon: say delta="):
        dp.Odometer().add(GaussianLoss(sigma_squared=1))


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_readings_grow_with_what_was_added(delta):
    odometer, readings = dp.Odometer(delta=delta), []
    for _ in range(25):
        odometer.add(PureLoss(epsilon="0.01"), times=2 ** (len(readings) // 2))
        readings.append(odometer.reading.epsilon)
    assert all(a <= b for a, b in pairwise(readings))
    assert readings[0] < readings[-1]


@given(st.integers(1, 60), st.fractions(min_value="1/10", max_value=8, max_denominator=10))
def test_no_reading_is_below_what_a_filter_made_for_it_would_promise(steps, expected):
    """The odometer pays for not having said when it stops."""
    rho = Fraction(steps, 200)
    found = read(ZCDPLoss(rho=rho), delta="1e-6", expected=expected).epsilon
    assert found > zcdp_epsilon_upper(rho, MILLIONTH)


@pytest.mark.parametrize("expected", ["0.1", 1, 5])
def test_readings_are_tight_where_they_are_expected(expected):
    rho = largest_rho(Fraction(expected), MILLIONTH)
    best, worst = Fraction(10), Fraction(0)
    for percent in range(70, 131, 5):
        spent = rho * percent / 100
        found = read(ZCDPLoss(rho=spent), delta="1e-6", expected=expected).epsilon
        ratio = found / zcdp_epsilon_upper(spent, MILLIONTH)
        best, worst = min(best, ratio), max(worst, ratio)
    assert best < Fraction("1.07")
    assert worst < Fraction("1.4")


def test_what_was_expected_is_read_where_it_was_expected():
    at = largest_rho(Fraction(1), Fraction(3, 7) * MILLIONTH)
    found = read(ZCDPLoss(rho=at), delta="1e-6").epsilon
    assert abs(found - 1) < Fraction(1, 10**9)
    assert read(ZCDPLoss(rho=at + Fraction(1, 10**30)), delta="1e-6").epsilon > found


def test_readings_far_from_what_was_expected_stay_true():
    for rho in ("1e-9", "1e-4", "10", "100"):
        found = read(ZCDPLoss(rho=rho), delta="1e-6").epsilon
        assert zcdp_epsilon_upper(Fraction(rho), MILLIONTH) < found
    tiny = read(ZCDPLoss(rho="1e-100"), delta="1e-6")
    assert 0 <= tiny.epsilon < Fraction(1, 10**5)


def test_more_than_an_epsilon_can_say():
    for how, loss in [
        ({}, PureLoss(epsilon=600)),
        ({"delta": "1e-6"}, ZCDPLoss(rho=900)),
        ({"delta": "1e-6"}, PureLoss(epsilon=900)),
    ]:
        for times in (2, 10**12):
            with pytest.raises(dp.UnsupportedError, match="far more has leaked"):
                read(loss, times=times, **how)


# What is refused.


@pytest.mark.parametrize(
    "loss", [ApproxLoss(epsilon="0.1", delta="1e-9"), RandomLoss(epsilon="0.1", gamma="1e-9")]
)
def test_releases_that_may_fail_are_refused(loss):
    odometer = dp.Odometer(delta="1e-6")
    with pytest.raises(dp.UnsupportedError, match="failures="):
        odometer.add(loss)
    assert not odometer.losses


def test_other_neighbours_and_what_is_no_loss_are_refused():
    odometer = dp.Odometer()
    with pytest.raises(dp.ParameterError, match="neighbours"):
        odometer.add(PureLoss(epsilon=1, neighbours="replace"))
    with pytest.raises(dp.InputTypeError):
        odometer.add(0.1)
    assert not odometer.losses


@pytest.mark.parametrize("times", [0, -1, 1.5, True, None, 10**12 + 1])
def test_times_that_make_no_sense_are_refused(times):
    odometer = dp.Odometer()
    with pytest.raises(dp.ParameterError, match="times"):
        odometer.add(PureLoss(epsilon=1), times=times)
    assert not odometer.losses


@pytest.mark.parametrize(
    ("how", "name"),
    [
        *(({"delta": bad}, "delta") for bad in (0, 1, -1, float("nan"), "x")),
        *(({"delta": "0.1", "expected": bad}, "expected") for bad in (0, -1, 1001, None)),
        ({"neighbours": "both"}, "neighbours"),
    ],
)
def test_odometers_that_make_no_sense_are_refused(how, name):
    with pytest.raises(dp.ParameterError) as caught:
        dp.Odometer(**how)
    assert caught.value.name == name


def test_threads_lose_nothing(monkeypatch):
    """Even where whoever adds up falls asleep over it."""

    def slowly(first, second):
        time.sleep(1e-4)
        return first + second

    monkeypatch.setattr("discreet.privacy.odometer.add_upper", slowly)
    odometer = dp.Odometer()

    def add():
        for _ in range(10):
            odometer.add(PureLoss(epsilon="1/4096"))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert odometer.losses == {PureLoss(epsilon="1/4096"): 40}
    assert odometer.reading == dp.PureDP(Fraction(40, 4096))
