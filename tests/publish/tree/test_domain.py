"""The tree over a grid: which cells a node holds, and exact counts of nodes."""

import itertools

import numpy as np
import pytest

from discreet.errors import InputTypeError, ParameterError
from discreet.publish.tree.domain import DEEPEST, Cells, Domain

SHAPES = [(1,), (2,), (5,), (8,), (3, 4), (5, 2), (7, 7), (2, 3, 5), (1, 6), (4, 4, 4)]


def held(domain, depth, node):
    """The cells of a node, by walking down from the root and halving boxes."""
    low, size = [0] * len(domain.shape), [1 << bits for bits in domain.bits]
    for place in range(depth):
        axis = size.index(max(size))
        size[axis] //= 2
        low[axis] += size[axis] * (node >> (depth - 1 - place) & 1)
    ranges = [
        range(a, min(a + s, side)) for a, s, side in zip(low, size, domain.shape, strict=True)
    ]
    return list(itertools.product(*ranges))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_depth_holds_every_real_cell_once_and_counts_are_sums(shape):
    domain = Domain(shape)
    counts = np.arange(1, domain.cells + 1).reshape(shape) ** 2
    dense = Cells.dense(counts)
    rows = np.argwhere(counts > 0)
    sparse = Cells.sparse(shape, rows[::-1], counts[tuple(rows[::-1].T)])
    for depth in range(domain.depth + 1):
        nodes = np.arange(1 << depth)
        cells = [held(domain, depth, node) for node in nodes]
        assert sorted(itertools.chain(*cells)) == sorted(map(tuple, np.ndindex(*shape)))
        assert domain.real(depth, nodes).tolist() == [len(each) for each in cells]
        exact = [sum(int(counts[cell]) for cell in each) for each in cells]
        depths = np.full(nodes.shape, depth)
        assert dense.count(depths, nodes).tolist() == exact
        assert sparse.count(depths, nodes).tolist() == exact
        low, high = domain.sides(depth, nodes)
        for node, inside in zip(nodes, cells, strict=True):
            box = [range(a[node], b[node]) for a, b in zip(low, high, strict=True)]
            assert list(itertools.product(*box)) == inside


@pytest.mark.parametrize("shape", SHAPES)
def test_leaf_numbers_are_the_nodes_of_the_last_depth(shape):
    domain = Domain(shape)
    for cell in np.ndindex(*shape):
        leaf = int(domain.leaves([np.array([at]) for at in cell])[0])
        assert held(domain, domain.depth, leaf) == [cell]
        assert [int(low[0]) for low in domain.corners(domain.depth, np.array([leaf]))] == list(cell)


def test_a_square_is_halved_by_turns_rows_first():
    assert Domain((128, 128)).axes == (0, 1) * 7
    assert Domain((2, 8)).axes == (1, 1, 0, 1)


def test_a_large_domain_costs_nothing():
    cells = Cells.sparse((10**6, 10**6, 10**6), np.array([[5, 10**6 - 1, 7]] * 2), np.array([3, 4]))
    assert cells.domain.depth == DEEPEST
    assert cells.count(np.array([0, 60]), np.array([0, 0])).tolist() == [7, 0]


@pytest.mark.parametrize("shape", [(), (2, 2, 2, 2), (0,), (1 << 61,), (1 << 30, 1 << 31), "5", 5])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ParameterError):
        Domain(shape)


def test_what_is_no_count_is_refused_without_a_look_at_it():
    with pytest.raises(InputTypeError, match="integer arrays"):
        Cells.dense(np.array([0.5]))
    with pytest.raises(InputTypeError, match="integer arrays"):
        Cells.sparse((3,), np.array(["a"]), np.array([1]))
    for keys in ([[1, 2]], [[3]], [[-1]]):
        with pytest.raises(ParameterError) as refused:
            Cells.sparse((3,), np.array(keys), np.array([1]))
        assert refused.value.value is None
    assert "3" not in repr(Cells.dense(np.array([33333]))).replace("(1,)", "")
    assert Cells.sparse((3,), np.zeros((0, 1), int), np.zeros(0, int)).count(
        np.array([0]), np.array([0])
    ).tolist() == [0]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_no_sum_wraps_and_counts_beyond_two_to_the_62_are_cut(kind):
    """A wrapped sum would put neighbours 2^64 apart."""
    for last in (0, 1):
        counts = np.array([1 << 62, (1 << 62) - 1 + last, 0, 5], dtype=kind)
        found = Cells.dense(counts).count(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 3]))
        assert found.dtype == np.int64
        assert found.tolist() == [1 << 62, 1 << 62, (1 << 62) - 1 + last, 5]
    if kind == np.int64:
        cells = Cells.dense(np.array([-(1 << 63), -(1 << 63), 1 << 62, 7]))
        assert cells.count(np.array([0, 1]), np.array([0, 1])).tolist() == [-(1 << 62), 1 << 62]
    else:
        assert Cells.dense(np.array([(1 << 64) - 1, 0], dtype=kind)).count(
            np.array([0]), np.array([0])
        ).tolist() == [1 << 62]
