"""Where a ledger is kept: SQLite or PostgreSQL, one writer at a time, every commit flushed.

SQLite runs in WAL mode with synchronous=FULL, so that a commit is on the disk before it returns,
and overwrites what it deletes. PostgreSQL has to have synchronous_commit on; otherwise the ledger
is refused.

Statements are SQLAlchemy's, compiled once for the database, with their constants written out, and
then run by its driver: a commit on a fast disk takes a third of a millisecond, and what comes
before it should not take as long.

A writing transaction begins by waiting until no other writes. In SQLite that is BEGIN IMMEDIATE. In
PostgreSQL it is a statement of its own that locks the one row of the ledger: at READ COMMITTED each
statement sees what was committed before that statement began, and the lock is held before the next
one begins, so that what is read afterwards is what the last writer left. (The locking statement
itself may have begun before; it reads nothing that is used.) There statements go out in a pipeline,
without waiting for one another's answers; the server runs them in their order, one after the other,
so that this holds in a pipeline too. A failure shows when a row is fetched, or at the commit. The
connection begins no transaction by itself: outside of one, a statement is a transaction, flushed
when it returns (`discreet.curator.ledger.at_once`).

One thread at a time: a connection has one transaction. No connection lives through a fork: SQLite
counts its locks per process, so that a child which inherits an open file believes in locks that it
does not have, and the parent's closing would throw away the child's commits.
Tested by tests/curator/ledger/test_database.py
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import select

from discreet.curator.ledger import tables as t
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.sql.base import Executable

__all__ = ["Database", "Placed", "Statement"]

_BUSY = 60_000
"""Milliseconds that a writer of another kind may hold the file."""
LOCK = select(t.ledger.c.id).with_for_update()
"""What lets one writer in, where the database does not do so by itself."""


class Database:
    """An open database of a ledger; a fork closes it, and the next use opens it again.

    Args:
        address: a file, or a "postgresql://..." address.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_file = not address.startswith(("postgresql://", "postgres://"))
        self._statements: dict[int, Statement] = {}
        self.texts = _Texts(self)
        self._lock, self._owner = threading.Lock(), 0
        self._raw: Any = None
        self._pipeline: Any = None
        self._cursor: Any = None
        self._transaction = _Transaction(self)
        self._committed = False
        self._closed = False
        self._connect()
        _OPEN.add(self)

    def _connect(self) -> None:
        self._engine = _sqlite(self.address) if self.is_file else _postgres(self.address)
        self.dialect = self._engine.dialect
        self.process = os.getpid()
        with failing("could not be opened"):
            self._pooled = self._engine.raw_connection()
        self._raw = self._pooled.driver_connection
        if not self.is_file:
            with failing("could not be opened"):
                self._raw.autocommit = True  # a statement is a transaction, unless one was begun
                self._raw.execute("SET default_transaction_isolation TO 'read committed'")

    def _ready(self) -> None:
        if self._raw is not None and not self.is_file and self._raw.closed:
            self._drop()
        if self._raw is None:
            self._connect()

    def _drop(self) -> None:
        """Let go of the connection; the next use makes another."""
        raw, self._raw = self._raw, None
        if raw is not None:
            self._pooled.close()
            self._engine.dispose()

    def close(self) -> None:
        """Let go of the database."""
        self._closed = True
        with failing("could not be closed"):
            self._drop()

    def turn(self) -> Self:
        """Keep every other thread from using the connection, as a context."""
        return self

    def outside(self) -> int:
        """This thread; LedgerError where it is in the middle of a transaction."""
        me = threading.get_ident()
        if self._owner == me:
            raise LedgerError("the ledger is in the middle of a transaction; nothing was changed")
        return me

    def __enter__(self) -> None:
        if self._closed:
            raise LedgerError("this ledger was closed; nothing was charged")
        me = self.outside()
        self._lock.acquire()
        self._owner = me

    def __exit__(self, *_: object) -> None:
        self._owner = 0
        self._lock.release()

    def writing(self) -> _Transaction:
        """One transaction with no other writer beside it; a cursor. It is the caller's to commit.

        What was not committed when the block ends is taken back. The caller has the `turn`.
        """
        return self._transaction

    def begin(self) -> Any:
        """Wait until no other writes; a cursor."""
        self._ready()
        self._cursor = cursor = self._raw.cursor()
        self._committed = False
        try:
            if self.is_file:
                cursor.execute("BEGIN IMMEDIATE")
            else:
                self._pipeline = self._raw.pipeline()
                self._pipeline.__enter__()
                cursor.execute("BEGIN ISOLATION LEVEL READ COMMITTED", prepare=False)
                self.run(self._raw.cursor(), LOCK)
        except BaseException:
            self._end(cursor)
            raise
        return cursor

    def end(self, cursor: Any, *, well: bool) -> None:
        """End a transaction, and take back what was not committed."""
        try:
            if well:
                self._collect()
        finally:
            self._end(cursor)

    def _collect(self) -> None:
        """Wait for the answers of all statements that went out; the first failure is raised."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.__exit__(None, None, None)

    def _end(self, cursor: Any) -> None:
        try:
            if self._pipeline is not None:  # something else failed, and that is what is said
                with suppress(*_failures()):
                    self._collect()
            if not self._committed:
                self._raw.rollback()
        finally:
            cursor.close()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """One consistent view of all tables; a cursor. The caller has the `turn`."""
        self._ready()
        cursor = self._raw.cursor()
        self._committed = False
        try:
            how = "" if self.is_file else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
            cursor.execute(f"BEGIN {how}")
            yield cursor
        finally:
            self._end(cursor)

    def commit(self) -> None:
        """Commit, and wait for the disk."""
        if self.process != os.getpid():
            raise LedgerError("a transaction belongs to the process that began it")
        if self.is_file:
            self._cursor.execute("COMMIT")
        else:
            cursor = self._raw.cursor()
            cursor.execute("COMMIT", prepare=False)
            self._collect()
            if cursor.statusmessage != "COMMIT":
                raise LedgerError("the database took the transaction back; nothing was sent")
        self._committed = True

    def run(self, cursor: Any, statement: Executable, /, **values: Any) -> Any:
        """Run one statement; the cursor, for its rows or the number of rows that it changed."""
        found = self._statements.get(id(statement))
        if found is None:
            found = self._statements[id(statement)] = Statement(statement, self.dialect)
        cursor.execute(found.text, values)
        return cursor

    def once(self, statement: Executable, /, **values: Any) -> Sequence[Any]:
        """The rows of one statement that is a transaction; none where the database refused it.

        It is on the disk when it returns. Only PostgreSQL. The caller has the `turn`.
        """
        self._ready()
        if self.process != os.getpid():
            raise LedgerError("a transaction belongs to the process that began it")
        try:
            return self.run(self._raw.cursor(), statement, **values).fetchall()  # type: ignore[no-any-return]
        except _refusals():
            return ()

    def glance(self, statement: Executable, /, **values: Any) -> Sequence[Any]:
        """The rows of one statement that only reads, as of its own moment.

        The caller has the `turn`.
        """
        self._ready()
        return self.run(self._raw.cursor(), statement, **values).fetchall()  # type: ignore[no-any-return]

    def jot(self, statement: Executable, /, **values: Any) -> None:
        """Change what the log says nothing of, by one statement. The caller has the `turn`."""
        self._ready()
        cursor = self._raw.cursor()
        try:
            if not self.is_file:
                cursor.execute("BEGIN")
                cursor.execute("SET LOCAL synchronous_commit TO off")
            self.run(cursor, statement, **values)
            self._raw.commit()
        finally:
            self._raw.rollback()
            cursor.close()

    @contextmanager
    def defining(self, *, alone: bool = True) -> Iterator[Connection]:
        """A SQLAlchemy connection, for making and changing tables, in one transaction.

        Args:
            alone: whether no other may write beside it; otherwise it only looks.
        """
        with self.turn(), failing("could not be prepared"):
            self._ready()
            with self._transactional(), self._engine.begin() as connection:
                if alone and self.is_file:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection

    @contextmanager
    def _transactional(self) -> Iterator[None]:
        """SQLAlchemy leaves it to PostgreSQL's driver to begin a transaction; here it does."""
        if self.is_file:
            yield
            return
        self._raw.autocommit = False
        try:
            yield
        finally:
            if not self._raw.closed:
                self._raw.autocommit = True

    def before_fork(self) -> None:
        """Wait for the threads and let go of the connection; not in the middle of a transaction."""
        if self._owner != threading.get_ident():
            self._lock.acquire()
            with suppress(LedgerError), failing("could not be closed"):
                self._drop()

    def after_fork(self) -> None:
        """Go on, in the parent and in the child."""
        if self._owner != threading.get_ident():
            self._lock.release()


