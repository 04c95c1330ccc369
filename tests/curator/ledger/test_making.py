"""The database of a new ledger: nobody else can read it, and it is made as a whole or not."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.curator.ledger import making
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.making import is_empty, is_postgres, make
from discreet.errors import LedgerError

UID = "u" * 32


def clock():
    return datetime(2026, 1, 1, tzinfo=UTC)


def test_an_address_says_where_a_ledger_is():
    assert is_postgres("postgresql://host/db")
    assert is_postgres("postgres://host/db")
    assert not is_postgres("postgresql.ledger")


def test_what_is_made_is_there_and_private(tmp_path):
    path = tmp_path / "x.ledger"
    assert is_empty(str(path))
    make(str(path), UID, clock)
    assert not is_empty(str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT seq, kind FROM discreet_entry").fetchall()
    database.close()
    assert rows == [(1, "create")]


def test_what_could_not_be_made_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise LedgerError("no")

    monkeypatch.setattr(t, "make", fails)
    with pytest.raises(LedgerError, match="no"):
        making.make(str(tmp_path / "x.ledger"), UID, clock)
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_made_is_said(tmp_path):
    with pytest.raises(LedgerError, match=r"no ledger can be made here: x\.ledger cannot be made"):
        make(str(tmp_path / "nowhere" / "x.ledger"), UID, clock)
    assert not Path(tmp_path / "nowhere").exists()
