"""Counts in a short range: clamp, draw again until it fits, or clamp and read.

Of 30 pupils 19, 20 or 21 failed, and epsilon is 0.1: the noise is about half as wide as the range.
The literature's parameter for drawing again is epsilon - ln M, where M compares the masses that are
cut off at neighbouring counts. Around a count i of 0..n that mass is in proportion to
cosh(epsilon (i - n/2)), so that with d = |i - n/2|

    M(i) = cosh(epsilon (d + 1)) / cosh(epsilon d),

largest at the ends of the range, with the count -1 or n + 1 as neighbour. What the promise needs is
the ratio of what is *kept*; see `discreet.mechanisms.rejection`.
Tested by tests/gallery/test_truncated.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval
from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.reading import Reading
from discreet.mechanisms.rejection import RejectionGeometric, conditioned_loss
from discreet.noise.clamped import ConditionedGeometric

__all__ = [
    "EXPERIMENT", "best_reading", "columns", "ends", "errors", "hidden_loss", "minimax_reading",
    "notes_factor", "notes_rate", "pair_loss", "plugged_loss", "relative", "true_count_loss",
]  # fmt: skip

NOTES = "class notes"
N, EPSILON, TENTH = 30, "0.1", Fraction(1, 10)
COUNTS = (19, 20, 21)
CLAMPED, READ, WORST = "clamped", "clamped, best reading", "clamped, minimax reading"
WASTEFUL, AGAIN = "drawn again, notes' parameter", "drawn again, exact parameter"
WAYS = (CLAMPED, WASTEFUL, AGAIN, READ, WORST)
SIZES = (2, 3, 5, 7, 10, 15, 20, 30, 45, 65, 100)
EPSILONS = ("0.05", "0.1", "0.25", "0.5", "1")


def ends(count: int) -> tuple[float, float]:
    """The probabilities of the answers 0 and 30."""
    law = _clamped().law(count)
    return law.mass(0), law.mass(N)


def notes_factor(count: int, epsilon: float, size: int = N) -> float:
    """The notes' M at a count: the largest ratio of cut-off masses between it and a neighbour."""
    off = abs(count - size / 2)
    return math.cosh(epsilon * (off + 1)) / math.cosh(epsilon * off)


def notes_rate(epsilon: Fraction, count: int = 0, size: int = N) -> Fraction:
    """The notes' parameter, epsilon - ln M, rounded down; M is largest at the ends of the range."""
    rate = float(epsilon) - math.log(notes_factor(count, float(epsilon), size))
    return Fraction(math.floor(rate * 2**40) - 1, 2**40)


def plugged_loss(estimate: int, epsilon: Fraction = TENTH) -> Interval:
    """The exact loss of drawing again with the notes' M at a private estimate, which is known."""
    return conditioned_loss(notes_rate(epsilon, estimate), N)


def pair_loss(first: Fraction, second: Fraction) -> float:
    """The loss of a private estimate (clamped, epsilon `first`) and the answer drawn again upon it.

    Between the counts i and i + 1 the estimate speaks with the factor e^first for i, if it is at
    most i, and otherwise for i + 1. The answer has rate s, which depends on the estimate, and
    speaks with e^s for the nearer one, and with the ratio of the normalisers for i.
    """
    worst = 0.0
    for estimate in range(N + 1):
        s = float(notes_rate(second, estimate))
        for i in range(N):
            kept = math.log(_kept(s, i + 1) / _kept(s, i))
            said = float(first) if estimate <= i else -float(first)
            worst = max(worst, abs(said + kept + s), abs(said + kept - s))
    return worst


def hidden_loss(first: Fraction, second: Fraction) -> float:
    """The loss of the answer alone, if nobody ever learns the estimate."""
    guess = Geometric(epsilon=first, bounds=(0, N))
    total = np.zeros((N + 1, N + 1))
    for estimate in range(N + 1):
        chance = np.array([guess.law(i).mass(estimate) for i in range(N + 1)])
        total += chance[:, None] * _drawn_again(notes_rate(second, estimate))
    return float(np.abs(np.diff(np.log(total), axis=0)).max())


