"""Synthetic people: made by formula, the same on every machine, about nobody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEPARTMENTS", "classroom", "departments", "salaries"]

DEPARTMENTS = ("Fire", "Health", "Library", "Parks", "Police", "Transit")
_SHARES = (0.11, 0.27, 0.04, 0.08, 0.17, 0.33)


def classroom() -> NDArray[np.bool_]:
    """Thirty pupils, twenty of whom failed."""
    return np.arange(30) < 20


def salaries(people: int = 29_000) -> NDArray[np.int64]:
    """Yearly salaries in whole units, from 40,000 to 400,000: about ten lie above 300,000.

    The quantiles of a log-normal law with median 88,000, at evenly spaced levels, in an order that
    has nothing to do with the amount.
    """
    from scipy.special import ndtri  # noqa: PLC0415

    level = (np.arange(people) + 0.5) / people
    amounts = 88_000 * np.exp(0.364 * ndtri(level))
    step = 10_007  # prime, so that multiplying by it permutes the people
    order = (np.arange(people) * step) % people
    found: NDArray[np.int64] = np.clip(np.rint(amounts[order]), 40_000, 400_000).astype(np.int64)
    return found


def departments(people: int = 29_000) -> NDArray[np.int64]:
    """The department of each person, as a number into DEPARTMENTS."""
    ends = np.rint(np.cumsum(_SHARES) * people).astype(np.int64)
    found: NDArray[np.int64] = np.searchsorted(ends, np.arange(people), side="right")
    return found
