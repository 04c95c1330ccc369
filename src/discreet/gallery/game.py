"""The guessing game: which of two neighbours was it? Any mechanism, any strategy, exact odds.

A coin chooses one of two neighbouring inputs, the mechanism releases an answer, and the adversary,
who knows everything but the coin, guesses. `play` measures how often she is right; `optimum` is the
most that any strategy can reach, from the laws; `best_odds` is the most that any mechanism with
this epsilon allows.

Theorem. With a prior p for the first input, no strategy against an epsilon-private mechanism is
right more often than max(p, 1 - p, e^epsilon/(1 + e^epsilon)).

Proof. Let q = 1 - p, r = e^epsilon/(1 + e^epsilon), and let A be the set of answers for which the
first input is guessed, with chances P(A) and Q(A). The chance to be right is p P(A) + q (1 - Q(A)).
Privacy says P(A) <= e^epsilon Q(A) and 1 - Q(A) <= e^epsilon (1 - P(A)). So (P(A), Q(A)) lies in
the polygon with the corners (0, 0), (r, 1 - r), (1, 1) and (0, 1). A linear function is largest in
a corner; there this one is q, r, p and 0. A strategy that flips coins is a mixture of such A.
Tested by tests/gallery/test_game.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.response import RandomizedResponse
from discreet.noise.categorical import Bernoulli
from discreet.noise.law import Law, Outcomes
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, Inversion

__all__ = ["EXPERIMENT", "Game", "best_odds", "optimum"]

NOTES = "class notes"
HALF = Fraction(1, 2)
Strategy = Callable[[Hashable], bool]
"""Takes an answer; true means that the first input is guessed."""
FINE = 64
"""Grid steps of Laplace noise: so fine that it is as good as real."""
_TAIL = Fraction(1, 1 << 50)


def best_odds(epsilon: float, prior: float = 0.5) -> float:
    """The most that any strategy can win against any mechanism with this epsilon."""
    return max(prior, 1 - prior, 1 / (1 + math.exp(-epsilon)))


def told_odds(epsilon: float) -> float:
    """The bound of class notes, 1/2 + epsilon/2: a certainty from epsilon 1 on."""
    return min(1.0, 0.5 + epsilon / 2)


@dataclass(frozen=True, slots=True)
class Game:
    """A game about two neighbouring inputs of a mechanism.

    Attributes:
        mechanism: anything with `release` and `law`, whose answers are those of its law.
        first: one input.
        second: the other.
        prior: how likely the first one is.
    """

    mechanism: Mechanism
    first: Any
    second: Any
    prior: Fraction = HALF

    def by_likelihood(self, seen: Hashable) -> bool:
        """Guess what makes the answer likelier; no strategy is better."""
        return self._odds(seen) >= 0

    def _odds(self, seen: Any) -> Fraction:
        laws = [self.mechanism.law(value) for value in (self.first, self.second)]
        one, other = (Fraction(law.mass(seen)) for law in laws)
        return self.prior * one - (1 - self.prior) * other

    def play(
        self, rounds: int, strategy: Strategy, source: Source | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[np.bool_]]:
        """Rounds: whether it was the first input, the answer, whether the first was guessed."""
        bits = source or system_source()
        coin = Inversion(Bernoulli(self.prior))
        sizes = [min(CHUNK, rounds - done) for done in range(0, rounds, CHUNK)]
        was = np.concatenate([coin.chunk(size, bits) for size in sizes]) == 1
        release: Any = self.mechanism.release  # type: ignore[attr-defined]
        seen = release(np.where(was, self.first, self.second), source=bits)
        answers, places = np.unique(seen, return_inverse=True)
        guesses = np.array([strategy(answer) for answer in answers.tolist()])
        return was, seen, guesses[places]

    def win_rate(self, rounds: int, strategy: Strategy) -> float:
        """The share of rounds in which the guess was right."""
        was, _, guessed = self.play(rounds, strategy)
        return float(np.mean(was == guessed))


def optimum(game: Game) -> float:
    """The chance to win with the best strategy: the sum of the larger chance over all answers.

    Tails beyond both inputs are one answer where the odds are the same in all of them (geometric
    noise), and are otherwise left out where they are below 2^-50.
    """
    p, q = float(game.prior), float(1 - game.prior)
    one, other = game.mechanism.law(game.first), game.mechanism.law(game.second)
    if isinstance(one, Outcomes) and isinstance(other, Outcomes):
        return math.fsum(max(p * one.mass(x), q * other.mass(x)) for x in one.outcomes)
    if isinstance(one, Outcomes) or isinstance(other, Outcomes):
        raise TypeError("the two inputs of a game have laws of the same kind")
    low, high = _ends(one, other)
    inside = [max(p * one.mass(k), q * other.mass(k)) for k in range(low, high + 1)]
    below = max(p * one.cumulative(low - 1), q * other.cumulative(low - 1))
    return math.fsum([*inside, below, max(p * one.tail(high), q * other.tail(high))])


def _ends(one: Law, other: Law) -> tuple[int, int]:
    """Beyond these answers the odds change no more, or hardly anything is left."""
    if one.period == 1 and other.period == 1:
        return min(one.centre, other.centre), max(one.centre, other.centre)
    lows = [law.lowest if law.lowest is not None else law.quantile(_TAIL) for law in (one, other)]
    highs = [
        law.highest if law.highest is not None else law.quantile(1 - _TAIL) for law in (one, other)
    ]
    return min(lows), max(highs)


def count_game(epsilon: Fraction | str) -> Game:
    """Twenty or twenty-one? A count with geometric noise."""
    return Game(Geometric(epsilon=epsilon), 20, 21)


def coins_game(epsilon: Fraction | str) -> Game:
    """Yes or no? One person's randomised response."""
    return Game(RandomizedResponse(epsilon=epsilon), "yes", "no")


