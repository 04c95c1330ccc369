"""Draws of answers: their means are the posterior's, their cost that of the question's edge."""

import numpy as np
import pytest
from tests.publish.tree.made import ROWS, measured

from discreet.publish.histogram import adaptive_tree
from discreet.publish.tree import draws
from discreet.publish.tree.domain import Cells
from discreet.publish.tree.draws import Draws
from discreet.publish.tree.prior import Prior
from discreet.publish.tree.reading import read

PRIOR = Prior(empty=0.3, even=0.15, weights=(0.3, 0.1, 0.15), alphas=(1, 0.15, 6))


@pytest.fixture(scope="module")
def reading():
    return read(measured((4,), ROWS), PRIOR, rounds=1)


@pytest.mark.parametrize("box", [(0, 4), (0, 2), (0, 1), (1, 3), (3, 4), (1, 4)])
def test_draws_have_the_means_of_the_reading(reading, box):
    """Repeatable: the key is public. To five standard errors, and what the grids leave open."""
    found, total = Draws(reading, 20_000).inside((box,))
    mean = reading.levels[2].mean[slice(*box)].sum()
    allowed = 5 * found.std() / 20_000**0.5 + 0.02 * total.std() + 0.01 * mean
    assert found.mean() == pytest.approx(mean, abs=allowed)
    assert np.all(found >= 0)
    assert np.all(found <= total * (1 + 1e-12))


def test_draws_spread_like_the_beliefs(reading):
    found, _ = Draws(reading, 20_000).inside(((0, 1),))
    level = reading.levels[2]
    second = (level.belief[0] * level.grid[0] ** 2).sum()
    spread = (second - level.mean[0] ** 2) ** 0.5
    assert found.std() == pytest.approx(spread, rel=0.1)


def test_the_same_question_has_the_same_draws(reading):
    first, second = Draws(reading, 50), Draws(read(measured((4,), ROWS), PRIOR, rounds=1), 50)
    assert np.array_equal(first.inside(((0, 1),))[0], second.inside(((0, 1),))[0])
    assert not np.array_equal(first.inside(((0, 1),))[0], first.inside(((0, 2),))[0])
    other = read(measured((4,), [*ROWS[:-1], (2, 3, 9000, 8)]), PRIOR, rounds=1)
    assert not np.array_equal(first.inside(((0, 1),))[0], Draws(other, 50).inside(((0, 1),))[0])


def test_below_what_was_measured_the_prior_decides():
    """One node of two to the thirty cells: the share of its left half is the prior's."""
    reading = read(measured((1 << 30,), [(0, 0, 60000, 100_000)]), PRIOR, rounds=0)
    found, total = Draws(reading, 20_000).inside(((0, 1 << 29),))
    share = found / total
    assert share.mean() == pytest.approx(0.5, abs=0.02)
    assert np.mean(share == 0) == pytest.approx(0.15, abs=0.03)
    assert np.mean(share == 1) == pytest.approx(0.15, abs=0.03)
    assert np.mean(share == 0.5) == pytest.approx(0.15, abs=0.02)


def test_padding_gets_nobody():
    reading = read(measured((5,), [(0, 0, 60000, 1000)]), PRIOR, rounds=0)
    drawn = Draws(reading, 2000)
    found, total = drawn.inside(((0, 5),))
    assert np.array_equal(found, total)
    parts = sum(drawn.inside(((cell, cell + 1),))[0].mean() for cell in range(5))
    assert parts == pytest.approx(1000, rel=0.1)
    assert drawn.crossing(0.999).max() <= 4


def test_a_long_edge_is_not_followed_to_every_cell(monkeypatch):
    reading = read(measured((1 << 20, 1 << 20), [(0, 0, 60000, 1000)]), PRIOR, rounds=0)
    found, total = Draws(reading, 20).inside(((0, (1 << 19) + 1), (0, 1 << 20)))
    assert found.mean() <= total.mean()
    monkeypatch.setattr(draws, "FINEST", 0)
    rough, total = Draws(reading, 20).inside(((0, 1 << 18), (0, 1 << 20)))
    assert np.all(rough <= total / 2 * (1 + 1e-12))  # half of what the left half gets


def test_crossings_are_where_the_people_are():
    counts = np.zeros(64, dtype=np.int64)
    counts[20], counts[50] = 3000, 1000
    found = adaptive_tree(Cells.dense(counts), epsilon=5)
    drawn = Draws(found.reading, 300)
    assert np.median(drawn.crossing(0.5)) == 20
    assert np.median(drawn.crossing(0.9)) == 50
