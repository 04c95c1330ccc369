"""The gallery: the field's classic experiments, each one command.

Tested by tests/cli/test_galleries.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o

if TYPE_CHECKING:
    from discreet.gallery.experiment import Experiment, Found

__all__ = ["gallery"]


def gallery(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="An experiment; `list` names them, `all` runs all."),
    ],
    out: Annotated[Path, typer.Option(help="Where to put the figures.")] = Path("gallery-output"),
    fast: Annotated[  # noqa: FBT002
        bool, typer.Option("--fast", help="Fewer repetitions.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Run a classic experiment: its numbers beside the literature's, and its figures.

    Example: [bold]discreet gallery variance --out figures[/bold]
    """
    from discreet.gallery.catalogue import EXPERIMENTS, experiment  # noqa: PLC0415

    if name == "list":
        _listed(list(EXPERIMENTS.values()), as_json=as_json)
        return
    chosen = list(EXPERIMENTS.values()) if name == "all" else [experiment(name)]
    told = []
    for one in chosen:
        found, saved = _run(one, out, fast=fast, shown=not as_json)
        if as_json:
            told.append(_plain(one, found, saved))
        else:
            from discreet.cli.show import show_experiment  # noqa: PLC0415

            show_experiment(one, found, saved)
    if as_json:
        typer.echo(json.dumps(told[0] if name != "all" else told, indent=2))


def _run(one: Experiment, out: Path, *, fast: bool, shown: bool) -> tuple[Found, list[Path]]:
    from discreet.cli.show import progress  # noqa: PLC0415
    from discreet.gallery.experiment import Effort  # noqa: PLC0415

    with progress(enabled=shown) as step:
        found = one.run(Effort(fast=fast, step=step))
    return found, [path for figure in found.figures for path in figure.save(out)]


def _listed(experiments: list[Experiment], *, as_json: bool) -> None:
    if as_json:
        told = [{"name": e.name, "title": e.title, "about": e.about} for e in experiments]
        typer.echo(json.dumps(told, indent=2))
        return
    wide = max(len(e.name) for e in experiments)
    for one in experiments:
        typer.echo(f"{one.name:{wide}}  {one.about}")


def _plain(one: Experiment, found: Found, saved: list[Path]) -> dict[str, object]:
    files = [
        {"caption": figure.caption, "files": [str(p) for p in saved if p.stem == figure.name]}
        for figure in found.figures
    ]
    return {
        "name": one.name, "title": one.title, "facts": [fact.to_dict() for fact in found],
        "notes": list(found.notes), "figures": files,
    }  # fmt: skip
