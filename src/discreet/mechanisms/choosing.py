"""Which candidates come first when each gets one-sided noise: exact draws and exact laws.

A candidate is known by its gap, an integer >= 0: how far its score lies behind the best one, whose
gap is 0. G is one-sided geometric, P(G >= d) = exp(-rate d) for integers d >= 0, so [G >= d] is a
coin of probability exp(-rate d); p_j is that coin's probability at the gap of candidate j.

Identity (the grid does not matter). If E is exponential with the same rate, floor(E) has the law
of G and is independent of the fractional part of E. So for integer scores s, ranking s_j + E_j is
ranking s_j + G_j, with ties settled by independent fractional parts of one continuous law, that
is, in uniformly random order. Hence the law of such a ranking depends on rate x gap only: writing
all scores on a finer grid changes nothing. (Neighbouring score vectors may need different common
denominators, and this is why the answer tells nothing of that.)

Identity (uniforms). U_j = exp(-rate (E_j - gap_j)) is uniform on (0, 1/p_j), and the largest noisy
score has the smallest U. So the first k in order are i_1, ..., i_k with probability

    the integral of p_(i_1) ... p_(i_k) times the product over the others of (1 - p_j u_k)

over 0 < u_1 < ... < u_k with u_m < 1/p_(i_m) and u_k < 1/p_j for the others.

Identity (coins; Ding and others 2021). For k = 1 put t = 1 - u: P(i first) is the integral over
0 < t < 1 of p_i times the product over j != i of (1 - p_j + p_j t). The coefficient of t^m in the
product is the chance that m of the other coins succeed, and t^m integrates to 1/(m + 1): flipping
all coins and choosing uniformly among the successes has the very same law. The first success in a
random order that is independent of the coins is uniform among the successes, so permute-and-flip
(McKenna and Sheldon 2020) has it as well.

Tested by tests/mechanisms/test_selection.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import groupby, pairwise
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Interval, exp
from discreet.mechanisms.base import kind_of
from discreet.noise.law import scaled_ends
from discreet.noise.reference import geometric_attempt, repeated
from discreet.noise.sampler import Sampler, one_sided
from discreet.noise.source import Source
from discreet.noise.table import CHUNK

__all__ = [
    "Candidates",
    "Gaps",
    "Score",
    "Scores",
    "arranged",
    "by_coins",
    "by_noise",
    "by_rejection",
    "first_masses",
    "order_mass",
    "read_scores",
    "softmax_masses",
    "times_one_minus",
]

Score = int | Fraction
Scores = Sequence[Score] | NDArray[Any] | Mapping[Any, Score]
"""Scores in a list, a tuple or an integer array (answered by index), or in a dict (by key)."""

Gaps = list[int] | NDArray[np.int64]
"""A list of Python integers of any size, or int64 below 2^62."""

LARGEST_GAP = 1 << 62
_MANY = 64
_SMALLEST_RATE = Fraction(1, 1 << 40)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores as read: the answers, and how far each lies behind the best in units of 1/grid."""

    names: Sequence[Hashable]
    gaps: Gaps
    grid: int

    def exact_gaps(self) -> list[int]:
        """The gaps as Python integers."""
        return self.gaps if isinstance(self.gaps, list) else self.gaps.tolist()


def read_scores(scores: Scores) -> Candidates:
    """Read scores of any allowed shape; what is refused is refused by its type or its length."""
    if isinstance(scores, Mapping):
        names: Sequence[Hashable] = list(scores)
        gaps, grid = _gaps_of(list(scores.values()))
        return Candidates(names, gaps, grid)
    if isinstance(scores, np.ndarray) and not isinstance(scores, np.ma.MaskedArray):
        steps = _gaps_of_array(scores)
        return Candidates(range(len(steps)), steps, 1)
    if not isinstance(scores, list | tuple):
        raise InputTypeError(
            "scores must be a list, a tuple, an integer array or a dict from candidates to scores, "
            f"not {type(scores).__qualname__}. Nothing was released"
        )
    gaps, grid = _gaps_of(scores)
    return Candidates(range(len(scores)), gaps, grid)


