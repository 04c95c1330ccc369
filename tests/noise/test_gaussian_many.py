"""Discrete Gaussians of many variances at once: their law is the exact one."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.exact import exp
from discreet.noise import gaussian_many
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_many import MOST, Gaussians, gaussians
from discreet.noise.source import KeyedSource, system_source

F = Fraction
VARIANCES = [F(33), F(65536, 7), F(10**9, 3), F(1 << 96), F(1, 3)]


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("unit", [1, 7, 4588, MOST])
def test_proposing_and_keeping_give_the_law(variance, unit):
    """The log of the chance to be proposed and kept is -y^2/(2 v) plus a constant: in fractions."""
    draws = Gaussians(variance)
    factor = int(draws.factors(np.array([unit]))[0])
    rate, v = factor * draws.rate, variance / unit
    at = [0, 1, -1, 5, -8, 12, 10**6, -(10**15)]
    constants = {rate * abs(y) + draws.gap(unit, factor, y) - F(y * y) / (2 * v) for y in at}
    assert len(constants) == 1
    assert all(draws.gap(unit, factor, y) >= 0 for y in at)


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_rate_of_proposals_suits_the_deviation(variance):
    """Then about three in four are kept, whatever the variance."""
    draws, units = Gaussians(variance), np.array([1, 7, 4588, MOST])
    found = draws.factors(units) * float(draws.rate) * np.sqrt(float(variance) / units)
    assert found == pytest.approx(np.ones(4), rel=0.01)


@pytest.mark.parametrize("variance", VARIANCES[:4])
def test_what_floats_decide_is_decided_rightly(variance):
    """Bits of U far from, near to and next to exp(-g), against certified bounds."""
    draws, source = Gaussians(variance), KeyedSource(bytes(32))
    units = np.array([1, 7, 4588, MOST])
    factors = draws.factors(units)
    for (unit, factor), steps in itertools.product(
        zip(units.tolist(), factors.tolist(), strict=True), (0, 0.5, 1, 1.7, 4, 9, 40)
    ):
        value = round(steps * (float(variance) / unit) ** 0.5)
        found = exp(-draws.gap(unit, factor, value), 200)
        low, high = (int(end * (1 << 64)) for end in (found.lower, found.upper))
        for apart in (1, 2, 1 << 11, 1 << 30, 1 << 34, 1 << 50):
            for word, kept in ((low - apart, True), (high + apart, False)):
                if not 0 <= word < 1 << 64:
                    continue
                one = (np.array([x]) for x in (unit, factor, value))
                words = np.array([word], dtype=np.uint64)
                assert draws.decided(*one, words, source).tolist() == [kept]


def test_what_is_near_is_left_to_certified_bounds(monkeypatch):
    """A word 2^30 away from exp(-g), in units of 2^-64, is nearer than floats are let decide."""
    asked = []
    monkeypatch.setattr(gaussian_many, "is_kept", lambda *which: asked.append(which) or True)
    draws = Gaussians(F(100))
    factors = draws.factors(np.array([1]))
    found = exp(-draws.gap(1, int(factors[0]), 3), 200)
    word = int(found.lower * (1 << 64)) + (1 << 30)
    words = np.array([word], dtype=np.uint64)
    assert draws.decided(np.array([1]), factors, np.array([3]), words, system_source()).all()
    assert asked[0][:3] == (draws.gap(1, int(factors[0]), 3), word, 64)


@pytest.mark.statistical
@pytest.mark.parametrize(("variance", "unit"), [(F(100), 1), (F(65536, 3), 9000), (F(40), 200)])
def test_draws_have_the_law(variance, unit):
    """Every value that is not rare, by its exact mass.

    False alarm below 1e-9: a count of expectation m >= 1000 is m (1 + d) with a chance of at most
    2 exp(-m ((1 + d) ln(1 + d) - d)), and at eight deviations that is below 3e-13, of which there
    are 121 at most. At deviation 10 a scale 10 % off moves the commonest value by nine.
    """
    size, law = 200_000, DiscreteGaussian(variance / unit)
    found = gaussians(variance).many(np.full(size, unit), system_source())
    worst = 0.0
    for k in range(-60, 61):
        mass = float(law.mass(k))
        if mass * size < 1000:
            continue
        deviation = (size * mass * (1 - mass)) ** 0.5
        worst = max(worst, abs(np.count_nonzero(found == k) - size * mass) / max(deviation, 1.0))
    assert worst < 8


def test_units_beyond_the_known_are_refused():
    assert len(gaussians(F(5)).many(np.zeros(0, dtype=np.int64), system_source())) == 0
    for wrong in (0, MOST + 1):
        with pytest.raises(ParameterError):
            gaussians(F(5)).many(np.array([1, wrong]), system_source())
    with pytest.raises(ParameterError):
        Gaussians(F(0))
