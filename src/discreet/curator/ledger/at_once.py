"""A charge, or its answer, as one statement that is a transaction by itself. PostgreSQL only.

Every statement of a transaction is a way to the server and back. What happens nearly always (the
key is new, nobody has an answer yet, there is enough) needs one way: the statement looks and
writes, and is committed and flushed when it returns. In all other cases it writes nothing, and
the transaction of `discreet.curator.ledger.charging` decides.

Guarantee. It writes exactly what that transaction would have written, or nothing.
Proof. It names the head that it builds on, and writes an entry with the next number. Whatever
changes what it looks at (a key, an answer, the policy, an account that is sealed or has another
total) adds an entry. So if nobody has written since its snapshot, what it looked at is true; and
if somebody has, that number is taken, and the database refuses the whole statement, since numbers
of entries are unique. (It also waits for the lock of all writers first, so that this is rare.) The
accounts are charged by the same update as elsewhere, which takes their rows as they are at that
moment and refuses what is not there. The head that it names is that of the head file, which is
compared with the log in this way.
Tested by tests/curator/ledger/test_at_once.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.chain import Head, canonical, follows
from discreet.curator.ledger.charging import said
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.statements import FAILED, LARGEST
from discreet.curator.ledger.steps import passed, reached
from discreet.curator.ledger.values import Charged, Claim, Done, Pending
from discreet.noise.source import new_key

__all__ = ["Once", "reserve_at_once", "store_at_once"]

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
    AND NOT EXISTS (SELECT FROM discreet_question WHERE key = :asked)
    AND NOT EXISTS (
        SELECT FROM discreet_question
        WHERE canon = :canon AND size >= CAST(:least AS bigint) AND state = 'done'
    )
    AND NOT EXISTS (
        SELECT FROM discreet_question
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
    INSERT INTO discreet_entry (seq, kind, body, hash)
    SELECT CAST(:next AS bigint), 'reserve', CAST(:body AS text), CAST(:made AS text) FROM new
), put AS (
    INSERT INTO discreet_question
        (key, digest, canon, size, analyst, state, noise, answer, seq)
    SELECT CAST(:asked AS text), CAST(:digest AS text), CAST(:canon AS text),
        CAST(:size AS bigint), CAST(:analyst AS text), 'reserved', CAST(:noise AS bytea), NULL,
        CAST(:next AS bigint)
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
    UPDATE discreet_question AS question
    SET state = 'done', noise = NULL, answer = CAST(:told AS text)
    FROM waits
    WHERE key = :asked AND seq = CAST(:charged AS bigint) AND state = 'reserved'
    RETURNING question.key
), entered AS (
    INSERT INTO discreet_entry (seq, kind, body, hash)
    SELECT CAST(:next AS bigint), 'done', CAST(:body AS text), CAST(:made AS text) FROM answered
)
SELECT * FROM answered
""")
"""Nothing, or the key."""


@dataclass(slots=True)
class Once:
    """What one statement needs to know, and what it has done.

    Attributes:
        database: where the ledger is.
        last: where the head file says that the log ends.
        numbers: of accounts, by name.
        head: of the log, where something was written.
        spent: what the accounts that were charged have spent then.
        charged: the charges that were written, by their keys.
    """

    database: Database
    last: Head
    numbers: Mapping[str, int]
    head: Head | None = None
    spent: Mapping[int, Amount] | None = None
    charged: Mapping[str, Charged] | None = None

    def run(self, name: str, statement: Any, kind: str, body: str, **values: Any) -> Sequence[Any]:
        """Write an entry, with what belongs to it; the rows that came back, or none."""
        entry = follows(self.last, kind, body)
        passed("before the commit of", (name,))
        rows = self.database.once(
            statement, last=self.last.seq, hash=self.last.hash, next=entry.seq, body=body,
            made=entry.hash, **values,
        )  # fmt: skip
        if rows:
            self.head = entry.head
            passed("after the commit of", (name,))
        return rows


def reserve_at_once(once: Once, *, claim: Claim, now: Callable[[], str]) -> Pending | None:
    """Charge a question, if all is as usual; otherwise nothing is charged."""
    paid = [[once.numbers.get(c.account, 0), c.amount.main, c.amount.delta] for c in claim.charges]
    numbers, mains, deltas = ([one[n] for one in paid] for n in range(3))
    usual = paid and all(numbers) and len(set(numbers)) == len(numbers)
    if not usual or not 0 <= min(mains + deltas) <= max(*mains, *deltas, claim.size) <= LARGEST:
        return None
    reached("in reserve")
    noise, canon = new_key(), claim.canon
    rows = once.run(
        "reserve", RESERVE, "reserve", canonical(said(claim, paid, now())), policy=claim.policy,
        asked=claim.key, canon=canon, failed=canon + FAILED, least=claim.size, payers=numbers,
        mains=mains, deltas=deltas, many=len(numbers), digest=claim.digest, size=claim.size,
        analyst=claim.analyst, noise=noise,
    )  # fmt: skip
    if once.head is None:
        return None
    once.spent = {number: Amount(main, delta) for number, main, delta in rows}
    seq, made = once.head.seq, once.head.hash
    once.charged = {claim.key: Charged(seq, made, claim.analyst)}
    return Pending(claim.key, noise, seq, made, resumed=False)


def store_at_once(
    once: Once, *, answer: str, body: Mapping[str, Any], charged: Charged | None
) -> Done | None:
    """Put an answer in and the noise key out, if it waits under a charge of this process."""
    if charged is None or body.get("failed"):
        return None
    key = str(body["key"])
    reached("in store")
    once.run(
        "store", STORE, "done", canonical(body), asked=key, charged=charged.seq, told=answer
    )  # fmt: skip
    if once.head is None:
        return None
    once.spent = {}
    return Done(key, answer, charged.seq, charged.hash, analyst=charged.analyst)
