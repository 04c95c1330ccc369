"""Whether a ledger can be believed: its log is rebuilt, and everything else compared with it.

`verified` finds any change, deletion, swap or truncation of the log up to a head that was exported
or is in the head file (by the hash chain), and any difference between the log and the tables:
a charge without entry, a total that was moved, an answer that was changed, a noise key that stayed
or was changed; a trigger, a view, a lost or changed index of a file; a person, a role, a scope, a
password, a key that was changed, added, deleted or taken back.
Tested by tests/curator/ledger/test_verify.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.admitted import Admitted, compare, follow
from discreet.curator.ledger.amounts import Amount, told_apart
from discreet.curator.ledger.chain import START, Entry, Head, checked, noise_mark
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.marks import marks_of
from discreet.curator.ledger.statements import LEDGER, STRAY
from discreet.curator.ledger.values import Account
from discreet.errors import LedgerError

__all__ = ["Asked", "Rebuilt", "Verified", "rebuilt", "verified"]


_ASKED = ("digest", "canon", "size", "analyst")


@dataclass(slots=True)
class Asked:
    """What the log says about a question: how it was asked, its state, its answer's hash."""

    asked: tuple[Any, ...]
    state: str
    answer: str | None = None
    noise: str | None = field(default=None, compare=False)
    """The mark of its noise key, while it waits; early logs have none."""


@dataclass(slots=True)
class Rebuilt:
    """What the log says that the tables should hold."""

    accounts: dict[int, Account] = field(default_factory=dict)
    questions: dict[str, Asked] = field(default_factory=dict)
    policy: tuple[str, int] = ("", 0)
    access: Admitted = field(default_factory=Admitted)
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """A ledger that can be believed: how much of it there is.

    Attributes:
        entries: of the log.
        questions: that were charged.
        waiting: of these, not answered yet.
        head: the last entry.
        access: entries about who may sign in, and who did.
        people: who were ever admitted.
        keys: that were ever made.
        exported: the number of the entry whose head was exported before, if one was handed in.
    """

    entries: int
    questions: int
    waiting: int
    head: Head
    access: int = 0
    people: int = 0
    keys: int = 0
    exported: int | None = None


def rebuilt(entries: Iterable[Entry], made: Rebuilt | None = None) -> Rebuilt:
    """Follow the log; LedgerError where it contradicts itself.

    Args:
        entries: the log.
        made: what was rebuilt of the entries before these, if they are not the first.
    """
    made = Rebuilt() if made is None else made
    for entry in checked(entries, made.head or START):
        try:
            _follow(made, entry)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(f"the ledger's entry {entry.seq} cannot be read") from error
        made.head = entry.head
    return made


def _follow(made: Rebuilt, entry: Entry) -> None:
    values = entry.values()
    match entry.kind:
        case "account":
            total, none = Amount(*values["total"]), Amount(0)
            number = int(values["id"])
            made.accounts[number] = Account(
                number, values["name"], values["accounting"], total, none, sealed=False
            )
        case "limit":
            _change(made, int(values["id"]), total=Amount(*values["total"]))
        case "seal":
            _change(made, int(values["id"]), sealed=True)
        case "policy":
            made.policy = (values["fingerprint"], int(values["version"]))
        case "reserve" | "hit" | "lost":
            for number, main, delta in values["charges"]:
                account = made.accounts[number]
                _change(made, number, spent=account.spent + Amount(main, delta))
            _ask(made, entry, values)
        case "done":
            _answer(made, entry, values)
        case "access":
            follow(made.access, values)
        case "data" | "create":
            marks_of([{"marks": (), **values}])
        case kind:
            raise LedgerError(f"the ledger's entry {entry.seq} is of an unknown kind {kind!r}")


