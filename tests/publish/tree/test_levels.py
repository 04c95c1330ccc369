"""The tables of what was measured, and least squares on them."""

import numpy as np
import pytest
from tests.publish.tree.made import ROWS, measured

from discreet.publish.tree.levels import POINTS, levels_of
from discreet.publish.tree.terms import UNITS


def test_children_parents_and_padding():
    """Five cells in a tree of eight: the right half holds one real cell, at its left end."""
    levels = levels_of(measured((5,), [(0, 0, 9, 5), (3, 0, 5, 1), (3, 4, 5, 1), (3, 0, 7, 3)]))
    assert [level.nodes.tolist() for level in levels] == [[0], [0, 1], [0, 1, 2], [0, 1, 4]]
    assert levels[1].left.tolist() == [0, 2]
    assert levels[1].right.tolist() == [1, -1]
    assert levels[2].left.tolist() == [0, -1, 2]
    assert [level.splits.tolist() for level in levels] == [[0], [0], [0], []]
    assert [level.passes.tolist() for level in levels] == [[], [1], [2], []]
    assert levels[0].share.tolist() == [0.8]
    assert levels[3].place.tolist() == [0, 2, 0]


def test_an_even_split_goes_by_real_cells():
    levels = levels_of(measured((7,), [(0, 0, 9, 5), (3, 0, 5, 1), (3, 4, 5, 1)]))
    assert levels[0].share.tolist() == pytest.approx([4 / 7])
    assert levels[1].share.tolist() == pytest.approx([1 / 2, 2 / 3])


def test_estimates_are_those_of_weighted_least_squares():
    """Against the normal equations, with variances, and with two measurements of one node."""
    rows = [*ROWS, (1, 1, 20000, 44), (2, 3, 700, 12)]
    levels = levels_of(measured((4,), rows))
    holds = [[1] * 4, *np.eye(4).tolist(), [0, 0, 1, 1], [0, 0, 0, 1]]
    matrix, values = np.array(holds), np.array([row[3] for row in rows])
    weights = np.array([row[2] / UNITS for row in rows]) ** 2 / 2
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    cells = covariance @ (matrix.T @ (weights * values))
    for depth, level in enumerate(levels):
        total = np.kron(np.eye(1 << depth), np.ones(4 >> depth))
        assert level.estimate == pytest.approx(total @ cells)
        assert level.variance == pytest.approx(np.diag(total @ covariance @ total.T))


def test_grids_lie_around_the_estimates_and_never_below_nothing():
    for level in levels_of(measured((4,), ROWS)):
        grid = level.grid
        assert grid.shape == (len(level.nodes), POINTS)
        assert np.all(np.diff(grid, axis=1) > 0)
        assert np.all(grid >= 0)
        assert np.all(grid[:, 0] == level.low)
        assert grid[:, -1] == pytest.approx(level.high)


def test_a_likelihood_falls_with_the_distance():
    level = levels_of(measured((4,), [*ROWS, (2, 3, 700, 12)]))[2]
    grid, found = level.grid, level.likelihood()
    assert found.max(axis=1) == pytest.approx(1)
    log = -(9000 * abs(7 - grid[3]) + 700 * abs(12 - grid[3])) / UNITS
    assert np.log(found[3]) == pytest.approx(log - log.max())
