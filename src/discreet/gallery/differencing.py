"""The classroom attack: who knows everybody but one subtracts, and guesses.

Between two neighbouring counts, every answer of the geometric mechanism speaks for one of them with
the factor e^epsilon, and never with another factor. So one answer is worth exactly one coin that is
right with probability e^epsilon/(1 + e^epsilon), which is as much as any epsilon-private answer can
be worth; several answers are several coins.
Tested by tests/gallery/test_differencing.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.curator.policy.words import chance_of_guessing
from discreet.exact import Exact
from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import PureDP

__all__ = ["EXPERIMENT", "attacked", "bound", "guess", "laplace", "majority", "notes_bound"]

NOTES = "class notes"
PLACES = ("0.1", "0.3", "0.5", "1", "1.5", "2", "3", "4")
SHOWN = ("0.1", "1", "3")
EACH = "0.1"
"""The epsilon of each of several questions."""
TIMES = (1, 3, 10, 30, 100, 300, 1000)


def bound(epsilon: Exact) -> float:
    """The best chance of guessing right at even odds: e^epsilon/(1 + e^epsilon)."""
    return chance_of_guessing(PureDP(Fraction(epsilon)))


def notes_bound(epsilon: float) -> float:
    """The bound 1/2 + epsilon/2, which is true, and says nothing from epsilon 1 on."""
    return 0.5 + epsilon / 2


def laplace(epsilon: float) -> float:
    """The chance of guessing right from a count with Laplace noise: 1 - e^(-epsilon/2)/2."""
    return 1 - math.exp(-epsilon / 2) / 2


def guess(epsilon: str, prior: float = 0.5) -> float:
    """The chance of guessing right from a private count of the class, by the mechanism's own laws.

    The attacker believes beforehand, with probability `prior`, that the pupil failed, and takes
    what is more likely after each answer.
    """
    pairs = _masses(epsilon)
    return math.fsum(max(prior * failed, (1 - prior) * passed) for failed, passed in pairs)


@lru_cache(maxsize=16)
def _masses(epsilon: str) -> list[tuple[float, float]]:
    """The probability of each answer, if the pupil failed and if not."""
    mechanism, failed = _class(epsilon)
    with_her, without = mechanism.law(failed), mechanism.law(failed - 1)
    return [(with_her.mass(j), without.mass(j)) for j in range(len(data.classroom()) + 1)]


def majority(epsilon: float, times: int) -> float:
    """The chance of guessing right from that many answers: what most of them say, or a toss."""
    from scipy.special import bdtr, bdtrc  # noqa: PLC0415

    q, half = 1 / (1 + math.exp(-epsilon)), times // 2
    most = float(bdtrc(half, times, q))
    tie = float(bdtr(half, times, q) - bdtr(half - 1, times, q)) if times % 2 == 0 else 0.0
    return most + tie / 2


def attacked(epsilon: str, rounds: int, times: int = 1) -> float:
    """The share of right guesses: the pupil has failed in half of the rounds.

    The attacker knows that 19 of the other 29 failed, asks `times` times how many of the 30 did,
    subtracts, and takes what most answers say; of even votes half are counted.
    """
    mechanism, failed = _class(epsilon)
    share = 0.0
    for truth, sign in ((failed, 1), (failed - 1, -1)):
        answers = mechanism.release(np.full((rounds, times), truth, dtype=np.int64))
        left = answers - (failed - 1)  # 1 or more speaks for "failed", 0 or less for "passed"
        votes = sign * np.where(left >= 1, 1, -1).sum(axis=1)
        share += float(np.mean(votes > 0) + np.mean(votes == 0) / 2) / 2
    return share


def _class(epsilon: str) -> tuple[Geometric, int]:
    """The count's mechanism, and how many failed."""
    pupils = data.classroom()
    bounds = (0, len(pupils))
    return Geometric(epsilon=epsilon, bounds=bounds, neighbours="replace"), int(pupils.sum())


def run(effort: Effort) -> Found:
    """Attack the class at several epsilons, and several times."""
    rounds = effort.of(50_000, 5_000)
    once = [
        {"epsilon": float(PLACES[i]), "chance": attacked(PLACES[i], rounds)}
        for i in effort.each("attacks", len(PLACES))
    ]
    several = [
        {"questions": TIMES[i], "chance": attacked(EACH, effort.of(5_000, 500), TIMES[i])}
        for i in effort.each("repeated attacks", len(TIMES))
    ]
    figures = (_epsilons(once), _priors(), _times(several))
    return Found(_facts(), figures, (ATTACK, PRIOR, AGAIN))


