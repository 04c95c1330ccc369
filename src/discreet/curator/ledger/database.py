"""Where a ledger is kept: SQLite or PostgreSQL, one writer at a time, every commit flushed.

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

One thread at a time: a connection has one transaction. What only reads by one statement (`glance`)
has a connection of its own beside SQLite's, so that it waits for no flush; it sees what was
committed before it began. No connection lives through a fork: SQLite
counts its locks per process, so that a child which inherits an open file believes in locks that it
does not have, and the parent's closing would throw away the child's commits.
Tested by tests/curator/ledger/test_database.py
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from discreet.curator.ledger import forks
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.compiled import Placed, Statement, Texts
from discreet.curator.ledger.connecting import (
    failing,
    failures,
    lost,
    opened,
    postgres,
    refusals,
    sqlite,
    unwritten,
)
from discreet.curator.ledger.steps import passed
from discreet.curator.ledger.usual import TEMPORARY
from discreet.curator.ledger.usual_postgres import CHARGE, Call, calls_of
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.sql.base import Executable

__all__ = ["Database"]

_CLOSED = "this ledger was closed; nothing was charged"
LOCK = select(t.ledger.c.id).with_for_update()
"""What lets one writer in, where the database does not do so by itself."""


class Database:
    """An open database of a ledger; a fork closes it, and the next use opens it again.

    Args:
        address: a file, or a "postgresql://..." address.

    Attributes:
        file: the numbers of the file that is open, as the system has them; None where another one
            may be at its path by now.
    """

    def __init__(self, address: str) -> None:
        self.is_file = not address.startswith(("postgresql://", "postgres://"))
        self.address = str(Path(address).absolute()) if self.is_file else address
        self._statements: dict[int, Statement] = {}
        self.texts = Texts(self)
        self.lock: Any = threading.RLock()  # taken once by each: it knows who has it
        self._let_go = False
        self._raw: Any = None
        self._glancing = threading.Lock()
        self._reader: Any = None
        self._pipeline: Any = None
        self._cursor: Any = None
        self._usual: Any = None
        self._transaction = _Transaction(self)
        self._committed = False
        self._closed = False
        self._connect()
        _OPEN.add(self)

    def _connect(self) -> None:
        self.insist_open()
        self._engine = sqlite(self.address) if self.is_file else postgres(self.address)
        self.dialect = self._engine.dialect
        self._forks = forks.count
        before = _numbers(self.address) if self.is_file else None
        with failing("could not be opened"):
            self._pooled = self._engine.raw_connection()
        self._raw = self._pooled.driver_connection
        self.file = before if before is not None and before == _numbers(self.address) else None
        self._usual = None
        if not self.is_file:
            with failing("could not be opened"):
                self._raw.autocommit = True  # a statement is a transaction, unless one was begun
                self._raw.execute("SET default_transaction_isolation TO 'read committed'")
                self._raw.execute("SET client_encoding TO 'UTF8'")

    def ready(self) -> None:
        """Have a connection. The caller has the `turn`."""
        if self._raw is not None and not self.is_file and self._raw.closed:
            self._drop()
        if self._raw is None:
            self._connect()

    def _drop(self) -> None:
        """Let go of the connection; the next use makes another."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        if self.is_file and self._usual is not None:
            self._usual.close()  # what it was refused would keep the file open, and its log
        self._usual = None
        raw, self._raw = self._raw, None
        if raw is not None:
            self._pooled.close()
            self._engine.dispose()

    def close(self) -> None:
        """Let go of the database, once no other thread uses it; who waits for it finds it closed.

        SQLite's driver does not survive it that a connection is closed while it runs a statement.
        """
        self._closed = True
        with failing("could not be closed"), self.lock, self._glancing:
            self._drop()

    def insist_open(self) -> None:
        """LedgerError where it was closed."""
        if self._closed:
            raise LedgerError(_CLOSED)

    def turn(self) -> Any:
        """Keep every other thread from using the connection, as a context.

        It is the lock itself: no interrupt comes between having it and giving it back.
        """
        self.insist_open()
        self.outside()
        return self.lock

    def outside(self) -> None:
        """LedgerError where this thread is in the middle of a transaction."""
        if self.lock._is_owned():  # noqa: SLF001 - what a condition asks, too
            raise LedgerError("the ledger is in the middle of a transaction; nothing was changed")

    def writing(self) -> _Transaction:
        """One transaction with no other writer beside it; a cursor. It is the caller's to commit.

        What was not committed when the block ends is taken back. The caller has the `turn`.
        """
        return self._transaction

    def begin(self) -> Any:
        """Wait until no other writes; a cursor."""
        self.ready()
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
                with suppress(*failures()):
                    self._collect()
            if not self._committed:
                self._raw.rollback()
        finally:
            cursor.close()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """One consistent view of all tables; a cursor. The caller has the `turn`."""
        self.ready()
        cursor = self._raw.cursor()
        self._committed = False
        try:
            how = "" if self.is_file else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
            cursor.execute(f"BEGIN {how}")
            yield cursor
            if not self.is_file:  # the driver forgets what is prepared when it takes one back
                self._raw.commit()
        finally:
            self._end(cursor)

    def commit(self) -> None:
        """Commit, and wait for the disk."""
        self._same()
        if self.is_file:
            self._cursor.execute("COMMIT")
        else:
            cursor = self._raw.cursor()
            cursor.execute("COMMIT", prepare=False)
            self._collect()
            if cursor.statusmessage != "COMMIT":
                raise LedgerError("the database took the transaction back; nothing was sent")
        self._committed = True

    def _same(self) -> None:
        if self._forks != forks.count:
            raise LedgerError("a transaction belongs to the process that began it")

    def wrote(self, name: str, placed: Placed, values: Sequence[Any]) -> bool:
        """Run one statement as a transaction of a file, which is on the disk when it returns.

        Whether it was written: not if the database refused it. The caller has the `turn`.

        Args:
            name: of what is done, for the steps.
            placed: the statement, one of `discreet.curator.ledger.usual`.
            values: by place.
        """
        if self._usual is None:
            self.prepare()
        self._same()
        passed("before the commit of", (name,))
        try:
            self._usual.execute(self.texts[placed], values)
        except unwritten():
            return False
        finally:
            if self._raw.in_transaction:
                self._raw.rollback()
        passed("after the commit of", (name,))
        return True

    def prepare(self) -> None:
        """Have a file ready for the statements of `discreet.curator.ledger.usual`."""
        if self._raw is None:
            self._connect()
        if self._usual is None:
            made = self._raw.cursor()
            for text in TEMPORARY:
                made.execute(text)
            self._usual = made

    def put(self, _name: str, placed: Placed, values: Sequence[Any]) -> bool:
        """Run one of these statements within a transaction that was begun; whether it was done."""
        try:
            self._usual.execute(self.texts[placed], values)
        except unwritten():
            return False
        return True

    def run(self, cursor: Any, statement: Executable, /, **values: Any) -> Any:
        """Run one statement; the cursor, for its rows or the number of rows that it changed."""
        cursor.execute(self.text(statement), values)
        return cursor

    def text(self, statement: Executable) -> str:
        """A statement as it is run, compiled when it is needed first."""
        found = self._statements.get(id(statement))
        if found is None:
            found = self._statements[id(statement)] = Statement(statement, self.dialect)
        return found.text

    def called(self, name: str, call: Call, values: Sequence[Any]) -> bool:
        """Run one call as a transaction of a server, which is on the disk when it returns.

        Whether it was written: not if the function or the database refused it, or if there is no
        such function: the first charge makes them. The caller has the `turn`.

        Args:
            name: of what is done, for the steps.
            call: one of `discreet.curator.ledger.usual_postgres`.
            values: by place.
        """
        self.ready()
        self._same()
        if self._usual is None and call is CHARGE:
            self._usual = calls_of(self._raw)
        if not self._usual:
            return False
        passed("before the commit of", (name,))
        try:
            wrote = self._usual.run(call, values)
        except lost():
            self._usual = None  # the next charge makes them anew
            return False
        except refusals():
            return False
        if wrote:
            passed("after the commit of", (name,))
        return bool(wrote)

    @property
    def is_read(self) -> bool:
        """Whether somebody glances at a file, and the next one waits."""
        return self._glancing.locked()

    def glance(self, statement: Executable, /, **values: Any) -> Sequence[Any]:
        """The rows of one statement that only reads, as of its own moment."""
        if not self.is_file:
            with self.turn():
                self.ready()
                return self.run(self._raw.cursor(), statement, **values).fetchall()  # type: ignore[no-any-return]
        self.outside()
        with self._glancing:
            self.insist_open()
            if self._reader is None:
                self._reader = opened(self.address, "query_only = ON")
            return self.run(self._reader.cursor(), statement, **values).fetchall()  # type: ignore[no-any-return]

    def jot(self, statement: Executable, /, **values: Any) -> None:
        """Change what the log says nothing of, by one statement. The caller has the `turn`."""
        self.ready()
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
            self.ready()
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
        if not self.lock._is_owned():  # noqa: SLF001 - what a condition asks, too
            self.lock.acquire()
            self._glancing.acquire()
            self._let_go = True
            with suppress(LedgerError), failing("could not be closed"):
                self._drop()

    def after_fork(self) -> None:
        """Go on, in the parent and in the child."""
        if self._let_go:  # by this thread: it has the lock in either case
            self._let_go = False
            self._glancing.release()
            self.lock.release()


_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING: dict[int, list[Database]] = {}
"""By the thread that forks: two may do so at once."""


def _before_fork() -> None:
    held = _FORKING[threading.get_ident()] = list(_OPEN)
    for database in held:
        database.before_fork()


def _after_fork() -> None:
    for database in _FORKING.pop(threading.get_ident(), ()):
        database.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


def _numbers(address: str) -> tuple[int, int] | None:
    """Those of a file, as the system has them; None where it is gone."""
    try:
        about = Path(address).stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


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
