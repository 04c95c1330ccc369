"""The sparse vector: which counts of a stream are the first at or above a public threshold.

Negative answers are free; only the c positive ones are paid for. One noise rho is drawn for the
whole stream and a fresh nu_i for each count q_i; the answer is positive iff
q_i + nu_i >= T + rho, and after c positive answers the stream ends.

Both noises are one-sided geometric: rho of rate e1/D and nu of rate e2/(2cD), where D is the
sensitivity and e1 + e2 = epsilon; e2/(cD) for monotone counts.

Theorem (after Dwork and Roth 2014, Lyu, Su and Li 2017). The answers are epsilon-private.
Proof. Fix the answers, with at most c positive ones, and a neighbour q' with |q_i - q'_i| <= D.
Given rho the answers are independent, so their probability is the sum over z >= 0 of P(rho = z),
times P(nu < T + z - q_i) for each negative i, times P(nu >= T + z - q_i) for each positive i.
Compare the term z for q with the term z + D for q'.

* P(rho = z + D) = exp(-e1) P(rho = z), and z + D is in the support because z is.
* Negative: T + z + D - q'_i >= T + z - q_i, so the chance for q' is at least that for q.
* Positive: T + z + D - q'_i <= T + z - q_i + 2D, and P(nu >= y + d) >= exp(-d e2/(2cD)) P(nu >= y)
  for all integers y and d >= 0 (equality for y >= 0; for y < 0 the right side is exp(-d e2/(2cD))
  and the left side is 1 or exp(-(y + d) e2/(2cD))). So it costs at most exp(-e2/c), c times.

Different z have different z + D, so the whole sum falls by at most exp(-e1 - e2).
Monotone, rate e2/(cD). If the counts rise, q'_i >= q_i, take z + D again: then
T + z + D - q'_i <= T + z - q_i + D, so a positive answer costs e2/c and all cost e1 + e2. If they
fall, take the same z: negative answers only gain, a positive one costs e2/c, and rho costs nothing.

Only upward shifts were used, so one-sided noise will do; it has half the variance of two-sided
noise of the same rate. The bound is met: with negative answers to counts that equal T (impossible
for rho = 0) and positive ones to counts of at most T + 1, all inequalities above are equalities
when the former rise by D and the latter fall by D (monotone: stay).

The noises do not have mean 0, so T is the asked threshold plus the difference of their means,
rounded: a public constant. The split e1 : e2 = 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone counts,
minimises the variance of nu - rho in the limit of small epsilon (Lyu, Su and Li); any split with
this sum is private, so it is rounded to hundredths.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from math import comb
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError, StreamEndedError, UnsupportedError
from discreet.exact import Exact, Interval, exp, probability, whole, written
from discreet.mechanisms.base import PureMechanism, integer, integer_array, plain_array
from discreet.mechanisms.choosing import times_one_minus
from discreet.mechanisms.selection import monotone_of
from discreet.noise.geometric import Geometric
from discreet.noise.law import Outcomes, smallest
from discreet.noise.sampler import Sampler, one_sided
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of
from discreet.remembered import remembered

__all__ = ["AboveThreshold", "Stream"]

MOST_TRANSCRIPTS = 5000
"""The largest number of possible answers that `law` lists."""

Counts = Sequence[int] | NDArray[Any]
Answers = tuple[bool, ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AboveThreshold(PureMechanism):
    """Say which counts of a stream are the first at or above a threshold, then stop.

    Guarantee. If one person moves each count by at most `sensitivity`, all answers together are
    epsilon-differentially private, however many counts there are; they may be chosen one by one
    after seeing the answers before. The loss epsilon is met.
    Neighbours. As said in `neighbours`; the sensitivity must hold under that relation.
    Assumes. Counts are integers and the sensitivity is a true bound; with monotone=True also that
    one person moves all counts of the stream in the same direction.
    Proof. At the top of this module.
    Tested by tests/mechanisms/test_sparse.py

    Args:
        epsilon: the privacy parameter, exact as typed, for the whole stream.
        threshold: a public whole number.
        answers: after how many positive answers the stream ends.
        sensitivity: how far one person can move one count.
        monotone: whether one person moves all counts in the same direction.
        neighbours: "add_or_remove" or "replace"; monotone counts cannot be had with "replace".

    >>> mechanism = AboveThreshold(epsilon=1, threshold=1000)
    >>> mechanism.release([3, 40, 9000, 8000])
    [2]
    >>> mechanism.threshold_epsilon + mechanism.count_epsilon
    Fraction(1, 1)
    """

    epsilon: Fraction
    threshold: int
    answers: int
    sensitivity: int
    monotone: bool
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Exact,
        threshold: int,
        answers: int = 1,
        sensitivity: Exact = 1,
        monotone: bool = False,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "threshold", whole(threshold, name="threshold"))
        put(self, "answers", whole(answers, name="answers", at_least=1, at_most=1 << 30))
        put(self, "sensitivity", whole(sensitivity, name="sensitivity", at_least=1))
        put(self, "neighbours", neighbours_of(neighbours))
        put(self, "monotone", monotone_of(monotone, self.neighbours))

    def __repr__(self) -> str:
        said = [f"epsilon={written(self.epsilon)}", f"threshold={self.threshold}"]
        said += [f"answers={self.answers}", f"sensitivity={self.sensitivity}"]
        said += ["monotone=True"] if self.monotone else []
        return f"AboveThreshold({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    @property
    def threshold_epsilon(self) -> Fraction:
        """The part e1 of epsilon that the noise on the threshold takes."""
        return self.epsilon * _share(self._reach)

    @property
    def _reach(self) -> int:
        """How many times the noise on the counts is moved by the sensitivity in the proof."""
        return self.answers if self.monotone else 2 * self.answers

    @property
    def count_epsilon(self) -> Fraction:
        """The part e2 of epsilon that the noise on the counts takes."""
        return self.epsilon - self.threshold_epsilon

    @property
    def threshold_law(self) -> Geometric:
        """The law of rho."""
        return Geometric(self.threshold_epsilon / self.sensitivity)

    @property
    def count_law(self) -> Geometric:
        """The law of nu."""
        return Geometric(self.count_epsilon / (self._reach * self.sensitivity))

    @property
    def centre(self) -> int:
        """The difference of the means of nu and rho, rounded: what is added to the threshold."""
        return _difference_of_means(self.count_law, self.threshold_law)

    def stream(self, *, source: Source | None = None) -> Stream:
        """A stream to be asked one count at a time; `source` is for tests."""
        supply = system_source() if source is None else source
        bar = self.threshold + self.centre + one_sided(self.threshold_law.rate).one(supply)
        return Stream(bar, self.answers, one_sided(self.count_law.rate), source)

    def release(self, counts: Counts, *, source: Source | None = None) -> list[int]:
        """The indices of the first counts found at or above the threshold, at most `answers`.

        `source` is for tests; the default is the system's randomness.
        """
        return self.stream(source=source)._indices(_read(counts))  # noqa: SLF001

    def law(self, value: Counts) -> Outcomes:
        """The exact law of the answers to these counts, over tuples of booleans.

        A tuple ends with its last positive answer if that is the last one allowed, so that the
        tuple and the indices that `release` returns say the same. The sum over rho is taken in
        closed form: between the places where a count is certain to be positive, every term is a
        polynomial in exp(-rate z).
        """
        counts = list(map(int, _read(value)))
        known = sum(comb(len(counts), j) for j in range(min(self.answers, len(counts)) + 1))
        if not known <= MOST_TRANSCRIPTS:
            problem = f"have more than {MOST_TRANSCRIPTS} possible answers, too many to list"
            raise ParameterError("counts", f"{len(counts)} of them", problem)
        leads = [count - self.threshold - self.centre for count in counts]
        transcripts = list(_transcripts(len(counts), self.answers))
        rates = self.threshold_law.rate, self.count_law.rate
        return Outcomes(transcripts, lambda w: [_mass(leads, t, *rates, w) for t in transcripts])

    def error(self, confidence: Exact, questions: int) -> int:
        """The smallest g for which, with at least this probability, no count above threshold + g
        gets a negative answer and no count below threshold - g a positive one, among this many.

        Bound. With s = `centre`, a negative answer above threshold + g needs nu < rho + s - g - 1,
        so rho >= g + 2 - s: one event for all questions. A positive one below threshold - g needs
        nu >= rho + y with y = g + 1 + s, which has the chance E[b^rho] b^y = b^y (1-a)/(1-ab) for
        y >= 0, a and b the ratios of rho and nu; add up over the questions. g is the smallest at
        which these two together are certainly at most 1 - confidence.
        """
        allowed = 1 - probability(confidence, name="confidence")
        number = whole(questions, name="questions", at_least=1)
        rho, nu, s = self.threshold_law.rate, self.count_law.rate, self.centre
        share = (1 - exp(-rho, 96)) / (1 - exp(-rho - nu, 96))

        def within(g: int) -> bool:
            if g < 0 or g + 1 + s < 0:
                return False
            late = exp(-rho * max(g + 2 - s, 0), 96)
            early = exp(-nu * (g + 1 + s), 96) * share
            return (late + early * number).upper <= allowed

        return smallest(within, start=0)

    def small_neighbours(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Streams of c + 1 counts (at least 2), beside the shifted threshold, and all moves.

        Moves are by -D, 0 or D (monotone: 0 or D). Beyond three counts only the pair that meets
        the loss epsilon and its reverse are given.
        """
        at, step = self.threshold + self.centre, self.sensitivity
        moves = (0, step) if self.monotone else (-step, 0, step)
        length = self.answers + 1
        bases = product((at - 1, at, at + 1), repeat=length) if length <= 3 else [(at,) * length]
        for base in bases:
            for move in product(moves, repeat=length) if length <= 3 else self._worst_moves():
                yield base, tuple(b + m for b, m in zip(base, move, strict=True))

    def _worst_moves(self) -> list[tuple[int, ...]]:
        low = 0 if self.monotone else -self.sensitivity
        return [(self.sensitivity, *[low] * self.answers)]


