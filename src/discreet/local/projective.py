"""Projective geometry response: short reports with nearly the least variance.

Let F be the field of a prime number m of elements. Values and reports are points of the projective
space of F^t, lines through 0, each written as its vector whose first non-zero digit is 1; there are
K = (m^t - 1)/(m - 1) of them. S(v) are the c = (m^(t-1) - 1)/(m - 1) points orthogonal to v. A
report of S(v) has probability r/Z, any other 1/Z, with Z = r c + K - c.

Theorem (Feldman, Nelson, Nguyen and Talwar 2022). One report is ln(r)-differentially private, with
p = r c/Z and q = (r c2 + c - c2)/Z, c2 = (m^(t-2) - 1)/(m - 1).
Proof. Each report has probability r/Z or 1/Z under every value. The points orthogonal to two
different points are those of a space of t - 2 dimensions, c2 in number; so |S(v) and S(v')| = c2.

Decoding counts the reports and eliminates one digit at a time (`discreet.local.linear`).
Tested by tests/local/test_projective.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.local.device import (
    LARGEST_TABLE,
    digits_of,
    dimension,
    points,
    projective,
    smallest_factor,
    vector_of,
)
from discreet.local.linear import LinearHash, all_supports
from discreet.local.oracle import Array, Coded, code_type, normalised
from discreet.noise.bulk import flips, uniforms
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["ProjectiveResponse", "projective_plan"]

_TRIED = 40

_PAIRS = 1 << 20
"""Pairs of a value and a report that are multiplied at a time."""


@dataclass(frozen=True, init=False, repr=False)
class ProjectiveResponse(Coded):
    """Report a point, more likely one that is orthogonal to the value's point.

    `prime` is the size of the field; if it is not said, the one of least variance.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. At the top of this module, with r <= e^epsilon.
    Tested by tests/local/test_projective.py

    >>> oracle = ProjectiveResponse(1024, 1)
    >>> oracle.prime, oracle.codes
    (3, 1093)
    """

    prime: int = 0
    kind: ClassVar[str] = "projective geometry response"
    number: ClassVar[int] = 7

    def __init__(self, domain: Any, epsilon: Exact, *, prime: int | None = None) -> None:
        where, r = self._settle(domain, epsilon)
        if prime is None:
            m = projective_plan(where.size, r)
            if m is None:
                problem = "must be smaller for this oracle: its table of reports would be too large"
                raise ParameterError("domain", where.size, problem)
        else:
            m = whole(prime, name="prime", at_least=2)
            if smallest_factor(m) != m or not _fits(m, where.size):
                problem = "must be a prime, and small enough for the table of reports"
                raise ParameterError("prime", prime, problem)
        self._put(prime=m)
        self._finish(*_chances(m, dimension(m, where.size), r))

    @property
    def parameters(self) -> dict[str, Any]:
        """The size of the field."""
        return {"prime": self.prime}

    @property
    def dimension(self) -> int:
        """The number t of digits of a point."""
        return dimension(self.prime, self.domain.size)

    @property
    def codes(self) -> int:
        """The number K of points."""
        return points(self.prime, self.dimension)

    def mass(self, place: int, code: int) -> Fraction:
        """The mass is r/Z for an orthogonal point, 1/Z for another."""
        m, t = self.prime, self.dimension
        first, second = (digits_of(vector_of(point, m), m, t) for point in (place, code))
        orthogonal = sum(x * y for x, y in zip(first, second, strict=True)) % m == 0
        share = self.p / points(m, t - 1)
        return share if orthogonal else share / self.ratio

    def code(self, place: int, source: Source) -> int:
        """All digits but one at random; that one makes the product what it has to be."""
        return projective(place, self.prime, self.dimension, self.p, source)

    def draw_many(self, places: Array, source: Source) -> Array:
        """The same for each person."""
        m, t, n = self.prime, self.dimension, places.size
        value = _split(_vectors(places, m, t), m, t)
        lead = _leading(value)
        orthogonal = flips(inversion(Bernoulli(self.p)), n, source)
        others = m ** (t - 1)
        free = np.where(
            orthogonal == 1, 1 + uniforms(others - 1, n, source), uniforms(others, n, source)
        )
        product = np.where(orthogonal == 1, 0, 1 + uniforms(m - 1, n, source))
        rest = _split(free, m, t - 1)
        zero = np.zeros_like(free)
        digits = []
        for j in range(t):
            below = rest[j] if j < t - 1 else zero
            above = rest[j - 1] if j > 0 else zero
            digits.append(np.where(j < lead, below, np.where(j > lead, above, 0)))
        for x, y in zip(value, digits, strict=True):
            product = product - x * y
        digits = [np.where(j == lead, product % m, digit) for j, digit in enumerate(digits)]
        return _points_of(digits, m).astype(code_type(self.codes))

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """The reports orthogonal to each value's point: pair by pair, or all at once if cheaper."""
        m, t, k = self.prime, self.dimension, self.domain.size
        if k * self.codes < m ** (t + 2):
            return self._pair_by_pair(tally), None
        table = np.zeros((m**t, m), dtype=np.int64)
        table[_vectors(np.arange(self.codes), m, t), 0] = tally
        found = all_supports(table.reshape(-1), LinearHash(m, m**t))
        return found[_vectors(np.arange(k), m, t)], None

    def _pair_by_pair(self, tally: Array) -> Array:
        m, t, k = self.prime, self.dimension, self.domain.size
        reported = np.flatnonzero(tally)
        others = np.stack(_split(_vectors(reported, m, t), m, t))
        found, step = np.zeros(k, dtype=np.int64), max(_PAIRS // max(reported.size, 1), 1)
        for start in range(0, k, step):
            values = np.arange(start, min(start + step, k))
            products = np.stack(_split(_vectors(values, m, t), m, t)).T @ others
            found[values] = (products % m == 0) @ tally[reported]
        return found


def _chances(m: int, t: int, r: Fraction) -> tuple[Fraction, Fraction]:
    every, one, two = (points(m, d) for d in (t, t - 1, t - 2))
    total = r * one + every - one
    return r * one / total, (r * two + one - two) / total


def _fits(m: int, k: int) -> bool:
    return int(m ** (dimension(m, k) + 1)) <= LARGEST_TABLE


def projective_plan(k: int, r: Fraction) -> int | None:
    """The prime of least variance whose table of reports fits, or None."""
    start, primes = max(int(r) + 1 - _TRIED, 2), []
    for m in range(start, int(r) + 2 + 2 * _TRIED):
        if m > LARGEST_TABLE:
            break
        if smallest_factor(m) == m and _fits(m, k):
            primes.append(m)
    if not primes:
        return 2 if _fits(2, k) else None
    return min(primes, key=lambda m: normalised(*_chances(m, dimension(m, k), r)))


def _vectors(numbers: Array, m: int, t: int) -> Array:
    """The vectors of many points."""
    before = np.array([points(m, j) for j in range(t)], dtype=np.int64)
    place = np.searchsorted(before, numbers, side="right") - 1
    return np.asarray(
        np.array([m**j for j in range(t)], dtype=np.int64)[place] + numbers - before[place]
    )


def _split(numbers: Array, m: int, t: int) -> list[Array]:
    """The digits of many numbers, the lowest first."""
    out = []
    for _ in range(t):
        rest = numbers // m
        out.append(numbers - rest * m)
        numbers = rest
    return out


def _leading(digits: list[Array]) -> Array:
    """The place of the highest digit that is not 0."""
    lead = np.zeros(len(digits[0]), dtype=np.int64)
    for j, digit in enumerate(digits):
        lead = np.where(digit != 0, j, lead)
    return lead


def _points_of(digits: list[Array], m: int) -> Array:
    """The points of many vectors: scaled so that the leading digit is 1, then numbered."""
    inverses = np.array([0, *(pow(x, -1, m) for x in range(1, m))], dtype=np.int64)
    lead = _leading(digits)
    top = np.zeros_like(lead)
    for j, digit in enumerate(digits):
        top = np.where(j == lead, digit, top)
    scale = inverses[top]
    vector = np.zeros_like(lead)
    for j, digit in enumerate(digits):
        vector += digit * scale % m * m**j
    powers = np.array([m**j for j in range(len(digits))], dtype=np.int64)
    before = np.array([points(m, j) for j in range(len(digits))], dtype=np.int64)
    return np.asarray(before[lead] + vector - powers[lead])
