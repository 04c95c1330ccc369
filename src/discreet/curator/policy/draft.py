"""A draft of a policy for a table, from the names and types of its columns only.

No row is read, and nothing is proposed from what the data hold: bounds that were seen would tell
of the people who have them. What a name suggests is proposed in a comment. Everything that the
owner has to decide stands there as "DECIDE"; `read_policy` refuses the draft and lists exactly
these until each of them was replaced.
Tested by tests/curator/policy/test_draft.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal

from discreet.curator.policy.form import UNDECIDED
from discreet.curator.policy.model import is_address, without_password
from discreet.curator.policy.written import key_text, value_text
from discreet.engines.sources import open_source
from discreet.query.schema import Storage

__all__ = ["Drafted", "Kind", "Proposal", "draft", "drafted"]

Kind = Literal["hidden", "number", "keys", "range", "dates", "boolean", "text"]
"""What a column may be declared as: "keys" lists values, "range" counts whole numbers."""
Because = Literal["name", "type"]

_PERSONAL = (
    "name", "mail", "phone", "mobile", "street", "address", "ssn", "passport", "iban", "login",
    "user", "birth_name", "surname", "license", "ip", "url",
)  # fmt: skip
_OF_PEOPLE = (
    '"hidden", for it names people',
    '"hidden"; the column that the unit names need not be declared',
)
_HINTS: tuple[tuple[Kind, tuple[str, ...], str], ...] = (
    ("hidden", _PERSONAL, _OF_PEOPLE[0]),
    ("hidden", ("id", "uid", "uuid"), _OF_PEOPLE[1]),
    ("number", ("age",), "{ low = 0, high = 120, grid = 1 }"),
    ("range", ("year",), "{ from = 2000, to = 2024 }, with the years that it may have"),
    (
        "dates",
        ("date", "day", "time", "hired", "born", "birthday", "since", "until", "start", "end"),
        "{ first = 2000-01-01, last = 2024-12-31 }, with the days that it may have",
    ),
    (
        "number",
        (
            "salary", "wage", "pay", "income", "amount", "price", "cost", "total", "sum", "bonus",
            "score", "rate", "weight", "height", "count", "number", "hours", "minutes", "distance",
        ),
        "{ low = ..., high = ..., grid = 1 }, from rules, not from the data",
    ),
    ("boolean", ("is", "has", "flag", "active"), '"boolean"'),
    (
        "keys",
        (
            "department", "dept", "type", "kind", "group", "category", "class", "status", "gender",
            "sex", "region", "country", "state", "city", "grade", "level", "code", "zip",
        ),
        '{ keys = ["...", "..."] }, with all values that it may have',
    ),
)  # fmt: skip
_TYPES: Mapping[Storage, str] = {
    "integer": "{ low = ..., high = ..., grid = 1 }, or { keys = [1, 2] }, or { from = 1, to = 9 }",
    "real": "{ low = ..., high = ..., grid = 0.01 }, from rules, not from the data",
    "date": "{ first = 2000-01-01, last = 2024-12-31 }, with the days that it may have",
    "timestamp": "{ first = 2000-01-01, last = 2024-12-31 }; the time of day is cut off",
    "text": '{ keys = ["...", "..."] }, or "text"',
}
_ANY = (
    '{ keys = ["...", "..."] }, or "text"; { low = ..., high = ... } for a number; '
    '{ first = 2000-01-01, last = 2024-12-31 } for a date; "boolean"'
)
_SETTLED: Mapping[Storage, Kind] = {"boolean": "boolean", "other": "hidden"}
"""Types that leave nothing to decide: yes or no, and what no question can use."""
_BY_TYPE: Mapping[Storage, Kind] = {"real": "number", "date": "dates", "timestamp": "dates"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the name and the type of a column suggest; the owner decides.

    Attributes:
        column: its name.
        storage: its type.
        kind: what it is probably to be declared as; None where nothing suggests it.
        because: what suggests it, "name" or "type"; None where nothing does.
        settled: whether the type leaves nothing to decide.
        words: the forms that are possible, as a draft explains them.
    """

    column: str
    storage: Storage
    kind: Kind | None
    because: Because | None
    settled: bool
    words: str


@dataclass(frozen=True, slots=True)
class Drafted:
    """A table as a draft sees it: names and types, no row.

    Attributes:
        name: what questions may call it.
        source: where it is, without a password; relative to the policy where that is possible.
        table: which one of a database.
        columns: all of them, with what they suggest.
        persons: the columns whose names suggest that they name a person.
    """

    name: str
    source: str
    table: str | None
    columns: tuple[Proposal, ...]
    persons: tuple[str, ...]


def draft(
    path: str | Path, *, table: str | None = None, folder: Path | None = None, **options: Any
) -> str:
    """The text of a draft, in TOML.

    Args:
        path: the data: whatever a policy may have as a source.
        table: which table, of a database.
        folder: where the policy will lie; beside the data if that is not said.
        options: how to read the source, such as delimiter=";".
    """
    found = drafted(path, table=table, folder=folder, **options)
    return "\n".join(_lines(found, options)) + "\n"