class Stream:
    """The answers of one sparse vector, one at a time. Made by `AboveThreshold.stream`.

    It keeps its noisy threshold to itself, serves one question at a time, and can be neither
    copied nor stored: a copy would give its answers twice. For the same reason it has ended in a
    process that was forked from the one that opened it.
    """

    __slots__ = ("__bar", "__left", "__lock", "__process", "__sampler", "__source")

    def __init__(self, bar: int, answers: int, sampler: Sampler, source: Source | None) -> None:
        self.__bar = bar
        self.__left = answers
        self.__sampler = sampler
        self.__source = source
        self.__lock = Lock()
        self.__process = os.getpid()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a stream is not copied or stored: a copy could answer twice")

    @property
    def left(self) -> int:
        """How many positive answers can still be given here."""
        return self.__left if self.__process == os.getpid() else 0

    def ask(self, count: int) -> bool:
        """Whether this count is at or above the threshold, up to the noise.

        After the last positive answer: StreamEndedError.
        """
        value = integer(count)
        with self.__lock:
            if not self.left > 0:
                raise StreamEndedError(
                    "this stream has given all its positive answers, or was opened by another "
                    "process; nothing was released. Open a new stream with a budget of its own, "
                    "or declare more answers"
                )
            source = system_source() if self.__source is None else self.__source
            positive = value + self.__sampler.one(source) >= self.__bar
            self.__left -= positive
            return positive

    def _indices(self, counts: Counts) -> list[int]:
        """The places of the positive answers to these counts, until the stream ends."""
        if isinstance(counts, np.ndarray) and self.__fits(counts):
            return self.__indices_of_array(counts)
        found: list[int] = []
        for place, count in enumerate(counts):
            if not self.left > 0:
                break
            if self.ask(count):
                found.append(place)
        return found

    def __fits(self, counts: NDArray[Any]) -> bool:
        half = 1 << 61
        low, high = (int(counts.min()), int(counts.max())) if counts.size else (0, 0)
        return -half < low <= high < half and -half < self.__bar < half

    def __indices_of_array(self, counts: NDArray[Any]) -> list[int]:
        source = system_source() if self.__source is None else self.__source
        found: list[int] = []
        with self.__lock:
            for start in range(0, len(counts), CHUNK):
                piece = counts[start : start + CHUNK]
                noise = self.__sampler.chunk(len(piece), source)
                places = np.flatnonzero(noise >= self.__bar - piece)[: self.__left]
                self.__left -= len(places)
                found += (start + places).tolist()
                if not self.__left > 0:
                    break
        return found


