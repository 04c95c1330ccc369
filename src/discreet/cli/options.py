"""The words of the command line that several commands share, and how they are read.

What is publicly known of a column:

    --bounds salary=0:400000      a number between two bounds; 0:400000:100 says the grid
    --keys department=Fire,Police the values that a column may have; "Parks, east" stands in quotes
    --keys department=@list.txt   the same, one on each line of a file
    --range year=2021:2024        whole numbers from .. to, each of them a key
    --dates hired=2000-01-01:2024-12-31
    --flag remote                 true or false
    --text job                    text of which nothing is known

Keys that are all whole numbers, all dates or all true and false are read as such; a key in double
quotes is text. A column whose own name holds = stands in double quotes.
Tested by tests/cli/test_options.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from discreet.cli.errors import to_an_analyst
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.query.schema import Declared, Unit

__all__ = [
    "COST",
    "Cost",
    "Known",
    "Out",
    "check_ending",
    "pair_of",
    "reading",
    "split_keys",
    "spread",
]

FIGURES = (".png", ".svg", ".html")
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_KNOWN, COST, _OUT = "What is known of the columns", "What it may cost", "Output"

Json = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=_OUT, help="Print JSON for machines; of errors, too."),
]
Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", metavar="NUMBER", rich_help_panel=COST,
                 help="The price, in pure privacy; exact as typed."),
]  # fmt: skip
Delta = Annotated[
    str | None,
    typer.Option("--delta", metavar="NUMBER", rich_help_panel=COST,
                 help="With epsilon: the price in approximate privacy."),
]  # fmt: skip
Rho = Annotated[
    str | None,
    typer.Option("--rho", metavar="NUMBER", rich_help_panel=COST,
                 help="Or the price in zero-concentrated privacy."),
]  # fmt: skip
Within = Annotated[
    str | None,
    typer.Option("--within", metavar="NUMBER", rich_help_panel=COST,
                 help="Instead: as much as it costs to be this accurate."),
]  # fmt: skip
Less = Annotated[
    bool,
    typer.Option("--with-what-is-left", rich_help_panel=COST,
                 help="If the rest of the budget does not suffice, ask for less."),
]  # fmt: skip
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="NUMBER", rich_help_panel=COST,
                 help="The total epsilon of the file, said at its first question; else 10."),
]  # fmt: skip
NoLedger = Annotated[
    bool,
    typer.Option("--no-ledger", rich_help_panel=COST,
                 help="Remember nothing: then nobody adds up what was asked."),
]  # fmt: skip
As = Annotated[
    str | None,
    typer.Option("--as", metavar="ANALYST", callback=to_an_analyst,
                 help="Who asks, by a name of the policy. Without it: the owner."),
]  # fmt: skip
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="Which dataset, where FROM does not tell."),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Names this asking: the same key is paid once."),
]
PolicyFile = Annotated[str, typer.Argument(metavar="POLICY", help="The policy: a .toml file.")]
Block = Annotated[
    str | None, typer.Option("--block", metavar="NAME", help="Which part of the data.")
]
_List = list[str] | None


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command of which a parameter may be a dataclass of options: it takes their fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    flat: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            flat.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind  # type: ignore[assignment]
        of = get_type_hints(kind, include_extras=True)
        flat += [
            inspect.Parameter(one.name, _KEYWORD, default=_default(one), annotation=of[one.name])
            for one in fields(kind)
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given)

    flat = [one.replace(kind=_KEYWORD) for one in flat]
    flat.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in flat}
    return run


def _default(field: Field[Any]) -> Any:
    """The default of an option; none where it has to be said."""
    return inspect.Parameter.empty if field.default is MISSING else field.default


@dataclass(frozen=True, slots=True)
class Out:
    """How an answer is handed out."""

    as_json: Json = False
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", rich_help_panel=_OUT,
                     help="Save a figure: .png, .svg or .html."),
    ] = None  # fmt: skip
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", rich_help_panel=_OUT,
                     help="Save a page about the release: .html."),
    ] = None  # fmt: skip

    def check(self) -> None:
        """Refuse what cannot be written, before anything is charged."""
        check_ending("--plot", self.plot, FIGURES)
        check_ending("--report", self.report, (".html",))


def check_ending(option: str, path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a file that cannot be written, by its name and folder."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise ParameterError(option, str(path), f"must end with {' or '.join(endings)}")
    if not path.absolute().parent.is_dir():
        raise ParameterError(option, str(path), "must be in a folder that is there")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question to a file may cost, and who counts."""

    epsilon: Epsilon = None
    delta: Delta = None
    within: Within = None
    less: Less = False
    budget: Budget = None
    no_ledger: NoLedger = False

    def check(self) -> None:
        """Refuse what does not go together."""
        if (self.epsilon is None) == (self.within is None):
            problem = "or --within must be said, one of the two; such as --epsilon 0.5"
            raise ParameterError("--epsilon", self.epsilon, problem)
        _counted(self)
        if self.no_ledger and self.less:
            raise ParameterError("--with-what-is-left", None, _UNCOUNTED)


