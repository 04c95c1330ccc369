"""A charge, or its answer, where all is as usual: looked at and written in one go.

What happens nearly always (the key is new, nobody has an answer yet, there is enough) needs no
looking first: the statements that write hold the conditions. In PostgreSQL, where every statement
is a way to the server and back, and in SQLite, where it is a moment at which other threads may come
first, it is one statement that is a transaction by itself, committed and flushed when it returns.
In all other cases nothing is written, and the transaction of `discreet.curator.ledger.charging`
decides.

Guarantee. It writes exactly what that transaction would have written, or nothing.
Proof. It names the head that it builds on, and writes an entry with the next number. Whatever
changes what it looks at (a key, an answer, the policy, an account that is sealed or has another
total) adds an entry. So if nobody has written since it looked, what it looked at is true; and if
somebody has, that number is taken, and the database refuses the whole of it, since numbers of
entries are unique. (It also waits for the lock of all writers first, so that this is rare; in
SQLite, which locks before it looks, it does not happen.) That a key is new is left to the index of
keys, which are unique. The accounts are charged by the same update as elsewhere, which takes their
rows as they are at that moment and refuses what is not there. The head that it names is that of the
head file, which is compared with the log in this way; and since what an account had spent at that
head is in the file, what it has spent now need not be read from the database.
Tested by tests/curator/ledger/test_at_once.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import text

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.chain import Head, follows
from discreet.curator.ledger.charging import charged
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.statements import FAILED, LARGEST
from discreet.curator.ledger.steps import passed, reached
from discreet.curator.ledger.usual import ANSWER, CHARGE
from discreet.curator.ledger.values import Charged, Claim, Done, Pending
from discreet.noise.source import new_key

__all__ = ["Once", "once_in", "reserve_at_once", "store_at_once"]

Write = Callable[["Once", Anchor], Any]
"""Writes something in one go; None where nothing was written. The caller has all locks."""

_Paid = Sequence[Sequence[int]]
_NOBODY = (None, None, None)

RESERVE = text("""
WITH payer AS (
    SELECT * FROM unnest(
        CAST(:payers AS int[]), CAST(:mains AS bigint[]), CAST(:deltas AS bigint[])
    ) AS payer (id, main, failing)
), new AS (
    SELECT id FROM discreet_ledger
    WHERE policy = :policy
    AND EXISTS (SELECT FROM discreet_entry WHERE seq = CAST(:last AS bigint) AND hash = :hash)
    AND NOT EXISTS (SELECT FROM discreet_entry WHERE seq = CAST(:next AS bigint))
    AND NOT EXISTS (SELECT FROM discreet_entry WHERE key = :asked)
    AND NOT EXISTS (
        SELECT FROM discreet_entry
        WHERE canon = :canon AND size >= CAST(:least AS bigint) AND state = 'done'
    )
    AND NOT EXISTS (
        SELECT FROM discreet_entry
        WHERE canon = :failed AND size >= CAST(:least AS bigint) AND state = 'done'
    )
    AND (SELECT count(*) FROM discreet_account JOIN payer USING (id)) = :many
    FOR UPDATE OF discreet_ledger
), paid AS (
    UPDATE discreet_account AS account
    SET spent = CASE
            WHEN sealed = 0 AND spent <= total - payer.main
                AND delta_spent <= delta_total - payer.failing
            THEN spent + payer.main ELSE -1
        END,
        delta_spent = delta_spent + payer.failing
    FROM new, payer WHERE account.id = payer.id
    RETURNING account.id, account.spent, account.delta_spent
), entered AS (
    INSERT INTO discreet_entry
        (seq, kind, body, hash, key, digest, canon, size, analyst, state, noise)
    SELECT CAST(:next AS bigint), 'reserve', CAST(:body AS text), CAST(:made AS text),
        CAST(:asked AS text), CAST(:digest AS text), CAST(:canon AS text), CAST(:size AS bigint),
        CAST(:analyst AS text), 'reserved', CAST(:noise AS bytea)
    FROM new
)
SELECT * FROM paid
""")
"""Nothing, or what the accounts have spent now."""
STORE = text("""
WITH waits AS (
    SELECT id FROM discreet_ledger
    WHERE EXISTS (SELECT FROM discreet_entry WHERE seq = CAST(:last AS bigint) AND hash = :hash)
    AND NOT EXISTS (SELECT FROM discreet_entry WHERE seq = CAST(:next AS bigint))
    FOR UPDATE OF discreet_ledger
), answered AS (
    UPDATE discreet_entry AS question
    SET state = 'done', noise = NULL, answer = CAST(:told AS text)
    FROM waits
    WHERE seq = CAST(:charged AS bigint) AND key = :asked AND state = 'reserved'
    RETURNING question.key
), entered AS (
    INSERT INTO discreet_entry (seq, kind, body, hash)
    SELECT CAST(:next AS bigint), 'done', CAST(:body AS text), CAST(:made AS text) FROM answered
)
SELECT 0, 0, 0 FROM answered
""")
"""Nothing, or that nobody paid."""


class Once(ABC):
    """Writes in one go, to the log and the head file; None where nothing was written.

    Args:
        database: where the ledger is.
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    @abstractmethod
    def charge(
        self, anchor: Anchor, claim: Claim, paid: _Paid, body: str, noise: bytes
    ) -> Head | None:
        """Write a charge."""

    @abstractmethod
    def answer(self, anchor: Anchor, key: str, charged: int, answer: str, body: str) -> Head | None:
        """Write an answer."""