def _ask(made: Rebuilt, entry: Entry, values: dict[str, Any]) -> None:
    if entry.kind == "lost":
        return
    if values["key"] in made.questions:
        raise LedgerError(f"entry {entry.seq} charges a question that was charged before")
    told = {name: values[name] for name in _ASKED}
    if (canon := told["canon"]).endswith(t.FAILED):  # as logs say it that are older than version 8
        told |= {"canon": canon.removesuffix(t.FAILED), "digest": told["digest"] + t.FAILED}
    asked = Asked((*told.values(), entry.seq), "reserved", noise=values.get("noise"))
    if entry.kind == "hit" or "of" in values:
        of = made.questions.get(values["of"])
        if of is None or of.state != "done":
            raise LedgerError(f"entry {entry.seq} gives an answer that was not there")
        known = dict(zip(_ASKED, of.asked, strict=False))
        if known["canon"] != told["canon"] or known["size"] < told["size"]:
            raise LedgerError(f"entry {entry.seq} gives the answer to another question")
    if entry.kind == "hit":
        asked.answer = _hash(f"@{values['of']}")
    made.questions[values["key"]] = asked


def _answer(made: Rebuilt, entry: Entry, values: dict[str, Any]) -> None:
    question = made.questions.get(values["key"])
    if question is None or question.state != "reserved":
        raise LedgerError(f"entry {entry.seq} answers a question that was not charged")
    if question.answer not in (None, str(values["answer"])):
        raise LedgerError(f"entry {entry.seq} gives another answer than was there")
    question.state, question.answer = "done", str(values["answer"])
    if values.get("failed"):
        told = dict(zip((*_ASKED, "seq"), question.asked, strict=True))
        question.asked = tuple({**told, "digest": told["digest"] + t.FAILED}.values())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _change(made: Rebuilt, number: int, **what: Any) -> None:
    account = made.accounts[number]
    values = {name: getattr(account, name) for name in Account.__slots__} | what
    changed = Account(**values)
    if not changed.spent.within(changed.total) and "total" not in what:
        raise LedgerError(f"the account {changed.name!r} was charged more than it had")
    made.accounts[number] = changed


def verified(ledger: Ledger, *, head: Head | None = None) -> Verified:
    """Check all of a ledger; LedgerError says what does not fit.

    Args:
        ledger: an open ledger.
        head: one that was exported before; the log has to contain it, anywhere if it has no number.
    """
    _check_parts(ledger.parts())
    before = ledger.policy
    entries, accounts, questions = ledger.everything()
    made = rebuilt(entries)
    exported = None if head is None else _found(head, entries)
    _compare_ledger(entries[:1], ledger.glance(LEDGER))
    _compare_accounts(made, accounts)
    for (seq,) in ledger.glance(STRAY):
        raise LedgerError(
            f"the ledger's entry {seq} says something of a question that was not asked: it was "
            "changed"
        )
    try:
        _compare_questions(made, questions)
    except (AttributeError, TypeError) as error:  # SQLite keeps what it is given, text or not
        raise LedgerError("a question cannot be read: it was changed") from error
    if made.policy not in (before, ledger.policy):  # it may change while this looks
        raise LedgerError("the ledger follows another policy than its log says")
    waiting = sum(question.state == "reserved" for question in made.questions.values())
    last = made.head
    assert last is not None  # noqa: S101 - an open ledger has a first entry
    later, there = ledger.admitted(last.seq)
    found = Verified(len(entries), len(made.questions), waiting, last, exported=exported)
    access = rebuilt(later, made).access
    compare(access, there)
    return replace(found, access=access.entries, people=len(access.people), keys=len(access.keys))


def _check_parts(parts: Sequence[tuple[str, str, str]]) -> None:
    """A file acts on nothing by itself, and is looked up as it was made."""
    if not parts:
        return
    for kind, name, _ in parts:
        if kind in ("trigger", "view"):
            raise LedgerError(f"the file of the ledger has a {kind} {name!r}: it was changed")
    there = {name: made for kind, name, made in parts if kind == "index"}
    for name, made in _indexes().items():
        if name not in there:
            raise LedgerError(f"the file of the ledger has lost its index {name!r}: it was changed")
        if _plain(there[name]) != _plain(made):
            raise LedgerError(f"the file of the ledger has another index {name!r}: it was changed")


