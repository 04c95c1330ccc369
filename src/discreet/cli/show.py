"""What the commands print: tables and progress bars for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from discreet.exact import shown

if TYPE_CHECKING:
    from discreet.audit.report import AuditRow
    from discreet.curator.ledger.values import Account
    from discreet.gallery.demo import Demo
    from discreet.gallery.experiment import Experiment, Found, Number

__all__ = ["audit_table", "progress", "show_demo", "show_experiment"]

Step = Callable[[str, int, int], None]


def _number(value: Number) -> str:
    """For people: a large integer with commas."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def console() -> Console:
    """The terminal; 120 columns where the output is no terminal and nobody says how many."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
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
    """The verdicts: what each mechanism promises, and how far each sampler was walked."""
    screen = console()
    for kind, head in (
        ("mechanism", ("mechanism", "promise", "worst found", "pairs", "verdict")),
        ("sampler", ("sampler", "", "open", "runs", "verdict")),
    ):
        chosen = [row for row in rows if row.kind == kind]
        if chosen and screen.width >= _WIDE:
            _wide_table(screen, chosen, head)
        for row in chosen if screen.width < _WIDE else ():
            name, promise, worst, compared, word = _cells(row)
            found = f"worst {worst} over {compared} pairs" if promise else f"open {worst}"
            screen.print(f"{name}\n   {promise}{': ' if promise else ''}{found}, {word}")
    proven = sum(row.proven for row in rows)
    screen.print(f"{proven} of {len(rows)} proven or in agreement; nothing was sampled.")
    screen.print(
        "open: the probability that was not walked through; every outcome agrees with the stated "
        "law within it."
    )
    for row in rows:
        if not row.proven:
            screen.print(f"[red]{row.name}[/red]: {row.witness}")


_WIDE = 116  # below this many columns names would be broken; then two lines are printed each


def _wide_table(screen: Console, rows: Sequence[AuditRow], head: Sequence[str]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(head):
        right = 0 < place < len(head) - 1
        table.add_column(name, justify="right" if right else "left", no_wrap=place > 0)
    for row in rows:
        table.add_row(*_cells(row))
    screen.print(table)


def _cells(row: AuditRow) -> tuple[str, str, str, str, str]:
    promise = ", ".join(f"{name} {value:.4g}" for name, value in row.promise.items())
    good = "agrees" if row.kind == "sampler" else "proven and tight" if row.tight else "proven"
    word = f"[green]{good}[/green]" if row.proven else "[red bold]NOT PROVEN[/red bold]"
    worst = f"{row.worst:.6g}" if row.kind == "mechanism" else f"{row.worst:.1e}"
    return escape(row.name), promise, worst, f"{row.compared:,}", word


def show_demo(found: Demo, folder: Path) -> None:
    """The afternoon of the demo, as a person would tell it."""
    screen = console()
    screen.print(
        f"\n[bold]A payroll of {found.people:,} people[/bold] (made up), a policy, a ledger, and "
        f"alice, who may spend epsilon 2.5. Everything is in {escape(str(folder))}."
    )
    for number, step in enumerate(found.steps, 1):
        screen.print(f"\n[bold]{number}. {escape(step.title)}[/bold]")
        screen.print(Padding(escape(step.code), (0, 0, 1, 3)), style="cyan")
        screen.print(Padding(escape(step.text), (0, 0, 0, 3)))
    screen.print(f"\n[bold]{len(found.steps) + 1}. What is left[/bold]\n")
    for account in found.accounts:
        screen.print(Padding(_spent(account), (0, 0, 0, 3)))
    screen.print("\n[bold]Behind the noise[/bold]: 20 of 30 pupils failed. How many, privately?")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("mechanism (epsilon 0.1)", "answer", "mean |error| at 20", "over all counts"):
        table.add_column(name, justify="left" if name.startswith("mech") else "right")
    for line in found.classroom:
        table.add_row(line.name, str(line.answer), f"{line.error:.4f}", f"{line.average:.4f}")
    screen.print(table)
    screen.print(
        "The last line is the optimum over [italic]all[/italic] 0.1-private mechanisms (uniform "
        "prior): the clamped geometric answer, read by the best table. Reading is free."
    )
    screen.print("\n[bold]Believe it[/bold]: the guarantee, proved by enumeration just now")
    for verdict in found.verdicts:
        screen.print(Padding(escape(verdict), (0, 0, 0, 3)))
    screen.print("\nFigures: " + ", ".join(str(path) for path in found.figures))
    screen.print(
        f"Next: [bold]discreet budget {escape(str(folder))}/policy.toml[/bold], [bold]discreet ask "
        "--help[/bold], or [bold]make audit[/bold], which proves every mechanism.\n"
    )


def _spent(account: Account) -> str:
    """An account as a bar of what is spent."""
    share = account.spent.main / account.total.main if account.total.main else 1.0
    full = round(24 * share)
    bar = f"[cyan]{'█' * full}[/cyan][dim]{'░' * (24 - full)}[/dim]"
    total, left = shown(account.total.value()), shown(account.left.value())
    words = f"{account.spent.said(account.accounting)} of {total} spent, {left} left"
    return f"{escape(account.name):<14} {bar}  {words}"


def show_experiment(one: Experiment, found: Found, saved: Sequence[Path]) -> None:
    """An experiment of the gallery: its numbers, what to know about them, and its figures."""
    screen = console()
    screen.print(f"\n[bold]{escape(one.title)}[/bold]", soft_wrap=True)
    screen.print(escape(one.about), style="dim")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("number")
    table.add_column("ours", justify="right")
    told = any(fact.theirs is not None for fact in found)
    if told:
        table.add_column("the source says", justify="right")
        table.add_column("source")
    if any(fact.remark for fact in found):
        table.add_column("remark")
    for fact in found:
        beside = ["" if fact.theirs is None else _number(fact.theirs), fact.source] if told else []
        remark = [fact.remark] if any(each.remark for each in found) else []
        table.add_row(*map(escape, (fact.name, _number(fact.ours), *beside, *remark)))
    screen.print(table)
    for note in found.notes:
        screen.print(escape(" ".join(note.split())))
    for figure in found.figures:
        files = ", ".join(str(path) for path in saved if path.stem == figure.name)
        screen.print(f"\n[bold]{escape(files)}[/bold]")
        screen.print(escape(figure.caption))
