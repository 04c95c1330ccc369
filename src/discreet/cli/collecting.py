"""`discreet collect`: ask many devices, each randomising its own answer, over the network.

Tested by tests/cli/test_collecting.py
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli.errors import FAILED, CommandError, Guarded
from discreet.cli.listening import Listening
from discreet.cli.plain import Plain
from discreet.cli.printing import hand_out_json, harmless, say
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.store import Store

__all__ = ["app"]

app = typer.Typer(
    name="collect",
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="A survey among devices that randomise their answers themselves.",
)
_PORT = 8081
"""Where reports are collected, unless another is said."""
_SHOWN = "The owner's key, shown only now: {}"
_Survey = Annotated[Path, typer.Argument(metavar="SURVEY", help="The file of the survey.")]
_StoreFile = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="What was collected; SURVEY with .collected."),
]


@app.command(cls=Plain)
def new(  # noqa: PLR0913, PLR0917 - what is asked, at which price, when
    survey: _Survey,
    values: Annotated[
        str, typer.Option("--values", metavar="A,B,...", help="The public values; or how many.")
    ],
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="NUMBER", help="Of one report; exact as typed.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="TEXT", help="What people call it.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", metavar="TIME", help="2026-11-16T00:00:00Z; now.")
    ] = None,
    hours: Annotated[
        int, typer.Option("--hours", metavar="N", help="How long an epoch lasts.")
    ] = 24,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", help="How many there are.")] = 1,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Write the file of a survey: what is asked, how devices randomise, and when.

    Example: [bold]discreet collect new drinks.json --values tea,coffee,milk --epsilon 1[/bold]
    """
    from discreet.local.frequency import Frequency  # noqa: PLC0415
    from discreet.local.survey import Survey  # noqa: PLC0415

    if survey.exists():
        raise ParameterError("SURVEY", survey.name, "is there already: devices may know it")
    domain = int(values) if values.strip().isdecimal() else _texts(values)
    chosen = Frequency(domain, epsilon)
    made = Survey(
        chosen, name=name or survey.stem, start=_time(start), seconds=hours * 3600, epochs=epochs
    )
    survey.write_text(made.to_json(), encoding="utf-8")
    total = str(made.total.epsilon)
    if as_json:
        told = {"saved": str(survey), "identity": made.identity, "epsilon_of_all_epochs": total}
        typer.echo(json.dumps(told))
        return
    say(f"saved {survey}: {chosen.why}")
    typer.echo(f"a device tells epsilon {chosen.epsilon} in an epoch, {total} in all {epochs}")


def _texts(values: str) -> list[str]:
    return [key for key, _ in o.split_keys(values)]


def _time(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ParameterError("--start", text, "must be a time, as 2026-11-16T00:00:00Z") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _place(survey: Path, store: Path | None) -> Path:
    return store if store is not None else survey.with_suffix(".collected")


def _kept(survey: Path, store: Path | None) -> tuple[Store, str]:
    """The store of a survey; with the owner's key if it was made now, else an empty text."""
    from discreet.local.store import Store  # noqa: PLC0415
    from discreet.local.survey import Survey  # noqa: PLC0415

    asked, path = Survey.read(survey), _place(survey, store)
    if not path.exists():
        return Store.create(path, asked)
    kept = Store.open(path)
    if kept.survey != asked:
        kept.close()
        raise ParameterError("SURVEY", survey.name, f"is not the survey that {path} collects")
    return kept, ""


@app.command(cls=Plain)
@o.spread
def serve(
    survey: _Survey,
    listening: Listening,
    store: _StoreFile = None,
    new_key: Annotated[  # noqa: FBT002
        bool, typer.Option("--new-key", help="Make another key for the owner; the old one ends.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Collect reports, one of each device and epoch. The first start shows the owner's key, once.

    Example: [bold]discreet collect serve survey.json[/bold]
    """
    try:
        from discreet.server import collecting  # noqa: PLC0415
    except ImportError as error:
        problem = f'needs {error.name}: pip install "discreet[server]"'
        raise ParameterError("collect serve", None, problem) from None
    from discreet.curator.policy.model import Server  # noqa: PLC0415

    settings = listening.settings(Server(port=_PORT))
    kept, owner = _kept(survey, store)
    if new_key and not owner:
        owner = kept.new_owner()
    asked = kept.survey

    def started(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"address": address, "survey": asked.identity, "owner": owner}))
            return
        say(f"Collecting {asked.name} at {address}  (Ctrl-C stops it)")
        if owner:
            typer.echo(_SHOWN.format(owner))

    collecting.run_collecting(kept, settings, started=started)


@app.command(cls=Plain)
def tickets(
    survey: _Survey,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The tickets: device,ticket.")
    ],
    count: Annotated[int, typer.Option("--count", metavar="N", help="How many.")],
    store: _StoreFile = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Make names of devices with tickets; from then on only devices with tickets may report.

    There is no way back for this survey. Hand each line to one person, and delete the file.

    Example: [bold]discreet collect tickets survey.json --count 1000 -o tickets.csv[/bold]
    """
    if output.exists():
        raise ParameterError("--output", output.name, "is there already")
    kept, owner = _kept(survey, store)
    try:
        issued = kept.tickets.issue(count)
        lines = "".join(f"{device},{ticket}\n" for device, ticket in issued)
        _write_new(output, "device,ticket\n" + lines)
        kept.require_tickets()
    finally:
        kept.close()
    if as_json:
        typer.echo(json.dumps({"saved": str(output), "count": len(issued), "owner": owner}))
        return
    typer.echo(f"saved {output}: {len(issued):,} tickets, which nobody else may read")
    typer.echo("Only devices with tickets may report from now on.")
    if owner:
        typer.echo(_SHOWN.format(owner))


def _write_new(path: Path, text: str) -> None:
    """A file that was not there before, for its owner alone."""
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ParameterError("--output", path.name, "is there already") from None
    with os.fdopen(place, "w", encoding="ascii") as file:
        file.write(text)


@app.command(cls=Plain)
def estimate(
    survey: _Survey,
    epoch: Annotated[int, typer.Option("--epoch", metavar="N", help="Which one.")] = 0,
    confidence: Annotated[
        str, typer.Option("--confidence", metavar="NUMBER", help="That all intervals hold.")
    ] = "0.95",
    store: _StoreFile = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Estimate the shares of all values from what was collected. Exit code 1: no reports.

    Example: [bold]discreet collect estimate survey.json[/bold]
    """
    from discreet.local.store import Store  # noqa: PLC0415

    kept = Store.open(_place(survey, store))
    try:
        found = kept.collector(epoch)
    finally:
        kept.close()
    if found.n == 0:
        raise CommandError(f"there are no reports of epoch {epoch}", kind="check", code=FAILED)
    shares = found.estimate(confidence)
    if as_json:
        told = {"epoch": epoch, "n": shares.n, "confidence": shares.confidence}
        hand_out_json({**told, "rows": list(shares.rows())})
        return
    wide = max(5, *(len(harmless(str(row["value"]))) for row in shares.rows()))
    typer.echo(f"{shares.n:,} reports; all intervals hold together with {confidence}")
    typer.echo(f"{'value':<{wide}}  {'share':>8}  {'from':>8}  {'to':>8}")
    for row in shares.top(len(shares)):
        numbers = "  ".join(f"{row[key]:>8.4f}" for key in ("share", "lower", "upper"))
        say(f"{harmless(str(row['value'])):<{wide}}  {numbers}")
