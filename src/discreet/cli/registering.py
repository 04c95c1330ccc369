"""`discreet register`: the ledger of a policy, and of a changed one.

Tested by tests/cli/test_registering.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli.errors import warn
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.curator.policy.model import Policy

__all__ = ["missing_in", "register"]


def register(
    policy: o.PolicyFile,
    new_people: Annotated[
        list[str] | None,
        typer.Option("--new-people", metavar="FAMILY", help="A new family of other people."),
    ] = None,
    more_budget: Annotated[
        list[str] | None,
        typer.Option("--more-budget", metavar="ACCOUNT", help="An account whose total may rise."),
    ] = None,
    same_data: Annotated[
        list[str] | None,
        typer.Option(
            "--same-data",
            metavar="DATASET",
            help="Its files were copied or touched; the rows are the same.",
        ),
    ] = None,
    other_unit: Annotated[
        list[str] | None,
        typer.Option(
            "--other-unit",
            metavar="DATASET",
            help="Its people are said otherwise than before, and are the same.",
        ),
    ] = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Make the ledger of a policy, or let it follow a changed policy.

    The ledger notes the files of every version of the data. If they have changed since, say a new
    version in the policy; or, if the rows are the same, --same-data.

    What is spent was promised to somebody: to rows, or to people whom a column names. Who says that
    otherwise afterwards has to say that everybody is one of each, with --other-unit.

    It warns of files that are not there, and of columns that they do not have; no row is read.

    Example: [bold]discreet register policy.toml[/bold]

    Example: [bold]discreet register policy.toml --same-data payroll[/bold]
    """
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.policy.holders import held_elsewhere, was_renamed  # noqa: PLC0415
    from discreet.curator.policy.reading import read_policy  # noqa: PLC0415

    read = read_policy(policy)
    version, changed = Curator.register(
        read, new_people=new_people or (), more_budget=more_budget or (),
        same_data=same_data or (), other_unit=other_unit or (),
    )  # fmt: skip
    for name in held_elsewhere(read) if version == 1 or was_renamed(read) else ():
        warn(
            f"{name} lies here, too, and holds a budget for the same data: what is asked under "
            "both adds up, and neither counts it. If it is the old ledger of this policy, say its "
            "name in the policy again"
        )
    for words in missing_in(read, near=True):
        warn(f"{words}. No question can be answered from it until that is mended")
    if as_json:
        typer.echo(json.dumps({"version": version, "changed": changed}, indent=2))
        return
    typer.echo(f"The ledger follows version {version} of this policy.")
    for words in changed or ["No budget has changed."]:
        typer.echo(f"  {words}")


def missing_in(policy: Policy, *, near: bool = False) -> list[str]:
    """Data and columns that are declared and not there; no row is read.

    Args:
        policy: declares them.
        near: whether to look at files only, and at no server, which may keep one waiting.
    """
    from discreet.curator.asking import Asking  # noqa: PLC0415
    from discreet.curator.policy.model import is_address  # noqa: PLC0415

    found = []
    for dataset in policy.datasets.values():
        for block in (None, *dataset.blocks):
            part = dataset if block is None else dataset.blocks[block]
            if near and is_address(part.source):
                continue
            name = dataset.name if block is None else f"{dataset.name}, block {block}"
            try:
                Asking(dataset, block, confidence=policy.defaults.confidence).close()
            except DiscreetError as error:
                found.append(f"{name}: {str(error).removesuffix('; nothing was released')}")
    return found
