"""Convolved losses are never below the truth, and close to it."""

import contextlib
import dataclasses
import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.audit.exact import hockey_stick
from discreet.exact import exp
from discreet.mechanisms.gaussian_calibration import continuous_delta, exact_delta
from discreet.privacy import distribution
from discreet.privacy.distribution import distribution_of
from discreet.privacy.loss import (
    ApproxLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    NormalLoss,
    PairLoss,
    PureLoss,
    RangeLoss,
    ZCDPLoss,
)

MILLIONTH = F(1, 10**6)


def delta(losses, epsilon):
    return distribution_of(losses).delta_upper(F(epsilon))


def exact_pairs_delta(pairs, epsilon):
    """The least delta of a product of finite pairs, enumerated with exact rationals."""
    factor = exp(F(epsilon), 100)
    total = F(0)
    for outputs in product(*(list(zip(p, q, strict=True)) for p, q in pairs)):
        p = math.prod(one for one, _ in outputs)
        q = math.prod(other for _, other in outputs)
        total += max(F(0), p - factor.lower * q)
    return total


COINS = PairLoss(first=["0.7", "0.3"], second=["0.3", "0.7"])
DICE = PairLoss(first=["0.5", "0.3", "0.2"], second=["0.2", "0.3", "0.5"])


def worst_orientation(losses, epsilon):
    """The largest delta when each release may be in either direction by itself."""
    ways = product(*([(loss.first, loss.second), (loss.second, loss.first)] for loss in losses))
    return max(exact_pairs_delta(pairs, epsilon) for pairs in ways)


@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5", "1", "2"])
def test_finite_pairs_give_the_enumerated_delta_or_a_little_more(epsilon):
    """Five releases of two kinds, both directions, every transcript enumerated."""
    found = delta({COINS: 3, DICE: 2}, epsilon)
    pairs = [(COINS.first, COINS.second)] * 3 + [(DICE.first, DICE.second)] * 2
    mirrored = [(q, p) for p, q in pairs]
    truth = max(exact_pairs_delta(pairs, epsilon), exact_pairs_delta(mirrored, epsilon))
    assert truth <= found <= truth * F(101, 100) + F(1, 10**4)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "3.5"])
def test_a_pair_that_is_not_symmetric_may_turn_round_from_release_to_release(epsilon):
    """All forward and all mirrored are not the worst: the directions may be mixed."""
    skewed = PairLoss(first=["1/2", "1/2"], second=["1/100", "99/100"])
    lean = PairLoss(first=["0.6", "0.4"], second=["0.5", "0.5"])
    for losses in ({skewed: 2}, {lean: 6}, {skewed: 1, lean: 3}):
        each = [loss for loss, times in losses.items() for _ in range(times)]
        assert delta(losses, epsilon) >= worst_orientation(each, epsilon)


@pytest.mark.parametrize("exponent", [9, 6, 3])
def test_ratios_near_one_are_not_rounded_down(exponent):
    for n in (7, 13, 19):
        x = F(1, n * 10**exponent)
        pair = PairLoss(first=[F(1, 2) + x, F(1, 2) - x], second=[F(1, 2) - x, F(1, 2) + x])
        assert delta({pair: 1}, 0) >= 2 * x


def test_just_below_the_largest_loss_something_is_left():
    at = F(31, 3) - F(1, 10**16)
    assert delta({PureLoss(epsilon="1/3"): 1, PureLoss(epsilon=10): 1}, at) > F(5, 10**17)


def test_what_is_too_small_for_floats_is_not_lost():
    assert delta({ApproxLoss(epsilon=1, delta="1e-400"): 1}, 2) >= F(1, 10**400)