@dataclass(frozen=True, slots=True)
class Price:
    """What a publication costs, and who counts."""

    epsilon: Epsilon = None
    budget: Budget = None
    no_ledger: NoLedger = False

    def check(self) -> str:
        """The epsilon; refuse what does not go together."""
        if self.epsilon is None:
            raise ParameterError("--epsilon", None, "is the price of a publication: say it")
        _counted(self)
        return self.epsilon


_UNCOUNTED = "needs a ledger; leave out --no-ledger"


def _counted(said: Cost | Price) -> None:
    if said.no_ledger and said.budget is not None:
        raise ParameterError("--budget", said.budget, _UNCOUNTED)


@dataclass(frozen=True, slots=True)
class Known:
    """What is publicly known of a file's columns."""

    bounds: Annotated[
        _List,
        typer.Option("--bounds", metavar="COLUMN=LOW:HIGH", rich_help_panel=_KNOWN,
                     help="A number between bounds; LOW:HIGH:GRID also says how fine."),
    ] = None  # fmt: skip
    keys: Annotated[
        _List,
        typer.Option("--keys", metavar="COLUMN=A,B,C", rich_help_panel=_KNOWN,
                     help="All values that a column may have; COLUMN=@FILE has one on each line."),
    ] = None  # fmt: skip
    ranges: Annotated[
        _List,
        typer.Option("--range", metavar="COLUMN=FROM:TO", rich_help_panel=_KNOWN,
                     help="Whole numbers, each of them a key. FROM:TO alone: where the bins of a "
                          "histogram, or the cells of a publication, are."),
    ] = None  # fmt: skip
    dates: Annotated[
        _List,
        typer.Option("--dates", metavar="COLUMN=FIRST:LAST", rich_help_panel=_KNOWN,
                     help="Dates between two, such as 2000-01-01."),
    ] = None  # fmt: skip
    flags: Annotated[
        _List,
        typer.Option("--flag", metavar="COLUMN", help="True or false.", rich_help_panel=_KNOWN),
    ] = None
    texts: Annotated[
        _List,
        typer.Option("--text", metavar="COLUMN", rich_help_panel=_KNOWN,
                     help="Text of which nothing is known."),
    ] = None  # fmt: skip
    person: Annotated[
        str | None,
        typer.Option("--person", metavar="COLUMN", rich_help_panel=_KNOWN,
                     help="The column that names the person. Without it everyone has one row."),
    ] = None  # fmt: skip
    max_rows: Annotated[
        int | None,
        typer.Option("--max-rows", metavar="N", rich_help_panel=_KNOWN,
                     help="How many rows of a person count."),
    ] = None  # fmt: skip
    max_groups: Annotated[
        int | None,
        typer.Option("--max-groups", metavar="N", rich_help_panel=_KNOWN,
                     help="In how many groups a person counts."),
    ] = None  # fmt: skip
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", rich_help_panel=_KNOWN,
                     help="Which table of a database file."),
    ] = None  # fmt: skip
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", metavar="C", rich_help_panel=_KNOWN,
                     help="What stands between the fields of a CSV file."),
    ] = None  # fmt: skip

    @property
    def options(self) -> dict[str, Any]:
        """For the engine."""
        return reading(self.delimiter)

    def unit(self) -> Unit:
        """What a person is."""
        from discreet.query.schema import PerPerson, PerRow  # noqa: PLC0415

        if self.person is not None:
            return PerPerson(self.person, max_rows=self.max_rows, max_groups=self.max_groups)
        if self.max_rows is not None or self.max_groups is not None:
            problem = "needs --person: the column that names them"
            raise ParameterError("--max-rows", self.max_rows or self.max_groups, problem)
        return PerRow()

    def declared(self, by: Sequence[str] = ()) -> dict[str, Declared]:
        """The declarations, by column; ParameterError for one that cannot be read.

        Args:
            by: what is grouped by: where that is one column, --keys need not name it.
        """
        from discreet.query.schema import Boolean, Dates, FreeText, Keys  # noqa: PLC0415

        found: dict[str, Declared] = {}
        makers: tuple[tuple[str, _List, Callable[[str], Declared]], ...] = (
            ("--bounds", self.bounds, _bounds),
            ("--keys", self.keys, lambda text: Keys(_keys(text))),
            ("--range", self.ranges, lambda text: Keys(_range(text))),
            ("--dates", self.dates, lambda text: Dates(*pair_of("--dates", text))),
        )
        for option, texts, make in makers:
            for text in texts or ():
                column, rest = _column(option, text, by)
                _put(found, option, column, _made(option, text, rest, make))
        for column in self.flags or ():
            _put(found, "--flag", column, Boolean())
        for column in self.texts or ():
            _put(found, "--text", column, FreeText())
        return found


def reading(delimiter: str | None) -> dict[str, Any]:
    """How an engine is to read a CSV file; "tab" may be said for a tab."""
    if delimiter is None:
        return {}
    letter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if len(letter) != 1 or not (letter.isascii() and (letter.isprintable() or letter == "\t")):
        raise ParameterError("--delimiter", delimiter, "must be one letter, such as ;, or tab")
    return {"delimiter": letter}


