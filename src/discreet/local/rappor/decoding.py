"""From counts to words: which candidates are there, how common, and how sure that is.

Shares. Weighted least squares with all shares at least 0 and their sum at most 1 (`share`), and
without these constraints (`raw`, unbiased, with a standard error). The model is in
`discreet.local.rappor.fit`: its scatter includes words that are no candidates.

Tests. For each candidate, "its share is 0" against "above 0", one-sided, z = raw / standard error.

* Candidates up to half as many as bits times cohorts: all are fitted together. Under the
  hypothesis z has Student's law, about: nothing is chosen by looking at the data first.
* More: the others cannot all be fitted. The hash of a word that nobody has is independent of
  everything that was reported. So, *given the reports*, the sum over cohorts of (x - a)'g, for any
  g made from the reports, has mean 0 and the variance sum of g'Cg over the random hashes of this
  word: a test that needs no model of the data. g are the weighted residuals after the words that
  were found so far; STEPS times, each time at 1/STEPS of the level.

Correction for looking at many candidates: "bonferroni" (stepwise, after Holm 1979: the chance of
any false positive is at most alpha, whatever the dependence), or "bh" (Benjamini and Hochberg 1995:
the expected share of false ones among those found is at most alpha; proved for independent or
positively dependent tests).

Assumes. Hashes behave like random ones; every cohort samples the same population; the reports are
so many that sums over all cohorts are about normal.
Tested by tests/local/rappor/test_decoding.py, where the false positives are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import ParameterError
from discreet.exact import Exact, probability
from discreet.local.rappor.bloom import Candidates
from discreet.local.rappor.cost import Costs, costs
from discreet.local.rappor.files import Counts
from discreet.local.rappor.fit import Regression, constrained, least_squares
from discreet.local.rappor.params import Params

__all__ = ["STEPS", "Correction", "Decoded", "Estimate", "adjusted", "decode"]

Correction = Literal["bonferroni", "bh"]
Array = NDArray[Any]
STEPS = 5
"""How often words that were found are taken out before the others are tested again."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One candidate.

    Attributes:
        word: the candidate.
        share: of the reports, between 0 and 1.
        raw: the unbiased share; it may be negative.
        standard_error: of `raw`.
        p_value: corrected for the number of candidates.
        found: whether it is there, at the level of the decoding.
    """

    word: str
    share: float
    raw: float
    standard_error: float
    p_value: float
    found: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """What was decoded: free post-processing of reports.

    Attributes:
        estimates: all candidates, the most common first.
        reports: how many reports were counted.
        alpha: the level.
        correction: what the level speaks of.
        limit: the share that would be found half of the time.
        unknown_spread: the sum of squares of the shares of unknown words, as far as it shows.
        costs: what the reports cost each client, for one value each.
    """

    estimates: tuple[Estimate, ...]
    reports: int
    alpha: float
    correction: Correction
    limit: float
    unknown_spread: float
    costs: Costs

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __getitem__(self, word: str) -> Estimate:
        for one in self.estimates:
            if one.word == word:
                return one
        raise KeyError(word)

    @property
    def found(self) -> tuple[Estimate, ...]:
        """The candidates that are there."""
        return tuple(one for one in self.estimates if one.found)

    @property
    def sufficient(self) -> bool:
        """Whether the data say anything of any candidate."""
        return any(one.found for one in self.estimates)

    @property
    def rest(self) -> float:
        """The share that no candidate explains."""
        return max(0.0, 1 - sum(one.share for one in self.estimates))

    def interval(self, confidence: Exact = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals that hold for all candidates together, by the normal approximation."""
        level = probability(confidence, name="confidence")
        width = float(stats.norm.isf(float(1 - level) / 2 / len(self.estimates)))
        return {
            one.word: (
                max(0.0, one.raw - width * one.standard_error),
                min(1.0, one.raw + width * one.standard_error),
            )
            for one in self.estimates
        }

    def __str__(self) -> str:
        what = {
            "bonferroni": f"any false one with a chance of at most {self.alpha:g}",
            "bh": f"at most {self.alpha:g} of them false on average",
        }[self.correction]
        limit = f"{self.limit:.2g}" if self.limit < 1 else "more than all"
        if not self.sufficient:
            return (
                f"insufficient data: none of {len(self.estimates):,} candidates stands out from "
                f"the noise of {self.reports:,} reports. A word would need a share of {limit} to "
                "be found half of the time; collect more reports or test fewer candidates"
            )
        return (
            f"{len(self.found):,} of {len(self.estimates):,} candidates found in "
            f"{self.reports:,} reports ({what}); a share of {limit} is found half of the time"
        )


