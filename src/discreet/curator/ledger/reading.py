"""What a ledger tells: its log, its accounts and its answers. Nothing here changes it.

Tested by tests/curator/ledger/test_ledger.py, tests/curator/ledger/test_reading.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sqlalchemy.sql.base import Executable

from discreet.curator.ledger.admitted import KEYS, PEOPLE, SECRET, Tables
from discreet.curator.ledger.chain import Entry, Head
from discreet.curator.ledger.connecting import failing
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.statements import (
    ACCOUNTS,
    ASKED_BEFORE,
    BEST,
    BEST_OF,
    ENTRIES,
    FINER,
    HEAD,
    LARGEST,
    LEDGER,
    OWN,
    QUESTIONS,
    RESERVED,
    SCHEMA,
)
from discreet.curator.ledger.values import Account, Done, Pending
from discreet.curator.ledger.writing import Writing, account_of, named, policy_of, question_of
from discreet.errors import LedgerError

__all__ = ["Reading"]


class Reading(ABC):
    """A ledger, as far as it is read: each method tells of one moment."""

    _database: Database

    @abstractmethod
    def _own(self) -> None:
        """Make sure that what is open was opened by this process."""

    def prepare(self, *modules: ModuleType) -> None:
        """Compile the statements of some modules, which otherwise happens when each is needed."""
        for module in modules:
            for statement in vars(module).values():
                if isinstance(statement, Executable):
                    self._database.text(statement)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self._database.turn():
            self._own()
            with failing("could not be read"), self._database.reading() as cursor:
                yield cursor

    def _head(self, cursor: Any) -> Head:
        on = Writing(self._database, cursor, lambda _: None)
        on.look(HEAD)
        return on.head

    # answers

    def answer(self, key: str) -> Done | None:
        """What was stored under a key."""
        with self._reading() as cursor:
            on = Writing(self._database, cursor)
            known = on.question(key)
            return None if known is None or known["state"] != "done" else on.done(known, "")

    def is_own(self, key: str, analyst: str) -> bool:
        """Whether an asking of this name is an analyst's."""
        return self.entry_of(key, analyst) is not None

    def entry_of(self, key: str, analyst: str) -> int | None:
        """The entry that charged an analyst's asking, answered or not; None if there is none."""
        found = self.glance(OWN, asked=key, who=analyst)
        return int(found[0][0]) if found else None

    def best(self, canon: str, analyst: str | None) -> int | None:
        """The size of the best answer to a question: an analyst's, or anybody's."""
        rows = (
            self.glance(BEST, asked=canon)
            if analyst is None
            else self.glance(BEST_OF, asked=canon, who=analyst)
        )
        sizes = [size for row in rows for size in row if size is not None]
        if any(type(size) is not int for size in sizes):
            raise LedgerError(
                "the size of a question cannot be read: it was changed. Put a backup back; nothing "
                "was charged"
            )
        return max(sizes, default=None)

    def paid(self, canon: str, analyst: str, *, before: int) -> list[Done]:
        """The answers to a question that an analyst has paid for and that were there before an
        entry, the coarsest first.

        The log says which these are, for good: not those that were charged before and came later.
        """
        told = {"asked": canon, "who": analyst}
        if not self.glance(ASKED_BEFORE, **told, before=before):
            return []
        with self._reading() as cursor:
            on = Writing(self._database, cursor)
            rows = on.paid(canon, analyst, before)
            return list({one.key: one for one in (on.done(row, "own") for row in rows)}.values())

    def finer(self, canon: str, size: int) -> dict[str, str]:
        """The stored answers to a question that cost more, the cheapest first, by their keys."""
        rows = self.glance(FINER, asked=canon, least=min(size, LARGEST))
        return {str(key): str(answer) for key, answer in rows}

    @property
    def pending(self) -> tuple[Pending, ...]:
        """Questions that were charged and not answered: their askers may ask again."""
        with self._reading() as cursor:
            on = Writing(self._database, cursor)
            rows = on.run(RESERVED).fetchall()
            return tuple(on.pending(question_of(row)) for row in rows)

    # accounts and the log

    @property
    def head(self) -> Head:
        """The last entry: export it, and nobody can take the ledger back behind it unseen."""
        with self._reading() as cursor:
            return self._head(cursor)

    @property
    def policy(self) -> tuple[str, int]:
        """The fingerprint and the version of the policy that the ledger follows."""
        return policy_of(next(iter(self.glance(LEDGER)), None))

    def following(self, fingerprint: str) -> int:
        """The version of the policy with this fingerprint; LedgerError where it is another one."""
        followed, version = self.policy
        if followed != fingerprint:
            raise LedgerError(
                "the ledger follows another version of this policy. If the change is meant, "
                "`discreet register policy.toml` tells the ledger; nothing was charged"
            )
        return version

    @property
    def accounts(self) -> Mapping[str, Account]:
        """All accounts, by name."""
        with self._reading() as cursor:
            rows = self._database.run(cursor, ACCOUNTS).fetchall()
        return {made.name: made for made in map(account_of, rows)}

    def everything(self) -> tuple[list[Entry], list[Account], list[dict[str, Any]]]:
        """The log and the tables, as of one moment; questions may hold anything."""
        with self._reading() as cursor:
            rows = self._database.run(cursor, ENTRIES, after=0).fetchall()
            accounts = self._database.run(cursor, ACCOUNTS).fetchall()
            questions = self._database.run(cursor, QUESTIONS).fetchall()
        return (
            [Entry.of(row) for row in rows],
            [account_of(row) for row in accounts],
            [named(row) for row in questions],
        )

    def admitted(self, after: int) -> tuple[list[Entry], Tables]:
        """The tables of who may sign in, and the log from behind an entry on, as of one moment."""
        with self._reading() as cursor:
            rows = self._database.run(cursor, ENTRIES, after=after).fetchall()
            found = Tables(
                *(self._database.run(cursor, one).fetchall() for one in (PEOPLE, KEYS, SECRET))
            )
        return [Entry.of(row) for row in rows], found

    def glance(self, statement: Any, /, **values: Any) -> Sequence[Any]:
        """The rows of one statement that only reads."""
        with failing("could not be read"):
            return self._database.glance(statement, **values)

    def parts(self) -> list[tuple[str, str, str]]:
        """What the database holds: tables, indexes, triggers; of a file only.

        Each by its kind, its name, and the statement that made it, if there was one.
        """
        if not self._database.is_file:
            return []
        return [(str(kind), str(name), str(made or "")) for kind, name, made in self.glance(SCHEMA)]

    @property
    def is_near(self) -> bool:
        """Whether a glance takes no longer than handing it to a thread: a file, which is not read
        by another at this moment, and no network.
        """
        return self._database.is_file and not self._database.is_read

    def entries(self, after: int = 0) -> Sequence[Entry]:
        """The log, from behind an entry on."""
        with self._reading() as cursor:
            rows = self._database.run(cursor, ENTRIES, after=after).fetchall()
        return [Entry.of(row) for row in rows]
