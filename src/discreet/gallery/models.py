"""How many smokers? The same question, at the same epsilon, in the three ways of deployment.

Interactive: a curator answers this one question. Published once: a curator publishes a table, and
everybody reads the answer off it. Local: nobody is trusted, and each person answers through coins.
In all three one person's record is replaced by another's.
Tested by tests/gallery/test_models.py
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.response import RandomizedResponse

__all__ = ["EXPERIMENT", "interactive", "local", "people", "published"]

SHERPA = "Sherpa's notebook"
PEOPLE, GROUPS = 10_000, 16
MODELS = (
    "interactive: a curator answers one question",
    "published once: a table of 32 cells",
    "local: each person answers through coins",
)
Epsilon = Fraction | str
FIRST, LAST = -1.0, 0.7


def people(number: int = PEOPLE) -> NDArray[np.int64]:
    """How many people are in each age group and smoke, or do not: 2 rows of 16; one in five does.

    Made by formula, about nobody: groups are equal, and it is the same share of each that smokes.
    """
    each = np.full(GROUPS, number // GROUPS) + (np.arange(GROUPS) < number % GROUPS)
    smoke = np.full(GROUPS, number // 5 // GROUPS) + (np.arange(GROUPS) < number // 5 % GROUPS)
    found: NDArray[np.int64] = np.stack([smoke, each - smoke]).astype(np.int64)
    return found


def one_count(epsilon: Epsilon) -> Geometric:
    """How a curator answers how many smokers there are."""
    return Geometric(epsilon=epsilon, neighbours="replace")


def one_table(epsilon: Epsilon) -> Geometric:
    """How a curator publishes all 32 counts: one who is replaced moves two of them."""
    return Geometric(epsilon=epsilon, changes=2, neighbours="replace")


def coins(epsilon: Epsilon) -> RandomizedResponse:
    """How each person answers whether she smokes."""
    return RandomizedResponse(epsilon=epsilon, categories=(1, 0))


def interactive(epsilon: Epsilon) -> float:
    """The root mean square error of the one noisy count."""
    return math.sqrt(one_count(epsilon).variance)


def published(epsilon: Epsilon) -> float:
    """The same, of the sum of the 16 noisy counts of smokers."""
    return math.sqrt(GROUPS * one_table(epsilon).variance)


def local(epsilon: Epsilon, number: int = PEOPLE) -> float:
    """The same, of the estimate from everybody's coins, whoever smokes."""
    return from_coins(coins(epsilon), number)


def from_coins(mechanism: RandomizedResponse, number: int) -> float:
    """The error from coins that tell the truth with chance p, for yes and no alike.

    A report has the variance p (1 - p), whatever the truth is, and the estimate divides the sum of
    all reports by 2p - 1.
    """
    p = mechanism.kernel[0][0]
    return math.sqrt(number * p * (1 - p)) / float(2 * p - 1)


def drawn(epsilon: Epsilon, repetitions: int) -> tuple[float, float, float]:
    """The root mean square errors of real answers, in the order of MODELS."""
    cells = people()
    truth = int(cells[0].sum())
    counts = one_count(epsilon).release(np.full(repetitions, truth))
    tables = one_table(epsilon).release(np.tile(cells, (repetitions, 1, 1)))
    smokes = np.repeat([1, 0], cells.sum(axis=1))
    asked = coins(epsilon)
    estimates = [
        PEOPLE * asked.estimate(asked.release(smokes)).proportions[1] for _ in range(repetitions)
    ]
    errors = (counts - truth, tables[:, 0].sum(axis=1) - truth, np.array(estimates) - truth)
    one, two, three = (float(np.sqrt(np.mean(np.square(error, dtype=float)))) for error in errors)
    return one, two, three


def questions_worth(epsilon: Fraction) -> int:
    """With so many questions at equal shares of epsilon, each is answered worse than published."""
    number = 1
    while interactive(epsilon / number) <= published(epsilon):
        number += 1
    return number


def people_needed(error: float, *, grows: bool) -> int:
    """How many people it takes until an error is 1 % of the smokers, of whom one in five is one.

    Args:
        error: among so few people that it is the error of one.
        grows: whether it grows with the root of their number.
    """
    ratio = error / 0.002
    return math.ceil(ratio**2 if grows else ratio)


def crowd() -> int:
    """The least number of people for whom local answers are worse than the table, at epsilon 1."""
    number = 1
    while local("1", number) <= published("1"):
        number += 1
    return number