def drafted(
    path: str | Path, *, table: str | None = None, folder: Path | None = None, **options: Any
) -> Drafted:
    """What a draft would say, as values; the arguments are those of `draft`."""
    engine = open_source(path, table=table, **options)
    try:
        storage = dict(engine.storage)
    finally:
        engine.close()
    source = str(path)
    if not is_address(source):
        there = os.path.abspath(os.path.expanduser(source))  # noqa: PTH100, PTH111 - maybe a pattern
        home = str((folder or Path(there).parent).absolute())
        below = os.path.relpath(there, home)
        source = there if below.startswith("..") else below
    source = without_password(source)
    all_text = source.lower().endswith((".csv", ".tsv", ".gz"))
    columns = [_proposal(column, stored, all_text=all_text) for column, stored in storage.items()]
    persons = [name for name in storage if _words(name) & {"id", "uid", "person", "number", "no"}]
    return Drafted(_name(source, table), source, table, tuple(columns), tuple(persons))


def _lines(found: Drafted, options: Mapping[str, Any]) -> Iterator[str]:
    name, source = found.name, found.source
    yield from _people(name)
    yield f"[dataset.{name}]"
    yield 'family = "people"'
    yield f"source = {value_text(source)}"
    if is_address(source):
        yield "# the password comes from PGPASSWORD or from ~/.pgpass"
    if found.table is not None:
        yield f"table = {value_text(found.table)}"
    yield _undecided("version", 'a name for this state of the data, such as "2024-12"')
    yield _undecided("unit", _unit(found.persons))
    if options:
        yield ""
        yield f"[dataset.{name}.options]"
        for option, value in options.items():
            yield f"{key_text(option)} = {value_text(value)}"
    yield ""
    yield f"[dataset.{name}.columns]  # what is publicly known; what is left out is hidden"
    for one in found.columns:
        yield _column(one)
    yield ""
    yield "[defaults]"
    yield "# epsilon = 0.1  # of a question that does not say it"
    yield "confidence = 0.95  # of intervals"


def _people(name: str) -> Iterator[str]:
    """The ledger, the budget and who may ask."""
    yield "# A draft policy, from the names and types of the columns; no row was read."
    yield f'# Replace every "{UNDECIDED}", then run: discreet check policy.toml'
    yield ""
    yield "[ledger]"
    kept = value_text(f"{name}.ledger")
    yield f"path = {kept}  # what was spent; keep it, and its .head file, safe"
    yield ""
    yield "[family.people]  # everyone whom the data are about: one budget, whatever is asked"
    yield _undecided(
        "epsilon",
        "how much may be learned about one person in all: 1 is careful, 10 protects little",
    )
    yield 'accounting = "pure"  # or "zcdp", with rho or with epsilon and delta: for many questions'
    yield _undecided(
        "neighbours",
        '"add_or_remove" hides whether somebody is in the data; "replace" only what is said there',
    )
    yield 'releases = "private"  # or "public": then a stored answer is free for every analyst'
    yield "# tells_rest = true  # tells an analyst who is refused what is left for everybody"
    yield "# expires = 2027-12-31  # the last day on which questions are answered"
    yield ""
    yield "# Others may ask, too, each with an allowance:"
    yield "# [analyst.alice.allowance.people]"
    yield "# epsilon = 0.5"
    yield ""


def _proposal(column: str, stored: Storage, *, all_text: bool) -> Proposal:
    """What a name suggests goes before the type where all columns are text."""
    if stored in _SETTLED:
        reason = "stored as yes or no" if stored == "boolean" else "of a type that cannot be used"
        return Proposal(column, stored, _SETTLED[stored], "type", settled=True, words=reason)
    kind, hint = _hint(column)
    if hint in _OF_PEOPLE:
        return Proposal(column, stored, kind, "name", settled=False, words=hint)
    known = _ANY if all_text else _TYPES[stored]
    by_name = hint != "" and stored == "text"
    words = f'{hint if by_name else known}; or "hidden"'
    kind = kind if by_name else _BY_TYPE.get(stored)
    because: Because | None = None if kind is None else ("name" if by_name else "type")
    return Proposal(column, stored, kind, because, settled=False, words=words)


def _column(one: Proposal) -> str:
    """One line."""
    if one.settled:
        return f"{key_text(one.column)} = {value_text(one.kind)}  # {one.words}"
    return _undecided(key_text(one.column), one.words)


def _undecided(key: str, words: str) -> str:
    return f'{key} = "{UNDECIDED}"  # DECIDE: {words}'


def _unit(persons: tuple[str, ...]) -> str:
    """The columns that may name the person, by their names."""
    named = value_text(persons[0]) if persons and persons[0].isprintable() else '"..."'
    return (
        f'"row" if everyone has one row at most, or {{ person = {named}, max_rows = 4 }} where a '
        "column names the person"
    )


def _hint(column: str) -> tuple[Kind | None, str]:
    words = _words(column)
    found = ((kind, said) for kind, names, said in _HINTS if words & set(names))
    return next(found, (None, ""))


def _words(column: str) -> set[str]:
    """The words in a column's name: "HireDate" and "hire_date" have two."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", column)
    return {part.lower() for part in parts}


def _name(source: str, table: str | None) -> str:
    """What questions call the table: its own name if that is a plain word."""
    text = table.rpartition(".")[2] if table else PurePath(source).name.partition(".")[0]
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,40}", text) else "data"
