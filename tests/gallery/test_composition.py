"""Composition: what fits, against the exact law of the sum; parts, families and readers by laws."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit.exact import verify
from discreet.gallery import composition as c
from discreet.gallery.experiment import Effort
from discreet.mechanisms.geometric import Geometric


@pytest.fixture(scope="module")
def found():
    return c.run(Effort(fast=True))


def exact_delta(epsilon, times):
    """The least delta at epsilon 1 of so many counts: each loss is +-epsilon, like a coin's."""
    heads = np.arange(times + 1)
    losses = (2 * heads - times) * epsilon
    chances = binom.pmf(heads, times, 1 / (1 + math.exp(-epsilon)))
    return float(np.sum(chances * np.maximum(0, -np.expm1(1 - losses))))


@pytest.mark.parametrize(
    ("epsilon", "basic", "sherpa", "zcdp"),
    [("0.002", 500, 3699, 12177), ("0.01", 100, 147, 487), ("0.02", 50, 50, 121)],
)
def test_what_fits(epsilon, basic, sherpa, zcdp):
    each = F(epsilon)
    assert c.fits(c.BASIC, each) == basic
    assert c.fits(c.FILTER, each) == sherpa
    assert c.fits(c.ZERO, each) == zcdp
    best = c.fits(c.LOSSES, each)
    assert zcdp < best
    assert exact_delta(float(each), best) <= 1e-6 < exact_delta(float(each), round(best * 1.004))
    advanced = c.fits(c.ADVANCED, each)
    assert c.advanced(float(each), advanced) <= 1 < c.advanced(float(each), advanced + 1)
    assert advanced < zcdp


def test_zero_concentrated_privacy_by_its_own_formula():
    """The conversion over many orders; one count has the rho epsilon tanh(epsilon/2)."""
    orders = 1 + np.geomspace(0.01, 1e4, 20_000)

    def epsilon(rho):
        lost = (math.log(1e-6) + np.log(orders)) / (orders - 1)
        return float(np.min(rho * orders + np.log1p(-1 / orders) - lost))

    one = 0.01 * math.tanh(0.005)
    assert epsilon(487 * one) <= 1 < epsilon(488 * one)


def test_large_questions_add_up():
    for epsilon in ("0.1", "0.25", "1"):
        ways = [c.fits(way, F(epsilon)) for way in (c.BASIC, c.ZERO, c.LOSSES)]
        assert ways == [int(1 / F(epsilon))] * 3
    assert c.fits(c.ADVANCED, F(1)) == 0


def test_the_most_that_is_fine():
    for limit in (0, 1, 2, 7, 8, 1000):
        assert c.most(lambda n, limit=limit: n <= limit) == limit


def test_advanced_composition_and_the_lost_factor():
    assert round(c.advanced(0.5, 3, 0.1), 2) == 2.83
    assert round(c.advanced(0.5, 350, 0.1), 2) == 133.60
    assert round(c.notebook(0.5, 3, 0.1), 2) == 4.69
    assert round(c.notebook(0.5, 350, 0.1), 2) == 153.67
    gain = c.cheaper(lambda times: c.advanced(0.5, times, 0.1), 0.5)
    assert gain == math.floor((math.sqrt(2 * math.log(10)) / (2 - math.exp(0.5))) ** 2) + 1 == 38
    assert 148 <= c.cheaper(lambda times: c.notebook(0.5, times, 0.1), 0.5) <= 152


def test_floats_lose_one_question():
    assert sum([0.002] * 100) > 0.2
    assert sum([0.2] * 20) > 4
    assert sum([0.002] * 99) <= 0.2
    assert sum([0.2] * 19) <= 4


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1)])
@pytest.mark.parametrize("people", [1, 2, 5, 6])
def test_the_best_guess_by_adding_up_the_differences(epsilon, people):
    a = math.exp(-float(epsilon))
    mass = lambda k: (1 - a) / (1 + a) * a ** abs(k)
    apart = sum(max(0, mass(k) - mass(k - people)) for k in range(-600, 600))
    ours = c.guess(epsilon, people)
    assert ours == pytest.approx((1 + apart) / 2)
    bound = 1 / (1 + math.exp(-people * float(epsilon)))
    assert ours <= bound + 1e-12
    assert (ours == pytest.approx(bound)) is (people == 1)


def test_a_family_has_k_times_the_loss():
    for people in (1, 4):
        worst = verify(Geometric(epsilon="1/2"), pairs=[(0, people)]).worst
        assert float(worst) == pytest.approx(people / 2)


def test_parity_by_the_law():
    law = Geometric(epsilon=1).law(0)
    even = sum(law.mass(k) for k in range(-200, 201, 2))
    assert c.parity(1) == pytest.approx(math.log(even / (1 - even)))
    assert c.parity(1) < 1


def test_what_is_told(found):
    told = {fact.name: fact.ours for fact in found}
    assert told["counts at epsilon 0.002 in (1, 1e-6), zCDP"] == 12177
    assert found["counts at epsilon 0.01 in (1, 1e-6), zCDP"].theirs == 147
    assert told["counts at epsilon 0.01 in (1, 1e-6), loss distributions"] == 562
    assert told["counts at epsilon 0.01 in (1, 1e-6), advanced"] == 337
    assert told["questions at epsilon 0.002 in epsilon 0.2"] == 100
    assert told["questions at epsilon 0.2 in epsilon 4"] == 20
    assert told["epsilon of eight disjoint age bands at 1 each"] == 1
    assert told["95 % error of a band, all in one histogram at epsilon 1"] == 3
    assert told["95 % error of a band, eight questions at epsilon 1/8"] == 24
    assert told["epsilon for a family of 4, at epsilon 0.5"] == 2
    family = 1 + sum(math.exp(k / 2) for k in (1, 2, 3))
    assert told["delta for a family of 4, at (0.5, 1e-6), in millionths"] == round(family, 2)
    assert told["rho for a family of 4, at rho 0.01"] == 0.16
    assert [figure.name for figure in found.figures] == [
        "composition", "composition-sums", "composition-parts", "composition-family",
    ]  # fmt: skip


def test_released_smokers_have_noise_of_the_right_size(found):
    """Beyond 30 scales is a value with a chance of 2e-13, 16 of them with 4e-12; eight that are all
    without noise have 3e-10 at epsilon 1/8."""
    marks = found.figures[2].chart.to_dict()["layer"][2]["data"]["values"]
    truth = dict(zip(c.BANDS, c.SMOKERS, strict=True))
    off = {}
    for row in marks:
        off.setdefault(row["kind"], []).append(abs(row["count"] - truth[row["band"]]))
    few, many = off["one histogram, epsilon 1"], off["eight questions, epsilon 1/8 each"]
    assert len(few) == len(many) == 8
    assert max(few) < 30
    assert 0 < max(many) < 240
    assert min(row["low"] for row in marks) >= 0
