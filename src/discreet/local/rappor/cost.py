"""What RAPPOR reports cost, as certified upper bounds.

Theorem (n reports of one value). Let A = (q/p)^n, B = ((1-p)/(1-q))^n for q > p, and

    U = ((1 - f/2) A + f/2) / ((f/2) A + 1 - f/2),   V the same with B in the place of A.

Then n reports of one value are epsilon-differentially private with epsilon = i ln U + j ln V, where
i, j <= h and i + j <= k are chosen to make it largest (i = j = h for k >= 2h). It is tight: for
k >= 2h some two Bloom filters and some reports attain it. (For q < p, exchange 0 and 1 in all
reports.)

Proof. Two Bloom filters X and Y have at most h bits each; let i bits be in X only and j in Y only.
Given the filters all bits are independent, and the others have the same law under both. A bit that
is in X is permanently 1 with probability 1 - f/2, a bit that is not with f/2; t ones among its n
reports have likelihood L = (q/p)^t ((1-q)/(1-p))^(n-t) for a permanent 1 against a permanent 0. So
the ratio for a bit of X only is g(L) = ((1 - f/2) L + f/2)/((f/2) L + 1 - f/2), which grows with L:
its largest value is U, at L = A (all ones), its smallest 1/V, at L = 1/B (all zeros). A bit of Y
only has 1/g(L), at most V. Multiply.

* n = 1: U = q*/p* and V = (1-p*)/(1-q*): the cost of one report.
* n without limit: A and B grow without limit and U, V tend to (1 - f/2)/(f/2): 2 h ln of that is
  the cost of all reports of one value, for ever. It is the long-run cost, and the one to look at.

Theorem (several values). A person who reports d values, n_1, .., n_d times, costs the sum of the d
costs, *if it is public which of the reports are of the same value*: neighbours are two histories
with the same pattern of changes. Proof. Different values have independent permanent responses, so
given the pattern the d groups of reports are independent, and their ratios multiply.

Where the pattern is secret too, that sum is NOT a bound, and memoisation costs much more: two
reports from one permanent response look alike on all k bits, and that they do tells that the value
has not changed. (p = 0, q = 1 shows it at its worst: equal reports are certain for (a, a) and
unlikely for (b, c), different ones impossible for (a, a).) What holds for any two histories of r
reports is: the cost of one report, and for each further one k max(ln(q/p), ln((1-p)/(1-q))).
Proof. Given the history and the reports so far, each bit of the next report is 1 with some
probability between p and q, whatever the history is; bits are independent; multiply the ratios.

Tested by tests/local/rappor/test_cost.py, by enumeration of all reports of all filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import log, shown, whole
from discreet.local.rappor.params import Params
from discreet.privacy.guarantee import LARGEST_EPSILON, PureDP

__all__ = ["Costs", "any_history", "client", "costs", "forever", "one_report", "reports"]

_GRID = 60
_MOST_REPORTS = 10_000
"""Beyond it the cost is that of reporting for ever, to all digits that matter."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a collection; None where no epsilon up to 1000 is enough.

    Attributes:
        one: one report.
        forever: any number of reports of one value.
        client: any number of reports of `values` values, with a public pattern of changes.
        values: how many different values a client reports.
    """

    one: Fraction | None
    forever: Fraction | None
    client: Fraction | None
    values: int

    def __str__(self) -> str:
        said = [_said(cost) for cost in (self.one, self.forever, self.client)]
        return f"epsilon {said[0]} for one report, {said[1]} for one value for ever" + (
            f", {said[2]} for {self.values} values" if self.values > 1 else ""
        )


def costs(params: Params, *, values: int = 1, one_hot: bool = False) -> Costs:
    """All costs of a collection, as one value.

    >>> print(costs(Params(k=8, p="0.39", q="0.61", f="0.45"), values=10))
    epsilon 0.9728 for one report, 4.9471 for one value for ever, 49.4706 for 10 values
    """
    number = whole(values, name="values", at_least=1)
    ever = forever(params, one_hot=one_hot)
    several = client(params, [None] * number, one_hot=one_hot)
    return Costs(one_report(params, one_hot=one_hot), ever, several, number)


def one_report(params: Params, *, one_hot: bool = False) -> Fraction | None:
    """The cost of one report, rounded up to a multiple of 2^-60; `one_hot` for identity maps."""
    return reports(params, 1, one_hot=one_hot)


def reports(params: Params, n: int, *, one_hot: bool = False) -> Fraction | None:
    """The cost of n reports of one value, rounded up; at most that of `forever`."""
    number = whole(n, name="n", at_least=1)
    if number > _MOST_REPORTS:
        return forever(params, one_hot=one_hot)
    low, high = sorted((params.p, params.q))
    u = _ratio(low, high, params.f, number)
    v = _ratio(1 - high, 1 - low, params.f, number)
    return _cost(u, v, params, one_hot=one_hot)


def forever(params: Params, *, one_hot: bool = False) -> Fraction | None:
    """The cost of any number of reports of one value, rounded up; None for f = 0."""
    ratio = None if params.f == 0 else (1 - params.f / 2) / (params.f / 2)
    return _cost(ratio, ratio, params, one_hot=one_hot)


def client(
    params: Params, numbers: Sequence[int | None], *, one_hot: bool = False
) -> Fraction | None:
    """The cost of numbers[i] reports of the i-th value, None for any number of them.

    For neighbours with the same public pattern of changes: see the top of this module.
    """
    if not numbers:
        raise ParameterError("numbers", None, "must hold one number for each value")
    total = Fraction(0)
    for n, times in Counter(numbers).items():
        each = (
            forever(params, one_hot=one_hot) if n is None else reports(params, n, one_hot=one_hot)
        )
        if each is None:
            return None
        total += times * each
    return _limited(total)


def any_history(params: Params, n: int, *, one_hot: bool = False) -> Fraction | None:
    """The cost of n reports whatever changes between them, the pattern being secret too."""
    number = whole(n, name="n", at_least=1)
    first = one_report(params, one_hot=one_hot)
    low, high = sorted((params.p, params.q))
    if number == 1 or first is None:
        return first
    if low == 0 or high == 1:
        return None
    each = _rounded(max(high / low, (1 - low) / (1 - high)))
    return _limited(first + (number - 1) * params.k * each)


def guarantee(cost: Fraction | None) -> PureDP:
    """A cost as a promise: one person's values are replaced by any others."""
    if cost is None:
        problem = "must be finite to be promised; f = 0 or sure bits (p = 0, q = 1) have none"
        raise ParameterError("epsilon", None, problem)
    return PureDP(cost, "replace")


