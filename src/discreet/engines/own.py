"""DuckDB connections of our own, which read what they are told and nothing else.

External access is off, no extension is loaded, the configuration is locked, databases are opened
read-only: whatever a statement says, it reads the files that were named when the connection was
made. What does not fit into memory goes to a folder that nobody else may enter: it is rows.
Tested by tests/engines/test_own.py
"""

from __future__ import annotations

import os
import stat
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.cores import everywhere
from discreet.errors import EngineError, ParameterError
from discreet.exact import whole

if TYPE_CHECKING:
    import duckdb

__all__ = ["SESSION", "failing", "own", "quoted"]

_MEANING = {"default_collation": "'binary'", "TimeZone": "'UTC'"}
"""What the meaning of a statement needs."""
_PROGRESS = {"enable_progress_bar": "true", "enable_progress_bar_print": "false"}
SESSION = {**_MEANING, **_PROGRESS}
"""What is set for the cursor of a connection that was handed in."""
_LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""What is set on a connection of our own, in this order, in the end."""


def own(
    files: Sequence[str], *, threads: int | None, database: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection in memory that may read these files and nothing else; its cursors, too."""
    import duckdb  # noqa: PLC0415 - importing discreet stays cheap

    with everywhere():  # its threads are started here
        connection = duckdb.connect(":memory:")

    def run(text: str) -> None:
        connection.execute(text).fetchall()

    if threads is not None:
        with everywhere():
            run(f"SET threads = {whole(threads, name='threads', at_least=1, at_most=1024)}")
    spill = _closed() / uuid.uuid4().hex
    run(f"SET temp_directory = {quoted(str(spill))}")
    if database is not None:
        run(f"ATTACH {quoted(database)} AS data (READ_ONLY)")
    if files:
        run(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    for setting, value in _MEANING.items():
        run(f"SET GLOBAL {setting} = {value}")
    for setting, value in (*_PROGRESS.items(), *_LOCKED.items()):
        run(f"SET {setting} = {value}")
    return connection


_others: dict[Path, Path] = {}
"""Folders of this process, by those that it cannot use."""


def _closed() -> Path:
    """A folder that only this user may enter; those that DuckDB makes are open to everybody.

    It stays, empty: DuckDB makes one of its own in it, and removes that.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    place = Path(tempfile.gettempdir()) / f"discreet-{user}"
    with suppress(OSError):
        place.mkdir(0o700)
    with suppress(OSError):
        if _is_ours(place, user):
            return place
        other = _others.get(place)
        if other is None or not _is_ours(other, user):
            other = _others[place] = Path(tempfile.mkdtemp(prefix="discreet-"))
        return other
    return place  # nothing can be written here, and DuckDB will say so if it has to


def _is_ours(place: Path, user: int) -> bool:
    """Whether a folder is there that only this user may enter."""
    try:
        about = place.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == user and not about.st_mode & 0o077


def quoted(text: str) -> str:
    """A text as it is written in a statement."""
    if "\0" in text:
        raise ParameterError("path", text, "must not hold the character NUL")
    return exp.Literal.string(text).sql(dialect="duckdb")


@contextmanager
def failing(problem: str) -> Iterator[None]:
    """DuckDB's failures as `EngineError`; its own words, which may quote rows, are the cause."""
    import duckdb  # noqa: PLC0415 - importing discreet stays cheap

    try:
        yield
    except duckdb.Error as error:
        raise EngineError(problem) from error
    except EngineError as error:
        raise EngineError(problem) from error.__cause__
