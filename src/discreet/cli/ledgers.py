"""`discreet ledger`: show, verify, head, restore, rebuild, raise.

A ledger is named by its policy, by its own file, or by the data file that it lies beside.
Tested by tests/cli/test_ledgers.py
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as o
from discreet.cli.errors import FAILED, Guarded, columns, complain, warn
from discreet.cli.places import place_of
from discreet.cli.plain import Plain
from discreet.cli.printing import hand_out, hand_out_json, say
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.curator.ledger.listing import Line
    from discreet.curator.ledger.values import Account
    from discreet.curator.ledger.verify import Verified

__all__ = ["app"]

app = typer.Typer(
    name="ledger",
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Who asked what, when, at what cost; and whether the book can be believed.",
)
Where = Annotated[
    str, typer.Argument(metavar="POLICY|LEDGER|FILE", help="A policy, a .ledger, or a data file.")
]
_WHAT = 3
"""The place of the question in a row."""
_MORE = "--more-budget ACCOUNT"
_SHORTEST = 12
"""So many letters of an id are shown at least: all of one that nobody named."""


@app.command(cls=Plain)
def show(
    where: Where,
    analyst: Annotated[
        str | None, typer.Option("--analyst", metavar="NAME", help="Only what this one asked.")
    ] = None,
    everything: Annotated[  # noqa: FBT002
        bool, typer.Option("--all", help="Also policies, accounts, and who signed in.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,  # noqa: FBT002
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """List who asked what, when, at what cost.

    Under a policy, a question about a public table is listed with its JOIN; the log has it with
    LOOKUP, which is the same question.

    Example: [bold]discreet ledger show policy.toml --analyst alice[/bold]

    Example: [bold]discreet ledger show payroll.csv.ledger --csv[/bold]
    """
    from discreet.curator.ledger.listing import lines_of  # noqa: PLC0415

    if as_csv and as_json:
        raise ParameterError("--csv", None, "and --json cannot both be printed")
    place = place_of(where)
    ledger, problem = place.looked_at()
    with ledger:
        entries, accounts, _ = ledger.everything()
    lines = lines_of(entries, accounts, everything=everything)
    letters = _letters({line.release for line in lines})
    if analyst is not None:
        lines = [line for line in lines if line.who == analyst]
        accounts = [one for one in accounts if one.name.endswith(f"@{analyst}")]
    if place.policy is not None:
        from discreet.curator.joins import Joins  # noqa: PLC0415

        lines = Joins(place.policy.datasets).lines(lines)
    if as_csv:
        hand_out(_csv(lines))
    elif as_json:
        totals = [
            {"account": one.name, "spent": one.spent.said(one.accounting),
             "total": one.total.said(one.accounting), "retired": one.sealed}
            for one in accounts
        ]  # fmt: skip
        told = {"entries": [asdict(line) for line in lines], "totals": totals, "problem": problem}
        hand_out_json(told)
    else:
        _printed(lines, accounts, letters, own=analyst is not None)
    if problem is not None and not as_json:
        warn(f"this is for looking only. {problem}")


def _csv(lines: Sequence[Line]) -> str:
    from discreet.curator.ledger.listing import Line  # noqa: PLC0415

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(Line.__slots__)
    writer.writerow(names)
    writer.writerows([getattr(line, name) for name in names] for line in lines)
    return out.getvalue()


def _letters(ids: Collection[str]) -> int:
    """So many letters of every id tell which one is meant."""
    longest = max(map(len, ids), default=0)
    fits = (n for n in range(_SHORTEST, longest) if len({one[:n] for one in ids}) == len(ids))
    return next(fits, longest)


def _printed(
    lines: Sequence[Line], accounts: Sequence[Account], letters: int, *, own: bool
) -> None:
    if lines:
        for row in _table(lines, letters, own=own):
            typer.echo(row)
    else:
        typer.echo("Nothing was asked.")
    if any(line.allowance and not line.cost for line in lines) and not own:
        typer.echo("In brackets: charged to an allowance only; somebody had asked it before.")
    typer.echo()
    for one in accounts:
        words = f"{one.spent.said(one.accounting)} of {one.total.said(one.accounting)} spent"
        say(f"{one.name}: {words}{', retired' if one.sealed else ''}")


def _table(lines: Sequence[Line], letters: int, *, own: bool) -> list[str]:
    """Rows of cells that fit the terminal: the question is cut, everything else is not."""
    from discreet.curator.values import shortened, width_of  # noqa: PLC0415

    head: tuple[str, ...] = (
        "entry",
        "when (UTC)",
        "who",
        "what",
        "cost",
        "state",
        "release",
        "about",
    )
    rows = [head, *(_row(line, letters, own=own) for line in lines)]
    about = {line.dataset for line in lines} - {""}
    if len(about) < 2 and not any("/" in name for name in about):
        rows = [row[:-1] for row in rows]  # all of it is about one dataset
        head = head[:-1]
    widths = [max(width_of(row[place]) for row in rows) for place in range(len(head))]
    others = sum(widths) - widths[_WHAT] + 2 * (len(head) - 1)
    widths[_WHAT] = max(12, min(widths[_WHAT], columns() - others))
    rows.insert(1, tuple("─" * wide for wide in widths))
    found = []
    for place, row in enumerate(rows):
        cells = [*row[:_WHAT], shortened(row[_WHAT], widths[_WHAT]), *row[_WHAT + 1 :]]
        put = [
            cell + " " * (wide - width_of(cell)) for cell, wide in zip(cells, widths, strict=True)
        ]
        put[0] = cells[0].rjust(widths[0])
        text = "  ".join(put).rstrip()
        act = place > 1 and not lines[place - 2].release
        found.append(typer.style(text, dim=True) if act else text)
    return found


def _row(line: Line, letters: int, *, own: bool) -> tuple[str, ...]:
    cost = line.allowance if own else line.cost
    if not cost and line.allowance and not own:
        cost = f"({line.allowance})"
    if line.release and not cost:
        cost = "free"
    from discreet.curator.values import visible  # noqa: PLC0415

    what = " ".join(line.what.split())
    when = line.at[:16].replace("T", " ")
    cells = (when, line.who, what, cost, line.state, line.release[:letters], line.dataset)
    return str(line.entry), *map(visible, cells)


@app.command(cls=Plain)
def verify(
    where: Where,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="[N:]HASH", help="One that was exported before."),
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Find any change, deletion, swap or truncation; exit code 1 if there is one.

    Exit code 4: there is no ledger, or it cannot be opened: it has to lie, with its head file,
    where it can be written.

    A hash alone, as a report may have it, is looked for in all entries.

    Example: [bold]discreet ledger verify policy.toml[/bold]
    """
    from discreet.curator.ledger.chain import Head  # noqa: PLC0415
    from discreet.curator.ledger.connecting import is_out_of_reach  # noqa: PLC0415
    from discreet.curator.ledger.verify import verified  # noqa: PLC0415

    wanted = None if head is None else Head.read(head)
    place = place_of(where)
    problem, found = None, None
    try:
        with place.open() as ledger:
            found = verified(ledger, head=wanted)
    except LedgerError as error:
        if not place.exists or is_out_of_reach(error):
            raise
        problem = str(error)
    if as_json:
        told: dict[str, Any] = {"intact": problem is None, "problem": problem}
        if found is not None:
            told |= {**asdict(found), "head": str(found.head)}
        typer.echo(json.dumps(told, indent=2))
    elif found is not None:
        _tell_intact(found)
    if problem is not None:
        if not as_json:
            complain(problem)
        raise typer.Exit(FAILED)


