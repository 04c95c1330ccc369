"""One transaction on a ledger: its statements, and what they mean.

A transaction begins with one look: the head of the log, and beside it whatever its kind needs to
know, in one statement. What is refused is refused before anything is changed: the transaction keeps
every other writer out, so that what was looked at stays true until the commit.

Tested by tests/curator/ledger/test_writing.py, tests/curator/ledger/test_ledger.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from discreet.curator.ledger import statements as s
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import Amount, told_apart
from discreet.curator.ledger.chain import (
    START,
    Entry,
    Head,
    canonical,
    follows,
    noise_mark,
    quoted,
)
from discreet.curator.ledger.compiled import Placed
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.values import Account, Charge, Claim, Done, Pending
from discreet.errors import BudgetExceededError, KeyUsedError, LedgerError, ParameterError

__all__ = [
    "Balance", "Writing", "account_of", "is_failed", "named", "policy_of", "question_of",
]  # fmt: skip

_QUESTION = tuple(t.question.c.keys())


_NO_DELTA = (
    ", and it has no delta: declare the keys, or let the owner give it one (`delta = 1e-6` in the "
    "policy; for a bare file `discreet ledger raise FILE EPSILON --delta 1e-6`)"
)


class Balance(NamedTuple):
    """What an account is worth, as its row says it."""

    id: int
    total: int
    spent: int
    delta_total: int
    delta_spent: int
    sealed: bool

    @classmethod
    def of(cls, account: Account) -> Balance:
        """That of an account."""
        total, spent = account.total, account.spent
        return cls(
            account.id, total.main, spent.main, total.delta, spent.delta, account.sealed
        )  # fmt: skip


class Writing:
    """An open transaction on a ledger.

    Attributes:
        head: of the log; in a transaction that only reads, where it began.
        entries: what was written.
        changes: how many statements have changed something.
        spent: what the accounts that were charged have spent now.
        payers: what accounts are worth now, by name; those that were looked at.
        name: of what is done, for the steps.
        believe: told of an account before anything is built on its row.

    Args:
        database: where the ledger is.
        cursor: of the transaction.
        check: told of the head that the first look found, before anything is built on it.
    """

    __slots__ = (
        "_check", "_cursor", "_database", "_texts", "believe", "changes", "entries", "head",
        "name", "payers", "spent",
    )  # fmt: skip

    def __init__(
        self, database: Database, cursor: Any, check: Callable[[Writing], None] | None = None
    ) -> None:
        self._database, self._cursor, self._check = database, cursor, check
        self._texts = database.texts
        self.head = START
        self.changes = 0
        self.payers: dict[str, Balance] = {}
        self.entries: list[Entry] = []
        self.spent: dict[int, Amount] = {}
        self.name = "entry"
        self.believe: Callable[[Account], None] | None = None

    def run(self, statement: Any, /, **values: Any) -> Any:
        """Run one statement."""
        return self._database.run(self._cursor, statement, **values)

    def change(self, statement: Any, /, **values: Any) -> None:
        """Run one statement that changes something."""
        self.changes += 1
        self._database.run(self._cursor, statement, **values)

    def _write(self, placed: Placed, values: tuple[Any, ...]) -> None:
        """The same, of one that is run all the time."""
        self.changes += 1
        self._cursor.execute(self._texts[placed], values)

    def look(self, placed: Placed, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        """Run a statement whose rows begin with the head; what it found besides, if anything.

        Before the first change the head is compared with what the ledger had reached.
        """
        row = self._cursor.execute(self._texts[placed], values).fetchone()
        if row is None and placed is not s.HEAD:
            return self.look(s.HEAD)
        if row is None or row[0] is None:
            raise LedgerError("the ledger has lost its log; restore it from a backup")
        if self._check is not None:
            self.head = Head(int(row[0]), str(row[1]))
            self._check(self)
            self._check = None
        elif row[0] != self.head.seq:
            raise LedgerError("the ledger has lost what was just written; nothing was sent")
        return row[2:]  # type: ignore[no-any-return]

    def accounts(self) -> list[Account]:
        """All accounts, by number."""
        return [account_of(row) for row in self.run(s.ACCOUNTS).fetchall()]

    def append(self, kind: str, body: Mapping[str, Any] | str) -> Entry:
        """Write the next entry of the log, of some values or of their canonical text."""
        text = body if isinstance(body, str) else canonical(body)
        entry = follows(self.head, kind, text)
        self._write(s.APPEND, (entry.seq, kind, entry.body, entry.hash))
        self.head = entry.head
        self.entries.append(entry)
        return entry

    def charge(
        self, claim: Claim, kind: str, body: str, *, state: str,
        noise: bytes | None, answer: str | None, failed: bool = False,
    ) -> Entry:  # fmt: skip
        """Write the next entry of the log, and beside it the question that it charges."""
        entry = follows(self.head, kind, body)
        digest = claim.digest + t.FAILED if failed else claim.digest
        values = (
            entry.seq, kind, entry.body, entry.hash, claim.key, digest, claim.canon,
            claim.size, claim.analyst, state, noise, answer,
        )  # fmt: skip
        self._write(s.CHARGE, values)
        self.head = entry.head
        self.entries.append(entry)
        return entry

    def follow(self, fingerprint: str, version: int) -> None:
        """From now on questions are priced under this policy."""
        self.change(s.SET_POLICY, new_policy=fingerprint, new_version=version)

    @property
    def policy(self) -> tuple[str, int]:
        """The fingerprint and the version of the policy that the ledger follows."""
        return policy_of(self.run(s.LEDGER).fetchone())

    def limit(self, account: Account, most: Amount) -> None:
        """Move the total of an account."""
        self.payers.pop(account.name, None)
        self.change(s.LIMIT, which=account.id, new_total=most.main, new_delta=most.delta)
        self.append("limit", {"id": account.id, "total": [most.main, most.delta]})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What the entries of one kind say."""
        rows = self.run(s.OF_KIND, which=kind).fetchall()
        return [Entry.of(row).values() for row in rows]

    def question(self, key: str) -> dict[str, Any] | None:
        """The row of an asking."""
        row = self.run(s.BY_KEY, asked=key).fetchone()
        return None if row is None else question_of(row)

    def stored(self, claim: Claim) -> dict[str, Any] | None:
        """An answer that serves a claim: an own one that is as good, or anybody's that is equal.

        A better one of somebody else would show that it was asked for, and be worth more than was
        paid; it serves only where answers are public. Anybody's is never one that points at
        another: that one was there before. None serves that has noise in common with one that the
        analyst was given: she would combine them, or see that they agree. And none from before the
        ledger was restored from a backup: nobody knows what she was given since.

        Equal is the price as it was said: two that differ may cost the same number of units.
        """
        if claim.size > s.LARGEST:
            return None
        own = self._own_best(claim)
        if own is not None:
            return own
        most = s.LARGEST if claim.public else claim.size
        best = self.run(s.BY_CANON, asked=claim.canon, least=claim.size, most=most).fetchone()
        if best is None:
            return None
        row = question_of(best)
        if claim.public:
            return row
        told = self._entry(int(row["seq"])).values()["info"]
        if told.get("price") != claim.info.get("price") or self._restored_since(row):
            return None
        mine = self._asked(claim.canon, claim.analyst)
        return None if mine and self._root(row) in map(self._root, mine) else row

    def _own_best(self, claim: Claim) -> dict[str, Any] | None:
        """The best answer that an analyst has been given to a question, and the first of these; as
        good as a claim.
        """
        wanted = {"asked": claim.canon, "who": claim.analyst, "least": claim.size}
        rows = (self.run(s.OWN_BEST, kind=kind, **wanted).fetchone() for kind in s.KINDS)
        found = [question_of(row) for row in rows if row is not None]
        return max(found, key=lambda row: (row["size"], -row["seq"]), default=None)

    def _restored_since(self, row: Mapping[str, Any]) -> bool:
        """Whether the ledger was restored from a backup after an asking."""
        return self.run(s.LOST, after=row["seq"]).fetchone() is not None

    def finer(self, claim: Claim) -> dict[str, Any] | None:
        """A better answer that a claim can be made of; never two of one noise for one analyst."""
        if not claim.finer:
            return None
        taken = {self._root(row) for row in self._asked(claim.canon, claim.analyst)}
        for key in claim.finer:
            row = self.question(key)
            if row is None or row["state"] != "done" or row["canon"] != claim.canon:
                continue
            if self._restored_since(row):
                continue
            if row["size"] > claim.size and self._root(row) not in taken:
                return row
        return None

    def _root(self, row: Mapping[str, Any]) -> str:
        """The asking whose noise is in an answer: its own, or that of what it was made of."""
        while (of := self._entry(int(row["seq"])).values().get("of")) is not None:
            found = self.question(of)
            if found is None:
                raise LedgerError("a stored answer is missing; `discreet ledger verify` says more")
            row = found
        return str(row["key"])

    def _entry(self, seq: int) -> Entry:
        row = self.run(s.ENTRY, which=seq).fetchone()
        return Entry.of(row)

    def _asked(self, canon: str, analyst: str) -> list[dict[str, Any]]:
        """An analyst's askings of a question, answered or not, the best last."""
        rows = self.run(s.ASKED, asked=canon, who=analyst).fetchall()
        return [question_of(row) for row in rows]

    def paid(self, canon: str, analyst: str, before: int) -> list[dict[str, Any]]:
        """The answers to a question that an analyst has paid for, and that were there before an
        entry; the best last.
        """
        done = (row for row in self._asked(canon, analyst) if row["state"] == "done")
        return [row for row in done if row["seq"] < before and self._was_done(row, before)]

    def _was_done(self, row: Mapping[str, Any], before: int) -> bool:
        """Whether an asking had its answer before an entry."""
        words = f'"key":{quoted(row["key"])},"salt":'
        found = self.run(s.DONE_BEFORE, charged=row["seq"], before=before, words=words)
        return found.fetchone() is not None

    def known(self, claim: Claim) -> Pending | Done:
        """What becomes of a key that exists."""
        known = question_of(self.run(s.BY_KEY, asked=claim.key).fetchone())
        if known["digest"].removesuffix(t.FAILED) != claim.digest:
            raise KeyUsedError(
                "this key belongs to another question, or to the same one at another price; ask "
                "with a new key. Nothing was charged"
            )
        if known["state"] == "done":
            return self.done(known, "")
        waiting = self.pending(known)
        payers = {charge.account for charge in claim.charges}
        if any(account.sealed and account.name in payers for account in self.accounts()):
            raise BudgetExceededError(
                "these data were retired: no question is answered from them any more; nothing was "
                "charged",
                asked=None, left=None, could=None,
            )  # fmt: skip
        if self._restored_since(known):
            raise LedgerError(
                f"the question {claim.key!r} was charged before this ledger was restored from a "
                "backup, and may have been answered since; its noise cannot be used again. Ask "
                "with a new key. Nothing was charged"
            )
        return waiting

    def pending(self, row: Mapping[str, Any]) -> Pending:
        """A row that was charged and not answered, to be taken up again."""
        entry, noise = self._entry(int(row["seq"])), bytes(row["noise"])
        said = entry.values()
        if said.get("noise", noise_mark(noise)) != noise_mark(noise):  # early logs say nothing
            raise LedgerError(
                f"the noise key of the question {row['key']!r} was changed since it was charged; "
                "`discreet ledger verify` tells whether anything else was. Nothing was charged"
            )
        of = str(said.get("of", ""))
        finer = self.question(of) if of else None
        failed = finer is not None and is_failed(finer)
        return Pending(row["key"], noise, entry.seq, entry.hash, resumed=True, of=of, failed=failed)

    def done(self, row: Mapping[str, Any], hit: str) -> Done:
        """The answer of a row; of one that points at another, with this asking's own marks.

        Two rows are read in either case: whoever is given an answer does not see from the time that
        somebody else has asked for it before.
        """
        answer, entry = row["answer"], self._entry(int(row["seq"]))
        points = answer.startswith("@")
        pointed = self.question(answer[1:] if points else row["key"])
        if points:
            if pointed is None or pointed["answer"] is None or pointed["answer"].startswith("@"):
                raise LedgerError("a stored answer is missing; `discreet ledger verify` says more")
            answer, hit = pointed["answer"], "other"
        told = entry.values()
        return Done(
            row["key"], answer, entry.seq, entry.hash, hit, row["analyst"], str(told["at"]),
            told["info"], row["canon"], failed=is_failed(row),
        )  # fmt: skip

    def pointed(self, row: Mapping[str, Any]) -> str:
        """The key of the asking that holds the answer of a row: its own, or where it points."""
        answer = row["answer"]
        return str(answer[1:] if answer.startswith("@") else row["key"])

    def _account(self, name: str) -> Account | None:
        """The account of a name, as it is now."""
        row = self.run(s.PAYER, payer=name).fetchone()
        return None if row is None else account_of(row)

    def _balance(self, charge: Charge) -> Balance:
        """What the account of a charge is worth."""
        account = self._account(charge.account)
        if account is None:
            self._refuse(charge)
        if self.believe is not None:
            self.believe(account)
        found = self.payers[charge.account] = Balance.of(account)
        return found

    def enough(self, charges: Sequence[Charge]) -> dict[str, Balance]:
        """What the accounts will be when all have paid; refuses where one has not enough."""
        after: dict[str, Balance] = {}
        for charge in charges:
            name, main, delta = charge.account, charge.amount.main, charge.amount.delta
            if main < 0 or delta < 0:
                raise ParameterError("amount", main, "of a charge must not be negative")
            found = after.get(name) or self.payers.get(name) or self._balance(charge)
            number, total, spent, delta_total, delta_spent, sealed = found
            spent, delta_spent = spent + main, delta_spent + delta
            if sealed or spent > total or delta_spent > delta_total:
                self._refuse(charge)
            after[name] = Balance(number, total, spent, delta_total, delta_spent, sealed)
        return after

    def pay(self, charges: Sequence[Charge]) -> list[list[int]]:
        """Charge all accounts, or refuse and charge none; what each paid, for the log."""
        after = self.enough(charges)
        paid = []
        for charge in charges:
            number, main, delta = after[charge.account].id, charge.amount.main, charge.amount.delta
            self._write(s.PAY, (main, delta, main, delta, number))
            paid.append([number, main, delta])
        self.payers.update(after)
        for balance in after.values():
            self.spent[balance.id] = Amount(balance.spent, balance.delta_spent)
        return paid

    def afford(self, charges: Sequence[Charge]) -> None:
        """Refuse what a stored answer serves for nothing where it could not be paid, either.

        Otherwise a refusal, or none, would show whether there is one.
        """
        for charge in charges:
            if not charge.on_hit:
                self.enough([charge])

    def _refuse(self, charge: Charge) -> NoReturn:
        account = self._account(charge.account)
        if account is None:
            raise LedgerError(
                f"the ledger has no account {charge.account!r}: register the policy. "
                "Nothing was charged"
            )
        kind = account.accounting
        cost, left = told_apart(charge.amount, account.left, kind)
        words = f"this question costs {cost}, and of {charge.account} {left} is left"
        if charge.amount.delta and not account.total.delta:
            words += _NO_DELTA
        if account.sealed:
            words = f"{charge.account} was retired: no question is answered from its data any more"
        raise BudgetExceededError(
            f"{words}; nothing was charged",
            asked=charge.amount,
            left=account.left,
            could=None,
            told={
                "account": account.name,
                "cost": charge.amount.to_dict(kind),
                "left": account.left.to_dict(kind),
            },
        )

    def fail(self, key: str) -> None:
        """Mark an answer for the owner: what was computed is of a failure."""
        self.change(s.FAIL, asked=key)

    def finish(self, key: str, seq: int, answer: str) -> None:
        """Put the answer of an asking that waits in, and its noise key out."""
        self._write(s.FINISH, (answer, seq, key))


