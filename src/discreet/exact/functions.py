"""Certified enclosures of exp, log, sqrt, pi and the Gaussian integral, in integer arithmetic.

How the bounds are certified. A real r is held as two integers lo <= r 2^w <= hi. All series used
have positive terms (arctangent's excepted, see `pi`), so rounding every operation down gives a
lower bound and rounding every operation up, plus a bound on the terms left out, gives an upper
bound; nothing else is needed for correctness. What a precision argument promises is only the
*width*: every function works with guard bits, checks the width that it got, and starts again with
more guard bits in the rare case that it was not enough.

No float takes part.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.exact.interval import UNDERFLOW, Interval
from discreet.remembered import remembered

__all__ = ["exp", "gauss_integral", "log", "pi", "sqrt"]

_HALVINGS = 8
_GUARD = 24


def exp(x: Fraction | int | Interval, bits: int) -> Interval:
    """Enclose e^x with relative width at most 2^-bits.

    Reduction e^x = 2^k e^r with 0 <= r < 1, then the Taylor series of e^(r/2^8), squared eight
    times. Below 2^-131072 the answer is the enclosure [0, 2^-131072].

    >>> Fraction("2.718281828459045235360287") in exp(1, bits=20)
    True
    """
    if isinstance(x, Interval):
        return Interval(exp(x.lower, bits).lower, exp(x.upper, bits).upper)
    x = Fraction(x)
    if x == 0:
        return Interval.of(1)
    if x * 10 < -7 * UNDERFLOW:  # 7/10 > ln 2, so e^x < 2^-UNDERFLOW
        return Interval(Fraction(0), Fraction(1, 1 << UNDERFLOW))
    w = bits + _GUARD
    while True:
        lower, upper, k = _exp_fixed(x, w)
        if (upper - lower) << bits <= lower:
            return Interval(_scaled(lower, k - w), _scaled(upper, k - w))
        w *= 2


def _exp_fixed(x: Fraction, w: int) -> tuple[int, int, int]:
    """Integers with lower <= e^x 2^(w-k) <= upper, where lower is near 2^w."""
    size = abs(x.numerator // x.denominator).bit_length() + 2
    ln2_lower, ln2_upper = _ln2(w + size)
    scaled = (x.numerator << (w + size)) // x.denominator
    k = scaled // (ln2_upper if scaled >= 0 else ln2_lower)  # so that x - k ln 2 >= 0
    rest = sorted((scaled - k * ln2_lower, scaled - k * ln2_upper))
    lower, upper = max(rest[0] >> size, 0), -(-(rest[1] + 1) >> size)
    return _exp_small(lower, w)[0], _exp_small(upper, w)[1], k


def _exp_small(r: int, w: int) -> tuple[int, int]:
    """Bounds of e^(r/2^w) 2^w for 0 <= r/2^w < 2."""
    one = 1 << w
    t = r >> _HALVINGS
    lower, term, n = one, one, 1
    while term:
        term = (term * t >> w) // n
        lower += term
        n += 1
    t = -(-r >> _HALVINGS)
    upper, term, n = one, one, 1
    while term > 1:
        term = -((-(term * t) >> w) // n)
        upper += term
        n += 1
    upper += 2  # the terms left out are at most 1 + 1/2 + 1/4 + ... units
    for _ in range(_HALVINGS):
        lower = lower * lower >> w
        upper = -(-(upper * upper) >> w)
    return lower, upper


@remembered(256)
def _ln2(w: int) -> tuple[int, int]:
    return _atanh_twice((1 << w) // 3, -(-(1 << w) // 3), w)


def _atanh_twice(z_lower: int, z_upper: int, w: int) -> tuple[int, int]:
    """Bounds of 2 atanh(z) 2^w = 2 (z + z^3/3 + z^5/5 + ...) for 0 <= z <= 1/3."""
    lower, power, n, square = 0, z_lower, 1, z_lower * z_lower >> w
    while power:
        lower += power // n
        power = power * square >> w
        n += 2
    upper, power, n, square = 0, z_upper, 1, -(-(z_upper * z_upper) >> w)
    while power > 1:
        upper += -(-power // n)
        power = -(-(power * square) >> w)
        n += 2
    return 2 * lower, 2 * (upper + 2)


def log(x: Fraction | int | Interval, bits: int) -> Interval:
    """Enclose the natural logarithm of x > 0 with absolute width at most 2^-bits.

    x = m 2^e with 1 <= m < 2, and ln m = 2 atanh((m - 1)/(m + 1)).

    >>> log(Fraction(1), 30)
    Interval(lower=Fraction(0, 1), upper=Fraction(0, 1))
    """
    if isinstance(x, Interval):
        return Interval(log(x.lower, bits).lower, log(x.upper, bits).upper)
    x = Fraction(x)
    if not x > 0:
        raise ValueError("the logarithm needs a number above 0")
    if x == 1:
        return Interval.of(0)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if _scaled(1, e) > x:
        e -= 1
    m = x / _scaled(1, e)
    z = (m - 1) / (m + 1)
    w = bits + _GUARD + abs(e).bit_length()
    while True:
        floor = (z.numerator << w) // z.denominator
        lower, upper = _atanh_twice(floor, floor + 1, w)
        ln2 = _ln2(w)
        ends = sorted((e * ln2[0], e * ln2[1]))
        lower, upper = lower + ends[0], upper + ends[1]
        if (upper - lower) << bits <= 1 << w:
            return Interval(_scaled(lower, -w), _scaled(upper, -w))
        w *= 2


def sqrt(x: Fraction | int, bits: int) -> Interval:
    """Enclose the square root of x >= 0 with relative width at most 2^-bits.

    >>> sqrt(Fraction(9, 4), 10)
    Interval(lower=Fraction(3, 2), upper=Fraction(3, 2))
    """
    x = Fraction(x)
    product = x.numerator * x.denominator  # sqrt(n/d) = sqrt(n d)/d
    shift = max(0, bits + 2 - product.bit_length() // 2)
    root = math.isqrt(product << 2 * shift)
    exact = root * root == product << 2 * shift
    scale = x.denominator << shift
    return Interval(Fraction(root, scale), Fraction(root + (not exact), scale))


@remembered(64)
def pi(bits: int) -> Interval:
    """Enclose pi with absolute width at most 2^-bits, by Machin's formula.

    pi = 16 atan(1/5) - 4 atan(1/239). Each arctangent is an alternating series of n terms, each
    rounded once in a division and its power once before, so it is off by fewer than 2n + 2 units.

    >>> float(pi(60))
    3.141592653589793
    """
    w = bits + _GUARD
    first, n = _atan_inverse(5, w)
    second, m = _atan_inverse(239, w)
    centre, error = 16 * first - 4 * second, 16 * (2 * n + 2) + 4 * (2 * m + 2)
    return Interval(_scaled(centre - error, -w), _scaled(centre + error, -w))


def _atan_inverse(q: int, w: int) -> tuple[int, int]:
    power, total, n = (1 << w) // q, 0, 0
    while power:
        total += (-1) ** n * (power // (2 * n + 1))
        power //= q * q
        n += 1
    return total, n


def gauss_integral(y: Fraction, bits: int) -> Interval:
    """Enclose the integral of exp(-y s^2/2) over 0 <= s <= 1, relative width at most 2^-bits.

    For a real x it gives the integral of exp(-t^2/(2 v)) over 0 <= t <= x as x times the value
    at y = x^2/v, so that v alone needs to be rational. The series is e^(-y/2) times the sum of
    y^n/(2n+1)!!, all terms positive; after the n-th term the rest is at most a geometric series
    with ratio y/(2n+3).

    >>> round(float(gauss_integral(Fraction(1), 50)), 12)
    0.855624391892
    """
    if not y >= 0:
        raise ValueError("the Gaussian integral needs y >= 0")
    w = bits + _GUARD
    while True:
        factor = (y.numerator << w) // y.denominator
        lower, upper = _odd_factorial_series(factor, w)
        found = exp(-y / 2, w) * Interval(_scaled(lower, -w), _scaled(upper, -w))
        if found.within(bits):
            return found.rounded(bits + 8)
        w *= 2


def _odd_factorial_series(y: int, w: int) -> tuple[int, int]:
    """Bounds of 2^w times the sum of (y/2^w)^n/(2n+1)!!; the upper one takes y + 1 for y."""
    lower, term, n = 0, 1 << w, 1
    while term:
        lower += term
        n += 2
        term = (term * y >> w) // n
    upper, term, n = 0, 1 << w, 1
    while term > 1 or n * (1 << w) < 2 * (y + 1):
        upper += term
        n += 2
        term = -((-(term * (y + 1)) >> w) // n)
    return lower, upper + 4 * term  # from here on each term is at most half the one before


def _scaled(value: int, exponent: int) -> Fraction:
    """The fraction value * 2^exponent."""
    return Fraction(value << exponent) if exponent >= 0 else Fraction(value, 1 << -exponent)
