"""Databases: really flushed, one writer, and every failure is an error of ours."""

import gc
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import bindparam, select, text
from tests.curator.ledger.harness import UNIT, ask, claim, new_ledger
from tests.curator.ledger.test_faults import at_steps

from discreet.curator.ledger import database as module
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.compiled import Statement
from discreet.curator.ledger.connecting import failing
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError, ParameterError


@pytest.fixture
def database(tmp_path):
    made = Database(str(tmp_path / "d.db"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("synchronous", 2),
        ("journal_mode", "wal"),
        ("secure_delete", 1),
        ("trusted_schema", 0),
        ("foreign_keys", 1),
    ],
)
def test_sqlite_flushes_and_forgets(database, pragma, value):
    assert database._raw.execute(f"PRAGMA {pragma}").fetchone()[0] == value


def test_they_are_set_again_after_a_fork_hook(database):
    """A fork lets go of the connection; the next one has the same settings."""
    database.before_fork()
    assert database._raw is None
    database.after_fork()
    with database.turn(), database.reading() as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_what_is_not_committed_is_taken_back(database):
    with database.turn(), database.writing() as cursor:
        cursor.execute("CREATE TABLE x (a)")
        database.commit()
    with database.turn(), database.writing() as cursor:
        cursor.execute("INSERT INTO x VALUES (1)")
    with database.turn(), database.writing() as cursor:
        cursor.execute("INSERT INTO x VALUES (2)")
        database.commit()
    with database.turn(), database.reading() as cursor:
        assert cursor.execute("SELECT a FROM x").fetchall() == [(2,)]


def test_defining_is_one_transaction(database):
    twice = [text("CREATE TABLE x (a)")] * 2
    with pytest.raises(LedgerError, match="could not be prepared"), database.defining() as on:
        _ = [on.execute(statement) for statement in twice]
    with database.defining() as on:
        on.execute(text("CREATE TABLE x (a)"))


def test_one_thread_at_a_time(database):
    order = []

    def work():
        with database.turn():
            order.append("second")

    with database.turn():
        other = threading.Thread(target=work)
        other.start()
        other.join(timeout=0.05)
        order.append("first")
        with pytest.raises(LedgerError, match="middle of a transaction"), database.turn():
            pass
    other.join(timeout=30)
    assert order == ["first", "second"]


def test_a_closed_database_says_so(database):
    database.close()
    with pytest.raises(LedgerError, match="closed"), database.turn(), database.reading():
        pass


def test_a_statement_is_compiled_once_and_keeps_its_defaults(database):
    statement = select(t.entry.c.hash).where(t.entry.c.seq == bindparam("at")).limit(1)
    with database.defining() as on:
        t.MIGRATIONS[1](on)
    with database.turn(), database.reading() as cursor:
        for at in range(3):
            assert database.run(cursor, statement, at=at).fetchall() == []
    assert len(database._statements) == 1
    assert isinstance(next(iter(database._statements.values())), Statement)


def test_statements_that_are_gone_are_not_mixed_up(database):
    """The cache is by identity; it keeps what it knows alive."""
    with database.defining() as on:
        t.MIGRATIONS[1](on)
    with database.turn(), database.reading() as cursor:
        for number in range(5):
            row = database.run(cursor, select(bindparam("x", number))).fetchone()
            assert row == (number,)
            gc.collect()


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "x").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerError, match=r"could not be opened.*nothing was sent"):
        Database(str(tmp_path / "x"))


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("disk I/O error\nmore"), OverflowError("too large")]
)
def test_failures_are_ledger_errors(error):
    with (
        pytest.raises(LedgerError, match="could not be tested") as caught,
        failing("could not be tested"),
    ):
        raise error
    assert "more" not in str(caught.value)


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), failing("could not be tested"):
        _ = 1 / 0


def test_keys_of_noise_are_gone_when_the_answer_is_stored(place):
    """Not in the file after it was closed. (The write-ahead log may hold it until then.)"""
    with place.new() as ledger:
        noise = [ledger.reserve(claim(f"k{n}")).noise for n in range(20)]
        for number in range(20):
            ledger.store(f"k{number}", "answer")
    whole = Path(place.address).read_bytes()
    assert not any(key in whole for key in noise)
    assert b"answer" in whole


# PostgreSQL


@pytest.mark.parametrize("value", ["off", "local", "remote_write"])
def test_postgres_that_does_not_flush_is_refused(postgres_address, value):
    address = postgres_address()
    with psycopg.connect(address, autocommit=True) as owner:
        own = owner.info.dbname  # of this worker: others go on
        owner.execute(f"ALTER DATABASE {own} SET synchronous_commit = {value}")
        try:
            with pytest.raises(LedgerError, match=f"synchronous_commit = {value}"):
                Database(address)
        finally:
            owner.execute(f"ALTER DATABASE {own} RESET synchronous_commit")
    Database(address).close()


def test_a_server_without_fsync_is_refused(postgres_address, monkeypatch):
    """The setting is the whole server's, so that only its answer is changed here."""
    from sqlalchemy import Connection

    asked = Connection.exec_driver_sql
    lie = lambda self, words: asked(self, "SELECT 'off'" if words == "SHOW fsync" else words)
    monkeypatch.setattr(Connection, "exec_driver_sql", lie)
    with pytest.raises(LedgerError, match="fsync = off"):
        Database(postgres_address())


@pytest.fixture
def postgres(postgres_address):
    made = Database(postgres_address())
    with made.defining() as on:
        t.MIGRATIONS[1](on)
        on.execute(text("CREATE TABLE x (a INT PRIMARY KEY)"))
    yield made
    made.close()


