"""The tax survey: what coins cost the survey, and what they hide about each person.

Everything but the drawn surveys follows from the kernel of the coins and is exact.
Tested by tests/gallery/test_randomized_response.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact import log
from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.response import RandomizedResponse

__all__ = ["EXPERIMENT", "central", "coins", "local", "posterior", "survey", "worth"]

NOTES, SHERPA = "class notes", "Sherpa's notebook"
SHARE = Fraction(1, 5)
"""Of the people cheat on their taxes; as in Sherpa's notebook."""
PEOPLE = 10_000
LN3 = log(3, 80).lower
NORMAL = 1.96
LOCAL, CENTRAL = "local: everybody's own coins", "central: one noisy count"


def coins(truth: Fraction | str = "1/2") -> RandomizedResponse:
    """Tell the truth with this probability; else say yes or no with equal chance."""
    return RandomizedResponse(truth=truth)


def survey(people: int, share: Fraction = SHARE) -> NDArray[Any]:
    """The true answers of so many people."""
    return np.where(np.arange(people) < round(share * people), "yes", "no")


def local(mechanism: RandomizedResponse, people: int) -> Fraction:
    """The variance of the estimated share, for whatever people and whoever of them cheats.

    A report is the truth with some probability p, the same for both answers, so that every report
    has the variance p (1 - p); the estimate divides their mean by 2p - 1.
    """
    p = mechanism.kernel[0][0]
    return p * (1 - p) / (2 * p - 1) ** 2 / people


def central(epsilon: Fraction, people: int) -> float:
    """The variance of the share, where someone who is trusted counts, and adds geometric noise."""
    return Geometric(epsilon=epsilon, neighbours="replace").variance / people**2


def worth(people: int) -> int:
    """How many people in the central model give the exactness of so many in the local model.

    One report has p (1 - p)/(2p - 1)^2 = a/(1 - a)^2 with a = exp(-epsilon), the noise of a count
    twice that: a/((1 - a)^2 n) = 2a/((1 - a)^2 m^2) for m^2 = 2n. Rounded to the nearest.
    """
    return round(math.sqrt(2 * people))


def posterior(truth: Fraction | str, base: Fraction | str) -> Fraction:
    """The chance that who says yes is guilty, where a share `base` of all are."""
    guilty, innocent = (row[0] for row in coins(truth).kernel)
    prior = Fraction(base)
    return prior * guilty / (prior * guilty + (1 - prior) * innocent)


def run(effort: Effort) -> Found:
    """Ask people of several numbers, and compute what to expect."""
    asked = _asked(effort)
    drawn = _drawn(effort)
    figures = (_estimates(asked), _coins(), _posteriors(), _models(drawn))
    return Found(_facts(), figures, (OWN, WHOM, TRUST))


def _asked(effort: Effort) -> list[dict[str, float]]:
    """One survey of each size, with the interval that is proved."""
    sizes = [round(10 ** (2 + i / 4)) for i in range(1, effort.of(16, 12))]
    rows = []
    for i in effort.each("surveys", len(sizes)):
        people, fair = sizes[i], coins()
        found = fair.estimate(fair.release(survey(people)))
        low, high = found.interval()["yes"]
        rows.append({"people": people, "share": float(found.exact[0]), "low": low, "high": high})
    return rows


def _drawn(effort: Effort) -> list[dict[str, object]]:
    """The standard deviation of repeated surveys, in both models."""
    times, sizes = effort.of(1000, 400), (100, 1000, 10_000)
    rows: list[dict[str, object]] = []
    for i in effort.each("repeated surveys", len(sizes)):
        people, fair = sizes[i], coins()
        said = fair.release(np.tile(survey(people), (times, 1))) == "yes"
        shares = 2 * said.mean(axis=1) - 0.5
        counts = np.full(times, round(SHARE * people))
        noisy = Geometric(epsilon=LN3, neighbours="replace").release(counts) / people
        for name, found in ((LOCAL, shares), (CENTRAL, noisy)):
            off = math.sqrt(float(np.mean((found - float(SHARE)) ** 2)))
            rows.append({"people": people, "model": name, "deviation": off})
    return rows