@pytest.mark.parametrize(
    "losses",
    [
        {PureLoss(epsilon="1e-400"): 1},
        {PureLoss(epsilon="1e-200"): 10**5},
        {PureLoss(epsilon="0.1"): 1, PureLoss(epsilon=F(1, 10) + F(1, 10**390)): 1},
        {GeometricLoss(epsilon="1e-310", sensitivity=2**62): 1},
        {GaussianLoss(sigma_squared="1e301", distance_squared="1e300"): 1},
        {GaussianLoss(sigma_squared="1e-400"): 1},
        {NormalLoss(sigma_squared="1e-400", distance_squared="1e400"): 1},
        {GaussianLoss(sigma_squared="1e400"): 1},
        {ApproxLoss(epsilon="0.01", delta="0.01"): 10**5},
        {ApproxLoss(epsilon=0, delta="1e-6"): 1, GaussianLoss(sigma_squared=100): 1},
        {
            PairLoss(
                first=[F(1, 10**400), 1 - F(1, 10**400)], second=[1 - F(1, 10**400), F(1, 10**400)]
            ): 1
        },
    ],
    ids=lambda losses: " ".join(loss.kind for loss in losses),
)
def test_extremes_give_an_answer_or_a_refusal_in_words(losses):
    accountant = dp.Accountant()
    for loss, times in losses.items():
        accountant.add(loss, times=times)
    for ask in (lambda: accountant.explain(epsilon=1), lambda: accountant.explain(delta="1e-5")):
        with contextlib.suppress(dp.DiscreetError):
            assert ask().value >= 0


def test_there_and_back_ends():
    """A delta that is just what the releases fail with."""
    accountant = dp.Accountant().add(ApproxLoss(epsilon="0.001", delta="1e-9"), times=3000)
    assert accountant.epsilon_upper(accountant.delta_upper(5)) <= 5


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "0.9"])
@pytest.mark.parametrize(("rate", "moved"), [(1, 1), (1, 2), (2, 7), (1, 16)])
def test_one_geometric_release_has_its_exact_delta(rate, moved, epsilon):
    mechanism = dp.Geometric(epsilon=rate, sensitivity=moved)
    truth = hockey_stick(mechanism.law(0), mechanism.law(moved), F(epsilon))
    found = delta({mechanism.privacy_loss: 1}, epsilon)
    assert truth.lower <= found <= truth.upper * F(102, 100) + F(1, 10**5)


@pytest.mark.parametrize("changes", [1, 3])
def test_several_numbers_are_several_releases(changes):
    once = delta({GeometricLoss(epsilon=1, sensitivity=4, changes=changes): 1}, "0.4")
    each = delta({GeometricLoss(epsilon=F(1, changes), sensitivity=4): changes}, "0.4")
    assert once == each


@pytest.mark.parametrize("moved", [4096, 4097, 10**6, 1 << 40, 1 << 62])
def test_long_geometric_laws_are_cut_into_runs_without_losing_anything(moved):
    found = delta({GeometricLoss(epsilon=1, sensitivity=moved): 3}, "1.5")
    laplace = delta({LaplaceLoss(epsilon=1): 3}, "1.5")
    assert found == pytest.approx(float(laplace), rel=1e-3)
    assert found >= laplace * F(999_999, 10**6)


def test_laplace_noise_has_the_textbook_delta():
    """1 - exp((e - epsilon)/2), at any e below epsilon; never less is said."""
    for at in ("0.1", "0.5", "0.9"):
        truth = 1 - math.exp((float(at) - 1) / 2)
        assert truth <= delta({LaplaceLoss(epsilon=1): 1}, at) <= truth * 1.02 + 1e-6


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_normal_noise_has_the_analytic_delta(epsilon):
    found = delta({NormalLoss(sigma_squared=2): 1, NormalLoss(sigma_squared=4): 2}, epsilon)
    truth = continuous_delta(F(epsilon), F(1), 80)
    assert truth.lower <= found <= truth.upper * F(1001, 1000)


@pytest.mark.parametrize("v", [F(1, 2), F(3), F(30), F(300), F(3000)])
def test_one_discrete_gaussian_has_its_exact_delta_or_a_little_more(v):
    """Small variances are kept discrete; large ones are read as normal, which costs 0.5 %."""
    epsilon = F(2) / max(1, int(v) ** 0.5).__ceil__()
    truth = exact_delta(v, 1, epsilon, 80)
    found = delta({GaussianLoss(sigma_squared=v): 1}, epsilon)
    assert truth.lower <= found <= truth.upper * F(104, 100) + F(1, 10**9)


def test_discrete_gaussians_add_up_like_normal_noise():
    """A hundred of variance 40,000 against one pair with a hundredth of it."""
    found = distribution_of({GaussianLoss(sigma_squared=40_000): 100})
    truth = continuous_delta(F(1, 5), F(100, 40_000), 80).lower
    assert truth <= found.delta_upper(F(1, 5)) <= truth * F(102, 100)
    assert 0 < found.extra < 1e-9
    assert found.factor >= 1