def write(database, *statements, end=Database.commit):
    with failing("could not be tested"), database.turn(), database.writing() as cursor:
        for statement in statements:
            cursor.execute(statement)
        end(database)


def test_postgres_failures_come_out_at_the_end(postgres):
    """Statements go out without waiting; one that failed lets nothing be committed."""
    one, wrong, two = "INSERT INTO x VALUES (1)", "SELECT 1 / 0", "INSERT INTO x VALUES (2)"
    for end in (Database.commit, lambda _: None):
        for statements in ((one, wrong, two), (wrong,), (one, one)):
            with pytest.raises(LedgerError, match=r"division by zero|duplicate key"):
                write(postgres, *statements, end=end)
    with pytest.raises(ZeroDivisionError):  # what failed first is what is said
        write(postgres, one, wrong, end=lambda _: 1 / 0)
    write(postgres, one, end=lambda _: None)
    write(postgres, two)
    with postgres.turn(), postgres.reading() as cursor:
        assert cursor.execute("SELECT a FROM x").fetchall() == [(2,)]


def test_a_commit_that_the_server_takes_back_is_no_commit(postgres):
    """A transaction that has failed is ended by COMMIT without an error, and nothing is kept."""

    def commit(database):
        with suppress(psycopg.Error):
            database._collect()
        database._pipeline = database._raw.pipeline()
        database._pipeline.__enter__()
        database.commit()

    with pytest.raises(LedgerError, match="took the transaction back"):
        write(postgres, "INSERT INTO x VALUES (1)", "SELECT 1 / 0", end=commit)
    write(postgres, "INSERT INTO x VALUES (1)")


def test_postgres_with_another_default_isolation(postgres_places):
    """The ledger's transactions are its own, whatever the server's default is."""
    place = postgres_places()
    with psycopg.connect(place.address, autocommit=True) as owner:
        own = owner.info.dbname
        owner.execute(f"ALTER DATABASE {own} SET default_transaction_isolation = 'serializable'")
        try:
            with place.new() as one, place.open() as two:
                threads = [
                    threading.Thread(target=_asks, args=(ledger, place, name))
                    for ledger, name in ((one, "a"), (two, "b"))
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(timeout=60)
                assert one.accounts["staff"].spent.main == 20 * UNIT
        finally:
            owner.execute(f"ALTER DATABASE {own} RESET default_transaction_isolation")


def _asks(ledger, place, name):
    for number in range(10):
        ask(ledger, place, claim(f"{name}{number}"))


def test_postgres_that_is_not_there():
    with pytest.raises(LedgerError, match="could not be opened"):
        Database("postgresql://127.0.0.1:1/nothing?connect_timeout=1")
    with pytest.raises(ParameterError, match="postgresql://host/database"):
        Database("postgresql://host:port/x")


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_leaves_no_transaction_open(place, begun):
    """Otherwise nobody could write any more, in this process or another."""
    with place.new() as ledger, place.open() as other:
        ask(ledger, place, claim("first"))
        ask(ledger, place, claim("second"))
        usual = ledger._database._usual

        class Cursor:
            def execute(self, text, *values):
                usual.execute("BEGIN IMMEDIATE" if begun else text, *(() if begun else values))
                raise KeyboardInterrupt

        ledger._database._usual = Cursor()
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(claim("a"))
        ledger._database._usual = usual
        assert not ledger._database._raw.in_transaction
        ask(other, place, claim("a"))
        ask(ledger, place, claim("b"))


def test_closing_waits_for_who_writes(place):
    """The driver does not survive it otherwise; nobody who waits for a turn opens it again."""
    ledger, late = place.new(), []

    def wait():
        with suppress(LedgerError), ledger._reading():
            pass

    def close(step):
        if step == "before the commit of reserve":
            late[:] = [threading.Thread(target=one) for one in (wait, ledger.close)]
            for one in late:
                one.start()
                one.join(timeout=0.05)
                assert one.is_alive()

    with at_steps(close):
        assert ledger.reserve(claim("a")).seq
    for one in late:
        one.join(timeout=30)
        assert not one.is_alive()
    assert ledger._database._raw is None
    with pytest.raises(LedgerError, match="closed"):
        ledger.reserve(claim("b"))
    with place.open() as again:
        assert [one.key for one in again.pending] == ["a"]


def test_a_ledger_stays_where_it_was_opened(tmp_path, monkeypatch):
    """Also for the connections that are made later, from another folder."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    new_ledger("ledger.db").close()
    with Ledger("ledger.db") as ledger:
        monkeypatch.chdir(tmp_path / "two")
        assert ledger.policy == ("policy-1", 1)
        ledger._database.before_fork()
        ledger._database.after_fork()
        ledger._process = 0
        ledger.reserve(claim("a"))
        assert ledger.head_path.is_file()
    assert not list(Path().iterdir())


def test_two_threads_that_fork_at_once(place):
    """Each lets go of what it holds itself: both end, and the ledger goes on."""
    with place.new() as ledger:
        gc.collect()  # no other is open
        with ledger._database.turn():
            forks = [threading.Thread(target=_forked, daemon=True) for _ in range(2)]
            for one in forks:
                one.start()
                one.join(timeout=0.05)
        for one in forks:
            one.join(timeout=30)
            assert not one.is_alive()
        asked = threading.Thread(target=_asks, args=(ledger, place, "a"), daemon=True)
        asked.start()
        asked.join(timeout=30)
        assert ledger.accounts["staff"].spent.main == 10 * UNIT


def _forked():
    """What happens around a fork."""
    module._before_fork()
    module._after_fork()
