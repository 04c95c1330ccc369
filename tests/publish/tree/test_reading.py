"""The posterior, against drawing trees from the prior and weighing them."""

import numpy as np
import pytest
from tests.publish.tree.made import ROWS, measured
from tests.publish.tree.plainly import random_tree, read_plainly

from discreet.publish.tree import reading as reading_module
from discreet.publish.tree.prior import Prior
from discreet.publish.tree.reading import read
from discreet.publish.tree.terms import UNITS

PRIOR = Prior(empty=0.3, even=0.15, weights=(0.3, 0.1, 0.15), alphas=(1, 0.15, 6))


def drawn(rng, size, share=0.5):
    """Shares of the left half, from the prior."""
    way = rng.choice(5, size, p=PRIOR.start)
    shares = np.stack(
        [
            rng.integers(0, 2, size).astype(float),
            np.full(size, share),
            *(rng.beta(alpha, alpha, size) for alpha in PRIOR.alphas),
        ]
    )
    return shares[way, np.arange(size)]


def weighed(rows, size=1_000_000, highest=250.0, rho=None):
    """Posterior means of the cells of a tree of four, by importance sampling; repeatable."""
    rng = np.random.default_rng(8)
    root = rng.uniform(0, highest, size)
    top, left, right = (drawn(rng, size) for _ in range(3))
    cells = root * np.stack(
        [top * left, top * (1 - left), (1 - top) * right, (1 - top) * (1 - right)]
    )
    log = np.zeros(size)
    for depth, node, units, value in rows:
        width = 4 >> depth
        count = cells[node * width : (node + 1) * width].sum(axis=0)
        part = units / UNITS
        log -= part * np.abs(value - count) if rho is None else part * rho * (value - count) ** 2
    weight = np.exp(log - log.max())
    return cells @ weight / weight.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [(0, 0, 6000, 80), (1, 0, 9000, 75), (1, 1, 9000, 2), (2, 2, 3000, 8), (2, 3, 3000, -9)],
        [(0, 0, 6000, 5), *[(2, node, 12000, value) for node, value in enumerate((0, -6, 9, 1))]],
    ],
)
@pytest.mark.parametrize("rho", [None, 0.02])
def test_means_are_those_of_the_posterior(rows, rho):
    """To a tenth of the noise's deviation, of which 24 points and the sampling take their part."""
    cells = weighed(rows, rho=rho)
    found = measured((4,), rows, rho=rho)
    levels = read(found, PRIOR, rounds=0).levels
    deviation = 2**0.5 / float(found.sharpness.max())
    for depth, level in enumerate(levels):
        expected = cells.reshape(1 << depth, -1).sum(axis=1)[level.nodes]
        assert level.mean == pytest.approx(expected, abs=0.1 * deviation)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", [PRIOR, Prior(0.6, 0.0, (0.25, 0.15), (1, 0.15))])
def test_means_are_those_of_plain_loops(seed, prior):
    """With the same grids and angles, so to many digits: a slip in either shows."""
    found = random_tree(np.random.default_rng(seed), 3)
    rows = [
        (depth, node, round(rate * UNITS), value)
        for (depth, node), every in found.items()
        for rate, value in every
    ]
    exact = {
        node: [(round(rate * UNITS) / UNITS, value) for rate, value in every]
        for node, every in found.items()
    }
    expected = read_plainly(exact, prior.start, prior.alphas, rounds=1)
    levels = read(measured((8,), rows), prior, rounds=1).levels
    assert sum(len(level.nodes) for level in levels) == len(expected)
    for (depth, node), mean in expected.items():
        place = int(np.searchsorted(levels[depth].nodes, node))
        assert levels[depth].mean[place] == pytest.approx(mean, rel=1e-5, abs=1e-5)


