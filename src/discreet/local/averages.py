"""Collecting reports of numbers: exact sums that merge, the mean, and how far off it may be.

A collector holds whole numbers only: how many reports of each kind there are, the sum of twice
their distances from the middle report, and the sum of the squares of these. So adding is exact,
merging is associative and commutative, and the mean is a rational number.

Intervals. The n reports are independent, each lies in a range of width w, has a variance of at most
v, and the true value as its mean. The mean of the reports is further than h from the mean of the n
true values with probability at most 2 exp(-2 n h^2/w^2) (Hoeffding 1963), and at most
2 exp(-n h^2/(2 v + 2 w h/3)) (Bernstein). Both widths are known before any report is seen, so the
smaller one may be taken. For reading the values 2^-32 of the distance of the bounds is added, and
2^-49 of the larger bound: values, bounds and the ends of intervals are rounded to floats.

Vectors. A person with d numbers draws t of the d places, and reports each of these with epsilon/t
(Wang et al. 2019: t = floor(epsilon/2.5), at least 1 and at most d); which places were drawn does
not depend on the values, so the report is epsilon-private by adding up. The mean of a place is that
of the reports for it: given how many there are, they come from a uniform sample of people without
replacement, so they are unbiased for everybody's mean, and Hoeffding's inequality holds as it does
for independent draws (Hoeffding 1963, section 6).

Tested by tests/local/test_averages.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, log, probability, sqrt, whole
from discreet.exact.interval import round_up
from discreet.local.mean import RESOLUTION, Mean
from discreet.noise.categorical import Uniform
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, Inversion
from discreet.privacy.guarantee import PureDP, epsilon_of

__all__ = ["MeanCollector", "MeanEstimate", "Means", "VectorCollector"]

FORMAT = "discreet-mean/1"


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An unbiased mean from `n` reports.

    `exact` is the estimate as a rational, `variance` its estimated variance (None for a single
    report), `spread` and `worst` the range and the variance of one report that the intervals take.
    """

    exact: Fraction
    variance: Fraction | None
    n: int
    spread: Fraction
    worst: Fraction | None
    slip: Fraction

    @property
    def mean(self) -> float:
        """The unbiased estimate."""
        return float(self.exact)

    @property
    def standard_error(self) -> float:
        """The estimated standard error; infinite for a single report."""
        return math.inf if self.variance is None else math.sqrt(self.variance)

    def error(self, confidence: Exact = 0.95) -> float:
        """A half-width, rounded up, for the mean of the true values of all people asked.

        Guarantee. The estimate is within it with at least this probability, for every n.
        """
        level = probability(confidence, name="confidence")
        doubt = log(2 / (1 - level), 80).upper
        half = sqrt(self.spread**2 * doubt / (2 * self.n), 80).upper
        if self.worst is not None:  # n h^2 = doubt (2 v + 2 w h/3), solved for h
            linear = doubt * self.spread / (3 * self.n)
            root = sqrt(round_up(linear**2 + 2 * doubt * self.worst / self.n, 120), 80).upper
            half = min(half, linear + root)
        return math.nextafter(float(half + self.slip), math.inf)

    def interval(self, confidence: Exact = 0.95) -> tuple[float, float]:
        """The estimate plus and minus `error`; see there for what is promised."""
        half = self.error(confidence)
        return self.mean - half, self.mean + half


