"""The histogram of salaries: its numbers by enumeration, its noise by draws."""

import csv
import gzip
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.gallery import data, salaries
from discreet.gallery.experiment import Effort

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "microdata"
YEARS = ("2011", "2012", "2013", "2014")
REAL = SHARED / "sf_salaries_2011_2014.csv.gz"


def noise(epsilon):
    """P(|Z| = k) for k = 0, 1, ... by the formula, until nothing is left."""
    a = math.exp(-epsilon)
    masses = [(1 - a) / (1 + a) * a**k * (1 if k == 0 else 2) for k in range(int(40 / epsilon))]
    assert math.isclose(sum(masses), 1)
    return masses


@pytest.fixture(scope="module")
def found():
    return salaries.run(Effort(fast=True))


def test_the_bins_are_counted_as_integers_are():
    counts = [0] * 50
    for amount in data.salaries().tolist():
        counts[min((amount - 40_000) // 7_200, 49)] += 1
    assert data.salary_counts().tolist() == counts
    assert sum(counts) == 29_000


@pytest.mark.parametrize("epsilon", salaries.EPSILONS)
def test_errors_by_adding_up_the_masses(found, epsilon):
    masses = noise(float(epsilon))
    one = sum(k * p for k, p in enumerate(masses))
    assert salaries.error(epsilon) == pytest.approx(one)
    assert salaries.error(epsilon) == pytest.approx(1 / math.sinh(float(epsilon)))
    within = np.cumsum(masses) ** 50
    h = int(np.argmax(within >= 0.95))
    assert abs(within[h] - 0.95) > 1e-6
    assert abs(within[h - 1] - 0.95) > 1e-6
    assert salaries.all_within(epsilon) == h
    assert salaries.all_within(epsilon, Fraction(1, 2)) < h
    counts = data.salary_counts().tolist()
    hidden = sum(1 for n in counts if n < one)
    name = f"bins with fewer people than that error at epsilon {epsilon}"
    assert found[name].ours == hidden
    share = found[f"errors of all bins, in percent of the people, at epsilon {epsilon}"].ours
    assert share == pytest.approx(100 * 50 * one / 29_000, abs=0.005)


def test_people_who_are_not_there():
    above = sum(k * p / 2 for k, p in enumerate(noise(0.1)))
    assert data.salary_counts().tolist().count(0) == 6
    assert salaries.phantoms("0.1") == pytest.approx(6 * above)


def test_what_is_told(found):
    assert found["people"].ours == 29_000
    assert found["people"].theirs == "about 29,000"
    assert found["people in the fullest bin"].ours == 2761
    assert found["people above 300,000"].ours == 11
    assert [figure.name for figure in found.figures] == ["salaries", "salaries-tail"]


def drawn(found, panel):
    """What the first figure tells in a panel, and the truth."""
    rows = found.figures[0].chart.to_dict()["data"]["values"]
    of = [row for row in rows if row["panel"] == panel]
    assert len(of) == 51
    assert of[-1]["low"] == of[-1]["high"] == 400_000
    return np.array([[row["told"], row["truth"]] for row in of[:50]]).T


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", salaries.EPSILONS)
def test_the_figure_shows_noise_of_the_stated_law(found, epsilon):
    """False alarm 1e-10: all 50 bins are within a half-width of that level. And all 50 without any
    noise have at most 0.4622^50 < 1e-16, for one has (1-a)/(1+a)."""
    told, truth = drawn(found, f"epsilon {epsilon}")
    assert np.array_equal(truth, data.salary_counts())
    assert np.abs(told - truth).max() <= salaries.all_within(epsilon, 1 - Fraction(1, 10**10))
    assert (told == truth).sum() < 50
    shown, exact = drawn(found, "the truth")
    assert np.array_equal(shown, exact)


def test_real_salaries_are_about_as_many():
    """The notes' people are likely these: pay and benefits of one year, from 40,000 to 400,000."""
    if not REAL.exists():
        pytest.skip("the city's salaries are not beside the repository, in shared/data/microdata")
    with gzip.open(REAL, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for year, column in (*((y, "total_pay") for y in YEARS), ("2014", "total_pay_benefits")):
        amounts = [float(row[column] or 0) for row in rows if row["year"] == year]
        found[year, column] = [x for x in amounts if 40_000 <= x <= 400_000]
    assert [len(found[y, "total_pay"]) for y in YEARS] == [26_707, 27_225, 27_774, 27_740]
    inside = found["2014", "total_pay_benefits"]
    assert len(inside) == 28_989
    counts = np.histogram(inside, bins=data.BINS, range=data.RANGE)[0]
    assert 0.5 < counts.max() / data.salary_counts().max() < 2
