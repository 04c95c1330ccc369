"""Exact errors, from the laws: nothing here is sampled, so nothing here is noisy."""

from fractions import Fraction

import discreet as dp
from benchmarks.timing import table
from discreet.noise.clamped import ConditionedGeometric


def classroom():
    """Expected absolute error, n = 30, epsilon 0.1."""
    clamped = dp.Geometric(epsilon="0.1", bounds=(0, 30))
    rejection = dp.RejectionGeometric(epsilon="0.1", bounds=(0, 30))
    reading = clamped.remap(prior="uniform", loss="absolute")
    minimax = clamped.minimax(loss="absolute")

    def row(name, errors):
        return (name, f"{errors[20]:.4f}", f"{sum(errors) / 31:.4f}", f"{max(errors):.4f}")

    notes = Fraction("0.008634")
    rows = [
        row("clamped geometric", [clamped.expected_absolute_error(i) for i in range(31)]),
        row(
            "rejection, the literature's parameter",
            [ConditionedGeometric(notes, i, 0, 30).absolute_error(i) for i in range(31)],
        ),
        row(
            "rejection, exact parameter", [rejection.expected_absolute_error(i) for i in range(31)]
        ),
        row(
            "clamped, Bayes reading (uniform prior)",
            [reading.expected_loss_at(i) for i in range(31)],
        ),
        row("clamped, minimax reading", [minimax.expected_loss_at(i) for i in range(31)]),
    ]
    return table(("", "at a true count of 20", "mean over 0..30", "worst"), rows)


def variances():
    rows = []
    for epsilon in ("0.01", "0.1", "0.5", "1", "2", "3", "4", "5.84", "8", "10"):
        geometric = dp.Geometric(epsilon=epsilon).variance
        laplace = 2 / float(epsilon) ** 2
        five = dp.Geometric(epsilon=epsilon, sensitivity=5).variance
        staircase = dp.Staircase(epsilon=epsilon, sensitivity=5).variance
        rows.append(
            (
                epsilon,
                f"{laplace:.4g}",
                f"{geometric:.4g}",
                f"{laplace / geometric:.2f}",
                f"{five:.4g}",
                f"{staircase:.4g}",
                f"{five / staircase:.2f}",
            )
        )
    head = (
        "epsilon",
        "Laplace",
        "geometric",
        "ratio",
        "geometric, sensitivity 5",
        "staircase, sensitivity 5",
        "ratio",
    )
    return table(head, rows)


def gaussians():
    rows = []
    for epsilon in ("0.1", "0.5", "1", "2", "4"):
        mechanism = dp.Gaussian(epsilon=epsilon, delta="1e-6")
        rows.append((epsilon, "1", f"{mechanism.sigma:.4f}"))
    gwas = dp.Gaussian(epsilon="0.6931471805", delta="1e-6", changes=2_000_000)
    rows.append(("0.6931471805 (ln 2)", "2,000,000", f"{gwas.sigma:,.1f}"))
    return table(("epsilon, delta 1e-6", "counts on the same people", "least sigma found"), rows)
