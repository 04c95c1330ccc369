"""A pair of rationals that encloses a real number.

Interval arithmetic on fractions has no rounding of its own, so every inclusion below is an
identity of ordered fields; the only inexact step is `rounded`, which moves both ends outward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Interval", "certify", "round_down", "round_up"]

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """All reals between two rationals, ends included.

    Guarantee. If x lies in X and y lies in Y, then x + y lies in X + Y, and likewise for every
    operation here. `float(X)` is the midpoint rounded to the nearest double.

    >>> third = Interval(Fraction(1, 4), Fraction(1, 2))
    >>> third + 1
    Interval(lower=Fraction(5, 4), upper=Fraction(3, 2))
    """

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ArithmeticError("the lower end of an interval is above its upper end")

    @classmethod
    def of(cls, value: Interval | Number) -> Interval:
        """The interval itself, or the single point of an exact number."""
        if isinstance(value, Interval):
            return value
        point = Fraction(value)
        return cls(point, point)

    def __add__(self, other: Interval | Number) -> Interval:
        that = Interval.of(other)
        return Interval(self.lower + that.lower, self.upper + that.upper)

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __sub__(self, other: Interval | Number) -> Interval:
        return self + -Interval.of(other)

    def __rsub__(self, other: Interval | Number) -> Interval:
        return -self + other

    def __mul__(self, other: Interval | Number) -> Interval:
        that = Interval.of(other)
        if self.lower >= 0 and that.lower >= 0:
            return Interval(self.lower * that.lower, self.upper * that.upper)
        ends = [x * y for x in (self.lower, self.upper) for y in (that.lower, that.upper)]
        return Interval(min(ends), max(ends))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Number) -> Interval:
        that = Interval.of(other)
        if that.lower <= 0 <= that.upper:
            raise ZeroDivisionError("the divisor may be zero at this precision")
        return self * Interval(1 / that.upper, 1 / that.lower)

    def __rtruediv__(self, other: Interval | Number) -> Interval:
        return Interval.of(other) / self

    def __float__(self) -> float:
        return float((self.lower + self.upper) / 2)

    def __contains__(self, value: Number) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> Fraction:
        """The distance between the two ends."""
        return self.upper - self.lower

    def rounded(self, bits: int) -> Interval:
        """The same enclosure with ends of about `bits` significant bits, moved outward."""
        return Interval(round_down(self.lower, bits), round_up(self.upper, bits))

    def clipped(self, lower: Number, upper: Number) -> Interval:
        """The part between `lower` and `upper`, for a real that is known to lie there."""
        low = min(max(self.lower, Fraction(lower)), Fraction(upper))
        return Interval(low, max(low, min(self.upper, Fraction(upper))))

    def within(self, bits: int) -> bool:
        """Whether the enclosed real is known to a relative error of 2^-bits."""
        nearest = min(abs(self.lower), abs(self.upper)) if self.lower * self.upper > 0 else 0
        return self.width * (1 << bits) <= nearest


def round_down(value: Fraction, bits: int) -> Fraction:
    """The largest multiple of a power of two below `value` that has about `bits` bits."""
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    if shift >= 0:
        return Fraction((value.numerator << shift) // value.denominator, 1 << shift)
    return Fraction((value.numerator // (value.denominator << -shift)) << -shift)


def round_up(value: Fraction, bits: int) -> Fraction:
    """The smallest multiple of a power of two above `value` that has about `bits` bits."""
    return -round_down(-value, bits)


UNDERFLOW = 1 << 17
"""Reals below 2^-131072 are enclosed by [0, 2^-131072]; see `discreet.exact.exp`."""
LARGEST_PRECISION = 1 << 14
"""Working bits beyond which `certify` gives up on relative precision: 2^-16384 of cancellation."""


def certify(formula: Callable[[int], Interval], bits: int, *, start: int | None = None) -> Interval:
    """Evaluate `formula` at growing working precision until it is known to 2^-bits, relatively.

    `formula(w)` must enclose the same real for every w and tighten as w grows. A real that is
    exactly zero, or cancels to less than 2^-16384, is returned as the tightest enclosure found.
    """
    working = start if start is not None else bits + 16
    while True:
        try:
            found = formula(working)
        except ZeroDivisionError:
            if working > LARGEST_PRECISION:
                raise
            found = None
        if found is not None:
            if found.lower == found.upper:
                return found
            if found.within(bits):
                return found.rounded(bits + 4)
            if working > LARGEST_PRECISION or _underflows(found):
                return found
        working *= 2


def _underflows(found: Interval) -> bool:
    return found.lower == 0 and found.upper * (1 << UNDERFLOW) <= 4
