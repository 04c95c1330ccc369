"""The demo: count mechanisms on a classroom and a payroll that are made up, and one figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.exact import verify
from discreet.curator.release import Release
from discreet.errors import BudgetExceededError
from discreet.gallery import data
from discreet.mechanisms.counts import count, histogram
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.rejection import RejectionGeometric
from discreet.mechanisms.selection import NoisyMax
from discreet.privacy.budget import Budget
from discreet.query.schema import Bounds, Keys, PerPerson
from discreet.table import Table

__all__ = ["Demo", "run_demo"]

BINS, RANGE = 50, (40_000, 400_000)
QUESTION = """SELECT department, COUNT(*) AS n, AVG(salary) AS mean_salary
FROM payroll WHERE year = 2024 GROUP BY department ORDER BY n DESC"""


@dataclass(frozen=True)
class ClassroomLine:
    """One mechanism on the classroom's count, with its exact errors."""

    name: str
    answer: int
    error: float
    average: float


@dataclass(frozen=True)
class PayrollLine:
    """One private question to the payroll."""

    question: str
    epsilon: str
    answer: str
    truth: str
    within: str


@dataclass(frozen=True)
class Demo:
    """Everything the demo found."""

    classroom: list[ClassroomLine]
    people: int
    payroll: list[PayrollLine]
    budget: list[str]
    question: str
    table: str
    left: str
    verdicts: list[str]
    figures: list[Path]


def run_demo(folder: Path) -> Demo:
    """Run the demo and save its figure as PNG and SVG into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    amounts = data.salaries()
    budget, noisy = Budget(epsilon="2.5"), {}
    for epsilon in ("1", "0.01"):
        noisy[epsilon] = histogram(amounts, bins=BINS, range=RANGE, epsilon=epsilon, budget=budget)[
            0
        ]
    lines = payroll_lines(amounts, noisy["1"], budget)
    asked, left = ask_table(folder)
    return Demo(
        classroom=classroom_lines(),
        people=len(amounts),
        payroll=lines,
        budget=budget_lines(budget),
        question=QUESTION,
        table=str(asked),
        left=left,
        verdicts=[
            str(verify(Geometric(epsilon="0.1", bounds=(0, 30)))),
            str(verify(RejectionGeometric(epsilon="0.1", bounds=(0, 30)))),
        ],
        figures=[*save_figure(folder, amounts, noisy), *save_answer(folder, asked)],
    )


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


def payroll_lines(
    amounts: NDArray[np.int64], private: NDArray[np.int64], budget: Budget
) -> list[PayrollLine]:
    """Four private questions, each on its own epsilon, charged before they are answered."""
    rich = amounts > 100_000
    members = np.bincount(data.departments(len(amounts)), minlength=len(data.DEPARTMENTS))
    scores = {name: int(size) for name, size in zip(data.DEPARTMENTS, members, strict=True)}
    exact = np.histogram(amounts, bins=BINS, range=RANGE)[0]
    fullest = int(np.argmax(private))
    noise, selection = Geometric(epsilon=1), NoisyMax(epsilon="0.1", monotone=True)
    budget.charge(selection)
    lines = [
        PayrollLine(
            "How many earn over 100,000?",
            epsilon,
            f"{count(rich, epsilon=epsilon, budget=budget):,}",
            f"{int(rich.sum()):,}",
            f"± {Geometric(epsilon=epsilon).error(0.95)}",
        )
        for epsilon in ("1", "0.01")
    ]
    edges = np.linspace(*RANGE, BINS + 1)
    span = f"{edges[fullest]:,.0f} to {edges[fullest + 1]:,.0f}"
    lines.append(
        PayrollLine(
            f"Salaries {span} (fullest of {BINS} bins)",
            "1",
            f"{int(private[fullest]):,}",
            f"{int(exact[fullest]):,}",
            f"± {noise.error(0.95)}",
        )
    )
    lines.append(
        PayrollLine(
            "Which department is the largest?",
            "0.1",
            str(selection.release(scores)),
            max(scores, key=scores.__getitem__),
            f"{selection.error(0.95, len(scores))} of the top",
        )
    )
    return lines


def ask_table(folder: Path) -> tuple[Release, str]:
    """One SQL question to a CSV file in which people have several rows."""
    payroll = Table(
        data.write_payroll(folder / "payroll.csv"),
        unit=PerPerson("person", max_rows=1, max_groups=1),
        columns={
            "department": Keys(data.DEPARTMENTS),
            "salary": Bounds(0, 400_000, grid=1),
            "year": Keys(range(2021, 2025)),
        },
    )
    session = payroll.session(epsilon=1)
    answer = session.ask(QUESTION, epsilon="0.5")
    payroll.close()
    return answer, str(session.left)


def save_answer(folder: Path, asked: Release) -> list[Path]:
    """The answer's own figure."""
    path = folder / "departments.png"
    asked.plot("mean_salary", path=path)
    return [path]