class MeanCollector:
    """Adds up the reports of one `Mean`.

    Guarantee. Everything it does is post-processing of reports: it costs nothing.
    Tested by tests/local/test_averages.py

    >>> ages = Mean(bounds=(0, 100), epsilon=4)
    >>> collector = MeanCollector(ages)
    >>> collector.add(ages.report(40))
    >>> collector.merge(collector).n
    2
    """

    def __init__(self, mechanism: Mean) -> None:
        given: object = mechanism
        if not isinstance(given, Mean):
            raise InputTypeError("a collector needs the dp.local.Mean that made the reports")
        self.mechanism = mechanism
        self._sums = [0, 0, 0, 0, 0]  # piecewise: how many, twice the sum, of squares; minus; plus

    @property
    def n(self) -> int:
        """How many reports were added."""
        return self._sums[0] + self._sums[3] + self._sums[4]

    def add(self, reports: int | Sequence[int] | NDArray[Any]) -> None:
        """Add one report, or many; all of them or, where one is no report, none."""
        array = np.asarray(reports).reshape(-1)
        if array.size and array.dtype.kind not in "iu":
            raise InputTypeError("reports are whole numbers")
        for start in range(0, array.size, CHUNK):  # look at all of them first
            piece = array[start : start + CHUNK]
            if piece.min() < 0 or piece.max() >= self.mechanism.outputs:
                raise ParameterError("reports", None, f"must be below {self.mechanism.outputs}")
        counts = np.zeros(self.mechanism.outputs, dtype=np.int64)
        for start in range(0, array.size, CHUNK):
            counts += np.bincount(array[start : start + CHUNK], minlength=counts.size)
        size = self.mechanism.shape.size
        for report in np.flatnonzero(counts).tolist():
            many = int(counts[report])
            if report < size:
                twice = 2 * report - (size - 1)
                for place, term in enumerate((1, twice, twice * twice)):
                    self._sums[place] += many * term
            else:
                self._sums[3 + report - size] += many

    def merge(self, other: MeanCollector) -> MeanCollector:
        """A new collector with the reports of both."""
        if other.mechanism != self.mechanism:
            raise ParameterError("other", None, "must collect reports of the same dp.local.Mean")
        both = MeanCollector(self.mechanism)
        both._sums = [a + b for a, b in zip(self._sums, other._sums, strict=True)]
        return both

    def to_bytes(self) -> bytes:
        """The sums as text, with the mechanism that they belong to."""
        stored = {"format": FORMAT, "mechanism": repr(self.mechanism), "sums": self._sums}
        return json.dumps(stored, separators=(",", ":")).encode()

    def read(self, stored: bytes) -> MeanCollector:
        """A collector of the same mechanism from `to_bytes`; sums of another are refused."""
        try:
            found = json.loads(stored)
            kind, said, sums = found["format"], found["mechanism"], found["sums"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ParameterError("stored", None, "must be what to_bytes gave") from None
        if kind != FORMAT or said != repr(self.mechanism):
            raise ParameterError("stored", None, "must hold sums of the same dp.local.Mean")
        if not isinstance(sums, list) or len(sums) != 5 or not self._could_be(sums):
            raise ParameterError("stored", None, "must be what to_bytes gave")
        read = MeanCollector(self.mechanism)
        read._sums = sums
        return read

    def _could_be(self, sums: list[Any]) -> bool:
        """Whether some reports have these sums, or nearly: no variance of theirs is negative."""
        if not all(type(one) is int for one in sums):
            return False
        many, twice, squares, minus, plus = sums
        most = max(self.mechanism.shape.size - 1, 0) ** 2
        fits = twice**2 <= many * squares and squares <= many * most
        return bool(fits and min(many, squares, minus, plus) >= 0)

    def estimate(self, *, sampled: bool = False) -> MeanEstimate:
        """The mean of the true values; `sampled` if only some people reported this number."""
        n = self.n
        if not n >= 1:
            raise ParameterError("reports", n, "must be at least one")
        shape, half = self.mechanism.shape, self.mechanism.half
        _, twice, squares, minus, plus = self._sums
        unit = shape.unit / 2 if shape.share else Fraction(0)
        total = unit * twice + shape.reach * (plus - minus)
        square = unit**2 * squares + shape.reach**2 * (plus + minus)
        mean = total / n
        variance = (square / n - mean**2) / (n - 1) * half**2 if n > 1 else None
        low, high = self.mechanism.bounds
        ends = [self.mechanism.stands_for(y) for y in self.mechanism.extremes]
        spread = max(ends) - min(ends)
        worst = None if sampled else self.mechanism.worst_variance
        slip = half / (1 << (RESOLUTION - 1)) + max(abs(low), abs(high)) / (1 << 49)
        return MeanEstimate((low + high) / 2 + half * mean, variance, n, spread, worst, slip)


@dataclass(frozen=True, slots=True, init=False)
class Means:
    """Report several numbers of each person: some of the places are drawn, the others stay silent.

    Guarantee. One report is epsilon-differentially private under "replace", where a person's whole
    vector is replaced by any other.
    Assumes. Each person sends one report.
    Proof. At the top of this module: t reports of epsilon/t each, at places that do not depend on
    the values.
    Tested by tests/local/test_averages.py
    """

    each: Mean
    dimensions: int
    drawn: int
    epsilon: Fraction

    def __init__(
        self,
        bounds: tuple[Exact, Exact],
        epsilon: Exact,
        *,
        dimensions: Exact,
        drawn: int | None = None,
    ) -> None:
        asked = epsilon_of(epsilon)
        size = whole(dimensions, name="dimensions", at_least=1, at_most=1 << 20)
        places = max(1, min(size, int(asked / Fraction(5, 2)))) if drawn is None else drawn
        places = whole(places, name="drawn", at_least=1, at_most=size)
        for name, value in (("dimensions", size), ("drawn", places), ("epsilon", asked)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "each", Mean(bounds, asked / places))

    @property
    def guarantee(self) -> PureDP:
        """Epsilon-differential privacy of one person's whole report."""
        return PureDP(self.epsilon, "replace")

    def reports(
        self, values: NDArray[Any], *, source: Source | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The drawn places and the reports at them, two arrays with one row for each person."""
        array = np.asarray(values)
        if array.ndim != 2 or array.shape[1] != self.dimensions:
            raise InputTypeError(f"rows of {self.dimensions} numbers are needed here")
        if source is None:
            source = system_source()
        self.each.places(array)  # refuse before anything is drawn, whatever is drawn
        places = self._draw(len(array), source)
        chosen = np.take_along_axis(array, places, axis=1)
        found = self.each.reports(chosen, source=source).reshape(places.shape)
        return places, found

    def _draw(self, people: int, source: Source) -> NDArray[Any]:
        """Draw t different places for each person, each uniform among those not drawn before."""
        places = np.empty((people, 0), dtype=np.int64)
        for step in range(self.drawn):
            table = Inversion(Uniform(self.dimensions - step))
            fresh = np.empty(people, dtype=np.int64)
            for start in range(0, people, CHUNK):
                part = fresh[start : start + CHUNK]
                part[:] = table.chunk(part.size, source)
            for before in np.sort(places, axis=1).T:
                fresh += fresh >= before
            places = np.column_stack([places, fresh])
        return places


class VectorCollector:
    """Adds up the reports of one `Means`, place by place.

    Tested by tests/local/test_averages.py
    """

    def __init__(self, mechanism: Means) -> None:
        self.mechanism = mechanism
        self.places = [MeanCollector(mechanism.each) for _ in range(mechanism.dimensions)]

    def add(self, places: NDArray[Any], reports: NDArray[Any]) -> None:
        """Add what `Means.reports` gave."""
        flat, found = np.asarray(places).reshape(-1), np.asarray(reports).reshape(-1)
        fits = flat.size == found.size and (flat.size == 0 or flat.dtype.kind in "iu")
        if not fits or (flat.size and not 0 <= flat.min() <= flat.max() < len(self.places)):
            raise ParameterError("places", None, "must name a place for each report")
        MeanCollector(self.mechanism.each).add(found)  # all of them or, where one is none, none
        order = np.argsort(flat, kind="stable")
        edges = np.searchsorted(flat[order], np.arange(len(self.places) + 1))
        for number, collector in enumerate(self.places):
            collector.add(found[order[edges[number] : edges[number + 1]]])

    def merge(self, other: VectorCollector) -> VectorCollector:
        """A new collector with the reports of both."""
        if other.mechanism != self.mechanism:
            raise ParameterError("other", None, "must collect reports of the same dp.local.Means")
        both = VectorCollector(self.mechanism)
        both.places = [a.merge(b) for a, b in zip(self.places, other.places, strict=True)]
        return both

    def estimate(self) -> list[MeanEstimate]:
        """The mean of every place; each needs at least one report."""
        return [collector.estimate(sampled=True) for collector in self.places]