def decode(
    params: Params,
    candidates: Candidates,
    counts: Counts,
    *,
    alpha: Exact = "0.05",
    correction: Correction = "bonferroni",
) -> Decoded:
    """Decode the counts of a collection over a map of candidates.

    >>> params = Params(k=4, h=1, m=1, p="0.25", q="0.75", f=0)
    >>> yes_no = Candidates.identity(["yes", "no"], params)
    >>> counts = Counts(np.array([1000]), np.array([[600, 400, 250, 250]]))
    >>> found = decode(params, yes_no, counts)
    >>> round(found["yes"].raw, 3), round(found["no"].raw, 3)
    (0.7, 0.3)
    """
    level = probability(alpha, name="alpha")
    if correction not in ("bonferroni", "bh"):
        raise ParameterError("correction", correction, "must be 'bonferroni' or 'bh'")
    regression = Regression.of(params, candidates, counts)
    number = len(candidates.words)
    together = not candidates.hashed or 2 * number <= regression.rows
    share, scatter, spread = _shares(regression, together=together)
    if together:
        raw, error, p = _all_together(regression, scatter + spread * regression.spread)
    else:
        raw, error, p, spread = _against_hashes(regression, scatter, level)
    corrected = adjusted(p, correction)
    estimates = [
        Estimate(*row, found=bool(row[-1] <= float(level)))
        for row in zip(
            candidates.words, share.tolist(), raw.tolist(), error.tolist(), corrected.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    estimates.sort(key=lambda one: (-one.share, one.word))
    return Decoded(
        estimates=tuple(estimates),
        reports=int(counts.totals.sum()),
        alpha=float(level),
        correction=correction,
        limit=float(stats.norm.isf(float(level) / number) * np.median(error)),
        unknown_spread=spread,
        costs=costs(params, one_hot=not candidates.hashed),
    )


def _shares(regression: Regression, *, together: bool) -> tuple[Array, Array, float]:
    """Constrained shares, the scatter that they imply, and the spread of unknown words."""
    share, spread = np.zeros(regression.bits.shape[2]), 0.0
    scatter = regression.scatter(share)
    for _ in range(2):
        share = constrained(regression, scatter + spread * regression.spread)
        scatter = regression.scatter(share)
        if together:
            spread = regression.unknown_spread(scatter, start=spread)
    return share, scatter, spread


def _all_together(regression: Regression, covariance: Array) -> tuple[Array, Array, Array]:
    raw, error = least_squares(regression.solved(covariance))
    free = regression.rows - len(raw)
    law = stats.t(free) if regression.pairs.any() and free > 0 else stats.norm
    return raw, error, law.sf(raw / error)


def _against_hashes(
    regression: Regression, scatter: Array, level: Fraction
) -> tuple[Array, Array, Array, float]:
    """Each candidate against what its hash might have been, the found ones being taken out."""
    number = regression.bits.shape[2]
    columns, known = regression.columns, np.zeros(number, dtype=bool)
    raw, error, p = np.zeros(number), np.ones(number), np.ones(number)
    spread = 0.0
    for _ in range(STEPS):
        chosen = np.flatnonzero(known).tolist()
        spread = regression.unknown_spread(scatter, chosen, start=spread)
        covariance = scatter + spread * regression.spread
        rest = regression.target
        if chosen:
            rest = (
                rest
                - columns[:, :, chosen] @ least_squares(regression.solved(covariance, chosen))[0]
            )
        pulls = np.linalg.solve(covariance, rest[:, :, None])[:, :, 0]
        score = np.einsum("cbs,cb->s", columns, pulls)
        deviation = float(np.sqrt(np.einsum("cb,bd,cd->", pulls, regression.spread, pulls)))
        weight = np.einsum("cbs,cbs->s", columns, np.linalg.solve(covariance, columns))
        tested = ~known
        raw[tested], error[tested] = (score / weight)[tested], (deviation / weight)[tested]
        now = np.minimum(1.0, STEPS * stats.norm.sf(score / deviation))
        p[tested] = np.minimum(p, now)[tested]
        new = tested & (p <= float(level) / number)
        if not new.any() or 3 * (known | new).sum() > regression.rows:
            break
        known |= new
    return raw, error, p, spread


def adjusted(p: NDArray[Any], correction: Correction) -> Array:
    """P-values corrected for their number: at most alpha where the candidate is found at alpha.

    >>> adjusted(np.array([0.01, 0.02, 0.5]), "bonferroni").round(3).tolist()
    [0.03, 0.04, 0.5]
    >>> adjusted(np.array([0.01, 0.02, 0.5]), "bh").round(3).tolist()
    [0.03, 0.03, 0.5]
    """
    order = np.argsort(p, kind="stable")
    number = len(p)
    rank = np.arange(number)
    factors: dict[str, tuple[Array, Callable[[Array], Array]]] = {
        "bonferroni": (number - rank, np.maximum.accumulate),
        "bh": (number / (rank + 1), lambda x: np.minimum.accumulate(x[::-1])[::-1]),
    }
    factor, monotone = factors[correction]
    out = np.empty(number)
    out[order] = np.minimum(1.0, monotone(p[order] * factor))
    return out
