"""Tables: what the database itself refuses, and how old tables become new ones."""

import sqlite3
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, insert, inspect, update
from tests.curator.ledger.harness import UNIT, ask, claim, new_ledger, registration, replace

from discreet.curator.access import Access
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.chain import START, canonical, follows
from discreet.curator.ledger.charging import answered, charged
from discreet.curator.ledger.compiled import Statement
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import register
from discreet.curator.ledger.statements import BY_KEY, HEAD, LOST, MARKS, OWN_BEST
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError


def old_ledger(place, version):
    """A ledger as the software of a version made it."""
    database = Database(place.address)
    entry = follows(START, "create", canonical({"uid": "u" * 32, "at": "2026-01-01"}))
    with database.defining() as connection:
        for step in range(1, version + 1):
            t.MIGRATIONS[step](connection)
        row = {"id": 1, "uid": "u" * 32, "version": version, "policy": "", "policy_version": 0}
        connection.execute(insert(t.ledger), row)
        values = {"seq": 1, "kind": "create", "body": entry.body, "hash": entry.hash}
        connection.execute(insert(t.entry if version >= 5 else t.old_entry), values)
    database.close()
    Anchor.create(Path(place.head), "u" * 32).close()


def tables_of(ledger):
    with ledger._database.defining(alone=False) as connection:
        look = inspect(connection)
        indexes = {i["name"] for name in look.get_table_names() for i in look.get_indexes(name)}
        version = connection.execute(t.ledger.select()).fetchone()[2]
        return set(look.get_table_names()), indexes, version


def test_versions_count_from_one():
    assert sorted(t.MIGRATIONS) == list(range(1, t.VERSION + 1))


@pytest.mark.parametrize("version", sorted(t.MIGRATIONS))
def test_an_old_ledger_becomes_a_new_one(either, tmp_path, version):
    old_ledger(either, version)
    with either.open() as ledger:
        tables, indexes, found = tables_of(ledger)
        assert found == t.VERSION
        assert {"discreet_entry_key", "discreet_entry_canon"} <= indexes
        register(ledger, registration())
        ask(ledger, either, claim("a"))
        Access(ledger, bytes(32)).add("ann", "analyst", by="x")
        assert verified(ledger).people == 1
        with new_ledger(tmp_path / "new.db") as new:
            assert tables == tables_of(new)[0]
            assert tables_of(new)[1] <= indexes
    with either.open() as ledger:
        assert ledger.answer("a") is not None


@pytest.mark.parametrize("version", [4, t.VERSION])
def test_indexes_leave_out_the_same_rows_in_every_database(either, version):
    if version == t.VERSION:
        either.new().close()
    else:
        old_ledger(either, version)
    with either.open() as ledger, ledger._database.defining(alone=False) as connection:
        found = inspect(connection).get_indexes("discreet_entry")
    where = {
        each["name"]: str(rows)
        for each in found
        for option, rows in each["dialect_options"].items()
        if option.endswith("_where")
    }
    names = ("canon", "data", "key", "lost")
    assert sorted(where) == [f"discreet_entry_{name}" for name in names]
    assert "canon IS NOT NULL" in where["discreet_entry_canon"]
    assert "IS NOT NULL" in where["discreet_entry_key"]
    assert "'lost'" in where["discreet_entry_lost"]
    assert "'data'" in where["discreet_entry_data"]


def test_what_an_old_ledger_holds_is_kept(either):
    """A ledger of the version before, with a question that is answered and one that waits."""
    with either.new() as ledger:
        ask(ledger, either, claim("done"))
        waiting = ledger.reserve(claim("waiting"))
        before = ledger.everything()
    database = Database(either.address)
    rows = [dict(zip(t.question.c.keys(), each.values(), strict=True)) for each in before[2]]
    with database.defining() as connection:
        t.entry.drop(connection)
        t._old.create_all(connection)
        connection.execute(insert(t.old_entry), [entry._asdict() for entry in before[0]])
        connection.execute(insert(t.old_question), rows)
        connection.execute(t.ledger.update().values(version=4))
    database.close()
    with either.open() as ledger:
        assert ledger.everything() == before
        verified(ledger)
        again = ledger.reserve(claim("waiting"))
        assert (again.noise, again.resumed) == (waiting.noise, True)
        ledger.store("waiting", "answer")
        ask(ledger, either, claim("new"))
        assert ledger.answer("done").answer == before[2][0]["answer"]
        assert tables_of(ledger)[0] >= {"discreet_entry"}
        assert not tables_of(ledger)[0] & {"discreet_question", "discreet_entry_4"}
        verified(ledger)


