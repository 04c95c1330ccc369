"""The discrete Gaussian mechanism: its zCDP, its exact delta, and the bound for many numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.exact import Interval, certify, exp
from discreet.mechanisms import gaussian_calibration as calibration
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.gaussian import DiscreteGaussian
from discreet.privacy.guarantee import ZCDP, ApproxDP
from discreet.privacy.loss import GaussianLoss, loss_from_dict

MILLIONTH = Fraction(1, 10**6)


def delta(v, move, epsilon, bits=40):
    return certify(lambda w: calibration.exact_delta(v, move, Fraction(epsilon), w), bits)


def masses(v, reach):
    law = DiscreteGaussian(v)
    return np.array([law.mass(k) for k in range(-reach, reach + 1)])


# Zero-concentrated privacy.


@pytest.mark.parametrize(
    ("kwargs", "sigma_squared"),
    [
        ({"rho": "1/8"}, Fraction(4)),
        ({"rho": 0.1, "sensitivity": 3}, Fraction(45)),
        ({"rho": 0.1, "changes": 7}, Fraction(35)),
        ({"rho": "1/3", "sensitivity": "2.5"}, Fraction(75, 8)),
        ({"rho": 1000}, Fraction(1, 2000)),
    ],
)
def test_rho_fixes_sigma_exactly(kwargs, sigma_squared):
    mechanism = Gaussian(**kwargs, neighbours="replace")
    assert mechanism.sigma_squared == sigma_squared
    assert mechanism.guarantee == ZCDP(kwargs["rho"], "replace")
    assert mechanism.privacy_loss.guarantee == mechanism.guarantee
    assert loss_from_dict(mechanism.privacy_loss.to_dict()) == mechanism.privacy_loss


@pytest.mark.parametrize("v", [Fraction(1, 3), Fraction(1), Fraction(6)])
@pytest.mark.parametrize("move", [1, 3])
@pytest.mark.parametrize("order", [Fraction(5, 4), 2, Fraction(7, 2)])
def test_renyi_divergence_is_at_most_rho_times_the_order(v, move, order):
    """exp((a-1) D_a) = the sum of P(k)^a P(k-d)^(1-a), enclosed; equal where (a-1) d is whole."""
    reach = 40
    total = Interval.of(0)
    for k in range(-reach, reach + 1):
        power = order * k * k + (1 - order) * (k - move) ** 2
        total = total + exp(-Fraction(power) / (2 * v), 80)
    whole = sum(
        (exp(-Fraction(k * k) / (2 * v), 80) for k in range(-reach, reach + 1)), Interval.of(0)
    )
    limit = exp((order - 1) * order * Fraction(move * move) / (2 * v), 80)
    assert (total / whole).lower <= limit.upper
    if ((order - 1) * move).denominator == 1 and v <= 1:
        assert float(total / whole) == pytest.approx(float(limit), rel=1e-9)


# The exact delta of one number.


@pytest.mark.parametrize("v", [Fraction(1, 2), Fraction(2), Fraction(9, 2)])
@pytest.mark.parametrize("move", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_exact_delta_is_the_sum_of_all_excesses(v, move, epsilon):
    """The sum of max(0, P(k) - e^epsilon P(k + d)) over all k, in both directions."""
    p, reach = masses(v, 60), 60
    far, near = p[: -move or None], p[move:]
    right = np.maximum(far - math.exp(epsilon) * near, 0).sum() + p[-move:].sum()
    left = np.maximum(near - math.exp(epsilon) * far, 0).sum() + p[:move].sum()
    assert len(p) == 2 * reach + 1
    found = float(delta(v, move, epsilon))
    assert found == pytest.approx(right, rel=1e-9, abs=1e-14)
    assert found == pytest.approx(left, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("v", [Fraction(1, 5), Fraction(3), Fraction(50)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_exact_delta_grows_with_the_move(v, epsilon):
    found = [delta(v, move, epsilon).lower for move in range(1, 9)]
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("epsilon", "sigma"), [("0.1", 36.31), ("0.5", 8.053), (1, 4.2308), (2, 2.2467), (4, 1.1700)]
)
def test_calibration_at_a_millionth(epsilon, sigma):
    mechanism = Gaussian(epsilon=epsilon, delta=1e-6)
    assert mechanism.sigma == pytest.approx(sigma, rel=5e-4)
    assert mechanism.guarantee == ApproxDP(epsilon, "1e-6")
    assert mechanism.delta_bounds().upper <= MILLIONTH
    assert mechanism.delta_upper() <= MILLIONTH


@pytest.mark.parametrize("move", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(3), Fraction(9)])
@pytest.mark.parametrize("limit", [Fraction(1, 10), Fraction(1, 10**5), Fraction(1, 10**12)])
def test_delta_is_met_and_a_smaller_sigma_violates_it(move, epsilon, limit):
    """Certified both ways: at the chosen sigma, and at one 0.2 % smaller."""
    v = calibration.least_variance(move, epsilon, limit)
    assert delta(v, move, epsilon).upper <= limit
    assert delta(v * Fraction(998, 1000) ** 2, move, epsilon).lower > limit


@pytest.mark.parametrize(
    ("epsilon", "limit"),
    [(4, MILLIONTH), (8, MILLIONTH), (8, Fraction(1, 10**9)), (2, Fraction(1, 50))],
)
def test_no_valley_was_missed(epsilon, limit):
    """Delta is not monotone in sigma: all of 300 smaller sigmas violate it, down to nothing."""
    v = calibration.least_variance(1, Fraction(epsilon), limit)
    for i in range(1, 300):
        assert not calibration.is_at_most(
            lambda w, u=v * Fraction(300 - i, 300): calibration.exact_delta(
                u, 1, Fraction(epsilon), w
            ),
            limit,
        ), i


def test_extreme_parameters_are_calibrated():
    assert Gaussian(epsilon="1e-9", delta="1e-9").sigma > 1e8
    assert Gaussian(epsilon=1000, delta="1e-9").sigma < 0.05
    assert Gaussian(epsilon=1, delta="0.999").delta_bounds().upper <= Fraction(999, 1000)
    assert Gaussian(epsilon=1, delta="1e-300").sigma == pytest.approx(37, rel=0.02)
    assert Gaussian(epsilon=1, delta="1e-6", sensitivity=1 << 62).sigma == pytest.approx(
        4.2247 * 2**62, rel=1e-3
    )


# Many numbers.


def test_two_million_counts_need_sigma_8401():
    """Theorem 2 against the zCDP route, at (ln 2, 1e-6)."""
    mechanism = Gaussian(epsilon=math.log(2), delta=1e-6, changes=2_000_000)
    assert 8399 < mechanism.sigma < 8403
    assert mechanism.delta_upper() <= MILLIONTH
    rho = calibration.largest_rho(mechanism.epsilon, MILLIONTH)
    assert math.sqrt(2_000_000 / (2 * rho)) == pytest.approx(9030, rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [("0.1", 0.000321), ("0.5", 0.006642), (1, 0.024356), (2, 0.088153), (4, 0.311065)],
)
def test_zcdp_conversion(epsilon, rho):
    epsilon = Fraction(epsilon)
    found = calibration.largest_rho(epsilon, MILLIONTH)
    assert float(found) == pytest.approx(rho, rel=2e-3)
    assert calibration.zcdp_delta_upper(found, epsilon) == pytest.approx(1e-6, rel=1e-3)
    assert calibration.zcdp_delta_upper(found * 2, epsilon) > 2 * MILLIONTH


@pytest.mark.parametrize(
    ("epsilon", "sigma"), [("0.1", 36.30), ("0.5", 8.058), (1, 4.225), (2, 2.231), (4, 1.194)]
)
def test_continuous_delta_gives_the_analytic_gaussian(epsilon, sigma):
    share = calibration.continuous_share(Fraction(epsilon), MILLIONTH)
    assert math.sqrt(share) == pytest.approx(sigma, rel=1e-3)


def test_continuous_delta_is_the_formula():
    def normal(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    for epsilon, mu in ((1.0, 0.5), (0.25, 2.0), (3.0, 1.5)):
        found = certify(
            lambda w, e=epsilon, m=mu: calibration.continuous_delta(
                Fraction(e), Fraction(m) ** 2, w
            ),
            40,
        )
        formula = normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
        assert float(found) == pytest.approx(formula, rel=1e-10)


@pytest.mark.parametrize("changes", [2, 3])
@pytest.mark.parametrize(("epsilon", "limit"), [(1, 1e-3), (3, 1e-2), (0.5, 1e-5)])
def test_the_bound_for_several_numbers_covers_the_true_delta(changes, epsilon, limit):
    """All numbers move by 1: the loss is a function of their sum, whose law is a convolution."""
    mechanism = Gaussian(epsilon=epsilon, delta=limit, changes=changes)
    reach = 12 * math.ceil(mechanism.sigma)
    one = masses(mechanism.sigma_squared, reach)
    total = one
    for _ in range(changes - 1):
        total = np.convolve(total, one)
    sums = np.arange(-reach * changes, reach * changes + 1)
    loss = (2 * sums + changes) / (2 * float(mechanism.sigma_squared))
    true = (total * np.maximum(1 - np.exp(epsilon - loss), 0)).sum()
    assert true <= float(mechanism.delta_upper()) <= limit
    assert true > limit / 8


@pytest.mark.parametrize("s_squared", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_rounding_is_nearly_uniform(s_squared):
    """S(x)/(s sqrt(2 pi)) lies within 1 -+ z for every x, and reaches 1 + z at whole x."""
    z = 2 * sum(math.exp(-2 * math.pi**2 * float(s_squared) * j * j) for j in range(1, 5))
    for x in np.linspace(0, 1, 11):
        weights = [math.exp(-((k - x) ** 2) / (2 * float(s_squared))) for k in range(-40, 42)]
        share = math.fsum(weights) / math.sqrt(2 * math.pi * float(s_squared))
        assert 1 - z - 1e-13 <= share <= 1 + z + 1e-13
    extra, factor = calibration.rounding_terms(s_squared, 10)
    assert float(extra) >= 10 * math.log((1 + z) / (1 - z)) * (1 - 1e-9)
    assert float(factor) >= (1 + z) ** 10 * (1 - 1e-12)


def test_too_many_changes_for_a_smoothing_are_refused_by_it():
    extra, _ = calibration.rounding_terms(Fraction(1, 2), 1 << 62)
    assert extra >= 1000


def test_delta_upper_of_a_distance_that_is_not_whole():
    mechanism = Gaussian(rho="0.01", sensitivity="2.5")
    found = mechanism.delta_upper(1)
    assert 0 < found < calibration.zcdp_delta_upper(Fraction(1, 100), Fraction(1))
    with pytest.raises(UnsupportedError, match="delta_upper"):
        mechanism.delta_bounds(1)
    with pytest.raises(UnsupportedError, match="at which epsilon"):
        mechanism.delta_upper()
    tiny = Gaussian(rho=1000, sensitivity="1.5")
    assert tiny.delta_upper(1) == 1


# The mechanism as a value.


def test_equal_parameters_are_equal_values():
    a, b = Gaussian(rho=0.1), Gaussian(rho="1/10", sensitivity=1.0)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Gaussian(rho=0.1, neighbours="replace")
    assert a.release(5) is not None
    assert a == b


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(rho=0.1),
        Gaussian(rho="1/3", sensitivity="7/2", neighbours="replace"),
        Gaussian(epsilon=1, delta=1e-6, sensitivity=4),
        Gaussian(epsilon="0.5", delta="1e-5", changes=3),
    ],
)
def test_repr_rebuilds_it(mechanism):
    assert eval(repr(mechanism), {"Gaussian": Gaussian}) == mechanism


def test_it_says_its_law_and_its_errors():
    mechanism = Gaussian(rho="1/8")
    assert mechanism.sigma == 2.0
    assert mechanism.law(10).mass(12) == mechanism.noise_law.mass(2)
    assert mechanism.variance == pytest.approx(4, rel=1e-9)
    assert mechanism.expected_absolute_error(7) == mechanism.law(7).absolute_error(7)
    assert mechanism.error(0.95) == 4
    assert list(Gaussian(rho=1, sensitivity=3).small_neighbours()) == [(0, 3)]
    assert list(Gaussian(rho=1, sensitivity="1.5").small_neighbours()) == []
    assert Gaussian(rho="1e-399", sensitivity=10**18).sigma > 1e200
    assert mechanism.privacy_loss == GaussianLoss(
        neighbours="add_or_remove", sigma_squared=Fraction(4), distance_squared=Fraction(1)
    )


def test_it_releases_what_it_is_given():
    mechanism = Gaussian(rho=50)
    assert abs(mechanism.release(1000) - 1000) < 10
    assert [abs(x) < 10 for x in mechanism.release([0, 1])] == [True, True]
    found = mechanism.release(np.full((2, 3), 7))
    assert found.shape == (2, 3)
    assert found.dtype == np.int64
    assert isinstance(Gaussian(rho="1e-30").release(1 << 80), int)
    with pytest.raises(InputTypeError):
        mechanism.release(1.5)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({}, "rho is missing: say rho=..., or epsilon=... with delta=..."),
        ({"delta": 1e-6}, "rho is missing"),
        ({"epsilon": 1}, "delta is missing: Gaussian noise has no pure epsilon; say delta=1e-6"),
        ({"rho": 1, "epsilon": 1}, "rho cannot be combined with epsilon or delta"),
        ({"rho": 1, "delta": 0.1}, "rho cannot be combined"),
        ({"rho": 0}, "rho must be above 0"),
        ({"rho": -1}, "rho must be above 0"),
        ({"rho": math.nan}, "rho must be a finite number"),
        ({"rho": math.inf}, "rho must be a finite number"),
        ({"rho": 1001}, "rho must be at most 1000"),
        ({"rho": "many"}, "rho must be a number"),
        ({"epsilon": 0, "delta": 0.1}, "epsilon must be above 0"),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"epsilon": 1, "delta": math.nan}, "delta must be a finite number"),
        ({"epsilon": 1, "delta": 0.1, "sensitivity": 1.5}, "sensitivity must be a whole number"),
        ({"epsilon": 1, "delta": 0.1, "sensitivity": 0}, "sensitivity must be at least 1"),
        ({"rho": 1, "sensitivity": 0}, "sensitivity must be above 0"),
        ({"rho": 1, "sensitivity": "0.5"}, "sensitivity must be at least 1: different vectors"),
        ({"rho": 1, "sensitivity": 1 << 63}, "sensitivity must be at most"),
        ({"rho": 1, "changes": 0}, "changes must be at least 1"),
        ({"rho": 1, "changes": 1.5}, "changes must be a whole number"),
        ({"rho": 1, "neighbours": "both"}, "neighbours must be"),
    ],
)
def test_refusals_say_what_to_write(kwargs, words):
    with pytest.raises(ParameterError) as caught:
        Gaussian(**kwargs)
    assert words in str(caught.value)
    assert "nothing was released" in str(caught.value)


@pytest.mark.slow
def test_two_million_counts_on_the_same_people():
    """The genome case: noise of about 8,401 instead of the 4.08 million of a pure guarantee."""
    mechanism = Gaussian(epsilon="0.6931471805", delta="1e-6", changes=2_000_000)
    assert 8400 < mechanism.sigma < 8403
    released = mechanism.release(np.zeros(2_000_000, dtype=np.int64))
    assert released.shape == (2_000_000,)
    assert abs(released.std() / mechanism.sigma - 1) < 0.005  # ten standard deviations
