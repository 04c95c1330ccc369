"""What happened lately, read from the end of the log: a view costs the same in a ledger of any age.

Entries are read backwards, a bounded number of them for each view; whether a question was answered
is looked up by its key; and what was spent in all is what the accounts say, from which the last
steps are counted back. Whether the log can be believed is another question, which takes all of it
(`discreet.curator.ledger.verify`), and is asked apart.
Tested by tests/server/test_history.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import bindparam, func, or_, select

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.chain import Entry
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.listing import OWNER, Line, lines_of, paid_by_askers
from discreet.curator.ledger.spending import Step, spending
from discreet.curator.ledger.values import Account

__all__ = [
    "LOOKED_AT", "Spent", "answers_before", "entries_after", "entries_before", "lately_spent",
    "newest", "paid_for",
]  # fmt: skip

LOOKED_AT = 2_000
"""So many entries are read for one view, at most."""
_AT_ONCE = 400
_KEYS = 50
_ENTRY = select(t.entry.c.seq, t.entry.c.kind, t.entry.c.body, t.entry.c.hash)
_BEFORE = (
    _ENTRY.where(t.entry.c.seq < bindparam("before"))
    .order_by(t.entry.c.seq.desc())
    .limit(bindparam("most"))
)
_AFTER = (
    _ENTRY.where(t.entry.c.seq > bindparam("after"))
    .order_by(t.entry.c.seq)
    .limit(bindparam("most"))
)
_STATES = select(t.question.c.key, t.question.c.digest).where(
    t.question.c.state == "done",
    t.question.c.key.in_([bindparam(f"k{i}") for i in range(_KEYS)]),
)

_SOME = _ENTRY.where(t.entry.c.seq.in_([bindparam(f"s{i}") for i in range(_KEYS)]))
_ONE = t.question.alias("one")
_OLDER = (
    select(func.count())
    .select_from(t.question)
    .where(
        t.question.c.state == "done",
        or_(bindparam("anybody") == 1, t.question.c.analyst == bindparam("who")),
        t.question.c.seq
        < select(_ONE.c.seq).where(_ONE.c.key == bindparam("asked")).scalar_subquery(),
    )
)


def entries_after(ledger: Ledger, after: int, most: int) -> list[Entry]:
    """So many entries behind one, in their order."""
    rows = ledger.glance(_AFTER, after=after, most=most)
    return [Entry.of(row) for row in rows]


def entries_before(ledger: Ledger, before: int | None, most: int) -> list[Entry]:
    """So many entries before one, or the last ones, in their order."""
    until = ledger.head.seq + 1 if before is None else before
    rows = ledger.glance(_BEFORE, before=until, most=most)
    found = [Entry.of(row) for row in rows]
    return found[::-1]


def answers_before(ledger: Ledger, key: str, analyst: str | None) -> int:
    """How many answers are older than one: of an analyst, or of all."""
    whose = {"anybody": int(analyst is None), "who": analyst or ""}
    return int(ledger.glance(_OLDER, asked=key, **whose)[0][0])


def paid_for(ledger: Ledger, entries: Sequence[int]) -> dict[int, str]:
    """What whoever asked has paid for some questions, in words, by their entries; or nothing."""
    accounts = list(ledger.accounts.values())
    found: dict[int, str] = {}
    for start in range(0, len(entries), _KEYS):
        some = entries[start : start + _KEYS]
        wanted = {f"s{i}": some[i] if i < len(some) else 0 for i in range(_KEYS)}
        rows = ledger.glance(_SOME, **wanted)
        found |= paid_by_askers([Entry.of(row) for row in rows], accounts)
    return found


def newest(
    ledger: Ledger,
    fits: Callable[[Line], bool],
    *,
    most: int,
    before: int | None = None,
    everything: bool = False,
) -> tuple[list[Line], int | None]:
    """What happened and fits, the newest first; and before which entry to look on.

    Where little fits there are few lines, and one looks on from there: the work is bounded.

    Args:
        ledger: an open ledger.
        fits: which lines are wanted; a question's state is not known yet when it is asked.
        most: how many lines.
        before: only what is before this entry.
        everything: also what is seldom told, as in `lines_of`.
    """
    accounts = list(ledger.accounts.values())
    found: list[Entry] = []
    for _ in range(0, LOOKED_AT, _AT_ONCE):
        entries = entries_before(ledger, before, _AT_ONCE)
        if not entries:
            return _told(ledger, found, accounts), None
        told = {
            one.entry for one in lines_of(entries, accounts, everything=everything) if fits(one)
        }
        for one in reversed(entries):
            before = one.seq
            if one.seq in told:
                found.append(one)
            if len(found) == most:
                return _told(ledger, found, accounts), before if before > 1 else None
    return _told(ledger, found, accounts), before


def _told(ledger: Ledger, entries: Sequence[Entry], accounts: Sequence[Account]) -> list[Line]:
    """Entries as lines, each question with what became of it."""
    asked = [one.values()["key"] for one in entries if one.kind in ("reserve", "hit")]
    done = [
        Entry(0, "done", json.dumps({"key": key, "failed": failed}), "")
        for key, failed in _answered(ledger, asked).items()
    ]
    return lines_of([*entries, *done], accounts, everything=True)


def _answered(ledger: Ledger, keys: Sequence[str]) -> dict[str, bool]:
    """Which of some questions were answered; whether that is the answer of a failure."""
    found: dict[str, bool] = {}
    different = list(dict.fromkeys(keys))
    for start in range(0, len(different), _KEYS):
        some = different[start : start + _KEYS]
        wanted = {f"k{i}": some[i] if i < len(some) else "" for i in range(_KEYS)}
        for key, digest in ledger.glance(_STATES, **wanted):
            found[str(key)] = str(digest).endswith(t.FAILED)
    return found


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent over time.

    Attributes:
        steps: as `discreet.curator.ledger.spending` tells them, as far back as was looked.
        since: the time of the first entry that was looked at; empty where that is all.
    """

    steps: list[Step]
    since: str


def lately_spent(ledger: Ledger, accounts: Sequence[Account], *, most: int = LOOKED_AT) -> Spent:
    """The last steps of every line, counted back from what the accounts say.

    What the owner asked is in no account of its own: where the log is longer than what was looked
    at, that line begins at 0.

    Args:
        ledger: an open ledger.
        accounts: all of its accounts.
        most: how many entries are read.
    """
    entries = entries_before(ledger, None, most)
    steps = spending(entries, accounts)
    if not entries or entries[0].seq == 1:
        return Spent(steps, "")
    seen = {(step.of, step.name, step.accounting): step.spent for step in steps}
    earlier = {key: _final(*key, accounts, seen=spent) - spent for key, spent in seen.items()}
    moved = [
        replace(step, spent=step.spent + earlier[step.of, step.name, step.accounting])
        for step in steps
    ]
    times = (one.values().get("at", "") for one in entries)
    return Spent(moved, next((at for at in times if at), ""))


def _final(
    of: str, name: str, accounting: str, accounts: Sequence[Account], *, seen: Amount
) -> Amount:
    """What the accounts say of a line; what was seen of it, where they do not know it."""
    if of == "asker" and name == OWNER:
        return seen
    wanted = [
        one.spent
        for one in accounts
        if one.accounting == accounting
        and (one.name == name if of == "family" else one.name.endswith(f"@{name}"))
    ]
    return sum(wanted, Amount(0))
