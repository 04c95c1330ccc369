"""Heights: the shares are those of the law, the errors those of the mechanisms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from discreet.gallery import heights
from discreet.gallery.experiment import Effort
from discreet.mechanisms.laplace import Laplace
from discreet.sensitivity.oracle import GaussianMixture
from discreet.sensitivity.sampler import sample_sensitivity


def both(x):
    return (stats.norm.pdf(x, 178, 7) + stats.norm.pdf(x, 162, 6.5)) / 2


def share(distance):
    """P(|X - Y| > distance), by integrating over X."""
    below = lambda x: (stats.norm.cdf(x, 178, 7) + stats.norm.cdf(x, 162, 6.5)) / 2
    missed = lambda x: both(x) * (below(x - distance) + 1 - below(x + distance))
    return integrate.quad(missed, 80, 260, epsabs=1e-12, limit=400)[0]


@pytest.mark.parametrize("distance", [0, 5, 11.994, 30, 45])
def test_the_share_of_pairs_beyond_a_distance(distance):
    assert heights.share_beyond(distance) == pytest.approx(share(distance), rel=1e-7)


def test_the_density_is_that_of_the_mixture():
    for x in (150, 170, 178.5):
        halves = [heights.density(x, part) / 2 for part in heights.MIXTURE.components]
        assert sum(halves) == pytest.approx(both(x))


def test_quantiles_undo_shares():
    for level in (0.05, 0.5, 0.95, 0.999):
        assert heights.share_beyond(heights.quantile(level)) == pytest.approx(1 - level)
    assert round(heights.quantile(0.95), 1) == 28.4
    assert round(heights.quantile(0.99), 1) == 35.7


def test_the_distance_of_two_people():
    mixture = heights.MIXTURE
    assert mixture == GaussianMixture([(178, 7), (162, "6.5")])
    distance = integrate.quad(heights.share_beyond, 0, 150)[0]  # E D is the integral of P(D > t)
    squares = integrate.quad(lambda t: 2 * t * heights.share_beyond(t), 0, 150)[0]
    assert round(distance, 3) == 11.994
    assert mixture.expected_distance() == pytest.approx(distance)
    assert mixture.sd == pytest.approx(math.sqrt((7**2 + 6.5**2) / 2 + 8**2))
    assert round(math.sqrt(squares - distance**2), 2) == 8.68


def test_the_largest_of_sampled_pairs():
    """The median m has P(all of them <= m) = 1/2."""
    for pairs, median in ((19, 30.1), (1325, 45.4)):
        found = heights.typical_largest(pairs)
        assert (1 - share(found)) ** pairs == pytest.approx(0.5, abs=1e-6)
        assert round(found, 1) == median


def test_how_many_pairs_the_notebook_draws():
    """Its formula on the branch of Lambert's function that it takes, and on the right one."""
    for branch, pairs in ((1, heights.THEIR_PAIRS), (-1, 1305)):
        inner = special.lambertw(-0.05 / (2 * math.sqrt(math.e)), branch).real
        rho = math.exp(inner + 0.5)
        assert math.ceil(math.log(1 / rho) / (2 * (0.05 - rho) ** 2)) == pairs
    by_their_bound = sample_sensitivity(
        lambda data: float(data[0]), "L1", heights.MIXTURE, 1, gamma="0.05", bound="dkw"
    )
    assert by_their_bound.m == 1305


def test_millimetres_are_laplace_noise_on_a_grid():
    for epsilon in ("0.001", "1"):
        for size in heights.sensitivities().values():
            same = Laplace(epsilon=epsilon, sensitivity=Fraction(size, 10), grid="0.1")
            assert same.noise_law == heights.reports(epsilon, size).noise_law
    sizes = list(heights.sensitivities().values())
    assert sizes == [120, 225, 330]


def test_errors_by_adding_up_masses():
    law = heights.reports("3", 120).noise_law
    square = 2 * sum(k * k * law.mass(k) for k in range(1, 2500))
    assert heights.local_error("3", 120) == pytest.approx(math.sqrt(square / 500) / 10, rel=1e-9)
    wide = heights.reports("3", 1500).noise_law.variance
    assert heights.curator_error("3") == pytest.approx(math.sqrt(wide) / 5000)
    same = math.sqrt(heights.reports("1", 120).variance) / 5000
    assert heights.local_error("1", 120) / same == pytest.approx(math.sqrt(500))


def test_a_curator_for_everybody_beats_reports_for_typical_people():
    for epsilon in heights.PLACES:
        assert heights.curator_error(epsilon) < heights.local_error(epsilon, 120)


def test_drawn_errors_are_those_of_the_law():
    """False alarm below 1e-9: 400 squares of nearly normal errors, at most 1e-10 on either side."""
    local, central = heights.drawn_errors("0.3", 400)
    assert 0.6 < (local / heights.local_error("0.3", 120)) ** 2 < 1.6
    # 400 squares of single draws: below by Chernoff's bound, above by the largest of them
    assert 0.2 < (central / heights.curator_error("0.3")) ** 2 < 4


def test_the_people():
    cm = heights.people() / 10
    assert len(cm) == 500
    assert cm.mean() == pytest.approx(170)
    assert cm.std() == pytest.approx(1, abs=0.01)
    assert np.all((heights.BOUNDS[0] < 10 * cm) & (10 * cm < heights.BOUNDS[1]))


def test_how_often_all_of_500_pairs_are_within_the_largest_of_19():
    """All 519 are exchangeable: the largest is one of the 19 with 19/519. By integrating, too."""
    level = lambda u: 19 * u**18 * u**500  # the largest of 19 levels, and 500 more below it
    assert integrate.quad(level, 0, 1)[0] == pytest.approx(19 / 519)
    assert round(1 - 19 / 519, 2) == 0.96


def test_what_is_told():
    found = heights.run(Effort(fast=True))
    assert found["expected difference, cm"].ours == found["expected difference, cm"].theirs == 11.99
    assert found["standard deviation of a height, cm"].ours == 10.47
    assert found["with one standard deviation, cm"].ours == 22.46
    assert found["with two standard deviations, cm"].ours == 32.93
    told = [fact.ours for fact in found if fact.name.startswith("pairs beyond")]
    assert told == [round(100 * share(x), 1) for x in (11.9942, 22.4615, 32.9288)]
    assert told == [43.7, 13.4, 1.9]
    assert found["pairs to sample for gamma 0.05"].ours == 19
    assert found["chance that 19 pairs miss more than 5 % of all"].ours == 0.377
    assert found["error of the mean at epsilon 1, each person, cm"].ours == 0.759
    assert found["error of the mean at epsilon 1, curator, cm"].ours == 0.424
    assert found["error of the mean at epsilon 1, each for everybody, cm"].ours == 9.487
    pairs = "error of the mean at epsilon 1, each for the largest of 19 pairs, cm"
    assert found[pairs].ours == round(math.sqrt(2 / 500) * 30.2, 3)  # rounded up to millimetres
    sampled = found["largest of 19 pairs sampled now, cm"].ours
    assert 5 < sampled < 85  # false alarm below 1e-11 on either side
    assert [figure.name for figure in found.figures] == [
        "heights-density", "heights-error", "heights-loss",
    ]  # fmt: skip
