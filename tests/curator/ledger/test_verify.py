"""Verifying: whatever is changed in the tables or in the log is found."""

import dataclasses
import sqlite3

import pytest
from tests.curator.ledger.harness import UNIT, ask, claim, registration

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.chain import Entry, Head, canonical, follows
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.verify import rebuilt, verified
from discreet.errors import LedgerError


@pytest.fixture
def full(place):
    """A ledger with all kinds of entries."""
    with place.new() as made:
        ask(made, place, claim("a", canon="q"))
        ask(made, place, claim("b", canon="q", analyst="bob"))
        made.reserve(claim("w"))
        register(made, registration(90, fingerprint="policy-2"))
        retire(made, "staff@bob")
        yield made


def test_a_good_ledger_says_how_much_there_is(full):
    found = verified(full)
    assert (found.questions, found.waiting) == (3, 1)
    assert found.head == full.head
    assert found.entries == full.head.seq


def test_every_exported_head_is_found_again(full):
    for entry in full.entries():
        verified(full, head=entry.head)
    for wrong in (
        Head(full.head.seq, "0" * 64),
        Head(full.head.seq + 1, full.head.hash),
        Head(1, full.head.hash),
        Head(10**9, "0" * 64),
    ):
        with pytest.raises(LedgerError, match="exported head"):
            verified(full, head=wrong)


def test_an_entry_is_found_by_its_hash(full):
    for entry in full.entries():
        assert verified(full, head=Head(0, entry.hash)).exported == entry.seq
    assert verified(full).exported is None
    for wrong in ("0" * 64, full.head.hash[::-1]):
        with pytest.raises(LedgerError, match=f"exported hash {wrong[:12]}"):
            verified(full, head=Head(0, wrong))


