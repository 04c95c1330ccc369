"""Workloads: products with M without building it, against dense algebra."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.publish.questions import all_ranges, boxes, least_possible, listed, prefixes

RANGES = [[(i, j)] for i in range(5) for j in range(i + 1, 6)]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (prefixes(5), np.tril(np.ones((5, 5)))),
        (all_ranges(5), boxes((5,), RANGES).rows.todense()),
        (
            listed((5,), [[1, 0, 2, 0, 0], [0, -1, 0, 0, 0.5]]),
            [[1, 0, 2, 0, 0], [0, -1, 0, 0, 0.5]],
        ),
        (boxes((5,), RANGES * 9), np.vstack([boxes((5,), RANGES).rows.todense()] * 9)),
    ],
    ids=["prefixes", "ranges", "listed", "more questions than cells"],
)
def test_products_are_those_of_the_matrix(wanted, rows):
    every = np.asarray(rows, dtype=float)
    gram = every.T @ every
    left = np.arange(15.0).reshape(3, 5) - 4
    assert wanted.times(left) == pytest.approx(left @ gram)
    assert wanted.diagonal == pytest.approx(np.diag(gram))
    assert wanted.gram == pytest.approx(gram)


def test_boxes_hold_the_cells_between_their_ends():
    rows = boxes((2, 3), [[(0, 1), (0, 3)], [(0, 2), (1, 2)], [(1, 1), (0, 3)]]).rows.todense()
    assert rows.tolist() == [[1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0] * 6]


def test_the_bound_is_met_by_the_identity_for_single_cells():
    assert least_possible(listed((4,), np.eye(4))) == pytest.approx(4)


def test_what_makes_no_sense_is_refused():
    for shape, boxed in (((4,), []), ((4,), [[(0, 5)]]), ((4,), [[(2, 1)]]), ((2, 2), [[(0, 1)]]),
                         ((999, 999), [[(0, 1), (0, 1)]]), ((), [[]])):  # fmt: skip
        with pytest.raises(ParameterError):
            boxes(shape, boxed)
    with pytest.raises(ParameterError, match="cells"):
        listed((3,), [[1, 2]])
    with pytest.raises(ParameterError, match="finite"):
        listed((2,), [[1, np.nan]])
    with pytest.raises(ParameterError, match="cells"):
        prefixes(10_001)
