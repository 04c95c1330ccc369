"""Mechanisms under old names: shapes as before, costs as they are."""

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.compat.sherpa import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Mean,
    RandomizedResponseBinary,
    RandomizedResponseCoins,
)


def test_fair_coins_on_ones():
    """All 100 equal, or none, has a chance of 2 (3/4)^100 < 1e-12."""
    answers = RandomizedResponseCoins().apply(np.ones(100))
    assert 0 < answers.sum() < 100
    assert RandomizedResponseCoins().apply(1) in (0, 1)
    assert isinstance(RandomizedResponseCoins().apply(1), int)


@pytest.mark.parametrize(("coins", "mean"), [((0.01, 0.9), 0.999), ((0.99, 0.1), 0.109)])
def test_biased_coins(coins, mean):
    """10,000 bits within 0.05 of the mean: 16 standard errors, false alarm below 1e-50."""
    assert abs(RandomizedResponseCoins(*coins).apply(np.ones(10_000)).mean() - mean) < 0.05


@pytest.mark.parametrize(
    ("coins", "cost"),
    [((0.5, 0.5), math.log(3)), ((0.01, 0.9), math.log(991)), ((0.99, 0.1), math.log(109 / 99))],
)
def test_coins_cost_what_they_cost(coins, cost):
    """The original says ln 3 of all of them: too little for the second."""
    found = RandomizedResponseCoins(*coins).epsilon_delta
    assert math.isclose(found[0], cost, rel_tol=1e-12)
    assert found[1] == 0


@pytest.mark.parametrize("data", [2, [0, 1, 2], 0.5, "yes", np.nan])
def test_only_bits(data):
    with pytest.raises(ValueError, match="bits"):
        RandomizedResponseCoins().apply(data)


def test_coins_that_hide_nothing_are_refused():
    for wrong in ((0, 0.5), (0.5, 1), (1.5, 0.5), (0.5, -1)):
        with pytest.raises(ValueError, match=r"kernel|between"):
            RandomizedResponseCoins(*wrong)


def test_binary_response():
    for f in ((1, 0.5), (0.5, 1), (0.5, 2), (0, 0.5)):
        with pytest.raises(ValueError, match="strictly between"):
            RandomizedResponseBinary(*f, epsilon=20)
    assert RandomizedResponseBinary(0.5, 0.5, epsilon=1).apply(np.ones(3)).shape == (3,)
    with pytest.raises(ValueError, match="at least what these coins cost"):
        RandomizedResponseBinary(0.8, 0.8, epsilon=0.1)
    fine = RandomizedResponseBinary(0.8, 0.8, epsilon=np.log(4))
    assert math.isclose(fine.epsilon_delta[0], math.log(4))


@pytest.mark.parametrize("f", [(0.5, 0.01), (0.01, 0.5)])
def test_the_reciprocal_ratio_counts(f):
    """The original accepts epsilon 1 for coins that cost ln 50."""
    with pytest.raises(ValueError, match=r"3\.91202"):
        RandomizedResponseBinary(*f, epsilon=1)
    assert RandomizedResponseBinary(*f, epsilon=4).epsilon_delta[0] > 3.9


def test_laplace_keeps_the_shape_of_its_data():
    mechanism = LaplaceMechanism(1, 1)
    assert isinstance(mechanism.apply(10), float)
    assert mechanism.apply(np.zeros((3, 4))).shape == (3, 4)
    listed = LaplaceMechanism([1, np.ones(4)], 1).apply([np.zeros((3, 2)), np.zeros((3, 4))])
    assert [part.shape for part in listed] == [(3, 2), (3, 4)]
    named = LaplaceMechanism({"a": 1, "b": [1, 2]}, 1).apply({"a": np.zeros(2), "b": [1.0, 2.0]})
    assert named["a"].shape == (2,)
    assert len(named["b"]) == 2
    one = LaplaceMechanism(1, 1).apply({"a": np.zeros(2), "b": 3})
    assert one["a"].shape == (2,)
    assert isinstance(one["b"], float)
    assert isinstance(LaplaceMechanism(0.1, 1, Mean()).apply(np.arange(9)), float)


@pytest.mark.parametrize(
    ("sensitivity", "parts"),
    [(1, 1), ([1, 2], 2), ({"a": 1, "b": [1, 2]}, 3), (np.ones(4), 4), ([np.ones(3), 1], 4)],
)
def test_each_part_costs(sensitivity, parts):
    """The original says 0.5 of all of them."""
    assert LaplaceMechanism(sensitivity, 0.5).epsilon_delta == (0.5 * parts, 0)
    found = GaussianMechanism(sensitivity, (0.5, 1e-6)).epsilon_delta
    assert found == (0.5 * parts, float(parts * Fraction(1, 10**6)))


