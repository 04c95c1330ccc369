"""Where the data of a policy lie, and whether two sources could be the same people's.

Nothing is opened and nothing has to be there: a policy may be read where the data are not. Of files
that are there, links are followed.
Tested by tests/curator/policy/test_sources.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.curator.policy.model import is_address
from discreet.engines.sources import FILES, files_of
from discreet.errors import ParameterError

__all__ = ["files_at", "folder_of", "of_address", "overlap", "placed", "placed_table"]

Source = tuple[str, str | None]
"""A source and the table in it."""
_PATTERN = "*?["


def placed(text: str, folder: Path) -> str:
    """A source as an absolute path or pattern, or as the address that it is."""
    if not text or "\0" in text:
        raise ParameterError("source", text, "must be a path, a pattern or postgresql://...")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        return os.path.abspath(folder / os.path.expanduser(text))  # noqa: PTH100, PTH111 - kept as text
    if not is_address(text):  # an address may hold a password: only its first word is quoted
        problem = "is no kind of address that can be read; say a path or postgresql://..."
        raise ParameterError("source", f"{scheme[1]}://...", problem)
    try:
        urlsplit(text).port  # noqa: B018 - it is read here
    except ValueError:
        problem = "must look like postgresql://user@host:5432/database"
        raise ParameterError("source", None, problem) from None
    return text


def placed_table(source: str, table: str | None) -> str | None:
    """The table, which a database needs and a file of rows cannot have."""
    kind = _kind(source)
    if kind == "database" and not table:
        problem = 'is missing: the source is a database; say table = "payroll"'
        raise ParameterError("table", None, problem)
    if kind == "file" and table is not None:
        problem = "has no meaning for a file of rows; leave it out"
        raise ParameterError("table", table, problem)
    return table


def of_address(address: str) -> Source:
    """The source and the table of an address as a ledger has it: "staff.duckdb#payroll".

    The name of a file may hold a #, too.
    """
    at = address.find("#")
    while at >= 0:
        if _kind(address[:at]) == "database":
            return address[:at], address[at + 1 :] or None
        at = address.find("#", at + 1)
    return address, None


def folder_of(file: Path, said: str) -> Path | None:
    """The folder from which a file is called so; None where that does not tell.

    >>> folder_of(Path("/srv/books/staff.ledger"), "books/staff.ledger").as_posix()
    '/srv'
    """
    there, own = file.parts, Path(said).parts
    above = len(there) - len(own)
    return Path(*there[:above]) if above > 0 and own and there[above:] == own else None


def _kind(source: str) -> str:
    """Either "database" or "file", or nothing where the name does not tell."""
    if is_address(source):
        return "database"
    for ending, kind in FILES.items():
        if source.lower().endswith(ending):
            return "database" if kind == "database" else "file"
    return ""


Files = Callable[[str], frozenset[tuple[int, int]]]
"""Which files there are behind a path or pattern, by the numbers that the system gave them."""


def overlap(one: Source, other: Source, files: Files | None = None) -> bool:
    """Whether two sources may hold the same rows, as far as their names and links tell.

    Args:
        one: a source.
        other: another one.
        files: lists the files behind one; who compares many sources remembers what it says.

    >>> overlap(("/data/*.csv", None), ("/data/a.csv", None))
    True
    >>> overlap(("/data/a.duckdb", "staff"), ("/data/a.duckdb", "patients"))
    False
    """
    (first, table), (second, other_table) = one, other
    if is_address(first) or is_address(second):
        same = is_address(first) and is_address(second) and _database(first) == _database(second)
        return same and _table(table) == _table(other_table)
    a, b = _real(first), _real(second)
    if a == b or _is_linked(a, b):
        return _table(table) == _table(other_table)
    return _is_within(a, b) or _is_within(b, a) or _meets(a, b) or _shares(a, b, files or files_at)


def files_at(source: str) -> frozenset[tuple[int, int]]:
    """The files that are there behind an absolute path or pattern; links to one are one."""
    found = set()
    for name in files_of(source):
        with suppress(OSError):
            seen = Path(name).stat()
            found.add((seen.st_dev, seen.st_ino))
    return frozenset(found)


def _is_linked(a: str, b: str) -> bool:
    """Whether two names are there that are one file."""
    try:
        return Path(a).samefile(b)
    except (OSError, ValueError):
        return False


def _is_within(a: str, b: str) -> bool:
    """Whether b lies in the folder a, whatever that is called: "payroll.parquet" may be one."""
    return b.startswith(a.rstrip(os.sep) + os.sep)


def _meets(a: str, b: str) -> bool:
    """Whether one is a pattern, and some name fits both."""
    if not _is_pattern(a) and not _is_pattern(b):
        return False
    return any(_meet(x, y) for x in _spelled(a) for y in _spelled(b))


def _spelled(path: str) -> list[str]:
    """A pattern with and without the folders that ** stands for; what may be a folder, too, with
    what may lie in it.
    """
    if not _is_pattern(path):
        holds = _kind(path) == "" or _is_folder(path)
        return [path, os.path.join(path, "*")] if holds else [path]  # noqa: PTH118 - kept as text
    first, *rest = path.split("**/")
    ways = product(("*/", ""), repeat=len(rest))
    return ["".join((first, *map("".join, zip(way, rest, strict=True)))) for way in ways]


def _shares(a: str, b: str, files: Files) -> bool:
    """Whether one is many files, of which one is the other's, too, by a link."""
    if not any(_is_pattern(path) or _is_folder(path) for path in (a, b)):
        return False
    return not files(a).isdisjoint(files(b))


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _is_pattern(path: str) -> bool:
    return any(letter in path for letter in _PATTERN)


def _meet(one: str, other: str) -> bool:
    """Whether some name fits both patterns; a set of letters counts as any letter.

    >>> _meet("/d/2024-*.csv", "/d/*-01.csv"), _meet("/d/2024-*.csv", "/d/2025-*.csv")
    (True, False)
    """
    a, b = (re.sub(r"\[.[^]]*\]", "?", re.sub(r"\*+", "*", text)) for text in (one, other))
    reach = {(0, 0)}  # how far of each a common name may have come
    seen: set[tuple[int, int]] = set()
    while reach:
        i, j = at = reach.pop()
        if at in seen:
            continue
        seen.add(at)
        x, y = a[i : i + 1], b[j : j + 1]
        if not x and not y:
            return True
        if x == "*":
            reach |= {(i + 1, j)} | ({(i, j + 1)} if y else set())
        if y == "*":
            reach |= {(i, j + 1)} | ({(i + 1, j)} if x else set())
        if x and y and (x == y or "?" in (x, y)):
            reach.add((i + 1, j + 1))
    return False


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _database(address: str) -> tuple[str, str, str]:
    """Host, port and database: who asks and how is not part of what is there.

    What stands after the question mark counts, where both places say something.
    """
    parts = urlsplit(address)
    more = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    host = more.get("host") or unquote(parts.hostname or "localhost")
    user = more.get("user") or unquote(parts.username or "")
    name = more.get("dbname") or unquote(parts.path.strip("/")) or user  # as the server does it
    local = host == "::1" or host.startswith("127.")
    return "localhost" if local else host.lower(), str(more.get("port") or parts.port or 5432), name


def _table(table: str | None) -> str:
    name = (table or "").replace('"', "").casefold()
    if name.count(".") == 2:  # the database by its own name, which is one
        name = name.partition(".")[2]
    return name.removeprefix("public.").removeprefix("main.")
