"""Boxes and their exact counts; partitions of one layer and of two."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.publish.measured import Noisy, Terms
from discreet.publish.partition import Boxes, Partition, box_sums, grid


def pieces(boxes):
    for low, high in zip(boxes.low.tolist(), boxes.high.tolist(), strict=True):
        yield tuple(slice(a, b) for a, b in zip(low, high, strict=True))


@pytest.mark.parametrize(
    ("low", "high", "step"), [((0,), (7,), 3), ((1, 2), (6, 9), 2), ((0,) * 3, (3, 1, 4), 5)]
)
def test_a_grid_covers_every_cell_once_and_sums_are_exact(low, high, step):
    boxes = grid(low, high, step)
    cells = (np.arange(np.prod(high)) ** 2).reshape(high)
    seen = np.zeros(high, dtype=int)
    for piece in pieces(boxes):
        seen[piece] += 1
    inside = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    assert (seen[inside] == 1).all()
    assert seen.sum() == boxes.sizes.sum()
    assert box_sums(cells, boxes).tolist() == [int(cells[piece].sum()) for piece in pieces(boxes)]


def test_what_a_question_covers():
    boxes = grid((0, 0), (4, 4), 2)
    assert boxes.covered(((0, 3), (1, 4))).tolist() == [0.5, 1.0, 0.25, 0.5]
    assert boxes.owners((4, 4))[0].tolist() == [0, 0, 1, 1]


def two_layers():
    coarse = grid((0, 0), (4, 4), 2)
    fine = grid((0, 0), (2, 2), 1).joined(coarse.taken(np.array([1, 2, 3])))
    owners = np.array([0, 0, 0, 0, 1, 2, 3])
    return Partition(
        "by hand",
        Terms(2),
        (4, 4),
        fine,
        Noisy(np.array([1, 2, 3, 4, 50, 60, 70]), Fraction(1)),
        coarse,
        Noisy(np.array([12, 49, 61, 70]), Fraction(1)),
        owners,
    )


def test_ends_use_coarse_counts_where_nothing_is_cut():
    made = two_layers()
    under, over = made._ends(((0, 2), (0, 4)))
    assert (under.value, over.value) == (61, 61)
    assert under.standard_error == over.standard_error
    under, over = made._ends(((0, 1), (0, 3)))  # cuts both upper squares
    assert (under.value, over.value) == (3, 53)
    assert [w.sum() for w, _ in over.parts] == [3, 0]


def test_raw_cells_are_least_squares_of_both_layers():
    """A square in four with sum 10, measured as 12 with the same noise: 1/5 of the way to 10."""
    raw = two_layers().cells("raw")
    assert raw[:2, :2].sum() == pytest.approx((4 * 12 + 10) / 5)
    assert raw[0, 2] == pytest.approx((50 + 49) / 2 / 4)


def test_an_interval_spans_what_is_cut():
    made = Partition(
        "one",
        Terms(50),
        (4,),
        Boxes(np.array([[0], [2]]), np.array([[2], [4]])),
        Noisy(np.array([10, 20]), Fraction(50)),
    )
    answer = made.range(1, 4)
    assert (answer.low, answer.high, answer.raw) == (20, 30, 25)
    assert answer.value == 25
    for a, b in itertools.combinations(range(5), 2):
        assert made.range(a, b).low <= made.range(a, b).value <= made.range(a, b).high
