"""Variances: the formulas are those of the laws, and the source's claim is wrong."""

import math

import pytest

from discreet.gallery.experiment import Effort
from discreet.gallery.variance import laplace, ratio, rounded_laplace, run, tenfold
from discreet.mechanisms.geometric import Geometric


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
def test_rounded_laplace_noise_by_adding_up_its_masses(epsilon):
    cumulative = lambda x: 1 - math.exp(-epsilon * x) / 2
    masses = {k: cumulative(k + 0.5) - cumulative(k - 0.5) for k in range(1, int(60 / epsilon) + 9)}
    assert rounded_laplace(epsilon) == pytest.approx(2 * sum(k * k * p for k, p in masses.items()))


def test_rounding_costs_a_hyperbolic_cosine_and_more_than_it_saves_up_to_5_3():
    for epsilon in (0.01, 1, 3, 10):
        geometric = float(Geometric(epsilon=str(epsilon)).variance)
        assert rounded_laplace(epsilon) == pytest.approx(math.cosh(epsilon / 2) * geometric)
    for epsilon in (0.01, 1, 3, 5, 5.3):
        assert rounded_laplace(epsilon) > laplace(epsilon)
    for epsilon in (5.4, 6, 10):
        assert rounded_laplace(epsilon) < laplace(epsilon)


def test_the_ratio_is_that_of_the_mechanisms():
    for epsilon in (0.01, 1, 3, 10):
        geometric = float(Geometric(epsilon=str(epsilon)).variance)
        assert ratio(epsilon) == pytest.approx(laplace(epsilon) / geometric)


def test_ten_times_is_reached_at_5_8_and_not_at_3():
    assert round(ratio(3), 2) == 2.02
    assert round(ratio(1), 2) == 1.09
    assert round(tenfold(), 1) == 5.8
    assert ratio(tenfold()) == pytest.approx(10)


def test_what_is_told():
    found = run(Effort(fast=True))
    assert found["variance ratio at epsilon 3"].theirs == "over 10"
    assert found["variance ratio at epsilon 3"].ours == 2.015
    assert [figure.name for figure in found.figures] == [
        "variance", "variance-ratio", "variance-staircase",
    ]  # fmt: skip
