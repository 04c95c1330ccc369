"""Statements that are stopped, interrupted and watched."""

import io
import os
import signal
import sys
import threading
import time

import duckdb
import pytest
from tests.engines.test_duckdb import counts

from discreet.engines import running
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError
from discreet.query.schema import Keys

LONG = "SELECT count(*) FROM range(10000000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3"


@pytest.fixture
def connection():
    with duckdb.connect() as made:
        yield made


@pytest.fixture
def heard():
    """Interrupts are heard, also where a shell in the background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_stops_the_statement(connection):
    connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(400000)").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine._rows("SELECT count(*) FROM t a, t b WHERE (a.x * b.x) % 7 = 3")
    assert time.monotonic() - start < 30
    engine.ping()
    assert counts(engine, "x", Keys([1, 2])) == {1: 1, 2: 1, None: 399_998}


def test_progress_is_shown_where_it_is_asked_for(connection, monkeypatch, capsys):
    """The bar itself is drawn on terminals only."""
    connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(3000000)").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    seen = []

    class Bar:
        def __init__(self, *, shown):
            seen.append(shown)

        def __enter__(self):
            return seen.append

        def __exit__(self, *_):
            pass

    text = "SELECT count(*) FROM t a JOIN t b ON hash(a.x) % 1000 = b.x % 1000 WHERE a.x < 3000"
    with monkeypatch.context() as patched:
        patched.setattr(running, "bar", Bar)
        patched.setattr(running, "PAUSE", 0.001)
        engine._rows(text, progress=True)
    assert seen[0] is True
    assert any(isinstance(p, float) for p in seen[1:])
    engine._rows("SELECT 1", progress=True)
    assert capsys.readouterr() == ("", "")


def test_the_bar_on_a_terminal(connection, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(running, "PAUSE", 0.001)
    connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(3000000)").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    engine._rows("SELECT count(*) FROM t a JOIN t b USING (x)", progress=True)
    assert "DuckDB is counting" in screen.getvalue()


@pytest.mark.parametrize("beside", [False, True], ids=["main thread", "another thread"])
def test_what_takes_too_long_is_stopped(connection, beside):
    caught = []

    def ask():
        try:
            running.fetched(connection, LONG, seconds=0.05)
        except EngineError as error:
            caught.append(error)

    if beside:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(60)
    else:
        ask()
    assert isinstance(caught[0].__cause__, TimeoutError)
    assert running.fetched(connection, "SELECT 1") == [(1,)]


def test_another_failure_in_time_is_itself(connection):
    caught = []

    def ask():
        try:
            running.fetched(connection, "SELECT nothing", seconds=60)
        except duckdb.Error as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(60)
    assert len(caught) == 1
