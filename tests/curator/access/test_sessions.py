"""Signing in on the page: passwords, sessions, what ends them, and what a guesser sees."""

from datetime import timedelta

import pytest
from tests.curator.access.people import SECRET, START, notes, rows, told

from discreet.curator.access import Access
from discreet.curator.access.passwords import Passwords
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError

WORD = "the first of alice"


def test_signing_in_and_out(access, ledger):
    token, session = access.login("alice", WORD)
    assert session.credential.person.name == "alice"
    assert session.credential.key is None
    assert session.credential.datasets == ("a", "b")
    assert session.expires == START + timedelta(hours=12)
    assert access.session(token) == session
    access.logout(token)
    assert access.session(token) is None
    assert rows(ledger, "session") == []
    access.logout(token)  # again: nothing happens
    assert [one["what"] for one in told(ledger) if "what" in one] == ["login", "logout"]
    verified(ledger)


def test_each_login_has_a_token_of_its_own(access):
    (one, first), (other, second) = (access.login("alice", WORD) for _ in range(2))
    assert one != other
    assert len(one) == 64
    assert first.csrf != second.csrf
    access.logout(one)
    assert access.session(one) is None
    assert access.session(other) == second


def test_a_token_that_differs_is_nobodys(access):
    token, _ = access.login("alice", WORD)
    for place in range(64):
        changed = token[:place] + ("0" if token[place] != "0" else "1") + token[place + 1 :]
        assert access.session(changed) is None
    for wrong in ("", token[:-1], token + "0", token.upper(), token + "\n", "é" * 64, "x\x00"):
        assert access.session(wrong) is None
        access.logout(wrong)
    assert access.session(token) is not None


def test_of_a_session_only_a_keyed_hash_is_stored(access, ledger):
    token, session = access.login("alice", WORD)
    (row,) = rows(ledger, "session")
    assert token not in str(row)
    assert session.csrf not in str(row)
    assert session.csrf != token
    assert row[0] not in (session.csrf, token)


def test_the_csrf_token_belongs_to_the_session_at_every_server(access, ledger, clock):
    token, session = access.login("alice", WORD)
    other, second = access.login("alice", WORD)
    with Ledger(ledger.address) as elsewhere:
        there = Access(elsewhere, SECRET, clock=clock)
        assert there.session(token).csrf == session.csrf
        assert there.session(other).csrf == second.csrf != session.csrf


def test_a_session_ends_after_twelve_hours_however_busy(access, clock):
    token, _ = access.login("alice", WORD)
    for _ in range(23):
        clock.move(minutes=30)
        assert access.session(token) is not None
    clock.move(minutes=29, seconds=59)
    assert access.session(token) is not None
    clock.move(seconds=1)
    assert access.session(token) is None


def test_a_session_ends_after_an_hour_without_use(access, clock):
    token, _ = access.login("alice", WORD)
    clock.move(minutes=59, seconds=59)
    assert access.session(token) is not None
    clock.move(minutes=59, seconds=59)
    assert access.session(token) is not None
    clock.move(minutes=60)
    assert access.session(token) is None


def test_a_use_is_written_once_a_minute(access, ledger, clock, monkeypatch):
    token, _ = access.login("alice", WORD)
    jotted = []
    jot, head = ledger.jot, ledger.head
    monkeypatch.setattr(ledger, "jot", lambda *a, **k: jotted.append(1) or jot(*a, **k))
    for _ in range(121):
        assert access.session(token) is not None
        clock.move(seconds=1)
    assert len(jotted) == 2
    assert ledger.head == head

    def fails(*_, **__):
        raise LedgerError("full")

    monkeypatch.setattr(ledger, "jot", fails)
    clock.move(minutes=5)
    assert access.session(token) is not None


def test_old_sessions_are_swept_away(access, ledger, clock):
    access.login("alice", WORD)
    clock.move(minutes=30)
    kept, _ = access.login("alice", WORD)
    clock.move(minutes=30)
    access.login("olga", "the first of olga")
    assert len(rows(ledger, "session")) == 2
    assert access.session(kept) is not None


def test_a_new_password_ends_all_sessions_of_that_person(access):
    mine = [access.login("alice", WORD)[0] for _ in range(3)]
    other, _ = access.login("olga", "the first of olga")
    key = access.make_key("alice", by="x")
    access.set_password("alice", "the second of alice", by="alice")
    assert [access.session(token) for token in mine] == [None] * 3
    assert access.session(other) is not None
    assert access.by_key(key) is not None
    assert access.login("alice", WORD) is None
    assert access.login("alice", "the second of alice") is not None