ASKED = ", ".join(t.question.c.keys()[:-1])
NEW = "'n', 'd', 'q', 1, 'ann', 'done', NULL, 'x'"
UNASKED = ", ".join(f"{column} = NULL" for column in t.question.c.keys()[:-1])
CHANGES = [
    "UPDATE discreet_account SET spent = spent - 1 WHERE id = 1",
    "UPDATE discreet_account SET spent = spent + 1 WHERE id = 1",
    "UPDATE discreet_account SET total = total + 1 WHERE id = 2",
    "UPDATE discreet_account SET delta_total = 5 WHERE id = 2",
    "UPDATE discreet_account SET sealed = 0",
    "UPDATE discreet_account SET sealed = 1 WHERE id = 1",
    "UPDATE discreet_account SET accounting = 'zcdp' WHERE id = 1",
    "UPDATE discreet_account SET name = 'people' WHERE id = 1",
    "UPDATE discreet_account SET name = 'x' WHERE id = 9 OR id = 3",
    "DELETE FROM discreet_account WHERE id = 1",
    "INSERT INTO discreet_account VALUES (9, 'x', 'pure', 1, 0, 0, 0, 0)",
    "UPDATE discreet_entry SET answer = answer || ' ' WHERE key = 'a'",
    "UPDATE discreet_entry SET answer = '@w' WHERE key = 'b'",
    "UPDATE discreet_entry SET state = 'done', noise = NULL, answer = 'x' WHERE key = 'w'",
    "UPDATE discreet_entry SET state = 'reserved', noise = x'00', answer = NULL WHERE key = 'a'",
    "UPDATE discreet_entry SET noise = zeroblob(32) WHERE key = 'w'",
    "UPDATE discreet_entry SET canon = 'other' WHERE key = 'a'",
    "UPDATE discreet_entry SET size = size + 1 WHERE key = 'a'",
    "UPDATE discreet_entry SET digest = 'x' WHERE key = 'w'",
    "UPDATE discreet_entry SET analyst = 'bob' WHERE key = 'a'",
    "UPDATE discreet_entry SET key = 'z' WHERE key = 'w'",
    "UPDATE discreet_entry SET answer = 7 WHERE key = 'a'",
    "UPDATE discreet_entry SET answer = x'00' WHERE key = 'a'",
    f"UPDATE discreet_entry SET {UNASKED} WHERE key = 'a'",
    f"UPDATE discreet_entry SET {UNASKED} WHERE key = 'w'",
    f"UPDATE discreet_entry SET ({ASKED}) = ({NEW}) WHERE seq = 5",
    "UPDATE discreet_ledger SET policy = 'policy-1'",
    "UPDATE discreet_ledger SET policy_version = 7",
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_table_is_found(full, change):
    assert full._database._raw.execute(change).rowcount > 0
    with pytest.raises(LedgerError):
        verified(full)


UNCHECKED = {
    "UPDATE discreet_entry SET digest = 'd' WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_entry SET canon = 'q' WHERE seq = 2": "entry 2 says something",
    "UPDATE discreet_entry SET size = 1 WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_entry SET analyst = 'ann' WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_entry SET state = 'done' WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_entry SET noise = x'00' WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_entry SET answer = 'x' WHERE seq = 1": "entry 1 says something",
    "UPDATE discreet_account SET spent = spent + 0.5 WHERE id = 1": "an account cannot be read",
    "UPDATE discreet_account SET delta_total = 0.5 WHERE id = 1": "an account cannot be read",
    "UPDATE discreet_account SET sealed = 2 WHERE id = 3": "an account cannot be read",
    "UPDATE discreet_account SET spent = -1 WHERE id = 1": "table epsilon -1e-12 spent",
    "UPDATE discreet_ledger SET id = 2": "own row is not number 1",
    "INSERT INTO discreet_ledger SELECT 2, uid, version, policy, policy_version "
    "FROM discreet_ledger": "or not the only one",
    "UPDATE discreet_ledger SET uid = 'x'": "another name than its log says",
    f"UPDATE discreet_ledger SET version = {t.VERSION + 1}": f"and it says {t.VERSION + 1}",
    "UPDATE discreet_ledger SET version = 1.5": "and it says 1.5",
}


@pytest.mark.parametrize("change", UNCHECKED)
def test_what_the_database_would_refuse_is_found_all_the_same(full, change):
    full._database._raw.execute("PRAGMA ignore_check_constraints = ON")
    assert full._database._raw.execute(change).rowcount > 0
    with pytest.raises(LedgerError, match=UNCHECKED[change]):
        verified(full)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "CREATE TRIGGER free AFTER UPDATE ON discreet_account BEGIN SELECT 1; END",
            "has a trigger 'free'",
        ),
        ("CREATE VIEW seen AS SELECT * FROM discreet_entry", "has a view 'seen'"),
        ("DROP INDEX discreet_entry_key", "has lost its index 'discreet_entry_key'"),
        (
            "DROP INDEX discreet_entry_key; CREATE INDEX discreet_entry_key ON discreet_entry(key)",
            "has another index 'discreet_entry_key'",
        ),
    ],
)
def test_a_file_that_acts_by_itself_is_found(full, change, words):
    full._database._raw.executescript(change)
    with pytest.raises(LedgerError, match=words):
        verified(full)


@pytest.mark.parametrize(
    ("change", "log", "table"),
    [
        ("spent = spent + 1", "epsilon 1 spent", "epsilon 1.000000000001 spent"),
        ("total = total - 1", "epsilon 90 in all", "epsilon 89.999999999999 in all"),
        ("delta_total = 7", "epsilon 90 in all", "epsilon 90, delta 7e-21 in all"),
        ("sealed = 1", "that it is not", "that it is retired"),
        ("name = 'x'", "that its name is 'staff'", "'x'"),
        ("accounting = 'zcdp'", "that it is accounted for as 'pure'", "'zcdp'"),
        (
            "spent = 0, sealed = 1",
            "epsilon 1 spent and that it is not",
            "epsilon 0 spent and that it is retired",
        ),
    ],
)
def test_it_says_what_of_an_account_was_changed(place, change, log, table):
    with place.new(total=90) as ledger:
        ask(ledger, place, claim("a"))
        ledger._database._raw.execute(f"UPDATE discreet_account SET {change} WHERE id = 1")
        with pytest.raises(LedgerError) as found:
            verified(ledger)
    said = f"the account 'staff' was changed: the log says {log}, the table {table}"
    assert str(found.value) == said


