"""Negative binomial laws of rational shape, and differences of two: noise that comes in shares.

With a = exp(-rate) and a rational shape r > 0, the law P(X = k) = (1-a)^r c_k a^k on k = 0, 1, ...,
where c_k = r (r+1) ... (r+k-1)/k!, is also called Polya's. What it is good for:

Theorem 1 (shares). The sum of independent values of shapes r_1, ..., r_n has the shape
r_1 + ... + r_n. The shape 1 is the geometric law. So n values of shape 1/n add up to a geometric
value, exactly, and n differences of two such values to a two-sided geometric one.
Proof. The generating function is the sum of (1-a)^r c_k (a z)^k = ((1-a)/(1-a z))^r, by the
binomial series, and the exponents of a product add up. For r = 1 all c_k are 1. The difference of
two geometric values of one ratio is two-sided geometric: ((1-a)/(1-a z)) ((1-a)/(1-a/z)).

Theorem 2 (clusters). Let N be Poisson with mean -r ln(1-a), and let the sizes S_1, S_2, ... be
logarithmic: P(S = k) = a^k/k / (-ln(1-a)) on k = 1, 2, .... Then S_1 + ... + S_N has Polya's law.
Proof. The generating function of S is ln(1-a z)/ln(1-a); that of a Poisson number of them is
exp(-r ln(1-a) (ln(1-a z)/ln(1-a) - 1)) = ((1-a)/(1-a z))^r.

Theorem 3 (shape). Let D be the difference of two independent values of shape r <= 1. Its masses
are log-convex on k >= 0: P(D = k+1)/P(D = k) never falls as k grows. It tends to a.
Proof. P(D = k) = (1-a)^(2r) times the sum over j of c_j a^(2j) (c_(j+k) a^k). For each j the
bracket is log-convex in k, because c_(i+1)/c_i = (r+i)/(1+i) does not fall in i for r <= 1, and
sums of log-convex sequences are log-convex (by Cauchy's inequality). The ratio c_(i+1)/c_i tends
to 1.

Draws follow Theorem 2: the Poisson number by inversion on a certified table, the sizes by
inversion too or, where their table would be long, by `cluster_attempt`, which serves any rate.
Tested by tests/noise/test_polya.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np

from discreet.exact import Interval, exp, log
from discreet.noise.bulk import flips
from discreet.noise.geometric import power, powers
from discreet.noise.law import Law, scaled_ends
from discreet.noise.reference import repeated
from discreet.noise.sampler import Sampler
from discreet.noise.source import Source
from discreet.noise.table import APART, KEPT, Array, Inversion, inversion
from discreet.remembered import remembered

__all__ = [
    "Logarithmic",
    "Poisson",
    "Polya",
    "PolyaDifference",
    "cluster_attempt",
    "coefficient",
    "polya",
    "polya_difference",
]

_DIRECT = Fraction(1, 128)
"""From this rate on sizes have a table, of at most about six thousand thresholds."""


def _check(rate: Fraction, shape: Fraction) -> None:
    if not rate > 0 or not shape > 0:
        raise ValueError("the rate and the shape of Polya's law must be above 0")


def _log_rest(rate: Fraction, w: int) -> Interval:
    """Bounds of -ln(1-a): near a for a large rate, near -ln(rate) for a small one.

    As many more bits are taken as 1 - a, or its distance to 1, has zeros before its digits.
    """
    more = w + 2 * int(rate) + int(1 / rate).bit_length() + 8
    return -log(1 - power(rate, 1, more), more)


def coefficient(shape: Fraction, k: int) -> Fraction:
    """The number c_k = r (r+1) ... (r+k-1)/k!, exactly.

    >>> coefficient(Fraction(1, 2), 2)
    Fraction(3, 8)
    """
    above, below = 1, 1
    for i in range(k):
        above *= shape.numerator + i * shape.denominator
        below *= shape.denominator * (i + 1)
    return Fraction(above, below)


def coefficient_bounds(shape: Fraction, k: int, w: int) -> Interval:
    """Bounds of c_k to about w bits, in time that grows with k and not with its square."""
    one = 1 << w + 2 * k.bit_length() + 8
    n, d = shape.numerator, shape.denominator
    low = high = one
    for i in range(k):
        low = low * (n + i * d) // (d * (i + 1))
        high = -(-high * (n + i * d) // (d * (i + 1)))
    return Interval(Fraction(low, one), Fraction(high, one))


@dataclass(frozen=True, slots=True)
class Polya(Law):
    """P(X = k) = (1-a)^shape c_k a^k on k = 0, 1, ..., with a = exp(-rate).

    >>> law = Polya(Fraction(1), shape=Fraction(1, 2))
    >>> round(law.mass(0), 6), round(law.mean, 6)
    (0.79506, 0.290988)
    """

    rate: Fraction
    shape: Fraction
    lowest = 0

    def __post_init__(self) -> None:
        _check(self.rate, self.shape)

    def _none(self, w: int) -> Interval:
        """P(X = 0) = (1-a)^shape."""
        return exp(-_log_rest(self.rate, w) * self.shape, w)

    def _mass(self, k: int, w: int) -> Interval:
        return self._none(w) * coefficient(self.shape, k) * power(self.rate, k, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        a, term, total = power(self.rate, 1, w), self._none(w), Interval.of(0)
        for i in range(k + 1):
            total = total + term
            term = (term * a * ((self.shape + i) / (i + 1))).rounded(w + 32)
        return total

    def _tail(self, k: int, w: int) -> Interval:
        """Terms until they are too small to matter, and a geometric series beyond them."""
        a, i = power(self.rate, 1, w), k + 1
        term = self._mass(i, w).rounded(w + 32)
        total = Interval.of(0)
        while True:
            total = total + term
            factor = (self.shape + i) / (i + 1)
            most = (a * max(factor, Fraction(1))).upper  # no later ratio is above it
            term, i = (term * a * factor).rounded(w + 32), i + 1
            if most < 1:
                rest = term.upper / (1 - most)
                if rest * (1 << w) <= total.lower:
                    return Interval(total.lower, total.upper + rest)

    def _mean(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return self.shape * a / (1 - a)

    def _variance(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return self.shape * a / ((1 - a) * (1 - a))


def _series(rate: Fraction, shape: Fraction, k: int, w: int) -> Interval:
    """Bounds of the sum over j of c_j c_(j+k) a^(2j), to about w bits.

    In integers of v bits: every term is rounded down for the lower sum, and up for the upper one.
    """
    v = w + 64 + int(1 / rate).bit_length() + k.bit_length()
    square, one = power(rate, 2, v), 1 << v
    down, up = int(square.lower * one), -int(-square.upper * one // 1)
    first = coefficient_bounds(shape, k, v)
    low, high = int(first.lower * one), -int(-first.upper * one // 1)
    n, d = shape.numerator, shape.denominator
    total_low = total_high = j = 0
    while True:
        total_low, total_high = total_low + low, total_high + high
        above = (n + j * d) * (n + (j + k) * d)
        below = d * d * (j + 1) * (j + 1 + k)
        low = low * down * above // (below << v)
        high = -(-high * up * above // (below << v))
        j += 1
        if high << w <= total_low:
            most = Fraction(up * max(above, below), below << v)  # the ratios move towards a^2
            if most < 1 and high * (1 << w) <= total_low * (1 - most):
                rest = high / (1 - most)
                return Interval(Fraction(total_low, one), (total_high + rest) / one)


@dataclass(frozen=True, slots=True)
class PolyaDifference(Law):
    """The law of X - Y for two independent values of Polya's law: one share, or a sum of them.

    >>> law = PolyaDifference(Fraction(1), shape=Fraction(1, 2))
    >>> round(law.mass(0) / law.mass(1), 6), round(law.variance, 6)
    (5.339535, 0.920674)
    """

    rate: Fraction
    shape: Fraction

    def __post_init__(self) -> None:
        _check(self.rate, self.shape)

    def _mass(self, k: int, w: int) -> Interval:
        """(1-a)^(2r) a^k times the sum over j of c_j c_(j+k) a^(2j), and a bound of its rest."""
        k, r = abs(k), self.shape
        none = exp(-_log_rest(self.rate, w) * (2 * r), w)
        return none * power(self.rate, k, w) * _series(self.rate, r, k, w)

    def _tail(self, k: int, w: int) -> Interval:
        if k < 0:
            return 1 - self._tail(-k - 1, w)
        inside = self._mass(0, w)
        for i in range(1, k + 1):
            inside = inside + 2 * self._mass(i, w)
        return (1 - inside) * Fraction(1, 2)

    def _cumulative(self, k: int, w: int) -> Interval:
        return self._tail(-k - 1, w)

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(0)

    def _variance(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return 2 * self.shape * a / ((1 - a) * (1 - a))


@dataclass(frozen=True, slots=True)
class Poisson(Law):
    """The number of clusters: Poisson with mean m = -shape ln(1-a), which is no rational number."""

    rate: Fraction
    shape: Fraction
    lowest = 0

    def __post_init__(self) -> None:
        _check(self.rate, self.shape)

    def _mean(self, w: int) -> Interval:
        return self.shape * _log_rest(self.rate, w)

    _variance = _mean

    def _terms(self, first: int, last: int, w: int) -> list[Interval]:
        """The masses of 0 .. last, of which those from `first` on are returned."""
        mean = self._mean(w)
        term, found = exp(-mean, w), []
        for k in range(last + 1):
            found.append(term)
            term = (term * mean * Fraction(1, k + 1)).rounded(w + 32)
        return found[first:]

    def _mass(self, k: int, w: int) -> Interval:
        return self._terms(k, k, w)[0]

    def _cumulative(self, k: int, w: int) -> Interval:
        return sum(self._terms(0, k, w), Interval.of(0))

    def _tail(self, k: int, w: int) -> Interval:
        """From k + 1 until terms at least halve, and as far as they matter."""
        mean, last = self._mean(w), k + 2
        while True:
            terms = self._terms(k + 1, last, w)
            halving = mean.upper <= Fraction(last + 1, 2)
            if halving and terms[-1].upper * (1 << w) <= terms[0].lower:
                total = sum(terms, Interval.of(0))
                return Interval(total.lower, total.upper + terms[-1].upper)
            last = 2 * last


def _scaled(low: int, high: int, w: int) -> Interval:
    return Interval(Fraction(low, 1 << w), Fraction(high, 1 << w))


@dataclass(frozen=True, slots=True)
class Logarithmic(Law):
    """The size of a cluster: P(S = k) = a^k/k / (-ln(1-a)) on k = 1, 2, ...."""

    rate: Fraction
    lowest = 1

    def _mass(self, k: int, w: int) -> Interval:
        return power(self.rate, k, w) / (k * _log_rest(self.rate, w))

    def _sums(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of 2^w times the sums of a^k/k, from `first` to each place up to `last`."""
        low, high, found = 0, 0, []
        for k, (a, b) in enumerate(powers(self.rate, first, last - first + 1, w), start=first):
            low, high = low + a // k, high - (-b // k)
            found.append((low, high))
        return found

    def _cumulative(self, k: int, w: int) -> Interval:
        guard = w + 2 * k.bit_length() + 2 * int(self.rate)
        low, high = self._sums(1, k, guard)[-1]
        return _scaled(low, high, guard) / _log_rest(self.rate, w)

    def _tail(self, k: int, w: int) -> Interval:
        """As many terms as matter at this precision, and a geometric series beyond them."""
        more = -(-w * self.rate.denominator // self.rate.numerator) + 1  # a^more < 2^-w
        guard = w + 2 * (k + more).bit_length() + int(2 * self.rate * (k + more))
        low, high = self._sums(k + 1, k + more, guard)[-1]
        last = k + more + 1
        rest = power(self.rate, last, w) / (last * (1 - power(self.rate, 1, w)))
        found = _scaled(low, high, guard)
        whole = Interval(found.lower, found.upper + rest.upper)
        return whole / _log_rest(self.rate, w)

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(S <= k) 2^w, first being 1."""
        guard = w + 32 + 2 * int(self.rate)  # all sums are near a, which may be small
        least, most = scaled_ends(_log_rest(self.rate, guard), guard)
        found = self._sums(first, last, guard)
        table = [((low << w) // most, -(-(high << w) // least)) for low, high in found]
        return [(low, min(high, 1 << w)) for low, high in table]

    def _mean(self, w: int) -> Interval:
        a = power(self.rate, 1, w)
        return a / ((1 - a) * _log_rest(self.rate, w))

    def _variance(self, w: int) -> Interval:
        mean = self._mean(w)
        return mean / (1 - power(self.rate, 1, w)) - mean * mean


def cluster_attempt(rate: Fraction, source: Source) -> int | None:
    """One attempt at a logarithmic value: a class of sizes, a size in it, and coins to keep it.

    Let B = 2^J be the first power of two with rate B >= 1. Class i < J holds the sizes from 2^i to
    2^(i+1) - 1, and class J all from B on; the classes are equally likely.
    Below B: a size k of the class, each with probability 2^-i, is kept with the probabilities
    1 - 1/e, 2^i/k and a^k. From B on: t - 1 is geometric with the ratio 1/e, so that t has the
    probability (1 - 1/e) e^(1-t); k is t B plus a uniform number below B, and is kept with the
    probabilities B/k and exp(t - 1 - rate k), which is at most 1 because rate k >= t.
    Law. Each k is kept with probability (1 - 1/e) a^k/k over the number of classes: that times
    1/(J+1) is (2^-i) (1 - 1/e) (2^i/k) a^k, and (1 - 1/e) e^(1-t) (1/B) (B/k) e^(t-1) a^k.
    """
    classes = max(-(-rate.denominator // rate.numerator) - 1, 0).bit_length()
    i = source.below(classes + 1)
    size = 1 << i
    if i < classes:
        if source.flip_exp(Fraction(1)):
            return None
        least, spared = size, 0
    else:
        spared = 0
        while source.flip_exp(Fraction(1)):
            spared += 1
        least = (spared + 1) * size
    k = least + source.below(size)
    kept = source.flip(Fraction(size, k)) and source.flip_exp(rate * k - spared)
    return k if kept else None


class _Clusters(Sampler):
    """A Poisson number of clusters, each of a logarithmic size.

    Sizes come from a table where that is short, and by attempts at a smaller rate.
    """

    def __init__(self, rate: Fraction, number: Inversion) -> None:
        self.number = number
        self.attempt = partial(cluster_attempt, rate)
        self.table = inversion(Logarithmic(rate)) if rate >= _DIRECT else None

    def one(self, source: Source) -> int:
        return sum(self._size(source) for _ in range(self.number.one(source)))

    def _size(self, source: Source) -> int:
        return repeated(self.attempt, source) if self.table is None else self.table.one(source)

    def chunk(self, size: int, source: Source) -> Array:
        numbers = self.number.chunk(size, source).astype(np.int64)
        ends = np.cumsum(numbers)
        sums = self._sums(int(ends[-1]) if size else 0, source)
        found: Array = sums[ends] - sums[ends - numbers]
        return found

    def _sums(self, total: int, source: Source) -> Array:
        """The sums of the first 0, 1, ..., `total` sizes."""
        if self.table is not None:
            return np.concatenate([[0], np.cumsum(flips(self.table, total, source))])
        return _exact([0, *accumulate(self._size(source) for _ in range(total))])


def _exact(values: list[int]) -> Array:
    """Integers as an array; as Python integers where one does not fit 62 bits."""
    return np.array(values, dtype=np.int64 if max(values) < 1 << 62 else object)


class _Difference(Sampler):
    """One value minus another."""

    def __init__(self, each: Sampler) -> None:
        self.each = each

    def one(self, source: Source) -> int:
        return self.each.one(source) - self.each.one(source)

    def chunk(self, size: int, source: Source) -> Array:
        difference: Array = self.each.chunk(size, source) - self.each.chunk(size, source)
        return difference


@remembered(KEPT, apart=APART)
def polya(rate: Fraction, shape: Fraction) -> Sampler:
    """Draws of Polya's law of this shape."""
    return _Clusters(rate, inversion(Poisson(rate, shape)))


@remembered(KEPT, apart=APART)
def polya_difference(rate: Fraction, shape: Fraction) -> Sampler:
    """Draws of the difference of two values of Polya's law."""
    return _Difference(polya(rate, shape))