def _made(option: str, text: str, rest: str, make: Callable[[str], Declared]) -> Declared:
    try:
        return make(rest)
    except OSError as error:
        problem = f"names a file that cannot be read ({error.strerror})"
        raise ParameterError(option, text, problem) from None
    except ParameterError as error:
        if error.name.startswith("--"):
            raise
        words = str(error).removesuffix("; nothing was released")
        raise ParameterError(option, text, f"cannot be used: {words}") from None


def _column(option: str, text: str, by: Sequence[str]) -> tuple[str, str]:
    """The column, and what is said of it."""
    named = _named(text)
    if option == "--keys" and len(by) == 1 and (named is None or not _is_column(named[0], by)):
        return by[0], text
    if named is None:
        example = {"--keys": "department=Fire,Police", "--dates": "hired=2000-01-01:2024-12-31"}
        said = example.get(option, "salary=0:400000")
        raise ParameterError(option, text, f"must name its column, such as {option} {said}")
    return named


def _is_column(name: str, by: Sequence[str]) -> bool:
    """Whether this is meant as the name of a column, rather than the beginning of a key."""
    return name in by or re.fullmatch(r"\w+", name) is not None


def _named(text: str) -> tuple[str, str] | None:
    """A column and the rest: column=rest, or "col=umn"=rest."""
    quoted = re.match(r'"((?:[^"]|"")+)"=', text)
    if quoted:
        return quoted[1].replace('""', '"'), text[quoted.end() :]
    column, equals, rest = text.partition("=")
    return (column, rest) if equals and column and '"' not in column else None


def _put(found: dict[str, Declared], option: str, column: str, said: Declared) -> None:
    if column in found:
        raise ParameterError(option, column, "says twice what is known of this column")
    found[column] = said


def _ends(option: str, text: str, most: int = 2) -> list[str]:
    parts = [part.strip() for part in text.split(":")]
    if not 2 <= len(parts) <= most or not all(parts):
        grid = ", or LOW:HIGH:GRID" if most > 2 else ""
        raise ParameterError(option, text, f"must say two ends, LOW:HIGH{grid}")
    return parts


def pair_of(option: str, text: str) -> tuple[str, str]:
    """The two ends of LOW:HIGH, as they were typed."""
    low, high = _ends(option, text)
    return low, high


def _bounds(text: str) -> Declared:
    from discreet.query.schema import Bounds as Made  # noqa: PLC0415

    return Made(*_ends("--bounds", text, 3))


def _range(text: str) -> range:
    from discreet.query.schema import MOST_KEYS  # noqa: PLC0415

    ends = _ends("--range", text)
    if not all(re.fullmatch(r"[+-]?\d{1,18}", end) for end in ends):
        raise ParameterError("--range", text, "must go from a whole number to another")
    low, high = map(int, ends)
    if not low <= high < low + MOST_KEYS:
        raise ParameterError("--range", text, f"must hold 1 to {MOST_KEYS} numbers, FROM before TO")
    return range(low, high + 1)


def _keys(text: str) -> list[Any]:
    if text.startswith("@"):
        lines = Path(text[1:]).read_bytes().split(b"\n")
        try:
            found = [line.decode("utf-8-sig").removesuffix("\r") for line in lines]
        except UnicodeDecodeError:
            raise ParameterError("--keys", text, "names a file that is no UTF-8 text") from None
        return _typed([line for line in found if line])
    parts = split_keys(text)
    texts = [part for part, _ in parts]
    return texts if any(quoted for _, quoted in parts) else _typed(texts)


def split_keys(text: str) -> list[tuple[str, bool]]:
    """The keys of a list, and whether each stood in double quotes.

    >>> split_keys('Fire, "Parks, east",Police')
    [('Fire', False), ('Parks, east', True), ('Police', False)]
    """
    found: list[tuple[str, bool]] = []
    place = 0
    pattern = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)')
    while True:
        part = pattern.match(text, place)
        if part is None:
            problem = 'has a double quote in the middle of a key; write "a ""quoted"" key"'
            raise ParameterError("--keys", text, problem)
        if part[1] is None and not part[2].strip():
            problem = 'has an empty key; write "" if that is meant'
            raise ParameterError("--keys", text, problem)
        if part[1] is None:
            found.append((part[2].strip(), False))
        else:
            found.append((part[1].replace('""', '"'), True))
        place = part.end()
        if not part[3]:
            return found


def _typed(texts: Sequence[str]) -> list[Any]:
    """Numbers, dates and flags where all keys look like it, written as these are written."""
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in texts):
        return [int(text) for text in texts]
    if all(re.fullmatch(r"\d{4}-\d\d-\d\d", text) for text in texts):
        return _dates(texts)
    if texts and all(text in ("true", "false") for text in texts):
        return [text == "true" for text in texts]
    return list(texts)


def _dates(texts: Iterable[str]) -> list[Any]:
    try:
        return [date.fromisoformat(text) for text in texts]
    except ValueError as error:
        raise ParameterError("--keys", None, f"look like dates and are none: {error}") from None
