"""Estimates from randomised reports: unbiased exactly, and ranges that cover as they say."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.mechanisms.proportions import inverse
from discreet.mechanisms.response import RandomizedResponse
from discreet.noise.source import SystemSource

F = Fraction
ABC = ("a", "b", "c")
DENSE = [["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/3", "1/3", "1/3"]]
COINS = [
    RandomizedResponse(truth="1/2"),
    RandomizedResponse(truth="0.2", otherwise=("1/6", "1/3", "1/2"), categories=ABC),
    RandomizedResponse(kernel=[[0.5, 0.5], [0.99, 0.01]]),
    RandomizedResponse(kernel=DENSE, categories=(1, "b", "c")),
]


@st.composite
def kernels(draw) -> tuple[tuple[Fraction, ...], ...]:
    """Row-stochastic matrices of positive rationals; few values, so that some are singular."""
    k = draw(st.integers(2, 5))
    rows = draw(
        st.lists(st.lists(st.integers(1, 5), min_size=k, max_size=k), min_size=k, max_size=k)
    )
    return tuple(tuple(F(x, sum(row)) for x in row) for row in rows)


@given(kernels())
@settings(max_examples=40, deadline=None)
def test_the_decoder_inverts_the_kernel(kernel) -> None:
    k = len(kernel)
    try:
        decoder = inverse(kernel)
    except UnsupportedError:
        assert round(np.linalg.det(np.array(kernel, dtype=float)), 12) == 0
        return
    for x, y in product(range(k), repeat=2):
        assert sum(kernel[x][z] * decoder[z][y] for z in range(k)) == (x == y)


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_the_estimate_is_unbiased_and_so_is_its_variance(coins: RandomizedResponse) -> None:
    """Exactly, over all reports of n = 3 people: fixed answers, then answers from a population."""
    k, n = len(coins.categories), 3
    population = [F(1, 6), F(1, 3), F(1, 2)][:k] if k == 3 else [F(1, 5), F(4, 5)]
    marginal = [sum(population[x] * coins.kernel[x][y] for x in range(k)) for y in range(k)]
    truths = (0, 1, k - 1)
    fixed, drawn = [F(0)] * k, [F(0)] * k
    squares, variances = [F(0)] * k, [F(0)] * k
    for reports in product(range(k), repeat=n):
        found = coins.estimate([coins.categories[y] for y in reports])
        chance = math.prod(coins.kernel[x][y] for x, y in zip(truths, reports, strict=True))
        weight = math.prod(marginal[y] for y in reports)
        for j in range(k):
            fixed[j] += chance * found.exact[j]
            drawn[j] += weight * found.exact[j]
            squares[j] += weight * found.exact[j] ** 2
            variances[j] += weight * found.variances[j]
    assert fixed == [F(truths.count(j), n) for j in range(k)]
    assert drawn == population
    assert variances == [squares[j] - population[j] ** 2 for j in range(k)]


@pytest.mark.parametrize("yes", [0, 3, 15, 30])
@pytest.mark.parametrize("confidence", [F(1, 2), F(9, 10), F(99, 100)])
def test_the_interval_covers_as_often_as_it_says(yes: int, confidence: Fraction) -> None:
    """Exactly: the number of yes reports among 30 people is a sum of two binomials."""
    coins, n = RandomizedResponse(truth="1/2"), 30
    true_yes = [math.comb(yes, i) * F(3, 4) ** i * F(1, 4) ** (yes - i) for i in range(yes + 1)]
    false_yes = [
        math.comb(n - yes, i) * F(1, 4) ** i * F(3, 4) ** (n - yes - i) for i in range(n - yes + 1)
    ]
    covered = F(0)
    for count in range(n + 1):
        chance = sum(
            true_yes[i] * false_yes[count - i]
            for i in range(yes + 1)
            if 0 <= count - i < len(false_yes)
        )
        low, high = coins.estimate({"yes": count, "no": n - count}).interval(confidence)["yes"]
        covered += chance * (low <= yes / n <= high)
    assert covered >= confidence


def test_figures_of_an_estimate() -> None:
    coins = RandomizedResponse(truth="1/2")
    found = coins.estimate({"yes": 400, "no": 600})
    assert found.proportions == {"yes": 0.3, "no": 0.7}
    assert found.n == 1000
    assert found.standard_errors["yes"] == pytest.approx(math.sqrt(0.4 * 0.6 / 0.25 / 999))
    half = coins.error(0.95, n=1000)
    assert half == pytest.approx(2 * math.sqrt(math.log(40) / 2000), rel=1e-12)
    assert half >= 2 * math.sqrt(math.log(40) / 2000)
    assert found.interval(0.95)["yes"] == pytest.approx((0.3 - half, 0.3 + half))
    assert coins.estimate(["yes"]).standard_errors["yes"] == math.inf
    assert coins.estimate(["yes"]).interval()["yes"] == (0.0, 1.0)
    assert coins.expected_absolute_error("yes") == 0.25
    listed = coins.estimate(["yes"] * 400 + ["no"] * 600)
    assert listed == found == coins.estimate(np.array(["yes"] * 400 + ["no"] * 600))


@pytest.mark.statistical
def test_a_survey_of_a_million_is_estimated_well() -> None:
    """Off by more than the 1 - 1e-10 interval with probability below 1e-9."""
    coins = RandomizedResponse(epsilon=1, categories=ABC)
    truth = np.repeat(np.array(ABC), [700_000, 250_000, 50_000])
    found = coins.estimate(coins.release(truth, source=SystemSource()))
    for name, share in zip(ABC, (0.7, 0.25, 0.05), strict=True):
        low, high = found.interval(1 - F(1, 10**10))[name]
        assert low <= share <= high
        assert high - low < 0.02


def test_estimates_that_cannot_be_are_refused_in_words() -> None:
    silent = RandomizedResponse(truth=0)
    assert silent.epsilon == F(1, 2**60)
    for ask in (lambda: silent.estimate(["yes"]), lambda: silent.error(n=10)):
        with pytest.raises(UnsupportedError, match="say nothing about"):
            ask()
    singular = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["3/8", "3/8", "1/4"]]
    with pytest.raises(UnsupportedError, match="singular"):
        RandomizedResponse(kernel=singular, categories=ABC).estimate(["a"])
    coins = RandomizedResponse(epsilon=1)
    for nothing in ([], {}, {"yes": 0}, np.array([], dtype="U1")):
        with pytest.raises(ParameterError, match="at least one"):
            coins.estimate(nothing)
    with pytest.raises(ParameterError, match="at least 0"):
        coins.estimate({"yes": -1, "no": 5})
    with pytest.raises(InputTypeError, match="declared categories"):
        coins.estimate(["perhaps"])
    with pytest.raises(ParameterError, match="at least 1"):
        coins.error(n=0)
    with pytest.raises(ParameterError, match="strictly between"):
        coins.error(1, n=5)
