"""The `discreet` command. An adapter: it reads arguments, calls the library and prints.

Exit codes: 0 all is well, 1 an audit did not prove what was promised, 2 the arguments are wrong.
Heavy things are imported inside the commands, so that `discreet --help` answers at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import discreet

__all__ = ["app"]

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    help="Differential privacy from exact discrete noise.",
    epilog="Documentation: the docs folder of the project, or `make docs`.",
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
    """Differential privacy from exact discrete noise."""


@app.command()
def audit(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,  # noqa: FBT002
    only: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Audit only what has this in its name, in any case."),
    ] = None,
) -> None:
    """Prove every mechanism's guarantee by enumeration, and walk through the samplers' choices.

    Example: [bold]discreet audit --only Geometric[/bold]
    """
    from discreet.audit.report import run_audit  # noqa: PLC0415
    from discreet.cli.show import audit_table, progress  # noqa: PLC0415

    with progress(enabled=not as_json) as step:
        rows = run_audit(only=only, step=step)
    if not rows:
        typer.echo(f"no mechanism has {only!r} in its name", err=True)
        raise typer.Exit(2)
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        audit_table(rows)
    if not all(row.proven for row in rows):
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to save the figure.")] = Path("demo-output"),
) -> None:
    """Ask a synthetic classroom and payroll, under a budget, and save a figure.

    Example: [bold]discreet demo --out demo-output[/bold]
    """
    from discreet.cli.show import show_demo  # noqa: PLC0415
    from discreet.gallery.demo import run_demo  # noqa: PLC0415

    try:
        found = run_demo(out)
    except OSError as error:
        typer.echo(f"cannot write to {out}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None
    show_demo(found)