_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING: list[Database] = []


def _before_fork() -> None:
    _FORKING.extend(_OPEN)
    for database in _FORKING:
        database.before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


class _Transaction:
    """A writing transaction, as a context."""

    __slots__ = ("_cursor", "_database")

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Any:
        self._cursor = self._database.begin()
        return self._cursor

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._database.end(self._cursor, well=kind is None)


class Placed:
    """A statement whose values go by place: those of a charge, which are run all the time.

    Args:
        statement: SQLAlchemy's, the same for all databases.
        places: the names of its values in the order in which they occur, each as often as it does.
    """

    __slots__ = ("places", "statement")

    def __init__(self, statement: Any, *places: str) -> None:
        self.statement, self.places = statement, places


class _Texts(dict[Placed, str]):
    """The texts of statements in one dialect, each compiled when it is first looked up."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = weakref.proxy(database)

    def __missing__(self, placed: Placed) -> str:
        dialect = self._database.dialect
        pyformat = dialect.paramstyle == "pyformat"
        places: list[str] = []

        def place(found: re.Match[str]) -> str:
            places.append(found[1])
            return "%s" if pyformat else "?"

        pattern = r"%\((\w+)\)s" if pyformat else r":(\w+)"
        text = re.sub(pattern, place, Statement(placed.statement, dialect).text)
        if tuple(places) != placed.places:
            raise TypeError(f"the values of a statement are {places}, and not {placed.places}")
        self[placed] = text
        return text


class Statement:
    """A statement of SQLAlchemy's, compiled once, to be run by the driver's own cursor.

    Attributes:
        text: with names where values go; the values that it has itself are written out.
    """

    __slots__ = ("_kept", "text")

    def __init__(self, statement: Executable, dialect: Any) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self._kept = statement  # its id stays its own
        text = str(compiled)
        for name, value in compiled.params.items():
            if not compiled.binds[name].required:
                place = f"%({name})s" if dialect.paramstyle == "pyformat" else f":{name}"
                text = re.sub(rf"{re.escape(place)}(?!\w)", _literal(value, dialect), text)
        self.text = text


def _literal(value: object, dialect: Any) -> str:
    """A constant of a statement: no value of anybody's."""
    match value:
        case None:
            return "NULL"
        case int():
            return str(int(value))
        case str():
            text = "'" + value.replace("'", "''") + "'"
            return text.replace("%", "%%") if dialect.paramstyle == "pyformat" else text
        case _:
            raise TypeError(f"a constant of the type {type(value).__name__}")


