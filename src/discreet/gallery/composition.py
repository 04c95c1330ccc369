"""How many questions fit into one budget, and what disjoint parts, families and readers change.

All numbers are exact or rounded to the safe side by the accountants themselves, but for two rules
that are here for comparison: advanced composition and the filter of Rogers and others, in floats.
Tested by tests/gallery/test_composition.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.accountant import Accountant
from discreet.privacy.budget import Budget
from discreet.privacy.compose import group, parallel, sequential
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP

__all__ = ["EXPERIMENT", "advanced", "fits", "guess", "notebook", "parity", "rogers"]

SHERPA, LIBRARY = "Sherpa's notebook", "Sherpa's library"
WHOLE, DELTA = Fraction(1), Fraction(1, 10**6)
BASIC, ADVANCED, FILTER = "basic", "advanced", "Sherpa's filter"
ZERO, LOSSES = "zCDP (our budget)", "loss distributions"
WAYS = (LOSSES, ZERO, ADVANCED, FILTER, BASIC)
BANDS = ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75-84", "85+")
SMOKERS = (64, 121, 117, 105, 89, 50, 21, 6)
"""Made up: how many of the people of a town smoke, by age."""


def advanced(epsilon: float, times: int, delta: float = 1e-6) -> float:
    """Advanced composition (Dwork, Rothblum and Vadhan 2010): the epsilon of so many, at delta."""
    spread = math.sqrt(2 * times * math.log(1 / delta)) * epsilon
    return spread + times * epsilon * math.expm1(epsilon)


def notebook(epsilon: float, times: int, delta: float) -> float:
    """The same as the notebook has it, where a factor epsilon was lost from the root."""
    return math.sqrt(2 * times * math.log(1 / delta)) + times * epsilon * math.expm1(epsilon)


def rogers(epsilon: float, times: int) -> float:
    """The filter that Sherpa's library has (Rogers and others 2016), at the whole (1, 1e-6)."""
    whole, delta, square = float(WHOLE), float(DELTA), times * epsilon**2
    h = whole**2 / (28.04 * math.log(1 / delta))
    spread = (square + h) * (2 + math.log1p(square / h)) * math.log(2 / delta)
    return times * epsilon * math.expm1(epsilon) / 2 + math.sqrt(spread)


def fits(way: str, epsilon: Fraction) -> int:
    """How many counts, each at this epsilon, fit into (1, 1e-6)."""
    one, each = Geometric(epsilon=epsilon), float(epsilon)
    plain = int(WHOLE / epsilon)
    if way == BASIC:
        return plain
    if way == ADVANCED:
        return most(lambda times: advanced(each, times) <= 1)
    if way == FILTER:
        return max(plain, most(lambda times: rogers(each, times) <= 1))
    if way == ZERO:
        budget = Budget(epsilon=WHOLE, delta=DELTA)
        return most(lambda times: budget.affords(one, times=times))
    return most(lambda times: Accountant().add(one, times=times).delta_upper(WHOLE) <= DELTA)


