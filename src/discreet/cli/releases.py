"""Stored releases: show, plot, report, export, and the schemas of their forms. All of it is free.

A release is named by its id, or the beginning of it, with `--policy` or `--ledger`; or it is a file
of JSON, as `--json` and `discreet export` write it.
Tested by tests/cli/test_releases.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from discreet.cli import options as o
from discreet.cli.answers import table
from discreet.cli.derived import Derived
from discreet.cli.options import FIGURES, check_ending, spread
from discreet.cli.places import place_of
from discreet.cli.printing import hand_out, hand_out_json, say
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.record import Record
    from discreet.curator.release import Release

__all__ = ["Stored", "export", "plot", "report", "schema", "show", "show_derived"]

_Found = TypeVar("_Found", "Record", "Record | Release")


@dataclass(frozen=True, slots=True)
class Stored:
    """Which release."""

    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Its id, the beginning of it, or a JSON file.")
    ]
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE", help="The policy it was asked under.")
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="FILE", help="Or the ledger, or the data file beside it."),
    ] = None

    def record(self) -> Record:
        """With its provenance."""
        from discreet.curator.record import Record  # noqa: PLC0415

        found = self.named()
        if isinstance(found, Derived):
            raise ParameterError("release", self.release, found.why_no_record())
        if not isinstance(found, Record):
            problem = "was made without a ledger: there is no record of it to be published"
            raise ParameterError("release", self.release, problem)
        return found

    def found(self) -> Record | Release:
        """A record; or a release that is in no ledger."""
        found = self.named()
        return found.release if isinstance(found, Derived) else found

    def named(self) -> Record | Release | Derived:
        """A record; or a release that was made without a ledger, or computed of others."""
        if self.policy is not None and self.ledger is not None:
            raise ParameterError("--policy", self.policy, "or --ledger must be said, not both")
        named = self.policy or self.ledger
        if named is None:
            return _from_file(self.release)
        if self.policy is not None and not self.policy.lower().endswith(".toml"):
            raise ParameterError("--policy", self.policy, "must be a .toml file; or say --ledger")
        from discreet.curator.claims import found_record  # noqa: PLC0415

        with place_of(named).open() as ledger:
            return found_record(ledger, self.release)

    def as_asked(self, found: _Found) -> _Found:
        """With its question as people write it, where the policy tells how."""
        from discreet.curator.record import Record  # noqa: PLC0415

        policy = None if self.policy is None else place_of(self.policy).policy
        if policy is None or not isinstance(found, Record):
            return found
        from discreet.curator.joins import Joins  # noqa: PLC0415

        return Joins(policy.datasets).record(found)


def _from_file(name: str) -> Record | Release | Derived:
    from discreet.curator.record import Record  # noqa: PLC0415
    from discreet.curator.release import Release  # noqa: PLC0415
    from discreet.curator.stored import read_json  # noqa: PLC0415

    path = Path(name)
    if not path.is_file():
        problem = "is no file; say --policy or --ledger where it is the id of a release"
        raise ParameterError("release", name, problem)
    values = read_json(path)
    inner = values.get("record", values)  # what --json prints has the record inside
    if isinstance(inner, dict) and inner.get("schema") is None and "release" in inner:
        if isinstance(inner.get("of"), list):
            return Derived.from_dict(inner)
        return Release.from_dict(inner["release"])
    return Record.from_dict(inner)


def _release(found: Record | Release) -> Release:
    from discreet.curator.release import Release  # noqa: PLC0415

    return found if isinstance(found, Release) else found.release


@spread
def show(stored: Stored, as_json: o.Json = False) -> None:  # noqa: FBT002
    """Print a stored release and how it was made.

    Example: [bold]discreet show 3f2a --policy policy.toml[/bold]
    """
    found = stored.named()
    if as_json:
        hand_out_json(found.to_dict())
        return
    if isinstance(found, Derived):
        show_derived(found)
        return
    release = _release(found)
    say(f"{table(release)}\n\n{_release(stored.as_asked(found)).explain()}")
    if found is not release:
        say(_provenance(stored.record()))


def show_derived(made: Derived) -> None:
    """Print a release that was computed of others, and of which."""
    from discreet.curator.printed import WIDTH  # noqa: PLC0415

    words = fill(made.words(), WIDTH, break_on_hyphens=False)
    say(f"{table(made.release)}\n\n{made.release.explain()}\n{words}")


def _provenance(record: Record) -> str:
    part = f", block {record.block}" if record.block else ""
    who = record.analyst or "the owner"
    entry = str(record.entry) if record.entry else f"with the hash {record.head}"
    return (
        f"Release {record.id}: {record.dataset}{part}, data version {record.data_version}, policy "
        f"version {record.policy_version}; asked by {who}; {record.cost}, in entry {entry} of the "
        f"ledger; {record.software}."
    )


@spread
def plot(
    stored: Stored,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The figure: .png, .svg, .html.")
    ],
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Which number.")
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Draw a stored release, with its intervals.

    Example: [bold]discreet plot 3f2a --policy policy.toml -o figure.png[/bold]
    """
    check_ending("--output", output, FIGURES)
    found = stored.found()
    _release(stored.as_asked(found)).plot(column, output)
    _saved(output, found, as_json=as_json)


