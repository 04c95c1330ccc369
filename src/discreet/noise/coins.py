"""The exact coins, one at a time: the scalar reference that everything else is checked against.

Each function states its law, and `tests/noise/test_coins.py` walks the tree of its own random
choices and compares that law as fractions. All parameters are rationals; no float takes part.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

__all__ = ["below", "below_attempt", "bernoulli", "bernoulli_exp"]


class Bits(Protocol):
    """Anything that serves uniform bits."""

    def bits(self, count: int) -> int:
        """An integer uniform on 0 .. 2^count - 1."""


class Uniforms(Protocol):
    """Anything that serves uniform integers."""

    def below(self, n: int) -> int:
        """An integer uniform on 0 .. n - 1."""


class Flips(Protocol):
    """Anything that flips coins of a rational probability."""

    def flip(self, p: Fraction) -> bool:
        """True with probability p."""


def below(n: int, source: Bits) -> int:
    """An integer uniform on 0 .. n - 1: attempts until one succeeds, below two on average."""
    if not n >= 1:
        raise ValueError("a uniform integer needs at least one value")
    while True:
        value = below_attempt(n, source)
        if value is not None:
            return value


def below_attempt(n: int, source: Bits) -> int | None:
    """One attempt: k bits, k the length of n - 1; None if the integer they spell is not below n.

    Law. Given success, all n values are equally likely; success has probability above 1/2.
    """
    value = source.bits((n - 1).bit_length())
    return value if value < n else None


def bernoulli(p: Fraction, source: Uniforms) -> bool:
    """True with probability exactly p = a/b: a uniform integer below b is below a."""
    if not 0 <= p <= 1:
        raise ValueError("a probability lies between 0 and 1")
    return source.below(p.denominator) < p.numerator


def bernoulli_exp(x: Fraction, source: Flips) -> bool:
    """True with probability exactly exp(-x), for rational x >= 0.

    Law (Canonne, Kamath and Steinke 2020, after von Neumann 1951 and Forsythe 1972). For x <= 1
    flip coins of probability x/1, x/2, x/3, ... until the first fails, at the K-th. Then
    P(K > k) = x^k/k!, so P(K odd) = 1 - x + x^2/2! - ... = exp(-x). For x > 1,
    exp(-x) = exp(-1)^floor(x) exp(-(x - floor(x))): all of that many coins must succeed.
    """
    if not x >= 0:
        raise ValueError("exp(-x) is a probability only for x >= 0")
    while x > 1:
        if not _exp_of_at_most_one(Fraction(1), source):
            return False
        x -= 1
    return _exp_of_at_most_one(x, source)


def _exp_of_at_most_one(x: Fraction, source: Flips) -> bool:
    k = 1
    while source.flip(x / k):
        k += 1
    return k % 2 == 1
