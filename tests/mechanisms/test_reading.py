"""Optimal readings against the linear programme over all private mechanisms."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

import discreet as dp


def best_of_all(n, epsilon, *, prior=None, squared=False):
    """The least expected loss of any epsilon-private mechanism on {0..n}, by HiGHS
    (whose own tolerance of 1e-7 per constraint lets it end a little below the true optimum).

    Variables x[i, r] = P(answer r | count i), and t for the worst case. With a prior the average
    is minimised, without one the maximum.
    """
    size = n + 1
    cells = size * size
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float) ** (
        2 if squared else 1
    )
    a = np.exp(-epsilon)
    upper = lil_matrix((2 * n * size + (0 if prior is not None else size), cells + 1))
    row = 0
    for i in range(n):
        for r in range(size):
            for one, other in ((i, i + 1), (i + 1, i)):
                upper[row, other * size + r], upper[row, one * size + r] = a, -1
                row += 1
    if prior is None:
        for i in range(size):
            upper[row, i * size : (i + 1) * size] = distance[i]
            upper[row, cells] = -1
            row += 1
        cost = np.append(np.zeros(cells), 1)
    else:
        cost = np.append((prior[:, None] * distance).ravel(), 0)
    equal = lil_matrix((size, cells + 1))
    for i in range(size):
        equal[i, i * size : (i + 1) * size] = 1
    found = linprog(
        cost,
        A_ub=upper.tocsr(),
        b_ub=np.zeros(row),
        A_eq=equal.tocsr(),
        b_eq=np.ones(size),
        method="highs",
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("n", [2, 5, 10, 30])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_remap_attains_the_optimum_over_all_private_mechanisms(n, epsilon):
    prior = np.full(n + 1, 1 / (n + 1))
    reading = dp.Geometric(epsilon=epsilon, bounds=(0, n)).remap()
    assert reading.expected_loss == pytest.approx(best_of_all(n, epsilon, prior=prior), abs=1e-5)


@pytest.mark.parametrize("n", [2, 5, 10, 30])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_minimax_reading_attains_the_optimum_too(n, epsilon):
    reading = dp.Geometric(epsilon=epsilon, bounds=(0, n)).minimax()
    assert reading.expected_loss == pytest.approx(best_of_all(n, epsilon), abs=1e-5)


def test_an_unequal_prior_and_squared_loss():
    prior = np.arange(1, 7) / 21
    reading = dp.Geometric(epsilon=0.5, bounds=(0, 5)).remap(
        prior=[f"{i}/21" for i in range(1, 7)], loss="squared"
    )
    assert reading.expected_loss == pytest.approx(
        best_of_all(5, 0.5, prior=prior, squared=True), abs=1e-5
    )


def test_the_figures_of_the_design():
    reading = dp.Geometric(epsilon="0.1", bounds=(0, 30)).remap(prior="uniform", loss="absolute")
    assert round(reading.expected_loss, 4) == 5.6857
    assert round(reading.expected_loss_at(20), 4) == 4.9604


@pytest.mark.parametrize(
    ("epsilon", "absolute", "squared"),
    [("0.1", 3.367, 20.818), ("0.5", 1.479, 4.433), ("1", 0.803, 1.532), ("2", 0.275, 0.359)],
)
def test_minimax_figures_of_the_specification(epsilon, absolute, squared):
    mechanism = dp.Geometric(epsilon=epsilon, bounds=(0, 10))
    assert mechanism.minimax(loss="absolute").expected_loss == pytest.approx(absolute, abs=6e-4)
    assert mechanism.minimax(loss="squared").expected_loss == pytest.approx(squared, abs=6e-4)


def test_readings_read_every_shape():
    reading = dp.Geometric(epsilon=1, bounds=(10, 20)).remap()
    assert reading(15) == 15
    assert reading([10, 20])[0] >= 10
    assert reading(np.array([[10, 15], [20, 12]])).shape == (2, 2)
    assert "Bayes" in repr(reading)
    for outside in (9, 21):
        with pytest.raises(dp.ParameterError, match=r"must lie in 10\.\.20"):
            reading(outside)


@pytest.mark.statistical
def test_a_random_reading_follows_its_table():
    """4,000 readings of each output; a cell is 6 standard deviations off below 1e-8 together."""
    reading = dp.Geometric(epsilon="0.1", bounds=(0, 5)).minimax()
    for output in range(6):
        found = np.bincount(reading(np.full(4_000, output)), minlength=6) / 4_000
        error = np.sqrt(reading.table[output] * (1 - reading.table[output]) / 4_000)
        assert np.all(np.abs(found - reading.table[output]) <= 7 * error + 1e-9)


def test_a_loss_function_of_ones_own():
    reading = dp.Geometric(epsilon=1, bounds=(0, 4)).remap(loss=lambda i, k: float(i != k))
    assert 0 < reading.expected_loss < 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior": "flat"}, "prior must be 'uniform'"),
        ({"prior": [1, 2]}, "prior must have 5 weights"),
        ({"prior": [0] * 5}, "nor all zero"),
        ({"prior": [1, 1, 1, 1, -1]}, "must not be negative"),
        ({"loss": "hinge"}, "loss must be 'absolute'"),
        ({"loss": lambda i, k: float("inf")}, "loss must be finite"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.Geometric(epsilon=1, bounds=(0, 4)).remap(**options)


def test_ranges_too_long_to_tabulate_are_refused():
    with pytest.raises(dp.ParameterError, match="quadratic"):
        dp.Geometric(epsilon=1, bounds=(0, 10**6)).remap()
    with pytest.raises(dp.ParameterError, match="value must lie"):
        dp.Geometric(epsilon=1, bounds=(0, 4)).remap().expected_loss_at(7)