def named(row: Sequence[Any]) -> dict[str, Any]:
    """The row of an asking, by its names; it may hold anything."""
    return dict(zip(_QUESTION, row, strict=True))


def question_of(row: Sequence[Any]) -> dict[str, Any]:
    """The row of an asking, by its names; LedgerError where it cannot be one."""
    made = named(row)
    key, digest, canon, size, analyst, state, noise, answer, _ = row
    texts, waits = (key, digest, canon, analyst), state == "reserved"
    if (
        any(type(text) is not str for text in texts)
        or type(size) is not int
        or not (waits or state == "done")
        or (noise is not None) != waits
        or (type(answer) is not str if not waits else answer is not None)
    ):
        raise LedgerError(
            f"the question {key!r} cannot be read: it was changed. Put a backup back; nothing was "
            "charged"
        )
    return made


def is_failed(row: Mapping[str, Any]) -> bool:
    """Whether the answer of an asking is that of a failure: only the owner may know."""
    return str(row["digest"]).endswith(t.FAILED)


def account_of(row: Sequence[Any]) -> Account:
    """An account from its row; LedgerError where it cannot be one."""
    number, name, accounting, *amounts, sealed = row
    if (
        any(type(whole) is not int for whole in (number, *amounts))
        or type(name) is not str
        or accounting not in ("pure", "zcdp")
        or sealed not in (0, 1)
    ):
        raise LedgerError(
            "an account cannot be read: it was changed. `discreet ledger rebuild` makes it anew "
            "from the log, if that is intact; nothing was charged"
        )
    total, spent, delta_total, delta_spent = amounts
    whole, gone = Amount(total, delta_total), Amount(spent, delta_spent)
    return Account(number, name, accounting, whole, gone, bool(sealed))


def policy_of(row: Sequence[Any] | None) -> tuple[str, int]:
    """The fingerprint and the version of a policy from the ledger's own row."""
    if row is None or type(row[3]) is not str or type(row[4]) is not int:
        raise LedgerError(
            "the policy that the ledger follows cannot be read: it was changed. `discreet ledger "
            "rebuild` makes it anew from the log, if that is intact; nothing was charged"
        )
    return row[3], row[4]