def _facts() -> tuple[Fact, ...]:
    fair = coins()
    yes = SHARE * fair.kernel[0][0] + (1 - SHARE) * fair.kernel[1][0]
    sampled = float(local(fair, PEOPLE) + SHARE * (1 - SHARE) / PEOPLE)
    odd, dull = (
        RandomizedResponse(truth="0.99", otherwise=("0.9", "0.1")),
        RandomizedResponse(truth="0.01", otherwise=("0.1", "0.9")),
    )
    always = "the notebook's class states ln 3 for every coin"
    return (
        Fact("epsilon of fair coins", round(float(fair.epsilon), 4), "ln 3", NOTES),
        Fact("share of yes where 20 % cheat", float(yes), 0.35, SHERPA),
        Fact("deviation of the estimate, 10,000 people drawn from a population",
             round(math.sqrt(sampled), 4), 0.0095, SHERPA,
             "the notebook plots twice this and calls it the uncertainty"),
        Fact("deviation of the estimate, these 10,000 people",
             round(math.sqrt(local(fair, PEOPLE)), 4),
             remark="the coins alone: the root of 3/(4n), whoever of them cheats"),
        Fact("half-width of the proved 95 % interval, 10,000 people",
             round(fair.error(0.95, n=PEOPLE), 4)),
        Fact("guilty given yes, where 1 % are", round(float(posterior("1/2", "0.01")), 4),
             "at most 0.03", NOTES),
        Fact("largest factor between posterior and base rate", 3, 3, NOTES,
             "approached for rare guilt; 3/(1 + 2p) at the base rate p"),
        Fact("epsilon of the truth with 0.99, else yes with 0.9",
             round(float(odd.epsilon), 3), "ln 3 = 1.099", SHERPA, always),
        Fact("epsilon of the truth with 0.01, else yes with 0.1",
             round(float(dull.epsilon), 3), "ln 3 = 1.099", SHERPA, always),
        Fact("local variance to central variance, 10,000 people",
             round(float(local(fair, PEOPLE)) / central(LN3, PEOPLE), 1),
             remark="n/2, at every epsilon"),
        Fact("people in the central model that are worth 10,000 in the local one",
             worth(PEOPLE), remark="the root of 2n, at every epsilon"),
    )  # fmt: skip


OWN = """\
Everybody flips the coins alone, so nobody need be trusted with the answers: a yes is no proof."""
WHOM = """\
Guilt given a yes is at most three times as likely as before, and at least a third given a no."""
TRUST = """\
Not having to trust anybody costs much: 10,000 people with coins of their own are as exact as 141
whose count gets its noise from somebody who is trusted (n people in general: the root of 2n)."""


def _estimates(asked: list[dict[str, float]]) -> Figure:
    alt = charts.altair()
    last = round(math.log10(max(row["people"] for row in asked)))
    x = alt.X(**charts.log_axis("people", "people asked", low=2, high=last))
    y = alt.Y("share:Q", title="estimated share that cheats", scale=alt.Scale(domain=[0, 0.5]))
    sizes = [10 ** (2 + (last - 2) * i / 60) for i in range(61)]
    half = [NORMAL * math.sqrt(0.75 / n) for n in sizes]
    expected = [
        {"people": n, "low": float(SHARE) - h, "high": float(SHARE) + h}
        for n, h in zip(sizes, half, strict=True)
    ]
    band = charts.band(expected, x=x, low="low", high="high", colour=charts.COLOURS[0])
    truth = alt.Chart(charts.data([{"share": float(SHARE)}])).mark_rule(color="#999").encode(y=y)
    base = alt.Chart(charts.data(asked))
    bars = base.mark_rule(color=charts.COLOURS[1], strokeWidth=1.6, clip=True).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q"
    )
    dots = base.mark_point(color=charts.COLOURS[1], filled=True, size=45, opacity=1, clip=True)
    return Figure(
        "randomized-response",
        charts.themed(
            band + truth + bars + dots.encode(x=x, y=y),
            "How many cheat, from answers that prove nothing",
            "dots: drawn surveys with their proved intervals; band: 1.96 standard deviations",
        ),
        "One survey of each size, fair coins; a fifth of the people cheat. The estimate is "
        "unbiased, and ten times the people make it 3.2 times as exact.",
    )


