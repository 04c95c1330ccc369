"""Who dies while a ledger is made leaves nothing that keeps it from being made again."""

import fcntl
import os
import sqlite3
from pathlib import Path

import pytest
from tests.curator.ledger.harness import ask, claim, registration

from discreet import private
from discreet.curator.ledger import ledger as module
from discreet.curator.ledger import tables
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import opened_or_made, register
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError


def died(place, where, name):
    """Make a ledger in a process that dies on the way."""
    child = os.fork()
    if not child:  # pragma: no cover - it dies
        setattr(where, name, lambda *_, **__: os._exit(9))
        place.new()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert Path(place.head).exists()


@pytest.mark.parametrize(
    ("where", "name"),
    [(Anchor, "__init__"), (module, "_make"), (tables, "make"), (tables, "_index_the_same_rows")],
    ids=["head", "nothing", "file", "database"],
)
def test_a_ledger_is_made_where_somebody_died_who_made_it(either, where, name):
    died(either, where, name)
    with opened_or_made(either.address, Path(either.head)) as ledger:
        register(ledger, registration())
        ask(ledger, either, claim("a"))
        verified(ledger)


def test_a_file_that_was_made_and_no_more_is_made_again(place, monkeypatch):
    monkeypatch.setattr(private, "make", lambda path: (Path(path).touch(), os._exit(9)))
    died(place, private, "nothing")
    assert Path(place.address).exists()
    monkeypatch.undo()
    with place.new() as ledger:
        ask(ledger, place, claim("a"))


def test_a_finished_ledger_that_nobody_opened_is_opened(either):
    died(either, Ledger, "__init__")
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
    died(place, module, "_make")
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
    died(place, module, "_make")
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
