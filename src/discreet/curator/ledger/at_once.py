"""A charge, or its answer, where all is as usual: looked at and written in one go.

What happens nearly always (the key is new, nobody has asked the same, there is enough) needs no
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
keys, which are unique. The accounts are charged under the same condition as elsewhere, on their
rows as they are at that moment; what is not there is refused. The head that it names is that of the
head file, which is compared with the log in this way; and since what an account had spent at that
head is in the file, what it has spent now need not be read from the database. The statement also
compares: where a row says that less was spent, it was changed, and nothing is written.

Those who wait at the same moment are written so, too, in SQLite: one statement for each, in one
transaction, each building on the head that the one before it leaves. If one of them is not as
usual, all of it is taken back, and the other way decides.
Tested by tests/curator/ledger/test_at_once.py, tests/curator/ledger/test_group.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, Protocol

from discreet.curator.ledger import usual, usual_postgres
from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.chain import Head, chained
from discreet.curator.ledger.charging import charged
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.statements import LARGEST
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Charged, Claim, Done, Pending
from discreet.noise.source import new_key

__all__ = [
    "Answered", "Charging", "Once", "Reached", "Rising", "Usual", "charging", "grouped_in",
    "of_letter", "once_in",
]  # fmt: skip

_NOBODY = (None,) * 5


class Reached(Protocol):
    """What the log has reached: the head file, or what it will say after a commit."""

    @property
    def head(self) -> Head:
        """The last entry."""

    def had(self, account: int, /) -> tuple[int, int]:
        """What an account has spent by then, in units of epsilon or rho and of delta."""

    def follow(self, head: Head, spent: Sequence[tuple[int, int, int]], /) -> None:
        """Take down the next head, and what accounts have spent by then, each by its number."""


class Usual(Protocol):
    """A charge or an answer that is prepared, and written in one go."""

    def write(self, once: Once, at: Reached, /) -> Head | None:
        """Write it as the next entry; None where nothing was written. The caller has all locks."""

    def done(self, head: Head, /) -> Any:
        """What its writer gets, once it is that entry."""

    def letter(self) -> list[Any]:
        """What another process has to know to write it, as plain values."""


class Rising:
    """What the head file will say, once what is written in an open transaction is committed.

    Args:
        anchor: the head file as it is.
    """

    __slots__ = ("_anchor", "_spent", "head")

    def __init__(self, anchor: Anchor) -> None:
        self._anchor, self.head = anchor, anchor.head
        self._spent: dict[int, tuple[int, int]] = {}

    def had(self, account: int) -> tuple[int, int]:
        """What an account will have spent."""
        found = self._spent.get(account)
        return self._anchor.had(account) if found is None else found

    def follow(self, head: Head, spent: Sequence[tuple[int, int, int]]) -> None:
        """Take down the next head, and what accounts have spent by then."""
        self.head = head
        for number, main, delta in spent:
            self._spent[number] = main, delta

    def write(self) -> None:
        """Have the head file say it: all of it is committed."""
        spent = [(number, main, delta) for number, (main, delta) in self._spent.items()]
        self._anchor.follow(self.head, spent)


class Once:
    """Writes in one go, to the log and the head file; None where nothing was written.

    Args:
        put: runs a statement with values; whether it was done.
        charge: the statement of a charge.
        answer: that of an answer.
    """

    __slots__ = ("_answer", "_charge", "_put")

    def __init__(self, put: Callable[[str, Any, Any], bool], charge: Any, answer: Any) -> None:
        self._put, self._charge, self._answer = put, charge, answer

    def charge(
        self, at: Reached, claim: Claim, paid: Sequence[tuple[int, int, int]], body: str,
        noise: bytes,
    ) -> Head | None:  # fmt: skip
        """Write a charge; at most two pay for it this way."""
        if len(paid) > 2:
            return None
        last, before = at.head
        head = Head(last + 1, chained(before, last + 1, "reserve", body))
        values: list[Any] = [
            head.seq, body, head.hash, claim.policy, last, before, claim.key, claim.digest,
            claim.canon, claim.size, claim.analyst, noise,
        ]  # fmt: skip
        spent = []
        for one in paid:
            number, main, delta = one
            had = at.had(number)
            values += one
            values += had
            spent.append((number, had[0] + main, had[1] + delta))
        if len(paid) == 1:
            values += _NOBODY
        if not self._put("reserve", self._charge, values):
            return None
        at.follow(head, spent)
        return head

    def answer(self, at: Reached, key: str, charged: int, answer: str, body: str) -> Head | None:
        """Write an answer."""
        last, before = at.head
        head = Head(last + 1, chained(before, last + 1, "done", body))
        values = (charged, key, answer, head.seq, body, head.hash, last, before)
        if not self._put("store", self._answer, values):
            return None
        at.follow(head, ())
        return head


def once_in(database: Database) -> Once:
    """What writes in one go, by a statement that is a transaction: in SQLite one that puts a row
    into a view (`discreet.curator.ledger.usual`), in PostgreSQL the call of a function
    (`discreet.curator.ledger.usual_postgres`).
    """
    if database.is_file:
        return Once(database.wrote, usual.CHARGE, usual.ANSWER)
    return Once(database.called, usual_postgres.CHARGE, usual_postgres.ANSWER)


def grouped_in(database: Database) -> Once | None:
    """What writes several, by the same statements within a transaction that somebody else commits;
    None where that is left to the other way.
    """
    return Once(database.put, usual.CHARGE, usual.ANSWER) if database.is_file else None


class Charging(NamedTuple):
    """A charge that is prepared: what it needs besides its place in the log."""

    claim: Claim
    paid: Sequence[tuple[int, int, int]]
    body: str
    noise: bytes

    def write(self, once: Once, at: Reached) -> Head | None:
        """Write it, as the next entry."""
        reached("in reserve")
        return once.charge(at, self.claim, self.paid, self.body, self.noise)

    def done(self, head: Head) -> Pending:
        """What its asker gets, once it is that entry."""
        claim = self.claim
        return Pending(claim.key, self.noise, *head, False, "", False, claim.charges, True)  # noqa: FBT003

    def letter(self) -> list[Any]:
        """What another process has to know to write it, as plain values."""
        one = self.claim
        named = [one.key, one.digest, one.canon, one.analyst, one.policy, self.body]
        return ["reserve", named, one.size, self.paid, self.noise.hex()]


class Answered(NamedTuple):
    """An answer that is prepared, under a charge that is known."""

    key: str
    answer: str
    body: str
    paid: Charged

    def write(self, once: Once, at: Reached) -> Head | None:
        """Write it, and its entry as the next one; the noise key goes out."""
        reached("in store")
        return once.answer(at, self.key, self.paid.seq, self.answer, self.body)

    def done(self, _head: Head) -> Done:
        """What its asker gets, once it is written."""
        paid = self.paid
        return Done(self.key, self.answer, paid.seq, paid.hash, "", paid.analyst)

    def letter(self) -> list[Any]:
        """What another process has to know to write it, as plain values."""
        return ["store", [self.key, self.answer, self.body], self.paid.seq]


def of_letter(asked: Sequence[Any]) -> Usual | None:
    """What a letter of another process asks for; None where it says nothing."""
    with suppress(IndexError, TypeError, ValueError):
        if asked[0] == "reserve":
            named, size, paid, noise = asked[1:]
            key, digest, canon, analyst, policy, body = named
            payers = [(number, main, delta) for number, main, delta in paid]
            _insist_plain(named, [size, *chain(*payers)])
            claim = Claim(key, digest, canon, size, analyst, (), policy, {})
            return Charging(claim, payers, body, bytes.fromhex(noise))
        (key, answer, body), seq = asked[1:]
        _insist_plain(asked[1], [seq])
        return Answered(key, answer, body, Charged(seq, "", ""))
    return None


def _insist_plain(texts: Sequence[Any], numbers: Sequence[Any]) -> None:
    """TypeError if these are not texts, or those no numbers from 0 on."""
    plain = all(type(one) is str for one in texts)
    if not (plain and all(type(one) is int and one >= 0 for one in numbers)):
        raise TypeError


def charging(claim: Claim, numbers: Mapping[str, int], now: Callable[[], str]) -> Charging | None:
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
        paid.append((number, main, delta))
        payers.add(number)
    if not paid or len(payers) != len(paid) or not 0 <= claim.size <= LARGEST:
        return None
    noise = new_key()
    return Charging(claim, paid, charged(claim, paid, now(), noise=noise), noise)