def test_a_noise_key_that_was_changed_is_not_used(full):
    """Somebody who puts a known key in its place would know the noise."""
    waiting = full.reserve(claim("w"))
    assert waiting.resumed
    full._database._raw.execute("UPDATE discreet_entry SET noise = zeroblob(32) WHERE key = 'w'")
    with pytest.raises(LedgerError, match=r"noise key of the question 'w' was changed"):
        full.reserve(claim("w"))


def test_every_change_of_every_entry_is_found(full):
    """Exhaustive: each entry's body, kind and hash changed, each deleted, each pair swapped."""
    run = full._database._raw.execute
    count = full.head.seq
    changes = [
        *(f"UPDATE discreet_entry SET body = body || ' ' WHERE seq = {n}" for n in _upto(count)),
        *(f"UPDATE discreet_entry SET kind = kind || 'x' WHERE seq = {n}" for n in _upto(count)),
        *(f"UPDATE discreet_entry SET hash = '0' WHERE seq = {n}" for n in _upto(count)),
        *(f"DELETE FROM discreet_entry WHERE seq = {n}" for n in _upto(count)),
        *(f"DELETE FROM discreet_entry WHERE seq >= {n}" for n in _upto(count)),
        *(
            f"UPDATE discreet_entry SET seq = CASE seq WHEN {m} THEN -1 ELSE {m} END "
            f"WHERE seq IN ({m}, {n})"
            for n in _upto(count)
            for m in _upto(n - 1)
        ),
    ]
    head = full.head
    for change in changes:
        run("BEGIN")
        try:
            run(change)
            rows = run("SELECT seq, kind, body, hash FROM discreet_entry ORDER BY seq").fetchall()
        except sqlite3.IntegrityError:
            continue  # the database refuses it
        finally:
            run("ROLLBACK")
        assert not _believed(rows, head), change
    assert verified(full).head == head


def _upto(count):
    return range(1, count + 1)


def _believed(rows, head):
    try:
        return rebuilt([Entry(*row) for row in rows]).head == head
    except LedgerError:
        return False


def forged(entries, change):
    """A log with one entry changed and all hashes made to fit, as who owns the machine could."""
    head, made = Head(0, "0" * 64), []
    for entry in entries:
        kind, values = change(entry.kind, entry.values())
        made.append(follows(head, kind, canonical(values)))
        head = made[-1].head
    return made


def test_a_forged_log_has_another_head(full):
    lower = lambda kind, values: (
        kind,
        {**values, "charges": []} if "charges" in values else values,
    )
    made = forged(full.entries(), lower)
    assert rebuilt(made).head != full.head
    assert rebuilt(forged(full.entries(), lambda *same: same)).head == full.head


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda k, v: ("nonsense" if k == "seal" else k, v), "unknown kind"),
        (lambda k, v: (k, {} if k == "reserve" else v), "cannot be read"),
        (lambda k, v: (k, {**v, "id": 99} if k == "seal" else v), "cannot be read"),
        (lambda k, v: (k, {**v, "key": "zz"} if k == "done" else v), "was not charged"),
        (lambda k, v: (k, {**v, "key": "a"} if k == "reserve" else v), "charged before"),
        (lambda k, v: (k, {**v, "of": "w"} if k == "hit" else v), "was not there"),
        (
            lambda k, v: (k, {**v, "charges": [[1, 101 * UNIT, 0]]} if k == "reserve" else v),
            "more than it had",
        ),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(full, change, words):
    with pytest.raises(LedgerError, match=words):
        rebuilt(forged(full.entries(), change))


def test_what_is_rebuilt_is_what_is_there(full):
    made = rebuilt(full.entries())
    assert sorted(made.accounts.values(), key=lambda a: a.id) == full.everything()[1]
    assert {key: q.state for key, q in made.questions.items()} == {
        "a": "done", "b": "done", "w": "reserved",
    }  # fmt: skip
    assert made.policy == full.policy
    assert dataclasses.is_dataclass(made)