def _read(counts: Counts) -> Counts:
    """Integers in a list or an int64 array; what is refused is refused by its type alone."""
    if isinstance(counts, np.ndarray) and counts.ndim == 1:
        counts = plain_array(counts)
        return counts.tolist() if counts.dtype == np.uint64 else integer_array(counts)
    if isinstance(counts, list | tuple):
        return [integer(count) for count in counts]
    raise InputTypeError(
        "counts must be a list, a tuple or an integer array of one dimension, "
        f"not {type(counts).__qualname__}. Nothing was released"
    )


def _transcripts(length: int, answers: int) -> Iterator[Answers]:
    """All possible answers to `length` counts; they end with the last positive one allowed."""
    if length == 0 or answers == 0:
        yield ()
        return
    for first in (False, True):
        for rest in _transcripts(length - 1, answers - first):
            yield (first, *rest)


def _mass(leads: Sequence[int], answers: Answers, rho: Fraction, nu: Fraction, w: int) -> Interval:
    """P(these answers) where count i leads the shifted threshold by leads[i].

    With x = exp(-rho), b = exp(-nu): the sum over z >= 0 of (1 - x) x^z times the chances of the
    answers, which for z > lead are 1 - b^(z - lead) and b^(z - lead), and for z <= lead 0 and 1.
    """
    asked = list(zip(leads, answers, strict=False))
    first = max([0, *(lead + 1 for lead, positive in asked if not positive)])
    marks = [first, *sorted({lead + 1 for lead, _ in asked if lead + 1 > first})]
    total = Interval.of(0)
    for start, stop in zip(marks, [*marks[1:], None], strict=True):
        near = [(lead, positive) for lead, positive in asked if lead < start]
        positives = sum(positive for _, positive in near)
        distance = sum(start - lead for lead, positive in near if positive)
        height = exp(-rho * start - nu * distance, w)  # a bound of this part of the sum
        if height.lower == 0:  # below all precision
            total = total + Interval(Fraction(0), height.upper)
            continue
        misses = [exp(-nu * (start - lead), w) for lead, positive in near if not positive]
        terms = None if stop is None else stop - start
        poly = reduce(times_one_minus, misses, [Interval.of(1)])
        series = [
            coefficient * _geometric_sum(rho + nu * (positives + m), terms, w)
            for m, coefficient in enumerate(poly)
        ]
        total = total + (1 - exp(-rho, w)) * height * sum(series, Interval.of(0))
    return total.rounded(w)


def _geometric_sum(rate: Fraction, terms: int | None, w: int) -> Interval:
    """1 + r + r^2 + ... with r = exp(-rate): that many terms, or all of them."""
    whole_sum = 1 / (1 - exp(-rate, w))
    return whole_sum if terms is None else whole_sum * (1 - exp(-rate * terms, w))


@remembered(256)
def _difference_of_means(first: Geometric, second: Geometric) -> int:
    """The mean of the first less that of the second, rounded."""
    difference = first.mean_bounds() - second.mean_bounds()
    return round((difference.lower + difference.upper) / 2)


@remembered(256)
def _share(reach: int) -> Fraction:
    """The threshold's share 1/(1 + reach^(2/3)) of epsilon, the power rounded to hundredths."""

    def above(root: int) -> bool:
        return root**3 > reach**2 * 100**3

    hundredths = smallest(above, start=1) - 1
    return Fraction(100, 100 + hundredths)