def budget_lines(budget: Budget) -> list[str]:
    """What the questions cost together, what is still possible, and what a delta would buy."""
    finest = budget.finest(Geometric)
    question, many = Geometric(epsilon="0.01"), Budget(epsilon=1, delta="1e-6")
    while many.affords(question):
        many.charge(question)
    try:
        budget.charge(Geometric(epsilon=1))
        refused = "affordable"
    except BudgetExceededError:
        refused = "refused"
    within = f"epsilon {float(finest.epsilon):g}, within {finest.error(0.95)} with 95 %"
    small = f"epsilon 1 holds {len(many)} counts at epsilon 0.01; plain sums would stop at 100"
    return [
        f"All of it together cost each person {budget.spent} of 2.5; {budget.left} is left.",
        f"One more count at epsilon 1 is {refused}. The finest that still fits: {within}.",
        f"With a delta of one in a million, {small}.",
    ]


def save_figure(
    folder: Path, amounts: NDArray[np.int64], noisy: dict[str, NDArray[np.int64]]
) -> list[Path]:
    """Two panels: the laws of three neighbouring counts, and the salary histogram."""
    import altair as alt  # noqa: PLC0415

    chart = alt.vconcat(_laws(alt), _salaries(alt, amounts, noisy)).configure_view(stroke=None)
    chart = chart.configure_axis(labelFontSize=12, titleFontSize=13, grid=False).configure_title(
        fontSize=15, anchor="start", subtitleFontSize=12, subtitleColor="#555"
    )
    paths = [folder / "counts.png", folder / "counts.svg"]
    chart.save(str(paths[0]), scale_factor=2)
    chart.save(str(paths[1]))
    return paths


def _laws(alt: Any) -> Any:
    mechanism = Geometric(epsilon="0.1", bounds=(0, 30))
    rows = [
        {"answer": k, "probability": mechanism.law(n).mass(k), "true count": str(n)}
        for n in (19, 20, 21)
        for k in range(31)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "answer:O",
                title="released count",
                axis=alt.Axis(values=list(range(0, 31, 5)), labelAngle=0),
            ),
            xOffset="true count:N",
            y=alt.Y("probability:Q", title="probability"),
            color=alt.Color(
                "true count:N",
                scale=alt.Scale(range=["#4477aa", "#222222", "#cc6677"]),
                legend=alt.Legend(orient="top-left", offset=70, direction="horizontal"),
            ),
        )
        .properties(
            width=620,
            height=200,
            title=alt.Title(
                "Whether you failed or not hardly moves the answer",
                subtitle=[
                    "Exact laws of the released count for 19, 20 and 21 of 30 pupils: clamped",
                    "geometric, epsilon 0.1. At every answer, colours differ by at most e^0.1.",
                ],
            ),
        )
    )


def _salaries(alt: Any, amounts: NDArray[np.int64], noisy: dict[str, NDArray[np.int64]]) -> Any:
    exact, edges = np.histogram(amounts, bins=BINS, range=RANGE)
    width = float(edges[1] - edges[0])
    bars = [
        {"low": float(low), "high": float(low) + width * 0.92, "people": int(n)}
        for low, n in zip(edges[:-1], exact, strict=True)
    ]
    marks = [
        {
            "middle": float(low) + width * 0.46,
            "people": int(n),
            "answer": f"private, epsilon {epsilon}",
        }
        for epsilon, counts in noisy.items()
        for low, n in zip(edges[:-1], counts, strict=True)
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
                scale=alt.Scale(range=["#cc6677", "#117733"]),
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
