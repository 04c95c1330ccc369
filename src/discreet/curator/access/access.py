"""People, keys and sessions, kept in the ledger's database. See the package for what is promised.

Tested by tests/curator/access/test_access.py, tests/curator/access/test_sessions.py
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.curator.access import statements as s
from discreet.curator.access.passwords import Passwords
from discreet.curator.access.secret import Pepper, read_secret, secret_path
from discreet.curator.access.tally import Tally
from discreet.curator.access.values import ROLES, Credential, KeyInfo, Person, Role, Session
from discreet.curator.ledger.admitted import KIND, scope_text, sealed, shut
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.writing import Writing
from discreet.curator.policy.names import OWNER, PLAIN, is_plain
from discreet.errors import InputTypeError, LedgerError, ParameterError
from discreet.noise.source import new_key
from discreet.query.words import LONGEST

__all__ = ["Access"]

DAYS, MOST_DAYS = 90, 366
"""How long a key lives: unless that is said, and at most."""
LASTS, RESTS = timedelta(hours=12), timedelta(minutes=60)
"""How long a session lives: at most, and without being used."""
PAUSE = timedelta(minutes=1)
"""How often it is written down that something was used."""
CUT, MANY = 200, 20
"""Letters of a text in a note, and how many values one has."""
UNKNOWN = "(unknown)"
_KEY = re.compile(r"dk_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{64}", re.ASCII)


def _now() -> datetime:
    return datetime.now(UTC)


class Access:
    """Who may sign in at a ledger.

    Args:
        ledger: an open ledger; it may be shared by threads.
        secret: of `read_secret`; LedgerError if the ledger's keys were made under another one.
        clock: what time it is, for expiry and the log.
    """

    def __init__(
        self, ledger: Ledger, secret: bytes, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._ledger, self._clock = ledger, clock or _now
        self._pepper = Pepper(secret)
        self._passwords = Passwords(self._pepper)
        self._tally = Tally()
        self._touching: set[str] = set()
        self._nobody = new_key().hex()
        self._recognise()

    def __repr__(self) -> str:
        return f"<Access to the ledger {self._ledger.uid[:8]}>"

    @classmethod
    def at(
        cls,
        ledger: Ledger,
        secret: Path | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> Access:
        """With the secret of `read_secret`, from the environment or a file.

        The file is made for a ledger that knows no secret yet, and never for another.

        Args:
            ledger: an open ledger.
            secret: the file; beside the head file if nothing is said.
            clock: what time it is.
        """
        new = not ledger.glance(s.SECRET)
        file = secret or secret_path(ledger.head_path)
        return cls(ledger, read_secret(file, make=new), clock=clock)

    @classmethod
    def anew(
        cls,
        ledger: Ledger,
        secret: bytes,
        *,
        by: str,
        clock: Callable[[], datetime] | None = None,
    ) -> Access:
        """Go on under a new secret: all keys are revoked, all passwords forgotten."""
        with ledger.writing() as on:
            on.name = "secret"
            at = _said((clock or _now)())
            on.run(s.FORGET_SECRET)
            shut(on, at, "a new secret")
            _know(on, Pepper(secret).mac("check", ledger.uid), at, by)
        return cls(ledger, secret, clock=clock)

    def _recognise(self) -> None:
        """Compare the secret with that of the ledger's keys; the first one becomes it."""
        mac = self._pepper.mac("check", self._ledger.uid)
        rows = self._ledger.glance(s.SECRET)
        if not rows:
            with self._ledger.writing() as on:
                on.name = "secret"
                rows = on.run(s.SECRET).fetchall()
                if not rows:
                    _know(on, mac, self._at(), OWNER)
                    return
        if not _equal(str(rows[0][1]), mac):
            raise LedgerError(
                "the keys and passwords of this ledger were made under another secret: bring that "
                "one back (DISCREET_SECRET, or the .secret file beside the head file). If it is "
                "lost, `discreet people reset` goes on with a new one; all keys and passwords are "
                "made anew then"
            )

    # people

    @property
    def people(self) -> list[Person]:
        """All who were ever admitted, by name."""
        return people_of(self._ledger)

    def add(
        self,
        name: str,
        role: Role,
        *,
        password: str | None = None,
        datasets: Sequence[str] | None = None,
        expires: date | None = None,
        by: str,
    ) -> Person:
        """Admit somebody; who was shut out before is admitted anew, with nothing from before.

        Args:
            name: theirs; for an analyst as in the policy.
            role: "owner", "analyst" or "auditor".
            password: for signing in on the page; without one there are only keys.
            datasets: what they may see; None for all.
            expires: the last day on which they are let in.
            by: who says so.
        """
        _check_person(name, role, expires)
        scope = _scope(datasets)
        hashed = None if password is None else self._passwords.hash(password)
        until = None if expires is None else expires.isoformat()
        with self._ledger.writing() as on:
            on.name = "person"
            there = {one.name: one for one in map(s.person_of, on.run(s.PEOPLE).fetchall())}
            _check_new(name, there)
            row = {
                "who": name, "is_a": role, "sees": scope_text(scope), "until": until,
                "hashed": hashed,
            }  # fmt: skip
            on.run(s.READMIT if name in there else s.ADMIT, **row)
            told: dict[str, Any] = {"name": name, "role": role, "datasets": scope}
            self._tell(on, "add", by, **told, expires=until, password=sealed(hashed))
        return Person(name, role, scope, expires, hashed is not None, disabled=False)

    def set_password(self, name: str, password: str, *, by: str) -> None:
        """Give somebody a new password; all their sessions end."""
        hashed = self._passwords.hash(password)
        with self._ledger.writing() as on:
            on.name = "password"
            if self._person(on, name).disabled:
                raise ParameterError("name", name, "was shut out; add them anew")
            on.run(s.PASSWORD, who=name, hashed=hashed)
            on.run(s.END_ALL, who=name)
            self._tell(on, "password", by, name=name, password=sealed(hashed))

    def disable(self, name: str, *, by: str) -> None:
        """Shut somebody out: their sessions end and their keys are revoked, at once."""
        with self._ledger.writing() as on:
            on.name = "disable"
            if self._person(on, name).disabled:
                return
            at = self._at()
            on.run(s.DISABLE, who=name)
            on.run(s.END_ALL, who=name)
            on.run(s.REVOKE_ALL, who=name, at=at)
            self._tell(on, "disable", by, at=at, name=name)

    def _person(self, on: Writing, name: str) -> Person:
        row = on.run(s.PERSON, who=_plain(name)).fetchone()
        if row is None:
            raise ParameterError("name", name, "is nobody here; `discreet people list` tells them")
        return s.person_of(row)

    # keys

    def make_key(
        self,
        person: str,
        *,
        datasets: Sequence[str] | None = None,
        days: int = DAYS,
        label: str = "",
        by: str,
    ) -> str:
        """A new key; this is the only time that it is seen.

        Args:
            person: whose.
            datasets: what it may see of what they may; None for all of that.
            days: how long it lives.
            label: what it is for.
            by: who says so.
        """
        if type(days) is not int or not 1 <= days <= MOST_DAYS:
            raise ParameterError("days", days, f"must be a whole number, 1 to {MOST_DAYS}")
        if len(label) > LONGEST or not label.isprintable():
            raise ParameterError("label", label, f"must be at most {LONGEST} plain letters")
        scope = _scope(datasets)
        which, secret = new_key()[:6].hex(), new_key().hex()
        mac = self._pepper.mac("key", f"{which}:{secret}")
        now = self._now()
        with self._ledger.writing() as on:
            on.name = "key"
            whose = self._person(on, person)
            if whose.disabled:
                raise ParameterError("person", person, "was shut out; add them anew")
            own = Credential(whose, None, whose.datasets)
            for name in scope or ():
                if not own.may_see(name):
                    raise ParameterError("datasets", name, f"is nothing that {person} may see")
            row = {
                "id": which, "person": person, "label": label, "datasets": scope_text(scope),
                "mac": mac, "created": _said(now), "expires": _said(now + timedelta(days=days)),
                "revoked": None, "last_used": None,
            }  # fmt: skip
            on.run(s.MAKE, **row)
            told = {"id": which, "person": person, "label": label, "datasets": scope}
            self._tell(
                on, "key", by, at=_said(now), **told, expires=row["expires"], mac=sealed(mac)
            )
        return f"dk_{which}_{secret}"

    def keys(self, person: str | None = None) -> list[KeyInfo]:
        """All keys that were ever made, or those of one person; the oldest first."""
        return keys_of(self._ledger, person)

    def revoke(self, key_id: str, *, by: str) -> None:
        """End a key at once."""
        with self._ledger.writing() as on:
            on.name = "revoke"
            row = on.run(s.KEY, which=_plain(key_id)).fetchone()
            if row is None:
                raise ParameterError("key", None, "is unknown; `discreet key list` tells the ids")
            if s.key_of(row).revoked is not None:
                return
            at = self._at()
            on.run(s.REVOKE, which=key_id, at=at)
            self._tell(on, "revoke", by, at=at, id=key_id)

    def by_key(self, text: str) -> Credential | None:
        """Who shows this key; None if it is nobody's, expired or revoked, or they are shut out."""
        found = _KEY.fullmatch(text)
        if found is None:
            return None
        which, secret = found.groups()
        given = self._pepper.mac("key", f"{which}:{secret}")
        seen = time.monotonic()
        rows = self._ledger.glance(s.BY_KEY, which=which)
        stored = str(rows[0][0]) if rows else self._nobody
        if not _equal(stored, given) or not rows:
            return None
        _, expires, revoked, used, scope, policy, *row = rows[0]
        row[s.HASHED] = None if row[s.HASHED] is None else ""  # remembered by nobody
        person, limited, until = s.whose(tuple(row), scope, expires)
        now = self._now()
        if revoked is not None or now >= until or not _let_in(person, now):
            return None
        self._touch(s.USED, used, now, which)
        return Credential(person, which, _both(person.datasets, limited), str(policy), seen)

    def _touch(self, statement: Any, used: str | None, now: datetime, which: str) -> None:
        """Write down that something was used; once a minute, and it may fail.

        Who writes waits for other writers and for the disk. An event loop does not: a thread does.
        """
        if used is not None and now - s.time_of(used) < PAUSE:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._jot(statement, now, which)
            return
        if which not in self._touching:
            self._touching.add(which)
            loop.run_in_executor(None, self._jot, statement, now, which)

    def _jot(self, statement: Any, now: datetime, which: str) -> None:
        try:
            with suppress(LedgerError):
                before = _said(now - PAUSE)
                self._ledger.jot(statement, now=_said(now), before=before, which=which)
        finally:
            self._touching.discard(which)

    # sessions

    def login(self, name: str, password: str) -> tuple[str, Session] | None:
        """Sign in: a token of 256 bits, new each time, and the session; None for any reason not to.

        Who is unknown, shut out or expired, has no password or another one, takes the same way.
        """
        tried = _plain(name)
        now = self._now()
        rows = self._ledger.glance(s.PERSON, who=tried)
        person = s.person_of(rows[0]) if rows else None
        stored = rows[0][s.HASHED] if person is not None and _let_in(person, now) else None
        if self._passwords.fits(stored, password):
            return self._begin(tried, str(stored))
        times = self._tally.failed(tried, now)
        if times:
            self.note("login failed", who=UNKNOWN if person is None else tried, times=times)
        return None

    def _begin(self, name: str, stored: str) -> tuple[str, Session] | None:
        """A session for who showed the password whose hash this is, if it still is the one."""
        token, now = new_key().hex(), self._now()
        created = _said(now)
        with self._ledger.writing() as on:
            on.name = "login"
            row = on.run(s.PERSON, who=name).fetchone()
            if row is None or row[s.HASHED] != stored or not _let_in(s.person_of(row), now):
                return None
            on.run(s.SWEEP, ended=_said(now - LASTS), rested=_said(now - RESTS))
            on.run(
                s.BEGIN, mac=self._pepper.mac("session", token), person=name, created=created,
                used=created, seal=self._seal(token, name, created),
            )  # fmt: skip
            failed = self._tally.passed(name)
            told = {"failed_before": failed} if failed else {}
            on.append(KIND, _note("login", name, told, created))
        return token, self._session(token, s.person_of(row), s.time_of(created))

    def session(self, token: str) -> Session | None:
        """Who is signed in with this token; None if nobody is, or no longer."""
        if _TOKEN.fullmatch(token) is None:
            return None
        mac = self._pepper.mac("session", token)
        rows = self._ledger.glance(s.SESSION, which=mac)
        if not rows:
            return None
        created, used, seal, *row = rows[0]
        person, now = s.person_of(row), self._now()
        began = s.time_of(created)
        if now >= began + LASTS or now >= s.time_of(used) + RESTS or not _let_in(person, now):
            return None
        if not _equal(str(seal), self._seal(token, person.name, created)):
            return None
        self._touch(s.BUSY, used, now, mac)
        return self._session(token, person, began)

    def logout(self, token: str) -> None:
        """End a session."""
        known = self.session(token)
        if known is None:
            return
        with self._ledger.writing() as on:
            on.name = "logout"
            on.run(s.END, which=self._pepper.mac("session", token))
            on.append(KIND, _note("logout", known.credential.person.name, {}, self._at()))

    def _session(self, token: str, person: Person, began: datetime) -> Session:
        credential = Credential(person, None, person.datasets)
        return Session(credential, self._pepper.mac("csrf", token), began + LASTS)

    def _seal(self, token: str, name: str, created: str) -> str:
        """What ties a session to its person: no row serves another."""
        return self._pepper.mac("seal", f"{token}:{name}:{created}")

    # the log

    def note(self, what: str, *, who: str, **more: Any) -> None:
        """Write an entry of the audit log; texts are cut, and only plain values are taken.

        Who calls it sees to it that it is not called without limit.
        """
        with self._ledger.writing() as on:
            on.name = "note"
            on.append(KIND, _note(what, who, more, self._at()))

    def _tell(self, on: Writing, act: str, by: str, at: str = "", **told: Any) -> None:
        on.append(KIND, {"act": act, **told, "by": _cut(by), "at": at or self._at()})

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)

    def _at(self) -> str:
        return _said(self._now())


