"""What is said to the database about charges: every statement of a transaction.

Those of a charge and its answer are `Placed`: their values go by place, and they are compiled once.
The others are run by name.
Tested by tests/curator/ledger/test_statements.py, tests/curator/ledger/test_ledger.py
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Text,
    bindparam,
    case,
    column,
    exists,
    func,
    insert,
    or_,
    select,
    table,
    update,
)

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.compiled import Placed

KINDS = ("reserve", "hit")
"""Of entries that charge a question: one that is answered from the data, and one that an answer
which is there serves, and that points at it.
"""
_FIRST: Any = t.entry.c.kind == KINDS[0]
_ASKING: Any = or_(*(t.entry.c.kind == kind for kind in KINDS))
_LAST = select(t.entry.c.seq).order_by(t.entry.c.seq.desc()).limit(1)
HEAD = Placed(_LAST.add_columns(t.entry.c.hash))
SET_POLICY = (
    update(t.ledger)
    .where(t.ledger.c.id == 1)
    .values(policy=bindparam("new_policy"), policy_version=bindparam("new_version"))
)
LEDGER = select(t.ledger)
_ENTRY = (t.entry.c.seq, t.entry.c.kind, t.entry.c.body, t.entry.c.hash)
_LOG = tuple(column.name for column in _ENTRY)
APPEND = Placed(insert(t.entry).values({name: bindparam(name) for name in _LOG}), *_LOG)
CHARGE = Placed(insert(t.entry), *t.entry.c.keys())
"""An entry that charges a question, with the question."""
LOST = (
    select(t.entry.c.seq)
    .where(t.entry.c.seq > bindparam("after"))
    .where(t.entry.c.kind == "lost")
    .limit(1)
)
ENTRY = select(*_ENTRY).where(t.entry.c.seq == bindparam("which"))
HASH_AT = select(t.entry.c.hash).where(t.entry.c.seq == bindparam("at"))
BY_KEY = select(t.question).where(t.question.c.key == bindparam("asked"))

LOOK = Placed(
    HEAD.statement.add_columns(
        select(t.ledger.c.policy).scalar_subquery(),
        exists().where(t.question.c.key == bindparam("asked")),
        exists()
        .where(t.entry.c.canon == bindparam("canon"))
        .where(_FIRST)
        .where(t.entry.c.size >= bindparam("least"))
        .where(t.entry.c.state == "done"),
    ),
    "asked", "canon", "least",
)  # fmt: skip
"""For a charge: the policy, whether the key is known, whether there may be an answer already."""
_OF_CANON = select(*t.asked).where(t.entry.c.canon == bindparam("asked"))
BY_CANON = (
    _OF_CANON.where(_FIRST)
    .where(t.entry.c.size >= bindparam("least"))
    .where(t.entry.c.size <= bindparam("most"))
    .where(t.entry.c.state == "done")
    .order_by(t.entry.c.size.desc(), t.entry.c.seq)
    .limit(1)
)
ASKED = (
    _OF_CANON.where(_ASKING)
    .where(t.entry.c.analyst == bindparam("who"))
    .order_by(t.entry.c.size, t.entry.c.seq.desc())
)
OWN_BEST = (
    _OF_CANON.where(t.entry.c.kind == bindparam("kind"))
    .where(t.entry.c.analyst == bindparam("who"))
    .where(t.entry.c.size >= bindparam("least"))
    .where(t.entry.c.state == "done")
    .order_by(t.entry.c.size.desc(), t.entry.c.seq)
    .limit(1)
)
"""Of one kind of asking: so its first row is the first of the index."""
OWN = (
    select(t.question.c.seq)
    .where(t.question.c.key == bindparam("asked"))
    .where(t.question.c.analyst == bindparam("who"))
)
_SIZES = (
    select(t.entry.c.size)
    .where(t.entry.c.canon == bindparam("asked"))
    .where(t.entry.c.state == "done")
    .order_by(t.entry.c.size.desc())
    .limit(1)
)
BEST = _SIZES.where(_FIRST)
BEST_OF = select(
    *(
        _SIZES.where(t.entry.c.kind == kind)
        .where(t.entry.c.analyst == bindparam("who"))
        .scalar_subquery()
        for kind in KINDS
    )
)
"""An analyst's: no row of another is looked at, so that the time that it takes tells of none."""
ASKED_BEFORE = (
    select(t.entry.c.seq)
    .where(t.entry.c.canon == bindparam("asked"))
    .where(_ASKING)
    .where(t.entry.c.analyst == bindparam("who"))
    .where(t.entry.c.seq < bindparam("before"))
    .limit(1)
)
_SAID: Any = func.replace(t.entry.c.body, bindparam("words"), "")
DONE_BEFORE = (
    select(t.entry.c.seq)
    .where(t.entry.c.seq > bindparam("charged"))
    .where(t.entry.c.seq < bindparam("before"))
    .where(t.entry.c.kind == "done")
    .where(t.entry.c.body != _SAID)
    .order_by(t.entry.c.seq)
    .limit(1)
)
"""The entry of an answer between two others: it says these words. Mostly it is soon found, since
most questions are answered soon.
"""
FINER = (
    select(t.entry.c.key, t.entry.c.answer)
    .where(t.entry.c.canon == bindparam("asked"))
    .where(_FIRST)
    .where(t.entry.c.size > bindparam("least"))
    .where(t.entry.c.state == "done")
    .order_by(t.entry.c.size, t.entry.c.seq)
)
RESERVED = select(t.question).where(t.question.c.state == "reserved").order_by(t.question.c.seq)
_WAITING = select(
    _LAST.scalar_subquery(),
    select(t.entry.c.hash).order_by(t.entry.c.seq.desc()).limit(1).scalar_subquery(),
    t.entry.c.seq,
    t.entry.c.analyst,
    t.entry.c.hash,
    t.entry.c.state == "reserved",
).where(t.entry.c.key == bindparam("asked"))
WAITING = Placed(_WAITING, "asked")
"""For an answer: who asked, the entry of the charge, and whether it waits."""
FINISH = Placed(
    update(t.entry)
    .where(t.entry.c.seq == bindparam("charged"))
    .where(t.entry.c.key == bindparam("asked"))
    .where(t.entry.c.state == "reserved")
    .values(state="done", noise=None, answer=bindparam("told")),
    "told", "charged", "asked",
)  # fmt: skip
"""The answer is put in and the noise key out, of a question that waits under its charge."""
FAIL = (
    update(t.entry)
    .where(t.entry.c.key == bindparam("asked"))
    .values(digest=t.entry.c.digest + t.FAILED)
)
_MAIN: Any = bindparam("main")
_DELTA: Any = bindparam("failing")
_ENOUGH = (
    (t.account.c.sealed == 0)
    & (t.account.c.spent <= t.account.c.total - _MAIN)
    & (t.account.c.delta_spent <= t.account.c.delta_total - _DELTA)
)
PAY = Placed(
    update(t.account)
    .where(t.account.c.id == bindparam("payer"))
    .values(
        spent=case((_ENOUGH, t.account.c.spent + _MAIN), else_=-1),
        delta_spent=t.account.c.delta_spent + _DELTA,
    ),
    "main", "failing", "main", "failing", "payer",
)  # fmt: skip
"""Where there is not enough, the database refuses: nothing spent is below 0."""
PAYER = select(t.account).where(t.account.c.name == bindparam("payer"))
ACCOUNTS = select(t.account).order_by(t.account.c.id)
STRAY = (
    select(t.entry.c.seq)
    .where(t.entry.c.key.is_(None))
    .where(or_(*(t.entry.c[name].is_not(None) for name in t.question.c.keys()[1:-1])))
    .order_by(t.entry.c.seq)
    .limit(1)
)
"""A row without a key that says something of a question all the same."""
_MASTER = table("sqlite_master", column("type", Text), column("name", Text), column("sql", Text))
SCHEMA = select(_MASTER.c.type, _MASTER.c.name, _MASTER.c.sql)
"""What a file holds."""
QUESTIONS = select(t.question).order_by(t.question.c.seq)
ENTRIES = select(*_ENTRY).where(t.entry.c.seq > bindparam("after")).order_by(t.entry.c.seq)


LIMIT = (
    update(t.account)
    .where(t.account.c.id == bindparam("which"))
    .values(total=bindparam("new_total"), delta_total=bindparam("new_delta"))
)
OF_KIND = select(*_ENTRY).where(t.entry.c.kind == bindparam("which")).order_by(t.entry.c.seq)
MARKS = select(t.entry.c.body).where(t.entry.c.kind == "data").order_by(t.entry.c.seq)
LARGEST = 2**63 - 1
"""What an integer of the database holds; no account has as much."""
