"""The demo: a made-up payroll under a policy, asked for an afternoon; and a look at the noise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.exact import verify
from discreet.curator.curator import Curator
from discreet.curator.ledger.values import Account
from discreet.curator.ledger.verify import verified
from discreet.curator.record import Record
from discreet.errors import BudgetExceededError
from discreet.gallery import data
from discreet.gallery.data import BINS, RANGE
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.rejection import RejectionGeometric

__all__ = ["Demo", "Step", "run_demo"]

POLICY = """\
[ledger]
path = "payroll.ledger"

[family.staff]                       # everybody in these tables, on one budget
epsilon = 3
neighbours = "add_or_remove"

[analyst.alice.allowance.staff]
epsilon = 2.5

[dataset.payroll]
family = "staff"
source = "payroll.csv"
version = "2024-12"
unit = {{ person = "person", max_rows = 1, max_groups = 1 }}
[dataset.payroll.columns]
department = {{ keys = [{departments}] }}
salary = {{ low = 40000, high = 400000, grid = 1 }}
year = {{ from = 2021, to = 2024 }}
title = "hidden"
"""
COUNT = """SELECT department, COUNT(*) AS people
FROM payroll WHERE year = 2024 GROUP BY department ORDER BY people DESC"""
MEAN = """SELECT department, AVG(salary) AS mean_salary
FROM payroll WHERE year = 2024 GROUP BY department ORDER BY mean_salary DESC"""
SUM = """SELECT department, SUM(salary) AS wages
FROM payroll WHERE year = 2024 GROUP BY department"""


@dataclass(frozen=True)
class ClassroomLine:
    """One mechanism on the classroom's count, with its exact errors."""

    name: str
    answer: int
    error: float
    average: float


@dataclass(frozen=True)
class Step:
    """One thing that happens, as a person would tell it.

    Attributes:
        title: what happens.
        code: what was typed, if anything.
        text: what came back.
    """

    title: str
    code: str
    text: str


@dataclass(frozen=True)
class Demo:
    """Everything the demo found."""

    people: int
    steps: list[Step]
    accounts: list[Account]
    classroom: list[ClassroomLine]
    verdicts: list[str]
    figures: list[Path]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "people": self.people,
            "steps": [asdict(step) for step in self.steps],
            "accounts": [account.to_dict() for account in self.accounts],
            "classroom": [asdict(line) for line in self.classroom],
            "verdicts": self.verdicts,
            "figures": [str(path) for path in self.figures],
        }


