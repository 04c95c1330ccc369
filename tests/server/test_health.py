"""Whether a server is ready: not where its ledger cannot be used."""

import sqlite3
from contextlib import suppress

import pytest

from discreet.curator.curator import Curator
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError
from discreet.server import health
from discreet.server.health import Health


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Book:
    """A ledger that counts what is jotted down, and can be full."""

    def __init__(self):
        self.jotted, self.full = 0, False

    def jot(self, *_, **__):
        self.jotted += 1
        if self.full:
            raise LedgerError("full")


@pytest.fixture
def clock():
    return Clock()


def failed(cause):
    error = LedgerError("the ledger could not be written; nothing was sent")
    error.__cause__ = cause
    return error


def test_it_is_tried_once_a_second_at_most(clock):
    book = Book()
    known = Health(book, clock)
    for _ in range(1000):
        assert known.is_good()
        clock.now += 0.01
    assert book.jotted <= 2 * 11


def test_a_full_ledger_is_told_once_and_found_well_again(clock):
    book = Book()
    known = Health(book, clock)
    assert known.is_good()
    book.full = True
    clock.now += 2
    with pytest.raises(LedgerError):
        known.is_good()
    for _ in range(3):
        assert not known.is_good()
        clock.now += 2
    book.full = False
    assert known.is_good()


@pytest.mark.parametrize("fault", [LedgerError("another policy"), OSError(2, "no file")], ids=repr)
def test_a_policy_that_is_not_followed_is_looked_at_once_a_second_and_told_once(clock, fault):
    looked = []

    def follows():
        looked.append(clock.now)
        raise fault

    book = Book()
    known = Health(book, clock, follows=follows)
    with pytest.raises(type(fault)):
        known.is_good()
    for _ in range(1000):
        assert not known.is_good()
        clock.now += 0.01
    assert len(looked) <= 11
    assert book.jotted == 0


def test_who_asks_while_it_is_tried_hears_what_was_last_found(clock):
    known = Health(Book(), clock)
    with known._lock:
        assert known.is_good()


@pytest.mark.parametrize(
    "cause", [sqlite3.OperationalError("disk full"), OSError(28, "full")], ids=["database", "file"]
)
def test_a_question_that_could_not_be_written_counts_for_a_while(clock, cause):
    known = Health(Book(), clock)
    known.noticed(failed(cause))
    assert not known.is_good()
    clock.now += 4.9
    assert not known.is_good()
    clock.now += 0.2
    assert known.is_good()


@pytest.mark.parametrize(
    "fault",
    [failed(UnicodeError("a letter")), failed(None), ZeroDivisionError(), OSError(28, "full")],
    ids=repr,
)
def test_what_an_asker_may_bring_about_does_not_count(clock, fault):
    known = Health(Book(), clock)
    known.noticed(fault)
    assert known.is_good()


def test_a_server_whose_ledger_is_full_is_not_ready(server, monkeypatch):
    monkeypatch.setattr(health, "_AGAIN", 0.0)
    monkeypatch.setattr(health, "_FAILED", 0.0)
    assert server.get("/health/ready", who=None).status == 200
    ledger = server.service.ledger
    raw = ledger._database._raw
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {pages}")
    words = {"person": "", "created": "1970", "used": "1970", "seal": " " * 3000}
    with suppress(LedgerError):  # what is free is used up
        for number in range(1000):
            ledger.jot(t.session.insert(), mac=f"full {number}", **words)
    assert server.ask().status == 503
    before = ledger.head
    told = [server.get("/health/ready", who=None) for _ in range(3)]
    assert [(one.status, one.json) for one in told] == [(503, {"ready": False})] * 3
    assert server.get("/health/live", who=None).status == 200
    faults = server.get("/api/faults", who="olga").json["faults"]
    assert sum("could not be written" in one for one in faults) == 2  # the question, and the trial
    raw.execute(f"PRAGMA max_page_count = {pages + 1000}")
    assert server.get("/health/ready", who=None).status == 200
    assert ledger.head == before


def test_a_question_that_failed_makes_it_unready(server, monkeypatch):
    def full(*_, **__):
        raise failed(sqlite3.OperationalError("database or disk is full"))

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "reserving", full)
        assert server.ask().status == 503
    assert server.get("/health/ready", who=None).status == 503
    monkeypatch.setattr(health, "_FAILED", 0.0)
    assert server.get("/health/ready", who=None).status == 200


def test_strangers_do_not_fill_the_owner_s_file(server, folder, monkeypatch):
    """The policy file is changed, and not registered in this form."""
    monkeypatch.setattr(health, "_AGAIN", 0.0)
    policy = folder / "policy.toml"
    before = policy.read_text()
    policy.write_text(before.replace("epsilon = 3", "epsilon = 2.5"))
    Curator.register(policy)
    policy.write_text(before.replace("epsilon = 3", "epsilon = 2"))
    for _ in range(20):
        assert server.get("/health/ready", who=None).status == 503
    policy.write_text(before.replace("epsilon = 3", "epsilon = 2.5"))
    assert server.get("/health/ready", who=None).status == 200
    faults = server.get("/api/faults", who="olga").json["faults"]
    assert sum("another version of this policy" in one for one in faults) == 1
