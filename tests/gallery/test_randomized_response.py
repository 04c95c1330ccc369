"""The tax survey: its numbers by adding up all reports, and by the source's formulas."""

import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from discreet.gallery.experiment import Effort
from discreet.gallery.randomized_response import (
    LN3,
    central,
    coins,
    local,
    posterior,
    run,
    survey,
    worth,
)
from discreet.mechanisms.response import RandomizedResponse


@pytest.fixture(scope="module")
def found():
    return run(Effort(fast=True))


def moments(truth, people, guilty):
    """Mean and variance of the estimated share, over all reports that so many people can give."""
    yes = [truth + (1 - truth) / 2] * guilty + [(1 - truth) / 2] * (people - guilty)
    mean = square = F(0)
    for reports in product((0, 1), repeat=people):
        chance = math.prod(p if r else 1 - p for p, r in zip(yes, reports, strict=True))
        estimate = (F(sum(reports), people) - (1 - truth) / 2) / truth
        mean += chance * estimate
        square += chance * estimate**2
    return mean, square - mean**2


@pytest.mark.parametrize("truth", [F(1, 2), F(1, 3)])
@pytest.mark.parametrize("guilty", [0, 1, 4])
def test_the_estimate_is_unbiased_and_its_variance_is_known_whoever_cheats(truth, guilty):
    mean, variance = moments(truth, 6, guilty)
    assert mean == F(guilty, 6)
    assert variance == local(coins(truth), 6)


def test_fair_coins_have_three_quarters_over_n_and_what_the_notebook_has():
    assert local(coins(), 10_000) == F(3, 40_000)
    r = F(35, 100)
    assert local(coins(), 10_000) + F(1, 5) * F(4, 5) / 10_000 == 4 * r * (1 - r) / 10_000


def test_the_page_s_estimate_is_the_formula():
    found = coins().estimate({"yes": 3500, "no": 6500})
    assert found.exact[0] == 2 * F(35, 100) - F(1, 2) == F(1, 5)
    half = math.sqrt(4 * math.log(40) / 20_000)
    assert found.interval()["yes"] == pytest.approx((0.2 - half, 0.2 + half))


def test_guilt_after_a_yes_is_at_most_three_times_the_base_rate():
    for base in (F(1, 1000), F(1, 100), F(1, 3), F(9, 10)):
        after = posterior("1/2", base)
        assert after == 3 * base / (1 + 2 * base)
        assert base < after <= 3 * base
        no = coins().posterior([base, 1 - base], "no")["yes"]
        assert no == pytest.approx(float(base / (3 - 2 * base)))
        assert no >= base / 3
    assert posterior("1/2", F(1, 10**9)) / F(1, 10**9) > 3 - F(1, 10**8)
    assert posterior("3/4", "1/10") > F(3, 10)  # other coins do exceed it


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_models_differ_by_half_the_people_at_every_epsilon(epsilon):
    mechanism = RandomizedResponse(epsilon=epsilon)
    for people in (10, 1000):
        ratio = float(local(mechanism, people)) / central(F(epsilon), people)
        assert ratio == pytest.approx(people / 2, rel=1e-9)
        few = worth(people)
        assert central(F(epsilon), few + 1) < local(mechanism, people)
        assert central(F(epsilon), few - 1) > local(mechanism, people)


def test_what_is_told(found):
    told = {fact.name: fact.ours for fact in found}
    assert told["epsilon of fair coins"] == round(math.log(3), 4)
    assert told["share of yes where 20 % cheat"] == 0.35
    assert told["deviation of the estimate, 10,000 people drawn from a population"] == 0.0095
    assert told["deviation of the estimate, these 10,000 people"] == 0.0087
    assert told["half-width of the proved 95 % interval, 10,000 people"] == 0.0272
    assert told["guilty given yes, where 1 % are"] == round(0.03 / 1.02, 4)
    assert told["epsilon of the truth with 0.99, else yes with 0.9"] == pytest.approx(
        math.log(0.991 / 0.001), abs=5e-4
    )
    assert told["epsilon of the truth with 0.01, else yes with 0.1"] == pytest.approx(
        math.log(0.109 / 0.099), abs=5e-4
    )
    assert told["local variance to central variance, 10,000 people"] == 5000
    assert worth(10_000) == 141
    assert F("1.0986122886682") > LN3
    assert found["epsilon of the truth with 0.99, else yes with 0.9"].theirs == "ln 3 = 1.099"
    assert [figure.name for figure in found.figures] == [
        "randomized-response", "randomized-response-coins", "randomized-response-posterior",
        "randomized-response-models",
    ]  # fmt: skip


def test_a_drawn_survey_comes_near():
    """Of 10,000 reports; Hoeffding's inequality, false alarm below 1e-10."""
    people = survey(10_000)
    assert (people == "yes").sum() == 2000
    fair = coins()
    estimate = fair.estimate(fair.release(people)).exact[0]
    assert abs(estimate - F(1, 5)) < fair.error("0.9999999999", n=10_000) < 0.07


def far_off(times, factor):
    """The chance that a mean square of geometric noise (a = 1/3) is off by a factor, exactly."""
    reach = 30
    masses = np.zeros(1 << 19)
    for k in range(-reach, reach + 1):
        masses[k * k] += 0.5 * 3.0 ** -abs(k)
    law = np.fft.irfft(np.fft.rfft(masses) ** times, len(masses))
    middle = law[math.ceil(1.5 * times / factor) : math.floor(1.5 * times * factor) + 1].sum()
    return 1 - middle  # the mass beyond the reach is missing, so it counts as far off


def test_drawn_surveys_have_the_deviation(found):
    """The circles of the last figure are 400 surveys each, and off by less than a factor of 3 in
    their mean square but for a false alarm below 1e-9 in all. Central: the exact law of the sum.
    Local: the errors X are sub-Gaussian with 1/n for the variance 3/(4n), and E X^4 is at most 3
    times its square, so that above there is Chernoff's bound for squares, exp(-200 (r - 1 - ln r))
    at r = 9/4, and below exp(-400 (2/3)^2/(2 x 3)).
    """
    above = math.exp(-200 * (9 / 4 - 1 - math.log(9 / 4)))
    below = math.exp(-400 * (2 / 3) ** 2 / 6)
    assert 3 * (above + below + far_off(400, 3)) < 1e-9
    circles = found.figures[-1].chart.to_dict()["layer"][1]["data"]["values"]
    assert len(circles) == 6
    for row in circles:
        people = row["people"]
        expected = 0.75 / people if row["model"].startswith("local") else 1.5 / people**2
        assert expected / 3 < row["deviation"] ** 2 < 3 * expected
