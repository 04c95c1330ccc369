"""A mean of numbers in [0, 1] of which it is public how many there are: three mechanisms for it.

Theorem. Let a be the mean of n numbers in [0, 1], and choose l in [0, 1] with a density (or, on any
grid of candidates in [0, 1], a probability) proportional to exp(-epsilon n (a - l)^2/2). That is
epsilon-private when one number is replaced, although the utility -(a - l)^2 moves by more than 1/n.
Proof. For the means a and b of neighbours, |a - b| <= 1/n, the log ratio at l is
    epsilon n (a - b) l + a number that does not depend on l,
because the squares of l cancel: a linear function of l whose slope is at most epsilon. Both laws
add up to 1, so it is not above 0 everywhere, nor below. A linear function on [0, 1] that is
somewhere at most 0 and somewhere at least 0, with a slope of at most epsilon, stays within epsilon.
On the whole line the same density is normal with variance 1/(n epsilon), the log ratio has no end,
and no epsilon is finite; it is zero-concentrated with rho = (1/n)^2 n epsilon/2 = epsilon/(2n).
Tested by tests/gallery/test_mean.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.audit.exact import Verdict, verify
from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.selection import Exponential
from discreet.noise.source import system_source
from discreet.privacy.accountant import Accountant
from discreet.privacy.loss import NormalLoss
from discreet.sensitivity.analytic import of_mean
from discreet.sensitivity.brute import Check, check_utility
from discreet.sensitivity.oracle import Uniform

__all__ = [
    "EXPERIMENT", "absolute", "audited", "laplace", "mechanism", "normal", "refuted", "squared",
]  # fmt: skip

NOTES = "class notes"
LAPLACE, ABSOLUTE, SQUARED = "Laplace noise", "absolute utility", "squared utility"
NOTHING, LINE = "no privacy", "squared utility, wider candidates"
KINDS = (LAPLACE, ABSOLUTE, SQUARED)
FINE = 200
"""Candidates in [0, 1] are its multiples of 1/200 where values are drawn."""
SPREAD = 1 / 12
"""The variance of one person's number, uniform on [0, 1]."""


def candidates(steps: int, low: int = 0, high: int = 1) -> list[Fraction]:
    """The multiples of 1/steps from low to high."""
    return [Fraction(j, steps) for j in range(low * steps, high * steps + 1)]


