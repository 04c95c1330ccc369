"""What all frequency oracles have in common: one framework of supports.

How one person draws one report is in `discreet.local.device`, which needs the standard library
only; here and in the oracles' modules are many reports at once, collecting, and the proofs.

A report supports some of the values. Let p be the probability that the report of a person with
the value v supports v, and q that the report of somebody else does; both are exact rationals and
the same for all values. If C of n reports support v, then

    estimate f_v = (C/n - q)/(p - q)     is unbiased, with
    n Var(f_v) = (q (1-q) + f_v (p (1-p) - q (1-q)))/(p - q)^2.

Theorem. Every oracle here is built from a ratio r: the probability of each report under each value
is either a c or c for some c that may depend on the report, with 1 <= a <= r; so no two values give
a report probabilities further apart than by the factor r, and one report is ln(r)-differentially
private. (The unary encodings argue bit by bit; see there.)
Proof. For a set S of reports sum both sides over S.
Rounding. r is `ratio_below(epsilon)`: a rational at most e^epsilon, found with certified bounds, so
that ln(r) <= epsilon: the stated epsilon is an upper bound. Everything after that is exact.

Tested by tests/local/test_oracle.py
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.exact import Exact, Interval, rational, whole, written
from discreet.local.device import code_bytes, fingerprint_of, ratio_below
from discreet.local.domain import Domain, Value
from discreet.local.report import Report
from discreet.mechanisms.base import PureMechanism
from discreet.noise.law import Outcomes
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, epsilon_of

__all__ = ["Array", "Coded", "Oracle", "code_type", "normalised", "ratio_below"]

Array = NDArray[Any]
LARGEST_LAW = 1 << 16
"""More reports than this are not listed one by one."""
SMALLEST_EPSILON = Fraction(1, 10**30)
"""For less, no number of people that there could be would tell anything."""
BATCH = 1 << 16
"""Reports handled at a time, so that memory stays bounded."""


def normalised(p: Fraction, q: Fraction, share: Fraction = Fraction(0)) -> float:
    """The variance of the estimate of a value of this share, times n, from p and q."""
    at_zero, at_one = q * (1 - q), p * (1 - p)
    return float((at_zero + share * (at_one - at_zero)) / (p - q) ** 2)


@dataclass(frozen=True, init=False, repr=False)
class Oracle(PureMechanism):
    """A frequency oracle: how a person reports, and how often a report supports each value.

    `report` and `reports` run on the person's device; what `Collector` needs of them is the rest.
    """

    domain: Domain
    epsilon: Fraction
    ratio: Fraction = field(compare=False)
    p: Fraction = field(compare=False)
    q: Fraction = field(compare=False)
    fingerprint: bytes = field(compare=False)

    kind: ClassVar[str]
    """The name in the report's fingerprint: it never changes its meaning."""
    number: ClassVar[int]
    """The second byte of every report."""

    def _settle(self, domain: Any, epsilon: Exact) -> tuple[Domain, Fraction]:
        """Read what every oracle is given."""
        where, price = Domain(domain), epsilon_of(epsilon)
        if not price >= SMALLEST_EPSILON:
            raise ParameterError("epsilon", epsilon, "must be at least 1e-30: reports tell nothing")
        self._put(domain=where, epsilon=price, ratio=ratio_below(price))
        return where, self.ratio

    def _finish(self, p: Fraction, q: Fraction) -> None:
        """Fix p and q, and with them the fingerprint."""
        self._put(p=p, q=q)
        mark = fingerprint_of(self.kind, self.domain.digest(), self.epsilon, self.parameters)
        self._put(fingerprint=mark)

    def _put(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.domain!r}, {written(self.epsilon)}{more})"

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """One person's value is replaced by any other."""
        return "replace"

    @property
    def parameters(self) -> dict[str, Any]:
        """What was chosen beside domain and epsilon, as the constructor takes it."""
        return {}

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of a payload."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many exact counts a collector keeps."""

    @abstractmethod
    def draw(self, place: int, source: Source) -> bytes:
        """The payload of one person: the scalar reference, coin by coin."""

    @abstractmethod
    def draw_many(self, places: Array, source: Source) -> Array:
        """The payloads of many people: the same law, vectorised."""

    @abstractmethod
    def array_of(self, payloads: bytes) -> Array:
        """Payloads, one after the other, as an array of reports."""

    @abstractmethod
    def well_formed(self, reports: Array) -> Array:
        """For each of an array of reports whether this oracle could have written it."""

    @abstractmethod
    def tally(self, reports: Array) -> Array:
        """The exact counts that an array of well-formed reports adds, as int64."""

    def adds_up(self, tally: Array, n: int) -> bool:
        """Whether n well-formed reports can have these counts, as far as sums tell."""
        return n >= 0 and (not tally.size or 0 <= int(tally.min()) <= int(tally.max()) <= n)

    @abstractmethod
    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """For each value how many reports support it; and how many count against it, if any do."""

    @abstractmethod
    def listed(self, place: int) -> dict[bytes, Fraction]:
        """Every payload with its exact probability for the value at a place."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How many different payloads there are, at most."""

    @property
    def bias(self) -> float:
        """How far the expectation of an estimate may be from the truth; sketches have one."""
        return 0.0

    def report(self, value: Value, *, source: Source | None = None) -> Report:
        """One person's randomised report.

        A value that was not declared is refused without being quoted, before anything is drawn.
        """
        place = self.domain.place(value)
        payload = self.draw(place, source if source is not None else system_source())
        return Report(self.number, self.fingerprint, payload)

    def reports(self, values: Sequence[Value] | Array, *, source: Source | None = None) -> Array:
        """The payloads of many people's reports, one each, as a numpy array."""
        places = self.domain.places(values)
        return self.draw_many(places, source if source is not None else system_source())

    def law(self, value: Value) -> Outcomes:
        """The exact law of the payload of a person whose value is `value`."""
        if self.outcomes > LARGEST_LAW:
            raise UnsupportedError(
                f"{type(self).__name__} has more than {LARGEST_LAW:,} different reports here: "
                "too many to list. Take a smaller domain"
            )
        found = self.listed(self.domain.place(value))
        masses = [Interval.of(mass) for mass in found.values()]
        return Outcomes(tuple(found), lambda _: masses)

    def small_neighbours(self) -> Iterator[tuple[Value, Value]]:
        """All pairs among the first eight values: no value is treated unlike the others."""
        return combinations([self.domain.label(i) for i in range(min(len(self.domain), 8))], 2)

    def normalised_variance(self, share: Exact = 0) -> float:
        """The variance of the estimate of a value of this share of the people, times n."""
        part = rational(share, name="share")
        if not 0 <= part <= 1:
            raise ParameterError("share", share, "must lie between 0 and 1")
        return normalised(self.p, self.q, part)

    def standard_error(self, n: int, share: Exact = 0) -> float:
        """The standard error of one estimated share from n reports."""
        size = whole(n, name="n", at_least=1)
        return float((self.normalised_variance(share) / size) ** 0.5)

    def shaped(self, reports: object) -> Array:
        """An array that may hold reports of this oracle, by its type and shape alone."""
        empty = self.array_of(b"")
        fits = (
            isinstance(reports, np.ndarray)
            and reports.dtype == empty.dtype
            and reports.shape[1:] == empty.shape[1:]
        )
        if not fits:
            shape = ("n", *empty.shape[1:])
            said = f"of {empty.dtype} and shape ({', '.join(map(str, shape))})"
            raise InputTypeError(
                f"reports of {type(self).__name__} are an array {said}, as its reports(...) makes "
                "them; nothing was collected"
            )
        return np.asarray(reports)


