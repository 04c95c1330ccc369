"""The learnt prior: against plain loops, on made-up noise, and with values that teach nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import discreet as dp
from discreet.local.posterior import _ROUNDS, _STEP, posterior_means
from discreet.mechanisms.nearest import onto_simplex
from discreet.noise.source import KeyedSource

LEAST = 0.002**2


def noise(k, scale=0.002):
    """Normal quantiles in an order that has nothing to do with the values: no chance takes part."""
    return scale * norm.ppf((np.arange(k) * 37 % k + 0.5) / k)


def variation(truth, found):
    return abs(truth - found).sum() / 2


def plainly(raw, at_zero, at_one):
    """The same by loops over all points, without windows, rounding or bins."""
    raw = [x + (1 - sum(raw)) / len(raw) for x in raw]
    points, top = [0.0], max(raw)
    while points[-1] < top:
        variance = at_zero + points[-1] * (at_one - at_zero)
        points.append(min(points[-1] + _STEP * variance**0.5, top))

    def fit(x):
        spread = [at_zero + point * (at_one - at_zero) for point in points]
        return [
            math.exp(-((x - point) ** 2) / (2 * v)) / v**0.5
            for point, v in zip(points, spread, strict=True)
        ]

    fits = [fit(x) for x in raw]
    prior = [1 / len(points)] * len(points)
    for _ in range(_ROUNDS):
        new = [0.0] * len(points)
        for row in fits:
            whole = sum(a * b for a, b in zip(row, prior, strict=True))
            for j, a in enumerate(row):
                new[j] += a * prior[j] / whole / len(raw)
        prior = new
    means = []
    for row in fits:
        whole = sum(a * b for a, b in zip(row, prior, strict=True))
        means.append(sum(a * b * c for a, b, c in zip(row, prior, points, strict=True)) / whole)
    return onto_simplex(np.array(means))


@pytest.mark.parametrize("at_one", [1, 30, 0.5])
def test_it_is_what_plain_loops_find(at_one):
    """To a twentieth of the noise: estimates are rounded, and the points lie elsewhere."""
    shares = np.sort(np.arange(1, 61) ** -1.5)
    raw = shares / shares.sum() + noise(60, 0.01) + 0.004  # they do not add up to 1
    found = posterior_means(raw, 1e-4, at_one * 1e-4)
    noises = 0.01 * np.sqrt(1 + found * (at_one - 1))
    assert (abs(found - plainly(raw.tolist(), 1e-4, at_one * 1e-4)) < noises / 20).all()
    assert variation(found, onto_simplex(raw)) > 0.03  # so that the comparison says something


@pytest.mark.parametrize(
    ("shares", "at_most"),
    [
        (np.ones(100), 0.25),
        (np.repeat([3.0, 1.0], 50), 0.4),
        (np.repeat([1.0, 0.0], [5, 95]), 0.6),
        (np.arange(1, 101) ** -1.0, 0.85),
        (np.arange(1, 101) ** -1.5, 0.85),
        (np.exp(-np.arange(100) / 20), 1.03),
    ],
    ids=["flat", "two", "few", "zipf 1", "zipf 1.5", "exponential"],
)
def test_it_is_nearer_than_the_projection(shares, at_most):
    """In total variation, as a part of the projection's, with noise as of a million reports."""
    truth = shares / shares.sum()
    raw = truth + noise(100)
    found = posterior_means(raw, LEAST, LEAST)
    assert variation(truth, found) < at_most * variation(truth, onto_simplex(raw))


def test_values_that_teach_each_other_nothing_are_projected():
    truth = np.arange(1, 21) / 210
    raw = truth + noise(20, 1e-4)
    assert posterior_means(raw, 1e-8, 1e-8).tolist() == onto_simplex(raw).tolist()


@pytest.mark.parametrize(
    ("raw", "at_zero", "at_one"),
    [
        ([1.0], 1e-4, 1e-4),
        ([0.3, 0.7], 1e-20, 1e-20),  # finer than estimates are rounded
        ([0.5, 0.5, 0.0], 4.0, 4.0),  # all of it within a step of the grid
        ([0.5, 0.5], 1e-6, 1e-6),
    ],
)
def test_where_there_is_nothing_to_learn(raw, at_zero, at_one):
    given_ = np.array(raw)
    found = posterior_means(given_, at_zero, at_one)
    assert found == pytest.approx(onto_simplex(given_), abs=1e-3)


@given(
    st.lists(st.floats(-0.1, 1.2), min_size=2, max_size=40),
    st.floats(1e-6, 1),
    st.floats(1e-6, 1),
    st.randoms(use_true_random=False),
)
def test_a_distribution_that_keeps_the_order_whatever_the_values_are_called(raw, a, b, order):
    given_ = np.array(raw)
    found = posterior_means(given_, a, b)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    ranked = np.argsort(given_, kind="stable")
    assert (np.diff(found[ranked]) >= -1e-12).all()
    mixed = list(range(len(raw)))
    order.shuffle(mixed)
    assert posterior_means(given_[mixed], a, b) == pytest.approx(found[mixed], abs=1e-9)


def test_a_million_values_take_little_memory():
    """As many different estimates as are kept at most, whatever the number of values."""
    raw = 1e-6 + np.tile(noise(10_007, 1e-6), 100)
    found = posterior_means(raw, 1e-12, 1e-12)
    assert found.sum() == pytest.approx(1)
    assert variation(found, 1 / raw.size) < 0.3 * variation(onto_simplex(raw), 1 / raw.size)


@pytest.mark.parametrize(
    "make", ["KaryResponse", "OptimizedUnary", "SubsetSelection", "HadamardResponse"]
)
def test_estimates_have_it(make):
    """With the variances of the oracle; the keyed source makes the test the same each time."""
    oracle = getattr(dp.local, make)(50, 2)
    collector = dp.local.Collector(oracle)
    collector.add(oracle.reports(np.arange(20_000) % 50, source=KeyedSource(bytes(32))))
    found = collector.estimate()
    assert found.variances[0] * found.n == pytest.approx(oracle.normalised_variance(0))
    assert found.variances[1] * found.n == pytest.approx(oracle.normalised_variance(1))
    truth = np.full(50, 0.02)
    assert variation(truth, found.posterior) < 0.4 * variation(truth, found.projected)
    assert found.raw.tolist() == collector.estimate().raw.tolist()
