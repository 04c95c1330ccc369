"""The histogram of salaries, true and private: what noise hides, and what it leaves to be seen.

Tested by tests/gallery/test_salaries.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.gallery import charts, data
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.counts import histogram
from discreet.mechanisms.geometric import Geometric
from discreet.noise.law import smallest

__all__ = ["EXPERIMENT", "all_within", "error", "phantoms"]

NOTES = "class notes"
EPSILONS = ("0.01", "0.1", "1")
TAIL = 300_000
"""Above it there are about ten people."""


def error(epsilon: str) -> float:
    """The expected absolute error of one bin: 1/sinh(epsilon)."""
    return Geometric(epsilon=epsilon).expected_absolute_error()


def all_within(epsilon: str, confidence: Fraction = Fraction(19, 20)) -> int:
    """The smallest h so that all bins are within h of the truth with this probability, together."""
    law = Geometric(epsilon=epsilon).noise_law

    def covers(h: int) -> bool:
        return h >= 0 and (1 - 2 * law.tail_bounds(h).upper) ** data.BINS >= confidence

    return smallest(covers, start=0)


def phantoms(epsilon: str) -> float:
    """How many people the empty bins seem to hold, on average, if negative counts are set to 0.

    Half of the noise's absolute value is above zero.
    """
    empty = int((data.salary_counts() == 0).sum())
    return empty * error(epsilon) / 2


def run(effort: Effort) -> Found:
    """Release the histogram at several epsilons."""
    amounts, exact = data.salaries(), data.salary_counts()
    rows = _rows("the truth", exact, exact)
    for i in effort.each("histograms", len(EPSILONS)):
        noisy, _ = histogram(amounts, bins=data.BINS, range=data.RANGE, epsilon=EPSILONS[i])
        rows += _rows(f"epsilon {EPSILONS[i]}", exact, noisy)
    return Found(_facts(), (_whole(rows), _tail(rows)), (ONE_BIN, NEGATIVE))


def _rows(panel: str, exact: Any, noisy: Any) -> list[dict[str, Any]]:
    low, high = data.RANGE
    step = (high - low) // data.BINS
    pairs = zip(exact.tolist(), noisy.tolist(), strict=True)
    found = [
        {"panel": panel, "low": low + i * step, "high": low + (i + 1) * step,
         "truth": truth, "told": told}
        for i, (truth, told) in enumerate(pairs)
    ]  # fmt: skip
    end = {"panel": panel, "low": high, "high": high, "told": 0, "truth": found[-1]["truth"]}
    return [*found, end]  # so that the line reaches to the end of the last bin


def _facts() -> tuple[Fact, ...]:
    exact, people = data.salary_counts(), int(data.salary_counts().sum())
    above = int((data.salaries() > TAIL).sum())
    found = [
        Fact("people", people, "about 29,000", NOTES, "made by formula, about nobody"),
        Fact("bins from 40,000 to 400,000", data.BINS, 50, NOTES),
        Fact("people in the fullest bin", int(exact.max())),
        Fact("people above 300,000", above),
    ]
    for epsilon in EPSILONS:
        share = data.BINS * error(epsilon) / people
        hidden = int((exact < error(epsilon)).sum())
        found += [
            Fact(f"expected error of one bin at epsilon {epsilon}", round(error(epsilon), 3)),
            Fact(f"all bins within, with 95 %, at epsilon {epsilon}", all_within(epsilon)),
            Fact(f"bins with fewer people than that error at epsilon {epsilon}", hidden),
            Fact(f"errors of all bins, in percent of the people, at epsilon {epsilon}",
                 round(100 * share, 2)),
        ]  # fmt: skip
    found.append(
        Fact("people in empty bins if negative counts become 0, at epsilon 0.1",
             round(phantoms("0.1"), 1), remark="there is nobody; leave the negative counts")
    )  # fmt: skip
    return tuple(found)


ONE_BIN = """\
Fifty bins cost no more than one: a person is in one of them, so adding or removing her moves one
count by 1. If neighbours replace a person, two counts move, and the noise is twice as wide."""
NEGATIVE = """\
Noisy counts may be negative. Setting those to 0 is allowed, and makes every empty bin look as if
somebody were there."""


def _bars(rows: list[dict[str, Any]], *, every: int) -> Any:
    """What was told as bars, the truth as a line of steps over them."""
    alt = charts.altair()
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    x = alt.X(
        "low:Q", title="salary", scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(format="~s", grid=False, values=list(range(0, high + 1, every))),
    )  # fmt: skip
    base = alt.Chart(charts.data(rows))
    told = base.mark_bar(color="#b9c9dd", stroke="#8fa6c4", strokeWidth=0.5).encode(
        x=x, x2="high:Q", y=alt.Y("told:Q", title="people"), y2=alt.datum(0)
    )
    truth = base.mark_line(interpolate="step-after", color="#222", strokeWidth=1.3).encode(
        x=x, y=alt.Y("truth:Q", title="people")
    )
    return told + truth


def _whole(rows: list[dict[str, Any]]) -> Figure:
    order = ["the truth", *(f"epsilon {epsilon}" for epsilon in EPSILONS)]
    chart = _bars(rows, every=100_000).properties(width=270, height=150)
    return Figure(
        "salaries",
        charts.themed(
            charts.panels(chart, "panel", order=order, columns=2),
            "29,000 made-up salaries in 50 bins", "bars: what is told; line: the truth",
            sized=False,
        ),
        "At epsilon 0.1 and above the eye sees no difference. At 0.01 the shape is still there, "
        "but nothing can be read from bins with fewer than a few hundred people.",
    )  # fmt: skip


def _tail(rows: list[dict[str, Any]]) -> Figure:
    order = [f"epsilon {epsilon}" for epsilon in EPSILONS[1:]]
    far = [row for row in rows if row["low"] >= 256_000 and row["panel"] in order]
    chart = _bars(far, every=40_000).properties(width=270, height=170)
    return Figure(
        "salaries-tail",
        charts.themed(
            charts.panels(chart, "panel", order=order, columns=2).resolve_scale(y="independent"),
            "The same from 256,000 on, where few people are",
            "bars: what is told; line: the truth; the two scales differ",
            sized=False,
        ),
        "Where a bin holds one person or two, the noise is as large as the count: it hides whether "
        "anybody is there.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    "salaries",
    "A histogram of salaries",
    "The histogram of 29,000 salaries in 50 bins, true and private at several epsilons.",
    run,
)
