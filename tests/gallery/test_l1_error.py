"""The L1 error: its expectation by adding up the laws, its samples within certified limits."""

import math

import numpy as np
import pytest

from discreet.gallery.experiment import Effort
from discreet.gallery.l1_error import (
    GEOMETRIC,
    GRID,
    REPLACED,
    ROUNDED,
    expected,
    ratio,
    run,
    sampled,
    spread,
)  # fmt: skip
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace


def masses(noise, epsilon):
    """P(|noise| >= k) for k = 1, 2, ..., from the law of the mechanism itself."""
    if noise == ROUNDED:  # up from k - 1/2, down from below -k + 1/2, in steps of the grid
        law = Laplace(epsilon=epsilon, sensitivity=1, grid=GRID).noise_law
        at_least = lambda k: law.tail(1024 * k - 513) + law.tail(1024 * k - 512)
    else:
        law = Geometric(epsilon=epsilon, changes=1 + (noise == REPLACED)).noise_law
        at_least = lambda k: 2 * law.tail(k - 1)
    found = [at_least(1)]
    while found[-1] > 1e-14:
        found.append(at_least(len(found) + 1))
    return found


@pytest.mark.parametrize("noise", [ROUNDED, GEOMETRIC, REPLACED])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_expectation_and_spread_by_adding_up(noise, epsilon):
    tails = masses(noise, epsilon)
    mean = sum(tails)
    square = sum((2 * k - 1) * p for k, p in enumerate(tails, 1))
    assert expected(noise, float(epsilon)) == pytest.approx(50 * mean)
    assert spread(noise, float(epsilon)) == pytest.approx(math.sqrt(50 * (square - mean**2)))


def test_what_the_caption_says_of_the_ratio():
    assert 1 / (ratio(0.1) - 1) == pytest.approx(800, rel=1e-2)
    assert ratio(1) == pytest.approx(1.13, abs=0.005)


def test_the_ratio_is_a_cosine():
    for epsilon in (0.1, 1.0, 3.0, 5.0):
        assert ratio(epsilon) == pytest.approx(math.cosh(epsilon / 2))
        assert expected(REPLACED, epsilon) == pytest.approx(2 * expected(ROUNDED, epsilon))


def limits(noise, epsilon, bins, level):
    """Between which the mean of `bins` absolute noises lies but for 2 `level` (Chernoff's bound).

    P(|noise| = 0) = 1 - t and P(|noise| = k) = t (1 - a) a^(k-1), for all three.
    """
    rate = epsilon / 2 if noise == REPLACED else epsilon
    a = math.exp(-rate)
    t = math.exp(-rate / 2) if noise == ROUNDED else 2 * a / (1 + a)
    mean = t / (1 - a)
    grow = lambda s: math.log(1 - t + t * (1 - a) * math.exp(s) / (1 - a * math.exp(s)))
    enough = -math.log(level) / bins

    def reached(x, sign):
        steps = [sign * rate * i / 400 for i in range(1, 399)]
        return max(s * x - grow(s) for s in steps) >= enough

    ends = []
    for sign in (-1, 1):
        x = mean
        while not reached(x, sign):
            x += sign * mean / 200
            if x <= 0:
                break
        ends.append(x)
    return ends


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [ROUNDED, GEOMETRIC, REPLACED])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_samples_are_about_their_expectation(noise, epsilon):
    """False alarm 2e-11 each, so below 1e-9 in all."""
    errors = sampled(noise, epsilon, 120)
    assert errors.shape == (120,)
    low, high = limits(noise, float(epsilon), 120 * 50, 1e-11)
    assert low < errors.mean() / 50 < high
    assert high < 1.4 * expected(noise, float(epsilon)) / 50  # tight enough to see a fault
    assert np.all(errors == np.rint(errors))


def test_what_is_told():
    found = run(Effort(fast=True))
    assert (found["repetitions"].ours, found["repetitions"].theirs) == (30, 500)
    assert found["expected L1 error, Laplace, rounded, epsilon 0.1"].ours == 499.79
    assert found["expected L1 error, geometric, epsilon 0.1"].ours == 499.17
    assert found["rounded Laplace to geometric at epsilon 3"].ours == 2.352
    assert found["a person replaced to one added or removed, epsilon 0.1"].ours == 2.003
    assert [figure.name for figure in found.figures] == ["l1-error", "l1-error-ratio"]
