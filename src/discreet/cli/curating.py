"""Holding data under a policy: ask, explain, budget, init, check, retire.

Tested by tests/cli/test_curating.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as o
from discreet.cli.answers import answered, bar, left_words, show_answer
from discreet.cli.errors import FAILED, code_of, columns, complain, warn
from discreet.cli.files import table_of
from discreet.cli.options import Known, Out, reading, spread
from discreet.cli.places import Place, is_policy, place_of
from discreet.cli.registering import missing_in
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.ledger.marks import Data
    from discreet.curator.ledger.values import Account
    from discreet.curator.policy.model import Policy
    from discreet.curator.questions import Askable

__all__ = ["ask", "budget", "check", "explain", "init", "retire"]

_SMALL = "1e-6"
"""The delta at which a rho is told as an epsilon."""


@dataclass(frozen=True, slots=True)
class Priced:
    """What a question may cost."""

    epsilon: o.Epsilon = None
    delta: o.Delta = None
    rho: o.Rho = None
    within: o.Within = None
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="N",
            rich_help_panel=o.COST,
            help="In a group of so many rows, for means; 1000 to explain, and --within needs it.",
        ),
    ] = None
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="NAME",
            rich_help_panel=o.COST,
            help="With --within: for this number only.",
        ),
    ] = None
    again: Annotated[
        bool,
        typer.Option("--search-again", rich_help_panel=o.COST,
                     help="Find again, and pay again, what was found privately before."),
    ] = False  # fmt: skip

    def price(self) -> dict[str, Any]:
        """What is said without --within."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}

    def accuracy(self) -> dict[str, Any]:
        """What is said with --within."""
        if self.epsilon is not None or self.rho is not None:
            raise ParameterError("--within", self.within, "goes instead of --epsilon and --rho")
        said = {"within": self.within, "delta": self.delta}
        return {**said, "rows": self.rows, "column": self.column}


@spread
def ask(  # noqa: PLR0913, PLR0917 - a policy, a question, who asks, a price, a way out
    policy: o.PolicyFile,
    question: Annotated[str, typer.Argument(metavar="SQL", help="The question.")],
    cost: Priced,
    out: Out,
    analyst: o.As = None,
    dataset: o.Dataset = None,
    block: o.Block = None,
    key: o.Key = None,
    less: o.Less = False,  # noqa: FBT002
) -> None:
    """Ask a question under a policy: it is charged, answered and stored.

    Example: [bold]discreet ask policy.toml
    "SELECT department, COUNT(*) FROM payroll GROUP BY department"
    --epsilon 0.5 --as alice[/bold]

    Example: [bold]discreet ask policy.toml "SELECT COUNT(*) FROM payroll" --within 50
    --key cron-2026-05[/bold]

    What a policy lets be found (bounds, rows per person) is found with the first question that
    needs it, and stays; --search-again pays for another search.
    """
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.faults import note_fault  # noqa: PLC0415

    out.check()
    with Curator(policy, on_fault=lambda fault: note_fault(curator.ledger, fault)) as curator:
        answer = answered(
            curator, analyst,
            lambda: curator.ask(
                question, analyst=analyst, dataset=dataset, block=block, key=key,
                within=cost.within, rows=cost.rows, column=cost.column, with_what_is_left=less,
                search_again=cost.again, **cost.price(),
            ),
        )  # fmt: skip
    show_answer(answer, out)


