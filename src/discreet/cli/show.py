"""What the commands print: tables and progress bars for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

if TYPE_CHECKING:
    from discreet.audit.report import AuditRow
    from discreet.gallery.demo import Demo

__all__ = ["audit_table", "progress", "show_demo"]

Step = Callable[[str, int, int], None]


def console() -> Console:
    """The terminal; a hundred columns where the output is no terminal and nobody says how many."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    return Console(width=wide, highlight=False)


@contextmanager
def progress(*, enabled: bool) -> Iterator[Step]:
    """A progress bar on standard error: call step(what, done, all)."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not enabled,
    )
    with bar:
        task = bar.add_task("", total=None)

        def step(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield step


def audit_table(rows: Sequence[AuditRow]) -> None:
    """The verdicts, one line each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism or sampler", overflow="fold", ratio=3)
    for name in ("promise", "worst found"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("compared", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        word = "[green]proven[/green]" if row.proven else "[red bold]NOT PROVEN[/red bold]"
        tight = " and tight" if row.proven and row.tight else ""
        table.add_row(row.name, row.promise, row.worst, row.compared, f"{word}{tight}")
    screen = console()
    screen.print(table)
    proven = sum(row.proven for row in rows)
    screen.print(f"{proven} of {len(rows)} proven by exact enumeration; nothing was sampled.")
    for row in rows:
        if not row.proven:
            screen.print(f"[red]{row.name}[/red]: {row.witness}")


def show_demo(found: Demo) -> None:
    """The numbers of the demo, as a person would tell them."""
    screen = console()
    screen.print("\n[bold]1. The classroom[/bold]: 20 of 30 pupils failed. How many, privately?")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("mechanism (epsilon 0.1)", "answer", "mean |error| at 20", "over all counts"):
        table.add_column(name, justify="left" if name.startswith("mech") else "right")
    for line in found.classroom:
        table.add_row(line.name, str(line.answer), f"{line.error:.4f}", f"{line.average:.4f}")
    screen.print(table)
    screen.print(
        "The last line is the optimum over [italic]all[/italic] 0.1-private mechanisms "
        "(uniform prior): the\nclamped geometric answer, read by the best table. Reading is free."
    )
    people = f"{found.people:,} synthetic salaries, one private question each."
    screen.print(f"\n[bold]2. The payroll[/bold]: {people}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("question", "epsilon", "private answer", "truth", "95 % within"):
        table.add_column(name, justify="left" if name == "question" else "right")
    for ask in found.payroll:
        table.add_row(ask.question, ask.epsilon, ask.answer, ask.truth, ask.within)
    screen.print(table)
    screen.print("(The truth is shown because these people are made up. A curator never shows it.)")
    screen.print("\n[bold]3. Believe it[/bold]: the guarantee, proved by enumeration just now")
    for verdict in found.verdicts:
        screen.print(f"   {verdict}", soft_wrap=True)
    screen.print("\nFigure: " + ", ".join(str(path) for path in found.figures))
    screen.print("Next: [bold]discreet audit[/bold] proves every mechanism this way.\n")