def _drawn_again(rate: Fraction) -> NDArray[np.float64]:
    """The laws of drawing again: row = true count, column = answer."""
    place = np.arange(N + 1)
    weights = np.exp(-float(rate) * np.abs(place[:, None] - place[None, :]))
    found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return found


def _kept(rate: float, i: int) -> float:
    """The mass that is kept around i, but for a factor that does not depend on i."""
    a = math.exp(-rate)
    return 1 + a - a ** (i + 1) - a ** (N - i + 1)


def true_count_loss() -> float:
    """The loss of drawing again with M at the true count itself: the noise tells its own width."""
    laws = [_drawn_again(notes_rate(TENTH, i))[i] for i in range(N + 1)]
    return float(np.abs(np.diff(np.log(laws), axis=0)).max())


@lru_cache(maxsize=1)
def _clamped() -> Geometric:
    return Geometric(epsilon=EPSILON, bounds=(0, N))


@lru_cache(maxsize=1)
def best_reading() -> Reading:
    """The best reading of an answer for a uniform prior."""
    return _clamped().remap(prior="uniform", loss="absolute")


@lru_cache(maxsize=1)
def minimax_reading() -> Reading:
    """The reading that is best at the worst count.

    There are several; this one is half of what the linear programme found and half of its mirror
    image, which is as good, so that it treats both ends alike.
    """
    found = _clamped().minimax(loss="absolute")
    table, losses = (found.table + found.table[::-1, ::-1]) / 2, found.losses + found.losses[::-1]
    return replace(found, table=table, losses=losses / 2, expected_loss=float(losses.max() / 2))


@lru_cache(maxsize=len(WAYS))
def errors(way: str) -> tuple[float, ...]:
    """The expected absolute error at every count of 0..30."""
    wasteful = notes_rate(TENTH)
    at: dict[str, Callable[[int], float]] = {
        CLAMPED: _clamped().expected_absolute_error,
        WASTEFUL: lambda i: ConditionedGeometric(wasteful, i, 0, N).absolute_error(i),
        AGAIN: RejectionGeometric(epsilon=EPSILON, bounds=(0, N)).expected_absolute_error,
        READ: best_reading().expected_loss_at,
        WORST: minimax_reading().expected_loss_at,
    }
    return tuple(at[way](i) for i in range(N + 1))


def columns(way: str) -> tuple[float, float]:
    """The expected absolute error at a count of 20, and its mean over the counts 0..30."""
    found = errors(way)
    return found[20], sum(found) / len(found)


@lru_cache(maxsize=64)
def relative(epsilon: str, size: int) -> tuple[float, float]:
    """The mean error of reading, and of drawing again, as parts of that of clamping alone."""
    clamped = Geometric(epsilon=epsilon, bounds=(0, size))
    again = RejectionGeometric(epsilon=epsilon, bounds=(0, size))
    face = _mean(clamped.expected_absolute_error, size)
    return (clamped.remap().expected_loss / face,
            _mean(again.expected_absolute_error, size) / face)  # fmt: skip