def fine_game(epsilon: Fraction | str) -> Game:
    """A real number that moves by 1, with Laplace noise on a fine grid."""
    return Game(Geometric(epsilon=epsilon, sensitivity=FINE), 0, FINE)


# the professor

COLLEAGUES = 99
RULE = Fraction(3, 2)
LEAST, MOST = 40, 400
"""Salaries in thousands; everybody knows these bounds."""


def professor() -> tuple[int, int, Fraction]:
    """The sum of 100 salaries with the professor, with an average person instead, and her salary.

    Everybody knows that a professor earns one and a half times the average of the others.
    """
    others = int(np.rint(data.salaries(COLLEAGUES) / 1000).sum())
    average = Fraction(others, COLLEAGUES)
    hers = RULE * average
    return others + round(hers), others + round(average), hers


def salary_sum(epsilon: Fraction | str = "1") -> Geometric:
    """How the sum of the salaries is released: it is divided by the public 100 afterwards."""
    return Geometric(epsilon=epsilon, sensitivity=MOST - LEAST, neighbours="replace")


def chance_near(total: int, within: int) -> float:
    """How likely one and a half times the noisy average is within so many thousands of hers."""
    hers = professor()[2]
    people = COLLEAGUES + 1
    low, high = (math.ceil((hers - within) * people / RULE), (hers + within) * people / RULE)
    law = salary_sum().law(total)
    return law.cumulative(math.floor(high)) - law.cumulative(low - 1)


def run(effort: Effort) -> Found:
    """Play against several mechanisms at several epsilons; then ask for the professor's salary."""
    points = effort.of(41, 21)
    rows: list[dict[str, object]] = []
    for i in effort.each("odds", points):
        epsilon = Fraction(4 * i, points - 1) if i else Fraction(1, 1000)
        odds = (told_odds(float(epsilon)), best_odds(float(epsilon)), optimum(fine_game(epsilon)))
        rows += [
            {"epsilon": float(epsilon), "who": who, "odds": value}
            for who, value in zip(LINES, odds, strict=True)
        ]
    rounds = effort.of(100_000, 2_000)
    places = ("0.5", "1", "1.5", "2", "3", "4")
    drawn: list[dict[str, object]] = []
    for i in effort.each("rounds", len(places)):
        for game in (count_game(places[i]), fine_game(places[i])):
            rate = game.win_rate(rounds, game.by_likelihood)
            drawn.append({"epsilon": float(places[i]), "odds": rate})
    return Found(
        (*_facts(rounds), *_learnt()),
        (_odds(rows, drawn), _laws(), _professor()),
        (*shown_rounds(count_game("1"), 4), UNLIKE),
    )


def shown_rounds(game: Game, rounds: int) -> tuple[str, ...]:
    """What the adversary saw and guessed, in words."""
    was, seen, guessed = game.play(rounds, game.by_likelihood)
    told = []
    for number in range(rounds):
        truth = game.first if was[number] else game.second
        guess = game.first if guessed[number] else game.second
        verdict = "right" if truth == guess else "wrong"
        told.append(
            f"Round {number + 1}: the coin chose {truth}, she saw {seen[number]} and guessed "
            f"{guess}: {verdict}."
        )
    return tuple(told)


UNLIKE = """\
What is learnt of a professor's salary from the average is learnt whether or not she is in the data.
Privacy hides what her own record adds, and nothing else; no promise could hide the average too."""


def _facts(rounds: int) -> list[Fact]:
    loose = "true, but loose: it says nothing from epsilon 1 on"
    found = [
        Fact(f"best chance at epsilon {epsilon}", round(best_odds(epsilon), 4),
             told_odds(epsilon), NOTES, loose if epsilon >= 1 else "")
        for epsilon in (0.1, 0.5, 1, 2)
    ]  # fmt: skip
    one = "1"
    count, coins, fine = count_game(one), coins_game(one), fine_game(one)
    attained = "the bound, attained"
    skewed = Game(count.mechanism, 20, 21, Fraction(9, 10))
    return [
        *found,
        Fact("count, epsilon 1: optimum", round(optimum(count), 4), remark=attained),
        Fact("coins, epsilon 1: optimum", round(optimum(coins), 4), remark=attained),
        Fact("fine Laplace noise, epsilon 1: optimum", round(optimum(fine), 4),
             remark="1 - exp(-epsilon/2)/2 for real numbers"),
        Fact("count, epsilon 1: measured", round(count.win_rate(rounds, count.by_likelihood), 3),
             remark=f"in {rounds:,} rounds"),
        Fact("count, epsilon 1: always the same guess",
             round(count.win_rate(rounds, lambda _: True), 3), remark=f"in {rounds:,} rounds"),
        Fact("count, epsilon 1: optimum if 9 in 10 are the first", round(optimum(skewed), 4),
             remark="at this prior the answer tells nothing new"),
    ]  # fmt: skip