def _facts() -> tuple[Fact, ...]:
    found = [Fact("right guesses without privacy", 1.0, 1.0, NOTES)]
    for epsilon in SHOWN:
        theirs = notes_bound(float(epsilon))
        true = "true, but more than is possible" if theirs < 1 else "true of every attack"
        found.append(
            Fact(f"chance of a right guess at epsilon {epsilon}", round(guess(epsilon), 4),
                 f"at most {theirs:g}", NOTES, f"{true}; e^eps/(1+e^eps) is reached")
        )  # fmt: skip
    asked = [
        Fact(f"after {times} questions of epsilon {EACH}", round(majority(float(EACH), times), 4),
             remark=f"the bound for {Fraction(EACH) * times} in all: "
                    f"{bound(Fraction(EACH) * times):.4f}")
        for times in (10, 100)
    ]  # fmt: skip
    return (
        *found,
        Fact("chance with Laplace noise at epsilon 1", round(laplace(1), 4)),
        Fact("chance at epsilon 0.5 for who believed 80 % before", round(guess("0.5", 0.8), 4),
             remark="no answer changes this guess: max(p, 1-p, e^eps/(1+e^eps))"),
        *asked,
    )  # fmt: skip


ATTACK = """\
Thirty pupils, twenty failed. The attacker knows nineteen who failed and ten who passed, and asks
how many failed: without noise, subtracting 19 tells about the last pupil for certain."""
PRIOR = """\
The bound is for somebody who has no idea before. Who believes with probability p beforehand is
right with at most the largest of p, 1-p and e^eps/(1+e^eps)."""
AGAIN = """\
Asking again adds up: this is why a curator keeps a ledger, and answers the same question with the
same answer."""

ODDS = "chance of a right guess"


def _epsilons(drawn: list[dict[str, float]]) -> Figure:
    alt = charts.altair()
    x = alt.X("epsilon:Q", title="epsilon", scale=alt.Scale(domain=[0, 4.2], nice=False),
              axis=alt.Axis(values=[0, 1, 2, 3, 4], format="d"))  # fmt: skip
    y = alt.Y("chance:Q", title=ODDS, scale=alt.Scale(domain=[0.5, 1.02], nice=False))
    lines = {
        "no privacy": lambda _: 1.0,
        "bound of the notes, 1/2 + eps/2": notes_bound,
        "geometric = bound, e^eps/(1+e^eps)": lambda e: 1 / (1 + math.exp(-e)),
        "Laplace": laplace,
    }
    rows = [
        {"what": name, "epsilon": i / 40, "chance": line(i / 40)}
        for name, line in lines.items() for i in range(169) if line(i / 40) <= 1
    ]  # fmt: skip
    chart = charts.curves(rows, x=x, y=y, colour="what", order=list(lines))
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=55).encode(x=x, y=y)
    return Figure(
        "differencing",
        charts.themed(
            chart + dots, "Knowing everybody but one, did the last pupil fail?",
            "circles: drawn attacks on the geometric count",
        ),
        "Without privacy the guess is always right. The geometric count reaches the bound at every "
        "epsilon; the notes' bound is true, and useless from epsilon 1 on.",
    )  # fmt: skip


def _priors() -> Figure:
    alt = charts.altair()
    x = alt.X("prior:Q", title="probability of 'failed' that the attacker believed before",
              scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    y = alt.Y("chance:Q", title=ODDS, scale=alt.Scale(domain=[0.5, 1], nice=False))
    names: dict[str | None, str] = {None: "no answer at all"}
    names |= {epsilon: f"epsilon {epsilon}" for epsilon in SHOWN}
    rows = [
        {"answer": name, "prior": prior,
         "chance": max(prior, 1 - prior) if epsilon is None else guess(epsilon, prior)}
        for epsilon, name in names.items() for prior in (i / 200 for i in range(201))
    ]  # fmt: skip
    chart = charts.curves(rows, x=x, y=y, colour="answer", order=list(names.values()))
    return Figure(
        "differencing-prior",
        charts.themed(
            chart, "Who knows much already learns little",
            "chance of a right guess about the last pupil, from one private count of the class",
        ),
        "Where a curve lies on the V of 'no answer at all', no answer at that epsilon changes "
        "the guess. The flat middle is at e^eps/(1+e^eps).",
    )  # fmt: skip


def _times(drawn: list[dict[str, float]]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("questions", f"questions, each of epsilon {EACH}", low=0, high=3))
    y = alt.Y("chance:Q", title=ODDS, scale=alt.Scale(domain=[0.5, 1], nice=False))
    each, odd = float(EACH), sorted({round(1000 ** (i / 60) / 2) * 2 + 1 for i in range(61)})
    lines = {"best attack": "majority", "bound for the sum of the epsilons": "bound"}
    rows = [
        {"what": name, "questions": times,
         "chance": majority(each, times) if kind == "majority" else bound(Fraction(EACH) * times)}
        for name, kind in lines.items() for times in odd
    ]  # fmt: skip
    chart = charts.curves(rows, x=x, y=y, colour="what", order=list(lines))
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=55).encode(x=x, y=y)
    return Figure(
        "differencing-again",
        charts.themed(
            chart + dots, "The same question again, with fresh noise",
            "circles: drawn attacks",
        ),
        "Fresh noise for the same question wears off: after 100 questions of epsilon 0.1 the guess "
        "is right in 69 of 100 cases. The bound for the sum of all epsilons is far above that.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "differencing",
    "The classroom attack",
    "How often an attacker who knows everybody but one guesses right, without and with privacy.",
    run,
)
