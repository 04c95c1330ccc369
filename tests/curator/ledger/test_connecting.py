"""Connections to the database of a ledger: how they are made, and what only reads."""

import sqlite3
import threading

import pytest
from sqlalchemy import text

from discreet.curator.ledger.connecting import opened
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