def _coins() -> Figure:
    alt = charts.altair()
    x = alt.X("truth:Q", title="probability of telling the truth",
              scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=10))  # fmt: skip
    y = alt.Y(**charts.log_axis("half", "half-width of the 95 % interval", low=-2, high=1))
    rows = [
        {"truth": i / 100, "people": f"{n:,} people", "half": coins(Fraction(i, 100)).error(n=n)}
        for n in (100, 1000, 10_000)
        for i in range(2, 99, 2)
    ]
    order = [f"{n:,} people" for n in (100, 1000, 10_000)]
    lines = charts.curves(rows, x=x, y=y, colour="people", order=order, columns=3)
    epsilons = {"epsilon ln 5/3": 0.25, "epsilon ln 3": 0.5, "epsilon ln 7": 0.75}
    marked = charts.marks(epsilons, x=x, y=y, top=8)
    return Figure(
        "randomized-response-coins",
        charts.themed(
            lines + marked,
            "What the coin does to the interval",
            "marks: epsilon of three coins, the middle one fair",
        ),
        "The more often people tell the truth, the shorter the interval and the larger epsilon: "
        "ln((1 + q)/(1 - q)) for the truth with probability q.",
    )


def _posteriors() -> Figure:
    alt = charts.altair()
    kinds = {"truth with 3/4 (epsilon ln 7)": "3/4", "fair coins (epsilon ln 3)": "1/2",
             "truth with 1/4 (epsilon ln 5/3)": "1/4", "no survey": None}  # fmt: skip
    x = alt.X("base:Q", title="share of the guilty (base rate)", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("guilty:Q", title="chance of guilt after a yes", scale=alt.Scale(domain=[0, 1]))
    places = [Fraction(i, 50) for i in range(51)]
    rows = [
        {"base": float(p), "coins": name,
         "guilty": float(p if truth is None else posterior(truth, p))}
        for name, truth in kinds.items() for p in places
    ]  # fmt: skip
    lines = charts.curves(rows, x=x, y=y, colour="coins", order=list(kinds))
    cap = [{"base": 0.0, "guilty": 0.0}, {"base": 1 / 3, "guilty": 1.0}]
    limit = alt.Chart(charts.data(cap)).mark_line(color="#999", strokeWidth=1.2).encode(x=x, y=y)
    said = {"base": 0.27, "guilty": 0.93, "says": "three times the base rate"}
    word = (
        alt.Chart(charts.data([said]))
        .mark_text(align="right", fontSize=11, color="#555")
        .encode(x=x, y=y, text="says:N")
    )
    return Figure(
        "randomized-response-posterior",
        charts.themed(limit + lines + word, "What a yes says about one person"),
        "With fair coins a yes makes guilt at most three times as likely as before (thin line), "
        "and less than that where guilt is common.",
    )


def _models(drawn: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("people", "people", low=2, high=6))
    y = alt.Y(**charts.log_axis("deviation", "standard deviation of the share", low=-6, high=0))
    fair = coins()
    rows = [
        {"people": 10 ** (2 + i / 5), "model": name, "deviation": math.sqrt(float(variance))}
        for i in range(21)
        for name, variance in (
            (LOCAL, local(fair, round(10 ** (2 + i / 5)))),
            (CENTRAL, central(LN3, round(10 ** (2 + i / 5)))),
        )
    ]
    lines = charts.curves(rows, x=x, y=y, colour="model", order=(LOCAL, CENTRAL))
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=45).encode(x=x, y=y)
    return Figure(
        "randomized-response-models",
        charts.themed(lines + dots, "The price of trusting nobody, epsilon ln 3",
                      "circles: drawn surveys"),
        "The error of the local model falls with the root of n, that of the central model with n: "
        "the variances differ by the factor n/2, at every epsilon.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "randomized-response",
    "The tax survey",
    "Randomised response: the estimate, its interval, what a yes says, local against central.",
    run,
)
