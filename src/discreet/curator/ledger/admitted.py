"""Who may sign in, as the log says it: people, their keys, and the secret behind both.

Every change is an entry of the kind "access" with an "act"; an entry of that kind without one is a
note, and changes nothing. What must stay secret (the hash of a password, the keyed hash of a key)
is in the tables only; the log holds a salted digest of it, which shows a change and tells nothing.

A backup that is put back does not know who was shut out since. So restoring a ledger revokes all
keys, forgets all passwords and ends all sessions, in one entry; the owner admits people anew.
Tested by tests/curator/ledger/test_admitted.py
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, select, update

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.chain import new_salt
from discreet.curator.ledger.writing import Writing
from discreet.curator.policy.names import OWNER
from discreet.errors import LedgerError

__all__ = ["KIND", "Admitted", "Tables", "compare", "follow", "sealed", "shut"]

KIND = "access"
PEOPLE = select(t.person).order_by(t.person.c.name)
KEYS = select(t.key).order_by(t.key.c.created, t.key.c.id)
SECRET = select(t.secret)
_FORGET = update(t.person).where(t.person.c.password.is_not(None)).values(password=None)
_REVOKE = update(t.key).where(t.key.c.revoked.is_(None)).values(revoked=bindparam("at"))
_END = delete(t.session)
_PERSON, _KEY = tuple(t.person.c.keys()), tuple(t.key.c.keys())


class Tables(NamedTuple):
    """The rows of the tables, in the order of their columns."""

    people: Sequence[Sequence[Any]]
    keys: Sequence[Sequence[Any]]
    secret: Sequence[Sequence[Any]]


@dataclass(slots=True)
class Admitted:
    """What the log says that the tables should hold, by column; and how many entries said it.

    Instead of what must stay secret there is its salted digest.
    """

    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    secret: list[str] | None = None
    entries: int = 0


def sealed(text: str | None) -> list[str] | None:
    """A salted digest of something secret, for the log."""
    if text is None:
        return None
    salt = new_salt()
    return [salt, _digest(salt, text)]


def _digest(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}:{text}".encode()).hexdigest()


def _opens(seal: Sequence[str] | None, text: Any) -> bool:
    """Whether a digest is that of a text."""
    if seal is None or text is None:
        return seal is None and text is None
    return isinstance(text, str) and _digest(seal[0], text) == seal[1]


def scope_text(datasets: Sequence[str] | None) -> str | None:
    """A list of datasets, as a table holds it."""
    return None if datasets is None else json.dumps(list(datasets), separators=(",", ":"))


def shut(on: Writing, at: str, why: str) -> bool:
    """Revoke all keys, forget all passwords, end all sessions; whether there were people."""
    if not on.run(PEOPLE).fetchall():
        return False
    on.run(_FORGET)
    on.run(_REVOKE, at=at)
    on.run(_END)
    on.append(KIND, {"act": "shut", "why": why, "by": OWNER, "at": at})
    return True


# the log, followed


def follow(made: Admitted, values: Mapping[str, Any]) -> None:
    """One entry more; LedgerError where it contradicts those before."""
    made.entries += 1
    match values.get("act"):
        case None:
            str(values["what"]), str(values["who"])
        case "add":
            known = made.people.get(values["name"])
            _insist(known is None or known["disabled"], f"{values['name']!r} is added twice")
            made.people[values["name"]] = {
                "name": values["name"],
                "role": values["role"],
                "datasets": scope_text(values["datasets"]),
                "expires": values["expires"],
                "password": values["password"],
                "disabled": 0,
            }
        case "password":
            made.people[values["name"]]["password"] = values["password"]
        case "disable":
            made.people[values["name"]]["disabled"] = 1
            _revoke(made, values["at"], lambda key: key["person"] == values["name"])
        case "key":
            _make(made, values)
        case "revoke":
            _insist(made.keys[values["id"]]["revoked"] is None, "a key is revoked twice")
            made.keys[values["id"]]["revoked"] = values["at"]
        case "secret":
            made.secret = list(values["secret"])
        case "shut":
            for person in made.people.values():
                person["password"] = None
            _revoke(made, values["at"], lambda _: True)
        case act:
            raise LedgerError(f"the ledger says something unknown of people: {act!r}")


def _make(made: Admitted, values: Mapping[str, Any]) -> None:
    _insist(not made.people[values["person"]]["disabled"], "a key is made for who is shut out")
    _insist(values["id"] not in made.keys, f"the key {values['id']!r} is made twice")
    made.keys[values["id"]] = {
        "id": values["id"],
        "person": values["person"],
        "label": values["label"],
        "datasets": scope_text(values["datasets"]),
        "mac": values["mac"],
        "created": values["at"],
        "expires": values["expires"],
        "revoked": None,
    }


def _revoke(made: Admitted, at: str, which: Any) -> None:
    for key in made.keys.values():
        if key["revoked"] is None and which(key):
            key["revoked"] = at


def _insist(holds: object, words: str) -> None:
    if not holds:
        raise LedgerError(f"the ledger contradicts itself: {words}")


# the tables, compared


def compare(made: Admitted, there: Tables) -> None:
    """Find any difference between the log and the tables; LedgerError names it."""
    _compare("the person", made.people, [dict(zip(_PERSON, row, strict=True)) for row in there[0]])
    _compare("the key", made.keys, [dict(zip(_KEY, row, strict=True)) for row in there[1]])
    macs = [row[1] for row in there.secret]
    if len(macs) > 1 or not _opens(made.secret, macs[0] if macs else None):
        raise LedgerError("what tells the secret of people's keys was changed")


def _compare(
    what: str, made: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> None:
    for row in rows:
        name = next(iter(row.values()))
        wanted = made.get(name)
        if wanted is None:
            raise LedgerError(f"{what} {name!r} is not in the log")
        for column, value in wanted.items():
            secret = column in ("password", "mac")
            same = _opens(value, row[column]) if secret else _same(value, row[column])
            if not same:
                raise LedgerError(f"{what} {name!r} is not as the log says: {column} was changed")
    if len(rows) != len(made):
        missing = set(made) - {next(iter(row.values())) for row in rows}
        raise LedgerError(f"{what} {missing.pop()!r} was deleted")


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
