"""Two variables reported by the same clients: their joint distribution by expectation maximisation.

Each client reports two values, in one cohort, each through its own filter and coins. Given the
values the bits are independent, so the likelihood of a report under a candidate is a product of
q*, p* and their complements. A word that is no candidate ("other") sets the bits of h random
hashes: its likelihood is the exact average over these, by elementary symmetric polynomials.

The joint shares are those of greatest likelihood, found from uniform ones by EM (Fanti, Pihur and
Erlingsson 2016). Their covariance is the inverse of the observed information within the simplex;
it is approximate, and means little for shares at 0. Independence is tested by the likelihood ratio
against the best product of two marginals, with (a-1)(b-1) degrees of freedom; shares at 0 make that
test conservative.

Assumes. The candidates of each variable were found by other means (`decode`); choosing them from
the same reports makes the errors a little too small.
Tested by tests/local/rappor/test_association.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import ParameterError
from discreet.local.rappor.bloom import Candidates
from discreet.local.rappor.params import Params

__all__ = ["OTHER", "Joint", "Variable", "associate"]

Array = NDArray[Any]
OTHER = "(other)"
"""The name of all words that are no candidates."""
_MOST_CELLS = 1 << 28
_STEPS = 1000
_STOP = 1e-7


@dataclass(frozen=True, eq=False)
class Variable:
    """The reports of one variable: rows of k bits, one for each client."""

    params: Params
    candidates: Candidates
    reports: NDArray[Any]
    other: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The candidates, and "(other)" where it is asked for."""
        return (*self.candidates.words, OTHER) if self.other else self.candidates.words

    def likelihoods(self, cohorts: NDArray[np.int64]) -> Array:
        """For each client and word, the likelihood of the report over that of an empty filter."""
        self.candidates.check(self.params)
        if self.reports.shape != (cohorts.size, self.params.k):
            problem = f"must be {cohorts.size} rows of {self.params.k} bits"
            raise ParameterError("reports", None, problem)
        q, p = float(self.params.q_star), float(self.params.p_star)
        least = 1e-12
        one = np.log(max(q, least) / max(p, least))
        zero = np.log(max(1 - q, least) / max(1 - p, least))
        ratios = np.where(self.reports, one, zero)
        found = np.empty((cohorts.size, len(self.words)))
        for cohort in np.unique(cohorts):
            mine = cohorts == cohort
            held = self.candidates.bits[cohort].astype(np.float64)
            found[mine, : len(held)] = ratios[mine] @ held.T
        if self.other:
            found[:, -1] = np.log(_random_word(np.exp(ratios), self.params))
        result: Array = np.exp(found - found.max(axis=1, keepdims=True))
        return result


def _random_word(ratios: Array, params: Params) -> Array:
    """The average over h uniform hashes of the product of the ratios of the bits that are set.

    A set of s bits is hit exactly by onto(h, s) of the k^h sequences of hashes, so that the average
    is the sum over s of onto(h, s) e_s(ratios)/k^h, e_s the elementary symmetric polynomial.
    """
    h, k = params.h, params.k
    sums = np.zeros((len(ratios), h + 1))
    sums[:, 0] = 1
    for bit in range(k):
        sums[:, 1:] += sums[:, :-1] * ratios[:, bit : bit + 1]
    onto = [sum((-1) ** j * comb(s, j) * (s - j) ** h for j in range(s + 1)) for s in range(h + 1)]
    result: Array = sums @ (np.array(onto) / float(k) ** h)
    return result


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint distribution of two variables.

    Attributes:
        first, second: the words of each variable.
        shares: rows for the first, columns for the second; they sum to 1.
        standard_errors: of the shares.
        covariance: of the shares, row by row.
        statistic: twice the logarithm of the likelihood ratio against independence.
        freedom: its degrees of freedom under independence.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    shares: Array
    standard_errors: Array
    covariance: Array
    statistic: float
    freedom: int

    @property
    def p_value(self) -> float:
        """Of independence; small where the variables belong together."""
        return float(stats.chi2.sf(self.statistic, self.freedom)) if self.freedom else 1.0

    def __getitem__(self, words: tuple[str, str]) -> float:
        return float(self.shares[self.first.index(words[0]), self.second.index(words[1])])


def associate(first: Variable, second: Variable, cohorts: Sequence[int]) -> Joint:
    """The joint distribution of two variables from the reports of the same clients."""
    groups = np.asarray(cohorts)
    most = min(first.params.m, second.params.m)
    if groups.ndim != 1 or groups.dtype.kind not in "iu" or not groups.size:
        raise ParameterError("cohorts", None, "must be whole numbers, one for each client")
    if not (groups.min() >= 0 and groups.max() < most):
        raise ParameterError("cohorts", None, f"must lie from 0 to {most - 1}")
    a, b = len(first.words), len(second.words)
    if not groups.size * a * b <= _MOST_CELLS:
        problem = "times the pairs of candidates are too many; take fewer candidates"
        raise ParameterError("reports", groups.size, problem)
    groups = groups.astype(np.int64)
    one, two = first.likelihoods(groups), second.likelihoods(groups)
    joint = (one[:, :, None] * two[:, None, :]).reshape(groups.size, a * b)
    shares, best = _maximised(joint)
    product = _maximised(one)[1] + _maximised(two)[1]
    freedom = (a - 1) * (b - 1)
    statistic = max(0.0, 2 * (best - product))
    covariance = _covariance(joint, shares)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    return Joint(
        first.words,
        second.words,
        shares.reshape(a, b),
        errors.reshape(a, b),
        covariance,
        statistic,
        freedom,
    )


def _maximised(likelihoods: Array) -> tuple[Array, float]:
    """The shares of greatest likelihood, and its logarithm."""
    count = likelihoods.shape[1]
    shares = np.full(count, 1 / count)
    for _ in range(_STEPS):
        weights = 1 / (likelihoods @ shares)
        new = shares * (likelihoods.T @ weights) / len(likelihoods)
        moved = float(np.abs(new - shares).max())
        shares = new
        if moved < _STOP:
            break
    shares = shares / shares.sum()
    return shares, float(np.log(likelihoods @ shares).sum())


def _covariance(likelihoods: Array, shares: Array) -> Array:
    """The inverse of the observed information, among changes that leave the sum as it is."""
    scaled = likelihoods / (likelihoods @ shares)[:, None]
    information = scaled.T @ scaled
    count = len(shares)
    basis = np.linalg.svd(np.ones((1, count)))[2][1:].T
    inner = np.linalg.pinv(basis.T @ information @ basis, hermitian=True)
    result: Array = basis @ inner @ basis.T
    return result