def _ratio(low: Fraction, high: Fraction, f: Fraction, n: int) -> Fraction | None:
    """g(L) for L = (high/low)^n; None where it is infinite."""
    if low == 0:
        return None if f == 0 else (1 - f / 2) / (f / 2)
    likelihood = (high / low) ** n
    return ((1 - f / 2) * likelihood + f / 2) / (f / 2 * likelihood + 1 - f / 2)


def _cost(
    u: Fraction | None, v: Fraction | None, params: Params, *, one_hot: bool
) -> Fraction | None:
    """The largest i ln u + j ln v with i, j <= h and i + j <= k, rounded up."""
    hashes = 1 if one_hot else min(params.h, params.k)
    if u is None or v is None:
        return None
    more, less = max(u, v), min(u, v)
    return _limited(hashes * _rounded(more) + min(hashes, params.k - hashes) * _rounded(less))


def _rounded(ratio: Fraction) -> Fraction:
    """ln(ratio), rounded up to a multiple of 2^-80."""
    bound = log(ratio, 90).upper
    return Fraction(-(-(bound.numerator << 80) // bound.denominator), 1 << 80)


def _limited(cost: Fraction) -> Fraction | None:
    """A cost on the grid of 2^-60, rounded up; None beyond what an epsilon may be."""
    cost = Fraction(max(-(-(cost.numerator << _GRID) // cost.denominator), 1), 1 << _GRID)
    return cost if cost <= LARGEST_EPSILON else None


def _said(cost: Fraction | None) -> str:
    """Four digits, rounded up: what is printed is a bound too."""
    if cost is None:
        return "infinite"
    return shown(Fraction(-(-(cost.numerator * 10_000) // cost.denominator), 10_000))
