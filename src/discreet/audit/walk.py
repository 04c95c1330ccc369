"""The exact law of sampler code, found by walking the tree of its random choices.

No sample is drawn. The code under audit is run again and again on a scripted source; wherever it
asks for randomness that the script does not hold yet, the run is stopped and one branch per
outcome is put on a list, with its probability as a certified interval. The heaviest branch is
taken next. What has not been resolved when the walk stops is a number, and bounds everything.

A sampler that works by rejection is given as *one attempt*, which returns None for "rejected, try
again"; repeating independent attempts until one is accepted gives each outcome its weight divided
by the weight of acceptance, so the loop itself need not be expanded.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Interval, exp
from discreet.noise.source import ReplayedSource, Source, Width
from discreet.noise.table import Inversion

__all__ = ["ATOMS", "Walk", "walk", "walk_table"]

_BITS = 192
_WIDEST = 1 << 16

ATOMS = ("below", "flip", "flip_exp")


class _UnseenChoiceError(Exception):
    """The script ends here; these are the probabilities of the outcomes."""

    def __init__(self, weights: Sequence[Interval]) -> None:
        super().__init__("the script ends here")
        self.weights = weights


class _Scripted(Source):
    """Answers from a script of outcome numbers, and stops the run where the script ends.

    `atoms` are the coins taken as single choices; the others are left to their own code, and so
    are walked through as well.
    """

    def __init__(self, script: Sequence[int], atoms: frozenset[str]) -> None:
        self._script = script
        self._atoms = atoms
        self._place = 0

    def _choose(self, weights: Callable[[], Sequence[Interval]]) -> int:
        if self._place == len(self._script):
            raise _UnseenChoiceError(weights())
        self._place += 1
        return self._script[self._place - 1]

    def bits(self, count: int) -> int:
        return self._choose(lambda: _uniform(1 << count))

    def below(self, n: int) -> int:
        if "below" not in self._atoms:
            return super().below(n)
        return self._choose(lambda: _uniform(n))

    def flip(self, p: Fraction) -> bool:
        if "flip" not in self._atoms:
            return super().flip(p)
        return bool(self._choose(lambda: [Interval.of(1 - p), Interval.of(p)]))

    def flip_exp(self, x: Fraction) -> bool:
        if "flip_exp" not in self._atoms:
            return super().flip_exp(x)
        return bool(self._choose(lambda: [1 - exp(-x, _BITS), exp(-x, _BITS)]))

    def array(self, size: int, width: Width) -> NDArray[Any]:
        return np.array([self.bits(width) for _ in range(size)], dtype=f"uint{width}")


def _uniform(n: int) -> list[Interval]:
    if n > _WIDEST:
        raise ParameterError("choices", n, f"of one step must be at most {_WIDEST} to be walked")
    return [Interval.of(Fraction(1, n))] * n


def _short(weight: Interval) -> Interval:
    """The weight itself while it is an exact short fraction, else rounded outward."""
    exact = weight.lower == weight.upper and weight.lower.denominator.bit_length() <= _BITS
    return weight if exact else weight.rounded(_BITS)


@dataclass(frozen=True)
class Walk:
    """What a walk found: certified weights, and the mass that was left open."""

    weights: dict[Hashable, Interval]
    rejected: Interval
    unresolved: Fraction
    runs: int
    accepted: Interval = field(init=False)

    def __post_init__(self) -> None:
        total = sum(self.weights.values(), Interval.of(0))
        object.__setattr__(self, "accepted", total)

    def mass_bounds(self, outcome: Hashable) -> Interval:
        """Enclose the probability of an outcome, given acceptance."""
        weight = self.weights.get(outcome, Interval.of(0))
        if self.accepted.lower == 0:
            return Interval(Fraction(0), Fraction(1))  # nothing is known yet
        low = weight.lower / (self.accepted.upper + self.unresolved)
        return Interval(
            low, min((weight.upper + self.unresolved) / self.accepted.lower, Fraction(1))
        )

    def agrees_with(self, outcome: Hashable, mass: Interval) -> bool:
        """Whether a stated mass can be the true one."""
        found = self.mass_bounds(outcome)
        return mass.lower <= found.upper and found.lower <= mass.upper


def walk(
    sampler: Callable[[Source], Hashable],
    *,
    atoms: Sequence[str] = ATOMS,
    unresolved: Fraction = Fraction(1, 10**12),
    runs: int = 200_000,
) -> Walk:
    """Walk the choices of `sampler` until at most `unresolved` of the mass is open.

    Args:
        sampler: takes a source, returns an outcome, or None for a rejected attempt.
        atoms: which of "below", "flip" and "flip_exp" to take as single, already proved choices.
        unresolved: the mass at which to stop.
        runs: the number of runs at which to stop in any case.

    >>> found = walk(lambda source: source.below(3), atoms=())
    >>> found.agrees_with(0, Interval.of(Fraction(1, 3)))
    True
    """
    chosen = frozenset(atoms)
    open_mass, count, order = Fraction(1), 0, 0
    weights: dict[Hashable, Interval] = {}
    rejected = Interval.of(0)
    waiting: list[tuple[Fraction, int, tuple[int, ...], Interval]] = []
    heapq.heappush(waiting, (Fraction(-1), 0, (), Interval.of(1)))
    while waiting and open_mass > unresolved and count < runs:
        _, _, script, weight = heapq.heappop(waiting)
        count += 1
        try:
            outcome = sampler(_Scripted(script, chosen))
        except _UnseenChoiceError as choice:
            for place, share in enumerate(choice.weights):
                if share.upper > 0:
                    order += 1
                    branch = _short(weight * share)
                    heapq.heappush(waiting, (-branch.upper, order, (*script, place), branch))
            continue
        open_mass -= weight.lower
        if outcome is None:
            rejected = rejected + weight
        else:
            weights[outcome] = weights.get(outcome, Interval.of(0)) + weight
    return Walk(weights, rejected, max(open_mass, Fraction(0)), count)


def walk_table(table: Inversion) -> Walk:
    """The exact law of a table of 64-bit words, as its own code reads them.

    A word is looked up in the guide, and where that is marked it is compared with the thresholds.
    Every cell of the guide is checked against the thresholds; between two neighbouring ones all
    words then have one answer, and the first and the last word of every such stretch are handed to
    the code, one at a time and as an array. A word that equals a threshold is left open: that is
    all that the walk leaves open.
    """
    _check_guide(table)
    marks = sorted({-1, *table.thresholds, 1 << table.word})
    weights: dict[Hashable, Interval] = {}
    runs = 0
    for start, stop in pairwise(marks):
        first, last = start + 1, stop - 1
        if first > last:
            continue
        answers = {read for word in (first, last) for read in _both_ways(table, word)}
        runs += 4
        if len(answers) != 1:
            raise ArithmeticError(f"the words {first} to {last} do not have one answer")
        share = Interval.of(Fraction(last - first + 1, 1 << table.word))
        (answer,) = answers
        weights[answer] = weights.get(answer, Interval.of(0)) + share
    ties = len(set(table.thresholds))
    return Walk(weights, Interval.of(0), Fraction(ties, 1 << table.word), runs)


def _check_guide(table: Inversion) -> None:
    """That an unmarked cell holds no threshold, and has the answer of its first word."""
    thresholds = np.array(table.thresholds, dtype=np.uint64)
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    below = np.searchsorted(thresholds, starts, side="left")
    until = np.searchsorted(thresholds, starts | np.uint64((1 << 48) - 1), side="right")
    wrong = (below != until) | (table.answers != table.first + below)
    if np.any(wrong & (table.answers != table.marked)):
        raise ArithmeticError("a cell of the guide has another answer than its words")


def _both_ways(table: Inversion, word: int) -> tuple[int, int]:
    """The answer to one word by `one`, and by `chunk`, which reads 16 bits and then the others."""
    rest = word << 16 & (1 << 64) - 1
    marked = int(table.answers[word >> 48]) == table.marked
    pieces = [word >> 48, rest] if marked else [word >> 48]
    return table.one(ReplayedSource([word])), int(table.chunk(1, ReplayedSource(pieces))[0])
