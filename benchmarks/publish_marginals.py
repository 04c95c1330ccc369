"""Marginals in the residual basis against each marginal measured by itself, by formula.

Ratios of the mean variance of a cell, for small epsilon (where geometric noise has the variance of
Laplace noise): no noise is drawn. By itself each of m marginals has an m-th of the price.
"""

from itertools import combinations

from benchmarks.timing import table
from discreet.publish.residuals import Forms, closure_of, shares_of, spread_of

DOMAINS = {
    "15 columns of 2 keys": (2,) * 15,
    "15 columns of 2 to 12 keys": (2, 2, 3, 5, 7, 9, 2, 4, 10, 6, 3, 2, 8, 12, 5),
    "15 columns of 10 keys": (10,) * 15,
}


def variance(sizes, wanted, *, pure):
    """The mean variance of a cell over the wanted marginals, at epsilon = 1, or rho = 1."""
    forms, shares = Forms(sizes, pure=pure), shares_of(sizes, wanted, pure=pure)
    precision = dict.fromkeys(closure_of(wanted), 0.0)
    for columns, share in shares.items():
        own = float(share) ** 2 / 2 if pure else 2 * float(share) / forms.norm(columns)
        for part in forms.told(columns):
            precision[part] += own / forms.factor(columns, part)
    total = sum(
        spread_of(sizes, columns, part) / precision[part]
        for columns in wanted
        for part in closure_of([columns])
    )
    return total / len(wanted)


def lines():
    """One row for each domain and number of ways."""
    for name, sizes in DOMAINS.items():
        for ways in (1, 2, 3):
            wanted = tuple(combinations(range(len(sizes)), ways))
            number = len(wanted)
            pure = variance(sizes, wanted, pure=True) / (2 * number**2)
            gaussian = variance(sizes, wanted, pure=False) / (number / 2)
            yield [name, ways, number, f"{pure:.2f}", f"{gaussian:.2f}"]


def marginals():
    """The table."""
    return table(["columns", "ways", "marginals", "pure", "zero-concentrated"], list(lines()))
