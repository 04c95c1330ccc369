"""Unary encodings: one coin for every value of the domain.

A person with the value v reports a bit for every value: bit v is 1 with probability p, every other
bit with probability q, all independent.

Theorem. One report is epsilon-differentially private if and only if
p (1-q)/(q (1-p)) <= e^epsilon, for 0 < q < p < 1.
Proof. Two values v, v' change the laws of two bits only. The ratio of the probabilities of a report
is (p/q)^a ((1-p)/(1-q))^(1-a) for bit v = a, times the inverse for bit v'; the largest is at
bit v = 1, bit v' = 0, and is p (1-q)/(q (1-p)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.exact import Exact
from discreet.local.bitmaps import Bitmap, trimmed
from discreet.local.device import ratio_below, unary
from discreet.local.oracle import Array
from discreet.noise.bulk import coin_words, flips, padding, words_of
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["OptimizedUnary", "SymmetricUnary"]

_AT_ONCE = 1 << 15


class _Unary(Bitmap):
    """What both encodings share."""

    def chance(self, place: int, subset: frozenset[int]) -> Fraction:
        """The product over all bits."""
        own = self.p if place in subset else 1 - self.p
        others = len(subset - {place})
        return own * self.q**others * (1 - self.q) ** (self.domain.size - 1 - others)

    def draw(self, place: int, source: Source) -> bytes:
        """A coin for every value."""
        k = self.domain.size
        return unary(place, k, (self.p, self.q), source).to_bytes(self.width, "little")

    def draw_many(self, places: Array, source: Source) -> Array:
        """64 coins at a time; then each person's own bit is drawn anew."""
        k = self.domain.size
        out = np.empty((places.size, self.width), dtype=np.uint8)
        for start in range(0, places.size, _AT_ONCE):
            own = places[start : start + _AT_ONCE]
            words = coin_words(self.q, own.size * words_of(k), source).reshape(own.size, -1)
            words &= padding(k)
            rows, shift = np.arange(own.size), (own & 63).astype(np.uint64)
            words[rows, own >> 6] &= ~(np.uint64(1) << shift)
            coin = flips(inversion(Bernoulli(self.p)), own.size, source).astype(np.uint64)
            words[rows, own >> 6] |= coin << shift
            out[start : start + _AT_ONCE] = trimmed(words, k)
        return out


@dataclass(frozen=True, init=False, repr=False)
class OptimizedUnary(_Unary):
    """Optimised unary encoding (Wang, Blocki, Li and Jha 2017): p = 1/2, q = 1/(e^epsilon + 1).

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module: for p = 1/2 the ratio is (1-q)/q, which is r for
    q = 1/(r + 1), and r <= e^epsilon. A smaller r gives a larger q: q is rounded up.
    Tested by tests/local/test_unary.py

    >>> OptimizedUnary(8, 1).p
    Fraction(1, 2)
    """

    kind: ClassVar[str] = "optimised unary"
    number: ClassVar[int] = 3

    def __init__(self, domain: Any, epsilon: Exact) -> None:
        _, r = self._settle(domain, epsilon)
        self._finish(p=Fraction(1, 2), q=1 / (r + 1))


@dataclass(frozen=True, init=False, repr=False)
class SymmetricUnary(_Unary):
    """Symmetric unary encoding, basic RAPPOR without memory: p = s/(s + 1) = 1 - q, s = e^(eps/2).

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module: for p = 1 - q the ratio is (p/(1-p))^2 = s^2, and s is at most
    e^(epsilon/2) by `ratio_below`.
    Tested by tests/local/test_unary.py

    >>> oracle = SymmetricUnary(8, 1)
    >>> oracle.p + oracle.q
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "symmetric unary"
    number: ClassVar[int] = 2

    def __init__(self, domain: Any, epsilon: Exact) -> None:
        self._settle(domain, epsilon)
        s = ratio_below(self.epsilon / 2)
        self._put(ratio=s * s)
        self._finish(p=s / (s + 1), q=1 / (s + 1))
