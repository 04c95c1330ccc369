"""Sensitivities that are theorems: counts, sums, means, histograms and two utilities.

The sensitivity of f is the largest norm of f(x) - f(y) over all neighbours x and y. It depends on
the norm and on the relation, so both are part of the result. Every function here states its
theorem and its proof; the tests find the same number by trying all small datasets.

>>> print(of_mean(0, 1, n=30))
1/30 in the L1 norm (replace): the sum moves by at most upper - lower, and n is public
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.errors import ParameterError
from discreet.exact import Exact, rational, shown, whole
from discreet.privacy.guarantee import Neighbours, neighbours_of
from discreet.sensitivity.norms import Norm, NormName, as_norm, root_up

__all__ = [
    "Sensitivity",
    "of_absolute_utility",
    "of_count",
    "of_counts",
    "of_histogram",
    "of_mean",
    "of_squared_utility",
    "of_sum",
]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A sensitivity with its norm, its relation and the reason for it.

    `value` is exact where it is rational; a root that is not is rounded up. `squared` is the exact
    square of the true sensitivity in either case. Write `.value` where a mechanism wants a number.
    """

    value: Fraction
    norm: NormName
    neighbours: Neighbours
    why: str
    squared: Fraction

    def __str__(self) -> str:
        return f"{shown(self.value)} in the {self.norm} norm ({self.neighbours}): {self.why}"


def of_count(neighbours: Neighbours = "add_or_remove") -> Sensitivity:
    """One count.

    Guarantee. The sensitivity is 1 under both relations, and no smaller number would do.
    Proof. A person adds 0 or 1 to the count; so does whoever replaces them.
    Tested by tests/sensitivity/test_analytic.py
    """
    why = "one person adds 0 or 1 to a count"
    return _exactly(1, "L1", neighbours_of(neighbours), why)


def of_counts(
    k: int, neighbours: Neighbours = "add_or_remove", norm: NormName | Norm = "L1"
) -> Sensitivity:
    """K counts on the same people, any of which one person may be in.

    Guarantee. k in L1, the root of k in L2, 1 in Linf, under both relations; no smaller would do.
    Proof. Each count moves by at most 1, by `of_count`; all k do where a person who is in all of
    them leaves, or is replaced by one who is in none.
    Tested by tests/sensitivity/test_analytic.py

    >>> of_counts(2_000_000).value, of_counts(2_000_000, norm="L2").squared
    (Fraction(2000000, 1), Fraction(2000000, 1))
    """
    counts = whole(k, name="k", at_least=1)
    why = f"one person moves each of {counts} counts by at most 1"
    return _of_ones(counts, name_of(norm), neighbours_of(neighbours), why)


def of_histogram(
    neighbours: Neighbours = "add_or_remove", norm: NormName | Norm = "L1"
) -> Sensitivity:
    """The counts of disjoint bins: each person is in one of them.

    Guarantee. Added or removed: 1 in every norm. Replaced: 2 in L1, the root of 2 in L2, 1 in
    Linf. With two bins or more no smaller number would do.
    Proof. A person who joins moves one bin by 1. One who is replaced by somebody of another bin
    moves two bins by 1 each.
    Tested by tests/sensitivity/test_analytic.py

    >>> of_histogram("replace", "L2").squared
    Fraction(2, 1)
    """
    relation = neighbours_of(neighbours)
    bins = 1 if relation == "add_or_remove" else 2
    why = f"one person moves {'one bin' if bins == 1 else 'two bins'} by 1"
    return _of_ones(bins, name_of(norm), relation, why)


def of_sum(lower: Exact, upper: Exact, neighbours: Neighbours = "add_or_remove") -> Sensitivity:
    """A sum of numbers, each within [lower, upper].

    Guarantee. Added or removed: the larger of |lower| and |upper|. Replaced: upper - lower. No
    smaller number would do.
    Proof. One term joins or leaves, and it lies in the range; or one term becomes another, and
    two numbers of the range differ by at most its width. The ends attain both.
    Tested by tests/sensitivity/test_analytic.py

    >>> of_sum(-3, 5).value, of_sum(-3, 5, "replace").value
    (Fraction(5, 1), Fraction(8, 1))
    """
    low, high = _bounds(lower, upper)
    relation = neighbours_of(neighbours)
    if relation == "replace":
        return _exactly(high - low, "L1", relation, "one term moves within [lower, upper]")
    why = "one term joins or leaves, at most max(|lower|, |upper|) from 0"
    return _exactly(max(abs(low), abs(high)), "L1", relation, why)


