"""Rows of accounts that were changed by hand are made anew from the log; nothing is won by it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.curator.ledger.harness import POLICY, UNIT, Checker, ask, claim, registration

from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.rebuild import accounts_rebuilt
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.restore import restored
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError


def changed(place, *statements):
    """Change the tables by hand."""
    if place.address.startswith("postgres"):
        psycopg = pytest.importorskip("psycopg")
        with psycopg.connect(place.address) as db:
            for one in statements:
                db.execute(one)
        return
    with closing(sqlite3.connect(place.address)) as db:
        for one in statements:
            db.execute(one)
        db.commit()


def told(place):
    with place.open() as ledger:
        verified(ledger)
        Checker(place).look(ledger)
        return dict(ledger.accounts), ledger.head, ledger.policy


def rebuild(place):
    return accounts_rebuilt(place.address, head=place.head)


@pytest.fixture
def asked(either):
    """Three questions, of which one waits."""
    with either.new(total=10) as ledger:
        for key in "ab":
            ask(ledger, either, claim(key))
        ledger.reserve(claim("c", analyst="bob"))
    return either


CHANGES = {
    "set back": ["UPDATE discreet_account SET spent = 0 WHERE name = 'staff'"],
    "all set back": ["UPDATE discreet_account SET spent = 0"],
    "raised": [f"UPDATE discreet_account SET total = {10**18} WHERE name = 'staff'"],
    "renamed": ["UPDATE discreet_account SET name = 'stuff' WHERE name = 'staff'"],
    "exchanged": [
        "UPDATE discreet_account SET name = 'x' WHERE name = 'staff'",
        "UPDATE discreet_account SET name = 'staff' WHERE name = 'staff@ann'",
        "UPDATE discreet_account SET name = 'staff@ann' WHERE name = 'x'",
    ],
    "sealed": ["UPDATE discreet_account SET sealed = 1 WHERE name = 'staff@bob'"],
    "deleted": ["DELETE FROM discreet_account WHERE name = 'staff'"],
    "all deleted": ["DELETE FROM discreet_account"],
    "added": [f"INSERT INTO discreet_account VALUES (9, 'mine', 'pure', {UNIT}, 0, 0, 0, 0)"],
    "counted otherwise": ["UPDATE discreet_account SET accounting = 'zcdp' WHERE name = 'staff'"],
    "another policy": ["UPDATE discreet_ledger SET policy = 'p', policy_version = 9"],
}  # fmt: skip


@pytest.mark.parametrize("how", CHANGES)
def test_rows_are_again_what_the_log_says(asked, how):
    before = told(asked)
    changed(asked, *CHANGES[how])
    with pytest.raises(LedgerError):
        told(asked)
    assert rebuild(asked)
    assert told(asked) == before
    assert rebuild(asked) == []
    with asked.open() as ledger:  # and it goes on
        ask(ledger, asked, claim("c", analyst="bob"))
        ask(ledger, asked, claim("d"))
        assert ledger.accounts["staff"].spent.main == 4 * UNIT
    told(asked)


def test_it_says_what_was_changed(asked):
    changed(asked, *CHANGES["set back"], *CHANGES["added"], *CHANGES["another policy"])
    changed(asked, "DELETE FROM discreet_account WHERE name = 'staff@bob'")
    assert rebuild(asked) == [
        "the ledger follows version 1 of its policy again",
        "account 9 is gone: the log knows none of that number",
        "staff: epsilon 3 of epsilon 10 is spent; it had another row",
        "staff@bob: epsilon 1 of epsilon 10 is spent; it had no row",
    ]


def test_limits_that_were_moved_and_accounts_that_were_sealed_stay_so(either):
    with either.new(total=10) as ledger:
        ask(ledger, either, claim("a"))
        register(
            ledger,
            registration(20, fingerprint="policy-2"),
            more_budget=["staff", "staff@ann", "staff@bob"],
        )
        retire(ledger, "staff")
    before = told(either)
    changed(either, "UPDATE discreet_account SET sealed = 0, total = 99, spent = 0")
    assert rebuild(either)
    assert told(either) == before


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE discreet_entry SET body = replace(body, '\"ann\"', '\"bob\"') WHERE key = 'a'",
        "UPDATE discreet_entry SET hash = 'x' WHERE key = 'a'",
        "DELETE FROM discreet_entry WHERE key = 'a'",
    ],
)
def test_a_log_that_was_changed_is_not_believed(asked, how):
    """Nothing is written then."""
    changed(asked, *CHANGES["set back"], how)
    with pytest.raises(LedgerError, match=r"was changed at|is missing"):
        rebuild(asked)
    with closing(Ledger.unanchored(asked.address, head=asked.head)) as ledger:
        assert ledger.accounts["staff"].spent.main == 0


def test_a_log_that_was_cut_off_does_not_open_for_it(asked):
    """The head file knows that more was spent; restoring counts it."""
    changed(asked, *CHANGES["set back"], "DELETE FROM discreet_entry WHERE key = 'c'")
    assert rebuild(asked)[0].startswith("staff: epsilon 2 of")
    with pytest.raises(LedgerError, match="older state"):
        asked.open()
    restored(asked.address, head=asked.head)
    with asked.open() as ledger:
        verified(ledger)
        assert ledger.accounts["staff"].spent.main == 3 * UNIT


def test_what_was_seen_as_spent_stays_spent(asked):
    """A row that says more is believed when the ledger opens, and the head file remembers it."""
    more = f"UPDATE discreet_account SET spent = {9 * UNIT} WHERE name = 'staff'"
    changed(asked, more)
    assert rebuild(asked)
    told(asked)
    changed(asked, more)
    asked.open().close()
    words, left = rebuild(asked)
    assert words.startswith("staff: epsilon 3 of epsilon 10 is spent")
    assert "`discreet ledger restore` counts as spent what that file knows of" in left
    assert rebuild(asked) == [left]  # nobody is sent in a circle
    with pytest.raises(LedgerError, match="had spent epsilon 9 before"):
        asked.open()
    restored(asked.address, head=asked.head)
    with asked.open() as ledger:
        verified(ledger)
        assert ledger.accounts["staff"].spent.main == 9 * UNIT


def test_a_ledger_without_its_head_file_still_counts_all_as_spent(place):
    with place.new(total=10) as ledger:
        ask(ledger, place, claim("a"))
    changed(place, *CHANGES["set back"])
    Path(place.head).unlink()
    with pytest.raises(LedgerError, match="was changed: the log says"):
        restored(place.address, head=place.head)
    assert rebuild(place)
    restored(place.address, head=place.head, all_is_spent=True)
    with place.open() as ledger:
        assert ledger.accounts["staff"].left.main == 0


def test_nothing_is_written_where_nothing_was_changed(asked):
    assert rebuild(asked) == []
    assert told(asked)[2] == (POLICY, 1)
