"""Two million counts: noise by formula, what is missed by exact laws, and the real release."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from discreet.audit.exact import verify
from discreet.gallery import gwas
from discreet.gallery.experiment import Effort
from discreet.mechanisms.selection import NoisyMax
from discreet.privacy.guarantee import PureDP

LN2 = math.log(2)


@pytest.fixture(scope="module")
def found():
    return gwas.run(Effort(fast=True))


def continuous(places):
    """The least sigma of normal noise at (ln 2, 1e-6), by the formula of Balle and Wang."""

    def excess(sigma):
        return norm.cdf(1 / (2 * sigma) - LN2 * sigma) - 2 * norm.cdf(
            -1 / (2 * sigma) - LN2 * sigma
        )

    return math.sqrt(places) * brentq(lambda s: excess(s) - 1e-6, 1, 20)


@pytest.mark.parametrize("places", [10, 1000, 2_000_000])
def test_noise_on_counts(places):
    assert gwas.deviation(gwas.LAPLACE, places) == pytest.approx(
        math.sqrt(2) * places / LN2, rel=1e-3
    )
    normal = gwas.deviation(gwas.NORMAL, places)
    assert continuous(places) < normal < 1.002 * continuous(places)
    assert gwas.adding(gwas.NORMAL, places).delta_upper() <= F(1, 10**6)
    assert gwas.adding(gwas.LAPLACE, places).guarantee.epsilon < F("0.69314718055994530941723213")


def test_noise_for_names_does_not_grow():
    masses = [0.5 ** (k + 1) for k in range(200)]  # P(G >= k) = 2^-k
    mean = sum(k * p for k, p in enumerate(masses))
    deviation = math.sqrt(sum((k - mean) ** 2 * p for k, p in enumerate(masses)))
    for places in (10, 2_000_000):
        assert gwas.deviation(gwas.BEST, places) == pytest.approx(deviation)
        assert gwas.deviation(gwas.TEN, places) == pytest.approx(10 / LN2, rel=1e-3)


def test_gaussian_noise_is_smaller_from_nine_counts_on():
    assert gwas.crossing() == 9
    for places, smaller in ((8, False), (9, True)):
        assert (continuous(places) < math.sqrt(2) * places / LN2) is smaller


@pytest.mark.parametrize("places", [10, 40])
def test_what_is_missed_by_the_exact_law_of_the_worst_counts(places):
    """One count leads and all others are just beyond the stated distance."""
    mechanism = gwas.CHOOSING[gwas.BEST]
    distance = mechanism.error("0.95", places)
    for behind, good in ((distance + 1, True), (distance // 2, False)):
        lost = 1 - mechanism.law([behind] + [0] * (places - 1)).mass(0)
        assert (lost <= 0.05) is good


def test_naming_is_private_and_not_at_half_the_noise():
    assert verify(NoisyMax(epsilon=gwas.EPSILON, monotone=True)).proven
    half = PureDP(gwas.EPSILON / 2)
    assert verify(NoisyMax(epsilon=gwas.EPSILON, monotone=True), guarantee=half).refuted


def test_what_is_missed_by_formula():
    def missed(places, names):
        return math.ceil(names * math.log2((places - names) * names / (names + 1) / 0.05))

    for places in (100, 10_000, 2_000_000):
        assert gwas.error(gwas.BEST, places) == missed(places, 1)
        assert gwas.error(gwas.TEN, places) == missed(places, 10)
        assert gwas.error(gwas.LAPLACE, places) == pytest.approx(
            math.log(20) * places / LN2, rel=2e-2
        )
        assert gwas.error(gwas.NORMAL, places) == pytest.approx(1.96 * continuous(places), rel=1e-2)


def test_how_many_people_all_places_need():
    """An error within 1 % of the people, with 95 % for each: what the last note says."""
    people = [100 * gwas.error(kind, 2_000_000) for kind in (gwas.LAPLACE, gwas.NORMAL, gwas.TEN)]
    assert [round(people[0] / 1e6), round(people[1] / 1e6, 1), round(people[2], -3)] == [
        864, 1.6, 25_000,
    ]  # fmt: skip


def test_the_study():
    counts = gwas.study()
    assert len(counts) == 2_000_000
    assert counts.min() == 0
    ten = gwas.associated()
    assert counts[ten].tolist() == list(range(31_000, 36_000, 500))
    assert set(np.argsort(counts)[-10:]) == set(ten.tolist())
    assert np.delete(counts, ten).max() <= 30_000
    assert np.array_equal(np.sort(gwas.study(1000))[-10:], np.sort(counts)[-10:])


def test_what_is_told(found):
    told = {fact.name: fact.ours for fact in found}
    assert told["deviation of Laplace noise, 10 counts"] == 20.4
    assert told["deviation of Laplace noise, 2,000,000 counts, in millions"] == 4.08
    assert told["deviation of Gaussian noise, 2,000,000 counts"] == 8401
    assert round(continuous(2_000_000), -1) == 8400
    assert 485 < told["Laplace to Gaussian, 2,000,000 counts"] < 486
    assert told["how far behind the largest, 95 %: 10 counts"] == 7
    assert told["how far behind the largest, 95 %: 2,000,000 counts"] == 25
    assert told["how far behind the ten largest, 95 %: 2,000,000 counts"] == 252
    ten = "deviation of the ten counts, half of epsilon for their names and half for them"
    assert told[ten] == round(math.sqrt(2) * 20 / LN2, 1) == 40.8
    assert [figure.name for figure in found.figures] == ["gwas", "gwas-people", "gwas-release"]


def test_how_many_counts_people_bear():
    for kind in (gwas.LAPLACE, gwas.NORMAL):
        most = gwas.most(kind)
        assert gwas.error(kind, most) <= 1000 < gwas.error(kind, most + 1)
    assert gwas.most(gwas.LAPLACE) == pytest.approx(1000 * LN2 / math.log(20), abs=1)
    expected = (1000.5 / 1.96 / continuous(1)) ** 2
    assert gwas.most(gwas.NORMAL) == pytest.approx(expected, rel=2e-3)


def test_the_real_release(found):
    """False alarms. Mean squares off by the rounding: for 2,000,000 Gaussians of deviation 8,401,
    1.2 % is 12 standard deviations; for Laplace noise below exp(-37) (a sum of squares with E X^4 =
    6 E^2) and above exp(-82) (Bernstein, but for a value beyond 40 scales, chance 1e-11). Naming
    fails with a chance below 10 x 2,000,000 x 2^-100; Laplace noise puts each of the ten among the
    first with about 1.02 x 10/2,000,000, and so three of them with less than 1e-13.
    """
    told = {fact.name: fact.ours for fact in found}
    assert told["drawn: deviation of the Laplace release, in millions"] == 4.1
    assert told["drawn: deviation of the Gaussian release, in thousands"] == 8.4
    assert told["drawn: of the ten places, found by naming ten"] == 10
    assert told["drawn: of the ten places, found by Laplace noise"] <= 2


def test_what_seems_largest():
    counts = np.arange(40)
    released = gwas.Released(counts, {"x": counts[::-1].copy()}, [])
    assert released.largest("x") == list(range(10))
    assert released.right(gwas.associated(40).tolist()) == 10
    assert released.right([2, 3, 6]) == 2
