"""Every price of a loss is at least what its exact law says, and no more than it has to be."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.audit.catalogue import mechanisms
from discreet.exact import Interval, exp, log
from discreet.noise.law import Outcomes
from discreet.privacy import bounds
from discreet.privacy.bounds import add_upper, pure_upper, renyi_estimate, renyi_upper, rho_upper
from discreet.privacy.loss import (
    ApproxLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    NormalLoss,
    PairLoss,
    PureLoss,
    RandomLoss,
    RangeLoss,
    ZCDPLoss,
)

ORDERS = [F(9, 8), F(2), F(7, 2), F(16), F(100)]
ONE_OF_EACH = [
    PureLoss(epsilon="0.3"),
    RangeLoss(epsilon="0.7"),
    GeometricLoss(epsilon="0.5"),
    GeometricLoss(epsilon=2, sensitivity=7),
    GeometricLoss(epsilon=1, sensitivity=3, changes=5),
    LaplaceLoss(epsilon="0.25"),
    GaussianLoss(sigma_squared=50, distance_squared=4),
    NormalLoss(sigma_squared=9),
    ApproxLoss(epsilon="0.2", delta="1e-9"),
    ZCDPLoss(rho="0.05"),
    PairLoss(first=["0.5", "0.3", "0.2"], second=["0.4", "0.3", "0.3"]),
    RandomLoss(epsilon="0.4", gamma="0.01"),
]


def geometric_divergence(epsilon, moved, order):
    """The divergence of order `order`, summed output by output, with a bound on what is left."""
    t, w, reach = epsilon / moved, 96, 40 + int(60 * moved / epsilon)
    ratio = exp(-t, w)
    total = Interval.of(0)
    for k in range(-reach, reach + moved + 1):
        total = total + exp(-t * abs(k) + (order - 1) * t * (abs(k - moved) - abs(k)), w)
    rest = Interval(F(0), exp(-t * reach + order * epsilon, w).upper * 3 / (1 - ratio).lower)
    scaled = (total + rest) * (1 - ratio) / (1 + ratio)
    return log(scaled, w) / (order - 1)


@pytest.mark.parametrize("order", ORDERS[:4])
@pytest.mark.parametrize(("epsilon", "moved"), [(F(1), 1), (F(2), 3), (F(1, 2), 2), (F(4), 5)])
def test_the_divergence_of_geometric_noise_is_the_sum_over_all_outputs(epsilon, moved, order):
    truth = geometric_divergence(epsilon, moved, order)
    price = renyi_upper(GeometricLoss(epsilon=epsilon, sensitivity=moved), order)
    assert truth.lower <= price <= truth.upper * (1 + F(1, 2**40))


@pytest.mark.parametrize(("epsilon", "moved"), [("0.01", 1), (1, 1), (1, 4), (3, 1000), (8, 2)])
def test_rho_of_geometric_noise_is_met_as_the_order_goes_to_one_and_nowhere_exceeded(
    epsilon, moved
):
    loss = GeometricLoss(epsilon=epsilon, sensitivity=moved)
    rho, near = rho_upper(loss), 1 + F(1, 2**24)
    assert renyi_upper(loss, near) / near <= rho
    assert renyi_upper(loss, near) / near >= rho * (1 - F(1, 10**5))
    for order in ORDERS:
        assert renyi_upper(loss, order) <= order * rho * (1 + F(1, 2**50))


@given(
    epsilon=st.fractions(F(1, 1000), 20, max_denominator=1000),
    moved=st.integers(1, 10**6),
    order=st.fractions(F(101, 100), 500, max_denominator=100),
)
def test_no_order_exceeds_rho(epsilon, moved, order):
    loss = GeometricLoss(epsilon=epsilon, sensitivity=moved)
    assert renyi_upper(loss, order) <= order * rho_upper(loss) * (1 + F(1, 2**50))
    assert renyi_upper(loss, order) <= epsilon * (1 + F(1, 2**50))


@pytest.mark.parametrize("moved", [2, 3, 8, 31])
@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.9, 0.999])
def test_the_zeros_that_the_proof_speaks_of_lie_on_the_unit_circle(ratio, moved):
    weights = [1.0, *[1 - ratio] * (moved - 1), 1.0]
    assert np.abs(np.roots(weights)) == pytest.approx(1, abs=1e-6)


def test_rho_falls_from_randomised_response_to_laplace_noise():
    rhos = [rho_upper(GeometricLoss(epsilon=1, sensitivity=2**j)) for j in range(0, 61, 10)]
    assert rhos == sorted(rhos, reverse=True)
    assert float(rhos[0]) == pytest.approx(math.tanh(0.5))
    assert float(rhos[-1]) == pytest.approx(math.exp(-1))
    assert rhos[-1] >= rho_upper(LaplaceLoss(epsilon=1))
    assert float(rho_upper(LaplaceLoss(epsilon=1))) == pytest.approx(math.exp(-1), rel=1e-15)


def test_several_numbers_cost_what_each_of_them_costs():
    """Ten counts at epsilon 1 in all leak far less than one count at epsilon 1."""
    many = GeometricLoss(epsilon=1, changes=10)
    each = GeometricLoss(epsilon="0.1")
    assert pure_upper(many) == 1
    assert rho_upper(many) == 10 * rho_upper(each)
    assert renyi_upper(many, F(8)) == 10 * renyi_upper(each, F(8))
    assert rho_upper(many) < rho_upper(GeometricLoss(epsilon=1)) / 9


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("top", [F(1, 100), F(1, 4), F(1, 2), F(3, 4), F(99, 100)])
def test_two_losses_an_interval_apart_stay_within_the_range_lemma(order, top):
    """All two-point laws whose losses are t and t - epsilon: the extreme ones of a range."""
    epsilon = F(2)
    t = top * epsilon  # q = (1 - e^(t - e)) ... solved from p e^-t + (1 - p) e^(e - t) = 1
    p = (exp(epsilon - t, 128) - 1) / (exp(epsilon - t, 128) - exp(-t, 128))
    moment = p * exp((order - 1) * t, 128) + (1 - p) * exp((order - 1) * (t - epsilon), 128)
    divergence = log(moment, 100) / (order - 1)
    assert divergence.upper <= renyi_upper(RangeLoss(epsilon=epsilon), order)


def test_the_range_lemma_is_tight_for_small_ranges():
    """In the middle of the interval the divergence comes near epsilon^2/8 per order."""
    epsilon, order = F(1, 100), F(2)
    loss = PairLoss(first=["0.50125", "0.49875"], second=["0.49875", "0.50125"])
    width = bounds._width_upper(loss)
    assert renyi_upper(loss, order) > F(99, 100) * order * width**2 / 8
    assert width == pytest.approx(epsilon, rel=0.01)


def seen_divergence(p, q, order):
    """The divergence over the outputs near the centre: a lower bound of it, to 1e-12."""
    outputs = p.outcomes if isinstance(p, Outcomes) else range(-120, 140)
    pairs = [(p.mass(output), q.mass(output)) for output in outputs]
    moment = sum(x * (x / y) ** (order - 1) for x, y in pairs if min(x, y) > 1e-280)
    return math.log(moment) / (order - 1)


PLAIN = [
    mechanism
    for mechanism in mechanisms()
    if not isinstance(mechanism.guarantee, dp.ApproxDP) and mechanism.parts == 1
]


@pytest.mark.parametrize("mechanism", PLAIN, ids=repr)
def test_what_a_mechanism_says_it_leaks_covers_its_exact_law(mechanism):
    """For every mechanism that ships: the divergence of its laws is within that of its loss."""
    for x, y in list(mechanism.small_neighbours())[:4]:
        for one, other in ((x, y), (y, x)):
            p, q = mechanism.law(one), mechanism.law(other)
            for order in (1.25, 4.0):
                price = float(renyi_upper(mechanism.privacy_loss, F(order)))
                assert seen_divergence(p, q, order) <= price * (1 + 1e-9) + 1e-12


def test_the_check_above_sees_a_loss_that_says_too_little():
    mechanism = dp.Geometric(epsilon=1)
    p, q = mechanism.law(0), mechanism.law(1)
    said = float(renyi_upper(GeometricLoss(epsilon="0.99"), F(4)))
    assert seen_divergence(p, q, 4.0) > said


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=lambda loss: loss.kind)
def test_the_estimate_that_the_search_uses_is_close(loss):
    for order in ORDERS:
        assert renyi_estimate(loss, float(order)) == pytest.approx(
            float(renyi_upper(loss, order)), rel=1e-6
        )


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=lambda loss: loss.kind)
def test_divergences_grow_with_the_order_and_stay_below_rho_times_it(loss):
    values = [renyi_upper(loss, order) for order in ORDERS]
    assert values == sorted(values)
    for order, value in zip(ORDERS, values, strict=True):
        assert value <= order * rho_upper(loss) * (1 + F(1, 2**38))


def test_a_pair_costs_the_worse_of_its_two_directions():
    loss = PairLoss(first=["0.9", "0.1"], second=["0.5", "0.5"])
    mirror = PairLoss(first=["0.5", "0.5"], second=["0.9", "0.1"])
    for order in ORDERS:
        assert renyi_upper(loss, order) == renyi_upper(mirror, order)
    exact = F(1, 2) ** 2 / F(9, 10) + F(1, 2) ** 2 / F(1, 10)  # the sum of q^2/p, order 2
    assert float(renyi_upper(loss, F(2))) == pytest.approx(math.log(exact))
    assert renyi_upper(loss, F(2)) >= log(exact, 80).lower
    assert float(pure_upper(loss)) == pytest.approx(math.log(5))


def test_laplace_noise_is_the_limit_of_geometric_noise():
    for order in ORDERS:
        laplace = renyi_upper(LaplaceLoss(epsilon=1), order)
        fine = renyi_upper(GeometricLoss(epsilon=1, sensitivity=1 << 40), order)
        assert laplace <= fine <= laplace * (1 + F(1, 10**9))
        coarse = renyi_upper(GeometricLoss(epsilon=1, sensitivity=2), order)
        assert fine < coarse < renyi_upper(PureLoss(epsilon=1), order)


def test_what_fails_and_what_is_random_is_said_apart():
    assert bounds.failure(ApproxLoss(epsilon=1, delta="1e-6")) == F(1, 10**6)
    assert bounds.failure(PureLoss(epsilon=1)) == 0
    assert bounds.gamma_of(RandomLoss(epsilon=1, gamma="0.05")) == F(1, 20)
    assert rho_upper(ApproxLoss(epsilon=0, delta="1e-6")) == 0
    assert renyi_upper(ApproxLoss(epsilon=0, delta="1e-6"), F(2)) == 0
    assert pure_upper(GaussianLoss(sigma_squared=1)) is None


def test_sums_stay_exact_while_they_are_short_and_are_rounded_up_when_they_are_not():
    total, truth = F(0), F(0)
    for n in range(2, 1200):
        total, truth = add_upper(total, F(1, n)), truth + F(1, n)
        assert total >= truth
    assert total.denominator.bit_length() <= bounds.LONGEST
    assert total - truth < F(1, 2**400)
    assert sum((F(1, 500) for _ in range(100)), F(0)) == F(1, 5)
    tally = F(0)
    for _ in range(100):
        tally = add_upper(tally, F(1, 500))
    assert tally == F(1, 5)
