"""A draft of a policy for a table, from the names and types of its columns only.

No row is read, and nothing is proposed from what the data hold: bounds that were seen would tell
of the people who have them. What a name suggests is proposed in a comment. Everything that the
owner has to decide stands there as "DECIDE"; `read_policy` refuses the draft and lists exactly
these until each of them was replaced.
Tested by tests/curator/policy/test_draft.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from discreet.curator.policy.form import UNDECIDED
from discreet.curator.policy.model import is_address, without_password
from discreet.engines.sources import open_source
from discreet.query.schema import Storage

__all__ = ["draft"]

_PERSONAL = (
    "name", "mail", "phone", "mobile", "street", "address", "ssn", "passport", "iban", "login",
    "user", "birth_name", "surname", "license", "ip", "url",
)  # fmt: skip
_OF_PEOPLE = (
    '"hidden", for it names people',
    '"hidden"; the column that the unit names need not be declared',
)
_HINTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (_PERSONAL, _OF_PEOPLE[0]),
    (("id", "uid", "uuid"), _OF_PEOPLE[1]),
    (("age",), "{ low = 0, high = 120, grid = 1 }"),
    (("year",), "{ from = 2000, to = 2024 }, with the years that it may have"),
    (
        ("date", "day", "time", "hired", "born", "birthday", "since", "until", "start", "end"),
        "{ first = 2000-01-01, last = 2024-12-31 }, with the days that it may have",
    ),
    (
        (
            "salary", "wage", "pay", "income", "amount", "price", "cost", "total", "sum", "bonus",
            "score", "rate", "weight", "height", "count", "number", "hours", "minutes", "distance",
        ),
        "{ low = ..., high = ..., grid = 1 }, from rules, not from the data",
    ),
    (("is", "has", "flag", "active"), '"boolean"'),
    (
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
_SETTLED: Mapping[Storage, str] = {"boolean": "boolean", "other": "hidden"}
"""Types that leave nothing to decide: yes or no, and what no question can use."""


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
    lines = _lines(without_password(source), table, storage, options)
    return "\n".join(lines) + "\n"


def _lines(
    source: str, table: str | None, storage: Mapping[str, Storage], options: Mapping[str, Any]
) -> Iterator[str]:
    name = _name(source, table)
    yield from _people(name)
    yield f"[dataset.{name}]"
    yield 'family = "people"'
    yield f"source = {_text(source)}"
    if is_address(source):
        yield "# the password comes from PGPASSWORD or from ~/.pgpass"
    if table is not None:
        yield f"table = {_text(table)}"
    yield _undecided("version", 'a name for this state of the data, such as "2024-12"')
    yield _undecided("unit", _unit(list(storage)))
    if options:
        yield ""
        yield f"[dataset.{name}.options]"
        for option, value in options.items():
            yield f"{_key(option)} = {_text(value)}"
    yield ""
    yield f"[dataset.{name}.columns]  # what is publicly known; what is left out is hidden"
    all_text = source.lower().endswith((".csv", ".tsv", ".gz"))
    for column, stored in storage.items():
        yield _column(column, stored, all_text=all_text)
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
    yield f"path = {_text(name + '.ledger')}  # what was spent; keep it, and its .head file, safe"
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
    yield "# expires = 2027-12-31  # the last day on which questions are answered"
    yield ""
    yield "# Others may ask, too, each with an allowance:"
    yield "# [analyst.alice.allowance.people]"
    yield "# epsilon = 0.5"
    yield ""


def _column(column: str, stored: Storage, *, all_text: bool) -> str:
    """One line. What a name suggests goes before the type where all columns are text."""
    if stored in _SETTLED:
        reason = "stored as yes or no" if stored == "boolean" else "of a type that cannot be used"
        return f"{_key(column)} = {_text(_SETTLED[stored])}  # {reason}"
    hint = _hint(column)
    if hint in _OF_PEOPLE:
        return _undecided(_key(column), hint)
    known = _ANY if all_text else _TYPES[stored]
    wanted = hint if hint is not None and stored == "text" else known
    return _undecided(_key(column), f'{wanted}; or "hidden"')


def _undecided(key: str, words: str) -> str:
    return f'{key} = "{UNDECIDED}"  # DECIDE: {words}'


def _unit(columns: list[str]) -> str:
    """The columns that may name the person, by their names."""
    ids = [name for name in columns if _words(name) & {"id", "uid", "person", "number", "no"}]
    named = _text(ids[0]) if ids and ids[0].isprintable() else '"..."'
    return (
        f'"row" if everyone has one row at most, or {{ person = {named}, max_rows = 4 }} where a '
        "column names the person"
    )


def _hint(column: str) -> str | None:
    words = _words(column)
    return next((said for names, said in _HINTS if words & set(names)), None)


def _words(column: str) -> set[str]:
    """The words in a column's name: "HireDate" and "hire_date" have two."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", column)
    return {part.lower() for part in parts}


def _name(source: str, table: str | None) -> str:
    """What questions call the table: its own name if that is a plain word."""
    text = table.rpartition(".")[2] if table else PurePath(source).name.partition(".")[0]
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,40}", text) else "data"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: object) -> str:
    """Text, a number or a flag as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