def test_below_the_extra_epsilon_delta_grows_by_what_that_is_worth():
    """Delta at -x is at most delta at 0 plus 1 - e^-x, and that is added where x is above 0."""
    plain = distribution_of({GaussianLoss(sigma_squared=10**6): 1})
    wide = dataclasses.replace(plain, extra=0.01)
    assert wide.delta_upper(F(0)) >= plain.delta_upper(F(0)) + F(99, 10_000)
    assert wide.delta_upper(F(1, 100)) < plain.delta_upper(F(0)) * F(101, 100)


def test_what_is_only_bounded_is_randomised_response():
    epsilon = F(1)
    pure = delta({PureLoss(epsilon=epsilon): 1}, "0.5")
    e, half = math.e, math.exp(0.5)
    assert float(pure) == pytest.approx((e - half) / (1 + e), rel=1e-9)
    assert delta({RangeLoss(epsilon=epsilon): 1}, "0.5") == pure
    fails = delta({ApproxLoss(epsilon=epsilon, delta="0.01"): 1}, "0.5")
    assert float(fails) == pytest.approx(0.01 + 0.99 * float(pure), rel=1e-9)


def test_deltas_of_failing_releases_add_up():
    found = delta({ApproxLoss(epsilon="0.1", delta="1e-9"): 50}, "5")
    assert 1 - (1 - F(1, 10**9)) ** 50 <= found <= F(50, 10**9) * (1 + MILLIONTH)


@pytest.mark.parametrize(("epsilon", "most"), [("0.002", 14_010), ("0.01", 562), ("0.02", 142)])
def test_batches_fixed_ahead_hold_this_many_queries(epsilon, most):
    """(1, 1e-6): 14,010, 562 and 142 releases that are only known to be epsilon-private."""
    fits = distribution_of({PureLoss(epsilon=epsilon): most}).epsilon_upper(MILLIONTH)
    more = distribution_of({PureLoss(epsilon=epsilon): most + 1}).epsilon_upper(MILLIONTH)
    assert fits <= 1 < more


def binomial_delta(epsilon, n, at):
    """The exact delta of n randomised responses: sums of binomials, in certified arithmetic."""
    base, factor = exp(epsilon, 200), exp(at, 200)
    total = F(0)
    for i in range(n + 1):
        p = math.comb(n, i) * base.upper**i
        q = math.comb(n, i) * base.lower ** (n - i)
        total += max(F(0), p - factor.lower * q)
    return total / (1 + base.lower) ** n


def test_homogeneous_sums_equal_the_binomial_formula():
    epsilon, at = F(1, 50), F(1)
    truth = binomial_delta(epsilon, 142, at)
    found = delta({PureLoss(epsilon=epsilon): 142}, at)
    assert truth * (1 - MILLIONTH) <= found <= truth * (1 + MILLIONTH)


@settings(deadline=None, max_examples=25)
@given(
    first=st.lists(st.integers(1, 20), min_size=2, max_size=3),
    second=st.lists(st.integers(1, 20), min_size=3, max_size=3),
    times=st.integers(1, 3),
    epsilon=st.fractions(0, 2, max_denominator=10),
)
def test_random_pairs_are_never_below_the_truth(first, second, times, epsilon):
    second = second[: len(first)]
    p, q = ([F(x, sum(masses)) for x in masses] for masses in (first, second))
    if p == q:
        return
    pair = PairLoss(first=p, second=q)
    assert delta({pair: times}, epsilon) >= worst_orientation([pair] * times, epsilon)
    halves = [x / 2 for x in (*p, *q)], [x / 2 for x in (*q, *p)]  # symmetric: which one is told
    symmetric = PairLoss(first=halves[0], second=halves[1])
    found, truth = delta({symmetric: 2}, epsilon), exact_pairs_delta([halves] * 2, epsilon)
    assert truth <= found <= truth * F(105, 100) + F(1, 1000)


