"""Means: the claim, the proof that saves the law, and the errors, each computed another way."""

import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from discreet.audit.exact import verify
from discreet.gallery import mean
from discreet.gallery.experiment import Effort
from discreet.sensitivity.analytic import of_squared_utility


@pytest.fixture(scope="module")
def found():
    return mean.run(Effort(fast=True))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_claim_is_refuted_and_the_theorem_is_what_all_datasets_give(n):
    worst = F(0)
    for data in product((0, 1), repeat=n):
        for place, other in product(range(n), (0, 1)):
            changed = [*data[:place], other, *data[place + 1 :]]
            a, b = F(sum(data), n), F(sum(changed), n)
            worst = max(worst, *(abs((a - x) ** 2 - (b - x) ** 2) for x in (0, 1)))
    check = mean.refuted(n)
    assert not check.holds
    assert check.found == worst == F(2, n) - F(1, n * n) == of_squared_utility(n).value


def floats(n, epsilon, places):
    """The largest log ratio of neighbouring laws, in floats."""
    at = np.array([float(place) for place in places])
    weights = [np.exp(-epsilon * n * (k / n - at) ** 2 / 2) for k in range(n + 1)]
    logs = np.array([np.log(w / w.sum()) for w in weights])
    return np.abs(np.diff(logs, axis=0)).max()


@pytest.mark.parametrize(("n", "epsilon"), [(1, F(1)), (2, F(1, 2)), (5, F(3)), (10, F(1))])
def test_the_law_on_the_unit_interval_is_private_by_its_own_proof(n, epsilon):
    places = mean.candidates(12)
    verdict = mean.audited(mean.SQUARED, n, places, epsilon)
    assert verdict.proven
    assert float(verdict.worst) == pytest.approx(floats(n, float(epsilon), places), rel=1e-9)
    assert verdict.pairs == 2 * n


def test_no_smaller_epsilon_would_do_and_no_larger_rate():
    """With many people and all numbers 0, the law is at 0 and the loss at 1 is nearly epsilon."""
    n, places = 4000, mean.candidates(10)
    pair = [tuple(mean.scores(mean.SQUARED, F(k, n), places) for k in (0, 1))]
    verdict = verify(mean.mechanism(n), pairs=pair)
    assert verdict.proven
    assert float(verdict.worst) > 0.999
    bolder = verify(mean.mechanism(n, F(21, 20)), guarantee=mean.mechanism(n).guarantee, pairs=pair)
    assert bolder.refuted


def test_the_loss_is_a_straight_line_with_the_slope_epsilon():
    n, places = 8, mean.candidates(10)
    laws = [mean.mechanism(n).law(mean.scores(mean.SQUARED, F(k, n), places)) for k in (3, 4)]
    losses = [math.log(laws[1].mass(j) / laws[0].mass(j)) for j in range(11)]
    assert np.diff(losses) == pytest.approx([0.1] * 10)
    assert min(losses) < 0 < max(losses)


@pytest.mark.parametrize("reach", [1, 3])
def test_wider_candidates_are_not_private(reach):
    places = mean.candidates(10, -reach, 1 + reach)
    verdict = mean.audited(mean.SQUARED, 10, places)
    assert verdict.refuted
    assert float(verdict.worst) == pytest.approx(floats(10, 1.0, places))
    assert float(verdict.worst) > reach
    assert mean.audited(mean.ABSOLUTE, 10, mean.candidates(10, 0, 2)).proven


def test_the_normal_law_on_the_line():
    for n in (1, 10, 100):
        assert mean.normal(n, F(3, 2)).guarantee.rho == F(3, 2) / (2 * n)

    def delta(epsilon):  # a move of 1/10 of the deviation
        return norm.cdf(0.05 - 10 * epsilon) - math.exp(epsilon) * norm.cdf(-0.05 - 10 * epsilon)

    least = brentq(lambda e: delta(e) - 1e-6, 0.01, 1)
    told = mean._facts()
    ours = next(fact.ours for fact in told if fact.name.startswith("epsilon of the normal law"))
    assert least <= ours + 5e-4
    assert ours == pytest.approx(least, abs=2e-3)