def run(effort: Effort) -> Found:
    """Compute the errors over epsilon and over the number of people, and draw some answers."""
    points = effort.of(41, 21)
    by_epsilon: list[dict[str, object]] = []
    for i in effort.each("errors", points):
        epsilon = Fraction(f"{10 ** (FIRST + (LAST - FIRST) * i / (points - 1)):.6g}")
        errors = (interactive(epsilon), published(epsilon), local(epsilon))
        by_epsilon += [
            {"epsilon": float(epsilon), "model": name, "error": error}
            for name, error in zip(MODELS, errors, strict=True)
        ]
    by_people: list[dict[str, object]] = [
        {"people": number, "model": name, "error": error}
        for number in (100, 1000, 10_000, 100_000, 1_000_000)
        for name, error in zip(
            MODELS, (interactive("1"), published("1"), local("1", number)), strict=True
        )
    ]
    places = ("0.1", "0.3", "1", "3")
    dots: list[dict[str, object]] = []
    for i in effort.each("draws", len(places)):
        found = drawn(places[i], effort.of(1000, 100))
        dots += [{"epsilon": float(places[i]), "error": error} for error in found]
    return Found(_facts(), (_figure(by_epsilon, by_people, dots),), (TRUST, FREE, CROWD))


def _facts() -> tuple[Fact, ...]:
    one = "1"
    fair = RandomizedResponse(truth="1/2")
    spread = from_coins(fair, PEOPLE) / PEOPLE
    said = float(sum(row[0] * share for row, share in zip(fair.kernel, (0.2, 0.8), strict=True)))
    needed = (
        people_needed(interactive(one), grows=False),
        people_needed(published(one), grows=False),
        people_needed(local(one, 1), grows=True),
    )
    return (
        Fact("error at epsilon 1, interactive", round(interactive(one), 2), remark="people"),
        Fact("error at epsilon 1, published once", round(published(one), 2),
             remark="people: of the sum of 16 cells; every other sum is free"),
        Fact("error at epsilon 1, local", round(local(one), 2), remark="people, of 10,000"),
        Fact("questions from which publishing is better", questions_worth(Fraction(1)),
             remark="each at an equal share of epsilon 1"),
        *(
            Fact(f"people for an error of 1 % of the smokers, {name.partition(':')[0]}", number)
            for name, number in zip(MODELS, needed, strict=True)
        ),
        Fact("people from which on the table is better than local answers", crowd(),
             remark="at epsilon 1"),
        Fact("share of yes through fair coins", round(said, 4), 0.35, SHERPA,
             "2,000 of 10,000 smoke"),
        Fact("error of the share, fair coins", round(spread, 4), 0.0095, SHERPA,
             "theirs is for people drawn at random; for these 10,000 only the coins are random"),
    )  # fmt: skip


TRUST = """\
The less one trusts, the more it costs: a curator's noise is that of one person, and without a
curator everybody's noise is in the answer."""
FREE = """\
What is published once is not the best for any one question, but all further questions are free; an
interactive curator has to split epsilon among them."""
CROWD = """\
Without a curator the error grows with the root of the number of people, so that its share of them
shrinks: those who collect so have millions."""


def _figure(
    by_epsilon: list[dict[str, object]],
    by_people: list[dict[str, object]],
    dots: list[dict[str, object]],
) -> Figure:
    alt = charts.altair()
    wide, high = 280, 300
    x = alt.X("epsilon:Q", title="epsilon, for 10,000 people",
              scale=alt.Scale(type="log", nice=False, domain=[0.1, 5]),
              axis=alt.Axis(values=[0.1, 0.3, 1, 3], format="~r"))  # fmt: skip
    y = alt.Y(**charts.log_axis("error", "error in people (root mean square)", low=-1, high=4))
    lines = charts.curves(by_epsilon, x=x, y=y, colour="model", order=MODELS)
    circles = alt.Chart(charts.data(dots)).mark_point(color="#222", size=45).encode(x=x, y=y)
    across = alt.X("people:Q", title="people, at epsilon 1",
                   scale=alt.Scale(type="log", nice=False, domain=[100, 1_000_000]),
                   axis=alt.Axis(values=[10**k for k in range(2, 7)], format="~s"))  # fmt: skip
    up = alt.Y(**charts.log_axis("error", "", low=-1, high=4))
    right = charts.curves(by_people, x=across, y=up, colour="model", order=MODELS)
    chart = alt.hconcat(
        (lines + circles).properties(width=wide, height=high),
        right.properties(width=wide, height=high),
    )
    return Figure(
        "models",
        charts.themed(chart, "How many smokers? Three models", "circles: real answers",
                      sized=False),
        "At every epsilon a curator who answers one question is the most exact. A published table "
        "has 8 to 15 times that error, and the local answers of n people have the root of n/2 "
        "times: 71 for 10,000.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "models",
    "How many smokers? Three models",
    "One question at one epsilon: interactive, published once, and local.",
    run,
)
