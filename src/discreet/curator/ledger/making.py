"""The database of a new ledger: a file that nobody else can read, or tables at a server.

Tested by tests/curator/ledger/test_making.py
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from discreet import private
from discreet.curator.ledger import tables as t
from discreet.curator.ledger import unfinished
from discreet.curator.ledger.chain import START, canonical, follows
from discreet.curator.ledger.database import Database
from discreet.errors import LedgerError

__all__ = ["is_empty", "is_postgres", "make"]


def is_postgres(address: str) -> bool:
    """Whether a ledger is kept at a server, and not in a file."""
    return address.startswith(("postgresql://", "postgres://"))


def is_empty(address: str) -> bool:
    """Whether nobody has made a ledger there."""
    if not is_postgres(address):
        return unfinished.has_no_table(Path(address))
    with closing(Database(address)) as database:
        return t.is_empty(database)


def make(address: str, uid: str, clock: Callable[[], datetime]) -> None:
    """Make the tables of a new ledger, with the first entry of its log; all of it, or nothing."""
    if not is_postgres(address):
        try:
            private.make(address)
        except OSError as error:
            problem = f"{Path(address).name} cannot be made ({error.strerror})"
            raise LedgerError(f"no ledger can be made here: {problem}") from error
    try:
        with closing(Database(address)) as database:
            body = {"uid": uid, "at": clock().isoformat(timespec="seconds")}
            t.make(database, uid, follows(START, "create", canonical(body)))
    except BaseException:
        if not is_postgres(address):
            Path(address).unlink()
        raise
