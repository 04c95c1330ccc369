"""Who dies while a ledger is made leaves nothing that keeps it from being made again."""

import fcntl
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.curator.ledger.harness import ask, claim, registration

from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import opened_or_made, register
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError

_DIES = """
import importlib, os, sys
from pathlib import Path
from discreet.curator.ledger.ledger import Ledger
address, head, module, owner, name, touched = sys.argv[1:]
where = importlib.import_module(f"discreet.{module}")
where = getattr(where, owner) if owner else where
def die(path, *_, **__):
    if touched:
        Path(path).touch()
    os._exit(9)
setattr(where, name, die)
Ledger.create(address, head=head)
"""
LEDGER = "curator.ledger.ledger"


def died(place, module, name, owner="", *, touched=""):
    """Make a ledger in a process that dies on the way, where it would call something."""
    given = [place.address, place.head, module, owner, name, touched]
    assert subprocess.run([sys.executable, "-c", _DIES, *given], check=False).returncode == 9
    assert Path(place.head).exists()


@pytest.mark.parametrize(
    ("module", "name", "owner"),
    [
        ("curator.ledger.anchor", "__init__", "Anchor"),
        (LEDGER, "make", ""),
        ("curator.ledger.tables", "make", ""),
        ("curator.ledger.tables", "_index_the_same_rows", ""),
    ],
    ids=["head", "nothing", "file", "database"],
)
def test_a_ledger_is_made_where_somebody_died_who_made_it(either, module, name, owner):
    died(either, module, name, owner)
    with opened_or_made(either.address, Path(either.head)) as ledger:
        register(ledger, registration())
        ask(ledger, either, claim("a"))
        verified(ledger)


def test_a_file_that_was_made_and_no_more_is_made_again(place):
    died(place, "private", "make", touched="yes")
    assert Path(place.address).stat().st_size == 0
    with place.new() as ledger:
        ask(ledger, place, claim("a"))


def test_a_finished_ledger_that_nobody_opened_is_opened(either):
    died(either, LEDGER, "__init__", "Ledger")
    with pytest.raises(LedgerError, match=r"opened, not made anew|head exists"):
        Ledger.create(either.address, head=either.head)
    opened_or_made(either.address, Path(either.head)).close()


def test_what_was_ever_opened_is_not_made_again(place):
    """Its head is known: somebody took the database away."""
    place.new().close()
    Path(place.address).unlink()
    with pytest.raises(LedgerError, match="moved or deleted"):
        place.new()
    Path(place.address).touch()
    with pytest.raises(LedgerError, match="it is opened, not made anew"):
        place.new()


def test_tables_of_others_stay(place):
    died(place, LEDGER, "make")
    with sqlite3.connect(place.address) as others:
        others.execute("CREATE TABLE t AS SELECT 1 AS a")
    others.close()
    with pytest.raises(LedgerError, match="exists; it is opened"):
        place.new()
    Path(place.address).write_text("no database")
    with pytest.raises(LedgerError, match="exists; it is opened"):
        place.new()
    assert Path(place.head).exists()


def test_who_is_making_one_is_left_alone(place):
    died(place, LEDGER, "make")
    with Path(place.head).open("rb+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="head file head exists"):
            place.new()


def test_who_was_taken_for_dead_makes_nothing(place, monkeypatch):
    def replaced(*given):
        made = create(*given)
        Path(place.head).unlink()
        Path(place.head).touch()
        return made

    create = Anchor.create
    monkeypatch.setattr(Anchor, "create", replaced)
    with pytest.raises(LedgerError, match="somebody else makes this ledger"):
        place.new()
    assert not Path(place.address).exists()
    assert Path(place.head).exists(), "it is another's"
