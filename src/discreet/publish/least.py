"""Least squares without a negative number, for matrices that are diagonal but for a few rows.

`nearest` finds the x >= 0 with the least x'(D + B'B)x/2 - s'x, where D is diagonal with entries
above 0 and B has few rows. The minimum is one point, and exactly that where x >= 0,
g = (D + B'B)x - s >= 0, and x_i g_i = 0 for all i (Karush, Kuhn and Tucker).

How. Block principal pivoting: guess which numbers are above 0, solve for them (`_solved`), change
the guess wherever x or g has the wrong sign, until none has. When the number of wrong signs has
not fallen for a few turns only the last of them is changed, which never cycles (Murty 1974; Judice
and Pires 1994). Solving takes p^2 n steps for p rows in B, by Woodbury's identity.
Tested by tests/publish/test_least.py
"""

from __future__ import annotations

import numpy as np

from discreet.publish.measured import Array

__all__ = ["nearest"]

_TURNS = 2000
_PATIENCE = 5
_TINY = 1e-11
"""Signs count as wrong beyond this part of the largest number."""


def nearest(diagonal: Array, rows: Array, right: Array, start: Array) -> Array:
    """The minimum at the top of this module.

    Args:
        diagonal: of D.
        rows: B.
        right: s.
        start: the first guess is where this is above 0.

    >>> nearest(np.ones(3), np.ones((1, 3)), np.array([3.0, -1.0, 0.0]), np.zeros(3)).tolist()
    [1.5, 0.0, 0.0]
    """
    free = start > 0
    fewest, left = len(right) + 1, _PATIENCE
    x = np.zeros(len(right))
    for _ in range(_TURNS):
        x = _solved(diagonal, rows, right, free)
        slope = diagonal * x + rows.T @ (rows @ x) - right
        unit = _TINY * float(np.abs(right).max(initial=0))
        wrong = np.where(free, x * diagonal < -unit, slope < -unit)
        number = int(wrong.sum())
        if not number:
            break
        if number < fewest:
            fewest, left = number, _PATIENCE
        elif left:
            left -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free = free ^ wrong
    return np.maximum(x, 0.0)


def _solved(diagonal: Array, rows: Array, right: Array, free: Array) -> Array:
    """The minimum among numbers that are 0 where they are not free."""
    own, some = diagonal[free], rows[:, free]
    alone = right[free] / own
    inner = np.eye(len(rows)) + (some / own) @ some.T
    found = np.zeros(len(right))
    found[free] = alone - (some.T @ np.linalg.solve(inner, some @ alone)) / own
    return found