def code_type(codes: int) -> np.dtype[Any]:
    """The smallest little-endian unsigned integer that holds 0 .. codes - 1."""
    return np.dtype(f"<u{code_bytes(codes)}")


class Coded(Oracle):
    """An oracle whose report is one integer below `codes`."""

    @property
    @abstractmethod
    def codes(self) -> int:
        """How many different reports there are."""

    @abstractmethod
    def code(self, place: int, source: Source) -> int:
        """One person's report: the scalar reference."""

    @abstractmethod
    def mass(self, place: int, code: int) -> Fraction:
        """The exact probability of a report."""

    @property
    def outcomes(self) -> int:
        """How many different payloads there are."""
        return self.codes

    @property
    def width(self) -> int:
        """Bytes of a payload."""
        return code_type(self.codes).itemsize

    @property
    def cells(self) -> int:
        """One count for each code."""
        return self.codes

    def draw(self, place: int, source: Source) -> bytes:
        """The code as a little-endian integer."""
        return self.code(place, source).to_bytes(self.width, "little")

    def array_of(self, payloads: bytes) -> Array:
        """Payloads as a flat array of unsigned integers."""
        return np.frombuffer(payloads, dtype=code_type(self.codes))

    def well_formed(self, reports: Array) -> Array:
        """A code is below the number of codes."""
        return np.asarray(reports <= self.codes - 1)

    def tally(self, reports: Array) -> Array:
        """How often each code occurs."""
        found = np.zeros(self.cells, dtype=np.int64)
        step = max(BATCH, self.cells)
        for start in range(0, len(reports), step):
            found += np.bincount(reports[start : start + step], minlength=self.cells)
        return found

    def adds_up(self, tally: Array, n: int) -> bool:
        """Where every code has its count, these are all of them."""
        whole_of_it = self.cells != self.codes or sum(tally.tolist()) == n
        return super().adds_up(tally, n) and whole_of_it

    def listed(self, place: int) -> dict[bytes, Fraction]:
        """Every code with its probability."""
        return {
            code.to_bytes(self.width, "little"): self.mass(place, code)
            for code in range(self.codes)
        }
