"""The `discreet` command. An adapter: it reads arguments, calls the library and prints.

Exit codes: 0 all is well; 1 a check failed (audit, ledger verify); 2 the arguments, the question or
the policy are wrong; 3 refused, for the budget does not suffice; 4 the ledger cannot be used; 5 the
database failed; 70 a fault of the program. More in `discreet.cli.errors`.

Heavy things are imported inside the commands, so that `discreet --help` answers at once.
Tested by tests/cli/test_cli.py
"""

from __future__ import annotations

from typing import Annotated

import typer

import discreet
from discreet.cli import (
    collecting,
    curating,
    files,
    galleries,
    ledgers,
    people,
    proving,
    publishing,
    rappor,
    releases,
    serving,
)
from discreet.cli.errors import Guarded
from discreet.cli.plain import Plain

__all__ = ["app"]

_CODES = (
    "Exit codes: 0 all is well, 1 a check failed, 2 wrong arguments or policy, 3 refused: budget, "
    "4 the ledger cannot be used, 5 the database failed, 70 a fault of the program."
)

app = typer.Typer(
    name="discreet",
    cls=Guarded,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    epilog=_CODES,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Differential privacy from exact discrete noise.

    Example: [bold]discreet count payroll.csv --by department --keys Fire,Police,Library
    --epsilon 1[/bold]
    """


for _panel, _commands in (
    ("Ask a file", (files.count, files.sql, files.histogram)),
    ("Publish once", (publishing.publish, publishing.range, publishing.quantile)),
    ("Hold data under a policy", (curating.init, curating.check, curating.register, curating.ask,
                                  curating.explain, curating.budget, curating.retire,
                                  serving.serve)),
    ("Stored releases", (releases.show, releases.plot, releases.report, releases.export)),
    ("Believe it", (proving.audit, proving.demo, galleries.gallery)),
):  # fmt: skip
    for _command in _commands:
        app.command(cls=Plain, rich_help_panel=_panel)(_command)
for _group in (ledgers.app, people.people_app, people.keys_app):
    app.add_typer(_group, rich_help_panel="Hold data under a policy")
for _group in (collecting.app, rappor.app):
    app.add_typer(_group, rich_help_panel="Ask people directly")