def test_means_of_halves_add_up_and_are_not_negative():
    reading = read(measured((4,), ROWS), PRIOR, rounds=2)
    for level, child in zip(reading.levels, reading.levels[1:], strict=False):
        halves = child.mean[level.left] + child.mean[level.right]
        assert halves == pytest.approx(level.mean, rel=1e-5)
        assert np.all(child.mean >= 0)
        assert child.belief.sum(axis=1) == pytest.approx(1)


def test_padding_gets_nobody_and_a_single_child_everybody():
    rows = [(0, 0, 9000, 30), *[(3, node, 20000, 6) for node in range(5)]]
    reading = read(measured((5,), rows), PRIOR, rounds=1)
    assert reading.levels[3].nodes.tolist() == [0, 1, 2, 3, 4]
    assert reading.levels[3].mean.sum() == pytest.approx(reading.levels[0].mean[0], rel=1e-4)
    assert reading.levels[1].mean[1] == pytest.approx(reading.levels[3].mean[4], rel=1e-4)


def test_weights_are_learned_by_depth():
    """Where every node's people are all on one side, the weight of that way grows."""
    rows = [(0, 0, 9000, 4000)]
    rows += [(3, node, 50000, 4000 if node == 5 else 0) for node in range(8)]
    before = read(measured((8,), rows), PRIOR, rounds=0).weights
    after = read(measured((8,), rows), PRIOR, rounds=3).weights
    assert np.all(after[:3, 0] > before[:3, 0])
    assert after.sum(axis=1) == pytest.approx(1)


def test_contradictions_are_survived():
    """Values that no counts can explain: the reading stays finite."""
    rows = [(0, 0, 30000, 10**9), (1, 0, 30000, -(10**9)), (1, 1, 30000, 10**7)]
    reading = read(measured((2,), rows), PRIOR, rounds=1)
    for level in reading.levels:
        assert np.all(np.isfinite(level.mean))
        assert np.all(level.mean >= 0)


def test_what_is_not_kept_is_found_anew(monkeypatch):
    """The same beliefs, up to the order of additions, whether there is room for all or for none."""
    rows = [(0, 0, 6000, 500), *[(5, node, 12000, 3 * node) for node in range(32)]]
    kept = read(measured((32,), rows), PRIOR, rounds=2)
    monkeypatch.setattr(reading_module, "KEPT", 0)
    monkeypatch.setattr(reading_module, "ROWS", 100)
    anew = read(measured((32,), rows), PRIOR, rounds=2)
    for one, other in zip(kept.levels, anew.levels, strict=True):
        assert one.belief == pytest.approx(other.belief, rel=1e-9, abs=1e-12)


def test_unevenness_is_that_of_the_shares_where_it_is_plain_to_see():
    """Nearly without noise: nodes weigh as squared counts, and a depth twice the one above."""
    cells = np.array([600, 200, 100, 100])
    rows = [(2, node, UNITS, 1000 * count) for node, count in enumerate(cells.tolist())]
    reading = read(measured((4,), rows), PRIOR, rounds=1)
    top, low = 0.3**2, (200**2 + 0) / (800**2 + 200**2)
    assert reading.unevenness(0, 1) == pytest.approx(0.3, abs=0.01)
    assert reading.unevenness(1, 2) == pytest.approx(low**0.5, abs=0.01)
    heavy = 1000**2, 2 * (800**2 + 200**2)
    both = (top * heavy[0] + low * heavy[1]) / sum(heavy)
    assert reading.unevenness(0, 2) == pytest.approx(both**0.5, abs=0.01)


def test_unevenness_heeds_the_real_cells_and_is_1_where_nothing_is_known():
    """Three cells with as many people each are even, though two of them are on the left."""
    rows = [(0, 0, UNITS // 2, 300_000), (1, 0, UNITS // 2, 200_000), (1, 1, UNITS // 2, 100_000)]
    assert read(measured((3,), rows), PRIOR, rounds=1).unevenness(0, 1) < 0.01
    assert read(measured((4,), [(0, 0, UNITS, 5)]), PRIOR, rounds=0).unevenness(0, 1) == 1
