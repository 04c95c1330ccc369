"""Laplace noise against geometric noise: how much variance it saves to draw integers.

The variances are those of the laws; rounded Laplace noise has cosh(epsilon/2) times the variance of
geometric noise. Circles in the figures are draws of the mechanism.

Tested by tests/gallery/test_variance.py
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase

__all__ = ["EXPERIMENT", "laplace", "rounded_laplace"]

NOTES = "lecture notes on the geometric mechanism"
LINES = ("Laplace", "Laplace, rounded to integers", "geometric")
WIDER = ("geometric, sensitivity 5", "staircase, sensitivity 5")
DEPLOYED = {"RAPPOR and Apple: 2": 2.0, "Apple: 4": 4.0}
"""Per report; later analyses put Apple's sum over a day at up to 14, beyond the axis."""
FIRST, LAST = -2.0, 1.0


def laplace(epsilon: float) -> float:
    """The variance of Laplace noise for a count: 2 / epsilon^2."""
    return 2 / epsilon**2


def rounded_laplace(epsilon: float) -> float:
    """The variance of Laplace noise that is rounded to the nearest integer.

    The mass at k, not 0, is sinh(epsilon / 2) a^|k| with a = exp(-epsilon).
    """
    a = math.exp(-epsilon)
    return 2 * math.sinh(epsilon / 2) * a * (1 + a) / (1 - a) ** 3


def run(effort: Effort) -> Found:
    """Compute the variances over epsilon, and draw some noise to see them."""
    points = effort.of(121, 61)
    grid = [10 ** (FIRST + (LAST - FIRST) * i / (points - 1)) for i in range(points)]
    rows = []
    for i in effort.each("variances", points):
        epsilon = Fraction(f"{grid[i]:.6g}")
        x = float(epsilon)
        values = (
            laplace(x), rounded_laplace(x), Geometric(epsilon=epsilon).variance,
            Geometric(epsilon=epsilon, sensitivity=5).variance,
            Staircase(epsilon=epsilon, sensitivity=5).variance,
        )  # fmt: skip
        rows += [
            {"epsilon": x, "noise": name, "variance": float(value)}
            for name, value in zip((*LINES, *WIDER), values, strict=True)
        ]
    drawn = _drawn(effort)
    return Found(
        _facts(), (_variances(rows, drawn), _ratio(rows), _wider(rows)), (SMALL, DEPLOYMENTS)
    )


def _drawn(effort: Effort) -> list[dict[str, float]]:
    """The variance of real draws, at a few epsilons."""
    size = effort.of(1_000_000, 50_000)
    places = ("0.01", "0.03", "0.1", "0.3", "1", "3")
    found = []
    for i in effort.each("draws", len(places)):
        noise = Geometric(epsilon=places[i]).release(np.zeros(size, dtype=np.int64))
        found.append({"epsilon": float(places[i]), "variance": float(np.mean(noise**2.0))})
    return found


def ratio(epsilon: float) -> float:
    """How many times the variance of geometric noise Laplace noise has."""
    a = math.exp(-epsilon)
    return (1 - a) ** 2 / (epsilon**2 * a)


def tenfold() -> float:
    """The epsilon at which Laplace noise has ten times the variance of geometric noise."""
    low, high = 1.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < 10 else (low, middle)
    return high


def _facts() -> tuple[Fact, ...]:
    wrong = "the source's claim holds from epsilon 5.8 on, not from 3"
    return (
        Fact("variance ratio at epsilon 1", round(ratio(1), 3)),
        Fact("variance ratio at epsilon 3", round(ratio(3), 3), "over 10", NOTES, wrong),
        Fact("epsilon with a ratio of 10", round(tenfold(), 2), 3, NOTES, wrong),
        Fact("rounded Laplace to geometric at epsilon 3",
             round(rounded_laplace(3) / float(Geometric(epsilon=3).variance), 3),
             remark="rounding Laplace noise is no geometric noise"),
        Fact("geometric to staircase at epsilon 3, sensitivity 5",
             round(float(Geometric(epsilon=3, sensitivity=5).variance)
                   / float(Staircase(epsilon=3, sensitivity=5).variance), 3),
             remark="steps as wide as the sensitivity save more, the larger epsilon is"),
    )  # fmt: skip


SMALL = """\
Below epsilon 1 the two kinds of noise hardly differ; what geometric noise has there is integers, an
exact law, and no floating point."""
DEPLOYMENTS = """\
Deployments: Apple has stated 2 and 4 per report, and analyses put its sum over a day at up to 14;
RAPPOR has about 2."""


def _variances(rows: list[dict[str, object]], drawn: list[dict[str, float]]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("epsilon", "epsilon", low=-2, high=1))
    y = alt.Y(**charts.log_axis("variance", "variance of one noisy count", low=-4, high=5))
    lines = charts.curves(
        [row for row in rows if row["noise"] in LINES], x=x, y=y, colour="noise", order=LINES
    )
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=45).encode(x=x, y=y)
    chart = lines + dots + charts.marks(DEPLOYED, x=x, y=y, top=6e4)
    return Figure(
        "variance",
        charts.themed(chart, "Variance of the noise on one count", "circles: drawn noise"),
        "The curves part only beyond epsilon 1: there Laplace noise, even rounded to integers, has "
        "more variance than geometric noise. Circles are drawn values.",
    )


def _ratio(rows: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    points = sorted({float(str(row["epsilon"])) for row in rows})
    told = [{"epsilon": x, "ratio": ratio(x)} for x in points if x >= 0.1]
    x = alt.X(**charts.log_axis("epsilon", "epsilon", low=-1, high=1))
    y = alt.Y(**charts.log_axis("ratio", "Laplace variance / geometric variance", low=0, high=3))
    line = alt.Chart(charts.data(told)).mark_line(
        strokeWidth=2.2, color=charts.COLOURS[0], clip=True
    )
    ten = alt.Chart(charts.data([{"ratio": 10}])).mark_rule(color="#999", strokeDash=[4, 3])
    marked = charts.marks(
        {f"epsilon 3: {ratio(3):.2f}": 3.0, f"epsilon {tenfold():.1f}: 10": tenfold()},
        x=x, y=y, top=800,
    )  # fmt: skip
    chart = line.encode(x=x, y=y) + ten.encode(y=y) + marked
    return Figure(
        "variance-ratio",
        charts.themed(chart, "How many times the variance Laplace noise has"),
        "The notes say over ten times from epsilon 3 on. It is twice there, and ten times from 5.8 "
        "on.",
    )


def _wider(rows: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("epsilon", "epsilon", low=-2, high=1))
    y = alt.Y(**charts.log_axis("variance", "variance of one noisy sum", low=-2, high=6))
    lines = charts.curves(
        [row for row in rows if row["noise"] in WIDER], x=x, y=y, colour="noise", order=WIDER
    )
    return Figure(
        "variance-staircase",
        charts.themed(lines, "A sum in which one person has up to 5"),
        "With sensitivity 5, staircase noise has less variance than geometric noise from about "
        "epsilon 1 on, and far less at 5 and more.",
    )


EXPERIMENT = Experiment(
    "variance",
    "Laplace or geometric noise?",
    "Variance of Laplace, rounded Laplace, geometric and staircase noise over epsilon.",
    run,
)
