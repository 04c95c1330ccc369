"""Synthetic people: made by formula, the same on every machine, about nobody.

Tested by tests/gallery/test_data.py
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BINS", "DEPARTMENTS", "RANGE", "classroom", "departments", "salaries", "salary_counts",
    "write_payroll",
]  # fmt: skip

DEPARTMENTS = ("Fire", "Health", "Library", "Parks", "Police", "Transit")
BINS, RANGE = 50, (40_000, 400_000)
"""The bins of the salary histogram, as everybody draws it."""
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


def salary_counts() -> NDArray[np.int64]:
    """How many of the salaries fall into each of the bins: the truth, which nobody else may see."""
    return np.histogram(salaries(), bins=BINS, range=RANGE)[0].astype(np.int64)


def departments(people: int = 29_000) -> NDArray[np.int64]:
    """The department of each person, as a number into DEPARTMENTS."""
    ends = np.rint(np.cumsum(_SHARES) * people).astype(np.int64)
    found: NDArray[np.int64] = np.searchsorted(ends, np.arange(people), side="right")
    return found


def write_payroll(path: str | Path, people: int = 29_000) -> Path:
    """Write a CSV file of salaries: everyone has a row for one to four of the years 2021 to 2024.

    Columns: person, year, department, salary, hired, remote, title. Titles are free text, and a few
    are held by very few people.
    """
    amounts, places = salaries(people), departments(people)
    file = Path(path)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["person", "year", "department", "salary", "hired", "remote", "title"])
        for i in range(people):
            started = 2021 + i * 7 % 4
            hired = date(2021 - i % 20, 1, 1) + timedelta(days=i * 31 % 365)
            for year in range(started, 2025):
                salary = round(int(amounts[i]) * 1.03 ** (year - 2024), 2)
                place = DEPARTMENTS[int(places[i])]
                remote = "true" if i % 3 == 0 else "false"
                writer.writerow([i, year, place, salary, hired, remote, _title(i)])
    return file


def _title(i: int) -> str:
    """One in 5,000 has a title of her own."""
    return f"special adviser {i}" if i % 5000 == 17 else ("officer", "clerk", "analyst")[i % 3]
