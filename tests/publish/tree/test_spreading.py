"""People of boxes over their cells: every box keeps its number, and edges are not steps."""

import numpy as np
import pytest

from discreet.publish.tree.spreading import evenly, smoothly


def boxes(shape, sides):
    """A grid in boxes of equal sides: low and high corners by axis."""
    starts = np.meshgrid(*(np.arange(0, n, s) for n, s in zip(shape, sides, strict=True)))
    low = [axis.ravel() for axis in starts]
    return low, [a + s for a, s in zip(low, sides, strict=True)]


def inside(cells, low, high):
    spans = zip(zip(*low, strict=True), zip(*high, strict=True), strict=True)
    return [cells[tuple(map(slice, a, b))].sum() for a, b in spans]


@pytest.mark.parametrize(
    ("shape", "sides"), [((12,), (3,)), ((8, 12), (4, 3)), ((4, 4, 6), (2, 4, 3))]
)
def test_every_box_keeps_its_number(shape, sides):
    low, high = boxes(shape, sides)
    numbers = np.random.default_rng(1).integers(0, 9, len(low[0])) * 10.0
    for spread in (smoothly(shape, low, high, numbers),
                   evenly(shape, low, high, numbers / np.prod(sides))):  # fmt: skip
        assert spread.shape == shape
        assert spread.min() >= 0
        assert inside(spread, low, high) == pytest.approx(numbers.tolist(), abs=1e-9)


def test_cells_of_their_own_and_the_empty_stay_as_they_are():
    low, high = boxes((5, 5), (1, 1))
    numbers = np.arange(25) % 7 * 1.0
    assert inside(smoothly((5, 5), low, high, numbers), low, high) == pytest.approx(numbers)
    assert not smoothly((4, 4), *boxes((4, 4), (2, 2)), np.zeros(4)).any()
    whole = smoothly((4, 4), *boxes((4, 4), (4, 4)), np.array([32.0]))
    assert whole == pytest.approx(np.full((4, 4), 2.0))


def test_a_slope_is_found_again():
    """In boxes of eight by eight a slope steps; spread smoothly, it is nearer by half and more."""
    slope = np.add.outer(np.arange(64.0), np.arange(64.0))
    low, high = boxes((64, 64), (8, 8))
    numbers = np.array(inside(slope, low, high))
    off = np.abs(smoothly((64, 64), low, high, numbers) - slope).mean()
    assert off < np.abs(evenly((64, 64), low, high, numbers / 64) - slope).mean() / 2