def _learnt() -> list[Fact]:
    with_her, without, _ = professor()
    near = {"before": 20 / (MOST - LEAST), "with her record": chance_near(with_her, 10),
            "without it": chance_near(without, 10)}  # fmt: skip
    told = [
        Fact(f"within 10,000 of the professor's salary, {when}, %", round(100 * chance, 1))
        for when, chance in near.items()
    ]
    game = Game(salary_sum(), with_her, without)
    return [
        *told,
        Fact("is the professor in the data? Optimum", round(optimum(game), 3),
             remark="of 0.5 by guessing, if an average person may be in her place"),
    ]  # fmt: skip


LINES = (
    "1/2 + epsilon/2 (class notes)",
    "e^epsilon / (1 + e^epsilon): counts and coins",
    "Laplace noise on a fine grid",
)


def _odds(rows: list[dict[str, object]], drawn: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    x = alt.X("epsilon:Q", title="epsilon", scale=alt.Scale(domain=[0, 4], nice=False),
              axis=alt.Axis(values=[i / 2 for i in range(9)]))  # fmt: skip
    y = alt.Y("odds:Q", title="chance to guess right",
              scale=alt.Scale(domain=[0.5, 1], nice=False))  # fmt: skip
    lines = charts.curves(rows, x=x, y=y, colour="who", order=LINES)
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=45).encode(x=x, y=y)
    return Figure(
        "game",
        charts.themed(lines + dots, "How often the best adversary is right", "circles: played"),
        "The notes' bound is true and soon says nothing. The exact one is attained by a noisy "
        "count and by randomised response; Laplace noise on real numbers stays below it.",
    )


def _laws() -> Figure:
    alt = charts.altair()
    game = count_game("1")
    rows = [
        {"answer": k, "true": f"the count is {value}", "chance": game.mechanism.law(value).mass(k)}
        for value in (game.first, game.second)
        for k in range(13, 29)
    ]
    names = [f"the count is {value}" for value in (game.first, game.second)]
    legend = alt.Legend(title=None, orient="top")
    chart = (
        alt.Chart(charts.data(rows))
        .mark_bar(stroke="#333", strokeWidth=0.6)
        .encode(
            x=alt.X("answer:O", title="the answer that the adversary sees",
                    axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("true:N", sort=names),
            y=alt.Y("chance:Q", title="chance of this answer"),
            color=alt.Color("true:N", sort=names, legend=legend,
                            scale=alt.Scale(domain=names, range=["#4477aa", "#f1d7a8"])),
        )
    )  # fmt: skip
    return Figure(
        "game-answers",
        charts.themed(chart, "Twenty or twenty-one? Epsilon 1"),
        "For every answer the adversary guesses the count with the taller bar: 20 up to 20, and 21 "
        "from 21 on. No bar is more than e = 2.7 times the other.",
    )


def _professor() -> Figure:
    alt = charts.altair()
    with_her, without, hers = professor()
    names = (
        "after, and she is in the data",
        "after, and she is not",
        "before: anything, 40 to 400",
    )
    people = COLLEAGUES + 1
    rows = []
    for name, total in zip(names, (with_her, without), strict=False):
        law = salary_sum().law(total)
        for total_seen in sorted({*range(6000, 12_667, 66), with_her, without}):  # peaks, too
            chance = law.mass(total_seen) * float(people / RULE)
            salary = float(total_seen * RULE / people)
            rows.append({"salary": salary, "who": name, "chance": chance})
    flat = 1 / (MOST - LEAST)
    rows += [{"salary": end, "who": names[2], "chance": flat} for end in (90.0, 190.0)]
    x = alt.X("salary:Q", title="what one believes that she earns, in thousands",
              scale=alt.Scale(domain=[90, 190], nice=False))  # fmt: skip
    y = alt.Y("chance:Q", title="chance per thousand", axis=alt.Axis(format="%"),
              scale=alt.Scale(domain=[0, 0.1]))  # fmt: skip
    lines = charts.curves(rows, x=x, y=y, colour="who", order=names)
    chart = lines + charts.marks({"her salary": float(hers)}, x=x, y=y, top=0.03)
    return Figure(
        "game-professor",
        charts.themed(chart, "A professor's salary, from the average of 100 at epsilon 1"),
        "One and a half times the released average is near her salary, and is so whether or not "
        "she is in the data: that the average tells something about her is no breach of privacy.",
    )


EXPERIMENT = Experiment(
    "game",
    "The guessing game",
    "How often an adversary guesses which of two neighbours it was: played, exact, and at most.",
    run,
)
