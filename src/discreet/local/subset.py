"""Subset selection: report w values, the true one among them more often than not by chance.

Theorem. A report is a subset of w of the k values. Subsets with the true value have probability
r c each, the others c. One report is ln(r)-differentially private, and with
p = r w/(r w + k - w) the estimate has the least variance that any epsilon-private report allows, up
to lower-order terms, for w near k/(e^epsilon + 1) (Ye and Barg 2018; Wang and others 2016).
Proof of privacy. Each report has probability r c or c under every value.
Proof of p and q. There are C(k-1, w-1) subsets with a value and C(k-1, w) without, in the
proportion w : k - w, so p = r w/(r w + k - w). Given the true value is in the subset, another one
is with probability (w-1)/(k-1), else with w/(k-1): q = (p (w-1) + (1-p) w)/(k-1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.exact import Exact, whole
from discreet.local.bitmaps import Bitmap, trimmed, widened
from discreet.local.device import subset
from discreet.local.oracle import Array, normalised
from discreet.noise.bulk import flips, ones, subsets
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["SubsetSelection"]

_AT_ONCE = 1 << 15


@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(Bitmap):
    """Report a random subset of `size` values, with the true one in it with probability p.

    The size is the better of the two integers around k/(e^epsilon + 1), if it is not said; size 1
    is k-ary randomised response.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module, with r <= e^epsilon.
    Tested by tests/local/test_subset.py

    >>> SubsetSelection(1024, 1).size
    275
    """

    size: int = 0
    kind: ClassVar[str] = "subset selection"
    number: ClassVar[int] = 5

    def __init__(self, domain: Any, epsilon: Exact, *, size: int | None = None) -> None:
        where, r = self._settle(domain, epsilon)
        k = where.size
        if size is None:
            near = int(k / (r + 1))
            sizes = {min(max(w, 1), k - 1) for w in (near, near + 1)}
            w = min(sorted(sizes), key=lambda w: normalised(*_chances(k, w, r)))
        else:
            w = whole(size, name="size", at_least=1, at_most=k - 1)
        self._put(size=w)
        self._finish(*_chances(k, w, r))

    @property
    def parameters(self) -> dict[str, Any]:
        """The size of the subsets."""
        return {"size": self.size}

    @property
    def outcomes(self) -> int:
        """How many subsets there are."""
        return math.comb(self.domain.size, self.size)

    def chance(self, place: int, subset: frozenset[int]) -> Fraction:
        """The mass is r c with the true value, c without."""
        k, w = self.domain.size, self.size
        if len(subset) != w:
            return Fraction(0)
        if place in subset:
            return self.p / math.comb(k - 1, w - 1)
        return (1 - self.p) / math.comb(k - 1, w)

    def draw(self, place: int, source: Source) -> bytes:
        """In or out by a coin; then the others by Floyd's algorithm (Bentley and Floyd 1987)."""
        bits = subset(place, self.domain.size, self.size, self.p, source)
        return bits.to_bytes(self.width, "little")

    def draw_many(self, places: Array, source: Source) -> Array:
        """In or out by a coin; then a uniform subset of the others."""
        k = self.domain.size
        out = np.empty((places.size, self.width), dtype=np.uint8)
        for start in range(0, places.size, _AT_ONCE):
            own = places[start : start + _AT_ONCE]
            is_in = flips(inversion(Bernoulli(self.p)), own.size, source)
            words = subsets(k, self.size - is_in, own, source)
            shift = (own & 63).astype(np.uint64)
            words[np.arange(own.size), own >> 6] |= is_in.astype(np.uint64) << shift
            out[start : start + _AT_ONCE] = trimmed(words, k)
        return out

    def adds_up(self, tally: Array, n: int) -> bool:
        """Every report holds as many values as a subset has."""
        return super().adds_up(tally, n) and sum(tally.tolist()) == n * self.size

    def well_formed(self, reports: Array) -> Array:
        """A subset has its size, and no bit after the last value."""
        good = super().well_formed(reports)
        for start in range(0, len(reports), _AT_ONCE):
            counted = ones(widened(reports[start : start + _AT_ONCE]))
            if counted.shape[1] > 1:
                counted = counted.sum(axis=1, dtype=np.uint32, keepdims=True)
            good[start : start + _AT_ONCE] &= counted[:, 0] == self.size
        return good


def _chances(k: int, w: int, r: Fraction) -> tuple[Fraction, Fraction]:
    p = r * w / (r * w + k - w)
    return p, (p * (w - 1) + (1 - p) * w) / (k - 1)