def _mean(error: Callable[[int], float], size: int) -> float:
    """The mean over the counts 0..size of an error that is the same at i and at size - i."""
    half = [error(i) for i in range((size + 1) // 2)]
    middle = error(size // 2) if size % 2 == 0 else 0.0
    return (2 * math.fsum(half) + middle) / (size + 1)


def run(effort: Effort) -> Found:
    """Compute the laws, the losses and the errors."""
    table = {}
    for i in effort.each("errors", len(WAYS)):
        table[WAYS[i]] = errors(WAYS[i])
    sizes = SIZES if not effort.fast else SIZES[1:8:2]
    rows = []
    for i in effort.each("gains", len(sizes)):
        for epsilon in EPSILONS:
            read, again = relative(epsilon, sizes[i])
            shared = {"n": sizes[i], "epsilon": f"epsilon {epsilon}"}
            rows += [{**shared, "way": READ, "part": read}, {**shared, "way": AGAIN, "part": again}]
    figures = (_laws(), _errors(table), _losses(), _estimates(), _reading(), _gains(rows))
    return Found(_facts(), figures, (CUT, PLUGGED, FREE))


def _facts() -> tuple[Fact, ...]:
    low, high = ends(20)
    exact = RejectionGeometric(epsilon=EPSILON, bounds=(0, N))
    losses = [plugged_loss(i) for i in range(N + 1)]
    beyond = [i for i, loss in enumerate(losses) if loss.lower > TENTH]
    table = []
    for way in WAYS[:4]:
        at, mean = columns(way)
        table += [Fact(f"error at 20: {way}", round(at, 4)),
                  Fact(f"mean error: {way}", round(mean, 4))]  # fmt: skip
    table += [Fact(f"largest error: {way}", round(max(errors(way)), 4)) for way in WAYS]
    return (
        Fact("probability of 0 at a count of 20", round(low, 4), "about 0.075", NOTES),
        Fact("probability of 0 or 30 at a count of 20", round(low + high, 4), "about 0.25", NOTES),
        Fact("parameter for drawing again", round(float(exact.rate), 6),
             round(float(notes_rate(TENTH)), 6), NOTES,
             "what counts is the ratio of what is kept, not of what is cut off"),
        Fact("true loss with the notes' parameter", _loss(notes_rate(TENTH)), 0.1, NOTES,
             "safe, and wastes five sixths of what is paid"),
        Fact("true loss with no correction", _loss(TENTH), remark="0.1 is promised, and broken"),
        Fact("true loss with the notes' M at a private estimate of 15",
             _loss(notes_rate(TENTH, 15)), 0.1, NOTES,
             f"broken for estimates from {beyond[0]} to {beyond[-1]}"),
        Fact("true loss of an estimate for 0.01 and an answer for 0.09",
             round(pair_loss(Fraction(1, 100), Fraction(9, 100)), 4),
             remark="so the two together are not private at 0.1 either"),
        Fact("true loss of that answer alone, if the estimate stays secret",
             round(hidden_loss(Fraction(1, 100), Fraction(9, 100)), 4),
             remark="kept, and two thirds of what is paid are wasted"),
        Fact("true loss with M at the true count", round(true_count_loss(), 4),
             remark="0.1 is promised, but the width of the noise tells the count"),
        *table,
        Fact("gain by reading at n = 30, epsilon 0.1", f"{1 - relative('0.1', 30)[0]:.1%}"),
        Fact("gain by reading at n = 10, epsilon 0.1", f"{1 - relative('0.1', 10)[0]:.1%}"),
        Fact("gain by reading at n = 10, epsilon 1", f"{1 - relative('1', 10)[0]:.1%}"),
    )  # fmt: skip


def _loss(rate: Fraction) -> float:
    return round(float(conditioned_loss(rate, N)), 4)


CUT = """\
A clamped answer of 0 or 30 says little: if all counts are as likely, take it as 6 or 24. Reading
costs no privacy, because it looks at the answer only."""
PLUGGED = """\
A parameter that is chosen by an estimate must keep its promise for every estimate that can occur,
not only for those near the truth."""
FREE = """\
Of all mechanisms that keep the promise, none has a smaller mean error over the counts 0..30 than
the clamped one with its best reading, and none a smaller worst error than with the minimax one."""


def _laws() -> Figure:
    alt = charts.altair()
    rows = [
        {"panel": f"{count} of 30 failed", "answer": j, "chance": _clamped().law(count).mass(j),
         "what": _kind(j, count)}
        for count in COUNTS for j in range(N + 1)
    ]  # fmt: skip
    kinds = ["an end of the range", "the true count", "another count"]
    colour = alt.Color(
        "what:N", sort=kinds, legend=alt.Legend(title=None, orient="top"),
        scale=alt.Scale(domain=kinds, range=["#4477aa", "#222222", "#b9c9dd"]),
    )  # fmt: skip
    bars = alt.Chart(charts.data(rows)).mark_bar(size=13).encode(
        x=alt.X("answer:Q", title="private answer", axis=alt.Axis(values=list(range(0, 31, 5))),
                scale=alt.Scale(domain=[-0.7, 30.7], nice=False)),
        y=alt.Y("chance:Q", title="probability", axis=alt.Axis(tickCount=4)), color=colour,
    )  # fmt: skip
    chart = charts.panels(
        bars.properties(width=560, height=92), "panel",
        order=[f"{count} of 30 failed" for count in COUNTS], columns=1,
    )  # fmt: skip
    return Figure(
        "truncated",
        charts.themed(
            chart, "The clamped count at epsilon 0.1",
            "the answers 0 and 30 stand for all that lies beyond them", sized=False,
        ),
        "About one answer in four lies at an end of the range. From one count to the next, no "
        "probability changes by more than the factor e^0.1.",
    )  # fmt: skip


def _kind(answer: int, count: int) -> str:
    if answer in (0, N):
        return "an end of the range"
    return "the true count" if answer == count else "another count"


def _errors(table: dict[str, tuple[float, ...]]) -> Figure:
    alt = charts.altair()
    x = alt.X("count:Q", title="true count", scale=alt.Scale(domain=[0, N], nice=False))
    y = alt.Y("error:Q", title="expected absolute error", scale=alt.Scale(domain=[0, 16]))
    rows = [
        {"way": way, "count": i, "error": error}
        for way, found in table.items() for i, error in enumerate(found)
    ]  # fmt: skip
    return Figure(
        "truncated-error",
        charts.themed(
            charts.curves(rows, x=x, y=y, colour="way", order=WAYS),
            "Expected error at every count", "n = 30, epsilon 0.1",
        ),
        "Drawing again is good in the middle and bad at the ends. Reading has the least mean; the "
        "minimax reading has the least maximum.",
    )  # fmt: skip


def _losses() -> Figure:
    alt = charts.altair()
    x = alt.X("rate:Q", title="parameter of the noise", scale=alt.Scale(domain=[0, 0.14]),
              axis=alt.Axis(tickCount=7))  # fmt: skip
    y = alt.Y("loss:Q", title="true loss", scale=alt.Scale(domain=[0, 0.25]),
              axis=alt.Axis(tickCount=5))  # fmt: skip
    order = ("drawn again until it fits", "clamped")
    rates = [Fraction(i, 500) for i in range(71)]
    rows = [{"way": order[0], "rate": float(r), "loss": float(conditioned_loss(r, N)) if r else 0}
            for r in rates]  # fmt: skip
    rows += [{"way": order[1], "rate": float(r), "loss": float(r)} for r in rates]
    exact = RejectionGeometric(epsilon=EPSILON, bounds=(0, N)).rate
    told = [
        {"rate": float(r), "loss": float(conditioned_loss(r, N)), "says": says}
        for says, r in (("the notes: 0.0086", notes_rate(TENTH)), ("exact: 0.0533", exact),
                        ("no correction: 0.1", TENTH))
    ]  # fmt: skip
    base = alt.Chart(charts.data(told))
    dots = base.mark_point(filled=True, size=60, color="#222", opacity=1).encode(x=x, y=y)
    words = base.mark_text(align="left", dx=26, dy=13, fontSize=12).encode(x=x, y=y, text="says:N")
    return Figure(
        "truncated-loss",
        charts.themed(
            charts.curves(rows, x=x, y=y, colour="way", order=order) + _promise(y) + dots + words,
            "What drawing again costs", "grey: the promise of 0.1",
        ),
        "Drawing again costs almost twice the parameter. The exact parameter meets the promise; "
        "the notes' is far below, and without a correction the promise is broken.",
    )  # fmt: skip


def _promise(y: Any) -> Any:
    rule = charts.altair().Chart(charts.data([{"loss": 0.1}]))
    return rule.mark_rule(color="#888", strokeDash=[4, 3], strokeWidth=1.5).encode(y=y)


def _estimates() -> Figure:
    alt = charts.altair()
    kinds = ("promise broken", "promise kept")
    rows = [
        {"estimate": i, "loss": float(plugged_loss(i)),
         "what": kinds[plugged_loss(i).upper <= TENTH]}
        for i in range(N + 1)
    ]  # fmt: skip
    y = alt.Y("loss:Q", title="true loss of the answer", scale=alt.Scale(domain=[0, 0.2]))
    bars = alt.Chart(charts.data(rows)).mark_bar(size=13).encode(
        x=alt.X("estimate:Q", title="private estimate that is put into M",
                axis=alt.Axis(values=list(range(0, 31, 5))),
                scale=alt.Scale(domain=[-0.7, 30.7], nice=False)),
        y=y,
        color=alt.Color("what:N", sort=list(kinds),
                        legend=alt.Legend(title=None, orient="top"),
                        scale=alt.Scale(domain=list(kinds), range=["#4477aa", "#b9c9dd"])),
    )  # fmt: skip
    return Figure(
        "truncated-estimate",
        charts.themed(
            bars + _promise(y), "The notes' M at a private estimate", "grey: the promise of 0.1"
        ),
        "If the estimate falls into the middle of the range, the parameter is too large for a true "
        "count of 0 or 30, and the promise is broken.",
    )


def _reading() -> Figure:
    alt = charts.altair()
    order = [READ, WORST]
    rows = [
        {"way": way, "answer": j, "read": k, "chance": float(table[j, k])}
        for way, table in ((READ, best_reading().table), (WORST, minimax_reading().table))
        for j in range(N + 1) for k in range(N + 1) if table[j, k] > 0.005
    ]  # fmt: skip
    x = alt.X("answer:Q", title="clamped answer", scale=alt.Scale(domain=[-0.7, 30.7], nice=False))
    y = alt.Y("read:Q", title="read as", scale=alt.Scale(domain=[0, 30]))
    legend = alt.Legend(title=None, orient="top", labelLimit=300)
    look = {
        "x": x, "y": y,
        "color": alt.Color("way:N", legend=legend, sort=order,
                           scale=alt.Scale(domain=order, range=charts.COLOURS[:2])),
        "shape": alt.Shape("way:N", legend=legend, sort=order,
                           scale=alt.Scale(domain=order, range=["square", "circle"])),
    }  # fmt: skip
    squares, rings = (
        alt.Chart(charts.data([row for row in rows if row["way"] == way])) for way in order
    )
    size = alt.Size(
        "chance:Q", title="probability of a ring", scale=alt.Scale(domain=[0, 1], range=[0, 200]),
        legend=alt.Legend(orient="bottom-right", values=[0.1, 0.5, 1], direction="horizontal"),
    )  # fmt: skip
    chart = squares.mark_point(filled=True, size=46, opacity=1).encode(**look) + rings.mark_point(
        opacity=1, strokeWidth=1.6
    ).encode(**look, size=size)
    return Figure(
        "truncated-reading",
        charts.themed(
            chart, "How to read a clamped answer", "n = 30, epsilon 0.1",
        ),
        "A 0 need not mean 0: for a uniform prior it is best read as 6. The minimax reading is "
        "random, and may leave a 0 as it is; the size of a ring is the probability of reading so.",
    )  # fmt: skip


def _gains(rows: Sequence[dict[str, Any]]) -> Figure:
    alt = charts.altair()
    order = [f"epsilon {epsilon}" for epsilon in EPSILONS]
    x = alt.X("n:Q", title="largest count n", scale=alt.Scale(type="log", domain=[2, 100]),
              axis=alt.Axis(values=[2, 5, 10, 20, 50, 100]))  # fmt: skip
    y = alt.Y("part:Q", title="mean error / that of clamping alone",
              axis=alt.Axis(gridColor=alt.ExprRef("datum.value == 1 ? '#444' : '#e9e9e9'")),
              scale=alt.Scale(domain=[0.6, 2], nice=False))  # fmt: skip
    lines = charts.curves(rows, x=x, y=y, colour="epsilon", order=order)
    chart = charts.panels(
        lines.properties(width=270, height=230), "way", order=(READ, AGAIN), columns=2
    )
    return Figure(
        "truncated-gain",
        charts.themed(
            chart, "What reading gains, and what drawing again loses",
            "dark line: clamping alone", sized=False,
        ),
        "Below the dark line is better than clamping alone. Reading never loses, and gains a third "
        "where the noise is wider than the range; drawing again gains only in ranges that are "
        "short beside the noise.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "truncated",
    "A count in a short range",
    "Counts of 30 at epsilon 0.1: clamping, drawing again, and the best reading.",
    run,
)