def _gaps_of(scores: Sequence[Any]) -> tuple[list[int], int]:
    kinds = set(map(type, scores))
    _check_count(len(scores))
    for kind in kinds:
        if issubclass(kind, bool) or not issubclass(kind, int | np.integer | Fraction):
            raise InputTypeError(_refusal(kind.__qualname__))
    grid = 1
    if any(issubclass(kind, Fraction) for kind in kinds):
        exact = [Fraction(int(score.numerator), int(score.denominator)) for score in scores]
        grid = lcm(*{score.denominator for score in exact})
        whole_scores = [score.numerator * (grid // score.denominator) for score in exact]
    else:
        whole_scores = list(map(int, scores)) if kinds != {int} else list(scores)
    best = max(whole_scores)
    return [best - score for score in whole_scores], grid


def _gaps_of_array(scores: NDArray[Any]) -> Gaps:
    if scores.dtype.kind not in "iu" or scores.ndim != 1:
        raise InputTypeError(_refusal(f"{kind_of(scores)} in {scores.ndim} dimensions"))
    _check_count(len(scores))
    best, worst = int(scores.max()), int(scores.min())
    if not best - worst < LARGEST_GAP:
        return [best - score for score in scores.tolist()]
    if scores.dtype == np.uint64:
        return (np.uint64(best) - scores).astype(np.int64)
    return best - scores.astype(np.int64, copy=False)


def _check_count(count: int) -> None:
    if not count >= 1:
        raise ParameterError("the number of candidates", count, "must be at least 1")


def _refusal(kind: str) -> str:
    return (
        f"scores must be integers or Fractions, one for each candidate, not {kind}. If they are "
        "floats, round them to a grid first and add one grid step to the sensitivity. "
        "Nothing was released"
    )


def arranged(gaps: Gaps, rate: Fraction) -> Gaps:
    """The gaps as numpy where that is faster and cannot overflow, else as Python integers.

    With a rate of at least 2^-40 the chance of a draw that reaches 2^62 is at most exp(-2^22),
    below 10^-1800000; the sampler then refuses (RangeError), whatever the scores are.
    """
    many = len(gaps) >= _MANY and rate >= _SMALLEST_RATE
    if isinstance(gaps, list):
        return np.array(gaps, dtype=np.int64) if many and max(gaps) < LARGEST_GAP else gaps
    return gaps if many else gaps.tolist()


class _Tableless(Sampler):
    """One-sided geometric draws by coins alone.

    For scores that are fractions: their common denominator depends on the private scores, and a
    table kept for it would tell a later caller which denominators there were.
    """

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate

    def one(self, source: Source) -> int:
        return repeated(lambda bits: geometric_attempt(self.rate, bits), source)

    def chunk(self, size: int, source: Source) -> NDArray[Any]:
        return np.array([self.one(source) for _ in range(size)], dtype=object)


def _prepared(read: Candidates, rate: Fraction) -> tuple[Gaps, Sampler]:
    """The gaps and the noise on them, for a rate per unit of score."""
    if read.grid == 1:
        return arranged(read.gaps, rate), one_sided(rate)
    return read.exact_gaps(), _Tableless(rate / read.grid)


def by_noise(read: Candidates, rate: Fraction, count: int, source: Source) -> list[int]:
    """The first `count` candidates by score plus geometric noise, ties in random order."""
    gaps, sampler = _prepared(read, rate)
    if isinstance(gaps, list):
        values = [sampler.one(source) - gap for gap in gaps]
        last = sorted(values, reverse=True)[count - 1]
        above = [place for place, value in enumerate(values) if value > last]
        tied: Sequence[int] = [place for place, value in enumerate(values) if value == last]
        return _ordered(above, tied, count, values.__getitem__, source)
    noisy = sampler.add(-gaps, source)
    bar = noisy.max() if count == 1 else np.partition(noisy, -count)[-count]
    above = np.flatnonzero(noisy > bar).tolist() if count > 1 else []
    tied = np.flatnonzero(noisy == bar)  # type: ignore[assignment]
    return _ordered(above, tied, count, noisy.__getitem__, source)


def _ordered(
    above: Iterable[int],
    tied: Sequence[int],
    count: int,
    value: Callable[[int], Any],
    source: Source,
) -> list[int]:
    """Those above the bar by falling value, then as many of those on it as are still wanted."""
    order: list[int] = []
    for _, group in groupby(sorted(above, key=value, reverse=True), key=value):
        members = list(group)
        order += _drawn(members, len(members), source)
    return order + _drawn(tied, count - len(order), source)


def _drawn(members: Sequence[int], count: int, source: Source) -> list[int]:
    """`count` of the members without replacement, all orders equally likely (Fisher and Yates)."""
    moved: dict[int, int] = {}
    order = []
    for place in range(count):
        other = place + source.below(len(members) - place)
        order.append(int(members[moved.get(other, other)]))
        moved[other] = moved.get(place, place)
    return order


def by_coins(read: Candidates, rate: Fraction, source: Source) -> int:
    """Flip a coin of probability p_j for each candidate; one of the successes, uniformly."""
    gaps, sampler = _prepared(read, rate)
    if isinstance(gaps, list):
        successes = [place for place, gap in enumerate(gaps) if sampler.one(source) >= gap]
        return successes[source.below(len(successes))]
    parts = []
    for start in range(0, len(gaps), CHUNK):
        piece = gaps[start : start + CHUNK]
        parts.append(start + np.flatnonzero(sampler.chunk(len(piece), source) >= piece))
    found = np.concatenate(parts)
    return int(found[source.below(len(found))])


def by_rejection(read: Candidates, rate: Fraction, source: Source) -> int:
    """Try candidates, uniform and independent; the first whose coin p_j succeeds.

    Law. Given that a try succeeds, it is candidate j with probability p_j/(p_1 + ... + p_n). Tries
    are made in batches; only the first success of the whole sequence counts.
    """
    gaps, sampler = _prepared(read, rate)
    if isinstance(gaps, list):
        while True:
            place = source.below(len(gaps))
            if sampler.one(source) >= gaps[place]:
                return place
    size = 256
    while True:
        tries = _uniform(size, len(gaps), source)
        if len(tries):
            successes = np.flatnonzero(sampler.chunk(len(tries), source) >= gaps[tries])
            if len(successes):
                return int(tries[successes[0]])
        size = min(2 * size, CHUNK)


def _uniform(size: int, n: int, source: Source) -> NDArray[np.int64]:
    """At most `size` independent integers uniform on 0 .. n - 1, for n >= 2."""
    words = source.array(size, 64) >> np.uint64(64 - (n - 1).bit_length())
    return words[words < n].astype(np.int64)


def softmax_masses(gaps: Sequence[int], rate: Fraction, w: int) -> list[Interval]:
    """p_j/(p_1 + ... + p_n) for every candidate."""
    coins = {gap: exp(-rate * gap, w) for gap in set(gaps)}
    total = sum((coins[gap] for gap in gaps), Interval.of(0))
    masses = {gap: (coin / total).rounded(w) for gap, coin in coins.items()}
    return [masses[gap] for gap in gaps]


def first_masses(gaps: Sequence[int], rate: Fraction, w: int) -> list[Interval]:
    """P(j first) for every candidate, by the identity of the coins.

    The polynomial has positive coefficients that add up to 1; it is held twice as integers in
    units of 2^-v, once with every step rounded down and once up.
    """
    v = w + 16 + 2 * len(gaps).bit_length()
    coins = {gap: exp(-rate * gap, v) for gap in set(gaps)}
    masses = {}
    for gap, coin in coins.items():
        others = list(gaps)
        others.remove(gap)
        ends = [scaled_ends(coins[other], v) for other in others]
        lower = reduce(lambda poly, p: _times(poly, p[0], (1 << v) - p[1], v, 0), ends, [1 << v])
        upper = reduce(
            lambda poly, p: _times(poly, p[1], (1 << v) - p[0], v, (1 << v) - 1), ends, [1 << v]
        )
        low = sum(c // (m + 1) for m, c in enumerate(lower))
        high = sum(-(-c // (m + 1)) for m, c in enumerate(upper))
        masses[gap] = (coin * Interval(Fraction(low, 1 << v), Fraction(high, 1 << v))).rounded(w)
    return [masses[gap] for gap in gaps]


def _times(poly: list[int], p: int, q: int, v: int, carry: int) -> list[int]:
    """Coefficients of poly x (q + p t) in units of 2^-v; `carry` makes the shift round up."""
    shifted = [0, *poly]
    return [(c * q + d * p + carry) >> v for c, d in zip([*poly, 0], shifted, strict=True)]


def order_mass(gaps: Sequence[int], chosen: Sequence[int], rate: Fraction, w: int) -> Interval:
    """P(the first ones are `chosen`, in this order), by the identity of the uniforms.

    The inner integrals are polynomials in u between the places 1/p of the chosen; the outermost
    ends at the nearest 1/p of the last chosen and of the others.
    """
    others = [gap for place, gap in enumerate(gaps) if place not in chosen]
    limits = [gaps[place] for place in chosen]
    end = min([limits[-1], *others])
    marks = sorted({gap for gap in limits if gap < end} | {end})
    ends = [Interval.of(0), *(exp(rate * gap, w) for gap in marks)]
    cells = list(zip(marks, pairwise(ends), strict=True))
    pieces: list[list[Interval]] = [[Interval.of(1)] for _ in cells]
    for limit in limits[:-1]:
        pieces = _integrated(pieces, cells, limit)
    coins = [exp(-rate * gap, w) for gap in others]
    pieces = [reduce(times_one_minus, coins, piece) for piece in pieces]
    total = _at(_integrated(pieces, cells, end)[-1], ends[-1])
    return (prod((exp(-rate * gap, w) for gap in limits), start=Interval.of(1)) * total).rounded(w)


Cell = tuple[int, tuple[Interval, Interval]]


def _integrated(
    pieces: list[list[Interval]], cells: list[Cell], limit: int
) -> list[list[Interval]]:
    """The integral from 0 to the lesser of u and the place of `limit`, cell by cell."""
    done, total = [], Interval.of(0)
    for piece, (mark, (low, high)) in zip(pieces, cells, strict=True):
        if mark > limit:
            done.append([total])
            continue
        raised = [Interval.of(0), *(c / (m + 1) for m, c in enumerate(piece))]
        raised[0] = total - _at(raised, low)
        total = _at(raised, high)
        done.append(raised)
    return done


def times_one_minus(poly: list[Interval], p: Interval) -> list[Interval]:
    """Coefficients of poly x (1 - p u)."""
    zero = Interval.of(0)
    return [c - p * d for c, d in zip([*poly, zero], [zero, *poly], strict=True)]


def _at(poly: list[Interval], u: Interval) -> Interval:
    return reduce(lambda value, c: value * u + c, reversed(poly), Interval.of(0))