def scores(kind: str, mean: Fraction, places: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The utility of every candidate."""
    if kind == ABSOLUTE:
        return tuple(-abs(mean - place) for place in places)
    return tuple(-((mean - place) ** 2) for place in places)


def mechanism(n: int, epsilon: Fraction | int = 1) -> Exponential:
    """The exponential mechanism at the sensitivity 1/n, right or not: rate epsilon n/2."""
    return Exponential(epsilon=epsilon, sensitivity=Fraction(1, n), neighbours="replace")


def refuted(n: int) -> Check:
    """Try the claim 1/n for the squared utility on all datasets of zeros and ones."""

    def utility(data: tuple[int, ...], place: int) -> Fraction:
        return scores(SQUARED, Fraction(sum(data), len(data)), [Fraction(place)])[0]

    return check_utility(utility, Fraction(1, n), candidates=(0, 1), records=(0, 1), n=n,
                         ordered=False)  # fmt: skip


def audited(kind: str, n: int, places: Sequence[Fraction], epsilon: Fraction | int = 1) -> Verdict:
    """Compare the exact laws of all means that are 1/n apart, on these candidates."""
    means = [Fraction(k, n) for k in range(n + 1)]
    laws = [scores(kind, mean, places) for mean in means]
    return verify(mechanism(n, epsilon), pairs=pairwise(laws))


def normal(n: int, epsilon: Fraction | int = 1) -> NormalLoss:
    """What the normal law on the line leaks: variance 1/(n epsilon), moved by 1/n."""
    return NormalLoss(
        sigma_squared=1 / (n * Fraction(epsilon)), distance_squared=Fraction(1, n * n),
        neighbours="replace",
    )  # fmt: skip


def laplace(n: int, epsilon: Fraction | int = 1) -> Laplace:
    """Laplace noise of scale 1/(n epsilon), on a grid that is 64 times finer than 1/n."""
    step = Fraction(1, 64 * n)
    moved = of_mean(0, 1, n).value
    return Laplace(epsilon=epsilon, sensitivity=moved, grid=step, neighbours="replace")


def absolute(n: int, epsilon: float = 1) -> float:
    """The variance of the law with absolute utility on [0, 1], at the mean 1/2.

    The density falls with the rate k = epsilon n/2 on both sides, and ends at the distance 1/2.
    """
    k = epsilon * n / 2
    h, gone = k / 2, math.exp(-k / 2)
    return 2 / k**2 * (1 - gone * (1 + h + h * h / 2)) / (1 - gone)


def squared(n: int, epsilon: float = 1) -> float:
    """The variance of the law with squared utility on [0, 1], at the mean 1/2: a cut normal law."""
    v = 1 / (n * epsilon)
    z = 1 / (2 * math.sqrt(v))
    inside = math.erf(z / math.sqrt(2))
    return v * (1 - 2 * z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / inside)


def total(kind: str, n: int) -> float:
    """The deviation from the mean of the population, with that of the n people themselves."""
    own = {LAPLACE: lambda: laplace(n).variance, ABSOLUTE: lambda: absolute(n),
           SQUARED: lambda: squared(n), NOTHING: lambda: 0.0}  # fmt: skip
    return math.sqrt(own[kind]() + SPREAD / n)


def run(effort: Effort) -> Found:
    """Check the claims, and draw the mean of more and more people."""
    drawn = _drawn(effort)
    return Found(_facts(), (_losses(), _laws(), _errors(drawn)), (CLAIM, PROOF, BETTER))


def _drawn(effort: Effort) -> list[dict[str, object]]:
    """The deviation of drawn answers from the mean of the population, 1/2."""
    times, sizes = effort.of(400, 80), (10, 100, 1000, 10_000)
    places = candidates(FINE)
    rows: list[dict[str, object]] = []
    for i in effort.each("means of drawn people", len(sizes) * times):
        n = sizes[i // times]
        people = np.floor(Uniform(0, 1).draw(n, system_source()) * 1001)  # thousandths
        mean = Fraction(int(people.sum()), 1000 * n)
        chosen = places[mechanism(n).release(scores(SQUARED, mean, places))]
        for kind, answer in ((SQUARED, float(chosen)), (LAPLACE, laplace(n).release(mean))):
            rows.append({"n": n, "kind": kind, "off": (answer - 0.5) ** 2})
    return [
        {"n": n, "kind": kind,
         "deviation": math.sqrt(
             sum(float(str(row["off"])) for row in rows if (row["n"], row["kind"]) == (n, kind))
             / times)}
        for n in sizes for kind in (SQUARED, LAPLACE)
    ]  # fmt: skip


def _facts() -> tuple[Fact, ...]:
    claim = refuted(3)
    inside, outside = candidates(20), candidates(20, -3, 4)
    bound = Accountant([normal(100)], neighbours="replace").epsilon_upper(delta="1e-6")
    theirs = "the claim is wrong: it is 2/n - 1/n^2"
    return (
        Fact("mean error of Laplace noise, n = 100, epsilon 1",
             round(laplace(100).expected_absolute_error(), 4), "1/(n epsilon) = 0.01", NOTES),
        Fact("sensitivity of the squared utility, n = 3", str(claim.found), "1/3", NOTES, theirs),
        Fact("sensitivity of the absolute utility, n = 3", "1/3", "1/3", NOTES),
        Fact("worst loss of the squared utility on [0, 1], n = 10, epsilon 1",
             round(float(audited(SQUARED, 10, inside).worst), 4), 1, NOTES,
             "private all the same: the squares cancel"),
        Fact("worst loss with candidates from -3 to 4",
             round(float(audited(SQUARED, 10, outside).worst), 4), 1, NOTES,
             "one epsilon for each unit of length: no end on the whole line"),
        Fact("rho of the normal law on the line, n = 10, epsilon 1",
             float(normal(10).distance_squared / (2 * normal(10).sigma_squared)),
             remark="epsilon/(2n): it is zero-concentrated, not purely private"),
        Fact("epsilon of the normal law at delta 1e-6, n = 100", round(float(bound), 3)),
        Fact("total variance of the squared utility, times n, n = 10,000",
             round(total(SQUARED, 10_000) ** 2 * 10_000, 4), "1/epsilon + sigma^2 = 1.0833", NOTES),
        Fact("total variance of Laplace noise, times n, n = 10,000",
             round(total(LAPLACE, 10_000) ** 2 * 10_000, 4),
             remark="2/(n epsilon^2) + sigma^2: the noise vanishes beside the sampling"),
        Fact("people from which on Laplace noise is better, epsilon 1", crossing(),
             remark="at a mean of 1/2"),
    )  # fmt: skip


def crossing() -> int:
    """The least number of people for which Laplace noise errs less than the squared utility.

    At epsilon 1 and a mean of 1/2, where the law with the squared utility is cut alike on both
    sides.
    """
    n = 1
    while laplace(n).variance >= squared(n):
        n += 1
    return n


CLAIM = """\
A wrong sensitivity need not make a mechanism wrong, but then it needs another proof. On [0, 1]
there is one; on the whole line there is none, and the mechanism has no epsilon."""
PROOF = """\
The proof is short: the log ratio of two neighbouring laws is linear in the candidate, with a slope
of at most epsilon, and both laws add up to 1."""
BETTER = """\
Laplace noise needs none of this and is far better: its error falls with n, that of the squared
utility with the root of n, as slowly as the error of sampling."""


def _losses() -> Figure:
    alt = charts.altair()
    n, steps = 10, 40
    first, second = Fraction(1, n), Fraction(0)
    names = (LAPLACE, ABSOLUTE, SQUARED, LINE)
    rows = []
    for kind in (LINE, ABSOLUTE, SQUARED):
        places = candidates(steps, -1, 2) if kind == LINE else candidates(steps)
        laws = [mechanism(n).law(scores(kind, mean, places)) for mean in (first, second)]
        for j, place in enumerate(places):
            ratio = math.log(laws[0].mass(j) / laws[1].mass(j))
            rows.append({"at": float(place), "kind": kind, "loss": ratio})
    noise = laplace(n)
    for place in candidates(steps, -1, 2):
        k = noise.on_grid(place)
        ratio = math.log(noise.law(first).mass(k) / noise.law(second).mass(k))
        rows.append({"at": float(place), "kind": LAPLACE, "loss": ratio})
    x = alt.X("at:Q", title="answer", scale=alt.Scale(domain=[-1, 2], nice=False),
              axis=alt.Axis(tickCount=6))  # fmt: skip
    y = alt.Y("loss:Q", title="privacy loss (log ratio)", scale=alt.Scale(domain=[-2, 2]))
    lines = charts.curves(rows, x=x, y=y, colour="kind", order=names)
    edges = alt.Chart(charts.data([{"loss": 1}, {"loss": -1}])).mark_rule(color="#999")
    chart = edges.encode(y=y) + lines
    return Figure(
        "mean",
        charts.themed(chart, "What an answer tells of one person, n = 10, epsilon 1",
                      "all numbers are 0, or one of them is 1; thin lines: the promise"),
        "The loss of the squared utility is a straight line. On [0, 1] it stays within epsilon; "
        "on wider candidates it goes on, and on the whole line it has no end.",
    )  # fmt: skip


def _laws() -> Figure:
    alt = charts.altair()
    n, steps, mean = 20, 50, Fraction(3, 10)
    rows = []
    for kind in (ABSOLUTE, SQUARED):
        law = mechanism(n).law(scores(kind, mean, candidates(steps)))
        rows += [
            {"at": float(place), "kind": kind, "density": law.mass(j) * steps}
            for j, place in enumerate(candidates(steps))
        ]
    noise = laplace(n)
    for place in candidates(steps):
        mass = noise.law(mean).mass(noise.on_grid(place)) / float(noise.grid)
        rows.append({"at": float(place), "kind": LAPLACE, "density": mass})
    x = alt.X("at:Q", title="answer", scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y("density:Q", title="density")
    lines = charts.curves(rows, x=x, y=y, colour="kind", order=KINDS, columns=3)
    return Figure(
        "mean-laws",
        charts.themed(lines, "Three laws for the mean 0.3 of 20 numbers, epsilon 1"),
        "Laplace noise is the narrowest; the exponential mechanism with absolute utility has "
        "twice its scale, and the squared utility makes a normal law of deviation 0.22.",
    )


def _errors(drawn: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    names = (*KINDS, NOTHING)
    sizes = [round(10 ** (1 + i / 6)) for i in range(25)]
    rows = [{"n": n, "kind": kind, "deviation": total(kind, n)} for n in sizes for kind in names]
    x = alt.X(**charts.log_axis("n", "people", low=1, high=5))
    y = alt.Y(**charts.log_axis("deviation", "error of the population's mean", low=-3, high=0))
    lines = charts.curves(rows, x=x, y=y, colour="kind", order=names, columns=4)
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=45).encode(x=x, y=y)
    return Figure(
        "mean-error",
        charts.themed(lines + dots, "Error of the mean, epsilon 1", "circles: drawn answers"),
        "With the squared utility the error is 3.6 times that of sampling from 50 people on, "
        "however many more there are; with Laplace noise nothing is left to see from about 1,000 "
        "people on.",
    )


EXPERIMENT = Experiment(
    "mean",
    "A mean of public size",
    "Laplace noise and two exponential mechanisms for a mean: a claim refuted, a law saved.",
    run,
)