def test_shutting_out_ends_all_sessions_of_that_person(access, ledger):
    mine, other = access.login("alice", WORD)[0], access.login("olga", "the first of olga")[0]
    access.disable("alice", by="x")
    assert access.session(mine) is None
    assert access.session(other) is not None
    assert access.login("alice", WORD) is None
    assert len(rows(ledger, "session")) == 1


def test_shutting_out_is_enough_even_if_a_session_stays(access, ledger):
    token, _ = access.login("alice", WORD)
    ledger._database._raw.execute("UPDATE discreet_person SET disabled = 1")
    assert access.session(token) is None


@pytest.mark.parametrize("change", ["set_password", "disable"])
def test_who_is_shut_out_while_the_password_is_checked_is_not_let_in(access, monkeypatch, change):
    fits = Passwords.fits

    def meanwhile(self, stored, password):
        found = fits(self, stored, password)
        more = ("the second of alice",) if change == "set_password" else ()
        getattr(access, change)("alice", *more, by="x")
        return found

    monkeypatch.setattr(Passwords, "fits", meanwhile)
    assert access.login("alice", WORD) is None


def test_a_session_cannot_be_moved_to_another_person(access, ledger):
    token, _ = access.login("alice", WORD)
    run = ledger._database._raw.execute
    run("UPDATE discreet_session SET person = 'olga'")
    assert access.session(token) is None
    run("UPDATE discreet_session SET person = 'alice'")
    assert access.session(token) is not None
    run("UPDATE discreet_session SET created = '2026-05-04T13:00:00+00:00'")
    assert access.session(token) is None


# guessing


def test_all_failures_look_and_cost_the_same(access, ledger, clock, monkeypatch):
    """One check of a password at the same cost, one look at the table, the same None."""
    access.add("gone", "analyst", password="the first of gone", by="x")
    access.disable("gone", by="x")
    access.add("late", "analyst", password="the first of late", expires=START.date(), by="x")
    clock.move(days=1)
    checked, looked = [], []
    fits, glance = Passwords.fits, ledger.glance

    def counted(self, stored, password):
        checked.append((stored or self._nobody).rsplit("$", 2)[0])
        return fits(self, stored, password)

    monkeypatch.setattr(Passwords, "fits", counted)
    monkeypatch.setattr(ledger, "glance", lambda *a, **k: looked.append(1) or glance(*a, **k))
    before = len(told(ledger))
    tries = [
        ("alice", "not her password"), ("alice", ""), ("nobody", WORD),
        ("gone", "the first of gone"), ("late", "the first of late"), ("rex", ""), ("rex", "None"),
        ("", ""), ("a\x00b", WORD),
        ("ALICE", WORD), ("alice ", WORD), ("x" * 5000, WORD), ("alice", "é" * 5000),
        ("alice", "\ud800"), ("alice", WORD + "\x00"), ("alice", WORD[:-1]),
    ]  # fmt: skip
    for name, password in tries:
        assert access.login(name, password) is None
    assert len(checked) == len(looked) == len(tries)
    assert set(checked) == {"$argon2id$v=19$m=8,t=1,p=1"}
    tried = {name if name.isalnum() and len(name) < 60 else "" for name, _ in tries}
    assert len(told(ledger)) - before == len(tried), "each name was told once"
    assert rows(ledger, "session") == []


def test_nobodys_password_is_never_right(access):
    """Not even if the work were done on a hash that somebody knows."""
    passwords = access._passwords
    passwords._nobody = passwords.hash("known to all")
    assert passwords.fits(None, "known to all") is False
    assert access.login("nobody", "known to all") is None


def test_failures_are_told_once_a_minute_with_their_number(access, ledger, clock):
    for _ in range(5):
        access.login("alice", "wrong")
        access.login("nobody", "wrong")
    clock.move(seconds=59)
    access.login("alice", "wrong")
    assert [(one["who"], one["more"]) for one in notes(ledger, "login failed")] == [
        ("alice", {"times": 1}), ("(unknown)", {"times": 1}),
    ]  # fmt: skip
    clock.move(seconds=1)
    access.login("alice", "wrong")
    assert notes(ledger, "login failed")[-1]["more"] == {"times": 6}
    access.login("alice", "wrong")
    access.login("alice", WORD)
    assert notes(ledger, "login")[-1]["more"] == {"failed_before": 1}
    access.login("alice", WORD)
    assert notes(ledger, "login")[-1]["more"] == {}


def test_a_name_that_does_not_exist_is_not_written_down(access, ledger):
    """It may be a password, typed into the wrong field."""
    access.login("hunter2hunter2", "x")
    assert "hunter2" not in str(told(ledger))
