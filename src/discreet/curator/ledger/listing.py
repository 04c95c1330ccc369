"""The ledger as lists that people read: what happened, and what was answered.

Tested by tests/curator/ledger/test_listing.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, or_, select

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.chain import Entry, read_body
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.values import Account
from discreet.errors import LedgerError

__all__ = ["OWNER", "Line", "lines_of", "paid_by_askers", "released"]

OWNER = "owner"
"""What lists call who asks without an analyst's name."""
_SELDOM = ("create", "account", "policy", "data", "note")
"""What is only told with everything."""
_STORED = {"answered": "stored answer", "failed": "stored answer, failed"}
_SEEN = {"failed": "answered", "stored answer, failed": "stored answer"}
_DONE = (
    t.question.c.state == "done",
    or_(bindparam("anybody") == 1, t.question.c.analyst == bindparam("who")),
)
_MANY = select(func.count()).select_from(t.question).where(*_DONE)
_PAGE = (
    select(
        t.question.c.key, t.question.c.digest, t.question.c.analyst, t.entry.c.seq, t.entry.c.body
    )
    .join(t.entry, t.entry.c.seq == t.question.c.seq)
    .where(*_DONE)
    .order_by(t.question.c.seq)
    .offset(bindparam("since"))
    .limit(bindparam("most"))
)


