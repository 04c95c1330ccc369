"""`discreet rappor`: encode words as reports, count reports, decode counts. All files are the
original's.

Encoding happens where the words are: the file of values and the secret never leave that place. One
secret serves a file only: each client's own is made from it and from the client's name.
Tested by tests/cli/test_rappor.py
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli.errors import FAILED, Guarded
from discreet.cli.plain import Plain
from discreet.cli.printing import hand_out, say
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.rappor.decoding import Decoded
    from discreet.local.rappor.files import Report
    from discreet.local.rappor.params import Params

__all__ = ["app"]

app = typer.Typer(
    name="rappor",
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Words reported through Bloom filters and coins, in the original's files.",
)
_Params = Annotated[
    Path, typer.Option("--params", metavar="FILE", help="The parameters: k,h,m,p,q,f.")
]
_SHORTEST = 16


@app.command(cls=Plain)
def encode(
    values: Annotated[
        Path, typer.Argument(metavar="VALUES", help="A CSV file: client,value and a row for each.")
    ],
    params: _Params,
    secret: Annotated[
        Path, typer.Option("--secret", metavar="FILE", help="At least 16 random bytes, kept.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The reports file.")
    ],
    compatible: Annotated[  # noqa: FBT002
        bool, typer.Option("--compatible", help="Permanent bits as the original clients make them.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Write a report for each row of a file of values.

    Example: [bold]discreet rappor encode values.csv --params params.csv --secret secret.key
    -o reports.csv[/bold]
    """
    from discreet.local.rappor import Params, costs, write_reports  # noqa: PLC0415

    design, key = Params.read(params), secret.read_bytes()
    if not len(key) >= _SHORTEST:
        raise ParameterError("--secret", None, f"must name a file of {_SHORTEST} bytes or more")
    reports = list(_reports(values, design, key, compatible=compatible))
    with output.open("w", encoding="utf-8", newline="") as file:
        write_reports(file, reports, design)
    most = max(_values_of(values).values(), default=1)
    _tell(output, len(reports), "reports", as_json=as_json)
    typer.echo(f"{costs(design, values=most)}, for each client", err=True)


def _tell(output: Path, number: int, what: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"saved": str(output), what: number}))
    else:
        typer.echo(f"saved {output}: {number:,} {what}", err=True)


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        if next(rows, []) != ["client", "value"]:
            raise ParameterError("values", path.name, "must begin with the header client,value")
        for number, row in enumerate(rows, start=2):
            if len(row) != 2:
                problem = "must have two fields, client and value"
                raise ParameterError(f"row {number} of the values", None, problem)
            yield row[0], row[1]


def _values_of(path: Path) -> dict[str, int]:
    """How many different values each client has."""
    found: dict[str, set[str]] = {}
    for client, value in _rows(path):
        found.setdefault(client, set()).add(value)
    return {client: len(values) for client, values in found.items()}


def _reports(path: Path, params: Params, key: bytes, *, compatible: bool) -> Iterator[Report]:
    from discreet.local.rappor import Client, Report  # noqa: PLC0415

    for name, value in _rows(path):
        own = hmac.new(key, b"client|" + name.encode(), hashlib.sha256).digest()
        drawn = hmac.new(key, b"cohort|" + name.encode(), hashlib.sha256).digest()
        cohort = int.from_bytes(drawn[:16], "big") % params.m
        client = Client(params, own, cohort, compatible=compatible)
        yield Report(name, cohort, client.report(value))


@app.command(cls=Plain)
def count(
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="A reports file.")],
    params: _Params,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The counts file.")
    ],
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Count the bits of a reports file, for each cohort.

    Example: [bold]discreet rappor count reports.csv --params params.csv -o counts.csv[/bold]
    """
    from discreet.local.rappor import Params, counted, read_reports  # noqa: PLC0415

    design = Params.read(params)
    with reports.open(encoding="utf-8-sig", newline="") as file:
        found = counted(read_reports(file, design), design)
    found.write(output)
    _tell(output, int(found.totals.sum()), "reports", as_json=as_json)


@app.command(cls=Plain, name="map")
def make_map(
    words: Annotated[Path, typer.Argument(metavar="WORDS", help="Candidates, one on each line.")],
    params: _Params,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The map file.")],
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Write the map of candidates to the bits that they set.

    Example: [bold]discreet rappor map words.txt --params params.csv -o map.csv[/bold]
    """
    from discreet.local.rappor import Candidates, Params  # noqa: PLC0415

    design = Params.read(params)
    lines = [line for line in words.read_text(encoding="utf-8-sig").split("\n") if line]
    Candidates.of([line.removesuffix("\r") for line in lines], design).write(output, design)
    _tell(output, len(lines), "candidates", as_json=as_json)


@app.command(cls=Plain)
def decode(
    params: _Params,
    counts: Annotated[Path, typer.Option("--counts", metavar="FILE", help="The counts file.")],
    map_file: Annotated[Path, typer.Option("--map", metavar="FILE", help="The map file.")],
    alpha: Annotated[
        str, typer.Option("--alpha", metavar="NUMBER", help="The level of the tests.")
    ] = "0.05",
    correction: Annotated[
        str, typer.Option("--correction", metavar="NAME", help="bonferroni, or bh.")
    ] = "bonferroni",
    everything: Annotated[  # noqa: FBT002
        bool, typer.Option("--all", help="Also the candidates that were not found.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Tell which candidates are there, and how common they are. Exit code 1: insufficient data.

    Example: [bold]discreet rappor decode --params params.csv --counts counts.csv
    --map map.csv[/bold]
    """
    from discreet.local.rappor import Candidates, Counts, Params  # noqa: PLC0415
    from discreet.local.rappor import decode as decoding  # noqa: PLC0415

    design = Params.read(params)
    found = decoding(
        design,
        Candidates.read(map_file, design),
        Counts.read(counts, design),
        alpha=alpha,
        correction=correction,  # type: ignore[arg-type]
    )
    if as_json:
        hand_out(_json(found) + "\n")
    else:
        say(_table(found, everything=everything))
    if not found.sufficient:
        raise typer.Exit(FAILED)


def _json(found: Decoded) -> str:
    told = {
        "reports": found.reports,
        "alpha": found.alpha,
        "correction": found.correction,
        "sufficient": found.sufficient,
        "limit": found.limit,
        "rest": found.rest,
        "estimates": [asdict(one) for one in found],
    }
    return json.dumps(told, indent=2, allow_nan=False)


def _table(found: Decoded, *, everything: bool) -> str:
    from discreet.query.words import visible  # noqa: PLC0415

    rows = found.estimates if everything else found.found
    lines = [str(found), f"{found.costs}, for each client"]
    wide = max([4, *(len(visible(one.word)) for one in rows)])
    if rows:
        lines += ["", f"{'word':<{wide}}  {'share':>8}  {'± 2 errors':>10}  {'p-value':>8}"]
    for one in rows:
        word = f"{visible(one.word):<{wide}}"
        error = f"{2 * one.standard_error:.4f}"
        mark = "" if one.found or not everything else "  not found"
        lines.append(f"{word}  {one.share:>8.4f}  {error:>10}  {one.p_value:>8.2g}{mark}")
    return "\n".join(lines)
