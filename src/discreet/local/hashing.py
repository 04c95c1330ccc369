"""Optimised local hashing: hash the value to a few buckets, then answer by k-ary response.

Theorem. A report is a uniform seed and a bucket: the value's own bucket under that seed with
probability r/(r + g - 1), else a uniform other one. One report is ln(r)-differentially private.
Proof. Given the seed, which does not depend on the value, a bucket has probability r c or c.
p and q. A report supports the values whose hash is its bucket, so p = r/(r + g - 1); the hash of
another value is the true one's for exactly one seed in g (`discreet.local.linear`), so
q = p/g + (1-p)/(g-1) (g-1)/g = 1/g, exactly.

The variance is least for g near e^epsilon + 1 (Wang, Blocki, Li and Jha 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.local.device import LARGEST_TABLE, hashing, smallest_factor
from discreet.local.linear import LinearHash, all_supports
from discreet.local.oracle import Array, Coded, code_type, normalised
from discreet.noise.bulk import flips, uniforms
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["LocalHashing"]

_LARGEST_CODE = 1 << 62
_MOST_BUCKETS = 1 << 12
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, init=False, repr=False)
class LocalHashing(Coded):
    """Hash with a seed of one's own to `buckets` buckets, and randomise the bucket.

    The report is one integer, seed times g plus bucket. Where there are at most 2^23 different
    reports, they are counted and decoded all at once, in a time that does not depend on their
    number; else every report is compared with every value when it is collected.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module, with r <= e^epsilon.
    Tested by tests/local/test_hashing.py

    >>> LocalHashing(1024, 1).buckets
    4
    """

    buckets: int = 0
    kind: ClassVar[str] = "local hashing"
    number: ClassVar[int] = 4

    def __init__(self, domain: Any, epsilon: Exact, *, buckets: int | None = None) -> None:
        where, r = self._settle(domain, epsilon)
        if buckets is None:
            g = _best(where.size, r)
        else:
            g = whole(buckets, name="buckets", at_least=2, at_most=_MOST_BUCKETS)
            if not _fits(g, where.size):
                problem = "must be a prime for a domain as large as this: seeds have 62 bits"
                raise ParameterError("buckets", g, problem)
        self._put(buckets=g)
        self._finish(p=r / (r + g - 1), q=Fraction(1, g))

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of buckets."""
        return {"buckets": self.buckets}

    @property
    def family(self) -> LinearHash:
        """The hash functions."""
        return LinearHash(self.buckets, self.domain.size)

    @property
    def codes(self) -> int:
        """One for each seed and bucket."""
        return self.family.seeds * self.buckets

    @property
    def cells(self) -> int:
        """One count for each report, or, where there are too many, for each value."""
        return self.codes if self.codes <= LARGEST_TABLE else self.domain.size

    def mass(self, place: int, code: int) -> Fraction:
        """The mass is r c for the true bucket, c for each other one, under every seed."""
        member, bucket = divmod(code, self.buckets)
        true = self.family.one(member, place) == bucket
        return (self.p if true else (1 - self.p) / (self.buckets - 1)) / self.family.seeds

    def code(self, place: int, source: Source) -> int:
        """A member, the bucket, and k-ary response on it."""
        return hashing(place, self.domain.size, self.buckets, self.p, source)

    def draw_many(self, places: Array, source: Source) -> Array:
        """A seed, the bucket, and k-ary response on it, for each person."""
        family, g, n = self.family, self.buckets, places.size
        seeds = uniforms(family.seeds, n, source)
        moves = flips(inversion(Bernoulli(1 - self.p)), n, source)
        moves *= 1 + uniforms(g - 1, n, source)
        buckets = (family.many(seeds, places) + moves) % g
        return np.asarray(seeds * g + buckets, dtype=code_type(self.codes))

    def tally(self, reports: Array) -> Array:
        """The counts of the reports; or, where there are too many, the supports themselves."""
        if self.cells == self.codes:
            return super().tally(reports)
        return self._compared(reports)

    def _compared(self, reports: Array) -> Array:
        """Every report against every value, in batches: the hash is a product of small matrices."""
        family, g, k = self.family, self.buckets, self.domain.size
        values = family.digits_of(np.arange(k), family.base).astype(np.float32).T
        residue = (np.arange(family.digits * (g - 1) * (family.base - 1) + 1) % g).astype(np.uint16)
        found = np.zeros(k, dtype=np.int64)
        step = max(_CELLS_AT_ONCE // k, 1)
        for start in range(0, len(reports), step):
            codes = reports[start : start + step].astype(np.int64)
            seeds, buckets = codes // g, (codes % g).astype(np.uint16)
            sums = family.digits_of(seeds, g).astype(np.float32) @ values  # below 2^24: exact
            found += (residue[sums.astype(np.intp)] == buckets[:, None]).sum(axis=0)
        return found

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """A report supports the values with its bucket under its seed."""
        if self.cells != self.codes:
            return np.asarray(tally), None
        return all_supports(tally, self.family)[: self.domain.size], None


def _fits(g: int, k: int) -> bool:
    family = LinearHash(g, k)
    largest_sum = family.digits * (g - 1) * (family.base - 1)
    return family.seeds * g <= _LARGEST_CODE and largest_sum < 1 << 24


def _best(k: int, r: Fraction) -> int:
    """The better of the two integers around r + 1; the nearest primes if neither fits 62 bits."""
    near = min(int(r) + 1, _MOST_BUCKETS - 1)
    primes = (_prime(near, -1), _prime(near, 1))
    for choice in ((near, near + 1), primes):
        fitting = [g for g in choice if 2 <= g <= _MOST_BUCKETS and _fits(g, k)]
        if fitting:
            return min(fitting, key=lambda g: normalised(r / (r + g - 1), Fraction(1, g)))
    return 3


def _prime(start: int, step: int) -> int:
    found = max(start, 2)
    while smallest_factor(found) != found:
        found += step
    return found
