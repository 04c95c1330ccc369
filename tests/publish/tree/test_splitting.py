"""The chances of the ways to split, against plain integrals."""

import numpy as np
import pytest
from scipy.stats import beta
from tests.publish.tree.made import ROWS, measured

from discreet.publish.tree.levels import levels_of
from discreet.publish.tree.prior import Prior
from discreet.publish.tree.splitting import ANGLES, interpolated, places

PRIOR = Prior(empty=0.3, even=0.2, weights=(0.3, 0.2), alphas=(1, 6))
MIDDLES = (np.arange(200_000) + 0.5) / 200_000


def looked_up():
    levels = levels_of(measured((4,), ROWS))
    for level in levels:
        level.up = level.likelihood()
    return levels[1], levels[2]


def likelihood(child, place, count):
    """Interpolated by numpy instead."""
    grid = child.grid[place]
    return np.interp(count, grid, child.up[place], left=0, right=0)


def test_interpolation():
    _, child = looked_up()
    counts = np.linspace(-5, 200, 100)
    for place in range(4):
        found = interpolated(child, np.full(100, place), counts)
        assert found == pytest.approx(likelihood(child, place, counts), abs=1e-12)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("count", [0.5, 20.0, 37.0, 60.0])
def test_chances_are_the_integrals(place, count):
    level, child = looked_up()
    found = places(level, child, np.array([place]), np.array([count]), PRIOR).ways(child)
    weights = PRIOR.start
    left, right = 2 * place, 2 * place + 1

    def both(t):
        return likelihood(child, left, t) * likelihood(child, right, count - t)

    parts = [0.15 * (both(0.0) + both(count)), 0.2 * both(count / 2)]
    for weight, alpha in ((0.3, 1), (0.2, 6)):
        parts.append(
            weight * float(np.mean(both(MIDDLES * count) * beta.pdf(MIDDLES, alpha, alpha)))
        )
    chances, sums = found.chances(weights)
    assert sums[:, 0] == pytest.approx(parts, rel=0.03, abs=1e-9)
    assert found.total(weights)[0] == pytest.approx(sum(parts), rel=0.02)
    assert chances.sum() == pytest.approx(sums.sum())
    assert found.counts.shape == chances.shape == (3 + ANGLES, 1)


def test_nothing_falls_on_both_halves_as_nothing():
    level, child = looked_up()
    found = places(level, child, np.array([0]), np.array([0.0]), PRIOR).ways(child)
    both = child.up[0, 0] * child.up[1, 0]
    assert found.total(PRIOR.start)[0] == pytest.approx(both)
    assert found.chances(PRIOR.start)[0].sum() == pytest.approx(both)


def test_halves_that_cannot_make_the_whole_have_no_chance():
    level, child = looked_up()
    found = places(level, child, np.array([0]), np.array([10_000.0]), PRIOR).ways(child)
    assert found.total(PRIOR.start)[0] == 0
