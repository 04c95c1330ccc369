"""Least squares without a negative number: against all guesses, and by its conditions."""

import itertools

import numpy as np
import pytest

from discreet.publish import least
from discreet.publish.least import nearest


def cost(diagonal, rows, right, x):
    return x @ (diagonal * x) / 2 + (rows @ x) @ (rows @ x) / 2 - right @ x


@pytest.mark.parametrize("turn", range(12))
def test_it_is_the_least_of_all_guesses(turn):
    """All 64 sets of free numbers; those whose solution is not negative compete."""
    rng = np.random.RandomState(turn)
    diagonal, rows, right = rng.rand(6) + 0.1, rng.rand(2, 6), rng.randn(6)
    best = np.inf
    for chosen in itertools.product([False, True], repeat=6):
        x = least._solved(diagonal, rows, right, np.array(chosen))
        if x.min() >= 0:
            best = min(best, cost(diagonal, rows, right, x))
    found = nearest(diagonal, rows, right, np.zeros(6))
    assert found.min() >= 0
    assert cost(diagonal, rows, right, found) == pytest.approx(best)


@pytest.mark.parametrize("patience", [5, 0])
def test_the_conditions_hold_at_large_sizes_from_any_guess(patience, monkeypatch):
    """Without patience every turn changes one sign at most, which ends too."""
    monkeypatch.setattr(least, "_PATIENCE", patience)
    monkeypatch.setattr(least, "_TURNS", 100_000)
    rng = np.random.RandomState(1)
    n = 400 if patience else 60
    diagonal, rows, right = rng.rand(n) + 0.01, rng.rand(8, n), rng.randn(n) * 50 - 5
    found = [nearest(diagonal, rows, right, start) for start in (right, -right, np.ones(n))]
    x = found[0]
    slope = diagonal * x + rows.T @ (rows @ x) - right
    assert 0 < (x == 0).sum() < n
    assert x.min() >= 0
    assert slope.min() >= -1e-8
    assert np.abs(x * slope).max() < 1e-6
    assert found[1] == pytest.approx(x)
    assert found[2] == pytest.approx(x)


def test_without_rows_each_number_is_by_itself():
    found = nearest(np.full(3, 2.0), np.zeros((0, 3)), np.array([4.0, -2.0, 0.0]), np.zeros(3))
    assert found.tolist() == [2.0, 0.0, 0.0]