def _saved(output: Path, found: Record | Release, *, as_json: bool) -> None:
    """Say what was written, and which release it is about."""
    if as_json:
        typer.echo(json.dumps({"saved": str(output), "release": getattr(found, "id", None)}))
    else:
        say(f"saved {output}", err=True)


@spread
def report(
    stored: Stored,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page: .html.")
    ],
    publisher: Annotated[
        str, typer.Option("--publisher", metavar="NAME", help="Who answers for the numbers.")
    ] = "",
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Write one page about a stored release that can be attached to an announcement.

    Example: [bold]discreet report 3f2a --policy policy.toml -o page.html
    --publisher "City of Ghent"[/bold]
    """
    from discreet.curator.report import report as page  # noqa: PLC0415

    check_ending("--output", output, (".html",))
    found = stored.record()
    text = page(stored.as_asked(found), publisher=publisher)
    output.write_text(text, encoding="utf-8")
    _saved(output, found, as_json=as_json)


@spread
def export(
    stored: Stored,
    registry: Annotated[  # noqa: FBT002
        bool, typer.Option("--registry", help="What a public registry asks for; not who asked.")
    ] = False,
    as_csv: Annotated[  # noqa: FBT002
        bool, typer.Option("--csv", help="The numbers alone, with their intervals.")
    ] = False,
    as_json: o.Json = False,  # noqa: ARG001, FBT002 - it is JSON anyway
    publisher: Annotated[
        str, typer.Option("--publisher", metavar="NAME", help="Who answers for the numbers.")
    ] = "",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="What was released, for a registry.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else it is printed.")
    ] = None,
) -> None:
    """Write a stored release with its provenance as JSON, or for a public registry, or as CSV.

    A file that ends in .csv is written as CSV.

    Example: [bold]discreet export 3f2a --policy policy.toml --registry[/bold]
    """
    as_csv = as_csv or (output is not None and output.suffix.lower() == ".csv")
    if registry and as_csv:
        raise ParameterError("--csv", None, "and --registry cannot both be written")
    if as_csv:
        text = _release(stored.found()).to_csv()
    elif registry:
        told = stored.record().to_registry(publisher=publisher, title=title)
        text = json.dumps(told, indent=2, allow_nan=False) + "\n"
    else:
        text = stored.record().to_json()
    if output is None:
        hand_out(text)
        return
    output.write_text(text, encoding="utf-8", newline="")
    say(f"saved {output}", err=True)


def schema(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORM", help="release: what export writes; registry: with --registry."
        ),
    ],
    as_json: o.Json = False,  # noqa: ARG001, FBT002 - it is JSON anyway
) -> None:
    """Print the JSON Schema of the form in which a release, or its entry in a registry, is written.

    Example: [bold]discreet schema registry[/bold]
    """
    from discreet.curator.schemas import schema_text  # noqa: PLC0415

    hand_out(schema_text(form))