def test_failures_of_an_old_ledger_serve_and_stay_marked(either):
    """Version 7 marked what was asked, and in the log, too, where a chosen key followed one."""
    with either.new() as ledger:
        ledger.store(ledger.reserve(claim("a", canon="q")).key, "nothing", failed=True)
        old = replace(claim("b", canon="q!"), digest=claim("b", canon="q").digest)
        with ledger.writing() as on:
            on.name = "reserve"
            on.look(HEAD)
            told = charged(old, [], ledger.now(), noise=None, of="a")
            on.charge(old, "hit", told, state="done", noise=None, answer="@a")
            on.append("done", answered("b", "@a", ledger.now()))
    database = Database(either.address)
    digest = func.replace(t.entry.c.digest, "!", "")
    with database.defining() as connection:
        marked = t.entry.c.key == "a"
        connection.execute(update(t.entry).where(marked).values(canon="q!", digest=digest))
        connection.execute(t.ledger.update().values(version=7))
    database.close()
    with either.open() as ledger:
        verified(ledger)
        rows = ledger.everything()[2]
        assert [(row["canon"], row["digest"][-1]) for row in rows] == [("q", "!")] * 2
        for key in ("a", "b"):
            again = ledger.reserve(claim(key, canon="q"))
            assert (again.answer, again.failed) == ("nothing", True)
        other = ledger.reserve(claim("c", canon="q", analyst="bob"))
        assert (other.answer, other.hit, other.failed) == ("nothing", "other", True)
        verified(ledger)


def test_a_question_of_no_entry_is_not_lost_on_the_way(either):
    """Nobody charged it, and the new tables have no place that would show it."""
    old_ledger(either, 4)
    row = {"key": "a", "digest": "d", "canon": "c", "size": 1, "analyst": "ann", "state": "done"}
    database = Database(either.address)
    with database.defining() as connection:
        connection.execute(insert(t.old_question), {**row, "answer": "free", "seq": 7})
    database.close()
    for _ in range(2):
        with pytest.raises(LedgerError, match="a question of no entry"):
            either.open()


def test_a_migration_happens_once_and_as_a_whole(place, monkeypatch):
    """A step that fails leaves the old version; nobody finds half of a step."""
    old_ledger(place, 1)

    def fails(connection):
        t.MIGRATIONS[4](connection)
        raise LedgerError("no")

    monkeypatch.setattr(t, "MIGRATIONS", {**t.MIGRATIONS, 2: fails})
    with pytest.raises(LedgerError, match="no"):
        place.open()
    with sqlite3.connect(place.address) as connection:
        assert connection.execute("SELECT version FROM discreet_ledger").fetchone() == (1,)
        found = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert "discreet_person" not in {name for (name,) in found}
    monkeypatch.undo()
    place.open().close()


def test_a_newer_ledger_is_refused(either):
    old_ledger(either, t.VERSION)
    database = Database(either.address)
    with database.defining() as connection:
        connection.execute(t.ledger.update().values(version=t.VERSION + 1))
    database.close()
    with pytest.raises(LedgerError, match=r"use the newer software. Nothing was charged"):
        either.open()


BOTH = "UPDATE discreet_entry SET answer = 'x' WHERE key = 'waiting'"
IMPOSSIBLE = (
    "UPDATE discreet_entry SET noise = NULL WHERE key = 'waiting'",
    BOTH,
    "UPDATE discreet_entry SET state = 'done' WHERE key = 'waiting'",
    "UPDATE discreet_entry SET state = 'reserved' WHERE key = 'done'",
    "UPDATE discreet_entry SET state = 'void' WHERE key = 'done'",
    "UPDATE discreet_entry SET canon = NULL WHERE key = 'done'",
    "UPDATE discreet_entry SET digest = NULL WHERE key = 'waiting'",
    "UPDATE discreet_entry SET state = NULL WHERE key = 'waiting'",
    "UPDATE discreet_entry SET key = NULL WHERE key = 'waiting'",
    "UPDATE discreet_entry SET answer = 'x' WHERE seq = 1",
    "UPDATE discreet_entry SET size = 1 WHERE seq = 1",
)
"""Rows that are no questions, and no other entries."""


@pytest.mark.parametrize("change", IMPOSSIBLE)
def test_a_file_refuses_a_row_that_cannot_be(place, change):
    _refused(place, change)


@pytest.mark.parametrize("change", IMPOSSIBLE)
def test_a_row_that_cannot_be_is_refused_by_a_server_or_found(postgres_places, change):
    """A noise key beside an answer is refused; the rest is found, when it is read at the latest."""
    place = postgres_places()
    if change == BOTH:
        _refused(place, change)
        return
    with place.new() as ledger:
        ask(ledger, place, claim("done"))
        ledger.reserve(claim("waiting"))
        verified(ledger)
        with psycopg.connect(place.address, autocommit=True) as owner:
            owner.execute(change)
        with pytest.raises(LedgerError):
            verified(ledger)


@pytest.mark.parametrize("before", [5, 8])
def test_a_server_gets_the_short_check_once(postgres_places, before):
    place = postgres_places()
    with place.new() as ledger:
        ask(ledger, place, claim("a"))
        checks = _checks(ledger)
        assert set(checks) == {"discreet_entry_apart"}
    database = Database(place.address)
    with database.defining() as connection:
        connection.exec_driver_sql(
            "ALTER TABLE discreet_entry ADD CONSTRAINT discreet_entry_check CHECK (seq > 0)"
        )
        connection.execute(t.ledger.update().values(version=before))
    database.close()
    with place.open() as ledger:
        assert _checks(ledger) == checks
        ask(ledger, place, claim("b"))


