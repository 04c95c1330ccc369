"""An afternoon with one curator on a budget of 1, against one histogram that is published at 1.

The curator is the project's own, with a policy and a ledger in a folder that is thrown away. A
product is asked for as the sum of logarithms, because that has a sensitivity.
Tested by tests/gallery/test_budget.py
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.curator.curator import Curator
from discreet.errors import BudgetExceededError
from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.counts import histogram
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.convert import largest_rho

__all__ = ["EXPERIMENT", "Asked", "afternoon", "each_of", "from_histogram", "ranges"]

LOW, HIGH, BINS = 40_000, 400_000, 360
WIDTH = (HIGH - LOW) // BINS
QUESTIONS = 1000
DELTA = Fraction(1, 10**6)
POLICY = f"""\
[ledger]
path = "afternoon.ledger"

[family.staff]
epsilon = 1
neighbours = "add_or_remove"

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "1"
unit = "row"
[dataset.payroll.columns]
salary = {{ low = {LOW}, high = {HIGH}, grid = 1 }}
"""
SUM = "SELECT SUM(salary) AS total FROM payroll"
PRODUCT = "SELECT SUM(LN(salary)) AS logarithms FROM payroll"
COUNT = "SELECT COUNT(*) AS people FROM payroll"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the afternoon.

    Attributes:
        what: in words.
        epsilon: what it was to cost.
        before: what had been spent.
        after: what has been spent now.
        outcome: what the curator said: an answer, or a refusal.
        value: the number that was answered, if any.
        error: how far off it was expected to be.
    """

    what: str
    epsilon: Fraction
    before: Fraction
    after: Fraction
    outcome: str
    value: float | None = None
    error: float = math.nan


