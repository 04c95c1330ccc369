"""Choosing the best candidate in private: exponential, permute-and-flip, noisy max, top k.

Candidates (indices or keys) are public, their scores are private integers or fractions. One person
moves each score by at most D, the sensitivity, up or down; the scores are *monotone* if one person
moves all of them in the same direction, as counts do when a person is added or removed.

The rate r of the noise is epsilon/(2D), and epsilon/D for monotone scores. So for counts the noise
has scale 1/epsilon when a person is added or removed (monotone=True) and 2/epsilon when a person is
replaced: a replacement moves one count up and another one down.

Theorem 1. The exponential mechanism (McSherry and Talwar 2007), P(j) proportional to exp(r q_j),
is epsilon-private. Proof. Going to a neighbour q', exp(r q_j) falls by at most a factor exp(rD) and
the sum grows by at most exp(rD): together exp(2rD). Monotone: if the scores rise, only the sum
changes against j; if they fall, only exp(r q_j) does: exp(rD).

Theorem 2. Noisy max, the largest of q_j + E_j with one-sided exponential noise of rate r, is
epsilon-private, and so is permute-and-flip, which has the same law (shown in
`discreet.mechanisms.choosing`). Proof. Theorem 3 with k = 1.

Theorem 3. The k largest of q_j + E_j in order, noise of rate r/k, are epsilon-private. Proof. Take
noise for which the winners are i_1, ..., i_k in this order, and a neighbour q'. Add to the noise of
each winner q_i - q'_i + D, which lies in [0, 2D], and leave the losers' alone. All winners' noisy
scores have moved by exactly D, the losers' by at most D, so the same winners come out in the same
order. The noise was only moved upwards, so it stays in its support, and its density fell by at most
exp(-2D r/k) for each of k winners. Monotone: if the scores rise, q_i - q'_i + D lies in [0, D]; if
they fall, add q_i - q'_i, in [0, D]: the winners stay where they were and no loser rises.

The bounds are met: with k candidates level at distance g behind one more, those k win in any order
with probability exp(-k (r/k) g)/(k+1)!, and g grows by 2D (monotone: D). The exponential mechanism
meets its bound only in the limit of a large g.

Fractions are put over a common denominator; it depends on the private scores, but the laws depend
on rate x gap only, so it does not show; and no table is kept for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import perm
from typing import Any

from discreet.errors import ParameterError
from discreet.exact import Exact, Interval, exp, positive, probability, whole, written
from discreet.mechanisms.base import PureMechanism
from discreet.mechanisms.choosing import (
    Candidates,
    Score,
    Scores,
    by_coins,
    by_noise,
    by_rejection,
    first_masses,
    order_mass,
    read_scores,
    softmax_masses,
)
from discreet.noise.law import Outcomes, smallest
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.privacy.loss import RangeLoss

__all__ = ["Exponential", "NoisyMax", "PermuteAndFlip", "TopK", "monotone_of"]

MOST_ORDERS = 5040
"""The largest number of ordered answers that `TopK.law` lists."""


def monotone_of(value: object, neighbours: Neighbours) -> bool:
    """Whether all scores move in the same direction; impossible when a person is replaced."""
    if not isinstance(value, bool):
        raise ParameterError("monotone", value, "must be True or False")
    if value and neighbours == "replace":
        problem = "needs neighbours='add_or_remove': a replacement moves one score up, another down"
        raise ParameterError("monotone", value, problem)
    return value


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _Selection(PureMechanism):
    """What the mechanisms of this module share."""

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact = 1,
        monotone: bool = False,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "sensitivity", positive(sensitivity, name="sensitivity"))
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "monotone", monotone_of(monotone, self.neighbours))

    def __repr__(self) -> str:
        said = [f"epsilon={written(self.epsilon)}", *self._said_first()]
        said += [f"sensitivity={written(self.sensitivity)}"]
        said += ["monotone=True"] if self.monotone else []
        return f"{type(self).__name__}({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    def _said_first(self) -> list[str]:
        return []

    @property
    def rate(self) -> Fraction:
        """The rate of the noise per unit of score: its scale is 1/rate."""
        return self.epsilon / (self._winners * (1 if self.monotone else 2) * self.sensitivity)

    @property
    def _winners(self) -> int:
        return 1

    def release(self, scores: Scores, *, source: Source | None = None) -> Any:
        """The chosen candidate: its index, or its key where scores is a dict.

        `source` is for tests; the default is the system's randomness.
        """
        read = read_scores(scores)
        supply = system_source() if source is None else source
        return read.names[self._choose(read, supply)]

    def _choose(self, read: Candidates, source: Source) -> int:
        """The place of the chosen candidate."""
        return by_noise(read, self.rate, 1, source)[0]

    def law(self, value: Scores) -> Outcomes:
        """The exact law of `release(value)`, over the indices or keys.

        The work grows with the square of the number of candidates, times that of different scores.
        """
        read = read_scores(value)
        gaps, rate = read.exact_gaps(), self.rate / read.grid
        return Outcomes(read.names, lambda w: self._masses(gaps, rate, w))

    def _masses(self, gaps: list[int], rate: Fraction, w: int) -> list[Interval]:
        return first_masses(gaps, rate, w)

    def expected_absolute_error(self, value: Scores) -> float:
        """E (best score - chosen score), from the exact law."""
        read = read_scores(value)
        law, gaps = self.law(value), read.exact_gaps()
        shares = [law.mass_bounds(name) * gap for name, gap in zip(read.names, gaps, strict=True)]
        return float(sum(shares, Interval.of(0)) / read.grid)

    def error(self, confidence: Exact, candidates: int) -> Score:
        """The smallest multiple g of the sensitivity so that, whatever the scores of this many
        candidates, the chosen one is within g of the best with at least this probability.

        Bound. Let p = exp(-rate g). The chance of a candidate more than g behind is greatest when
        all others lie just there: any of them further behind, or any nearer one instead, lowers
        it. `_largest_coin` says which p keeps that chance at 1 - confidence. (For integer scores
        "more than g" means g + 1, so that g can be too large by one, never too small.)
        """
        allowed = 1 - probability(confidence, name="confidence")
        others = whole(candidates, name="candidates", at_least=self._winners) - self._winners
        if others == 0:
            return 0
        largest = self._largest_coin(allowed, others)
        steps = _steps_until(largest, self.rate * self.sensitivity)
        gap = steps * self.sensitivity
        return int(gap) if gap.denominator == 1 else gap

    def _largest_coin(self, allowed: Fraction, others: int) -> Fraction:
        """With k winners and m others at p: the failing chance is at most m p k/(k + 1).

        Proof. A candidate of the m is chosen iff its uniform on (0, 1/p) is below the largest M of
        the k best ones' uniforms, whose law is worst when these are on (0, 1). For one of the m
        this has the chance E[p M] = p k/(k + 1); add up over m.
        """
        return allowed * (self._winners + 1) / (self._winners * others)

    def small_neighbours(self) -> Iterator[tuple[tuple[Score, ...], tuple[Score, ...]]]:
        """Three candidates with scores 0, D or 2D, all moves by -D, 0 or D (monotone: 0 or D).

        The laws depend on differences only and treat candidates alike, so the first vector is
        sorted and starts with 0. The loss epsilon is met at equal scores.
        """
        moves = (0, 1) if self.monotone else (-1, 0, 1)
        for rest in combinations_with_replacement((0, 1, 2), 2):
            for move in product(moves, repeat=3):
                yield self._scaled((0, *rest)), self._scaled((0, *rest), move)

    def _scaled(self, base: Sequence[int], move: Sequence[int] = ()) -> tuple[Score, ...]:
        moves = move or [0] * len(base)
        scores = [(b + m) * self.sensitivity for b, m in zip(base, moves, strict=True)]
        return tuple(int(s) if s.denominator == 1 else s for s in scores)


def _steps_until(largest: Fraction, rate: Fraction) -> int:
    """The smallest h >= 0 with exp(-rate h) <= largest, by certified bounds.

    The two sides are never equal for h > 0: e to a rational power other than 0 is irrational.
    """

    def reached(h: int) -> bool:
        if h <= 0:
            return h == 0 and largest >= 1
        bits = 64
        while True:
            found = exp(-rate * h, bits)
            if found.upper <= largest or found.lower > largest:
                return found.upper <= largest
            bits *= 2

    return smallest(reached, start=0)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Exponential(_Selection):
    """Choose candidate j with probability proportional to exp(rate x score): McSherry and Talwar.

    Guarantee. If one person moves each score by at most `sensitivity`, the choice is
    epsilon-differentially private; the loss epsilon is approached, not met.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. Scores are integers or fractions and the sensitivity is a true bound; with
    monotone=True also that one person moves all scores in the same direction.
    Proof. Theorem 1 at the top of this module.
    Not promised. The number of tries, and so the time taken, depends on the scores.
    `PermuteAndFlip` is never worse and draws once per candidate, always.
    Tested by tests/mechanisms/test_selection.py

    Args:
        epsilon: the privacy parameter, exact as typed.
        sensitivity: how far one person can move one score.
        monotone: whether one person moves all scores in the same direction (counts, when a person
            is added or removed). The noise then has scale 1/epsilon instead of 2/epsilon.
        neighbours: "add_or_remove" or "replace"; monotone scores cannot be had with "replace".

    >>> mechanism = Exponential(epsilon=1)
    >>> mechanism.release({"red": 0, "green": 1000, "blue": 2})
    'green'
    >>> round(mechanism.law([6] + 9 * [0]).mass(0), 4)
    0.6906
    """

    @property
    def privacy_loss(self) -> RangeLoss:
        """A loss within an interval of length epsilon, whatever the scores.

        log P(j)/Q(j) = rate (u_j - v_j) + a number that is the same for all j, and rate times the
        range of u_j - v_j is at most epsilon.
        """
        return RangeLoss(neighbours=self.neighbours, epsilon=self.epsilon)

    def _choose(self, read: Candidates, source: Source) -> int:
        return by_rejection(read, self.rate, source)

    def _masses(self, gaps: list[int], rate: Fraction, w: int) -> list[Interval]:
        return softmax_masses(gaps, rate, w)

    def _largest_coin(self, allowed: Fraction, others: int) -> Fraction:
        """The failing chance with m others at p is m p/(1 + m p)."""
        return allowed / ((1 - allowed) * others)

    def small_neighbours(self) -> Iterator[tuple[tuple[Score, ...], tuple[Score, ...]]]:
        """Those of three candidates, and two that are so far apart that the loss comes within
        exp(-40) of epsilon.
        """
        yield from _Selection.small_neighbours(self)
        far = int(40 / (self.rate * self.sensitivity)) + 1
        yield self._scaled((0, far)), self._scaled((0, far), (0 if self.monotone else -1, 1))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip(_Selection):
    """Flip a coin exp(-rate x gap) for each candidate and choose among the successes.

    McKenna and Sheldon 2020. Its expected gap is never above the exponential mechanism's with the
    same parameters, and up to twice as small.
    Guarantee. If one person moves each score by at most `sensitivity`, the choice is
    epsilon-differentially private; the loss epsilon is met.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. Scores are integers or fractions and the sensitivity is a true bound; with
    monotone=True also that one person moves all scores in the same direction.
    Proof. Theorem 2 at the top of this module.
    Tested by tests/mechanisms/test_selection.py

    The arguments are those of `Exponential`.

    >>> mechanism = PermuteAndFlip(epsilon=1)
    >>> mechanism.release([0, 1000, 2])
    1
    >>> round(mechanism.law([6] + 9 * [0]).mass(0), 4)
    0.8033
    """

    def _choose(self, read: Candidates, source: Source) -> int:
        return by_coins(read, self.rate, source)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class NoisyMax(_Selection):
    """Add one-sided geometric noise to each score and choose the largest, ties at random.

    Its law is that of `PermuteAndFlip`, exactly (see `discreet.mechanisms.choosing`); it is
    `TopK` with k = 1.
    Guarantee. If one person moves each score by at most `sensitivity`, the choice is
    epsilon-differentially private; the loss epsilon is met.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. Scores are integers or fractions and the sensitivity is a true bound; with
    monotone=True also that one person moves all scores in the same direction.
    Proof. Theorem 2 at the top of this module.
    Tested by tests/mechanisms/test_selection.py

    The arguments are those of `Exponential`.

    >>> NoisyMax(epsilon=1, monotone=True).release({"red": 3, "green": 900})
    'green'
    """


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TopK(_Selection):
    """Add one-sided geometric noise to each score, once, and name the k largest in order.

    Guarantee. If one person moves each score by at most `sensitivity`, the ordered answer is
    epsilon-differentially private; the loss epsilon is met where there are more than k candidates.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. Scores are integers or fractions and the sensitivity is a true bound; with
    monotone=True also that one person moves all scores in the same direction.
    Proof. Theorem 3 at the top of this module.
    Tested by tests/mechanisms/test_selection.py

    The arguments are those of `Exponential`, and k: how many candidates to name.

    >>> TopK(epsilon=1, k=2).release({"red": 3, "green": 9000, "blue": 4000})
    ['green', 'blue']
    """

    k: int

    def __init__(
        self,
        *,
        epsilon: Exact,
        k: int,
        sensitivity: Exact = 1,
        monotone: bool = False,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        _Selection.__init__(
            self,
            epsilon=epsilon,
            sensitivity=sensitivity,
            monotone=monotone,
            neighbours=neighbours,
        )
        object.__setattr__(self, "k", whole(k, name="k", at_least=1))

    def _said_first(self) -> list[str]:
        return [f"k={self.k}"]

    @property
    def _winners(self) -> int:
        return self.k

    def _read_enough(self, scores: Scores) -> Candidates:
        read = read_scores(scores)
        if not self.k <= len(read.names):
            raise ParameterError(
                "k", self.k, f"must be at most the number of candidates, which is {len(read.names)}"
            )
        return read

    def release(self, scores: Scores, *, source: Source | None = None) -> list[Any]:
        """The k chosen candidates in order: their indices, or their keys where scores is a dict.

        `source` is for tests; the default is the system's randomness.
        """
        read = self._read_enough(scores)
        supply = system_source() if source is None else source
        places = by_noise(read, self.rate, self.k, supply)
        return [read.names[place] for place in places]

    def law(self, value: Scores) -> Outcomes:
        """The exact law of `release(value)`, over ordered tuples of k indices or keys."""
        read = self._read_enough(value)
        if not perm(len(read.names), self.k) <= MOST_ORDERS:
            raise ParameterError(
                "k", self.k, f"has more than {MOST_ORDERS} ordered answers here, too many to list"
            )
        gaps, rate = read.exact_gaps(), self.rate / read.grid
        places = list(permutations(range(len(gaps)), self.k))
        names = [tuple(read.names[place] for place in order) for order in places]
        return Outcomes(names, lambda w: [order_mass(gaps, order, rate, w) for order in places])

    def expected_absolute_error(self, value: Scores) -> float:
        """E (sum of the k best scores - sum of the k chosen scores), from the exact law."""
        read = self._read_enough(value)
        law = self.law(value)
        gaps = read.exact_gaps()
        least = sum(sorted(gaps)[: self.k])
        shares = [
            law.mass_bounds(outcome) * (sum(order) - least)
            for outcome, order in zip(law.outcomes, permutations(gaps, self.k), strict=True)
        ]
        return float(sum(shares, Interval.of(0)) / read.grid)

    def error(self, confidence: Exact, candidates: int) -> Score:
        """As for one choice, but for all k at once: with at least this probability every chosen
        score is within the returned distance of the k-th best score.
        """
        return _Selection.error(self, confidence, candidates)

    def small_neighbours(self) -> Iterator[tuple[tuple[Score, ...], tuple[Score, ...]]]:
        """For k up to 2 as for one choice; beyond, k + 1 equal scores that move apart.

        The latter meet the loss epsilon, but they are not all there are.
        """
        if self.k <= 2:
            yield from _Selection.small_neighbours(self)
            return
        low = 0 if self.monotone else -1
        for down in range(self.k + 2):
            move = [low] * down + [1] * (self.k + 1 - down)
            yield self._scaled([0] * (self.k + 1)), self._scaled([0] * (self.k + 1), move)
