"""What the reports say about the people: shares of all values, with their uncertainty.

From n reports of which C support a value v, with p and q of the oracle (`discreet.local.oracle`):

* raw: (C/n - q)/(p - q), unbiased; it may lie below 0 or above 1, and that is as it should be:
  sums and averages of raw estimates are unbiased too;
* standard error: the root of (C/n)(1 - C/n)/(n (p-q)^2), the sample variance of one report's
  contribution; on the safe side for a fixed group of people, whose supports vary less;
* lower, upper: simultaneous. All shares lie in their intervals together with at least the stated
  confidence, by Bonferroni over the k values. Each is Clopper and Pearson's (1934) for the
  probability of support. For people drawn from a population C is binomial, and theirs is exact; for
  a fixed group C is a sum of independent coins of two kinds, whose tails beyond one from the mean
  are at most the binomial's (Hoeffding 1956). No normal approximation takes part.
* projected: the nearest vector (in the Euclidean norm) that is a distribution: no share below 0,
  sum 1 ("norm-sub"). Nearly always closer to the truth, and no longer unbiased.
* posterior: a distribution, too, for which all estimates together teach how shares are spread
  (`discreet.local.posterior`). Usually closer still, most of all where many shares drown in noise;
  single shares are pulled to where the others are.

Where a report can also count against a value (Hadamard response in blocks), C/n is the difference
of two shares, and the interval is that of both, at half the error each.
All of it is post-processing: it costs nothing.
Tested by tests/local/test_estimates.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.exact import Exact, probability
from discreet.local.domain import Domain, Value
from discreet.local.oracle import Array, Oracle
from discreet.local.posterior import posterior_means
from discreet.mechanisms.nearest import onto_simplex

__all__ = ["Estimates", "estimated"]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Estimated shares of all values of a domain, from `n` reports.

    Attributes:
        raw: the unbiased estimates, in the order of the domain.
        standard_errors: their estimated standard errors.
        lower, upper: simultaneous intervals at `confidence`, within [0, 1].
        n: how many reports.
        confidence: that all intervals hold at once.
        variances: those of the raw estimate of a share of 0 and of 1; linear in between.
    """

    domain: Domain
    raw: Array
    standard_errors: Array
    lower: Array
    upper: Array
    n: int
    confidence: float
    variances: tuple[float, float]

    def __repr__(self) -> str:
        said = ", ".join(f"{row['value']!r}: {row['share']:.4f}" for row in self.top(3))
        return f"<Estimates of {len(self)} shares from {self.n:,} reports; largest {said}>"

    def __len__(self) -> int:
        return self.domain.size

    @property
    def projected(self) -> Array:
        """The raw estimates projected onto the distributions."""
        return onto_simplex(self.raw)

    @property
    def posterior(self) -> Array:
        """The shares as posterior means under a prior learnt from all raw estimates."""
        return posterior_means(self.raw, *self.variances)

    def __getitem__(self, value: Value) -> float:
        """The raw estimate for one value."""
        return float(self.raw[self.domain.place(value)])

    def columns(self) -> dict[str, Any]:
        """The table by columns."""
        return {
            "value": self.domain.labels(),
            "raw": self.raw.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "share": self.projected.tolist(),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary for each value: value, raw, standard_error, lower, upper, share."""
        columns = self.columns()
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def top(self, count: int) -> list[dict[str, Any]]:
        """The rows of the largest raw estimates, largest first."""
        best = np.argsort(-self.raw, kind="stable")[:count]
        shares = self.projected
        return [
            {
                "value": self.domain.label(place),
                "raw": float(self.raw[place]),
                "standard_error": float(self.standard_errors[place]),
                "lower": float(self.lower[place]),
                "upper": float(self.upper[place]),
                "share": float(shares[place]),
            }
            for place in best.tolist()
        ]

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.columns())


def estimated(
    oracle: Oracle, plus: Array, minus: Array | None, n: int, confidence: Exact
) -> Estimates:
    """The estimates from exact counts: `plus` of n reports support a value, `minus` oppose it."""
    level = probability(confidence, name="confidence")
    p, q = oracle.p, oracle.q
    gap = float(p - q)
    mean = (plus - minus if minus is not None else plus) / n
    square = (plus + minus if minus is not None else plus) / n
    raw = (mean - float(q)) / gap
    errors = np.sqrt(np.maximum(square - mean * mean, 0) / n) / gap
    miss = float((1 - level) / oracle.domain.size)
    low, high = _support_bounds(plus, n, miss if minus is None else miss / 2)
    if minus is not None:
        less, more = _support_bounds(minus, n, miss / 2)
        low, high = low - more, high - less
    return Estimates(
        domain=oracle.domain,
        raw=raw,
        standard_errors=errors,
        lower=np.clip((low - float(q)) / gap - oracle.bias, 0, 1),
        upper=np.clip((high - float(q)) / gap + oracle.bias, 0, 1),
        n=n,
        confidence=float(Fraction(level)),
        variances=(oracle.normalised_variance(0) / n, oracle.normalised_variance(1) / n),
    )


def _support_bounds(counts: Array, n: int, miss: float) -> tuple[Array, Array]:
    """Clopper and Pearson's interval for a probability, missed with probability at most `miss`."""
    from scipy.special import betaincinv  # noqa: PLC0415

    c = np.asarray(counts, dtype=np.float64)
    with np.errstate(all="ignore"):
        low = np.where(c > 0, betaincinv(np.maximum(c, 1), n - c + 1, miss / 2), 0.0)
        high = np.where(c < n, betaincinv(c + 1, np.maximum(n - c, 1), 1 - miss / 2), 1.0)
    return low, high
