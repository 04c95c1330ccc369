"""The afternoon is what the curator does; the thousand questions are what the laws say."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.gallery import budget, data
from discreet.gallery.experiment import Effort


@pytest.fixture(scope="module")
def asked():
    return budget.afternoon()


def test_the_budget_is_spent_and_never_exceeded(asked):
    spent = [(one.before, one.after) for one in asked]
    fifth = Fraction(1, 5)
    assert spent == [(0, fifth), (fifth, fifth), (fifth, 1), (1, 1), (1, 1)]
    assert [one.epsilon for one in asked] == [fifth, 1, 1 - fifth, Fraction(1, 10), fifth]
    assert [one.outcome for one in asked] == [
        "answered", "refused: 0.8 is left", "answered", "refused: nothing is left",
        "answered for free, from the store",
    ]  # fmt: skip
    assert [one.value is None for one in asked] == [False, True, False, True, False]


def test_answers_are_near_the_truth(asked):
    """False alarm below 1e-10 each: 25 times the scale of geometric noise, exp(-25)."""
    total, _, product, _, again = asked
    assert abs(total.value - int(data.salaries().sum())) < 25 * 400_000 / 0.2
    chords = 29_000 * (math.log(10) ** 2 / (8 * 128**2) + 2 / 2**20) * 1.05
    assert abs(product.value - budget.true_product()) < 25 * math.log(400_000) / 0.8 + chords
    assert again.value == total.value
    assert total.error == pytest.approx(400_000 / 0.2, rel=1e-6)
    assert product.error == pytest.approx(math.log(400_000) / 0.8, rel=1e-3)


def test_the_product_by_multiplying():
    product = math.prod(data.salaries().tolist())
    assert budget.true_product() == pytest.approx(math.log(product), rel=1e-12)
    assert 10**143_414 <= product < 10**143_415


def test_a_thousand_ranges_cover_all_widths():
    ranges = budget.ranges()
    assert len(set(ranges)) == len(ranges) == 1000
    assert all(0 <= low <= high < 360 for low, high in ranges)
    widths = [high - low + 1 for low, high in ranges]
    assert np.mean(widths) == pytest.approx(362 / 3, rel=0.02)  # of all ranges
    assert min(widths) < 4
    assert max(widths) > 350


def squares(rate):
    """The variance of noise with chances in proportion to exp(-rate |k|), by adding up."""
    k = np.arange(1, int(60 / rate) + 9)
    weights = np.exp(-rate * k)
    return 2 * np.sum(k**2.0 * weights) / (1 + 2 * np.sum(weights))


@pytest.mark.parametrize("questions", [1, 10, 1000])
def test_each_of_many_questions(questions):
    assert budget.each_of(questions) == pytest.approx(math.sqrt(squares(1 / questions)))
    rho = 0.024356  # of epsilon 1 and delta 1e-6, computed elsewhere to five digits
    gaussian = math.sqrt(questions / (2 * rho))
    assert budget.each_gaussian(questions) == pytest.approx(gaussian, rel=1e-4)


def test_ranges_of_a_histogram():
    assert budget.of_range(9) == pytest.approx(3 * math.sqrt(squares(1)))
    all_squares = [budget.of_range(high - low + 1) ** 2 for low, high in budget.ranges()]
    assert budget.from_histogram() == pytest.approx(math.sqrt(np.mean(all_squares)))
    assert math.sqrt(squares(1 / 10)) < budget.from_histogram() < math.sqrt(squares(1 / 11))
    assert budget.worth_from() == 11


def test_real_answers_have_these_errors():
    """False alarm below 1e-9 each.

    Ranges of 30 histograms: the errors of one histogram hang together, so that the mean square of
    30 independent ones may well be twice the mean, but not six times it, nor a tenth.
    """
    assert 0.1 < (budget.drawn_ranges(30) / budget.from_histogram()) ** 2 < 6
    assert 0.5 < (budget.drawn_each(10, 4000) / budget.each_of(10)) ** 2 < 2


def test_the_answers_of_a_histogram_are_sums_of_its_bins():
    counts = np.arange(360) ** 2
    told = budget._answers(counts)
    for place in (0, 17, 500, 999):
        low, high = budget.ranges()[place]
        assert told[place] == counts[low : high + 1].sum()


def test_sums_read_off_the_histogram():
    bins = np.minimum((data.salaries() - 40_000) // 1000, 359)
    for weight, exact in (
        (lambda x: x, float(data.salaries().sum())),
        (np.log, budget.true_product()),
    ):
        weights = weight(40_500 + 1000.0 * np.arange(360))
        off = weights[bins].sum() - exact
        noise = math.sqrt(squares(1) * np.sum(weights**2))
        found = budget.read_off(weight(budget.middles()), exact)
        assert found == pytest.approx(math.sqrt(off**2 + noise**2))


def test_what_is_told():
    found = budget.run(Effort(fast=True))
    told = {fact.name: fact.ours for fact in found}
    assert told["the sum at epsilon 0.2: expected error"] == 2_000_000
    assert told["the product at epsilon 1"] == "refused: 0.8 is left"
    assert told["the logarithm of the product at epsilon 0.8: expected error"] == 16.1
    assert told["its root, the geometric mean: expected error, %"] == 0.056
    assert told["a thousand ranges from the curator: error of each"] == 1414.2
    assert told["the same with Gaussian noise"] == 143.3
    assert told["a thousand ranges from one histogram: error of each"] == 14.8
    assert told["questions from which the histogram is better"] == 11
    assert told["the sum, off the histogram: error"] > 2 * math.sqrt(2) * 2_000_000
    assert len(found.notes) == 6
    assert [figure.name for figure in found.figures] == ["budget", "budget-afternoon"]