class _InServer(Once):
    """In PostgreSQL: by one statement."""

    __slots__ = ()

    def charge(
        self, anchor: Anchor, claim: Claim, paid: _Paid, body: str, noise: bytes
    ) -> Head | None:
        """Write a charge."""
        numbers, mains, deltas = ([one[n] for one in paid] for n in range(3))
        canon = claim.canon
        return self._run(
            anchor, "reserve", RESERVE, "reserve", body, policy=claim.policy, asked=claim.key,
            canon=canon, failed=canon + FAILED, least=claim.size, payers=numbers, mains=mains,
            deltas=deltas, many=len(numbers), digest=claim.digest, size=claim.size,
            analyst=claim.analyst, noise=noise,
        )  # fmt: skip

    def answer(self, anchor: Anchor, key: str, charged: int, answer: str, body: str) -> Head | None:
        """Write an answer."""
        return self._run(
            anchor, "store", STORE, "done", body, asked=key, charged=charged, told=answer
        )

    def _run(
        self, anchor: Anchor, name: str, statement: Any, kind: str, body: str, **values: Any
    ) -> Head | None:
        """Write an entry, with what belongs to it."""
        last = anchor.head
        entry = follows(last, kind, body)
        passed("before the commit of", (name,))
        rows = self._database.once(
            statement, last=last.seq, hash=last.hash, next=entry.seq, body=body, made=entry.hash,
            **values,
        )  # fmt: skip
        if not rows:
            return None
        passed("after the commit of", (name,))
        spent = {number: Amount(main, delta) for number, main, delta in rows if number}
        anchor.advance(entry.head, spent)
        return entry.head


class _InFile(Once):
    """In SQLite: by one statement that is put into a view (`discreet.curator.ledger.usual`)."""

    __slots__ = ()

    def charge(
        self, anchor: Anchor, claim: Claim, paid: _Paid, body: str, noise: bytes
    ) -> Head | None:
        """Write a charge; at most two pay for it this way."""
        if len(paid) > 2:
            return None
        last, canon = anchor.head, claim.canon
        entry = follows(last, "reserve", body)
        values = (
            entry.seq, body, entry.hash, claim.policy, last.seq, last.hash, claim.key,
            claim.digest, canon, canon + FAILED, claim.size, claim.analyst, noise,
            *paid[0], *(paid[1] if len(paid) > 1 else _NOBODY),
        )  # fmt: skip
        if not self._database.wrote("reserve", CHARGE, values):
            return None
        anchor.follow(entry.head, paid)
        return entry.head

    def answer(self, anchor: Anchor, key: str, charged: int, answer: str, body: str) -> Head | None:
        """Write an answer."""
        last = anchor.head
        entry = follows(last, "done", body)
        values = (charged, key, answer, entry.seq, body, entry.hash, last.seq, last.hash)
        if not self._database.wrote("store", ANSWER, values):
            return None
        anchor.follow(entry.head, ())
        return entry.head


def once_in(database: Database) -> Once:
    """What writes in one go, as the database needs it."""
    return (_InFile if database.is_file else _InServer)(database)


def reserve_at_once(
    claim: Claim, numbers: Mapping[str, int], now: Callable[[], str]
) -> Write | None:
    """Prepare to charge a question, if all is as usual; None if it cannot be.

    What is prepared needs no lock, so that nobody waits for it.

    Args:
        claim: the question.
        numbers: of accounts, by name.
        now: what is written down as the time.
    """
    paid, payers = [], set()
    for charge in claim.charges:
        number, main, delta = numbers.get(charge.account), charge.amount.main, charge.amount.delta
        if number is None or not (0 <= main <= LARGEST and 0 <= delta <= LARGEST):
            return None
        paid.append([number, main, delta])
        payers.add(number)
    if not paid or len(payers) != len(paid) or not 0 <= claim.size <= LARGEST:
        return None
    noise = new_key()
    body = charged(claim, paid, now(), noise=noise)

    def write(once: Once, anchor: Anchor) -> Pending | None:
        reached("in reserve")
        head = once.charge(anchor, claim, paid, body, noise)
        if head is None:
            return None
        return Pending(claim.key, noise, head.seq, head.hash, resumed=False)

    return write


def store_at_once(key: str, answer: str, body: str, paid: Charged) -> Write:
    """Prepare to put an answer in and the noise key out, under a charge of this process."""

    def write(once: Once, anchor: Anchor) -> Done | None:
        reached("in store")
        if once.answer(anchor, key, paid.seq, answer, body) is None:
            return None
        return Done(key, answer, paid.seq, paid.hash, analyst=paid.analyst)

    return write
