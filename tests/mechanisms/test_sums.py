"""Sums of noise: Laplace sums in closed form, and widths that hold for geometric sums."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.sums import geometric_variance, geometric_width, laplace_sum
from discreet.noise.geometric import TwoSidedGeometric


@pytest.mark.parametrize("risk", [0.9, 0.5, 0.05, 1e-3, 1e-6, 1e-12, 1e-29])
def test_the_law_of_a_sum_of_laplace_variables(risk):
    t = laplace_sum((1.0, 1.0), risk)
    assert math.exp(-t) * (1 + t / 2) == pytest.approx(risk, rel=1e-5)
    t = laplace_sum((1.0,) * 3, risk)
    assert math.exp(-t) * (8 + 5 * t + t * t) / 8 == pytest.approx(risk, rel=1e-5)
    for scale in (0.001, 0.2, 0.999):
        t = laplace_sum((scale, 1.0), risk)
        truth = (math.exp(-t) - scale**2 * math.exp(-t / scale)) / (1 - scale**2)
        assert truth == pytest.approx(risk, rel=1e-4)
    if risk <= 0.05:
        number_of = 60
        t = laplace_sum((1.0,) * number_of, risk)
        normal = math.sqrt(2 * number_of)
        assert t > normal  # and not far from normal
        if risk == 0.05:
            assert t / normal == pytest.approx(1.96, abs=0.01)


@pytest.mark.parametrize("number_of", [500, 5_000])
def test_a_sum_of_many_is_nearly_normal(number_of):
    t = laplace_sum((1.0,) * number_of, 0.05)
    assert t / math.sqrt(2 * number_of) == pytest.approx(1.96, abs=0.002)


def exact_tail(weights, rates, t):
    """P(|sum of weights * noise| > t) for whole weights, by convolution of the exact laws."""
    law = {0: 1.0}
    for w, rate in zip(weights, rates, strict=True):
        noise = TwoSidedGeometric(rate)
        reach = math.ceil(25 / rate)
        masses = {k: noise.mass(abs(k)) for k in range(-reach, reach + 1)}
        after: dict[int, float] = {}
        for s, p in law.items():
            for k, m in masses.items():
                after[s + w * k] = after.get(s + w * k, 0.0) + p * m
        law = after
    return sum(p for s, p in law.items() if abs(s) > t)


CASES = [
    ([1, 1], [1, 1]),
    ([1, 1, 1], [2, 2, 2]),
    ([1, -2, 3], [1, 1, 2]),
    ([1, 1], ["1/5", "1/5"]),
    ([5, 1, 1], ["1/2", 1, 2]),
]


@pytest.mark.parametrize(("weights", "rates"), CASES)
@pytest.mark.parametrize("risk", [0.5, 0.1, 0.05, 0.01, 1e-4])
def test_the_width_holds_and_is_not_wasteful(weights, rates, risk):
    """Against the exact law of the sum: the risk is kept, and not undercut by a factor of 60."""
    exact = [Fraction(rate) for rate in rates]
    parts = [(np.array([w], dtype=float), rate) for w, rate in zip(weights, exact, strict=True)]
    width = geometric_width(parts, risk)
    assert exact_tail(weights, exact, width) <= risk
    assert exact_tail(weights, exact, width * 0.5 - 1) > risk


def test_one_number_has_its_exact_width():
    law = TwoSidedGeometric(Fraction(1, 3))
    width = geometric_width([(np.array([0.0, 2.0]), Fraction(1, 3))], Fraction(1, 20))
    assert 2 * law.tail(int(width / 2)) <= 0.05 < 2 * law.tail(int(width / 2) - 1)


def test_no_weight_no_width_and_no_rarer_risk_than_floats_tell():
    assert geometric_width([(np.zeros(3), Fraction(1))], 0.05) == 0
    parts = [(np.ones(3), Fraction(1))]
    assert geometric_width(parts, Fraction(1, 10**40)) == geometric_width(parts, 1e-29)


def test_the_variance_is_that_of_the_law():
    a = math.exp(-0.5)
    assert geometric_variance(Fraction(1, 2)) == pytest.approx(2 * a / (1 - a) ** 2, rel=1e-12)


def test_a_weight_may_come_several_times():
    once = [(np.array([1.0, 1.0, 1.0, 0.5]), Fraction(1, 3))]
    several = [(np.array([1.0, 0.5]), Fraction(1, 3))]
    times = [np.array([3, 1])]
    assert geometric_width(once, 0.05) == geometric_width(several, 0.05, times=times)
    assert laplace_sum((1.0, 0.5), 0.05, (3, 1)) == pytest.approx(
        laplace_sum((1.0, 1.0, 1.0, 0.5), 0.05)
    )
