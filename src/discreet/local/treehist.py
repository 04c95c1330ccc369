"""Frequent strings in one round: everybody reports at once, and the tree is searched afterwards.

TreeHist (Bassily, Nissim, Stemmer and Thakurta 2017). Half of the people are split over the levels
of a tree of prefixes, without looking at their values; a person of a level reports the prefix of
that length. The other half report whole values. Afterwards the tree is descended: of each level the
prefixes whose estimates stand out are extended, and what is left at the bottom is confirmed with
the reports of the other half. Nobody waits for anybody (prefix extending, `discreet.local.heavy`,
asks one group after the other, about candidates that depend on the groups before).

A report. Let v be the bits v_1 .. v_l of a prefix and K the number of places of an oracle. A person
draws a seed a in {0..K-1}^l, hashes the prefix to h = sum of a_j v_j modulo K, and reports the seed
and the oracle's report of h. With k-ary response on K = 2 that is one bit of the Hadamard transform
of the prefix, as in the paper.

Theorem. One report is epsilon-differentially private; it supports the own prefix with probability
p of the oracle, any one other prefix with q' = p/K + q (1 - 1/K), exactly; and a value that nobody
holds is found with probability at most alpha, over all such values together.
Proof. The seed does not depend on the value, and given the seed a report is one of an epsilon-
private oracle. Two different prefixes differ at some j by 1 or -1, a unit modulo every K; whatever
the other digits of the seed are, for exactly one a_j in K the hashes are equal: so they are equal
with probability 1/K, and then the oracle supports the place with p, else with q. The candidates at
the bottom depend on the reports of the first half only; in the second a candidate that nobody holds
has support Bin(n, q'), and is accepted only if that many have probability at most alpha/candidates.
Who has a value that is too long reports a uniform place, which supports any prefix with q'.

Tested by tests/local/test_treehist.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.local.bitmaps import Bitmap
from discreet.local.heavy import Asked, Found, Search, accepted
from discreet.local.oracle import Coded, Oracle
from discreet.local.response import KaryResponse
from discreet.noise.bulk import uniforms
from discreet.noise.source import Source, system_source

__all__ = ["GroupReports", "TreeHist"]

_MOST_PLACES = 256
_MOST_CANDIDATES = 1 << 16
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class GroupReports:
    """What one group has sent: a seed (a row of digits) and a report of the oracle for each."""

    group: int
    seeds: NDArray[Any]
    reports: NDArray[Any]

    def __len__(self) -> int:
        return len(self.reports)


class TreeHist(Search):
    """Find the most frequent texts (or integers) of a group without a list of them, in one round.

    Args:
        epsilon: of one report.
        top: how many values are wanted, at most.
        max_bytes: texts of at most so many bytes; or
        bits: integers of so many bits.
        alpha: the chance of any false find.
        step: bits from one level of the tree to the next; the paper has 1.
        oracle: the places K and what makes an oracle on them from K and epsilon; k-ary response on
            two places (one bit) if nothing is said. For epsilon above 2 more places are better.

    Guarantee. Each person sends one report, which is epsilon-differentially private. A value that
    nobody holds is found with probability at most `alpha`.
    Neighbours. "replace": a person's value is replaced by any other.
    Assumes. Groups are formed without looking at the values; each person answers once.
    Proof. At the top of this module.
    Tested by tests/local/test_treehist.py

    >>> search = TreeHist(epsilon=4, max_bytes=4, top=8)
    >>> search.lengths, search.groups, float(search.q)
    ((4, 8, 12, 16, 20, 24, 28, 32), 9, 0.5)
    """

    def __init__(
        self,
        *,
        epsilon: Exact,
        top: Exact,
        max_bytes: Exact | None = None,
        bits: Exact | None = None,
        alpha: Exact = "0.05",
        step: Exact = 4,
        oracle: tuple[int, Callable[[int, Fraction], Oracle]] | None = None,
    ) -> None:
        super().__init__(epsilon=epsilon, max_bytes=max_bytes, bits=bits, alpha=alpha)
        size = whole(step, name="step", at_least=1, at_most=12)
        most = _MOST_CANDIDATES >> (size + 1)
        self.top = whole(top, name="top", at_least=1, at_most=most)
        self.lengths: tuple[int, ...] = (*range(size, self.bits, size), self.bits)
        places, make = oracle if oracle is not None else (2, KaryResponse)
        self.places = whole(places, name="places", at_least=2, at_most=_MOST_PLACES)
        self.oracle = Asked(make(self.places, self.epsilon)).oracle
        p, q, k = self.oracle.p, self.oracle.q, self.places
        self.p, self.q = p, p / k + q * (1 - Fraction(1, k))
        self._table = _table(self.oracle)

    @property
    def groups(self) -> int:
        """The levels, and the group that confirms, which is the last and has half of the people."""
        return len(self.lengths) + 1

    def group(self, number: int) -> int:
        """The group of the person with this number: every second one confirms.

        Numbers must not have to do with values: people are numbered in random order.
        """
        return len(self.lengths) if number % 2 else number // 2 % len(self.lengths)

    def _length(self, group: int) -> int:
        place = whole(group, name="group", at_least=0, at_most=self.groups - 1)
        return self.lengths[min(place, len(self.lengths) - 1)]

    def reports(
        self, values: Sequence[Any], *, group: int, source: Source | None = None
    ) -> GroupReports:
        """The randomised reports of people of one group, one each."""
        drawn = source if source is not None else system_source()
        length, codes = self._length(group), [self.encode(value) for value in values]
        there = np.array([code is not None for code in codes], dtype=bool)
        digits = _bits([(code or 0) >> (self.bits - length) for code in codes], length)
        seeds = uniforms(self.places, len(codes) * length, drawn).reshape(len(codes), length)
        hashed = (seeds * digits).sum(axis=1) % self.places
        anywhere = uniforms(self.places, len(codes), drawn)
        places = np.where(there, hashed, anywhere).astype(np.int64)
        return GroupReports(group, seeds.astype(np.uint8), self.oracle.draw_many(places, drawn))

    def law(self, value: Any, *, group: int) -> dict[tuple[tuple[int, ...], bytes], Fraction]:
        """The exact law of a report: for trees that are small enough to list."""
        length, code = self._length(group), self.encode(value)
        share = Fraction(1, self.places**length)
        found: dict[tuple[tuple[int, ...], bytes], Fraction] = {}
        for seed in product(range(self.places), repeat=length):
            if code is None:
                parts = [(self.oracle.listed(h), share / self.places) for h in range(self.places)]
            else:
                prefix = code >> (self.bits - length)
                digits = [prefix >> (length - 1 - j) & 1 for j in range(length)]
                h = sum(a * v for a, v in zip(seed, digits, strict=True)) % self.places
                parts = [(self.oracle.listed(h), share)]
            for masses, weight in parts:
                for payload, mass in masses.items():
                    key = (seed, payload)
                    found[key] = found.get(key, Fraction(0)) + weight * mass
        return found

    def supports(self, sent: GroupReports, prefixes: Sequence[int]) -> NDArray[Any]:
        """How many reports of a group support each prefix of its length."""
        length = self._length(sent.group)
        digits = _bits(prefixes, length).astype(np.float32).T
        found = np.zeros(len(prefixes), dtype=np.int64)
        rows = max(_CELLS // max(len(prefixes), 1), 1)
        for start in range(0, len(sent), rows):
            seeds = sent.seeds[start : start + rows].astype(np.float32)
            hashed = (seeds @ digits).astype(np.int64) % self.places  # below 2^16: exact
            supported = self._supported(sent.reports[start : start + rows])
            found += np.take_along_axis(supported, hashed, axis=1).sum(axis=0, dtype=np.int64)
        return found

    def _supported(self, reports: NDArray[Any]) -> NDArray[Any]:
        """For each report which places it supports."""
        if self._table is not None:
            return np.asarray(self._table[reports])
        bits = np.unpackbits(reports, axis=1, bitorder="little")
        return np.asarray(bits[:, : self.places])

    def search(self, sent: Sequence[GroupReports]) -> list[Found]:
        """The frequent values, from the reports of all groups; the most frequent first."""
        if [one.group for one in sent] != list(range(self.groups)):
            raise ParameterError("sent", len(sent), "must be the reports of all groups, in order")
        kept, before = [0], 0
        for one, length in zip(sent[:-1], self.lengths, strict=True):
            step = length - before
            grown = [(prefix << step) + tail for prefix in kept for tail in range(1 << step)]
            counts = self.supports(one, grown)
            best = accepted(grown, counts, len(one), self.p, self.q, self.alpha)[: 2 * self.top]
            kept, before = sorted(prefix for prefix, _, _ in best), length
        counts = self.supports(sent[-1], kept)
        best = accepted(kept, counts, len(sent[-1]), self.p, self.q, self.alpha)[: self.top]
        return [Found(self.decode(code), share, error) for code, share, error in best]

    def find(self, values: Sequence[Any], *, source: Source | None = None) -> list[Found]:
        """The whole search among people whose values are at hand; groups are drawn at random."""
        groups: list[list[Any]] = [[] for _ in range(self.groups)]
        for number, value in enumerate(self.mixed(values, source)):
            groups[self.group(number)].append(value)
        return self.search(
            [self.reports(some, group=place, source=source) for place, some in enumerate(groups)]
        )


def _bits(numbers: Sequence[int], length: int) -> NDArray[Any]:
    """Numbers of `length` bits as rows of digits, the highest first."""
    size = -(-length // 8)
    data = b"".join(number.to_bytes(size, "big") for number in numbers)
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
    return np.asarray(np.unpackbits(rows, axis=1)[:, size * 8 - length :]).astype(np.int64)


def _table(oracle: Oracle) -> NDArray[Any] | None:
    """For each code which places it supports; None where a report is a bitmap and tells itself."""
    if isinstance(oracle, Bitmap):
        return None
    if not isinstance(oracle, Coded) or oracle.codes != oracle.cells or oracle.codes > 1 << 14:
        raise ParameterError("oracle", type(oracle).__name__, "must have few different reports")
    found = np.zeros((oracle.codes, oracle.domain.size), dtype=np.uint8)
    for code in range(oracle.codes):
        one = np.zeros(oracle.codes, dtype=np.int64)
        one[code] = 1
        found[code] = oracle.supports(one)[0]
    return found
