"""Blocks and their sums; cells made to obey."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.nearest import onto_simplex
from discreet.publish.blocks import blocks_of, obedient
from discreet.publish.consistency import rising_cells


@pytest.mark.parametrize("shape", [(1,), (7,), (4, 6), (3, 1, 5)])
@pytest.mark.parametrize("branching", [2, 3, 10])
def test_sums_are_those_of_the_parents(shape, branching):
    blocks = blocks_of(shape, branching)
    levels = blocks.sums(np.arange(np.prod(shape)).reshape(shape) ** 2)
    assert [level.shape for level in levels] == list(blocks.shapes)
    assert blocks.shapes[-1] == (1,) * len(shape)
    for below, above, up in zip(levels, levels[1:], blocks.parents, strict=False):
        sums = np.bincount(up, weights=below.reshape(-1), minlength=above.size)
        assert sums.tolist() == above.reshape(-1).tolist()
    assert levels[-1].dtype == np.int64


@given(st.lists(st.floats(-9, 9), min_size=12, max_size=12))
def test_no_cell_is_negative_and_the_sum_stays(values):
    cells = np.array(values).reshape(3, 4)
    found = obedient(cells)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(max(cells.sum(), 0), abs=1e-9)
    assert obedient(found) == pytest.approx(found, abs=1e-9)


@given(st.lists(st.floats(-9, 9), min_size=16, max_size=16))
def test_every_step_is_a_projection(values):
    """Quarters are the nearest with the sum of all, cells the nearest with their quarter's."""
    cells = np.array(values).reshape(4, 4)
    found = obedient(cells)
    quarters = list(itertools.product((slice(0, 2), slice(2, 4)), repeat=2))
    top = np.array([cells[q].sum() for q in quarters])
    given_ = onto_simplex(top, float(cells.sum()))
    assert [found[q].sum() for q in quarters] == pytest.approx(given_.tolist(), abs=1e-7)
    for q, total in zip(quarters, given_, strict=True):
        wanted = onto_simplex(cells[q].reshape(-1), total)
        assert found[q].reshape(-1) == pytest.approx(wanted, abs=1e-7)


def test_on_one_axis_cumulative_counts_rise():
    cells = np.array([3.0, -1.0, 2.0])
    assert obedient(cells).tolist() == rising_cells(cells).tolist()
