"""DuckDB connections of our own, which read what they are told and nothing else.

External access is off, no extension is loaded, the configuration is locked, databases are opened
read-only: whatever a statement says, it reads the files that were named when the connection was
made. What does not fit into memory goes to a folder that nobody else may enter: it is rows.
Tested by tests/engines/test_own.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.cores import everywhere
from discreet.engines.spilled import spill_folder
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
    run(f"SET temp_directory = {quoted(str(spill_folder()))}")
    if database is not None:
        run(f"ATTACH {quoted(database)} AS data (READ_ONLY)")
    if files:
        run(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    for setting, value in _MEANING.items():
        run(f"SET GLOBAL {setting} = {value}")
    for setting, value in (*_PROGRESS.items(), *_LOCKED.items()):
        run(f"SET {setting} = {value}")
    return connection


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
