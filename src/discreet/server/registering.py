"""Registering a dataset from the page: which data there are, what they suggest, what comes of it.

Guarantee. Nothing is read but names and types of columns. A file is one below the folder of
sources, however its path is written and wherever links lead; an address is PostgreSQL's, and its
password is never told again. What is handed in becomes values of the policy's text, never syntax,
and the text is read by the policy's own reader before it is in force: what is wrong comes back in
its words.
Tested by tests/server/test_registering.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.asking import Asking
from discreet.curator.policy.draft import drafted
from discreet.curator.policy.model import Policy
from discreet.curator.policy.written import added, table_text
from discreet.engines.sources import FILES
from discreet.errors import EngineError
from discreet.server import policies
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = [
    "BlockWanted", "DatasetWanted", "SourceWanted", "block_text", "checked", "day_of", "draft",
    "number_of", "opened", "register", "sources",
]  # fmt: skip

MOST_FILES = 500
MOST_LOOKED_AT = 20_000
DEEPEST = 6
_PATTERN = re.compile(r"[*?\[\]\\\0]")
_WHOLE = re.compile(r"[+-]?[0-9]{1,60}", re.ASCII)
_REAL = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_NUMBERS = {
    "low", "high", "grid", "missing", "from", "to", "epsilon", "max_rows", "max_groups", "people",
    "rows", "together", "find_epsilon",
}  # fmt: skip
_DAYS = {"first", "last"}

Text = Annotated[str, Field(max_length=300)]
Plain = bool | int | float | Annotated[str, Field(max_length=1000)]
Said = Text | dict[Text, Plain | list[Plain]]
"""What is declared of a column or a person: a word, or a small table."""


class _Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class _Place(_Wanted):
    """Where data lie: a file below the folder of sources, or an address."""

    source: Annotated[str, Field(max_length=1000)] | None = None
    address: Annotated[str, Field(max_length=1000)] | None = None
    table: Text | None = None


class SourceWanted(_Place):
    """Data: a file below the folder of sources, or an address."""

    delimiter: Annotated[str, Field(max_length=4)] | None = None

    def options(self) -> dict[str, Any]:
        """How to read it."""
        return {} if self.delimiter is None else {"delimiter": self.delimiter}


class FamilyWanted(_Wanted):
    """People who have no budget yet."""

    name: Text
    accounting: Literal["pure", "zcdp"] | None = None
    epsilon: Plain | None = None
    delta: Plain | None = None
    rho: Plain | None = None
    neighbours: Text
    releases: Text | None = None
    tells_rest: bool | None = None
    expires: Text | None = None


class LookupWanted(_Wanted):
    """A public table beside the data."""

    key: Text
    rows: Annotated[list[dict[Text, Plain]], Field(max_length=10_000)]


class BlockWanted(_Place):
    """New data of one period; with `table` alone, another table of the dataset's own source."""

    version: Text
    people: Text
    epsilon: Plain | None = None
    delta: Plain | None = None
    rho: Plain | None = None


class DatasetWanted(SourceWanted):
    """A dataset that is to be registered."""

    name: Text
    family: Text | FamilyWanted
    version: Text
    unit: Said
    columns: Annotated[dict[Text, Said], Field(max_length=2000)]
    lookups: Annotated[dict[Text, LookupWanted], Field(max_length=100)] = {}
    blocks: Annotated[dict[Text, BlockWanted], Field(max_length=100)] = {}
    row_limit: Annotated[int | None, Field(ge=1, le=2**62)] = None
    new_people: bool = False
    more_budget: Annotated[list[Text], Field(max_length=100)] = []
    same_data: Annotated[list[Text], Field(max_length=100)] = []
    other_unit: Annotated[list[Text], Field(max_length=100)] = []


# where data may lie


def _folder(service: Service) -> Path:
    return service.settings.server.sources or service.path.parent


def sources(service: Service) -> dict[str, Any]:
    """The files that could be registered, by name; the folder's name; whether there are more."""
    folder = _folder(service)
    found = sorted(_files(service, folder))
    home = service.path.parent
    inside = folder != home and folder.is_relative_to(home)
    named = folder.relative_to(home).as_posix() if inside else folder.name
    return {"folder": named, "sources": found[:MOST_FILES], "more": len(found) > MOST_FILES}


def _files(service: Service, folder: Path) -> Iterator[str]:
    looked, waiting = 0, [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda one: one.name)
        except OSError:
            continue
        for entry in entries:
            looked += 1
            if looked > MOST_LOOKED_AT:
                return
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    waiting.append((Path(entry.path), depth + 1))
                continue
            name = Path(entry.path).relative_to(folder).as_posix()
            try:
                _placed(service, name)
            except Problem:
                continue
            yield name


