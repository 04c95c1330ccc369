"""What is asked of the tables of people, keys and sessions, and what their rows mean.

A row that was changed so that it cannot be read is LedgerError: it lets nobody in.
Tested by tests/curator/access/test_statements.py
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, bindparam, delete, insert, or_, select, update

from discreet.curator.access.values import ROLES, KeyInfo, Person
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.admitted import KEYS, PEOPLE, SECRET
from discreet.errors import LedgerError

__all__ = ["KEYS", "PEOPLE", "SECRET", "key_of", "person_of", "scope_of", "time_of", "whose"]

_who: BindParameter[str] = bindparam("who")
_which: BindParameter[str] = bindparam("which")
HASHED = tuple(t.person.c.keys()).index("password")
"""The place of a password's hash in the row of a person."""

PERSON = select(t.person).where(t.person.c.name == _who)
_ROW = {
    "role": bindparam("is_a"),
    "datasets": bindparam("sees"),
    "expires": bindparam("until"),
    "password": bindparam("hashed"),
    "disabled": 0,
}
ADMIT = insert(t.person).values(name=_who, **_ROW)
READMIT = update(t.person).where(t.person.c.name == _who).values(**_ROW)
PASSWORD = update(t.person).where(t.person.c.name == _who).values(password=bindparam("hashed"))
DISABLE = update(t.person).where(t.person.c.name == _who).values(disabled=1)

KEY = select(t.key).where(t.key.c.id == _which)
MAKE = insert(t.key)
REVOKE = (
    update(t.key)
    .where(t.key.c.id == _which)
    .where(t.key.c.revoked.is_(None))
    .values(revoked=bindparam("at"))
)
REVOKE_ALL = (
    update(t.key)
    .where(t.key.c.person == _who)
    .where(t.key.c.revoked.is_(None))
    .values(revoked=bindparam("at"))
)
BY_KEY = (
    select(
        t.key.c.mac, t.key.c.expires, t.key.c.revoked, t.key.c.last_used, t.key.c.datasets,
        select(t.ledger.c.policy).scalar_subquery(), *t.person.c,
    )
    .join_from(t.key, t.person, t.key.c.person == t.person.c.name)
    .where(t.key.c.id == _which)
)  # fmt: skip
"""A key, the policy that the ledger follows, and whose key it is."""
USED = (
    update(t.key)
    .where(t.key.c.id == _which)
    .where(or_(t.key.c.last_used.is_(None), t.key.c.last_used <= bindparam("before")))
    .values(last_used=bindparam("now"))
)

BEGIN = insert(t.session)
SESSION = (
    select(t.session.c.created, t.session.c.used, t.session.c.seal, *t.person.c)
    .join_from(t.session, t.person, t.session.c.person == t.person.c.name)
    .where(t.session.c.mac == _which)
)
"""A session and whose it is."""
BUSY = (
    update(t.session)
    .where(t.session.c.mac == _which)
    .where(t.session.c.used <= bindparam("before"))
    .values(used=bindparam("now"))
)
END = delete(t.session).where(t.session.c.mac == _which)
END_ALL = delete(t.session).where(t.session.c.person == _who)
SWEEP = delete(t.session).where(
    or_(t.session.c.created <= bindparam("ended"), t.session.c.used <= bindparam("rested"))
)

KNOW = insert(t.secret)
FORGET_SECRET = delete(t.secret)


def person_of(row: Sequence[Any]) -> Person:
    """A person from a row."""
    name, role, scope, expires, password, disabled = row
    if role not in ROLES or disabled not in (0, 1):
        raise _unreadable()
    try:
        until = None if expires is None else date.fromisoformat(expires)
    except (TypeError, ValueError):
        raise _unreadable() from None
    return Person(name, role, scope_of(scope), until, password is not None, bool(disabled))


@lru_cache(maxsize=256)
def whose(
    row: tuple[Any, ...], scope: str | None, expires: str
) -> tuple[Person, tuple[str, ...] | None, datetime]:
    """Whose a key is, what it may see of what they may, and when it ends; read once while its rows
    say the same.

    Args:
        row: of the person, without the hash of a password.
        scope: of the key.
        expires: of the key.
    """
    return person_of(row), scope_of(scope), time_of(expires)


def key_of(row: Sequence[Any]) -> KeyInfo:
    """What may be known of a key, from its row."""
    which, person, label, scope, _, created, expires, revoked, used = row
    return KeyInfo(
        which, person, label, scope_of(scope), time_of(created), time_of(expires),
        None if revoked is None else time_of(revoked), None if used is None else time_of(used),
    )  # fmt: skip


def scope_of(text: str | None) -> tuple[str, ...] | None:
    """A list of datasets, from a table."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        raise _unreadable() from None
    if not isinstance(found, list):
        raise _unreadable()
    return tuple(map(str, found))


@lru_cache(maxsize=256)
def time_of(text: str) -> datetime:
    """A time, from a table."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise _unreadable() from None
    if found.tzinfo is None:
        raise _unreadable()
    return found


def _unreadable() -> LedgerError:
    return LedgerError(
        "a person, key or session cannot be read: it was changed; `discreet ledger verify` says "
        "more"
    )