@pytest.mark.parametrize("make", [lambda s: LaplaceMechanism(s, 1),
                                  lambda s: GaussianMechanism(s, (1, 1e-5))])  # fmt: skip
def test_wrong_shapes(make):
    with pytest.raises(KeyError):
        make({"a": 1}).apply({"b": 1})
    with pytest.raises(IndexError):
        make([1]).apply([1, 2])
    with pytest.raises(ValueError, match="shape"):
        make(np.ones(3)).apply(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="more numbers"):
        make(np.ones(3)).apply(5)
    for wrong in (-1, 0, float("nan"), [1, -2], []):
        with pytest.raises(ValueError, match="sensitivity"):
            make(wrong)
    for data in ((1, 2), "text", None, np.array(["x"])):
        with pytest.raises(TypeError):
            make(1).apply(data)


@pytest.mark.statistical
def test_noise_has_the_scale_that_was_asked_for():
    """Mean absolute noise of 4,000 draws within 20 % of S/epsilon: 12 standard errors."""
    noise = LaplaceMechanism(2, 0.5).apply
    drawn = np.array([noise(100.0) for _ in range(4000)]) - 100
    assert abs(np.abs(drawn).mean() / 4 - 1) < 0.2
    columns = LaplaceMechanism(np.array([1.0, 100.0]), 1).apply(np.zeros((3000, 2)))
    means = np.abs(columns).mean(axis=0)
    assert abs(means[0] - 1) < 0.3
    assert abs(means[1] - 100) < 30


@pytest.mark.slow
@pytest.mark.statistical
def test_gaussian_noise_is_the_analytic_one():
    """Below the classic sigma sqrt(2 ln(1.25/delta)), which the original needs epsilon < 1 for.

    600 draws: the sample deviation is within 20 % (6.9 standard errors) of 3.73.
    """
    mechanism = GaussianMechanism(1, (1, 1e-5))
    drawn = np.array([mechanism.apply(0.0) for _ in range(600)])
    assert abs(drawn.std() / 3.73 - 1) < 0.2
    assert drawn.std() < math.sqrt(2 * math.log(1.25e5))
    assert mechanism.apply(np.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("pair", [(1, 1e-5, 0), (-1, 1e-5), (1, -1e-5), (1, 1), (0.9, 1.25), 3])
def test_epsilon_and_delta_of_gaussian_noise(pair):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        GaussianMechanism(1, pair)


def revenue(bids, prices):
    return np.array([price * np.sum(bids >= price) for price in prices])


def test_prices():
    """Epsilon 500: the best price is 1, and a price that earns 0.2 less is e^-14 as likely."""
    bids, prices = np.array([1, 1, 1, 3.01]), np.arange(0, 3.5, 0.01)
    mechanism = ExponentialMechanism(revenue, prices, delta_u=3.499, epsilon=500, size=5)
    assert np.all(np.abs(mechanism.apply(bids) - 1) < 0.1)
    alone = ExponentialMechanism(revenue, prices, delta_u=3.499, epsilon=500).apply(bids)
    assert np.ndim(alone) == 0


def test_every_draw_costs():
    """The original says 0.5."""
    mechanism = ExponentialMechanism(revenue, [1.0], 1, epsilon=0.5, size=7)
    assert mechanism.epsilon_delta == (3.5, 0)


def test_laplace_as_exponential():
    """Tails: 2 e^-16 at each draw; the mean of 100 draws has the standard error 0.15."""
    r = np.arange(-20, 20, 0.05)
    mechanism = ExponentialMechanism(lambda x, r: -np.abs(x - r), r, delta_u=1, epsilon=2, size=100)
    drawn = mechanism.apply(3.5)
    assert np.all(np.abs(drawn) <= 20)
    assert abs(drawn.mean() - 3.5) < 1.2


def test_scores_far_apart_do_not_overflow():
    mechanism = ExponentialMechanism(lambda x, r: 1e6 * r, np.array([0.0, 1.0]), 1, epsilon=10)
    assert mechanism.apply(0) == 1


def test_scores_have_to_be_finite():
    for u in (lambda x, r: np.full(len(r), np.nan), lambda x, r: [1.0]):
        with pytest.raises(dp.InputTypeError):
            ExponentialMechanism(u, [1, 2], 1, 1).apply(0)
