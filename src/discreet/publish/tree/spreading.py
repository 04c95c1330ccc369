"""How the people of a box are spread over its cells: as smoothly as their numbers allow.

Boxes divide a grid, and of each only the number of people is known. Spread evenly they would step
at every edge. Here the cells are averaged with their neighbours, first with those of a wide
neighbourhood and then of narrower ones, and each time every box is scaled back to its number
(Tobler 1979 calls it pycnophylactic): what is dense beside a dense box leans towards it, no cell is
negative, and every box keeps its number. All of it is post-processing.
Tested by tests/publish/tree/test_spreading.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["evenly", "smoothly"]

Array = NDArray[Any]

REACHES = (8, 8, 4, 4, 2, 1)
"""How many cells away those lie that a cell is averaged with, round after round."""


def evenly(shape: tuple[int, ...], low: list[Array], high: list[Array], values: Array) -> Array:
    """An array with a value of each box in all of its cells; the boxes divide the grid."""
    edges = np.zeros(tuple(side + 1 for side in shape), dtype=values.dtype)
    corners = list(zip(low, high, strict=True))
    for number in range(1 << len(corners)):
        signs = [number >> axis & 1 for axis in range(len(corners))]
        at = tuple(corner[sign] for corner, sign in zip(corners, signs, strict=True))
        np.add.at(edges, at, values * (-1) ** sum(signs))
    for axis in range(len(corners)):
        np.cumsum(edges, axis=axis, out=edges)
    return edges[tuple(slice(0, side) for side in shape)]


def smoothly(shape: tuple[int, ...], low: list[Array], high: list[Array], numbers: Array) -> Array:
    """The cells of boxes with these numbers of people."""
    box = evenly(shape, low, high, np.arange(len(numbers)))
    sizes = np.bincount(box.ravel(), minlength=len(numbers))
    cells = (numbers / sizes)[box]
    for reach in REACHES:
        cells = _averaged(cells, reach)
        sums = np.bincount(box.ravel(), weights=cells.ravel(), minlength=len(numbers))
        cells *= np.where(sums > 0, numbers / np.where(sums > 0, sums, 1.0), 0.0)[box]
    return cells


def _averaged(cells: Array, reach: int) -> Array:
    """Each cell averaged with those up to `reach` away along each axis; an edge goes on outside."""
    width = 2 * reach + 1
    for axis in range(cells.ndim):
        along = np.moveaxis(cells, axis, 0)
        ends = np.repeat(along[:1], reach + 1, axis=0), np.repeat(along[-1:], reach, axis=0)
        upto = np.cumsum(np.concatenate([ends[0], along, ends[1]]), axis=0)
        cells = np.moveaxis((upto[width:] - upto[:-width]) / width, 0, axis)
    return np.asarray(np.maximum(np.ascontiguousarray(cells), 0.0))