@spread
def explain(  # noqa: PLR0913, PLR0917 - a place, a question, who asks, a price, a way out
    where: Annotated[
        str, typer.Argument(metavar="POLICY|FILE", help="A policy (.toml), or a bare file.")
    ],
    question: Annotated[str, typer.Argument(metavar="SQL", help="The question.")],
    cost: Priced,
    known: Known,
    analyst: o.As = None,
    dataset: o.Dataset = None,
    block: o.Block = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Say what a question would cost, how far off each number would be, and what would run; free.

    Example: [bold]discreet explain policy.toml "SELECT AVG(salary) FROM payroll"
    --epsilon 0.5[/bold]

    Example: [bold]discreet explain payroll.csv "SELECT COUNT(*) FROM payroll" --within 20[/bold]
    """
    if is_policy(where):
        from discreet.curator.curator import Curator  # noqa: PLC0415

        if known != Known():
            raise ParameterError("POLICY", where, "says itself what is known of the columns")
        with Curator(where) as curator:
            curator.accounts(analyst)  # refuses who is not known
            at = {"dataset": dataset, "block": block, "analyst": analyst}
            told = _explained(curator, question, cost, {**at, "search_again": cost.again})
            told |= _rest(curator, question, analyst, dataset, block)
            found = told["epsilon_for"]
            said = cost.price() if found is None else {"epsilon": found, "delta": cost.delta}
            told["paid"] = curator.is_paid(question, **said, **at, search_again=cost.again)
    else:
        if analyst is not None:
            raise ParameterError("--as", analyst, "needs a policy, which names the analysts")
        if cost.again:
            raise ParameterError("--search-again", None, "needs a policy, which says what is found")
        table = table_of(where, known, known.declared())
        told = _explained(table, question, cost, {})
        table.close()
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    if told["epsilon_for"] is not None:
        typer.echo(f"It takes epsilon {told['epsilon_for']} to be within {cost.within}.\n")
    typer.echo(told["explanation"])
    for words in filter(None, [told.get("said")]):
        typer.echo(f"\n{words}")


def _rest(
    curator: Curator, question: str, analyst: str | None, dataset: str | None, block: str | None
) -> dict[str, Any]:
    """What the asker has left for a question; or that nobody is answered any more."""
    name = dataset or curator.reads(question, block=block).table
    account = curator.policy.datasets[name].account(block)
    account += "" if analyst is None else f"@{analyst}"
    held = {one.name: one for one in _as_they_stand(curator.accounts().values())}.get(account)
    if held is None:
        return {"said": f"{analyst} has no allowance for these data.", "left": None}
    said = f"Left of {account}: {left_words(held)}."
    if held.sealed:
        said = "These data were retired: no question is answered from them any more."
    return {"said": said, "left": held.to_dict()["left"], "retired": held.sealed}


def _explained(
    asker: Askable, question: str, cost: Priced, where: dict[str, Any]
) -> dict[str, Any]:
    from discreet.curator.questions import foreseen  # noqa: PLC0415

    accuracy = None if cost.within is None else cost.accuracy()
    told = foreseen(
        asker, question, cost.price(), accuracy=accuracy, where=where, figures={"rows": cost.rows}
    )
    found = None if told.epsilon_for is None else str(told.epsilon_for)
    return {"epsilon_for": found, "explanation": told.text, "price": told.price.to_dict()}


# the budget


def budget(
    where: Annotated[
        str, typer.Argument(metavar="POLICY|FILE", help="A policy, a ledger, or a bare file.")
    ],
    analyst: o.As = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Say what was spent and what is left, of everybody or of one analyst.

    Example: [bold]discreet budget policy.toml --as alice[/bold]

    Example: [bold]discreet budget payroll.csv[/bold]
    """
    place = place_of(where)
    if analyst is not None:
        _check_analyst(place.policy, analyst)
    accounts: list[Account] = []
    if place.data is None or place.is_made:
        with place.open() as ledger:
            accounts = _as_they_stand(ledger.accounts.values())
    if analyst is not None:
        accounts = [one for one in accounts if one.name.endswith(f"@{analyst}")]
    if as_json:
        typer.echo(json.dumps([one.to_dict() for one in accounts], indent=2))
        return
    if not accounts:
        typer.echo("Nothing was asked yet; the first question opens the budget.")
    wide = max((len(one.name) for one in accounts), default=0)
    for one in accounts:
        typer.echo(_line(one, wide))


def _as_they_stand(accounts: Iterable[Account]) -> list[Account]:
    """Accounts, of which an allowance is retired where its people's budget is."""
    found = list(accounts)
    sealed = {one.name for one in found if one.sealed}
    return [replace(one, sealed=one.name.partition("@")[0] in sealed) for one in found]


def _check_analyst(policy: Policy | None, analyst: str) -> None:
    known = [] if policy is None else list(policy.analysts)
    if analyst not in known:
        there = ", ".join(known) or "none"
        raise ParameterError(
            "--as", analyst, f"must be an analyst of the policy; there are: {there}"
        )


def _line(one: Account, wide: int) -> str:
    from discreet.curator.ledger.amounts import Amount  # noqa: PLC0415

    share = one.spent.main / one.total.main if one.total.main else 1.0
    spent, total, left = (Amount(x.main).said(one.accounting) for x in
                          (one.spent, one.total, one.left))  # fmt: skip
    words = f"{spent} of {_bare(total)} spent"
    words += ", retired" if one.sealed else f", {_bare(left)} left"
    if one.total.delta:
        words += f"; delta {float(one.spent.failing()):.2g} of {float(one.total.failing()):.2g}"
    if one.accounting == "zcdp" and one.spent.main:
        words += f" (so far epsilon {_epsilon(one):.3g} at delta {_SMALL})"
    drawn = bar(share, 24)
    return f"{one.name:<{wide}}  {drawn.replace(' ', '░')}  {words}"


def _bare(words: str) -> str:
    """The number without its name."""
    return words.partition(" ")[2]


def _epsilon(one: Account) -> float:
    from fractions import Fraction  # noqa: PLC0415

    from discreet.privacy.convert import zcdp_epsilon_upper  # noqa: PLC0415

    return float(zcdp_epsilon_upper(one.spent.value(), Fraction(_SMALL)))


# the policy


def init(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="The data: CSV, Parquet, DuckDB, postgresql://")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The draft; - prints it.")
    ] = "policy.toml",
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="Which table of a database.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="C", help="Of a CSV file.")
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Write a draft of a policy, from names and types only, and say what is to be decided.

    Example: [bold]discreet init payroll.csv -o draft.toml[/bold]
    """
    from discreet.curator.policy.draft import draft  # noqa: PLC0415

    target = Path(output)
    if output != "-" and target.exists():
        raise ParameterError("--output", output, "exists and is not replaced; say another name")
    folder = None if output == "-" else target.absolute().parent
    text = draft(source, table=table, folder=folder, **reading(delimiter))
    decide = _decisions(text)
    if output == "-":
        typer.echo(json.dumps({"text": text, "decide": decide}, indent=2) if as_json else text,
                   nl=as_json)  # fmt: skip
        return
    with target.open("x", encoding="utf-8") as out:
        out.write(text)
    if as_json:
        typer.echo(json.dumps({"policy": output, "decide": decide}, indent=2))
        return
    from discreet.curator.values import visible  # noqa: PLC0415

    typer.echo(f"Wrote {output}. No row was read. Decide, in its lines:\n")
    for one in decide:
        words = visible(f"{one['key']}: {one['about']}")
        head, rest = f"{one['line']:>5}  ", " " * 9
        typer.echo(fill(words, min(columns(), 100), initial_indent=head, subsequent_indent=rest))
    typer.echo(f"\nThen: discreet check {output}")


def _decisions(text: str) -> list[dict[str, Any]]:
    """The lines of a draft that are still open."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        said, mark, about = line.partition("  # DECIDE: ")
        if mark:
            found.append({"line": number, "key": said.rpartition(" = ")[0], "about": about})
    return found


