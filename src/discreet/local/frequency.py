"""Which oracle to take: the one of least variance whose reports and decoding are affordable.

The candidates are compared by n times the variance of the estimate of a rare value, from their
exact p and q. Left out is what would be unreasonable to run:

* bitmaps (unary encodings, subset selection) for more than 2,000 values: every report would be
  longer than 250 bytes;
* local hashing where its reports cannot be counted in a table and n times k is above 10^10 (or n
  is not said): every report would have to be compared with every value;
* projective response where its table of reports would be too large.

Hadamard response and k-ary response can always be run. Subset selection is never worse than the
unary encodings and k-ary response, so it is chosen up to 2,000 values; where it would report
subsets of one value, k-ary response, which is the same thing with shorter reports.
Tested by tests/local/test_frequency.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.exact import Exact, whole
from discreet.local.domain import Domain, Value
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.oracle import Array, Oracle
from discreet.local.projective import ProjectiveResponse, projective_plan
from discreet.local.report import HEADER, Report
from discreet.local.response import KaryResponse
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimizedUnary, SymmetricUnary
from discreet.noise.source import Source
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import Loss

__all__ = ["Candidate", "Frequency"]

LONGEST_BITMAP = 2000
"""Values of a domain up to which a report may be a bitmap."""
MOST_COMPARISONS = 10**10
"""Comparisons of a report with a value that a server is asked to make."""


@dataclass(frozen=True)
class Candidate:
    """An oracle that was considered: its variance times n, its report in bytes, why not."""

    oracle: Oracle | None
    name: str
    variance: float | None
    report_bytes: int | None
    objection: str | None


class Frequency:
    """How common each value of a public domain is, from reports that each person randomises.

    Guarantee. One report is epsilon-differentially private (`guarantee`); neighbours are "replace":
    one person's value is replaced by any other. It is the guarantee of the chosen `oracle`, whose
    class has the proof.

    Args:
        domain: the public values, or a number k for 0 .. k-1.
        epsilon: of one report.
        n: about how many people will report, if that is known: local hashing needs it.

    >>> question = Frequency(["red", "green", "blue"], 1)
    >>> question.why
    'k-ary response: n times variance 1.259, the least of 7; subsets of one value are the same'
    >>> report = question.report("red").to_bytes()
    >>> len(report)
    11
    """

    def __init__(self, domain: Any, epsilon: Exact, *, n: int | None = None) -> None:
        where = Domain(domain)
        people = None if n is None else whole(n, name="n", at_least=1)
        self.considered: tuple[Candidate, ...] = tuple(_candidates(where, epsilon, people))
        self.oracle, self.why = _chosen(self.considered)

    def __repr__(self) -> str:
        return f"<Frequency by {self.oracle!r}>"

    @property
    def domain(self) -> Domain:
        """The public values."""
        return self.oracle.domain

    @property
    def epsilon(self) -> Fraction:
        """Of one report."""
        return self.oracle.epsilon

    @property
    def guarantee(self) -> PureDP:
        """What is promised to each person for one report."""
        return self.oracle.guarantee

    @property
    def privacy_loss(self) -> Loss:
        """What one report leaks, as a value that an accountant can add up."""
        return self.oracle.privacy_loss

    def report(self, value: Value, *, source: Source | None = None) -> Report:
        """One person's randomised report."""
        return self.oracle.report(value, source=source)

    def reports(self, values: Sequence[Value] | Array, *, source: Source | None = None) -> Array:
        """The payloads of many people's reports, as a numpy array."""
        return self.oracle.reports(values, source=source)


def _candidates(domain: Domain, epsilon: Exact, n: int | None) -> list[Candidate]:
    k = domain.size
    long = f"reports of {-(-k // 8):,} bytes" if k > LONGEST_BITMAP else None
    makers: list[tuple[str, Callable[..., Oracle], str | None]] = [
        ("k-ary response", KaryResponse, None),
        ("subset selection", SubsetSelection, long),
        ("optimised unary encoding", OptimizedUnary, long),
        ("symmetric unary encoding", SymmetricUnary, long),
    ]
    found = [_candidate(name, make(domain, epsilon), no) for name, make, no in makers]
    hashing = LocalHashing(domain, epsilon)
    found.append(_candidate("local hashing", hashing, _too_many(hashing, n)))
    if projective_plan(k, hashing.ratio) is None:
        name = "projective geometry response"
        found.append(Candidate(None, name, None, None, "its table of reports would be too large"))
    else:
        found.append(
            _candidate("projective geometry response", ProjectiveResponse(domain, epsilon), None)
        )
    found.append(_candidate("Hadamard response", HadamardResponse(domain, epsilon), None))
    return found


def _candidate(name: str, oracle: Oracle, objection: str | None) -> Candidate:
    size = HEADER + oracle.width
    return Candidate(oracle, name, oracle.normalised_variance(), size, objection)


def _too_many(oracle: LocalHashing, n: int | None) -> str | None:
    """Why local hashing would be too slow to decode, if it would."""
    if oracle.cells == oracle.codes:
        return None
    if n is None:
        return "every report would be compared with every value, and n was not said"
    comparisons = n * oracle.domain.size
    if comparisons <= MOST_COMPARISONS:
        return None
    return f"{comparisons:.1g} comparisons of a report with a value"


def _chosen(candidates: Sequence[Candidate]) -> tuple[Oracle, str]:
    """The affordable one of least variance; of equal ones, that with the shorter report."""
    able = [
        (one.variance, one.report_bytes, one)
        for one in candidates
        if one.objection is None and one.variance is not None and one.report_bytes is not None
    ]
    variance, _, best = min(able, key=lambda one: one[:2])
    assert best.oracle is not None  # noqa: S101
    why = f"{best.name}: n times variance {variance:.4g}, the least of {len(able)}"
    twin = next(one for one in candidates if isinstance(one.oracle, SubsetSelection))
    if isinstance(best.oracle, KaryResponse) and twin.variance == variance:
        why += "; subsets of one value are the same"
    left = [f"{one.name} ({one.objection})" for one in candidates if one.objection]
    return best.oracle, why + (f"; left out: {', '.join(left)}" if left else "")