def _placed(service: Service, name: str) -> Path:
    """The file of a name below the folder of sources; Problem for anything else."""
    folder = _folder(service)
    parts = PurePosixPath(name).parts
    printable = name.isprintable() and not _PATTERN.search(name)
    if not name or not printable or name.startswith(("/", "~")) or "://" in name or ".." in parts:
        raise _no_file(name, "must be a plain name below the folder of sources, without patterns")
    there = folder / name
    if not name.lower().endswith(tuple(FILES)):
        raise _no_file(name, f"must end in one of {', '.join(FILES)}")
    try:
        real = there.resolve(strict=True)
    except (OSError, RuntimeError):
        raise _no_file(name, "is not there") from None
    if not real.is_relative_to(folder.resolve()) or not real.is_file():
        raise _no_file(name, "is not there")  # what lies outside is not told
    if real in _own_files(service):
        raise _no_file(name, "belongs to the ledger or the policy, and holds no data")
    return there


def _own_files(service: Service) -> set[Path]:
    head = service.ledger.head_path
    own = {service.path, head, head.with_suffix(".faults"), head.with_suffix(".secret")}
    address = service.policy.ledger.address
    if "://" not in address:
        own |= {Path(address + ending) for ending in ("", "-wal", "-shm", "-journal")}
    return {path.resolve() for path in own}


def _no_file(name: str, problem: str) -> Problem:
    shown = name[:60] if name.isprintable() else "this name"
    words = f"source {shown!r} {problem}; nothing was changed"
    fix = "Choose one of the files that the form proposes; GET /api/sources lists them."
    return Problem("parameter", words, fix)


def _located(service: Service, wanted: _Place) -> str:
    """The source as an absolute path, or as the address that it is."""
    if (wanted.source is None) == (wanted.address is None):
        raise Problem("parameter", "say source, a file, or address, a database; one of the two")
    if wanted.source is not None:
        return str(_placed(service, wanted.source))
    address = wanted.address or ""
    if not address.startswith("postgresql://") or not address.isprintable():
        raise Problem("parameter", "an address begins with postgresql://; nothing was changed")
    return address


def _written(service: Service, source: str) -> str:
    """A source as the policy's text has it: relative to the policy where it lies below it."""
    home = service.path.parent
    if "://" in source or not Path(source).is_relative_to(home):
        return source
    return Path(source).relative_to(home).as_posix()


def _unreadable(error: EngineError, source: str) -> Problem:
    """A failure of an engine, as an owner may see it: with its reason, without a password."""
    words = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
    for secret in _secrets(source):
        words = words.replace(secret, "...")
    return Problem("parameter", f"the data cannot be read: {words}; nothing was changed")


def _secrets(source: str) -> list[str]:
    if "://" not in source:
        return []
    try:
        parts = urlsplit(source)
        given = [parts.password or ""]
    except ValueError:
        return [source.partition("://")[2]]
    given += [value for name, value in parse_qsl(parts.query) if "pass" in name.lower()]
    return sorted({one for text in given for one in (text, unquote(text)) if one}, key=len)[::-1]


# what they suggest


def draft(service: Service, wanted: SourceWanted) -> dict[str, Any]:
    """Columns with their types and what these suggest; no row is read."""
    there = _located(service, wanted)
    try:
        found = drafted(
            there, table=wanted.table, folder=service.path.parent, **wanted.options()
        )  # fmt: skip
    except EngineError as error:
        raise _unreadable(error, there) from None
    columns = [
        {
            "name": one.column, "storage": one.storage, "kind": one.kind, "because": one.because,
            "settled": one.settled,
        }
        for one in found.columns
    ]  # fmt: skip
    where = {"source": wanted.source} if wanted.source is not None else {"address": found.source}
    told = {"name": found.name, "table": wanted.table, "persons": list(found.persons)}
    return {**told, **where, "columns": columns}


# what comes of it


def register(service: Service, wanted: DatasetWanted, *, by: str) -> tuple[int, list[str]]:
    """Add a dataset to the policy and put it into force; the version, and what changed."""
    new = _new_people(wanted)
    return policies.edit(
        service, lambda text: _with(service, wanted, text), new_people=new, by=by,
        more_budget=wanted.more_budget, same_data=wanted.same_data, other_unit=wanted.other_unit,
        look=lambda policy: _look(policy, wanted),
    )  # fmt: skip


def checked(service: Service, wanted: DatasetWanted) -> dict[str, Any]:
    """What the policy would mean with a dataset: its words and warnings, and the text added."""
    before = service.path.read_text(encoding="utf-8")
    text = _with(service, wanted, before)
    told = policies.checked(service, text, look=lambda policy: _look(policy, wanted))
    shown = policies.masked(text[len(before.rstrip()) :].strip() + "\n")
    return {"added": shown, **told}


def _new_people(wanted: DatasetWanted) -> tuple[str, ...]:
    if not wanted.new_people:
        return ()
    family = wanted.family if isinstance(wanted.family, str) else wanted.family.name
    blocks = (f"{family}/{name}" for name, one in wanted.blocks.items() if one.people == "own")
    return (family, *blocks) if isinstance(wanted.family, FamilyWanted) else tuple(blocks)


