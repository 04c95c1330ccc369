"""Connections to the database of a ledger: how they are made, and what only reads."""

import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from discreet.curator.ledger.connecting import is_out_of_reach, opened, postgres
from discreet.curator.ledger.database import Database
from discreet.errors import LedgerError

ROWS = text("SELECT count(*) FROM t")


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "x") as made:
        made.execute("CREATE TABLE t (n)")
    made.close()
    found = Database(str(tmp_path / "x"))
    yield found
    found.close()


def test_a_glance_waits_for_no_writer_and_sees_what_is_committed(database):
    with database.turn(), database.writing() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(database.glance(ROWS)))
        thread.start()
        thread.join(30)  # it would wait for this thread's turn for ever
        assert seen == [(0,)]
        with pytest.raises(LedgerError, match="in the middle of a transaction"):
            database.glance(ROWS)
        database.commit()
    assert database.glance(ROWS) == [(1,)]


def test_a_glance_changes_nothing(database):
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        database.glance(text("INSERT INTO t VALUES (1)"))


def test_what_is_closed_is_not_looked_at(database):
    database.close()
    with pytest.raises(LedgerError, match="was closed"):
        database.glance(ROWS)


def test_a_connection_that_cannot_be_prepared_is_closed(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        opened(str(tmp_path / "x"), "this = is = no = pragma")


def caused(by):
    """A LedgerError that something has caused."""
    error = LedgerError("x")
    error.__cause__ = by
    return error


def refused(address, statement):
    """What SQLite says."""

    def run():
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute(statement)

    with pytest.raises(sqlite3.Error) as found:
        run()
    return found.value


def test_what_cannot_be_opened_is_not_taken_for_a_change(tmp_path):
    file = tmp_path / "x.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE t (a)")
    nowhere = refused(tmp_path / "nowhere" / "x.db", "SELECT 1")
    written = refused(f"file:{file}?mode=ro", "INSERT INTO t VALUES (1)")
    for reason in (nowhere, written, PermissionError(13, "no"), DBAPIError("x", {}, nowhere)):
        assert is_out_of_reach(caused(reason))
        assert is_out_of_reach(caused(caused(reason)))
    (tmp_path / "y.db").write_text("this is no database, and never was one")
    table = refused(file, "SELECT * FROM gone")
    for reason in (None, table, refused(tmp_path / "y.db", "SELECT * FROM t"), ValueError("x")):
        assert not is_out_of_reach(caused(reason))


def test_a_server_that_does_not_answer_is_out_of_reach():
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="could not be opened") as found:
        postgres("postgresql://127.0.0.1:1/nothing?connect_timeout=1")
    assert is_out_of_reach(found.value)
