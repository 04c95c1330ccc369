"""Three models: errors against enumeration, and real answers against the errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.gallery import models
from discreet.gallery.experiment import Effort
from discreet.mechanisms.response import RandomizedResponse


def two_sided(rate, reach=4000):
    """The variance of noise with chances in proportion to exp(-rate |k|), by adding up."""
    weights = np.exp(-rate * np.arange(1, reach))
    return 2 * np.sum(np.arange(1, reach) ** 2 * weights) / (1 + 2 * np.sum(weights))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_errors_of_a_curator_by_adding_up(epsilon):
    rate = float(epsilon)
    assert models.interactive(epsilon) == pytest.approx(math.sqrt(two_sided(rate)))
    assert models.published(epsilon) == pytest.approx(math.sqrt(16 * two_sided(rate / 2)))


@pytest.mark.parametrize("smokers", [0, 1, 3])
def test_the_error_of_coins_by_enumeration(smokers):
    """All reports of three people, in fractions: the estimate is unbiased and has this variance."""
    coins = RandomizedResponse(kernel=(("2/3", "1/3"), ("1/3", "2/3")), categories=(1, 0))
    truths = [1] * smokers + [0] * (3 - smokers)
    mean = square = Fraction(0)
    for reports in itertools.product((1, 0), repeat=3):
        chance = math.prod(
            coins.kernel[0 if truth else 1][0 if report else 1]
            for truth, report in zip(truths, reports, strict=True)
        )
        estimate = (sum(reports) - 3 * Fraction(1, 3)) / Fraction(1, 3)
        mean += chance * estimate
        square += chance * (estimate - smokers) ** 2
    assert mean == smokers
    assert models.from_coins(coins, 3) == pytest.approx(math.sqrt(square))


def test_local_uses_the_coins_of_epsilon():
    p = math.e / (1 + math.e)
    assert models.local("1", 10_000) == pytest.approx(100 * math.sqrt(p * (1 - p)) / (2 * p - 1))
    assert models.local("1", 40_000) == pytest.approx(2 * models.local("1", 10_000))


def test_real_answers_have_these_errors():
    """False alarm below 1e-9 each.

    Sums of 16 cells and estimates of 10,000 people are nearly normal, and 300 squares of them lie
    within these bounds by the law of chi squared; single counts have a wider law and wider bounds.
    """
    one, two, three = models.drawn("0.5", 300)
    assert 0.2 < (one / models.interactive("0.5")) ** 2 < 4
    assert 0.5 < (two / models.published("0.5")) ** 2 < 1.8
    assert 0.5 < (three / models.local("0.5")) ** 2 < 1.8


def test_the_people():
    cells = models.people()
    assert cells.shape == (2, 16)
    assert cells[0].sum() == 2000
    assert cells.sum() == 10_000
    odd = models.people(103)
    assert (odd[0].sum(), odd.sum()) == (20, 103)
    assert odd.min() >= 0


def test_a_table_is_worth_it_from_eight_questions_on():
    table = math.sqrt(16 * two_sided(0.5))
    assert math.sqrt(two_sided(1 / 7)) < table < math.sqrt(two_sided(1 / 8))
    assert models.questions_worth(Fraction(1)) == 8


def test_what_the_caption_says_of_the_errors():
    """A table has 8 to 15 times the error of one answer, coins the root of half the people."""
    for epsilon in ("0.1", "0.3", "1", "3", "5"):
        one = models.interactive(epsilon)
        assert 7.99 < models.published(epsilon) / one < 15.2
        for number in (100, 10_000):
            assert models.local(epsilon, number) / one == pytest.approx(math.sqrt(number / 2))


def test_few_people_are_better_off_without_the_table():
    assert models.crowd() == 137
    assert models.local("1", 136) <= models.published("1") < models.local("1", 137)


def test_how_many_people_are_needed():
    alone = models.people_needed(models.interactive("1"), grows=False)
    crowd = models.people_needed(models.local("1", 1), grows=True)
    for number, error in ((alone, models.interactive("1")), (crowd, models.local("1", crowd))):
        assert error <= number * 0.002
        assert error > (number - 2) * 0.002 * (1 - 1e-5)
    assert models.local("1", crowd - 2) > (crowd - 2) * 0.002


def test_what_is_told():
    found = models.run(Effort(fast=True))
    told = {fact.name: fact.ours for fact in found}
    assert told["error at epsilon 1, interactive"] == 1.36
    assert told["error at epsilon 1, published once"] == 11.2
    assert told["error at epsilon 1, local"] == 95.95
    assert told["people for an error of 1 % of the smokers, interactive"] == 679
    assert told["people for an error of 1 % of the smokers, published once"] == 5599
    assert told["people for an error of 1 % of the smokers, local"] == 230_169
    share = found["error of the share, fair coins"]
    assert share.ours == round(2 * math.sqrt(3 / 16 / 10_000), 4) == 0.0087
    assert share.theirs == round(2 * math.sqrt(0.35 * 0.65 / 10_000), 4)
    assert told["share of yes through fair coins"] == 0.35
    assert [figure.name for figure in found.figures] == ["models"]
