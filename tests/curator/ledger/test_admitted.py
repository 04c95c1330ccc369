"""Who may sign in, in either database: the log rebuilds it, and every change of it is found."""

import shutil
import threading
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, text
from tests.curator.access.people import OTHER, SECRET, Clock, cheapen, rows, told
from tests.curator.ledger.harness import ask, claim
from tests.curator.ledger.test_verify import forged

from discreet.curator.access import Access
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.admitted import sealed
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.restore import restored
from discreet.curator.ledger.statements import HEAD
from discreet.curator.ledger.verify import rebuilt, verified
from discreet.errors import LedgerError

WORD = "the first of ann"


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    cheapen(monkeypatch)


def admit(ledger):
    """All kinds of acts; the keys that work at the end, by whose they are."""
    access = Access(ledger, SECRET, clock=Clock())
    access.add("ann", "analyst", password=WORD, datasets=["b", "a"], by="x")
    access.add("rex", "auditor", expires=date(2030, 1, 1), by="x")
    access.add("out", "owner", password="the first of out", by="x")
    keys = {"ann": access.make_key("ann", datasets=["a"], label="note", days=7, by="x")}
    keys["rex"] = access.make_key("rex", by="x")
    access.revoke(access.make_key("rex", label="old", by="x").split("_")[1], by="x")
    access.make_key("out", label="outs", by="x")
    access.set_password("ann", "the second of ann", by="ann")
    access.disable("out", by="x")
    access.note("looked", who="rex", where="here")
    access.login("ann", "the second of ann")
    return access, keys


def test_the_whole_story_in_either_database(either):
    with either.new() as ledger:
        _, keys = admit(ledger)
        ask(ledger, either, claim("q"))
        found = verified(ledger)
        assert (found.people, found.keys, found.access) == (3, 4, 13)
        assert found.questions == 1
    with either.open() as ledger:
        again = Access(ledger, SECRET, clock=Clock())
        assert [one.name for one in again.people] == ["ann", "out", "rex"]
        assert again.by_key(keys["ann"]).datasets == ("a",)
        assert again.by_key(keys["rex"]).person.role == "auditor"
        assert again.by_key(keys["rex"][:-1] + ("0" if keys["rex"][-1] != "0" else "1")) is None
        token, session = again.login("ann", "the second of ann")
        assert again.session(token) == session
        assert again.login("ann", WORD) is None
        assert again.login("out", "the first of out") is None
        again.set_password("ann", "the third of ann", by="x")
        assert again.session(token) is None
        token, _ = again.login("ann", "the third of ann")
        again.logout(token)
        assert again.session(token) is None
        again.revoke(keys["ann"].split("_")[1], by="x")
        assert again.by_key(keys["ann"]) is None
        found = again.keys()
        assert {one.label for one in found if one.revoked} == {"note", "old", "outs"}
        assert {one.last_used is None for one in again.keys("rex")} == {True, False}
        again.disable("rex", by="x")
        assert again.by_key(keys["rex"]) is None
        with pytest.raises(LedgerError, match="another secret"):
            Access(ledger, OTHER)
        made = Access.anew(ledger, OTHER, by="x", clock=Clock())
        assert made.login("ann", "the third of ann") is None
        verified(ledger)


def test_two_servers_see_each_other_at_once(either):
    with either.new() as one, either.open() as other:
        first, second = (Access(ledger, SECRET, clock=Clock()) for ledger in (one, other))
        first.add("ann", "analyst", password=WORD, by="x")
        key = second.make_key("ann", by="x")
        token, session = second.login("ann", WORD)
        assert first.by_key(key) == second.by_key(key) is not None
        assert first.session(token) == session
        first.disable("ann", by="x")
        assert second.by_key(key) is None
        assert second.session(token) is None
        verified(one)
        verified(other)