@cache
def _indexes() -> dict[str, str]:
    """The indexes of a file, each with the statement that makes it."""
    from sqlalchemy.dialects.sqlite import dialect  # noqa: PLC0415 - with a database
    from sqlalchemy.schema import CreateIndex  # noqa: PLC0415

    every = [index for made in t.metadata.sorted_tables for index in made.indexes]
    return {str(one.name): str(CreateIndex(one).compile(dialect=dialect())) for one in every}


def _plain(statement: str) -> str:
    """A statement without what may be written otherwise: quotes of names, spaces, case."""
    return re.sub(r'[\s"`\[\]]', "", statement).casefold().replace("ifnotexists", "")


def _compare_ledger(first: Sequence[Entry], rows: Sequence[Any]) -> None:
    if len(rows) != 1 or rows[0][0] != 1:
        raise LedgerError("the ledger's own row is not number 1, or not the only one")
    _, uid, version, *_ = rows[0]
    if [entry.values().get("uid") for entry in first] != [uid]:
        raise LedgerError("the ledger has another name than its log says: it was changed")
    if version != t.VERSION:
        raise LedgerError(f"the ledger's tables are of version {t.VERSION}, and it says {version}")


def _found(head: Head, entries: Sequence[Entry]) -> int:
    """The number of the entry with an exported head; LedgerError if there is none."""
    for entry in entries[head.seq - 1 : head.seq] if head.seq else entries:
        if entry.hash == head.hash:
            return entry.seq
    if head.seq:
        raise LedgerError(
            f"the exported head {head.seq} is not in this ledger: it was changed, or taken back "
            "to an older state"
        )
    raise LedgerError(
        f"no entry of this ledger has the exported hash {head.hash[:12]}...: it is of another "
        "ledger, or this one was changed or taken back to an older state"
    )


def _compare_accounts(made: Rebuilt, accounts: Sequence[Account]) -> None:
    for account in accounts:
        wanted = made.accounts.get(account.id)
        if wanted is None:
            raise LedgerError(f"the account {account.name!r} is not in the log")
        if wanted != account:
            log, table = _told_apart(wanted, account)
            raise LedgerError(
                f"the account {wanted.name!r} was changed: the log says {log}, the table {table}"
            )
    if len(accounts) != len(made.accounts):
        missing = set(made.accounts) - {account.id for account in accounts}
        raise LedgerError(f"the account {made.accounts[missing.pop()].name!r} was deleted")


def _told_apart(one: Account, other: Account) -> tuple[str, str]:
    """Two accounts of one number in words: what differs."""
    told: list[tuple[str, str]] = []
    if one.accounting == other.accounting:
        for what, each in (("spent", "spent"), ("in all", "total")):
            mine, others = getattr(one, each), getattr(other, each)
            if mine != others:
                words = told_apart(mine, others, one.accounting)
                told.append((f"{words[0]} {what}", f"{words[1]} {what}"))
    else:
        told.append((f"that it is accounted for as {one.accounting!r}", repr(other.accounting)))
    if one.name != other.name:
        told.append((f"that its name is {one.name!r}", repr(other.name)))
    if one.sealed != other.sealed:
        words = "that it is retired", "that it is not"
        told.append(words if one.sealed else words[::-1])
    return " and ".join(log for log, _ in told), " and ".join(table for _, table in told)


def _compare_questions(made: Rebuilt, questions: Sequence[dict[str, Any]]) -> None:
    for question in questions:
        key, answer = question["key"], question["answer"]
        asked = tuple(question[name] for name in (*_ASKED, "seq"))
        found = Asked(asked, question["state"], None if answer is None else _hash(answer))
        if made.questions.get(key) != found:
            raise LedgerError(f"the question {key!r} is not as the log says: it was changed")
        if (question["noise"] is not None) != (question["state"] == "reserved"):
            raise LedgerError(f"the question {key!r} has a noise key where it should not")
        mark, noise = made.questions[key].noise, question["noise"]
        if noise is not None and mark is not None and noise_mark(bytes(noise)) != mark:
            raise LedgerError(f"the noise key of the question {key!r} was changed")
    if len(questions) != len(made.questions):
        missing = set(made.questions) - {question["key"] for question in questions}
        raise LedgerError(f"the question {missing.pop()!r} was deleted")
