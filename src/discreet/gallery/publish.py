"""A thousand questions from one release, against the same questions asked one by one.

Asked one by one, k questions share the budget: geometric noise on each costs epsilon/k, so that the
error of every answer grows with k. A published histogram is charged once; its ranges are read off
afterwards, and the thousandth is as good as the first.
Tested by tests/gallery/test_publish.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.convert import largest_rho
from discreet.publish.histogram import adaptive_tree
from discreet.publish.levels import hierarchy, identity

__all__ = ["EXPERIMENT", "alone", "gaussian", "published", "ranges", "truth"]

EPSILON = "0.1"
DELTA = "1e-6"
CELLS, LOW, HIGH = 4096, 0, 400_000
QUESTIONS = 1000
WAYS: dict[str, Callable[..., Any]] = {
    "adaptive tree": adaptive_tree,
    "levels of blocks (HB)": hierarchy,
    "single cells": identity,
}


@lru_cache(maxsize=1)
def truth() -> NDArray[np.int64]:
    """How many salaries are in each of the cells."""
    counts = np.histogram(data.salaries(), bins=CELLS, range=(LOW, HIGH))[0]
    return counts.astype(np.int64)


def ranges(many: int = QUESTIONS) -> NDArray[np.int64]:
    """Ranges of cells, spread evenly over all pairs of ends by two irrational steps."""
    steps = np.arange(1, many + 1)[:, None] * np.array([0.7548776662466927, 0.5698402909980532])
    ends = np.sort(np.floor((steps % 1) * (CELLS + 1)).astype(np.int64), axis=1)
    ends[:, 1] += ends[:, 0] == ends[:, 1]
    return np.asarray(np.minimum(ends, CELLS))


def alone(questions: int) -> float:
    """The root mean square error of each of so many counts that share epsilon: exact."""
    return math.sqrt(Geometric(epsilon=Fraction(EPSILON) / questions).variance)


def gaussian(questions: int) -> float:
    """The same with Gaussian noise, for epsilon and delta: sigma = sqrt(questions/(2 rho))."""
    return math.sqrt(questions / float(2 * largest_rho(Fraction(EPSILON), Fraction(DELTA))))


def published(way: str, times: int) -> float:
    """The root mean square error of all ranges, over so many publications."""
    spans, upto = ranges(), np.concatenate([[0], np.cumsum(truth())])
    exact = upto[spans[:, 1]] - upto[spans[:, 0]]
    squares = 0.0
    for _ in range(times):
        made = WAYS[way](truth(), epsilon=EPSILON)
        sums = np.concatenate([[0.0], np.cumsum(_cells(made))])
        squares += float(np.mean((sums[spans[:, 1]] - sums[spans[:, 0]] - exact) ** 2))
    return math.sqrt(squares / times)


def _cells(made: Any) -> NDArray[Any]:
    return np.asarray(made.cells(), dtype=float)


def run(effort: Effort) -> Found:
    """Publish several times in several ways, and compare."""
    times = effort.of(20, 4)
    names = list(WAYS)
    errors = {names[i]: published(names[i], times) for i in effort.each("publications", len(names))}
    return Found(_facts(errors), (_questions(errors), _salaries()), (ONCE, FAIR))


def _facts(errors: dict[str, float]) -> tuple[Fact, ...]:
    tree = errors["adaptive tree"]
    one_by_one = alone(QUESTIONS)
    crossing = next(k for k in range(1, QUESTIONS) if alone(k) > tree)
    return (
        Fact("error of each of 1,000 ranges asked one by one", round(one_by_one)),
        Fact("the same with Gaussian noise and a delta of 1e-6", round(gaussian(QUESTIONS))),
        Fact("error of ranges of one published histogram", round(tree),
             remark="drawn: it moves by some people from run to run"),
        Fact("factor", round(one_by_one / tree), remark="drawn, too"),
        Fact("from so many questions on publishing is better", crossing, remark="drawn, too"),
        *(Fact(f"published by {name}", round(errors[name]), remark="drawn")
          for name in list(WAYS)[1:]),
    )  # fmt: skip


ONCE = """\
A publication is charged once. Everything that is computed from it later, by anybody, is
post-processing: it costs nothing, and the promise stays."""
FAIR = """\
One by one is the better way for one or two questions that are known beforehand, and for those that
a histogram of one column does not answer."""


def _questions(errors: dict[str, float]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("questions", "ranges that are asked", low=0, high=3))
    y = alt.Y(**charts.log_axis("error", "root mean square error, people", low=1, high=5))
    many = sorted({round(1000 ** (i / 40)) for i in range(41)})
    rows = [
        {"how": how, "questions": k, "error": error}
        for k in many
        for how, error in (
            ("one by one", alone(k)),
            ("one by one, Gaussian", gaussian(k)),
            *((f"published: {name}", error) for name, error in errors.items()),
        )
    ]
    order = list(dict.fromkeys(str(row["how"]) for row in rows))
    chart = charts.curves(rows, x=x, y=y, colour="how", order=order)
    return Figure(
        "publish",
        charts.themed(
            chart, "A thousand questions about salaries, for epsilon 0.1 in all",
            "29,000 people, ranges over 4,096 cells",
        ),
        "Asked one by one, questions share the budget, and the error of each grows with their "
        "number. What was published once answers all of them.",
    )  # fmt: skip


def _salaries() -> Figure:
    alt = charts.altair()
    width = (HIGH - LOW) / CELLS
    made = _cells(adaptive_tree(truth(), epsilon=EPSILON))
    rows = [
        {"what": name, "salary": LOW + width * (16 * i + 8), "people": float(n)}
        for name, cells in (("the truth", truth()), ("published", made))
        for i, n in enumerate(cells.reshape(-1, 16).sum(axis=1))
    ]
    x = alt.X("salary:Q", title="salary", scale=alt.Scale(domain=[0, 250_000], nice=False),
              axis=alt.Axis(values=list(range(0, 250_001, 50_000))))  # fmt: skip
    y = alt.Y("people:Q", title="people in 1,563 of salary")
    chart = charts.curves(rows, x=x, y=y, colour="what", order=["the truth", "published"])
    return Figure(
        "publish-salaries",
        charts.themed(
            chart, "What was published, and the truth",
            "epsilon 0.1; 16 cells of the 4,096 are drawn as one",
        ),
        "The tree looks closer where more people are. Where few are, it says how many, not where.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "publish",
    "A thousand questions from one release",
    "How much better a published histogram answers a thousand ranges than a thousand questions do.",
    run,
)
