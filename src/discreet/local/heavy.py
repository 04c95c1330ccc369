"""Frequent strings that nobody listed: prefixes are grown level by level (PEM).

Prefix extending (Wang, Li and Jha 2018). People are split into groups, without looking at their
values. The first group is asked which of all short prefixes its values have; the most frequent
ones are extended by some bits, and the next group is asked which of these extensions it has; and so
on, until whole values have been asked for. Everybody answers one question, once.

Theorem. A report is epsilon-differentially private, and a value that nobody holds is found with
probability at most alpha, over all such values together.
Proof. What a group is asked depends on other groups' reports only, so each person sends one report
of an epsilon-private oracle. In the last group, a candidate v that nobody holds is supported by
each report with probability q exactly, independently, so its count is Bin(n, q), and v is accepted
only if that many have probability at most alpha/candidates. The candidates do not depend on this
group.

An earlier level keeps the best of those that pass the same test, at most twice as many as are
wanted. The oracle is k-ary randomized response, whose variance grows with the number of candidates;
any frequency oracle of `dp.local` whose reports support values independently of all others can be
handed in (`Asked` makes it a question), and anything else with probabilities p and q of support.

Tested by tests/local/test_heavy.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, probability, whole
from discreet.local.oracle import Oracle
from discreet.mechanisms.response import MOST_CATEGORIES, RandomizedResponse
from discreet.noise.bulk import uniforms
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import PureDP, epsilon_of

__all__ = ["Asked", "Found", "HeavyHitters", "Level", "Question", "Search", "accepted"]

LARGEST_CAPACITY = 1 << 20
_ORDERS = 1 << 62


class Question(Protocol):
    """A frequency oracle over the places 0 .. k-1, as `discreet.local` understands it."""

    p: Fraction
    """The probability that a report supports the true place."""
    q: Fraction
    """The probability that a report supports any one other place."""

    def reports(self, places: NDArray[Any], *, source: Source | None = None) -> NDArray[Any]:
        """One randomised report for each place."""

    def supports(self, reports: NDArray[Any]) -> NDArray[Any]:
        """How many reports support each place."""


class _Kary:
    """k-ary randomized response as an oracle: a report supports the place that it names."""

    def __init__(self, k: int, epsilon: Fraction) -> None:
        self._coins = RandomizedResponse(epsilon=epsilon, categories=range(k))
        self.p, self.q = self._coins.kernel[0][0], self._coins.kernel[0][1]
        self._k = k

    def reports(self, places: NDArray[Any], *, source: Source | None = None) -> NDArray[Any]:
        return self._coins.release(places, source=source)

    def supports(self, reports: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(reports, minlength=self._k)


class Asked:
    """A frequency oracle of `dp.local` as a question: its places are the candidates.

    Refused is an oracle whose reports also count against values (Hadamard response in blocks) or
    whose supports collide (sketches): then the count of a value that nobody holds is not binomial
    with q, and nothing could be said of false finds.
    """

    def __init__(self, oracle: Oracle) -> None:
        _, against = oracle.supports(np.zeros(oracle.cells, dtype=np.int64))
        if against is not None or oracle.bias > 0:
            problem = "must support values with probabilities p and q exactly"
            raise ParameterError("oracle", type(oracle).__name__, problem)
        self.oracle, self.p, self.q = oracle, oracle.p, oracle.q

    def reports(self, places: NDArray[Any], *, source: Source | None = None) -> NDArray[Any]:
        """One randomised report for each place."""
        return self.oracle.reports(places, source=source)

    def supports(self, reports: NDArray[Any]) -> NDArray[Any]:
        """How many reports support each place."""
        return self.oracle.supports(self.oracle.tally(reports))[0]


@dataclass(frozen=True, slots=True)
class Found:
    """A frequent value with its estimated share; of those that were chosen, shares run high."""

    value: Any
    share: float
    standard_error: float


@dataclass(frozen=True)
class Level:
    """What one group is asked: which of these prefixes of `length` bits, or none of them."""

    number: int
    length: int
    candidates: tuple[int, ...]
    question: Question = field(repr=False, compare=False)

    def reports(
        self, values: Sequence[int | None], *, bits: int, source: Source | None = None
    ) -> NDArray[Any]:
        """The group's randomised reports; None stands for a value that is too long to be asked."""
        places = {prefix: place for place, prefix in enumerate(self.candidates)}
        none, cut = len(self.candidates), bits - self.length
        found = [none if v is None else places.get(v >> cut, none) for v in values]
        return self.question.reports(np.array(found, dtype=np.int64), source=source)


