"""How far a private histogram is off: rounded Laplace noise against geometric noise.

The L1 error is the sum of the absolute errors of all bins, so its expectation is the number of bins
times that of one noise, and its variance that many times the variance of one absolute noise. For
Laplace noise on a grid of 1/1024, rounded to the nearest integer afterwards, the noise is at least
k away from 0 with probability e^(-epsilon (k - 1/2)), whatever the grid; added up over k that is
1/(2 sinh(epsilon/2)). Geometric noise has 1/sinh(epsilon).
Tested by tests/gallery/test_l1_error.py
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.gallery.variance import rounded_laplace
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace

__all__ = ["EXPERIMENT", "expected", "ratio", "sampled", "spread"]

NOTES = "class notes"
ROUNDED, GEOMETRIC = "Laplace, rounded", "geometric"
REPLACED = "geometric, a person is replaced"
PLACES = ("0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "3", "4", "5")
GRID = "1/1024"
LOWEST = -1
"""The axis of errors begins at 10 to this power."""


def expected(noise: str, epsilon: float) -> float:
    """The expected L1 error of the histogram."""
    if noise == ROUNDED:
        one = 1 / (2 * math.sinh(epsilon / 2))
    else:
        one = 1 / math.sinh(epsilon / 2 if noise == REPLACED else epsilon)
    return data.BINS * one


def spread(noise: str, epsilon: float) -> float:
    """The standard deviation of the L1 error of the histogram."""
    rate = epsilon / 2 if noise == REPLACED else epsilon
    square = rounded_laplace(rate) if noise == ROUNDED else 1 / (2 * math.sinh(rate / 2) ** 2)
    one = expected(noise, epsilon) / data.BINS
    return math.sqrt(data.BINS * (square - one**2))


def ratio(epsilon: float) -> float:
    """How many times the error of geometric noise rounded Laplace noise has: cosh(epsilon/2)."""
    return expected(ROUNDED, epsilon) / expected(GEOMETRIC, epsilon)


def sampled(noise: str, epsilon: str, repetitions: int) -> NDArray[np.float64]:
    """The L1 errors of that many private histograms."""
    exact = np.tile(data.salary_counts(), (repetitions, 1))
    if noise == ROUNDED:
        told = Laplace(epsilon=epsilon, sensitivity=1, grid=GRID).release(exact)
        told = np.floor(told + 0.5)
    elif noise == REPLACED:
        told = Geometric(epsilon=epsilon, changes=2, neighbours="replace").release(exact)
    else:
        told = Geometric(epsilon=epsilon).release(exact)
    found: NDArray[np.float64] = np.abs(told - exact).sum(axis=1).astype(np.float64)
    return found


def run(effort: Effort) -> Found:
    """Release many histograms at each epsilon, and lay the exact expectation through them."""
    repetitions = effort.of(500, 30)
    rows = []
    for i in effort.each("histograms", len(PLACES)):
        for noise in (ROUNDED, GEOMETRIC):
            errors = sampled(noise, PLACES[i], repetitions)
            rows.append(_row(noise, float(PLACES[i]), float(errors.mean()), float(errors.std())))
    return Found(
        _facts(rows, repetitions), (_errors(rows, repetitions), _ratio(rows)), (SAME, REPLACING)
    )


def _row(noise: str, epsilon: float, mean: float, deviation: float) -> dict[str, Any]:
    low, high = max(mean - deviation, 10.0**LOWEST), mean + deviation  # the axis has no zero
    return {"noise": noise, "epsilon": epsilon, "error": mean, "low": low, "high": high}


def _facts(rows: list[dict[str, Any]], repetitions: int) -> tuple[Fact, ...]:
    off = max(
        abs(row["error"] - expected(row["noise"], row["epsilon"]))
        / spread(row["noise"], row["epsilon"]) for row in rows
    )  # fmt: skip
    found = [
        Fact(f"expected L1 error, {noise}, epsilon {epsilon}",
             round(expected(noise, float(epsilon)), 2))
        for epsilon in ("0.1", "1", "3") for noise in (ROUNDED, GEOMETRIC)
    ]  # fmt: skip
    return (
        Fact("repetitions", repetitions, 500, NOTES),
        *found,
        Fact("rounded Laplace to geometric at epsilon 1", round(ratio(1), 3)),
        Fact("rounded Laplace to geometric at epsilon 3", round(ratio(3), 3)),
        Fact("a person replaced to one added or removed, epsilon 0.1",
             round(expected(REPLACED, 0.1) / expected(GEOMETRIC, 0.1), 3),
             remark="two bins move: twice the error, which the word 'neighbours' hides"),
        Fact("largest distance of a sampled mean from its expectation, in deviations of one sample",
             round(off, 2)),
    )  # fmt: skip


SAME = """\
The lines are no fits: they are the expectations of the laws, 25/sinh(epsilon/2) for rounded Laplace
and 50/sinh(epsilon) for geometric noise. The data do not enter, nor does the number of people."""
REPLACING = """\
All this is for neighbours of which one has one person more. If a person is replaced, two bins move,
and the error is twice as large or more."""


def _errors(rows: list[dict[str, Any]], repetitions: int) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("epsilon", "epsilon", low=-2, high=1))
    y = alt.Y(**charts.log_axis("error", "L1 error of 50 bins, in people", low=LOWEST, high=4))
    order = (ROUNDED, GEOMETRIC, REPLACED)
    exact = [
        {"noise": noise, "epsilon": e, "error": expected(noise, e)}
        for noise in order for e in (10 ** (-2 + 3 * i / 90) for i in range(91))
    ]  # fmt: skip
    lines = charts.curves(exact, x=x, y=y, colour="noise", order=order)
    square = _marks(rows, ROUNDED, charts.COLOURS[0], x=x, y=y)
    ring = _marks(rows, GEOMETRIC, charts.COLOURS[1], x=x, y=y)
    return Figure(
        "l1-error",
        charts.themed(
            lines + square + ring, "L1 error of the salary histogram",
            f"squares and rings: mean and one standard deviation of {repetitions} histograms; "
            "lines: exact expectations",
        ),
        "At epsilon 0.1 the two kinds of noise have the same error to one part in 800; at 1 "
        "rounded Laplace noise has 13 % more, and then far more. The lines are computed from the "
        "laws, not fitted to the marks.",
    )  # fmt: skip


def _marks(rows: list[dict[str, Any]], noise: str, colour: str, *, x: Any, y: Any) -> Any:
    """Means with whiskers: squares on broad ones, or rings on thin ones, told apart where equal."""
    alt = charts.altair()
    base = alt.Chart(charts.data([row for row in rows if row["noise"] == noise]))
    broad = noise == ROUNDED
    whiskers = base.mark_rule(strokeWidth=6 if broad else 1.6, color=colour,
                              opacity=0.45 if broad else 1)  # fmt: skip
    dots = base.mark_point(filled=broad, size=42 if broad else 110, color=colour, opacity=1,
                           shape="square" if broad else "circle")  # fmt: skip
    return whiskers.encode(x=x, y=alt.Y("low:Q"), y2="high:Q") + dots.encode(x=x, y=y)


def _ratio(rows: list[dict[str, Any]]) -> Figure:
    alt = charts.altair()
    x = alt.X("epsilon:Q", title="epsilon", scale=alt.Scale(domain=[0, 5.2], nice=False),
              axis=alt.Axis(values=list(range(6)), format="d"))  # fmt: skip
    y = alt.Y(
        "ratio:Q", title="rounded Laplace error / geometric error", scale=alt.Scale(domain=[0, 7])
    )
    exact = [{"epsilon": i / 20, "ratio": ratio(i / 20)} for i in range(1, 104)]
    means = {(row["noise"], row["epsilon"]): row["error"] for row in rows}
    told = [
        {"epsilon": e, "ratio": means[ROUNDED, e] / means[GEOMETRIC, e]}
        for e in map(float, PLACES) if means[GEOMETRIC, e]
    ]  # fmt: skip
    line = alt.Chart(charts.data(exact)).mark_line(
        strokeWidth=2.2, color=charts.COLOURS[0], clip=True
    )
    dots = alt.Chart(charts.data(told)).mark_point(color="#222", size=50)
    return Figure(
        "l1-error-ratio",
        charts.themed(
            line.encode(x=x, y=y) + dots.encode(x=x, y=y),
            "What rounding Laplace noise costs", "line: cosh(epsilon/2); circles: sampled",
        ),
        "The exact ratio of the two errors is cosh(epsilon/2): 1.13 at epsilon 1 and 2.35 at 3.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "l1-error",
    "How far is a private histogram off?",
    "L1 error of the salary histogram over epsilon, rounded Laplace against geometric noise.",
    run,
)
