"""Publish once, answer for ever: publish, range, quantile.

Publishing charges a ledger; a range or a quantile of what was published is free.
Tested by tests/cli/test_publishing.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as o
from discreet.cli.answers import Answer, answered, show_answer
from discreet.cli.files import Where, forgotten, opened
from discreet.cli.options import Cost, Known, Out, pair_of, spread
from discreet.cli.places import is_policy
from discreet.cli.releases import Stored
from discreet.errors import ParameterError
from discreet.exact import whole

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.published import Published
    from discreet.curator.record import Record
    from discreet.curator.release import Release
    from discreet.curator.session import Session
    from discreet.publish.measured import Answer as Counted
    from discreet.query.schema import Declared

__all__ = ["publish", "quantile", "range"]

Level = Annotated[
    str | None, typer.Option("--confidence", metavar="C", help="Of the interval, such as 0.99.")
]


@spread
def publish(  # noqa: PLR0913, PLR0917 - data, axes, who publishes, a price, a way out
    source: Annotated[
        str, typer.Argument(metavar="POLICY|FILE", help="A policy (.toml), or a bare file.")
    ],
    known: Known,
    cost: Cost,
    out: Out,
    columns: Annotated[
        list[str] | None,
        typer.Argument(metavar="COLUMN...", help="One to three columns of numbers."),
    ] = None,
    bins: Annotated[
        str, typer.Option("--bins", metavar="N[,N]", help="How many cells, for each column.")
    ] = "1024",
    rollup: Annotated[
        str | None,
        typer.Option(
            "--rollup",
            metavar="KEY[,KEY]",
            help="Instead of columns: keys, the coarsest first; the counts of all levels add up.",
        ),
    ] = None,
    where: Where = None,
    analyst: o.As = None,
    dataset: o.Dataset = None,
    block: o.Block = None,
    key: o.Key = None,
) -> None:
    """Publish counts in fine cells, once: every later range, share or quantile of them is free.

    Each column has its own `--range LOW:HIGH`, in the same order; rows outside are not counted.
    With `--rollup` the counts of nested groups are published instead, on every level.

    Example: [bold]discreet publish payroll.csv salary --bins 4096 --range 0:400000
    --epsilon 0.1 --plot salaries.png[/bold]

    Example: [bold]discreet publish policy.toml salary --range 0:400000 --epsilon 0.1
    --as alice[/bold]

    Example: [bold]discreet publish payroll.csv --rollup department,year --epsilon 0.1
    --keys department=Fire,Police,Library --range year=2021:2024[/bold]
    """
    cost.check()
    out.check()
    if cost.epsilon is None or cost.delta is not None or cost.less:
        raise ParameterError("--epsilon", cost.epsilon, "is the price of a publication: say it")
    wanted: dict[str, Any] = {"where": where, "epsilon": cost.epsilon}
    if rollup is None:
        axes = columns or []
        ranges, known = _ranges(known, axes)
        made = _Making(axes, wanted | {"bins": _bins(bins, axes), "ranges": ranges})
    elif columns:
        raise ParameterError("--rollup", rollup, "goes instead of columns of numbers")
    else:
        made, ranges = _Making([one.strip() for one in rollup.split(",")], wanted, levels=True), []
    if is_policy(source):
        who = {"analyst": analyst, "dataset": dataset, "block": block, "key": key}
        show_answer(_under_policy(source, known, made, who), out)
        return
    if analyst or dataset or block or key:
        raise ParameterError("--as", analyst, "--dataset, --block and --key go with a policy")
    declared = _declared(known, [] if made.levels else made.of, ranges)
    if cost.no_ledger:
        table = forgotten(source, known, declared)
        session = table.session(epsilon=cost.epsilon)
        release = made.by(session)
        table.close()
        show_answer(Answer(release, charged=str(session.spent)), out)
        return
    with opened(source, known, declared, cost) as curator:
        show_answer(answered(curator, None, lambda: made.under(curator)), out)


@dataclass(frozen=True)
class _Making:
    """What is published: a grid over columns, or all levels of some keys."""

    of: list[str]
    wanted: dict[str, Any]
    levels: bool = False

    def under(self, curator: Curator, **who: Any) -> Record:
        """Charged to a ledger."""
        make = curator.publish_rollup if self.levels else curator.publish
        return make(self.of, **self.wanted, **who)

    def by(self, session: Session) -> Release:
        """Charged to a budget that ends with this process."""
        if self.levels:
            return session.publish_rollup(self.of, **self.wanted)
        return session.publish(self.of, **self.wanted).release


def _under_policy(source: str, known: Known, made: _Making, who: dict[str, Any]) -> Answer:
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.faults import note_fault  # noqa: PLC0415

    if known != Known():
        raise ParameterError("POLICY", source, "says itself what is known of the columns")
    with Curator(source, on_fault=lambda fault: note_fault(curator.ledger, fault)) as curator:
        return answered(curator, who["analyst"], lambda: made.under(curator, **who))


def _ranges(known: Known, columns: list[str]) -> tuple[list[tuple[str, str]], Known]:
    """The ranges of the axes, and what else is known."""
    own = [text for text in known.ranges or () if "=" not in text]
    if not columns:
        raise ParameterError("COLUMN", None, "must be said, or --rollup with keys")
    if len(own) != len(columns):
        raise ParameterError(
            "--range", own or None, f"must say for each column ({', '.join(columns)}) from where "
            "to where it is counted, from rules and not from the data: --range 0:400000"
        )  # fmt: skip
    rest = [text for text in known.ranges or () if text not in own]
    return [pair_of("--range", text) for text in own], replace(known, ranges=rest or None)


def _bins(text: str, columns: list[str]) -> list[int]:
    parts = text.split(",")
    if len(parts) == 1:
        parts *= len(columns)
    if len(parts) != len(columns) or not all(part.strip().isdecimal() for part in parts):
        raise ParameterError("--bins", text, f"must be a number, or {len(columns)} with commas")
    return [whole(part.strip(), name="--bins", at_least=1) for part in parts]


def _declared(
    known: Known, columns: list[str], ranges: list[tuple[str, str]]
) -> dict[str, Declared]:
    """What is known of a bare file's columns: of an axis its range, if nothing else is said.

    It is declared one step wider on both sides: there is where all that lies outside is moved to.
    """
    from discreet.query.schema import Bounds  # noqa: PLC0415

    declared = known.declared()
    for column, (low, high) in zip(columns, ranges, strict=True):
        if column not in declared:
            bounds = Bounds(low, high)
            step = bounds.grid
            declared[column] = Bounds(bounds.low - step, bounds.high + step, step)
    return declared


def _published(stored: Stored) -> Published:
    from discreet.curator.published import Published  # noqa: PLC0415
    from discreet.curator.release import Release  # noqa: PLC0415

    found = stored.found()
    return Published.of(found if isinstance(found, Release) else found.release)


@spread
def range(
    stored: Stored,
    spans: Annotated[
        list[str], typer.Argument(metavar="LOW:HIGH...", help="From where to where, on each axis.")
    ],
    confidence: Level = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Count in a range, or in a rectangle, of what was published; free.

    Example: [bold]discreet range 7c41 40000:90000 --policy policy.toml[/bold]
    """
    found = _published(stored).rectangle(
        *(pair_of("LOW:HIGH", span) for span in spans), confidence=confidence
    )
    _told([(" and ".join(spans), found)], "n", as_json=as_json)


@spread
def quantile(
    stored: Stored,
    shares: Annotated[
        list[str], typer.Argument(metavar="SHARE...", help="Such as 0.5 for the median.")
    ],
    confidence: Level = None,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Find the value below which a share lies, of what was published over one column; free.

    Example: [bold]discreet quantile 7c41 0.25 0.5 0.75 --policy policy.toml[/bold]
    """
    published = _published(stored)
    found = [(share, published.quantile(share, confidence=confidence)) for share in shares]
    _told(found, published.axes[0].of, as_json=as_json)


def _told(found: list[tuple[str, Counted]], name: str, *, as_json: bool) -> None:
    if as_json:
        told = [
            {"of": of, "value": x.value, "low": x.low, "high": x.high, "confidence": x.confidence}
            for of, x in found
        ]
        typer.echo(json.dumps(told, indent=2))
        return
    longest = max(len(of) for of, _ in found)
    for of, x in found:
        ends = f"{x.low:,.6g} to {x.high:,.6g}"
        typer.echo(f"{of:<{longest}}  {name} {x.value:,.6g}  ({x.confidence:.0%}: {ends})")
