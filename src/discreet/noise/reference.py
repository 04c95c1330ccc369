"""The textbook samplers, one value at a time, as the papers write them.

They are slow and are not used for releases. They exist to be read, and to be walked through by
`discreet.audit.walk`: three independent ways to the two-sided geometric law, and a fourth by
inversion in `discreet.noise.table`, all proved to have the same law.

A function named `..._attempt` makes one try and returns None where the paper says "try again".
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from math import isqrt
from typing import TypeVar

from discreet.noise.source import Source

__all__ = [
    "gaussian_attempt",
    "geometric_attempt",
    "logistic",
    "repeated",
    "staircase_attempt",
    "two_sided_attempt",
    "two_sided_by_difference",
    "zero_or_signed",
]

T = TypeVar("T")


def repeated(attempt: Callable[[Source], T | None], source: Source) -> T:
    """Try until an attempt succeeds."""
    while True:
        found = attempt(source)
        if found is not None:
            return found


def geometric_attempt(rate: Fraction, source: Source) -> int | None:
    """A geometric value with ratio exp(-rate), rate = s/t (Canonne, Kamath and Steinke 2020).

    U uniform below t, kept with probability exp(-U/t), and V geometric with ratio exp(-1) make
    X = U + tV geometric with ratio exp(-1/t); then floor(X/s) has ratio exp(-s/t).
    """
    s, t = rate.numerator, rate.denominator
    u = source.below(t)
    if not source.flip_exp(Fraction(u, t)):
        return None
    v = next(v for v in count() if not source.flip_exp(Fraction(1)))
    return (u + t * v) // s


def two_sided_attempt(rate: Fraction, source: Source) -> int | None:
    """A signed geometric value; minus zero is tried again, so that zero does not count twice."""
    magnitude = geometric_attempt(rate, source)
    if magnitude is None:
        return None
    negative = source.flip(Fraction(1, 2))
    if negative and magnitude == 0:
        return None
    return -magnitude if negative else magnitude


def two_sided_by_difference(rate: Fraction, source: Source) -> int | None:
    """The difference of two independent geometric values (one attempt at both)."""
    first = geometric_attempt(rate, source)
    second = geometric_attempt(rate, source)
    return None if first is None or second is None else first - second


def logistic(rate: Fraction, source: Source) -> bool:
    """True with probability 1/(1 + a), a = exp(-rate).

    A fair coin says stop with True, or else a coin of probability a says stop with False; they
    are tossed in turn until one does: 1/2 against a/2.
    """
    while True:
        if source.flip(Fraction(1, 2)):
            return True
        if source.flip_exp(rate):
            return False


def zero_or_signed(rate: Fraction, source: Source) -> int:
    """Zero with probability (1 - a)/(1 + a); otherwise a fair sign and 1 + a geometric value.

    The geometric value is tried again on its own: to start over from the zero would favour zero.
    """
    if logistic(rate, source) and not source.flip_exp(rate):
        return 0
    sign = -1 if source.flip(Fraction(1, 2)) else 1
    return sign * (1 + repeated(lambda bits: geometric_attempt(rate, bits), source))


def staircase_attempt(rate: Fraction, width: int, inner: int, source: Source) -> int | None:
    """An integer staircase value: a place in the block, kept outside with probability exp(-rate),
    a geometric number of blocks and a fair sign; minus zero is tried again.
    """
    place = source.below(width)
    if place >= inner and not source.flip_exp(rate):
        return None
    block = next(block for block in count() if not source.flip_exp(rate))
    negative = source.flip(Fraction(1, 2))
    magnitude = block * width + place
    if negative and magnitude == 0:
        return None
    return -magnitude if negative else magnitude


def gaussian_attempt(sigma_squared: Fraction, source: Source) -> int | None:
    """A discrete Gaussian value (Canonne, Kamath and Steinke 2020).

    With v = sigma_squared and t = floor(sigma) + 1, a two-sided geometric Y of rate 1/t is kept
    with probability exp(-(|Y| - v/t)^2/(2v)). The product exp(-|y|/t) exp(-(|y| - v/t)^2/(2v)) is
    exp(-y^2/(2v)) times a constant.
    """
    scale = isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1
    value = two_sided_attempt(Fraction(1, scale), source)
    if value is None:
        return None
    excess = abs(value) - sigma_squared / scale
    return value if source.flip_exp(excess * excess / (2 * sigma_squared)) else None
