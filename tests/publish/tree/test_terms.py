"""The noise of either kind, what it promises, and what it costs."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.geometric import Geometric
from discreet.noise.source import system_source
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.loss import PureLoss, ZCDPLoss
from discreet.publish.tree import terms as module
from discreet.publish.tree.terms import UNITS, terms_from_dict, terms_of

F = Fraction


def test_a_price_is_an_epsilon_or_a_rho():
    pure = terms_of(epsilon="0.1", sensitivity=3)
    assert pure.guarantee == PureDP("0.1")
    assert pure.privacy_loss == PureLoss(epsilon="0.1")
    other = terms_of(rho="0.1", sensitivity=3, neighbours="replace")
    assert other.guarantee == ZCDP("0.1", "replace")
    assert other.privacy_loss == ZCDPLoss(rho="0.1", neighbours="replace")
    for wrong in (
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"rho": 0},
        {"rho": float("nan")},
        {"rho": 1, "sensitivity": 0},
        {"rho": 1, "neighbours": "both"},
    ):
        with pytest.raises(ParameterError):
            terms_of(**wrong)


@pytest.mark.parametrize("price", [{"epsilon": "1/3"}, {"rho": "1/7"}])
def test_terms_can_be_written_down(price):
    terms = terms_of(**price, sensitivity=5, neighbours="replace")
    assert terms_from_dict(terms.to_dict()) == terms
    with pytest.raises(ParameterError):
        terms_from_dict({**terms.to_dict(), "delta": "1/2"})


def test_noise_that_does_not_fit_64_bits_is_refused():
    assert terms_of(epsilon=F(1, 1 << 40)).unit == F(1, 1 << 56)
    assert terms_of(rho=F(1, 1 << 81)).variance == F(1 << 96)
    for price in (
        {"epsilon": F(1, (1 << 40) + 1)},
        {"epsilon": F(1, 2), "sensitivity": 1 << 40},
        {"rho": F(1, (1 << 81) + 1)},
        {"rho": F(1, 4), "sensitivity": 1 << 40},
    ):
        with pytest.raises(ParameterError, match="64 bits"):
            terms_of(**price)


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_all_units_on_one_count_are_the_mechanism_of_the_whole_price(sensitivity):
    """The least noise that the promise allows, so nothing is given away."""
    pure = terms_of(epsilon="0.3", sensitivity=sensitivity)
    assert pure.unit * UNITS == F(3, 10) / sensitivity
    other = terms_of(rho="0.3", sensitivity=sensitivity)
    alone = Gaussian(rho="0.3", sensitivity=sensitivity)
    assert other.variance / UNITS == alone.sigma_squared


@pytest.mark.parametrize("price", [{"epsilon": "0.3"}, {"rho": "0.02"}])
def test_sharpness_is_that_of_laplace_noise_of_the_same_variance(price):
    units = np.array([40, 4000, UNITS])
    terms = terms_of(**price, sensitivity=2)
    if "epsilon" in price:
        variance = 2 / (units * float(terms.unit)) ** 2
    else:
        variance = float(terms.variance) / units
    assert 2 / terms.sharpness(units) ** 2 == pytest.approx(variance)


def test_how_unlikely_noise_is_follows_from_its_law():
    """Differences of logarithms of exact masses, to a part in a billion."""
    at = np.arange(-9, 10)
    pure, other = terms_of(epsilon="0.3"), terms_of(rho="0.3")
    found = pure.unlikely(pure.sharpness(np.array(40_000)), at)
    expected = [float(abs(k) * pure.unit * 40_000) for k in at.tolist()]
    assert found == pytest.approx(expected, rel=1e-9)
    found = other.unlikely(other.sharpness(np.array(40_000)), at)
    expected = [float(k * k * 40_000 / (2 * other.variance)) for k in at.tolist()]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("units", [1, 7, 4588, UNITS])
def test_a_quotient_of_a_geometric_value_is_geometric(units):
    """P(floor(G/k) = j) is the sum of k masses of G: the law at k times the rate."""
    unit = F(1, 1000)
    fine, coarse = Geometric(unit), Geometric(units * unit)
    for j in (0, 1, 5):
        inside = fine.cumulative(units * (j + 1) - 1) - (fine.cumulative(units * j - 1) if j else 0)
        assert inside == pytest.approx(coarse.mass(j), rel=1e-9, abs=1e-15)


def test_noise_is_the_difference_of_two_such_quotients(monkeypatch):
    drawn = iter([np.array([9, 10, 700]), np.array([0, 21, 3])])

    class Fixed:
        def many(self, size, source):
            return next(drawn)

    rates = []
    monkeypatch.setattr(module, "one_sided", lambda rate: rates.append(rate) or Fixed())
    terms = terms_of(epsilon=F(UNITS, 1000))
    found = terms.noise(np.array([5, 10, 7]), system_source())
    assert found.tolist() == [9 // 5 - 0, 10 // 10 - 21 // 10, 700 // 7 - 0]
    assert rates == [F(1, 1000)]


@pytest.mark.statistical
def test_noise_has_the_variance_of_its_rate():
    """False alarm below 1e-9: 2e5 draws, eight standard deviations of the sample variance."""
    units = np.repeat([1 << 12, UNITS], 200_000)
    found = terms_of(epsilon="1/2").noise(units, system_source())
    for part, rate in ((found[:200_000], 1 / 32), (found[200_000:], 1 / 2)):
        a = np.exp(-rate)
        variance = 2 * a / (1 - a) ** 2
        assert np.var(part) == pytest.approx(variance, rel=8 * (6 / 200_000) ** 0.5)


@pytest.mark.statistical
def test_gaussian_noise_has_the_variance_of_its_units():
    """False alarm below 1e-9: 2e5 draws, seven standard deviations of the sample variance."""
    terms = terms_of(rho="1/50", sensitivity=2)
    units = np.repeat([1 << 12, UNITS], 200_000)
    found = terms.noise(units, system_source())
    for part, variance in ((found[:200_000], 1600), (found[200_000:], 100)):
        assert np.var(part) == pytest.approx(variance, rel=7 * (2 / 200_000) ** 0.5)


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("order", [1.1, 1.5, 2, 3])
def test_two_measurements_that_share_an_account_diverge_by_rho(sensitivity, order):
    """A person with all her rows in one cell, which two nodes hold: from the exact laws.

    The mean of (p/q)^a is at most exp(a (a - 1) rho), and is that for whole a.
    """
    terms = terms_of(rho="0.3", sensitivity=sensitivity)
    log = 0.0
    for units in (UNITS // 4, 3 * UNITS // 4):
        law = DiscreteGaussian(terms.variance / units)
        mass = {k: float(law.mass(k)) for k in range(-30, 31)}
        seen = [k for k in mass if k - sensitivity in mass and mass[k] > 1e-60]
        log += np.log(sum(mass[k] ** order * mass[k - sensitivity] ** (1 - order) for k in seen))
    bound = order * (order - 1) * 0.3
    assert log <= bound * (1 + 1e-9)
    assert order not in {2, 3} or log == pytest.approx(bound, rel=1e-6)