def most(fine: Callable[[int], bool]) -> int:
    """The largest number that is fine, where all smaller ones are, too; 0 if none is."""
    high = 1
    while fine(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low


def cheaper(total: Callable[[int], float], epsilon: float) -> int:
    """The least number of questions from which on a rule gives less than plain adding up."""
    return 1 + most(lambda times: total(times) >= times * epsilon)


def guess(epsilon: Fraction | int, people: int) -> float:
    """The best chance to tell from a noisy count whether a family of so many is in it.

    Both are as likely before. The exact law of the noise: its distance from the one that is moved.
    """
    law = Geometric(epsilon=epsilon).law(0)
    last = (people + 1) // 2 - 1  # where the family is less likely than not
    return (1 + law.cumulative(last) - law.cumulative(last - people)) / 2


def parity(epsilon: Fraction | int) -> float:
    """The loss of who only learns whether the noisy count is odd: log cosh(epsilon).

    With a = exp(-epsilon) the noise is even with (1 + a^2)/(1 + a)^2, and odd with 2a/(1 + a)^2.
    """
    return math.log(math.cosh(float(epsilon)))


def run(effort: Effort) -> Found:
    """Count what fits, add up, and release the smokers twice."""
    points = effort.of(26, 11)
    sizes = [Fraction(f"{10 ** (-3 + 2.5 * i / (points - 1)):.3g}") for i in range(points)]
    counted: list[dict[str, Any]] = []
    for i in effort.each("questions that fit", points):
        counted += [
            {"epsilon": float(sizes[i]), "way": way, "questions": number}
            for way in WAYS if (number := fits(way, sizes[i]))
        ]  # fmt: skip
    figures = (_fits(counted), _sums(effort), _smokers(), _families())
    return Found(_facts(), figures, (RULES, PARTS, FAMILY, READER))


def _facts() -> tuple[Fact, ...]:
    lost = "the notebook lost a factor epsilon"
    sums = "the library adds floats: sum([0.002] * 100) is above 0.2"
    each = Fraction(1, 100)
    return (
        *(
            Fact(f"counts at epsilon {e} in (1, 1e-6), zCDP", fits(ZERO, Fraction(e)), theirs,
                 LIBRARY, "by its filter")
            for e, theirs in (("0.002", 3699), ("0.01", 147), ("0.02", 50))
        ),
        Fact("counts at epsilon 0.01 in (1, 1e-6), basic", fits(BASIC, each)),
        Fact("counts at epsilon 0.01 in (1, 1e-6), advanced", fits(ADVANCED, each)),
        Fact("counts at epsilon 0.01 in (1, 1e-6), loss distributions", fits(LOSSES, each)),
        Fact("advanced composition, 3 at epsilon 0.5, delta 0.1",
             round(advanced(0.5, 3, 0.1), 2), 4.69, SHERPA, lost),
        Fact("advanced composition, 350 at epsilon 0.5, delta 0.1",
             round(advanced(0.5, 350, 0.1), 2), 153.67, SHERPA, lost),
        Fact("questions from which on it beats adding up, epsilon 0.5, delta 0.1",
             cheaper(lambda times: advanced(0.5, times, 0.1), 0.5), "about 150", SHERPA, lost),
        Fact("questions at epsilon 0.002 in epsilon 0.2", _plain("0.2", "0.002"), 99, LIBRARY,
             sums),
        Fact("questions at epsilon 0.2 in epsilon 4", _plain("4", "0.2"), 19, LIBRARY,
             "the library adds floats: sum([0.2] * 20) is above 4"),
        Fact("epsilon of eight disjoint age bands at 1 each", _epsilon(parallel(*[PureDP(1)] * 8)),
             remark=f"asked one after the other: {_epsilon(sequential(*[PureDP(1)] * 8)):.0f}"),
        Fact("95 % error of a band, all in one histogram at epsilon 1",
             Geometric(epsilon=1).error()),
        Fact("95 % error of a band, eight questions at epsilon 1/8",
             Geometric(epsilon="1/8").error()),
        Fact("epsilon for a family of 4, at epsilon 0.5", _epsilon(group(PureDP("0.5"), 4))),
        Fact("delta for a family of 4, at (0.5, 1e-6), in millionths", _family_delta()),
        Fact("rho for a family of 4, at rho 0.01", float(_rho(group(ZCDP("0.01"), 4)))),
        Fact("loss of who learns only whether the count is odd, epsilon 1", round(parity(1), 4)),
    )  # fmt: skip


def _plain(whole: str, each: str) -> int:
    """What a budget of pure privacy answers."""
    budget = Budget(epsilon=whole)
    return most(lambda times: budget.affords(Geometric(epsilon=each), times=times))


def _epsilon(guarantee: object) -> float:
    if not isinstance(guarantee, PureDP):
        raise TypeError("pure privacy is needed here")
    return float(guarantee.epsilon)


def _rho(guarantee: object) -> Fraction:
    if not isinstance(guarantee, ZCDP):
        raise TypeError("zero-concentrated privacy is needed here")
    return guarantee.rho


def _family_delta() -> float:
    found = group(ApproxDP("0.5", "1e-6"), 4)
    return round(float(found.delta) * 1e6, 2) if isinstance(found, ApproxDP) else math.nan


RULES = """\
Basic: epsilons add up. The other rules know that losses are seldom all large at once: with a delta
of one in a million, many more small questions fit. Loss distributions are the exact law of it, and
hold if it is fixed ahead how many questions there are, and at which epsilon; our budget leaves that
open, too."""
PARTS = """\
Disjoint parts: a person is in one age band, so eight bands cost no more than one."""
FAMILY = """\
A family of k has k times the epsilon, not one: who protects families asks for that much less."""
READER = """\
Whatever is computed from an answer alone costs nothing, and may only tell less."""


def _fits(rows: list[dict[str, Any]]) -> Figure:
    alt = charts.altair()
    words = charts.log_axis("epsilon", "epsilon of one question", low=-3, high=-1)
    scale = alt.Scale(type="log", nice=False, domain=[10**-3, 10**-0.5])
    x = alt.X(**{**words, "scale": scale})
    y = alt.Y(**charts.log_axis("questions", "questions that fit", low=0, high=5))
    lines = charts.curves(rows, x=x, y=y, colour="way", order=WAYS, columns=3)
    return Figure(
        "composition",
        charts.themed(lines, "How many counts fit into epsilon 1, delta 1e-6"),
        "The smaller a question, the more the better rules gain: at epsilon 0.01, 100 fit by "
        "adding up, 487 by zero-concentrated privacy, 562 by loss distributions.",
    )


def _sums(effort: Effort) -> Figure:
    alt = charts.altair()
    points = effort.of(25, 9)
    rows: list[dict[str, Any]] = []
    for i in effort.each("sums", points):
        times = round(10 ** (1 + 3 * i / (points - 1)))
        told = Accountant().add(Geometric(epsilon="0.01"), times=times).explain(delta=DELTA)
        ways = {way.name: way.value for way in told.ways}
        found = {LOSSES: ways["loss distribution"], "zCDP": ways["zcdp"],
                 ADVANCED: advanced(0.01, times), BASIC: ways["basic"]}  # fmt: skip
        rows += [
            {"times": times, "way": way, "epsilon": float(value)}
            for way, value in found.items() if value is not None
        ]  # fmt: skip
    x = alt.X(**charts.log_axis("times", "counts at epsilon 0.01", low=1, high=4))
    y = alt.Y(**charts.log_axis("epsilon", "epsilon of all of them", low=-2, high=2))
    order = (LOSSES, "zCDP", ADVANCED, BASIC)
    lines = charts.curves(rows, x=x, y=y, colour="way", order=order, columns=4)
    return Figure(
        "composition-sums",
        charts.themed(lines, "What many counts cost together, delta 1e-6"),
        "For few questions nothing beats adding up, and loss distributions do as well; for many, "
        "epsilon grows with the root of their number.",
    )


def _smokers() -> Figure:
    alt = charts.altair()
    counts = np.array(SMOKERS, dtype=np.int64)
    one, many = "one histogram, epsilon 1", "eight questions, epsilon 1/8 each"
    noisy = {one: Geometric(epsilon=1), many: Geometric(epsilon="1/8")}
    rows = []
    for name, noise in noisy.items():
        half = noise.error(0.95)
        rows += [
            {"band": band, "kind": name, "count": max(0, int(n)), "low": max(0, int(n) - half),
             "high": max(0, int(n) + half)}
            for band, n in zip(BANDS, noise.release(counts), strict=True)
        ]  # fmt: skip
    truth = [{"band": b, "count": n} for b, n in zip(BANDS, SMOKERS, strict=True)]
    x = alt.X("band:N", sort=list(BANDS), title="age", axis=alt.Axis(labelAngle=0))
    y = alt.Y("count:Q", title="smokers")
    bars = alt.Chart(charts.data(truth)).mark_bar(color="#d8dee6").encode(x=x, y=y)
    side = alt.XOffset("kind:N", sort=[one, many], scale=alt.Scale(paddingOuter=0.6))
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=[one, many], range=charts.COLOURS[:2]),
        legend=alt.Legend(title=None, orient="top", labelLimit=320),
    )  # fmt: skip
    base = alt.Chart(charts.data(rows))
    whiskers = base.mark_rule(strokeWidth=2).encode(
        x=x, xOffset=side, y=alt.Y("low:Q"), y2="high:Q", color=colour
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=[one, many], range=["circle", "diamond"]))
    dots = base.mark_point(filled=True, size=36, opacity=1).encode(
        x=x, xOffset=side, y=y, color=colour, shape=shape
    )
    return Figure(
        "composition-parts",
        charts.themed(bars + whiskers + dots, "Smokers by age, epsilon 1 in all",
                      "bars: the truth; marks: released, with 95 % intervals, nothing below 0"),
        "Everybody is in one age band, so all bands together cost no more than one. Whoever asks "
        "eight questions and adds their epsilons up gets eight times the noise. Raising what is "
        "below 0 to 0 is free.",
    )  # fmt: skip