def released(
    ledger: Ledger, analyst: str | None = None, *, most: int, before: int | None = None
) -> tuple[list[dict[str, Any]], int | None]:
    """The answered questions, and what was found for them, the newest first, a page at a time: of
    one analyst, or of all. Their prices add up to what was charged.

    Each with its key, question, dataset, block, price, time, entry, asker, and whether it is the
    answer of a failure. Pages are numbered by these answers themselves, not by the ledger's
    entries, which would tell how much others ask.

    Args:
        ledger: an open ledger.
        analyst: whose; None for all.
        most: how many.
        before: the second value of the page before this one; None for the first page.
    """
    whose = {"anybody": int(analyst is None), "who": analyst or ""}
    many = int(ledger.glance(_MANY, **whose)[0][0])
    until = many if before is None else min(before, many)
    since = max(until - most, 0)
    rows = ledger.glance(_PAGE, **whose, since=since, most=until - since)
    found = []
    for key, digest, who, seq, body in rows:
        told = read_body(body, f"the ledger's entry {seq}")
        info = told["info"]
        found.append({
            "key": key, "sql": info.get("sql") or f"found: {info['find']}",
            "dataset": info["dataset"], "block": info["block"],
            "cost": info["cost"], "at": told["at"], "entry": int(seq), "analyst": who or OWNER,
            "failed": str(digest).endswith(t.FAILED),
        })  # fmt: skip
    return found[::-1], since or None


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened, as it is listed.

    Attributes:
        entry: its number in the log.
        at: when, in UTC.
        who: an analyst, or the owner.
        what: the question, or what the owner did.
        dataset: what was asked; with its block.
        cost: what the people's budget was charged, in words; empty for none.
        allowance: what the analyst's allowance was charged, in words; empty for none.
        state: "answered", "failed" (answered as if the table were empty, and the analyst does not
            know), "waiting" (charged, not answered: ask again with its key), "stored
            answer", "stored answer, failed", or what the owner did.
        release: the key of the asking; `discreet show` takes it.
    """

    entry: int
    at: str
    who: str
    what: str
    dataset: str
    cost: str
    allowance: str
    state: str
    release: str

    @property
    def seen(self) -> str:
        """The state for whoever must not know of failures."""
        return _SEEN.get(self.state, self.state)


def lines_of(
    entries: Iterable[Entry], accounts: Sequence[Account], *, everything: bool = False
) -> list[Line]:
    """The log as a list: questions, and what the owner did to budgets.

    Args:
        entries: the whole log.
        accounts: all accounts.
        everything: also the making of the ledger, its accounts, the policies it followed, and
            what was noted, such as who signed in.
    """
    known = {one.id: one for one in accounts}
    found: list[Line] = []
    told = [(entry, entry.values()) for entry in entries]
    answered = {
        values["key"]: "failed" if values.get("failed") else "answered"
        for entry, values in told
        if entry.kind == "done"
    }
    for entry, values in told:
        with _reading(entry):
            line = _line(entry, values, known, answered)
        if line is not None and (everything or line.state not in _SELDOM):
            found.append(line)
    return found


def paid_by_askers(entries: Iterable[Entry], accounts: Sequence[Account]) -> dict[int, str]:
    """What whoever asked has paid for some questions, in words, by their entries; or nothing.

    That is what an analyst's allowance was charged, and for an owner what the people's budget was.
    Of an analyst's question nothing else is put into words: the time would tell whether the people
    had paid for an equal one before.
    """
    known = {one.id: one for one in accounts}
    found: dict[int, str] = {}
    for entry in entries:
        with _reading(entry):
            told = entry.values()
            found[entry.seq] = _charged(told["charges"], known, of_analyst=told["analyst"] != "")
    return found


@contextmanager
def _reading(entry: Entry) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"the ledger's entry {entry.seq} cannot be read: it was changed, or an account "
            "was. `discreet ledger verify` says more"
        ) from error


def _line(
    entry: Entry, values: dict[str, Any], known: dict[int, Account], answered: dict[str, str]
) -> Line | None:
    charges = values.get("charges", ())
    cost, allowance = (_charged(charges, known, of_analyst=whose) for whose in (False, True))
    at = values.get("at", "")
    if entry.kind in ("reserve", "hit"):
        info = values["info"]
        what = info.get("sql") or f"(search for {info.get('find')})"
        part = f"{info.get('dataset', '')}{'/' + info['block'] if info.get('block') else ''}"
        state = answered.get(values["key"], "waiting")
        if "of" in values:
            state = _STORED.get(state, state)
        who = values["analyst"] or OWNER
        return Line(entry.seq, at, who, what, part, cost, allowance, state, values["key"])
    if entry.kind == "done":
        return None
    if entry.kind == "access":
        who = values.get("by") or values.get("who") or OWNER
        state = "access" if "by" in values else "note"
        return Line(entry.seq, at, who, _access(values), "", "", "", state, "")
    what = _act(entry.kind, values, known)
    state = "same data" if values.get("same") else entry.kind
    return Line(entry.seq, at, OWNER, what, "", cost, allowance, state, "")


def _act(kind: str, values: dict[str, Any], known: dict[int, Account]) -> str:
    """What the owner did, in words."""
    if kind in ("account", "limit", "seal"):
        one = known[int(values["id"])]
        if kind == "seal":
            return f"{one.name} was retired"
        total = Amount(*values["total"]).said(one.accounting)
        return f"{one.name} may spend {total}"
    if kind == "policy":
        return f"policy version {values['version']}"
    if kind == "data" and values["same"]:
        return f"changed files, the same rows: {', '.join(values['same'])}"
    if kind == "data":
        noted = [f"{source} is version {version}" for source, version, _ in values["marks"]]
        return f"files noted: {', '.join(noted)}"
    return {"create": "the ledger was made", "lost": "restored from a backup"}.get(kind, kind)


def _access(values: dict[str, Any]) -> str:
    """What was done to people and keys, or noted of them, in words."""
    scope = values.get("datasets")
    sees = "" if scope is None else f", for {', '.join(scope)}"
    match values.get("act"):
        case "add":
            return f"{values['name']} was added as {values['role']}{sees}"
        case "password":
            return f"{values['name']} got a new password"
        case "disable":
            return f"{values['name']} was shut out"
        case "key":
            label = f" ({values['label']})" if values["label"] else ""
            until = values["expires"][:10]
            return f"key {values['id']}{label} of {values['person']} until {until}{sees}"
        case "revoke":
            return f"key {values['id']} was revoked"
        case "shut":
            return f"all keys revoked, all passwords forgotten: {values['why']}"
        case "secret":
            return "a new secret of keys and passwords"
        case _:
            more = ", ".join(f"{name} {value}" for name, value in values["more"].items())
            return f"{values['what']}{': ' if more else ''}{more}"


def _charged(
    charges: Iterable[Sequence[int]], known: dict[int, Account], *, of_analyst: bool
) -> str:
    """What the people's budgets paid, or what the analyst's allowance did."""
    paid: list[str] = []
    for number, main, delta in charges:
        one = known[number]
        if ("@" in one.name) == of_analyst and (main or delta):
            paid.append(Amount(main, delta).said(one.accounting))
    return ", ".join(paid)