def _tell_intact(found: Verified) -> None:
    waiting = f", {found.waiting} charged and not answered" if found.waiting else ""
    access = f", {found.access} about who is let in" if found.access else ""
    words = f"{found.entries} entries, {found.questions} questions{waiting}{access}."
    typer.echo(f"Intact: {words}")
    if found.exported is not None:
        typer.echo(f"The exported head is that of entry {found.exported}.")
    typer.echo(f"head {found.head}")


@app.command(cls=Plain)
def head(where: Where, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Print the head: keep it elsewhere, and nobody can take the ledger back behind it unseen.

    Example: [bold]discreet ledger head policy.toml[/bold]
    """
    with place_of(where).open() as ledger:
        found = ledger.head
    told = json.dumps({"entry": found.seq, "hash": found.hash, "head": str(found)})
    typer.echo(told if as_json else str(found))


@app.command(cls=Plain)
def restore(
    where: Where,
    all_is_spent: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--all-is-spent", help="Without a head file: all that is left is spent."),
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Go on with a ledger from a backup: all that was spent since counts as spent.

    The head file knows how much that is. Where it is lost nobody does, and everything that is left
    counts as spent; that has to be said by --all-is-spent.

    Example: [bold]discreet ledger restore policy.toml[/bold]
    """
    from discreet.curator.ledger.restore import restored  # noqa: PLC0415

    place = place_of(where)
    place.check()
    words = restored(place.address, head=place.head, all_is_spent=all_is_spent)
    if as_json:
        typer.echo(json.dumps({"counted": words}))
        return
    typer.echo("The ledger is in use again.")
    for line in words or ["nothing had been spent since"]:
        typer.echo(f"  {line}")


@app.command(cls=Plain)
def rebuild(where: Where, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Make the accounts anew from the log, where their rows were changed by hand.

    The log has to be intact, and is not touched. What the head file knows to be spent stays so.

    Example: [bold]discreet ledger rebuild policy.toml[/bold]
    """
    from discreet.curator.ledger.rebuild import accounts_rebuilt  # noqa: PLC0415

    place = place_of(where)
    place.check()
    words = accounts_rebuilt(place.address, head=place.head)
    if as_json:
        typer.echo(json.dumps({"rebuilt": words}))
        return
    typer.echo("The accounts are what the log says." if words else "Nothing had to be changed.")
    for line in words:
        typer.echo(f"  {line}")


@app.command("raise", cls=Plain)
def raise_(
    where: Annotated[str, typer.Argument(metavar="FILE", help="A bare data file.")],
    total: Annotated[str, typer.Argument(metavar="EPSILON", help="Its new total.")],
    delta: Annotated[
        str | None,
        typer.Option("--delta", metavar="DELTA", help="Its new total delta; else as it was: 0."),
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Raise the total epsilon of a bare file, and its delta; it is logged.

    A bare file has no delta until it is given one here. A policy says its budgets itself.

    Example: [bold]discreet ledger raise payroll.csv 20 --delta 1e-6[/bold]
    """
    from discreet.curator.ledger.amounts import limit_of  # noqa: PLC0415

    place = place_of(where)
    if place.policy is not None:
        problem = f"says its budgets itself: change it, then `discreet register {where} {_MORE}`"
        raise ParameterError("file", where, problem)
    with place.open() as ledger, ledger.writing() as on:
        on.name = "raise"
        accounts = on.accounts()
        if len(accounts) != 1 or place.data is None:
            raise ParameterError("file", where, "must be a bare data file with a ledger beside it")
        one = accounts[0]
        try:
            most = limit_of(
                epsilon=total, delta=one.total.failing() if delta is None else delta
            ).most
        except ParameterError as error:
            named, said = ("--delta", delta) if error.name == "delta" else ("EPSILON", total)
            raise ParameterError(named, said, error.problem) from None
        if most == one.total or not one.total.within(most):
            raise ParameterError("total", total, f"must be above {one.total.said(one.accounting)}")
        on.limit(one, most)
    told = {"account": one.name, "from": one.total.said("pure"), "to": most.said("pure")}
    words = f"{where} may spend {told['to']} instead of {told['from']}, in all."
    typer.echo(json.dumps(told) if as_json else words)