def run_demo(folder: Path) -> Demo:
    """Run the demo: data, policy, ledger and figures go into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("payroll.ledger", "payroll.ledger.head"):  # the people are made up anew
        (folder / name).unlink(missing_ok=True)
    data.write_payroll(folder / "payroll.csv")
    listed = ", ".join(f'"{name}"' for name in data.DEPARTMENTS)
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(departments=listed), encoding="utf-8")
    Curator.register(policy)
    with Curator(policy) as curator:
        steps, histogram, means = _afternoon(curator)
        accounts = list(curator.accounts().values())
    amounts = data.salaries()
    return Demo(
        people=len(amounts),
        steps=steps,
        accounts=accounts,
        classroom=classroom_lines(),
        verdicts=[
            str(verify(Geometric(epsilon="0.1", bounds=(0, 30)))),
            str(verify(RejectionGeometric(epsilon="0.1", bounds=(0, 30)))),
        ],
        figures=[
            *save_salaries(folder, amounts, histogram),
            *save_means(folder, means),
        ],
    )


def _afternoon(curator: Curator) -> tuple[list[Step], Record, Record]:
    """What alice asks, and what she gets."""
    counts = curator.ask(COUNT, epsilon="0.5", analyst="alice")
    steps = [Step("How many people work where? Epsilon 0.5", COUNT, _table(counts))]
    binned = curator.query("payroll").where("year = 2024").histogram("salary", bins=BINS)
    histogram = curator.ask(binned, epsilon=1, analyst="alice")
    raw = zip(histogram.release.rows, histogram.release.raw["count"], strict=True)
    top = sum(_number(noisy) for (low, _), noisy in raw if _number(low) >= 300_000)
    steps.append(
        Step(
            f"The salaries, in {BINS} bins. Epsilon 1, and {BINS} bins cost no more than one",
            f'query("payroll").where("year = 2024").histogram("salary", bins={BINS})',
            f"{len(histogram.release)} noisy counts, each within "
            f"{Geometric(epsilon=1).error(0.95)} of the truth with 95 %: see salaries.png. "
            f"Above 300,000, where about ten people are, they add up to {top:.0f}: the noise is as "
            "large as that group, and hides every one of them.",
        )
    )
    means = curator.ask(MEAN, epsilon="0.5", analyst="alice")
    steps.append(Step("What do they earn? Epsilon 0.5", MEAN, _table(means)))
    try:
        curator.ask(SUM, epsilon=1, analyst="alice")
        refused = "It was answered."
    except BudgetExceededError as refusal:
        refused = str(refusal)
    steps.append(Step("One question too many, at epsilon 1: refused, with an offer", SUM, refused))
    again = curator.ask(COUNT, epsilon="0.5", analyst="alice")
    same = "the same answer" if again == counts else "another answer"
    steps.append(
        Step(
            "The first question again: free",
            COUNT.replace("\n", " "),
            f"It is {same}, from the store; asking twice teaches nobody anything.",
        )
    )
    checked = verified(curator.ledger)
    steps.append(
        Step(
            "The ledger: every charge, in a chain that shows any change",
            "discreet ledger verify policy.toml",
            f"{checked.entries} entries, {checked.questions} questions, "
            f"head {str(checked.head)[:24]}...: intact.",
        )
    )
    return steps, histogram, means


def _table(record: Record) -> str:
    """The answer without its small print."""
    return str(record.release).partition("\n\n")[0]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def classroom_lines() -> list[ClassroomLine]:
    """The table of expected errors: n = 30, a true count of 20, epsilon 0.1."""
    truth = int(np.count_nonzero(data.classroom()))
    clamped = Geometric(epsilon="0.1", bounds=(0, 30))
    rejection = RejectionGeometric(epsilon="0.1", bounds=(0, 30))
    released = clamped.release(truth)
    reading = clamped.remap(prior="uniform", loss="absolute")

    def line(name: str, answer: int, mechanism: Geometric | RejectionGeometric) -> ClassroomLine:
        errors = [mechanism.expected_absolute_error(value) for value in range(31)]
        return ClassroomLine(name, answer, errors[truth], sum(errors) / 31)

    return [
        line("drawn again until it fits", rejection.release(truth), rejection),
        line("clamped geometric", released, clamped),
        ClassroomLine(
            "clamped geometric, best reading",
            reading(released),
            reading.expected_loss_at(truth),
            reading.expected_loss,
        ),
    ]


def save_means(folder: Path, means: Record) -> list[Path]:
    """The answer's own figure."""
    path = folder / "departments.png"
    means.release.plot("mean_salary", path=path)
    return [path]


def save_salaries(folder: Path, amounts: NDArray[np.int64], histogram: Record) -> list[Path]:
    """The salary histogram: the truth, which only a demo may show, and what was released."""
    import altair as alt  # noqa: PLC0415

    chart = _salaries(alt, amounts, histogram).configure_view(stroke=None)
    chart = chart.configure_axis(labelFontSize=12, titleFontSize=13, grid=False).configure_title(
        fontSize=15, anchor="start", subtitleFontSize=12, subtitleColor="#555"
    )
    path = folder / "salaries.png"
    chart.save(str(path), scale_factor=2)
    return [path]


def _salaries(alt: Any, amounts: NDArray[np.int64], histogram: Record) -> Any:
    exact, edges = np.histogram(amounts, bins=BINS, range=RANGE)
    width = float(edges[1] - edges[0])
    bars = [
        {"low": float(low), "high": float(low) + width * 0.92, "people": int(n)}
        for low, n in zip(edges[:-1], exact, strict=True)
    ]
    marks = [
        {"middle": _number(low) + width * 0.46, "people": n, "answer": "private, epsilon 1"}
        for low, n in histogram.release.rows
    ]
    truth = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar(color="#cfd8e3")
        .encode(
            x=alt.X(
                "low:Q",
                title="salary",
                axis=alt.Axis(format=",.0f", tickCount=8),
                scale=alt.Scale(domain=list(RANGE), nice=False),
            ),
            x2="high:Q",
            y=alt.Y("people:Q", title="people"),
            y2=alt.datum(0),
        )
    )
    private = (
        alt.Chart(alt.Data(values=marks))
        .mark_tick(thickness=2.5, width=10, orient="horizontal", opacity=1)
        .encode(
            x="middle:Q",
            y="people:Q",
            color=alt.Color(
                "answer:N",
                title=None,
                scale=alt.Scale(range=["#cc6677"]),
                legend=alt.Legend(orient="top-right", symbolType="square"),
            ),
        )
    )
    return (
        (truth + private)
        .resolve_scale(color="independent")
        .properties(
            width=620,
            height=240,
            title=alt.Title(
                f"{len(amounts):,} synthetic salaries: bars are the truth, ticks were released",
                subtitle=f"{BINS} bins cost no more than one, because a person is in one of them",
            ),
        )
    )