def _checks(ledger):
    with ledger._database.defining(alone=False) as connection:
        found = inspect(connection).get_check_constraints("discreet_entry")
    return {each["name"]: each["sqltext"] for each in found}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE discreet_account SET spent = total + 1 WHERE id = 1",
        "UPDATE discreet_account SET spent = -1 WHERE id = 1",
        "UPDATE discreet_account SET delta_spent = 1 WHERE id = 1",
        "UPDATE discreet_account SET total = spent - 1 WHERE id = 1",
        "UPDATE discreet_account SET name = 'staff@ann' WHERE id = 1",
        "UPDATE discreet_entry SET key = 'done' WHERE key = 'waiting'",
        "UPDATE discreet_ledger SET id = 2",
        "INSERT INTO discreet_entry SELECT * FROM discreet_entry WHERE seq = 1",
    ],
)
def test_the_database_refuses_what_cannot_be(either, change):
    """Whatever a program does: spent stays within total, a key is one question's."""
    _refused(either, change)


def _refused(place, change):
    with place.new() as ledger:
        ask(ledger, place, claim("done"))
        ledger.reserve(claim("waiting"))
        with pytest.raises(LedgerError, match="could not be written"), ledger.writing() as on:
            on._cursor.execute(change)
        assert ledger.accounts["staff"].spent.main == 2 * UNIT
        verified(ledger)


@pytest.mark.parametrize(
    ("statement", "values", "index"),
    [
        (
            OWN_BEST,
            {"asked": "c", "who": "w", "least": 1, "kind": "hit"},
            "discreet_entry_canon",
        ),
        (LOST, {"after": 7}, "discreet_entry_lost"),
        (BY_KEY, {"asked": "k"}, "discreet_entry_key"),
    ],
)
def test_what_is_asked_for_every_question_is_found_by_an_index(ledger, statement, values, index):
    """However long the log is: the first row of the index is the answer."""
    made = Statement(statement, ledger._database.dialect)
    plan = ledger._database._raw.execute(f"EXPLAIN QUERY PLAN {made.text}", values)
    words = " ".join(row[3] for row in plan.fetchall())
    assert index in words
    assert "SCAN" not in words
    assert "TEMP B-TREE" not in words


def test_marks_are_found_by_an_index_that_holds_nothing_else(ledger):
    text = Statement(MARKS, ledger._database.dialect).text
    plan = ledger._database._raw.execute(f"EXPLAIN QUERY PLAN {text}")
    (words,) = (row[3] for row in plan.fetchall())
    assert words.endswith("USING INDEX discreet_entry_data")


@pytest.mark.parametrize(("name", "before"), [("lost", 5), ("data", 6)])
def test_a_ledger_without_the_last_indexes_gets_them(either, name, before):
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
    database = Database(either.address)
    with database.defining() as connection:
        connection.exec_driver_sql(f"DROP INDEX discreet_entry_{name}")
        connection.execute(t.ledger.update().values(version=before))
    database.close()
    with either.open() as ledger:
        _, indexes, version = tables_of(ledger)
        assert f"discreet_entry_{name}" in indexes
        assert version == t.VERSION
        ask(ledger, either, claim("b"))


@pytest.mark.parametrize("before", [5, 9])
def test_answers_are_found_by_an_index_of_its_new_columns(either, before):
    """In a ledger of a version that has made another one of this name."""
    with either.new() as ledger:
        ask(ledger, either, claim("a"))
        wanted = _columns(ledger)
    database = Database(either.address)
    with database.defining() as connection:
        connection.exec_driver_sql("DROP INDEX discreet_entry_canon")
        connection.exec_driver_sql(
            "CREATE INDEX discreet_entry_canon ON discreet_entry (canon, size DESC, seq) "
            "WHERE canon IS NOT NULL"
        )
        connection.execute(t.ledger.update().values(version=before))
    database.close()
    with either.open() as ledger:
        assert _columns(ledger) == wanted == ["canon", "kind", "analyst", "size", "seq"]
        ask(ledger, either, claim("b", canon="a"))
        assert verified(ledger).entries


def _columns(ledger):
    with ledger._database.defining(alone=False) as connection:
        found = inspect(connection).get_indexes("discreet_entry")
    return next(each["column_names"] for each in found if each["name"] == "discreet_entry_canon")


def test_an_unfinished_ledger_is_refused(place):
    database = Database(place.address)
    with database.defining() as connection:
        t.MIGRATIONS[1](connection)
    database.close()
    with pytest.raises(LedgerError, match="empty"):
        Ledger(place.address, head=place.head)


def test_no_foreign_database_is_taken_for_a_ledger(place):
    with sqlite3.connect(place.address) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(LedgerError, match="holds no ledger"):
        place.open()