def _with(service: Service, wanted: DatasetWanted, text: str) -> str:
    policy = service.policy
    if wanted.name in policy.datasets:
        words = f"there is a dataset {wanted.name[:60]!r} already; nothing was changed"
        raise Problem("conflict", words, fix="Choose another name, or change the policy's text.")
    family = wanted.family
    if isinstance(family, FamilyWanted) and family.name in policy.families:
        words = f"there is a family {family.name[:60]!r} already; nothing was changed"
        raise Problem("conflict", words, fix="Choose it as the family, or choose another name.")
    return added(text, *_tables(service, wanted))


def _tables(service: Service, wanted: DatasetWanted) -> Iterator[str]:
    family, name = wanted.family, wanted.name
    if isinstance(family, FamilyWanted):
        said = {**family.model_dump(exclude={"name"}, exclude_none=True), **_amounts(family)}
        if "expires" in said:
            said["expires"] = day_of(said["expires"])
        yield table_text(["family", family.name], said)
    path = ["dataset", name]
    source = _written(service, _located(service, wanted))
    yield table_text(
        path,
        {
            "family": family.name if isinstance(family, FamilyWanted) else family,
            "source": source,
            "table": wanted.table,
            "version": wanted.version,
            "unit": _value(wanted.unit),
            "row_limit": wanted.row_limit,
        },
    )
    if wanted.options():
        yield table_text([*path, "options"], wanted.options())
    columns = {column: _value(said) for column, said in wanted.columns.items()}
    yield table_text([*path, "columns"], columns)
    for title, table in wanted.lookups.items():
        of = _type_of(wanted.columns.get(table.key))
        rows = [
            {n: _key(v, of) if n == table.key else v for n, v in row.items()} for row in table.rows
        ]
        yield table_text([*path, "lookup", title], {"key": table.key, "rows": rows})
    for title, block in wanted.blocks.items():
        yield block_text(service, name, title, block, own=source)


def block_text(
    service: Service, dataset: str, name: str, wanted: BlockWanted, *, own: str
) -> str:  # fmt: skip
    """A block as the policy's text has it.

    Args:
        service: the server's.
        dataset: whose block it is.
        name: of the block.
        wanted: what is said of it.
        own: the source of the dataset, as the text has it.
    """
    elsewhere = wanted.source is not None or wanted.address is not None or wanted.table is None
    said = {
        "source": _written(service, _located(service, wanted)) if elsewhere else own,
        "table": wanted.table, "version": wanted.version, "people": wanted.people,
    }  # fmt: skip
    return table_text(["dataset", dataset, "block", name], {**said, **_amounts(wanted)})


def _amounts(wanted: FamilyWanted | BlockWanted) -> dict[str, Any]:
    given = {name: getattr(wanted, name) for name in ("epsilon", "delta", "rho")}
    return {name: number_of(value) for name, value in given.items() if value is not None}


def _look(policy: Policy, wanted: DatasetWanted) -> None:
    for block in (None, *wanted.blocks):
        opened(policy, wanted.name, block)


def opened(policy: Policy, name: str, block: str | None) -> None:
    """Open the data once, without reading a row: columns that are not there are found now."""
    dataset = policy.datasets[name]
    try:
        Asking(dataset, block, confidence=policy.defaults.confidence).close()
    except EngineError as error:
        part = dataset if block is None else dataset.blocks[block]
        raise _unreadable(error, part.source) from None


# values


def _value(said: Any) -> Any:
    """What is declared, with numbers and days that came as text; what is none stays text."""
    if not isinstance(said, Mapping):
        return said
    of = said.get("of")
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name == "of":
            continue
        if name in _NUMBERS:
            found[name] = number_of(value)
        elif name in _DAYS:
            found[name] = day_of(value)
        elif name == "keys" and isinstance(value, list):
            found[name] = [_key(one, of) for one in value]
        else:
            found[name] = value
    return found


def _type_of(said: Any) -> Any:
    """What the keys of a column are, as far as it is said."""
    if not isinstance(said, Mapping):
        return None
    return "integer" if "from" in said else said.get("of")


def _key(value: Any, of: Any) -> Any:
    match of:
        case "integer":
            found = number_of(value)
            return found if isinstance(found, int) else value
        case "date":
            return day_of(value)
        case _:
            return value


def number_of(value: Any) -> Any:
    """An exact number from text, or what was handed in where it is none.

    >>> number_of("0.10"), number_of(" 12 "), number_of("many")
    (Decimal('0.10'), 12, 'many')
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    return Decimal(text) if _REAL.fullmatch(text) else value


def day_of(value: Any) -> Any:
    """A day from text, or what was handed in where it is none.

    >>> day_of("2024-12-31"), day_of("soon")
    (datetime.date(2024, 12, 31), 'soon')
    """
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            return value
    return value