def check(policy: o.PolicyFile, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Read a policy, and say in plain words what it means and what is unwise in it.

    Exit code 1: its data, or columns of them, are not there. Exit code 4: its ledger cannot be
    used. If files have changed since their version was noted, it says that, too.

    Example: [bold]discreet check policy.toml[/bold]
    """
    from discreet.curator.ledger.marks import changed_words  # noqa: PLC0415
    from discreet.curator.policy.reading import read_policy  # noqa: PLC0415
    from discreet.curator.policy.words import explained, warnings  # noqa: PLC0415

    read = read_policy(policy)
    place, missing = place_of(policy), missing_in(read)
    held = _held(place, read)
    if as_json:
        told = {"fingerprint": read.fingerprint, "warnings": warnings(read), "missing": missing,
                "retired": held.retired, "changed_data": [one.part for one in held.changed],
                "ledger": held.problem and str(held.problem)}  # fmt: skip
        typer.echo(json.dumps({**told, "policy": read.canonical()}, indent=2))
    else:
        typer.echo(explained(read), nl=False)
        if not held.there:
            typer.echo(f"\nIts ledger is not there yet: discreet register {policy}")
        if held.problem:
            typer.echo(f"\nIts ledger cannot be used: {held.problem}.")
        for name in held.retired:
            typer.echo(f"\n{name} is retired: no question is answered from its data any more.")
        for words in missing:
            complain(words)
        for one in held.changed:
            warn(changed_words(one))
    if missing:
        raise typer.Exit(FAILED)
    if held.problem:
        raise typer.Exit(code_of(held.problem))


@dataclass(frozen=True, slots=True)
class _Held:
    """What the ledger knows: whether it is there, the budgets that are retired, and the data whose
    files have changed under their version; or why it cannot tell.
    """

    there: bool = True
    retired: Sequence[str] = ()
    changed: Sequence[Data] = ()
    problem: LedgerError | None = None


def _held(place: Place, policy: Policy) -> _Held:
    from discreet.curator.ledger.marks import marks_in, otherwise  # noqa: PLC0415
    from discreet.curator.policy.registration import registration  # noqa: PLC0415

    try:
        if not place.is_made:
            return _Held(there=False)
        with place.open() as ledger:
            retired = [one.name for one in ledger.accounts.values() if one.sealed]
            changed = otherwise(marks_in(ledger), registration(policy).data)
            return _Held(retired=retired, changed=changed)
    except LedgerError as error:
        return _Held(problem=error)


def retire(
    policy: o.PolicyFile,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Its name in the policy.")],
    block: o.Block = None,
    yes: Annotated[  # noqa: FBT002
        bool, typer.Option("--yes", help="Do not ask whether this is meant.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Seal the budgets of a dataset: nothing is answered from the data any more; answers stay.

    All its blocks are sealed with it, and so is every dataset over the same people. With --block
    only the budget of that block. There is no way back: it asks before, unless --yes is said.

    Example: [bold]discreet retire policy.toml payroll --yes[/bold]
    """
    from discreet.curator.curator import Curator  # noqa: PLC0415

    with Curator(policy) as curator:
        if not yes:
            _sure(curator, dataset, block)
        accounts = curator.retire(dataset, block)
    if as_json:
        typer.echo(json.dumps({"retired": accounts}))
        return
    for account in accounts:
        typer.echo(f"{account} is retired: no question is answered from its data any more.")
    typer.echo("What was released stays: discreet ledger show lists it.")


def _sure(curator: Curator, dataset: str, block: str | None) -> None:
    """Ask whether a budget is to be sealed for good; refuse where nobody can be asked."""
    held, names = curator.accounts(), curator.retiring(dataset, block)
    left = ", ".join(f"{name}: {left_words(held[name])}" for name in names)
    families = {one.family for one in curator.policy.datasets.values() if one.name == dataset}
    also = [one.name for one in curator.policy.datasets.values() if one.family in families]
    about = f"This ends {' and '.join(also)} for good. Left is {left}"
    if not _somebody_is_there():
        raise ParameterError("--yes", None, f"must be said where nobody can be asked. {about}")
    if not _confirmed(f"{about}. Retire it?"):
        raise typer.Abort


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


def _confirmed(words: str) -> bool:
    return typer.confirm(words, err=True)