@pytest.mark.parametrize("n", [10, 60])
def test_variances_on_the_unit_interval(n):
    def variance(weight):
        return (
            quad(lambda x: (x - 0.5) ** 2 * weight(x), 0, 1, points=[0.5])[0]
            / (quad(weight, 0, 1, points=[0.5])[0])
        )

    assert mean.squared(n) == pytest.approx(variance(lambda x: math.exp(-n * (x - 0.5) ** 2 / 2)))
    assert mean.absolute(n) == pytest.approx(variance(lambda x: math.exp(-n * abs(x - 0.5) / 2)))
    places = mean.candidates(400)
    for kind, ours in ((mean.SQUARED, mean.squared(n)), (mean.ABSOLUTE, mean.absolute(n))):
        law = mean.mechanism(n).law(mean.scores(kind, F(1, 2), places))
        exact = sum(law.mass(j) * float(p - F(1, 2)) ** 2 for j, p in enumerate(places))
        assert exact == pytest.approx(ours, rel=5e-3)


def test_rates():
    assert mean.laplace(100).variance == pytest.approx(2 / 100**2, rel=1e-3)
    assert mean.absolute(10_000) == pytest.approx(8 / 10_000**2)
    assert mean.squared(10_000) == pytest.approx(1 / 10_000)
    for n in (1000, 10_000):
        assert mean.total(mean.SQUARED, n) ** 2 * n == pytest.approx(1 + 1 / 12)
    assert mean.total(mean.SQUARED, 10**5) / mean.total(mean.NOTHING, 10**5) == pytest.approx(
        math.sqrt(13), rel=1e-3
    )
    for n, times in ((10, 2.8), (50, 3.6), (1000, 3.6)):
        error = mean.total(mean.SQUARED, n) / mean.total(mean.NOTHING, n)
        assert error == pytest.approx(times, abs=0.05)
    assert mean.crossing() == 6
    assert mean.squared(5) < 2 / 5**2
    assert mean.squared(6) > 2 / 6**2


def test_what_is_told(found):
    told = {fact.name: fact.ours for fact in found}
    assert told["mean error of Laplace noise, n = 100, epsilon 1"] == 0.01
    assert told["sensitivity of the squared utility, n = 3"] == "5/9"
    assert found["sensitivity of the squared utility, n = 3"].theirs == "1/3"
    inside, outside = mean.candidates(20), mean.candidates(20, -3, 4)
    assert told["worst loss of the squared utility on [0, 1], n = 10, epsilon 1"] == round(
        floats(10, 1.0, inside), 4
    )
    assert told["worst loss with candidates from -3 to 4"] == round(floats(10, 1.0, outside), 4)
    assert told["rho of the normal law on the line, n = 10, epsilon 1"] == 0.05
    assert told["total variance of the squared utility, times n, n = 10,000"] == 1.0833
    assert told["total variance of Laplace noise, times n, n = 10,000"] == 0.0835
    assert [figure.name for figure in found.figures] == ["mean", "mean-laws", "mean-error"]


def test_drawn_answers_have_the_error(found):
    """Answers of many people are normal to all that matters here (the normal law is cut at five
    deviations, and Laplace noise is a fortieth of the variance at most), and 80 of them are off by
    a factor of 4 in their mean square with a chance below 1e-10.
    """
    assert chi2(80).sf(4 * 80) + chi2(80).cdf(80 / 4) < 1e-10
    circles = found.figures[-1].chart.to_dict()["layer"][1]["data"]["values"]
    assert len(circles) == 8
    for row in circles:
        if row["n"] >= (100 if row["kind"] == mean.SQUARED else 1000):
            expected = mean.total(row["kind"], row["n"]) ** 2
            assert expected / 4 < row["deviation"] ** 2 < 4 * expected
