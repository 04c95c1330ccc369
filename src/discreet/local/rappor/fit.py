"""The regression behind the decoder: what counts are expected, how they scatter, and two fits.

Model. Cohort c has N reports; t = (ones/N - p*)/(q* - p*) is an unbiased estimate of the share of
its clients whose Bloom filter has each bit. With shares b_w of the candidates w, and the rest
u = 1 - sum b_w of words that are no candidates,

    E t = sum b_w x_w + u a,     so     t - a = sum b_w (x_w - a) + scatter,

where x_w are the bits of w in the cohort and a the chances that an unknown word sets each bit. So
the centred columns x_w - a need no term for the unknown words: on average over their hashes they
cancel. (For an identity map a = 0, and the cohorts are pooled, for they have the same columns.)

Scatter, of two kinds. The reports are drawn: with r = p* + (q* - p*) E t, bit i has the variance
r (1 - r)/(q* - p*)^2/N, and two bits have the covariance of the Bloom bits, over N. And unknown
words do not spread evenly: with C the covariance of the bits of a random word they add s C, where s
is the sum of the squares of their shares. s is estimated: it is what makes the weighted residuals
as large as they should be (DerSimonian and Laird 1986).

Tested by tests/local/rappor/test_fit.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import nnls

from discreet.errors import ParameterError
from discreet.local.rappor.bloom import Candidates, bit_chances, pair_chances
from discreet.local.rappor.files import Counts
from discreet.local.rappor.params import Params

__all__ = ["Regression", "constrained", "least_squares"]

Array = NDArray[Any]
_LEAST_FREE = 30
"""With fewer free rows than this the spread of unknown words is not estimated."""

_BUMP = 1e-4
"""Added to variances, so that reports without any noise have a covariance with an inverse."""


@dataclass(frozen=True, eq=False)
class Regression:
    """The counts of a collection as a regression on candidates.

    Attributes:
        sizes: reports in each cohort that has any.
        bits: cohorts, bits, candidates: 1 where the candidate sets the bit.
        chances: of each bit, for an unknown word.
        pairs: of each two bits, for an unknown word.
        shares: t, for each cohort and bit.
        low: p*.
        gap: q* - p*.
    """

    sizes: Array
    bits: Array
    chances: Array
    pairs: Array
    shares: Array
    low: float
    gap: float

    @classmethod
    def of(cls, params: Params, candidates: Candidates, counts: Counts) -> Regression:
        """The regression of counts on a map."""
        candidates.check(params)
        counts.check(params)
        used = counts.totals > 0
        if not used.any():
            raise ParameterError("counts", 0, "must hold at least one report")
        totals, ones, held = counts.totals[used], counts.ones[used], candidates.bits[used]
        chances, pairs = np.array([float(x) for x in bit_chances(params)]), pair_chances(params)
        if not candidates.hashed:
            totals, ones, held = totals.sum(keepdims=True), ones.sum(0, keepdims=True), held[:1]
            chances, pairs = np.zeros(params.k), np.zeros((params.k, params.k))
        _check_told_apart(held)
        low, gap = float(params.p_star), float(params.q_star - params.p_star)
        shares = (ones / totals[:, None] - low) / gap
        bits = held.transpose(0, 2, 1).astype(np.float64)
        return cls(totals.astype(np.float64), bits, chances, pairs, shares, low, gap)

    @property
    def rows(self) -> int:
        """How many numbers were observed."""
        return self.shares.size

    @property
    def columns(self) -> Array:
        """The centred columns."""
        return self.bits - self.chances[None, :, None]

    @property
    def target(self) -> Array:
        """The centred shares."""
        return self.shares - self.chances

    @property
    def spread(self) -> Array:
        """The covariance of the bits of an unknown word."""
        result: Array = self.pairs - np.outer(self.chances, self.chances)
        return result

    def scatter(self, found: Array) -> Array:
        """The covariance of t in each cohort, were these the shares, without unknown spread."""
        mean = self.chances + self.columns @ found
        both = (self.bits * found) @ self.bits.transpose(0, 2, 1)
        both = both + (1 - found.sum()) * self.pairs - mean[:, :, None] * mean[:, None, :]
        least = 0.5 / (1 + self.sizes[:, None])
        rate = np.clip(self.low + self.gap * mean, least, 1 - least)
        place = np.arange(mean.shape[1])
        both[:, place, place] = rate * (1 - rate) / self.gap**2 * (1 + _BUMP)
        result: Array = both / self.sizes[:, None, None]
        return result

    def solved(
        self,
        covariance: Array,
        chosen: Sequence[int] | None = None,
        *,
        spread: Array | None = None,
    ) -> Normal:
        """The normal equations of chosen columns (all by default) under a covariance."""
        columns = self.columns if chosen is None else self.columns[:, :, list(chosen)]
        both = np.concatenate((columns, self.target[:, :, None]), axis=2)
        weighed = np.linalg.solve(covariance, both)
        count = columns.shape[2]
        flat = columns.reshape(self.rows, count)
        heavy = weighed[:, :, :count]
        outer, trace = np.zeros((count, count)), 0.0
        if spread is not None:
            turned = (spread @ heavy).reshape(self.rows, count)
            outer = heavy.reshape(self.rows, count).T @ turned
            trace = float(np.einsum("cij,ji->", np.linalg.inv(covariance), spread))
        return Normal(
            flat.T @ heavy.reshape(self.rows, count),
            flat.T @ weighed[:, :, count].reshape(-1),
            float(self.target.reshape(-1) @ weighed[:, :, count].reshape(-1)),
            outer,
            trace,
        )

    def unknown_spread(
        self, scatter: Array, chosen: Sequence[int] | None = None, *, start: float = 0.0
    ) -> float:
        """s: the spread that makes the weighted residuals of a fit as large as expected.

        With the weights W of the scatter and of s C, and P = W - W X (X'WX)^-1 X'W, the residuals
        y'Py have expectation free + (true s - s) tr(PC): each step solves that for the true s.
        """
        number = self.bits.shape[2] if chosen is None else len(chosen)
        free = self.rows - number
        if free < _LEAST_FREE or not self.pairs.any():
            return 0.0
        spread = start
        for _ in range(2):
            normal = self.solved(scatter + spread * self.spread, chosen, spread=self.spread)
            spread = max(0.0, spread + (normal.residual() - free) / normal.leverage())
        return spread


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations: X'WX, X'Wy, y'Wy; and where they are asked for, X'WCWX and tr(WC)."""

    gram: Array
    moment: Array
    square: float
    outer: Array
    trace: float

    def residual(self) -> float:
        """The weighted sum of squares that least squares leaves."""
        if not self.moment.size:
            return self.square
        return self.square - float(self.moment @ cho_solve(self.factor(), self.moment))

    def leverage(self) -> float:
        """tr(PC): how much a spread of 1 adds to the expected residuals."""
        if not self.moment.size:
            return self.trace
        return self.trace - float(np.trace(cho_solve(self.factor(), self.outer)))

    def factor(self) -> tuple[Array, bool]:
        """The Cholesky factor of X'WX."""
        try:
            factor: tuple[Array, bool] = cho_factor(self.gram, lower=True)
        except np.linalg.LinAlgError:
            problem = "cannot be told apart by these bits and cohorts; take fewer candidates"
            raise ParameterError("the candidates", None, problem) from None
        return factor


def least_squares(normal: Normal) -> tuple[Array, Array]:
    """Unbiased shares, negative ones too, and their standard errors.

    With the weights that belong to the scatter, the sandwich covariance is the inverse of X'WX.
    """
    factor = normal.factor()
    inverse = cho_solve(factor, np.eye(len(normal.moment)))
    return cho_solve(factor, normal.moment), np.sqrt(np.diag(inverse))


def constrained(regression: Regression, covariance: Array) -> Array:
    """The shares of least weighted squares that are at least 0 and sum to at most 1."""
    columns, target = _whitened(regression, covariance)
    count = columns.shape[1]
    found = _nonnegative(columns, target)
    if found.sum() <= 1:
        return found
    weight = 1e3 * float(np.sqrt((columns**2).sum(axis=0).max()))
    columns = np.vstack((columns, np.full(count, weight)))
    found = _nonnegative(columns, np.append(target, weight))
    result: Array = found / max(1.0, float(found.sum()))
    return result


def _whitened(regression: Regression, covariance: Array) -> tuple[Array, Array]:
    """Rows of variance 1; as many as columns, where there are more and the columns have rank."""
    count = regression.bits.shape[2]
    if 2 * count <= regression.rows:
        normal = regression.solved(covariance)
        factor, _ = normal.factor()
        root = np.tril(factor)
        return root.T, solve_triangular(root, normal.moment, lower=True)
    root = np.linalg.cholesky(covariance)
    both = np.concatenate((regression.columns, regression.target[:, :, None]), axis=2)
    rows = np.linalg.solve(root, both).reshape(regression.rows, count + 1)
    return rows[:, :count], rows[:, count]


def _nonnegative(columns: Array, target: Array) -> Array:
    found: Array = nnls(columns, target, maxiter=50 * columns.shape[1])[0]
    return found


def _check_told_apart(held: NDArray[np.bool_]) -> None:
    """Candidates with the same bits in all cohorts have no shares of their own."""
    flat = held.transpose(1, 0, 2).reshape(held.shape[1], -1)
    if len(np.unique(np.packbits(flat, axis=1), axis=0)) < len(flat):
        problem = "must differ in some cohort that has reports: two set the same bits in all"
        raise ParameterError("the candidates", None, problem)
