"""What shows that the promises hold: audit, and the demo.

Tested by tests/cli/test_proving.py and, for the demo, tests/cli/test_cli.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli.errors import FAILED
from discreet.errors import ParameterError

__all__ = ["audit", "demo"]


def audit(
    as_json: o.Json = False,  # noqa: FBT002
    only: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Audit only what has this in its name, in any case."),
    ] = None,
) -> None:
    """Prove every mechanism's guarantee by enumeration, and walk through the samplers' choices.

    Example: [bold]discreet audit --only Staircase[/bold]
    """
    from discreet.audit.report import run_audit  # noqa: PLC0415
    from discreet.cli.show import audit_table, progress  # noqa: PLC0415
    from discreet.local.catalogue import oracles  # noqa: PLC0415

    with progress(enabled=not as_json) as step:
        rows = run_audit(only=only, step=step, also=oracles())
    if not rows:
        raise ParameterError("--only", only, "must be in the name of a mechanism")
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        audit_table(rows)
    if not all(row.proven for row in rows):
        raise typer.Exit(FAILED)


def demo(
    out: Annotated[Path, typer.Option(help="Where to put everything.")] = Path("demo-output"),
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Ask a made-up payroll under a policy, and save two figures.

    Example: [bold]discreet demo --out demo-output[/bold]
    """
    from discreet.gallery.demo import run_demo  # noqa: PLC0415

    found = run_demo(out)
    if as_json:
        typer.echo(json.dumps({"folder": str(out), **found.to_dict()}, indent=2))
        return
    from discreet.cli.show import show_demo  # noqa: PLC0415

    show_demo(found, out)
