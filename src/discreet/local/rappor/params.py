"""The six numbers of a RAPPOR collection, and the file that holds them.

k Bloom bits, h hashes, m cohorts; p and q, the chances that a reported bit is 1 where the permanent
bit is 0 and 1; f, the noise of the permanent bits. With one person's permanent response drawn once
and reported once, a bit is reported as 1 with probability

    q* = f (p + q)/2 + (1 - f) q   where the Bloom bit is 1,
    p* = f (p + q)/2 + (1 - f) p   where it is 0.

All of them are exact: 0.45 is 45/100, whatever a float makes of it.
Tested by tests/local/rappor/test_params.py
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.errors import ParameterError
from discreet.exact import Exact, rational, shown, whole, written

__all__ = ["COMPATIBLE_STEP", "MOST_BITS", "MOST_COHORTS", "MOST_HASHES", "Params"]

MOST_BITS = 256
"""A hash is one byte, so it reaches 256 bits."""
MOST_HASHES = 16
"""An MD5 digest has 16 bytes, one for each hash."""
MOST_COHORTS = 1 << 16
COMPATIBLE_BITS = 32
"""The original client takes one byte of an HMAC-SHA256 for each permanent bit."""
COMPATIBLE_STEP = Fraction(1, 128)
"""The original client compares seven bits with f, so f is a multiple of 1/128 there."""
_HEADER = ["k", "h", "m", "p", "q", "f"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Params:
    """The parameters of a collection; the defaults are those of the original clients.

    >>> params = Params(k=8, m=128, p="0.39", q="0.61", f="0.45")
    >>> float(params.q_star), float(params.p_star)
    (0.5605, 0.4395)
    >>> params.is_compatible, float(params.compatible().f)
    (False, 0.453125)
    """

    k: int
    h: int
    m: int
    p: Fraction
    q: Fraction
    f: Fraction

    def __init__(
        self,
        k: int = 16,
        h: int = 2,
        m: int = 64,
        p: Exact = "0.5",
        q: Exact = "0.75",
        f: Exact = "0.5",
    ) -> None:
        put = object.__setattr__
        put(self, "k", whole(k, name="k", at_least=1, at_most=MOST_BITS))
        put(self, "h", whole(h, name="h", at_least=1, at_most=MOST_HASHES))
        put(self, "m", whole(m, name="m", at_least=1, at_most=MOST_COHORTS))
        put(self, "p", _chance(p, "p"))
        put(self, "q", _chance(q, "q"))
        put(self, "f", _chance(f, "f"))
        if self.p == self.q:
            raise ParameterError("q", q, "must differ from p: equal ones report nothing")
        if self.f == 1:
            raise ParameterError("f", f, "must be below 1: all noise reports nothing")

    def __repr__(self) -> str:
        chances = ", ".join(f"{name}={written(getattr(self, name))}" for name in "pqf")
        return f"Params(k={self.k}, h={self.h}, m={self.m}, {chances})"

    @property
    def q_star(self) -> Fraction:
        """The chance that one report has a 1 where the Bloom bit is 1."""
        return self.f * (self.p + self.q) / 2 + (1 - self.f) * self.q

    @property
    def p_star(self) -> Fraction:
        """The chance that one report has a 1 where the Bloom bit is 0."""
        return self.f * (self.p + self.q) / 2 + (1 - self.f) * self.p

    @property
    def is_compatible(self) -> bool:
        """Whether the original clients have exactly this law: k at most 32, f in 128ths."""
        return self.k <= COMPATIBLE_BITS and (self.f / COMPATIBLE_STEP).denominator == 1

    def compatible(self) -> Params:
        """The parameters whose law the original clients have when they are given these.

        They count the seven-bit numbers below 128 f, so that f is rounded up to a 128th.
        """
        if not self.k <= COMPATIBLE_BITS:
            problem = f"must be at most {COMPATIBLE_BITS} for the original clients"
            raise ParameterError("k", self.k, problem)
        steps = self.f / COMPATIBLE_STEP
        rounded = -(-steps.numerator // steps.denominator) * COMPATIBLE_STEP
        if rounded == 1:
            problem = "is rounded up to 1 by the original clients, which reports nothing"
            raise ParameterError("f", shown(self.f), problem)
        return Params(self.k, self.h, self.m, self.p, self.q, rounded)

    @classmethod
    def read(cls, path: str | Path) -> Params:
        """Read a parameters file: the header k,h,m,p,q,f and one row of numbers."""
        rows = [row for row in csv.reader(io.StringIO(_text(path))) if row]
        if not rows or [name.strip() for name in rows[0]] != _HEADER:
            problem = f"must begin with the header {','.join(_HEADER)}"
            raise ParameterError("the parameters file", None, problem)
        if len(rows) != 2 or len(rows[1]) != len(_HEADER):
            problem = f"must have exactly one row of {len(_HEADER)} numbers after its header"
            raise ParameterError("the parameters file", None, problem)
        k, h, m = (whole(text, name=name) for text, name in zip(rows[1][:3], "khm", strict=True))
        return cls(k, h, m, *rows[1][3:])

    def write(self, path: str | Path) -> None:
        """Write a parameters file; decimals where they are exact, else fractions."""
        chances = [_decimal(getattr(self, name)) for name in "pqf"]
        row = ",".join([str(self.k), str(self.h), str(self.m), *chances])
        Path(path).write_text(f"{','.join(_HEADER)}\n{row}\n", encoding="utf-8")


def _chance(value: object, name: str) -> Fraction:
    number = rational(value, name=name)
    if not 0 <= number <= 1:
        raise ParameterError(name, value, "must lie between 0 and 1")
    return number


def _decimal(number: Fraction) -> str:
    near = repr(float(number))
    return near if Fraction(near) == number else str(number)


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError("the parameters file", str(path), "is no UTF-8 text") from None
