"""Accounts made anew from the log, where somebody has changed their rows.

A ledger whose rows say less than was spent does not open, and `discreet.curator.ledger.verify`
names the row. What the row was follows from the log, which is whole: so it can be put back without
a backup.

Guarantee. Afterwards every account is what the log says, and nobody can spend what was spent.
Proof. The hashes of the log are checked from the first entry to the last, and rows are written in
the transaction that has read it, which keeps every other writer out. A log that was cut off, or
taken back to an older state, says less than the head file, and the ledger still does not open: that
is compared there, and restoring counts what is missing. The log itself is not touched.
Tested by tests/curator/ledger/test_rebuild.py
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, delete, insert

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.chain import Entry
from discreet.curator.ledger.connecting import failing
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.statements import ACCOUNTS, ENTRIES, LEDGER, SET_POLICY
from discreet.curator.ledger.values import Account
from discreet.curator.ledger.verify import rebuilt
from discreet.curator.ledger.writing import account_of
from discreet.errors import LedgerError

__all__ = ["accounts_rebuilt"]

_COLUMNS = tuple(t.account.c.keys())
_GONE = delete(t.account).where(t.account.c.id == bindparam("which"))
_NEW = insert(t.account).values({name: bindparam(f"new_{name}") for name in _COLUMNS})


def accounts_rebuilt(address: str | Path, *, head: str | Path | None = None) -> list[str]:
    """Make the accounts of a ledger, and the policy that it follows, what its log says.

    What was changed, in words, and what is left to do. LedgerError where the log is not intact:
    then a backup has to be put back.
    """
    Ledger.unanchored(address, head=head).close()  # tables of an older version become new ones
    with (
        closing(Database(str(address))) as database,
        failing("could not be rebuilt"),
        database.turn(),
        database.writing() as cursor,
    ):
        words = _rebuilt(database, cursor)
        if words:
            database.commit()
    return [*words, *_left(address, head)]


def _left(address: str | Path, head: str | Path | None) -> list[str]:
    """What is left to do where the head file knows of more than the log."""
    try:
        Ledger(address, head=head).close()
    except LedgerError:
        words = "`discreet ledger restore` counts as spent what that file knows of"
        return [f"it does not open with its head file yet: {words}"]
    else:
        return []


def _rebuilt(database: Database, cursor: Any) -> list[str]:
    log = rebuilt(map(Entry.of, database.run(cursor, ENTRIES, after=0).fetchall()))
    rows = database.run(cursor, ACCOUNTS).fetchall()
    (_, _, _, *followed) = database.run(cursor, LEDGER).fetchone()
    words = []
    if tuple(followed) != log.policy:
        fingerprint, version = log.policy
        database.run(cursor, SET_POLICY, new_policy=fingerprint, new_version=version)
        words.append(f"the ledger follows version {version} of its policy again")
    there = {row[0]: row for row in rows}
    for number in sorted(there.keys() - log.accounts.keys(), key=str):
        database.run(cursor, _GONE, which=number)
        words.append(f"account {number} is gone: the log knows none of that number")
    odd = {n: one for n, one in log.accounts.items() if not _is(one, there.get(n))}
    for number in odd:  # first: names are unique, and may have been exchanged
        database.run(cursor, _GONE, which=number)
    for number, account in odd.items():
        database.run(cursor, _NEW, **_row(account))
        had = "had no row" if number not in there else "had another row"
        spent, total = (x.said(account.accounting) for x in (account.spent, account.total))
        words.append(f"{account.name}: {spent} of {total} is spent; it {had}")
    return words


def _is(account: Account, row: Any) -> bool:
    """Whether a row says what the log says; it may hold anything."""
    try:
        return row is not None and account_of(row) == account
    except LedgerError:
        return False


def _row(account: Account) -> Mapping[str, Any]:
    total, spent = account.total, account.spent
    return {
        "new_id": account.id, "new_name": account.name, "new_accounting": account.accounting,
        "new_total": total.main, "new_spent": spent.main, "new_delta_total": total.delta,
        "new_delta_spent": spent.delta, "new_sealed": int(account.sealed),
    }  # fmt: skip