def afternoon() -> tuple[Asked, ...]:
    """Ask a curator, in a folder that is gone afterwards, until the budget is spent."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = "\n".join(map(str, ["salary", *data.salaries().tolist()]))
        (folder / "payroll.csv").write_text(rows + "\n", encoding="utf-8")
        policy = folder / "policy.toml"
        policy.write_text(POLICY, encoding="utf-8")
        Curator.register(policy)
        with Curator(policy) as curator:
            first = _asked(curator, "the sum, at 0.2", SUM, Fraction(1, 5))
            wish = _asked(curator, "the product, at 1", PRODUCT, Fraction(1))
            rest = 1 - first.after
            return (
                first,
                wish,
                _asked(curator, f"the product, at {float(rest):g}", PRODUCT, rest),
                _asked(curator, "a count, at 0.1", COUNT, Fraction(1, 10)),
                _asked(curator, "the sum again, at 0.2", SUM, Fraction(1, 5)),
            )


def _asked(curator: Curator, what: str, question: str, epsilon: Fraction) -> Asked:
    before = _spent(curator)
    expected = next(iter(curator.price(question, epsilon=epsilon))).error or math.nan
    try:
        release = curator.ask(question, epsilon=epsilon).release
    except BudgetExceededError as refusal:
        left = f"{float(refusal.could):g}" if isinstance(refusal.could, Fraction) else "nothing"
        return Asked(what, epsilon, before, _spent(curator), f"refused: {left} is left")
    after = _spent(curator)
    outcome = "answered" if after > before else "answered for free, from the store"
    value = float(str(release.rows[0][0]))
    return Asked(what, epsilon, before, after, outcome, value, expected)


def _spent(curator: Curator) -> Fraction:
    return curator.accounts()["staff"].spent.value()


def true_product() -> float:
    """The logarithm of the product of all salaries."""
    return math.fsum(map(math.log, data.salaries().tolist()))


# a thousand questions


@lru_cache(maxsize=1)
def ranges() -> tuple[tuple[int, int], ...]:
    """A thousand ranges of bins (first, last): every 65th of all there are."""
    every = [(low, high) for low in range(BINS) for high in range(low, BINS)]
    return tuple(every[i * len(every) // QUESTIONS] for i in range(QUESTIONS))


def each_of(questions: int) -> float:
    """The root mean square error of each of so many counts that share epsilon 1 equally."""
    return math.sqrt(Geometric(epsilon=Fraction(1, questions)).variance)


def each_gaussian(questions: int) -> float:
    """The same with Gaussian noise, for epsilon 1 and delta 10^-6 in all."""
    rho = largest_rho(Fraction(1), DELTA)
    return math.sqrt(Gaussian(rho=rho / questions).variance)


def of_range(bins: int) -> float:
    """The root mean square error of a range of so many bins of one histogram at epsilon 1."""
    return math.sqrt(bins * Geometric(epsilon=1).variance)


def from_histogram() -> float:
    """The root mean square error over all thousand ranges."""
    bins = sum(high - low + 1 for low, high in ranges())
    return of_range(1) * math.sqrt(bins / QUESTIONS)


def drawn_ranges(repetitions: int) -> float:
    """The same, of histograms that were really released."""
    values = data.salaries()
    exact, _ = np.histogram(values, bins=BINS, range=(LOW, HIGH))
    total = 0.0
    for _ in range(repetitions):
        noisy, _ = histogram(values, bins=BINS, range=(LOW, HIGH), epsilon=1)
        total += float(np.mean(_answers(noisy - exact) ** 2.0))
    return math.sqrt(total / repetitions)


def _answers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.array(ranges())
    sums = np.concatenate([[0], np.cumsum(counts)])
    found: NDArray[np.int64] = sums[ends[:, 1] + 1] - sums[ends[:, 0]]
    return found


def drawn_each(questions: int, repetitions: int) -> float:
    """The root mean square error of counts that were really released at a share of epsilon."""
    noise = Geometric(epsilon=Fraction(1, questions)).release(np.zeros(repetitions, dtype=np.int64))
    return float(np.sqrt(np.mean(noise**2.0)))


def worth_from() -> int:
    """From so many questions on, each is better read off the histogram."""
    questions = 1
    while each_of(questions) <= from_histogram():
        questions += 1
    return questions


def read_off(weights: NDArray[np.float64], exact: float) -> float:
    """The error of a weighted sum over the bins: what the middles of bins get wrong, and noise."""
    counts, _ = np.histogram(data.salaries(), bins=BINS, range=(LOW, HIGH))
    off = float(counts @ weights) - exact
    return math.hypot(off, of_range(1) * float(np.sqrt(np.sum(weights**2))))


def middles() -> NDArray[np.float64]:
    """The middle of each bin."""
    return np.linspace(LOW + WIDTH / 2, HIGH - WIDTH / 2, BINS)


LINES = (
    "curator: geometric noise, epsilon/k for each",
    "curator: Gaussian noise, delta 10^-6",
    "one histogram: thousand ranges on average",
)


def run(effort: Effort) -> Found:
    """Spend an afternoon; compute the errors of many questions, and draw some."""
    asked: tuple[Asked, ...] = ()
    for _ in effort.each("an afternoon with the curator", 1):
        asked = afternoon()
    rows: list[dict[str, object]] = []
    grid = sorted({round(10 ** (i / 10)) for i in range(31)})
    for i in effort.each("errors", len(grid)):
        errors = (each_of(grid[i]), each_gaussian(grid[i]), from_histogram())
        rows += [
            {"questions": grid[i], "how": name, "error": error}
            for name, error in zip(LINES, errors, strict=True)
        ]
    dots: list[dict[str, object]] = [
        {"questions": k, "error": drawn_each(k, effort.of(100_000, 10_000))}
        for k in (1, 10, 100, 1000)
    ]
    dots.append({"questions": QUESTIONS, "error": drawn_ranges(effort.of(200, 20))})
    return Found(
        (*_spending(asked), *_publishing()), (_many(rows, dots), _spent_bars(asked)), _told(asked)
    )


def _spending(asked: tuple[Asked, ...]) -> list[Fact]:
    total, product = asked[0], asked[2]
    people = len(data.salaries())
    return [
        Fact("the sum at epsilon 0.2: expected error", round(total.error),
             remark=f"{100 * total.error / int(data.salaries().sum()):.2f} % of it"),
        Fact("the product at epsilon 1", asked[1].outcome, remark="the rest is offered"),
        Fact("the logarithm of the product at epsilon 0.8: expected error", round(product.error, 1),
             remark=f"of {true_product():,.0f}"),
        Fact("the product itself is known to a factor of", f"{math.exp(product.error):.1e}",
             remark=f"it has {int(true_product() / math.log(10)) + 1:,} digits"),
        Fact("its root, the geometric mean: expected error, %",
             round(100 * math.expm1(product.error / people), 3),
             remark="for a public number of people"),
        Fact("a count at the end", asked[3].outcome),
        Fact("the sum again", asked[4].outcome),
    ]  # fmt: skip


def _publishing() -> list[Fact]:
    pays = read_off(middles(), float(data.salaries().sum()))
    logs = read_off(np.log(middles()), true_product())
    one, all_of_it = each_of(QUESTIONS), from_histogram()
    return [
        Fact("a thousand ranges from the curator: error of each", round(one, 1), remark="people"),
        Fact("the same with Gaussian noise", round(each_gaussian(QUESTIONS), 1),
             remark="and delta 10^-6"),
        Fact("a thousand ranges from one histogram: error of each", round(all_of_it, 1),
             remark=f"people; {one / all_of_it:.0f} times less"),
        Fact("questions from which the histogram is better", worth_from()),
        Fact("the sum, off the histogram: error", round(pays),
             remark=f"the curator's at epsilon 0.2: {_sum_error():,.0f}"),
        Fact("the logarithm of the product, off the histogram: error", round(logs, 1),
             remark="what one asks for is better asked for"),
    ]  # fmt: skip


def _sum_error() -> float:
    return math.sqrt(Geometric(epsilon="0.2", sensitivity=HIGH).variance)


def _told(asked: tuple[Asked, ...]) -> tuple[str, ...]:
    lines = []
    for one in asked:
        number = ""
        if one.value is not None:
            number = f": {one.value:,.0f}, give or take {one.error:,.0f}"
        lines.append(f"{one.what[0].upper()}{one.what[1:]}: {one.outcome}{number}.")
    return (*lines, FREE)


FREE = """\
A curator's budget ends with the questions; what is published once answers all that is asked of it.
A few sharp answers, or many rough ones: that is the choice."""


def _many(rows: list[dict[str, object]], dots: list[dict[str, object]]) -> Figure:
    alt = charts.altair()
    x = alt.X(**charts.log_axis("questions", "questions that share the budget", low=0, high=3))
    y = alt.Y(**charts.log_axis("error", "error of each answer, in people", low=0, high=4))
    lines = charts.curves(rows, x=x, y=y, colour="how", order=LINES)
    ends = [{"questions": k, "least": of_range(1), "most": of_range(BINS)} for k in (1, QUESTIONS)]
    band = charts.band(ends, x=x, low="least", high="most", colour=charts.COLOURS[2])
    circles = alt.Chart(charts.data(dots)).mark_point(color="#222", size=45).encode(x=x, y=y)
    return Figure(
        "budget",
        charts.themed(
            band + lines + circles, "How many people earn from a to b? Epsilon 1 for all questions",
            "band: from one bin of the histogram to all 360; circles: real answers",
        ),
        "A curator is better for up to ten questions. From 11 on one histogram of 360 bins is "
        "better on average, and it answers a thousand ranges as well as one.",
    )  # fmt: skip


def _spent_bars(asked: tuple[Asked, ...]) -> Figure:
    alt = charts.altair()
    kinds = ("spent before", "charged", "refused")
    names = [f"{i + 1}. {one.what}" for i, one in enumerate(asked)]
    bars, words = [], []
    for name, one in zip(names, asked, strict=True):
        pieces = [(kinds[0], Fraction(0), one.before), (kinds[1], one.before, one.after)]
        if one.value is None:
            pieces.append((kinds[2], one.before, one.before + one.epsilon))
        bars += [
            {"question": name, "kind": kind, "from": float(a), "to": float(b)}
            for kind, a, b in pieces
            if b > a
        ]
        end = max(float(b) for _, _, b in pieces)
        words.append({"question": name, "to": end, "says": one.outcome})
    axis = alt.Axis(values=[i / 5 for i in range(7)], grid=False)
    room = alt.Scale(domain=[0, 1.75], nice=False)
    x = alt.X("to:Q", title="epsilon", axis=axis, scale=room)
    y = alt.Y("question:N", sort=names, title=None, axis=alt.Axis(labelLimit=200))
    legend = alt.Legend(title=None, orient="top")
    scale = alt.Scale(domain=list(kinds), range=["#cccccc", charts.COLOURS[0], "#ffffff"])
    drawn = (
        alt.Chart(charts.data(bars))
        .mark_bar(stroke="#555", strokeWidth=1, size=22)
        .encode(x=alt.X("from:Q", title="epsilon", axis=axis, scale=room), x2="to:Q", y=y,
                color=alt.Color("kind:N", scale=scale, legend=legend))
    )  # fmt: skip
    texts = (
        alt.Chart(charts.data(words))
        .mark_text(align="left", dx=6, fontSize=12, color="#333")
        .encode(x=x, y=y, text="says:N")
    )
    limit = alt.Chart(charts.data([{"to": 1}])).mark_rule(color="#222", strokeDash=[5, 3])
    chart = (drawn + limit.encode(x=x) + texts).properties(width=560, height=190)
    return Figure(
        "budget-afternoon",
        charts.themed(chart, "An afternoon on a budget of 1", "dashed: the limit", sized=False),
        "What does not fit is refused before anything is read, with an offer of what does. A "
        "question that was answered before is answered again for free.",
    )


EXPERIMENT = Experiment(
    "budget",
    "A budget of 1: ask or publish?",
    "A sum and a product from one curator, against a thousand ranges from one histogram.",
    run,
)