OUTS = "SELECT MAX(password) FROM discreet_person WHERE name = 'out'"
OLD = "SELECT MAX(mac) FROM discreet_key WHERE label = 'old'"
TWIN = """
SELECT '000000000000', person, label, datasets, mac, created, expires, revoked, last_used
FROM discreet_key WHERE label = 'note'
"""
CHANGES = [
    "UPDATE discreet_person SET role = 'owner' WHERE name = 'ann'",
    "UPDATE discreet_person SET datasets = NULL WHERE name = 'ann'",
    'UPDATE discreet_person SET datasets = \'["a","b","c"]\' WHERE name = \'ann\'',
    "UPDATE discreet_person SET datasets = '[\"a\"]' WHERE name = 'rex'",
    "UPDATE discreet_person SET expires = NULL WHERE name = 'rex'",
    "UPDATE discreet_person SET expires = '2031-01-01' WHERE name = 'rex'",
    "UPDATE discreet_person SET password = NULL WHERE name = 'ann'",
    "UPDATE discreet_person SET password = 'x' WHERE name = 'rex'",
    f"UPDATE discreet_person SET password = ({OUTS}) WHERE name = 'ann'",
    "UPDATE discreet_person SET password = password || ' ' WHERE name = 'ann'",
    "UPDATE discreet_person SET disabled = 0 WHERE name = 'out'",
    "UPDATE discreet_person SET disabled = 1 WHERE name = 'ann'",
    "UPDATE discreet_person SET name = 'eve' WHERE name = 'ann'",
    "DELETE FROM discreet_person WHERE name = 'ann'",
    "DELETE FROM discreet_person",
    "INSERT INTO discreet_person VALUES ('eve', 'owner', NULL, NULL, NULL, 0)",
    "UPDATE discreet_key SET person = 'out' WHERE label = 'note'",
    "UPDATE discreet_key SET datasets = NULL WHERE label = 'note'",
    "UPDATE discreet_key SET mac = 'x' WHERE label = 'note'",
    f"UPDATE discreet_key SET mac = ({OLD}) WHERE label = 'note'",
    "UPDATE discreet_key SET expires = '2099-01-01T00:00:00+00:00' WHERE label = 'note'",
    "UPDATE discreet_key SET created = '2020-01-01T00:00:00+00:00' WHERE label = 'note'",
    "UPDATE discreet_key SET revoked = NULL WHERE label = 'old'",
    "UPDATE discreet_key SET revoked = NULL WHERE label = 'outs'",
    "UPDATE discreet_key SET revoked = '2026-01-01T00:00:00+00:00' WHERE label = 'note'",
    "UPDATE discreet_key SET revoked = '2099-01-01T00:00:00+00:00' WHERE label = 'old'",
    "UPDATE discreet_key SET label = 'other' WHERE label = 'note'",
    "UPDATE discreet_key SET id = '000000000000' WHERE label = 'note'",
    "DELETE FROM discreet_key WHERE label = 'old'",
    "DELETE FROM discreet_key",
    f"INSERT INTO discreet_key {TWIN}",
    "UPDATE discreet_secret SET mac = 'x'",
    "DELETE FROM discreet_secret",
]
ONLY_SQLITE = [
    "UPDATE discreet_person SET password = x'00' WHERE name = 'ann'",
    "UPDATE discreet_key SET mac = 7 WHERE label = 'note'",
    "UPDATE discreet_key SET label = x'00' WHERE label = 'note'",
]


def test_every_change_of_a_table_is_found(either):
    with either.new() as ledger:
        admit(ledger)
        verified(ledger)
        raw = ledger._database._raw
        for change in CHANGES + (ONLY_SQLITE if ledger._database.is_file else []):
            before = rows(ledger, "person"), rows(ledger, "key"), rows(ledger, "secret")
            raw.rollback()
            assert raw.execute(change).rowcount > 0, change
            raw.commit()
            with pytest.raises(LedgerError):
                verified(ledger)
            put_back(raw, before)
        verified(ledger)


def put_back(raw, before):
    for table, kept in zip(("person", "key", "secret"), before, strict=True):
        raw.execute(f"DELETE FROM discreet_{table}")
        mark = "?" if hasattr(raw, "total_changes") else "%s"
        for row in kept:
            values = ", ".join([mark] * len(row))
            raw.execute(f"INSERT INTO discreet_{table} VALUES ({values})", row)
    raw.commit()


def test_verifying_while_others_work(either):
    """What is compared is of one moment, whoever is admitted meanwhile."""
    failed, done = [], threading.Event()

    def work():
        with either.open() as ledger:
            access = Access(ledger, SECRET)
            for number in range(25):
                access.add(f"p{number}", "analyst", by="x")
                access.revoke(access.make_key(f"p{number}", by="x").split("_")[1], by="x")
        done.set()

    with either.new() as ledger:
        worker = threading.Thread(target=work)
        worker.start()
        while not done.is_set() and worker.is_alive():
            try:
                verified(ledger)
            except LedgerError as error:
                failed.append(error)
        worker.join()
        assert done.is_set()
        assert verified(ledger).keys == 25
    assert failed == []