def _families() -> Figure:
    alt = charts.altair()
    order = [f"epsilon {e}" for e in ("1", "0.5", "0.1")]
    rows = [
        {"people": k, "epsilon": f"epsilon {e}", "chance": guess(Fraction(e), k),
         "bound": 1 / (1 + math.exp(-k * float(e)))}
        for e in ("1", "0.5", "0.1") for k in range(1, 13)
    ]  # fmt: skip
    x = alt.X("people:Q", title="people in the family", scale=alt.Scale(domain=[1, 12]))
    scale = alt.Scale(domain=[0.5, 1], zero=False)
    y = alt.Y("chance:Q", title="best chance to guess right", scale=scale)
    lines = charts.curves(rows, x=x, y=y, colour="epsilon", order=order, columns=3)
    bounds = (
        alt.Chart(charts.data(rows))
        .mark_line(color="#999", strokeWidth=1.2)
        .encode(x=x, y=alt.Y("bound:Q", scale=scale), detail="epsilon:N")
    )
    return Figure(
        "composition-family",
        charts.themed(bounds + lines, "Is the family in the count?",
                      "thin: the most that k epsilon allows"),
        "The best guess from one noisy count whether a family of k was counted. One person is "
        "hidden as promised; a family of k has k epsilon (thin lines), and is seen more easily.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "composition",
    "How many questions fit into a budget",
    "Basic, advanced, zero-concentrated and exact composition; disjoint parts; families; readers.",
    run,
)