class Search:
    """What a search for frequent values is told, and how values become bits."""

    def __init__(
        self,
        *,
        epsilon: Exact,
        max_bytes: Exact | None,
        bits: Exact | None,
        alpha: Exact,
    ) -> None:
        if (max_bytes is None) == (bits is None):
            raise ParameterError(
                "the values", None, "must be texts (max_bytes=) or integers (bits=)"
            )
        self.epsilon = epsilon_of(epsilon)
        self.texts = max_bytes is not None
        size = max_bytes if max_bytes is not None else bits
        name = "max_bytes" if self.texts else "bits"
        self.bits = whole(size, name=name, at_least=1, at_most=256) * (8 if self.texts else 1)
        self.alpha = probability(alpha, name="alpha")

    @property
    def guarantee(self) -> PureDP:
        """What is promised to each person."""
        return PureDP(self.epsilon, "replace")

    @staticmethod
    def mixed(values: Sequence[Any], source: Source | None = None) -> list[Any]:
        """People in random order, so that no order of the list decides who is in which group."""
        drawn = uniforms(_ORDERS, len(values), source if source is not None else system_source())
        return [values[place] for place in np.argsort(drawn, kind="stable").tolist()]

    def encode(self, value: Any) -> int | None:
        """A value as an integer of `bits` bits; None for a text that is too long."""
        if self.texts:
            if not isinstance(value, str):
                raise InputTypeError("a text is needed here; nothing was released")
            try:
                data = value.encode()
            except UnicodeEncodeError:  # its words would quote the text
                raise InputTypeError(
                    "a text that UTF-8 can write is needed here; nothing was released"
                ) from None
            fits = len(data) * 8 <= self.bits and not data.endswith(b"\0")
            return int.from_bytes(data.ljust(self.bits // 8, b"\0"), "big") if fits else None
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise InputTypeError("an integer is needed here; nothing was released")
        return int(value) if 0 <= value < 1 << self.bits else None

    def decode(self, code: int) -> Any:
        """The value of an integer: what `encode` undoes. Bytes that are no text stay bytes."""
        if not self.texts:
            return code
        data = code.to_bytes(self.bits // 8, "big").rstrip(b"\0")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data


class HeavyHitters(Search):
    """Find the most frequent texts (or integers) of a group without a list of them.

    Guarantee. Each person sends one report, which is epsilon-differentially private. A value that
    nobody holds is found with probability at most `alpha`.
    Neighbours. "replace": a person's value is replaced by any other.
    Assumes. Groups are formed without looking at the values; each person answers once.
    Proof. At the top of this module.
    Tested by tests/local/test_heavy.py

    >>> search = HeavyHitters(epsilon=4, max_bytes=4, top=8)
    >>> search.lengths[0], search.lengths[-1], search.groups
    (7, 32, 10)
    """

    def __init__(
        self,
        *,
        epsilon: Exact,
        top: Exact,
        max_bytes: Exact | None = None,
        bits: Exact | None = None,
        alpha: Exact = "0.05",
        oracle: tuple[int, Callable[[int, Fraction], Question | Oracle]] | None = None,
    ) -> None:
        super().__init__(epsilon=epsilon, max_bytes=max_bytes, bits=bits, alpha=alpha)
        self._capacity, self._make = oracle if oracle is not None else (MOST_CATEGORIES - 1, _Kary)
        most = min(whole(self._capacity, name="capacity", at_least=4), LARGEST_CAPACITY)
        self.top = whole(top, name="top", at_least=1, at_most=most // 4)
        self.lengths = _lengths(self.bits, 2 * self.top, most)

    @property
    def groups(self) -> int:
        """Into how many groups the people are split."""
        return len(self.lengths)

    def start(self) -> Level:
        """The first question: all short prefixes."""
        return self._level(0, tuple(range(1 << self.lengths[0])))

    def _level(self, number: int, candidates: tuple[int, ...]) -> Level:
        made = self._make(len(candidates) + 1, self.epsilon)
        question = Asked(made) if isinstance(made, Oracle) else made
        return Level(number, self.lengths[number], candidates, question)

    def grow(self, level: Level, reports: NDArray[Any]) -> Level | None:
        """The next question, from a group's reports; None where no prefix stands out."""
        best = self._accepted(level, reports)[: 2 * self.top]
        if not best or level.number + 1 == self.groups:
            return None
        step = self.lengths[level.number + 1] - level.length
        grown = ((prefix << step) + tail for prefix, _, _ in best for tail in range(1 << step))
        return self._level(level.number + 1, tuple(sorted(grown)))

    def finish(self, level: Level, reports: NDArray[Any]) -> list[Found]:
        """The frequent values, from the last group's reports; the most frequent first."""
        if level.length != self.bits:
            raise ParameterError("level", level.number, "must be the last one")
        accepted = self._accepted(level, reports)[: self.top]
        return [Found(self.decode(code), share, error) for code, share, error in accepted]

    def _accepted(self, level: Level, reports: NDArray[Any]) -> list[tuple[int, float, float]]:
        """Prefix, share and standard error of those whose support is no accident."""
        question = level.question
        counts = question.supports(reports)[: len(level.candidates)]
        return accepted(level.candidates, counts, len(reports), question.p, question.q, self.alpha)

    def find(self, values: Sequence[Any], *, source: Source | None = None) -> list[Found]:
        """The whole search among people whose values are at hand; groups are drawn at random."""
        codes = self.mixed([self.encode(value) for value in values], source)
        level: Level | None = self.start()
        while level is not None:
            group = codes[level.number :: self.groups]
            reports = level.reports(group, bits=self.bits, source=source)
            if level.length == self.bits:
                return self.finish(level, reports)
            level = self.grow(level, reports)
        return []


def accepted(
    candidates: Sequence[int],
    counts: NDArray[Any],
    n: int,
    p: Fraction,
    q: Fraction,
    alpha: Fraction,
) -> list[tuple[int, float, float]]:
    """Candidate, share and standard error of those whose support is no accident, best first.

    A candidate that nobody holds has support Bin(n, q); any of them is here with probability at
    most alpha.
    """
    if n == 0 or not candidates:
        return []
    needed, gap = _needed(n, float(q), float(alpha / len(candidates))), float(p - q)
    found = []
    for place in np.flatnonzero(counts >= needed).tolist():
        seen = int(counts[place]) / n
        error = math.sqrt(seen * (1 - seen) / n) / gap
        found.append((candidates[place], (seen - float(q)) / gap, error))
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _lengths(bits: int, survivors: int, capacity: int) -> tuple[int, ...]:
    """Prefix lengths: as long as the capacity allows, and the whole value at last."""
    first = min(capacity.bit_length() - 1, bits)
    step = max((capacity // survivors).bit_length() - 1, 1)
    return (*range(first, bits, step), bits)


def _needed(n: int, q: float, chance: float) -> int:
    """The least count c with P(Bin(n, q) >= c) <= chance."""
    from scipy.stats import binom  # noqa: PLC0415

    low, high = -1, n + 1  # the tail is 1 from 0 on, and 0 from n + 1 on
    while high - low > 1:
        middle = (low + high) // 2
        fits = binom.sf(middle - 1, n, q) <= chance * (1 - 1e-9)
        low, high = (low, middle) if fits else (middle, high)
    return high