def test_what_is_not_in_the_log_may_change(place):
    with place.new() as ledger:
        admit(ledger)
        run = ledger._database._raw.execute
        run("UPDATE discreet_key SET last_used = '2026-01-01T00:00:00+00:00'")
        run("DELETE FROM discreet_session")
        verified(ledger)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: {**v, "act": "nonsense"} if v.get("act") == "disable" else v, "unknown"),
        (lambda v: {**v, "name": "rex"} if v.get("name") == "out" else v, "added twice"),
        (lambda v: {**v, "name": "nobody"} if v.get("act") == "password" else v, "cannot be read"),
        (lambda v: {"act": "add"} if v.get("act") == "add" else v, "cannot be read"),
        (lambda v: {**v, "id": "1"} if v.get("act") == "key" else v, "made twice"),
        (lambda v: {**v, "person": "eve"} if v.get("act") == "key" else v, "cannot be read"),
        (lambda v: {} if v.get("what") else v, "cannot be read"),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(place, change, words):
    with place.new() as ledger:
        admit(ledger)
        entries = forged(ledger.entries(), lambda k, v: (k, change(v) if k == "access" else v))
    with pytest.raises(LedgerError, match=words):
        rebuilt(entries)


def test_a_key_revoked_twice_or_for_who_is_shut_out_is_refused(place):
    with place.new() as ledger:
        admit(ledger)
        entries = ledger.entries()
    last = next(e for e in entries if e.values().get("act") == "revoke")
    again = forged([*entries, last], lambda *same: same)
    with pytest.raises(LedgerError, match="revoked twice"):
        rebuilt(again)
    outs = next(e for e in entries if e.values().get("label") == "outs")
    with pytest.raises(LedgerError, match="shut out"):
        rebuilt(forged([*entries, outs], lambda *same: same))


def test_a_restored_backup_lets_nobody_in_until_the_owner_says_so(place):
    with place.new() as ledger:
        access = Access(ledger, SECRET, clock=Clock())
        access.add("ann", "analyst", password=WORD, by="x")
        key = access.make_key("ann", by="x")
        token, _ = access.login("ann", WORD)
    file, kept = Path(place.address), Path(f"{place.address}.backup")
    shutil.copyfile(file, kept)
    with place.open() as ledger:
        Access(ledger, SECRET).disable("ann", by="x")
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(kept, file)
    with pytest.raises(LedgerError, match="older state"):
        place.open()
    words = restored(place.address, head=place.head)
    assert any("all keys are revoked" in line for line in words)
    with place.open() as ledger:
        access = Access(ledger, SECRET, clock=Clock())
        assert access.by_key(key) is None
        assert access.session(token) is None
        assert access.login("ann", WORD) is None
        assert rows(ledger, "session") == []
        assert told(ledger)[-2]["act"] == "shut"
        verified(ledger)
        access.set_password("ann", WORD, by="x")
        assert access.login("ann", WORD) is not None
        verified(ledger)


def test_a_ledger_without_people_is_restored_as_ever(place):
    place.new().close()
    assert restored(place.address, head=place.head) == []
    with Ledger(place.address, head=place.head) as ledger:
        assert told(ledger) == []


def test_digests_are_salted():
    one, other = sealed("x"), sealed("x")
    assert one != other
    assert "x" not in one
    assert sealed(None) is None


# how a server looks and jots


def test_one_look_sees_what_was_just_written(either):
    """Outside of any transaction, and leaving none behind."""
    with either.new() as one, either.open() as other:
        for number in range(3):
            one.reserve(claim(f"q{number}"))
            assert other.glance(HEAD.statement)[0][0] == one.head.seq
        with other.writing():
            pass  # no transaction was left open
        assert one.glance(select(t.question).where(t.question.c.key == "none")) == []


def test_what_the_log_says_nothing_of_is_jotted_down(either):
    with either.new() as one, either.open() as other:
        row = {"mac": "m", "person": "p", "created": "c", "used": "u", "seal": "s"}
        head = one.head
        one.jot(insert(t.session), **row)
        assert [tuple(found) for found in other.glance(select(t.session))] == [tuple(row.values())]
        with pytest.raises(LedgerError, match="could not be written"):
            one.jot(insert(t.session), **row)
        one.jot(delete(t.session))
        assert other.glance(select(t.session)) == []
        assert one.head == other.head == head
        one.reserve(claim("q"))


def test_a_look_that_fails_leaves_the_ledger_usable(either):
    with either.new() as one:
        with pytest.raises(LedgerError, match="could not be read"):
            one.glance(text("SELECT nothing FROM nowhere"))
        assert one.glance(HEAD.statement)[0][0] == one.head.seq
        one.reserve(claim("q"))
        one.close()
        with pytest.raises(LedgerError, match="closed"):
            one.glance(HEAD.statement)