def test_epsilon_is_the_least_that_meets_delta_and_is_met():
    found = distribution_of({PureLoss(epsilon="0.1"): 30, LaplaceLoss(epsilon="0.2"): 20})
    epsilon = found.epsilon_upper(MILLIONTH)
    assert found.delta_upper(epsilon) <= MILLIONTH
    assert found.delta_upper(epsilon - F(1, 10**5)) > MILLIONTH


def test_a_delta_below_what_floats_tell_is_not_answered():
    found = distribution_of({LaplaceLoss(epsilon="0.01"): 5000})
    assert found.slack > 0
    assert found.epsilon_upper(F(1, 10**15)) is None


def test_a_finer_grid_changes_little(monkeypatch):
    losses = {LaplaceLoss(epsilon="0.05"): 40, NormalLoss(sigma_squared=1600): 9}
    usual = distribution_of(losses).epsilon_upper(MILLIONTH)
    monkeypatch.setattr(distribution, "FINE", 1e-7)
    fine = distribution_of(losses).epsilon_upper(MILLIONTH)
    assert fine < usual < fine * F(1001, 1000)


def test_direct_convolution_and_transform_agree(monkeypatch):
    losses = {LaplaceLoss(epsilon="0.05"): 11, PureLoss(epsilon="0.1"): 7}
    usual = distribution_of(losses).delta_upper(F(1))
    monkeypatch.setattr(distribution, "DIRECT", 0)
    by_transform = distribution_of(losses)
    assert by_transform.slack > 0
    assert float(by_transform.delta_upper(F(1))) == pytest.approx(float(usual), rel=1e-5)


def test_the_bound_on_transforms_covers_what_they_err():
    """One convolution by transform against the exact one, in total variation."""
    rng = np.random.default_rng(7)
    x, y = (values / values.sum() for values in rng.random((2, 3000)))
    total = distribution._Sum(0.001)
    parts = [
        distribution._Part(distribution.Cells(0, law), len(law), float(np.linalg.norm(law)))
        for law in (x, y)
    ]
    composed = total.compose(*parts, 1)
    exact = np.convolve(x.astype(np.longdouble), y.astype(np.longdouble))
    erred = float(np.abs(composed.law._probs - exact).sum())
    assert total.absolute > 10 * erred > 0


def test_the_error_of_a_square_counts_for_every_copy_of_it():
    """Doubling ten times: what the first square errs is in the result 512 times."""
    total = distribution._Sum(0.001)
    law = np.full(8, 1 / 8)
    part = distribution._Part(distribution.Cells(0, law), 8, float(np.linalg.norm(law)))
    total.compose(part, part, 1)
    assert total.relative == pytest.approx(18 * distribution.UNIT)
    total.compose(part, part, 512)
    assert total.relative == pytest.approx(513 * 18 * distribution.UNIT)
    long = np.full(5000, 1 / 5000)
    part = distribution._Part(distribution.Cells(0, long), 5000, float(np.linalg.norm(long)))
    total.compose(part, part, 1)
    once = total.absolute
    total.compose(part, part, 512)
    assert total.absolute == pytest.approx(513 * once)


def test_tails_that_are_cut_off_go_to_infinity(monkeypatch):
    losses = {LaplaceLoss(epsilon="0.5"): 200}
    whole = distribution_of(losses).delta_upper(F(30))
    monkeypatch.setattr(distribution, "TRUNCATE", 1000)
    cut = distribution_of(losses).delta_upper(F(30))
    assert whole <= cut * (1 + MILLIONTH)
    assert float(cut) == pytest.approx(float(whole), rel=1e-6)


def test_what_has_no_loss_distribution_is_refused_in_words():
    with pytest.raises(dp.UnsupportedError, match="only rho is known"):
        distribution_of({ZCDPLoss(rho=1): 1})
    with pytest.raises(dp.UnsupportedError, match="several numbers"):
        distribution_of({GaussianLoss(sigma_squared=1, distance_squared=2): 1})


def test_the_exponential_mechanism_is_counted_as_often_as_it_was_released():
    """Ten times is ten times: counting once would give an epsilon of half, not of five."""
    ten = distribution_of({RangeLoss(epsilon="0.5"): 10}).epsilon_upper(MILLIONTH)
    one = distribution_of({RangeLoss(epsilon="0.5"): 1}).epsilon_upper(MILLIONTH)
    assert one <= F(1, 2)
    assert 4 < ten <= 5