def people_of(ledger: Ledger) -> list[Person]:
    """All who were ever admitted, by name; no secret is needed."""
    return [s.person_of(row) for row in ledger.glance(s.PEOPLE)]


def keys_of(ledger: Ledger, person: str | None = None) -> list[KeyInfo]:
    """All keys that were ever made, or those of one person; no secret is needed."""
    found = [s.key_of(row) for row in ledger.glance(s.KEYS)]
    return found if person is None else [key for key in found if key.person == person]


def _know(on: Writing, mac: str, at: str, by: str) -> None:
    on.run(s.KNOW, id=1, mac=mac)
    on.append(KIND, {"act": "secret", "secret": sealed(mac), "by": _cut(by), "at": at})


def _equal(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def _let_in(person: Person, now: datetime) -> bool:
    return not person.disabled and (person.expires is None or now.date() <= person.expires)


def _both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What both may see."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(name for name in one if name in other)


def _plain(name: object) -> str:
    """A name to be looked up; "" for what is none, and nobody's."""
    return name if isinstance(name, str) and is_plain(name) else ""


def _check_person(name: str, role: str, expires: object) -> None:
    if not _plain(name):
        raise ParameterError("name", name, f"must be a plain name: {PLAIN}")
    if name.casefold() == OWNER:
        raise ParameterError("name", name, "is the owner's own name in the ledger; say another one")
    if role not in ROLES:
        raise ParameterError("role", role, f"must be one of {', '.join(ROLES)}")
    if expires is not None and type(expires) is not date:
        raise ParameterError("expires", expires, "must be a date: the last day")


def _check_new(name: str, there: Mapping[str, Person]) -> None:
    known = there.get(name)
    if known is not None and not known.disabled:
        raise ParameterError("name", name, "was added before; disable them first")
    twin = next((one for one in there if one.casefold() == name.casefold() and one != name), None)
    if twin is not None:
        problem = f"differs from {twin!r} by upper and lower case only; say another one"
        raise ParameterError("name", name, problem)


def _scope(datasets: Sequence[str] | None) -> tuple[str, ...] | None:
    if datasets is None:
        return None
    if isinstance(datasets, str) or not datasets:
        problem = "must be the names of some; leave it out for all"
        raise ParameterError("datasets", datasets, problem)
    for name in datasets:
        if not _plain(name):
            raise ParameterError("datasets", name, "must be names of datasets in the policy")
    return tuple(sorted(set(datasets)))


def _said(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def _cut(text: str) -> str:
    return str(text)[:CUT]


def _note(what: str, who: str, more: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The body of a note: short, and of plain values."""
    if len(more) > MANY:
        raise InputTypeError(f"a note has at most {MANY} values")
    told: dict[str, Any] = {}
    for name, value in more.items():
        if isinstance(value, str):
            told[_cut(name)] = _cut(value)
        elif value is None or (isinstance(value, int) and abs(value) < 1 << 63):
            told[_cut(name)] = value
        else:
            raise InputTypeError(f"a note's {name} must be a text, an integer, true, false or None")
    return {"what": _cut(what), "who": _cut(who), "more": told, "at": at}
