"""Every function against a brute-force optimum, and against its own conditions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from discreet.errors import ParameterError
from discreet.publish.consistency import (
    nonnegative,
    nonnegative_fit,
    rising,
    rising_cells,
    tree_fit,
    whole_numbers,
)

numbers = st.floats(-9, 9).map(lambda x: round(x, 2))
vectors = st.lists(numbers, min_size=1, max_size=9).map(np.array)
spreads = st.floats(0.1, 9)


@given(vectors)
def test_nonnegative_is_nearest(v):
    x = nonnegative(v)
    assert x.min() >= 0
    assert np.all((v - x) <= 0)  # no direction into the orthant is one towards v
    assert np.all((v - x) * x == 0)


@given(st.lists(st.floats(-3, 3).map(lambda x: round(x, 1)), min_size=1, max_size=4))
def test_whole_numbers_are_nearest_of_all(values):
    v = np.array(values)
    found = whole_numbers(v)
    total = int(found.sum())
    assert total == round(float(v.sum()))
    best = min(
        sum((a - b) ** 2 for a, b in zip(x, values, strict=True))
        for x in itertools.product(range(-5, 6), repeat=len(values))
        if sum(x) == total
    )
    assert ((found - v) ** 2).sum() == pytest.approx(best, abs=1e-9)
    assert whole_numbers(nonnegative(v)).min() >= 0


def test_whole_numbers_keep_shapes_and_refuse_far_totals():
    assert whole_numbers(np.array([[0.5, 0.6], [0.7, 0.2]]), 3).tolist() == [[1, 1], [1, 0]]
    with pytest.raises(ParameterError, match="total"):
        whole_numbers(np.array([0.5]), 3)


def rising_by_brute_force(v, w):
    """c = L x with x >= 0, by non-negative least squares on the weighted differences."""
    lower = np.tril(np.ones((len(v), len(v))))
    x, _ = nnls(lower * np.sqrt(w)[:, None], v * np.sqrt(w))
    return lower @ x


@given(st.lists(st.tuples(numbers, spreads), min_size=1, max_size=9))
def test_rising_is_nearest(pairs):
    v, w = np.array(pairs).T
    found = rising(v, w)
    assert found == pytest.approx(rising_by_brute_force(v, w), abs=1e-7)
    assert np.all(np.diff(found, prepend=0.0) >= 0)


@given(vectors)
def test_cells_of_a_rising_sum(v):
    cells = rising_cells(v)
    assert cells.min() >= 0
    assert np.cumsum(cells) == pytest.approx(rising(np.cumsum(v)), abs=1e-9)


@st.composite
def trees(draw):
    """Two to four levels, irregular, numbers and variances at random."""
    sizes = [draw(st.integers(1, 8))]
    parents = []
    for _ in range(draw(st.integers(1, 3))):
        parts = draw(st.integers(1, sizes[-1]))
        cuts = sorted(draw(st.permutations(range(1, sizes[-1])))[: parts - 1])
        up = np.searchsorted(cuts, np.arange(sizes[-1]), side="right")
        parents.append(up)
        sizes.append(parts)
    fill = lambda strategy: [
        np.array(draw(st.lists(strategy, min_size=n, max_size=n))) for n in sizes
    ]
    return fill(numbers), fill(spreads), parents


def leaf_matrix(sizes, parents):
    """The node-by-leaf matrix of a tree, level after level."""
    blocks = [np.eye(sizes[0])]
    for n, up in zip(sizes[1:], parents, strict=True):
        above = np.zeros((n, sizes[0]))
        for child, parent in enumerate(up):
            above[parent] += blocks[-1][child]
        blocks.append(above)
    return np.vstack(blocks)


@given(trees())
def test_the_tree_fit_is_weighted_least_squares(tree):
    values, variances, parents = tree
    matrix = leaf_matrix([len(level) for level in values], parents)
    root = np.sqrt(np.concatenate(variances))
    leaves, *_ = np.linalg.lstsq(matrix / root[:, None], np.concatenate(values) / root, rcond=None)
    fitted = tree_fit(values, variances, parents)
    assert np.concatenate(fitted) == pytest.approx(matrix @ leaves, abs=1e-7)


@given(trees())
def test_the_nonnegative_fit_is_nonnegative_least_squares(tree):
    values, variances, parents = tree
    matrix = leaf_matrix([len(level) for level in values], parents)
    root = np.sqrt(np.concatenate(variances))
    leaves, _ = nnls(matrix / root[:, None], np.concatenate(values) / root, maxiter=10_000)
    fitted = nonnegative_fit(values, variances, parents)
    assert np.concatenate(fitted) == pytest.approx(matrix @ leaves, abs=1e-6)
    assert min(level.min() for level in fitted) >= 0


@given(trees(), st.floats(0, 30))
def test_given_totals_are_kept_and_the_rest_is_nearest(tree, total):
    """By brute force: the totals get a weight of a million."""
    values, variances, parents = tree
    totals = np.full(len(values[-1]), total)
    fitted = nonnegative_fit(values, variances, parents, totals=totals)
    assert fitted[-1] == pytest.approx(totals, abs=1e-9)
    heavy = [*variances[:-1], np.full(len(totals), 1e-7)]
    matrix = leaf_matrix([len(level) for level in values], parents)
    root = np.sqrt(np.concatenate(heavy))
    wanted = np.concatenate([*values[:-1], totals])
    leaves, _ = nnls(matrix / root[:, None], wanted / root, maxiter=10_000)
    assert np.concatenate(fitted) == pytest.approx(matrix @ leaves, abs=1e-3)


@given(trees(), st.floats(-5, 30))
def test_a_variance_of_zero_is_a_given_total(tree, total):
    values, variances, parents = tree
    totals = np.full(len(values[-1]), total)
    fitted = tree_fit([*values[:-1], totals], [*variances[:-1], 0.0], parents)
    assert fitted[-1] == pytest.approx(totals)
    for level, up in enumerate(parents):
        sums = np.bincount(up, weights=fitted[level], minlength=len(fitted[level + 1]))
        assert sums == pytest.approx(fitted[level + 1], abs=1e-9)


def test_what_was_not_measured_is_divided_equally():
    up = [np.array([0, 0, 1, 1, 1])]
    leaves = np.array([1.0, 99.0, 99.0, 99.0, 99.0])
    variances = [np.array([1.0, *[np.inf] * 4]), np.array([1.0, 1.0])]
    fitted = tree_fit([leaves, np.array([5.0, 9.0])], variances, up)
    assert fitted[0].tolist() == [1.0, 4.0, 3.0, 3.0, 3.0]
    only = tree_fit(
        [np.array([1.0, 2.0]), np.array([7.0])], [np.array([0.0, 0.0]), 1.0], [up[0][:2]]
    )
    assert only[0].tolist() == [1.0, 2.0]  # what is given moves no more


def test_unmeasured_leaves_have_no_nonnegative_fit():
    with pytest.raises(ParameterError, match="leaves"):
        nonnegative_fit([np.ones(2), np.ones(1)], [np.inf, 1.0], [np.zeros(2, dtype=int)])


def test_unmeasured_levels_do_not_count():
    values = [np.array([3.0, -5.0, 2.0]), np.array([100.0])]
    fitted = nonnegative_fit(values, [1.0, np.inf], [np.zeros(3, dtype=int)])
    assert fitted[0].tolist() == [3.0, 0.0, 2.0]
