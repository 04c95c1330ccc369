"""Publish once, answer for ever: publish, range, quantile.

Publishing charges a ledger; a range or a quantile of what was published is free, and so is a range
of a stored histogram.
Tested by tests/cli/test_publishing.py
"""

from __future__ import annotations

import json
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as o
from discreet.cli.answers import Answer, answered, show_answer
from discreet.cli.files import Where, forgotten, opened
from discreet.cli.options import Known, Out, Price, pair_of, spread
from discreet.cli.places import is_policy
from discreet.cli.printing import say
from discreet.cli.releases import Stored
from discreet.curator.values import visible
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import rational, whole

if TYPE_CHECKING:
    from discreet.curator.release import Release
    from discreet.query.schema import Declared

__all__ = ["publish", "quantile", "range"]

Level = Annotated[
    str | None, typer.Option("--confidence", metavar="C", help="Of the interval, such as 0.99.")
]


@spread
def publish(  # noqa: PLR0913, PLR0917 - data, what of it, who publishes, a price, a way out
    source: Annotated[
        str, typer.Argument(metavar="POLICY|FILE", help="A policy (.toml), or a bare file.")
    ],
    known: Known,
    price: Price,
    out: Out,
    columns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMN...", help="One to three columns of numbers; of keys with --ways."
        ),
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
    ways: Annotated[
        int | None,
        typer.Option("--ways", metavar="N", help="Instead: all tables of N of the columns."),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option("--workload", metavar="FILE", help="Instead: answer the questions in FILE."),
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
    With `--ways 2` the tables of all pairs of columns with public keys. With `--workload` the
    counting questions of a file, separated by semicolons, answered together.

    Example: [bold]discreet publish payroll.csv salary --bins 4096 --range 0:400000
    --epsilon 0.1 --plot salaries.png[/bold]

    Example: [bold]discreet publish policy.toml salary --range 0:400000 --epsilon 0.1
    --as alice[/bold]

    Example: [bold]discreet publish payroll.csv --rollup department,year --epsilon 0.1
    --keys department=Fire,Police,Library --range year=2021:2024[/bold]

    Example: [bold]discreet publish policy.toml --workload questions.sql --epsilon 0.1[/bold]

    Example: [bold]discreet publish policy.toml department "salary > 90000 AS high" --ways 2
    --epsilon 0.1[/bold]
    """
    epsilon = price.check()
    out.check()
    if rollup is not None:
        if columns or ways is not None or workload is not None:
            raise ParameterError("--rollup", rollup, "goes instead of columns of numbers")
        keys = [one.strip() for one in rollup.split(",")]
        wanted = _Wanted("publish_rollup", keys, {"where": where}, known)
    else:
        wanted = _wanted(columns or [], bins, ways, workload, where, known)
    if is_policy(source):
        if price.budget is not None or price.no_ledger:
            raise ParameterError(
                "--budget", price.budget, "and --no-ledger go with a bare file; a policy says both"
            )
        who = {"analyst": analyst, "dataset": dataset, "block": block, "key": key}
        show_answer(_under_policy(source, wanted, epsilon, who), out)
        return
    if analyst or dataset or block or key:
        raise ParameterError("--as", analyst, "--dataset, --block and --key go with a policy")
    known, declared = wanted.known, wanted.declared()
    if price.no_ledger:
        table = forgotten(source, known, declared)
        session = table.session(epsilon=epsilon)
        made = wanted.made(session, epsilon)
        table.close()
        release = getattr(made, "release", made)
        show_answer(Answer(release, charged=str(session.spent)), out)
        return
    from discreet.curator.ledger.amounts import limit_of  # noqa: PLC0415

    with opened(
        source, known, declared, price.budget, tried=lambda _: limit_of(epsilon=epsilon)
    ) as curator:
        show_answer(answered(curator, None, lambda: wanted.made(curator, epsilon)), out)


@dataclass(frozen=True)
class _Wanted:
    """A publication as it was said: a method of curators and sessions, and what to call it with."""

    method: str
    of: list[str]
    how: dict[str, Any]
    known: Known

    def made(self, by: Any, epsilon: str, **who: Any) -> Any:
        """Publish."""
        return getattr(by, self.method)(self.of, epsilon=epsilon, **self.how, **who)

    def declared(self) -> dict[str, Declared]:
        """What is known of a bare file's columns."""
        if self.method == "publish":
            return _declared(self.known, self.of, self.how["ranges"])
        return self.known.declared()


def _wanted(
    columns: list[str], bins: str, ways: int | None, workload: Path | None, where: str | None,
    known: Known,
) -> _Wanted:  # fmt: skip
    if workload is not None:
        if columns or ways is not None or where is not None:
            raise ParameterError("--workload", str(workload), "goes without columns and --where")
        return _Wanted("publish_workload", _questions(workload), {}, known)
    if not columns:
        raise ParameterError("COLUMN", None, "must be said, or --rollup with keys, or --workload")
    if ways is not None:
        return _Wanted("publish_marginals", columns, {"ways": ways, "where": where}, known)
    ranges, rest = _ranges(known, columns)
    how = {"bins": _bins(bins, columns), "ranges": ranges, "where": where}
    return _Wanted("publish", columns, how, rest)


def _questions(path: Path) -> list[str]:
    """The questions of a file, separated by semicolons."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError("--workload", str(path), "cannot be read as text") from None
    found = [part.strip() for part in text.split(";") if part.strip()]
    if not found:
        raise ParameterError("--workload", str(path), "holds no question")
    return found


def _under_policy(source: str, wanted: _Wanted, epsilon: str, who: dict[str, Any]) -> Answer:
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.faults import note_fault  # noqa: PLC0415

    if wanted.known != Known():
        raise ParameterError("POLICY", source, "says itself what is known of the columns")
    with Curator(source, on_fault=lambda fault: note_fault(curator.ledger, fault)) as curator:
        return answered(curator, who["analyst"], lambda: wanted.made(curator, epsilon, **who))


def _ranges(known: Known, columns: list[str]) -> tuple[list[tuple[str, str]], Known]:
    """The ranges of the axes, and what else is known."""
    own = [text for text in known.ranges or () if "=" not in text]
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


def _released(stored: Stored) -> Release:
    from discreet.curator.release import Release  # noqa: PLC0415

    found = stored.found()
    return found if isinstance(found, Release) else found.release


@spread
def range(
    stored: Stored,
    spans: Annotated[
        list[str], typer.Argument(metavar="LOW:HIGH...", help="From where to where, on each axis.")
    ],
    confidence: Level = None,
    share: Annotated[  # noqa: FBT002
        bool, typer.Option("--share", help="Count a bin of a histogram that is cut by its part.")
    ] = False,
    as_json: o.Json = False,  # noqa: FBT002
) -> None:
    """Count in a range, or in a rectangle, of what was published, or of a histogram; free.

    Example: [bold]discreet range 7c41 40000:90000 --policy policy.toml[/bold]

    Example: [bold]discreet range 9b02 45000:90000 --policy policy.toml --share[/bold]
    """
    from discreet.curator.published import Published  # noqa: PLC0415

    release = _released(stored)
    pairs = [pair_of("LOW:HIGH", span) for span in spans]
    if release.published is None and release.keys:
        made = _of_histogram(release, pairs, confidence, share=share)
        _told(_rows(made, spans[0]), as_json=as_json)
        for note in made.notes:
            say(f"note: {note}", err=True)
        return
    found = Published.of(release).rectangle(*pairs, confidence=confidence)
    _told([_Line(" and ".join(spans), "n", *astuple(found))], as_json=as_json)


def _of_histogram(
    release: Release, pairs: list[tuple[str, str]], confidence: str | None, *, share: bool
) -> Release:
    """The bins of a release that answers one question, added up from one end to the other."""
    from discreet.curator.binned import axis_of, bins_of, end_of  # noqa: PLC0415
    from discreet.curator.derive import between  # noqa: PLC0415

    key, bins = axis_of(release), bins_of(release)
    if key is None:
        problem = "this release is no publication, and no histogram: none of its keys is the only "
        raise UnsupportedError(problem + "number or date")
    if len(pairs) != 1:
        raise ParameterError("LOW:HIGH", pairs, f"must be said once: the axis is {visible(key)}")
    if confidence is not None and rational(confidence, name="--confidence") != release.confidence:
        problem = f"must be {float(release.confidence):g}, as the histogram was asked for"
        raise ParameterError("--confidence", confidence, problem)
    low, high = (end_of(release, key, end) for end in pairs[0])
    width = None if bins is None else bins.width
    return between(release, key, low, high, width=width, share=share)


def _rows(made: Release, span: str) -> list[_Line]:
    """Every number of a range of a histogram; other keys of the histogram stay apart."""
    lines = []
    for place, row in enumerate(made):
        of = ", ".join([span, *("(none)" if row[key] is None else str(row[key])
                                for key in made.keys)])  # fmt: skip
        for name in (name for name in made.columns if name not in made.keys):
            pairs = made.intervals.get(name)
            low, high = (None if pairs is None else pairs[place]) or (None, None)
            lines.append(_Line(visible(of), visible(name), row[name], low, high,
                               float(made.confidence)))  # fmt: skip
    return lines


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
    from discreet.curator.published import Published  # noqa: PLC0415

    published = Published.of(_released(stored))
    of = published.axes[0].of
    found = [(share, published.quantile(share, confidence=confidence)) for share in shares]
    _told([_Line(share, of, *astuple(one)) for share, one in found], as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Line:
    """One number of a free answer; where it has no interval, there are no ends."""

    of: str
    name: str
    value: Any
    low: Any
    high: Any
    confidence: float

    @property
    def interval(self) -> str:
        """In words."""
        if self.low is None or self.high is None:
            return "no interval"
        return f"{self.confidence:.0%}: {_figure(self.low)} to {_figure(self.high)}"


def _figure(value: float) -> str:
    """A whole number to its last digit, another one to six of them."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _told(found: list[_Line], *, as_json: bool) -> None:
    if as_json:
        told = [asdict(one) for one in found]
        typer.echo(json.dumps(told, indent=2))
        return
    longest = max((len(one.of) for one in found), default=0)
    for one in found:
        say(f"{one.of:<{longest}}  {one.name} {_figure(one.value)}  ({one.interval})")