def _sqlite(address: str) -> Engine:
    import sqlite3  # noqa: PLC0415 - with the engine

    from sqlalchemy import create_engine  # noqa: PLC0415 - importing discreet stays cheap
    from sqlalchemy.pool import StaticPool  # noqa: PLC0415

    def connected() -> sqlite3.Connection:
        connection = sqlite3.connect(
            Path(address), isolation_level=None, check_same_thread=False, timeout=_BUSY / 1000
        )
        try:
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "secure_delete = ON",
                "wal_autocheckpoint = 1000",
                "foreign_keys = ON",
                "trusted_schema = OFF",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    return create_engine("sqlite://", creator=connected, poolclass=StaticPool, paramstyle="named")


def _postgres(address: str) -> Engine:
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
        if error is not None and isinstance(error, _failures()):
            words = f"the ledger {self._what} ({_words(error)}); nothing was sent"
            raise LedgerError(words) from error


@cache
def _failures() -> tuple[type[Exception], ...]:
    import sqlite3  # noqa: PLC0415 - with the engine

    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it
    except ImportError:
        return (sqlite3.Error, SQLAlchemyError, OverflowError, UnicodeError)
    return (sqlite3.Error, SQLAlchemyError, OverflowError, UnicodeError, psycopg.Error)


@cache
def _refusals() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises where nothing was written: it is known to be taken back."""
    import psycopg  # noqa: PLC0415 - only a PostgreSQL ledger has it

    late = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
    return (psycopg.IntegrityError, psycopg.DataError, UnicodeError, *late)


def _words(error: BaseException) -> str:
    """The first line of what the database says; it knows the ledger only, and no data."""
    return str(error).strip().partition("\n")[0][:120] or type(error).__name__
