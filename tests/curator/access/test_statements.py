"""A row that was changed so that it cannot be read lets nobody in."""

import pytest

from discreet.curator.access.statements import scope_of, time_of
from discreet.errors import LedgerError

WORD = "the first of alice"


@pytest.mark.parametrize(
    "change",
    [
        "discreet_person SET datasets = 'a'",
        "discreet_person SET datasets = '{}'",
        "discreet_person SET datasets = x'00'",
        "discreet_person SET expires = 'never'",
        "discreet_person SET expires = 7",
        "discreet_key SET datasets = '7'",
        "discreet_key SET expires = 'never'",
        "discreet_key SET expires = '2030-01-01T00:00:00'",
        "discreet_key SET last_used = 'now'",
        "discreet_key SET expires = 7",
    ],
)
def test_a_row_that_cannot_be_read(access, ledger, change):
    key = access.make_key("alice", by="x")
    ledger._database._raw.execute(f"UPDATE {change}")
    with pytest.raises(LedgerError, match="it was changed"):
        access.by_key(key)


@pytest.mark.parametrize("change", ["created = 'x'", "used = 'x'", "used = x'00'"])
def test_a_session_that_cannot_be_read(access, ledger, change):
    token, _ = access.login("alice", WORD)
    ledger._database._raw.execute(f"UPDATE discreet_session SET {change}")
    with pytest.raises(LedgerError, match="it was changed"):
        access.session(token)


def test_the_database_refuses_an_unknown_role(access, ledger):
    import sqlite3

    for change in ("role = 'admin'", "disabled = 2", "disabled = NULL", "role = NULL"):
        with pytest.raises(sqlite3.IntegrityError):
            ledger._database._raw.execute(f"UPDATE discreet_person SET {change}")
    ledger._database._raw.execute("PRAGMA ignore_check_constraints = ON")
    key = access.make_key("alice", by="x")
    ledger._database._raw.execute("UPDATE discreet_person SET role = 'admin'")
    with pytest.raises(LedgerError, match="it was changed"):
        access.by_key(key)


def test_a_hash_that_was_changed_to_anything_fits_nothing(access, ledger):
    key = access.make_key("alice", by="x")
    for change in ("'é'", "''", "x'00'", "7"):
        ledger._database._raw.execute(f"UPDATE discreet_key SET mac = {change}")
        assert access.by_key(key) is None
    for change in ("'é'", "''"):
        ledger._database._raw.execute(f"UPDATE discreet_person SET password = {change}")
        assert access.login("alice", WORD) is None


def test_what_is_read():
    assert scope_of(None) is None
    assert scope_of('["a","b"]') == ("a", "b")
    assert time_of("2026-01-01T00:00:00+00:00").year == 2026
