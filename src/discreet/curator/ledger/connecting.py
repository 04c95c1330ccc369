"""Connections to the database of a ledger, and its failures in words.

SQLite runs in WAL mode with synchronous=FULL, so that a commit is on the disk before it returns,
and overwrites what it deletes. PostgreSQL has to have synchronous_commit on; otherwise the ledger
is refused.
Tested by tests/curator/ledger/test_connecting.py, tests/curator/ledger/test_database.py
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = [
    "failing", "failures", "is_out_of_reach", "lost", "opened", "postgres", "refusals", "sqlite",
    "unable", "unwritten",
]  # fmt: skip

_BUSY = 60_000
"""Milliseconds that a writer of another kind may hold the file."""


def sqlite(address: str) -> Engine:
    """A file, with one connection."""
    from sqlalchemy import create_engine  # noqa: PLC0415 - importing discreet stays cheap
    from sqlalchemy.pool import StaticPool  # noqa: PLC0415

    connected = partial(
        opened, address, "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON",
        "wal_autocheckpoint = 1000", "foreign_keys = ON",
    )  # fmt: skip
    return create_engine("sqlite://", creator=connected, poolclass=StaticPool, paramstyle="named")


def opened(address: str, *pragmas: str) -> Any:
    """A connection of SQLite's own, for any thread."""
    import sqlite3  # noqa: PLC0415 - with the engine

    connection = sqlite3.connect(
        Path(address), isolation_level=None, check_same_thread=False, timeout=_BUSY / 1000
    )
    try:
        for pragma in (*pragmas, "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def postgres(address: str) -> Engine:
    """A database of PostgreSQL that flushes what it commits; refused otherwise."""
    try:
        import psycopg  # noqa: F401, PLC0415 - only a PostgreSQL ledger needs it
        from sqlalchemy import create_engine, make_url  # noqa: PLC0415
        from sqlalchemy.exc import ArgumentError  # noqa: PLC0415
        from sqlalchemy.pool import StaticPool  # noqa: PLC0415
    except ImportError:
        problem = 'in PostgreSQL needs the extra: pip install "discreet[postgres]"'
        raise ParameterError("a ledger", None, problem) from None
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise ParameterError("address", None, "must look like postgresql://host/database") from None
    engine = create_engine(url, poolclass=StaticPool, isolation_level="READ COMMITTED")
    with failing("could not be opened"), engine.connect() as connection:
        durable = connection.exec_driver_sql("SHOW synchronous_commit").scalar()
        flushed = connection.exec_driver_sql("SHOW fsync").scalar()
    if durable not in ("on", "remote_apply") or flushed != "on":
        engine.dispose()
        raise LedgerError(
            f"this PostgreSQL has synchronous_commit = {durable} and fsync = {flushed}: a charge "
            "could be lost after its answer was sent. Set both to on; nothing was charged"
        )
    return engine


class failing:  # noqa: N801 - reads as a function where it is used
    """A database's failures as LedgerError."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if error is not None:
            self.tell(error)

    def tell(self, error: BaseException) -> None:
        """Raise it as LedgerError, if a database failed."""
        if isinstance(error, failures()):
            words = f"the ledger {self._what} ({_words(error)}); nothing was sent"
            raise LedgerError(words) from error


@cache
def failures() -> tuple[type[Exception], ...]:
    """What a database may raise."""
    import sqlite3  # noqa: PLC0415 - with the engine

    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it
    except ImportError:
        return (sqlite3.Error, SQLAlchemyError, OverflowError, UnicodeError)
    return (sqlite3.Error, SQLAlchemyError, OverflowError, UnicodeError, psycopg.Error)


@cache
def outages() -> tuple[type[Exception], ...]:
    """Of these, and of what a file may raise: those for which no question is to blame."""
    import sqlite3  # noqa: PLC0415 - with the engine

    from sqlalchemy.exc import OperationalError  # noqa: PLC0415

    try:
        import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it
    except ImportError:
        return (OSError, sqlite3.OperationalError, OperationalError)
    return (OSError, sqlite3.OperationalError, OperationalError, psycopg.OperationalError)


@cache
def unwritten() -> tuple[type[Exception], ...]:
    """What SQLite's driver raises where a statement cannot be, and another way must decide."""
    import sqlite3  # noqa: PLC0415 - with the engine

    return (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeError)


@cache
def refusals() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises where nothing was written: it is known to be taken back."""
    import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it

    late = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
    return (psycopg.IntegrityError, psycopg.DataError, UnicodeError, *late)


@cache
def lost() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises where a temporary function is gone: nothing was written."""
    from psycopg.errors import UndefinedFunction  # noqa: PLC0415 - only a PostgreSQL ledger has it

    return (UndefinedFunction,)


@cache
def unable() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises where nobody may make a temporary function."""
    import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it

    return (psycopg.ProgrammingError, psycopg.NotSupportedError)


def is_out_of_reach(error: BaseException | None) -> bool:
    """Whether an error says that a ledger could not be opened or read, and nothing of what is in
    it: a folder or a file that may not be written, a server that does not answer.
    """
    import sqlite3  # noqa: PLC0415 - with the engine

    while error is not None:
        found = getattr(error, "orig", None) or error  # SQLAlchemy's have the driver's own inside
        if isinstance(found, (OSError, *_unreached())):
            return True
        if isinstance(found, sqlite3.Error) and _primary(found) in _REACHING:
            return True
        error = error.__cause__
    return False


_REACHING = frozenset({3, 5, 6, 7, 8, 10, 13, 14, 23})
"""SQLite's codes of rights, locks, memory, disks and files; not of tables and what is in them."""


def _primary(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@cache
def _unreached() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises where it cannot connect, or may not read."""
    try:
        import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it
    except ImportError:
        return ()
    return (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege)


def _words(error: BaseException) -> str:
    """The first line of what the database says; it knows the ledger only, and no data."""
    return str(error).strip().partition("\n")[0][:120] or type(error).__name__