def of_mean(lower: Exact, upper: Exact, n: int, neighbours: Neighbours = "replace") -> Sensitivity:
    """A mean of n numbers, each within [lower, upper], where n is public.

    Guarantee. Replaced: (upper - lower)/n, and no smaller number would do. The other relation is
    refused: when people come and go their number is private, and a mean over a private number of
    people is two questions, a sum and a count.
    Proof. `of_sum`, divided by n.
    Tested by tests/sensitivity/test_analytic.py
    """
    low, high = _bounds(lower, upper)
    size = _public_size(n, neighbours)
    why = "the sum moves by at most upper - lower, and n is public"
    return _exactly((high - low) / size, "L1", "replace", why)


def of_squared_utility(
    n: int, lower: Exact = 0, upper: Exact = 1, neighbours: Neighbours = "replace"
) -> Sensitivity:
    """The utility -(mean - l)^2 of a candidate l, for n public, records and l in [lower, upper].

    Guarantee. With w = upper - lower the utility of each candidate moves by at most
    w^2 (2/n - 1/n^2) when one record is replaced, and no smaller number would do. (1/n, which one
    reads in class notes, is too small for every n > 1.)
    Proof. Let the mean move from a to b, and d = |a - b| <= w/n. The utility moves by
    |(a - l)^2 - (b - l)^2| = d |(a - l) + (b - l)|. Both terms lie in [-w, w] and differ by d, so
    their sum is at most 2w - d. Now d(2w - d) grows with d up to w, so it is at most
    (w/n)(2w - w/n). All records at upper, l = lower and one record moved to lower attain it.
    Tested by tests/sensitivity/test_analytic.py

    >>> of_squared_utility(3).value
    Fraction(5, 9)
    """
    low, high = _bounds(lower, upper)
    size = _public_size(n, neighbours)
    worst = (high - low) ** 2 * (Fraction(2, size) - Fraction(1, size**2))
    why = "the mean moves by d <= w/n and the utility by at most d(2w - d), w = upper - lower"
    return _exactly(worst, "Linf", "replace", why)


def of_absolute_utility(
    n: int, lower: Exact = 0, upper: Exact = 1, neighbours: Neighbours = "replace"
) -> Sensitivity:
    """The utility -|mean - l| of a candidate l, for n public and records in [lower, upper].

    Guarantee. The utility of each candidate moves by at most (upper - lower)/n when one record is
    replaced, wherever l lies; with l at an end no smaller number would do.
    Proof. ||a - l| - |b - l|| <= |a - b|, and `of_mean` bounds that.
    Tested by tests/sensitivity/test_analytic.py

    >>> of_absolute_utility(3).value
    Fraction(1, 3)
    """
    low, high = _bounds(lower, upper)
    size = _public_size(n, neighbours)
    why = "the utility moves by no more than the mean does, (upper - lower)/n"
    return _exactly((high - low) / size, "Linf", "replace", why)


def name_of(value: NormName | Norm) -> NormName:
    """The name of a norm, from its name or from the norm itself."""
    name = as_norm(value).name
    if name not in ("L1", "L2", "Linf"):
        raise ParameterError("norm", value, "must be 'L1', 'L2' or 'Linf'")
    return cast(NormName, name)


def _of_ones(ones: int, norm: NormName, neighbours: Neighbours, why: str) -> Sensitivity:
    """The norm of a vector of this many ones."""
    if norm == "L2":
        value = Fraction(root_up(ones))
        return Sensitivity(value, norm, neighbours, why, squared=Fraction(ones))
    return _exactly(ones if norm == "L1" else 1, norm, neighbours, why)


def _exactly(
    value: Fraction | int, norm: NormName, neighbours: Neighbours, why: str
) -> Sensitivity:
    return Sensitivity(Fraction(value), norm, neighbours, why, squared=Fraction(value) ** 2)


def _bounds(lower: Exact, upper: Exact) -> tuple[Fraction, Fraction]:
    low, high = rational(lower, name="lower"), rational(upper, name="upper")
    if not low < high:
        raise ParameterError("upper", upper, "must be above lower")
    return low, high


def _public_size(n: int, neighbours: Neighbours) -> int:
    if neighbours_of(neighbours) != "replace":
        raise ParameterError(
            "neighbours",
            neighbours,
            "must be 'replace' here: a mean with a public n has no neighbour with one person "
            "more; release a sum (of_sum) and a count (of_count) instead",
        )
    return whole(n, name="n", at_least=1)
