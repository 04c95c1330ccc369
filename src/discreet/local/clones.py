"""How well clones hide a report: certified sums for the shuffle.

Theorem (Feldman, McMillan and Talwar 2021; the binary and k-ary cases are proved in
`discreet.local.shuffle`). Let E = e^eps0. For c clones let

    P_c = A + D,  Q_c = A + 1 - D,  A ~ Bin(c, 1/2),  D ~ Bernoulli(E/(E + 1)),

and C ~ Bin(n - 1, p). What a shuffler shows satisfies P(S) <= e Q(S) + delta, both ways, for

    delta = s * the mean over C of H_C,   H_c = sum over a of (P_c(a) - e Q_c(a))+,

with p and s as the randomizer allows (p = 1/E and s = 1 for any). This module evaluates the sum.

How. With b(a) = P(A = a), P_c(a)/Q_c(a) grows with a, because b(a-1)/b(a) = a/(c-a+1) does; it is
above e exactly for a > (c + 1) t, t = (e E - 1)/((E - 1)(e + 1)). So with j = floor((c + 1) t)

    H_c = (E - e)/(E + 1) b(j) - (e - 1) P(A > j).

From c to c + 1: P_{c+1}(A > j) = P_c(A > j) + b_c(j)/2, b_{c+1}(j) = b_c(j) (c+1)/(2 (c+1-j)), and
j grows by at most one: one sweep over c visits all of them in constant time each, and no grid is
needed.

Certified. All numbers are integers in units of 2^-w, every product and quotient is rounded down for
a lower end and up for an upper one. Binomial weights start with 2^w at the mode and go outward by
their ratios; these are at most 1, so after k roundings a weight is at most k units below its true
value. Beyond the window the weights fall faster than a geometric series, and H <= 1 there. e and E
are rationals on the safe side: delta falls with e and grows with E (a larger eps0 promises less).

Tested by tests/local/test_clones.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.exact import Interval

__all__ = ["Clones", "Weights", "binomial", "hidden"]


@dataclass(frozen=True, slots=True)
class Clones:
    """The pair that bounds a shuffle: `others` people, each a clone with probability `chance`.

    `factor` is E, and `share` the probability that the own report tells anything at all.
    """

    others: int
    factor: Fraction
    chance: Fraction
    share: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a binomial law on first .. first + len - 1, in units where the mode has 2^w.

    The true weight of each value is at least `low` and at most `low + slack`; all values outside
    together have at most `outside`.
    """

    first: int
    low: list[int]
    slack: int
    outside: int

    @property
    def total(self) -> tuple[int, int]:
        """Bounds of the sum of all true weights."""
        least = sum(self.low)
        return least, least + self.slack * len(self.low) + self.outside


@lru_cache(maxsize=4)
def binomial(n: int, p: Fraction, w: int, keep: int) -> Weights:
    """The weights of Bin(n, p), outward from the mode until they are below 2^-keep of it."""
    if not 0 < p < 1:
        raise ValueError("a binomial law needs a probability strictly between 0 and 1")
    a, b = p.numerator, p.denominator - p.numerator
    mode = (n + 1) * p.numerator // p.denominator
    floor = 1 << max(w - keep, 0)
    up, down = [1 << w], []
    value, c = 1 << w, mode
    while c < n and value >= floor:
        value = value * ((n - c) * a) // ((c + 1) * b)
        c += 1
        up.append(value)
    last = c
    value, c = 1 << w, mode
    while c > 0 and value >= floor:
        value = value * (c * b) // ((n - c + 1) * a)
        c -= 1
        down.append(value)
    slack = max(len(up), len(down))
    outside = 0
    if last < n:
        outside += _rest(up[-1] + slack, (n - last) * a, (last + 1) * b)
    if c > 0:
        outside += _rest(down[-1] + slack, c * b, (n - c + 1) * a)
    return Weights(c, down[::-1] + up, slack, outside)


def _rest(weight: int, above: int, below: int) -> int:
    """The sum of a geometric series of ratio above/below < 1 after `weight`, rounded up."""
    return -(-weight * above // (below - above))


def hidden(pair: Clones, e: Fraction, *, w: int, keep: int) -> Interval:
    """Certified bounds of delta at e = e^epsilon, for 1 <= e."""
    if not e < pair.factor:
        return Interval.of(0)
    weights = binomial(pair.others, pair.chance, w, keep)
    lower, upper = 0, weights.outside << w  # H <= 1 outside the window
    stream = _excesses(pair.factor, e, weights.first, w)
    slack = weights.slack
    for weight, (least, most) in zip(weights.low, stream, strict=False):
        lower += weight * least
        upper += (weight + slack) * most
    least, most = weights.total
    found = Interval(Fraction(lower, most << w), Fraction(upper, least << w))
    return found * pair.share


def _excesses(factor: Fraction, e: Fraction, first: int, w: int) -> Iterator[tuple[int, int]]:
    """Bounds of H_c 2^w for c = first, first + 1, ..."""
    turn = (e * factor - 1) / ((factor - 1) * (e + 1))
    tn, td = turn.numerator, turn.denominator
    gain, toll = (factor - e) / (factor + 1), e - 1
    gain_low, gain_high = _ends(gain, w)
    toll_low, toll_high = _ends(toll, w)
    c = first
    j = (c + 1) * tn // td
    b_low, b_high, t_low, t_high = _start(c, j, w)
    while True:
        least = (gain_low * b_low - toll_high * t_high >> w) - 1
        most = (gain_high * b_high - toll_low * t_low >> w) + 1
        yield max(least, 0), max(most, 0)
        t_low += b_low >> 1
        t_high += (b_high >> 1) + 1
        down = 2 * (c + 1 - j)
        b_low = b_low * (c + 1) // down
        b_high = b_high * (c + 1) // down + 1
        c += 1
        if (c + 1) * tn // td > j:
            b_low = b_low * (c - j) // (j + 1)
            b_high = b_high * (c - j) // (j + 1) + 1
            j += 1
            t_low, t_high = max(t_low - b_high, 0), t_high - b_low


def _ends(value: Fraction, w: int) -> tuple[int, int]:
    floor = (value.numerator << w) // value.denominator
    return floor, floor + 1


def _start(c: int, j: int, w: int) -> tuple[int, int, int, int]:
    """Bounds of b_c(j) and of P(Bin(c, 1/2) > j), in units of 2^-w."""
    weights = binomial(c, Fraction(1, 2), w + 32, w + 32)
    least, most = weights.total
    place = j - weights.first
    mass = weights.low[place] if 0 <= place < len(weights.low) else 0
    above = weights.low[place + 1 :] if place >= 0 else weights.low
    tail, count = sum(above), len(above)
    slack = weights.slack + weights.outside
    return (
        (mass << w) // most,
        ((mass + slack) << w) // least + 1,
        (tail << w) // most,
        ((tail + weights.slack * count + weights.outside) << w) // least + 1,
    )
