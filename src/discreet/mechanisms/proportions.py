"""Reading randomised answers: how common each true category is, from the reports alone.

Let K be the kernel of the coins, K[x][y] = P(report y | true answer x), and B its inverse. If r is
the row vector of the shares of the reports, its expectation is t K with t the shares of the true
answers, so r B is an unbiased estimate of t. All of it is post-processing: it costs nothing.

One report y adds B[y][j]/n to the estimate of category j, and the reports are independent, so

* the variance is estimated from the reports by the sample variance of the B[y][j], over n; it is
  right for people drawn from a population, and on the safe side for a fixed group of people (the
  sum of their variances is at most n times the variance of the mixture);
* Hoeffding's inequality (1963) holds whatever n is: the estimate is further than h from the share
  among the n people with probability at most 2 exp(-2 n h^2/s^2), where s is the spread
  max_y B[y][j] - min_y B[y][j]. No normal approximation takes part.

Tested by tests/mechanisms/test_proportions.py
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UnsupportedError
from discreet.exact import Exact, log, probability, sqrt

__all__ = ["Matrix", "Proportions", "hoeffding", "inverse", "spreads"]

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class Proportions:
    """Estimated shares of the true categories, from `n` randomised reports.

    `exact` are the unbiased estimates as rationals, in the order of `categories`; they sum to 1,
    and with few reports some of them may lie below 0 or above 1.
    """

    categories: tuple[Hashable, ...]
    exact: tuple[Fraction, ...]
    variances: tuple[Fraction | None, ...]
    spreads: tuple[Fraction, ...]
    n: int

    @property
    def proportions(self) -> dict[Hashable, float]:
        """The unbiased estimate for each category."""
        return dict(zip(self.categories, map(float, self.exact), strict=True))

    @property
    def standard_errors(self) -> dict[Hashable, float]:
        """The estimated standard error for each category; infinite for a single report."""
        roots = [math.inf if v is None else math.sqrt(v) for v in self.variances]
        return dict(zip(self.categories, roots, strict=True))

    def interval(self, confidence: Exact = 0.95) -> dict[Hashable, tuple[float, float]]:
        """For each category a range that holds the share of the true answers among the n people.

        Guarantee. Each range holds its share with at least this probability, for every n, by
        Hoeffding's inequality. The ranges hold all at once with at least 1 - k (1 - confidence)
        for k categories. A normal approximation, estimate plus or minus 1.96 standard errors,
        is shorter and promises nothing.
        """
        level = probability(confidence, name="confidence")
        ranges = []
        for centre, spread in zip(self.exact, self.spreads, strict=True):
            half = hoeffding(spread, self.n, level)
            ranges.append((_unit(float(centre) - half), _unit(float(centre) + half)))
        return dict(zip(self.categories, ranges, strict=True))


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def estimated(
    categories: tuple[Hashable, ...], counts: Sequence[int], decoder: Matrix
) -> Proportions:
    """The estimate from the number of reports of each category; at least one report."""
    n = sum(counts)
    columns = list(zip(*decoder, strict=True))
    exact, variances = [], []
    for column in columns:
        terms = list(zip(counts, column, strict=True))
        mean = sum((count * b for count, b in terms), Fraction(0)) / n
        square = sum((count * b * b for count, b in terms), Fraction(0)) / n
        exact.append(mean)
        variances.append((square - mean * mean) / (n - 1) if n > 1 else None)
    return Proportions(categories, tuple(exact), tuple(variances), spreads(decoder), n)


def spreads(decoder: Matrix) -> tuple[Fraction, ...]:
    """How far apart two reports can put the estimate of each category."""
    return tuple(max(column) - min(column) for column in zip(*decoder, strict=True))


def hoeffding(spread: Fraction, n: int, confidence: Fraction) -> float:
    """A half-width h, rounded up, with 2 exp(-2 n h^2/spread^2) <= 1 - confidence."""
    square = spread * spread * log(2 / (1 - confidence), 80).upper / (2 * n)
    return math.nextafter(float(sqrt(square, 80).upper), math.inf)


def inverse(kernel: Matrix) -> Matrix:
    """The inverse of a kernel, exactly; refused in words where there is none."""
    found = _inverse_of_coins(kernel) or _inverse_by_elimination(kernel)
    if found is None:
        raise UnsupportedError(
            "these coins say nothing about some differences between the categories: their kernel "
            "is singular, so that different groups of people give reports of the same law. Choose "
            "coins whose rows are linearly independent (for two categories: two different rows)"
        )
    return found


def _inverse_of_coins(kernel: Matrix) -> Matrix | None:
    """The inverse where K = q I + 1 c': tell the truth, or answer whatever the truth is.

    Then c sums to 1 - q, and (q I + 1 c')(I - 1 c') = q I + 1 c' (1 - q - (1 - q)) = q I.
    """
    k = len(kernel)
    c = [kernel[1][0], *kernel[0][1:]]
    q = 1 - sum(c, Fraction(0))
    fits = all(kernel[x][y] == c[y] + (q if x == y else 0) for x in range(k) for y in range(k))
    if not fits or q == 0:
        return None
    off, on = [-share / q for share in c], [(1 - share) / q for share in c]
    return tuple(tuple(on[y] if x == y else off[y] for y in range(k)) for x in range(k))


def _inverse_by_elimination(kernel: Matrix) -> Matrix | None:
    """Gauss and Jordan's elimination on fractions."""
    k = len(kernel)
    rows = [[*row, *(Fraction(x == y) for y in range(k))] for x, row in enumerate(kernel)]
    for place in range(k):
        pivot = next((x for x in range(place, k) if rows[x][place] != 0), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        head = rows[place][place]
        rows[place] = [entry / head for entry in rows[place]]
        for x in range(k):
            factor = rows[x][place]
            if x != place and factor != 0:
                pairs = zip(rows[x], rows[place], strict=True)
                rows[x] = [entry - factor * base for entry, base in pairs]
    return tuple(tuple(row[k:]) for row in rows)
