"""One transaction on a ledger: its statements, and what they mean.

A transaction begins with one look: the head of the log, and beside it whatever its kind needs to
know, in one statement. What is refused is refused before anything is changed: the transaction keeps
every other writer out, so that what was looked at stays true until the commit.

Tested by tests/curator/ledger/test_writing.py, tests/curator/ledger/test_ledger.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from sqlalchemy import bindparam, case, exists, insert, or_, select, update

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.chain import START, Entry, Head, canonical, follows
from discreet.curator.ledger.database import Database
from discreet.curator.ledger.values import Account, Charge, Claim, Done, Pending
from discreet.errors import BudgetExceededError, LedgerError, ParameterError

__all__ = ["Writing", "account_of", "question_of"]

FAILED = "!"
"""Ends what was asked where the answer is that of a failure: it serves nobody but its asker."""
_LAST = select(t.entry.c.seq).order_by(t.entry.c.seq.desc()).limit(1)
HEAD = _LAST.add_columns(t.entry.c.hash)
_SET_POLICY = (
    update(t.ledger)
    .where(t.ledger.c.id == 1)
    .values(policy=bindparam("new_policy"), policy_version=bindparam("new_version"))
)
LEDGER = select(t.ledger)
_APPEND = insert(t.entry)
_LOST = (
    select(t.entry.c.seq)
    .where(t.entry.c.seq > bindparam("after"))
    .where(t.entry.c.kind == "lost")
    .limit(1)
)
_ENTRY = select(t.entry).where(t.entry.c.seq == bindparam("which"))
HASH_AT = select(t.entry.c.hash).where(t.entry.c.seq == bindparam("at"))
_BY_KEY = select(t.question).where(t.question.c.key == bindparam("asked"))


def _there(canon: str) -> Any:
    """Whether an answer to a question is stored that is good enough."""
    of = t.question.c.canon == bindparam(canon)
    good = t.question.c.size >= bindparam("least")
    return exists().where(of).where(good).where(t.question.c.state == "done")


LOOK = HEAD.add_columns(
    select(t.ledger.c.policy).scalar_subquery(),
    exists().where(t.question.c.key == bindparam("asked")),
    or_(_there("canon"), _there("failed")),
)
"""For a charge: the policy, whether the key is known, whether there may be an answer already."""
_BY_CANON = (
    select(t.question)
    .where(t.question.c.canon == bindparam("asked"))
    .where(t.question.c.size >= bindparam("least"))
    .where(t.question.c.size <= bindparam("most"))
    .where(t.question.c.state == "done")
    .order_by(t.question.c.size.desc(), t.question.c.seq)
    .limit(1)
)
_ASKED = (
    select(t.question)
    .where(t.question.c.canon.in_([bindparam("asked"), bindparam("failed")]))
    .where(t.question.c.analyst == bindparam("who"))
    .order_by(t.question.c.size, t.question.c.seq.desc())
)
FINER = (
    select(t.question.c.key, t.question.c.answer)
    .where(t.question.c.canon == bindparam("asked"))
    .where(t.question.c.size > bindparam("least"))
    .where(t.question.c.state == "done")
    .where(t.question.c.answer.not_like("@%"))
    .order_by(t.question.c.size, t.question.c.seq)
)
RESERVED = select(t.question).where(t.question.c.state == "reserved").order_by(t.question.c.seq)
_PUT = insert(t.question)
WAITING = select(
    _LAST.scalar_subquery(),
    select(t.entry.c.hash).order_by(t.entry.c.seq.desc()).limit(1).scalar_subquery(),
    t.question.c.seq,
    t.question.c.analyst,
    select(t.entry.c.hash).where(t.entry.c.seq == t.question.c.seq).scalar_subquery(),
    t.question.c.state == "reserved",
).where(t.question.c.key == bindparam("asked"))
"""For an answer: who asked, the entry of the charge, and whether it waits."""
_FINISH = (
    update(t.question)
    .where(t.question.c.key == bindparam("asked"))
    .where(t.question.c.state == "reserved")
    .values(state="done", noise=None, answer=bindparam("told"))
)
"""The answer is put in and the noise key out."""
_FAIL = (
    update(t.question)
    .where(t.question.c.key == bindparam("asked"))
    .values(canon=t.question.c.canon + FAILED)
)
_MAIN: Any = bindparam("main")
_DELTA: Any = bindparam("failing")
_ENOUGH = (
    (t.account.c.sealed == 0)
    & (t.account.c.spent <= t.account.c.total - _MAIN)
    & (t.account.c.delta_spent <= t.account.c.delta_total - _DELTA)
)
_PAY = (
    update(t.account)
    .where(t.account.c.id == bindparam("payer"))
    .values(
        spent=case((_ENOUGH, t.account.c.spent + _MAIN), else_=-1),
        delta_spent=t.account.c.delta_spent + _DELTA,
    )
)
"""Where there is not enough, the database refuses: nothing spent is below 0."""
_PAYER = select(t.account).where(t.account.c.name == bindparam("payer"))
ACCOUNTS = select(t.account).order_by(t.account.c.id)
QUESTIONS = select(t.question).order_by(t.question.c.seq)
ENTRIES = select(t.entry).where(t.entry.c.seq > bindparam("after")).order_by(t.entry.c.seq)


_LIMIT = (
    update(t.account)
    .where(t.account.c.id == bindparam("which"))
    .values(total=bindparam("new_total"), delta_total=bindparam("new_delta"))
)
_OF_KIND = select(t.entry).where(t.entry.c.kind == bindparam("which")).order_by(t.entry.c.seq)
LARGEST = 2**63 - 1
"""What an integer of the database holds; no account has as much."""
_QUESTION, _ACCOUNT = tuple(t.question.c.keys()), tuple(t.account.c.keys())


class Writing:
    """An open transaction on a ledger.

    Attributes:
        head: of the log; in a transaction that only reads, where it began.
        entries: what was written.
        changes: how many statements have changed something.
        spent: what the accounts that were charged have spent now.
        payers: accounts as they are now, by name; those that were looked at.
        name: of what is done, for the steps.

    Args:
        database: where the ledger is.
        cursor: of the transaction.
        check: told of the head that the first look found, before anything is built on it.
    """

    def __init__(
        self, database: Database, cursor: Any, check: Callable[[Writing], None] | None = None
    ) -> None:
        self._database, self._cursor, self._check = database, cursor, check
        self.head = START
        self.changes = 0
        self.payers: dict[str, Account] = {}
        self.entries: list[Entry] = []
        self.spent: dict[int, Amount] = {}
        self.name = "entry"

    def run(self, statement: Any, /, **values: Any) -> Any:
        """Run one statement."""
        return self._database.run(self._cursor, statement, **values)

    def change(self, statement: Any, /, **values: Any) -> None:
        """Run one statement that changes something."""
        self.changes += 1
        self._database.run(self._cursor, statement, **values)

    def look(self, statement: Any, /, **values: Any) -> Sequence[Any]:
        """Run a statement whose rows begin with the head; what it found besides, if anything.

        Before the first change the head is compared with what the ledger had reached.
        """
        row = self._database.run(self._cursor, statement, **values).fetchone()
        if row is None and statement is not HEAD:
            return self.look(HEAD)
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
        return [account_of(row) for row in self.run(ACCOUNTS).fetchall()]

    def append(self, kind: str, body: Mapping[str, Any]) -> Entry:
        """Write the next entry of the log."""
        entry = follows(self.head, kind, canonical(body))
        self.change(_APPEND, seq=entry.seq, kind=entry.kind, body=entry.body, hash=entry.hash)
        self.head = entry.head
        self.entries.append(entry)
        return entry

    def follow(self, fingerprint: str, version: int) -> None:
        """From now on questions are priced under this policy."""
        self.change(_SET_POLICY, new_policy=fingerprint, new_version=version)

    @property
    def policy(self) -> tuple[str, int]:
        """The fingerprint and the version of the policy that the ledger follows."""
        row = self.run(LEDGER).fetchone()
        return str(row[3]), int(row[4])

    def limit(self, account: Account, most: Amount) -> None:
        """Move the total of an account."""
        self.payers.pop(account.name, None)
        self.change(_LIMIT, which=account.id, new_total=most.main, new_delta=most.delta)
        self.append("limit", {"id": account.id, "total": [most.main, most.delta]})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What the entries of one kind say."""
        rows = self.run(_OF_KIND, which=kind).fetchall()
        return [Entry(int(row[0]), str(row[1]), str(row[2]), str(row[3])).values() for row in rows]

    def question(self, key: str) -> dict[str, Any] | None:
        """The row of an asking."""
        row = self.run(_BY_KEY, asked=key).fetchone()
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
        if claim.size > LARGEST:
            return None
        most = LARGEST if claim.public else claim.size
        best = self.run(_BY_CANON, asked=claim.canon, least=claim.size, most=most).fetchone()
        mine = self._asked(claim.canon, claim.analyst)
        own = [row for row in mine if row["state"] == "done" and row["size"] >= claim.size]
        if own:
            return own[-1]
        if best is None:
            return None
        row = question_of(best)
        if claim.public:
            return row
        told = self._entry(int(row["seq"])).values()["info"]
        if told.get("price") != claim.info.get("price") or self._restored_since(row):
            return None
        return None if mine and self._root(row) in map(self._root, mine) else row

    def _restored_since(self, row: Mapping[str, Any]) -> bool:
        """Whether the ledger was restored from a backup after an asking."""
        return self.run(_LOST, after=row["seq"]).fetchone() is not None

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
        row = self.run(_ENTRY, which=seq).fetchone()
        return Entry(int(row[0]), str(row[1]), str(row[2]), str(row[3]))

    def _asked(self, canon: str, analyst: str) -> list[dict[str, Any]]:
        """An analyst's askings of a question, answered or not, the best last."""
        rows = self.run(_ASKED, asked=canon, failed=canon + FAILED, who=analyst).fetchall()
        return [question_of(row) for row in rows]

    def paid(self, canon: str, analyst: str) -> list[dict[str, Any]]:
        """The answers to a question that an analyst has paid for, the best last."""
        return [row for row in self._asked(canon, analyst) if row["state"] == "done"]

    def known(self, claim: Claim) -> Pending | Done:
        """What becomes of a key that exists."""
        known = question_of(self.run(_BY_KEY, asked=claim.key).fetchone())
        if known["digest"] != claim.digest:
            raise LedgerError(
                f"the key {claim.key!r} belongs to another question; ask with a new key. "
                "Nothing was charged"
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
        entry = self._entry(int(row["seq"]))
        of = str(entry.values().get("of", ""))
        return Pending(row["key"], bytes(row["noise"]), entry.seq, entry.hash, resumed=True, of=of)

    def done(self, row: Mapping[str, Any], hit: str) -> Done:
        """The answer of a row; of one that points at another, with this asking's own marks."""
        answer, entry = row["answer"], self._entry(int(row["seq"]))
        if answer.startswith("@"):
            pointed = self.question(answer[1:])
            if pointed is None or pointed["answer"] is None or pointed["answer"].startswith("@"):
                raise LedgerError("a stored answer is missing; `discreet ledger verify` says more")
            answer, hit = pointed["answer"], "other"
        told, canon = entry.values(), str(row["canon"]).removesuffix(FAILED)
        return Done(
            row["key"], answer, entry.seq, entry.hash, hit, row["analyst"], str(told["at"]),
            told["info"], canon,
        )  # fmt: skip

    def pointed(self, row: Mapping[str, Any]) -> str:
        """The key of the asking that holds the answer of a row: its own, or where it points."""
        answer = row["answer"]
        return str(answer[1:] if answer.startswith("@") else row["key"])

    def account(self, name: str) -> Account | None:
        """The account of a name, as it is now."""
        found = self.payers.get(name)
        if found is None:
            row = self.run(_PAYER, payer=name).fetchone()
            if row is None:
                return None
            found = self.payers[name] = account_of(row)
        return found

    def enough(self, charges: Sequence[Charge]) -> dict[str, Account]:
        """What the accounts will be when all have paid; refuses where one has not enough."""
        after: dict[str, Account] = {}
        for charge in charges:
            amount = charge.amount
            if amount.main < 0 or amount.delta < 0:
                raise ParameterError("amount", amount.main, "of a charge must not be negative")
            found = after.get(charge.account) or self.account(charge.account)
            if found is None or found.sealed or not amount.within(found.left):
                self._refuse(charge)
            after[charge.account] = replace(found, spent=found.spent + amount)
        return after

    def pay(self, charges: Sequence[Charge]) -> list[list[int]]:
        """Charge all accounts, or refuse and charge none; what each paid, for the log."""
        after = self.enough(charges)
        paid = []
        for charge in charges:
            number, amount = after[charge.account].id, charge.amount
            self.change(_PAY, payer=number, main=amount.main, failing=amount.delta)
            paid.append([number, amount.main, amount.delta])
        self.payers.update(after)
        for account in after.values():
            self.spent[account.id] = account.spent
        return paid

    def afford(self, charges: Sequence[Charge]) -> None:
        """Refuse what a stored answer serves for nothing where it could not be paid, either.

        Otherwise a refusal, or none, would show whether there is one.
        """
        for charge in charges:
            if not charge.on_hit:
                self.enough([charge])

    def _refuse(self, charge: Charge) -> NoReturn:
        account = self.account(charge.account)
        if account is None:
            raise LedgerError(
                f"the ledger has no account {charge.account!r}: register the policy. "
                "Nothing was charged"
            )
        words = f"{account.left.said(account.accounting)} is left"
        if account.sealed:
            words = "it was retired: no question is answered from the data any more"
        raise BudgetExceededError(
            f"this question costs {charge.amount.said(account.accounting)}, and of "
            f"{charge.account} {words}; nothing was charged",
            asked=charge.amount,
            left=account.left,
            could=None,
        )

    def fail(self, key: str) -> None:
        """Keep an answer from everybody but its asker: what was computed is of a failure."""
        self.change(_FAIL, asked=key)

    def finish(self, key: str, answer: str) -> None:
        """Put the answer of an asking that waits in, and its noise key out."""
        self.change(_FINISH, asked=key, told=answer)

    def put(
        self, claim: Claim, entry: Entry, *, state: str, noise: bytes | None, answer: str | None
    ) -> None:
        """Write the row of an asking."""
        self.change(
            _PUT, key=claim.key, digest=claim.digest, canon=claim.canon, size=claim.size,
            analyst=claim.analyst, state=state, noise=noise, answer=answer, seq=entry.seq,
        )  # fmt: skip


def question_of(row: Sequence[Any]) -> dict[str, Any]:
    """The row of an asking, by its names."""
    return dict(zip(_QUESTION, row, strict=True))


def account_of(row: Sequence[Any]) -> Account:
    """An account from its row."""
    made = dict(zip(_ACCOUNT, row, strict=True))
    try:
        return Account(
            int(made["id"]), str(made["name"]), made["accounting"],
            Amount(int(made["total"]), int(made["delta_total"])),
            Amount(int(made["spent"]), int(made["delta_spent"])), bool(made["sealed"]),
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise LedgerError("an account cannot be read: it was changed") from error
