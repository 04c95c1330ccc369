"""Which commands there are, and where each of them lives.

A process runs one command, and loads the module of that one: `made("count")` knows of nothing but
`count`. Help, and whatever is no command, need them all.
Tested by tests/cli/test_commands.py
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

import discreet
from discreet.cli.errors import Guarded
from discreet.cli.plain import Plain

__all__ = ["made"]

_CODES = (
    "Exit codes: 0 all is well, 1 a check failed, 2 wrong arguments or policy, 3 refused: budget, "
    "4 the ledger cannot be used, 5 the database failed or files have changed under their version, "
    "70 a fault of the program, 130 interrupted: what was charged by then stays charged. "
    "With --json the last line of standard error is an error as JSON: kind, message, charged, "
    "and of a refusal what is left and the offer."
)
_CURATOR = "Hold data under a policy"
_DEVICES = "Ask people directly"
_COMMANDS = (
    ("Ask a file", "files", ("count", "sql", "histogram")),
    ("Publish once", "publishing", ("publish", "range", "quantile")),
    (_CURATOR, "curating", ("init", "check")),
    (_CURATOR, "registering", ("register",)),
    (_CURATOR, "curating", ("ask", "explain", "budget", "retire")),
    (_CURATOR, "serving", ("serve",)),
    ("Stored releases", "releases", ("show", "plot", "report", "export", "schema")),
    ("Stored releases", "deriving", ("derive",)),
    ("Believe it", "proving", ("audit", "demo")),
    ("Believe it", "galleries", ("gallery",)),
)
"""The panel of the help, the module, and its functions: in the order in which they are shown."""
_GROUPS = (
    (_CURATOR, "ledgers", "app", "ledger"),
    (_CURATOR, "people", "people_app", "people"),
    (_CURATOR, "people", "keys_app", "key"),
    (_DEVICES, "collecting", "app", "collect"),
    (_DEVICES, "rappor", "app", "rappor"),
)
"""The same of groups of commands: the panel, the module, what it is called there, the group."""


def made(word: str | None = None) -> typer.Typer:
    """The command `discreet`; if a word names one of its commands, with that one only."""
    names = {name for *_, names in _COMMANDS for name in names} | {name for *_, name in _GROUPS}
    wanted = {word} & names or names
    app = typer.Typer(
        name="discreet",
        cls=Guarded,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_show_locals=False,
        epilog=_CODES,
    )
    app.callback()(_main)
    for panel, module, commands in _COMMANDS:
        for name in commands:
            if name in wanted:
                app.command(cls=Plain, rich_help_panel=panel)(getattr(_module(module), name))
    for panel, module, called, name in _GROUPS:
        if name in wanted:
            app.add_typer(getattr(_module(module), called), rich_help_panel=panel)
    return app


def _module(name: str) -> object:
    return import_module(f"discreet.cli.{name}")


def _print_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


def _main(
    version: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Differential privacy from exact discrete noise.

    Example: [bold]discreet count payroll.csv --by department --keys Fire,Police,Library
    --epsilon 1[/bold]
    """
