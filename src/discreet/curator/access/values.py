"""Who somebody is, and what that lets them see: plain values.

Tested by tests/curator/access/test_values.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, get_args

__all__ = ["ROLES", "Credential", "KeyInfo", "Person", "Role", "Session"]

Role = Literal["owner", "analyst", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who was admitted.

    Attributes:
        name: as a policy names its analysts.
        role: what they are.
        datasets: what they may see; None for all that there is.
        expires: the last day on which they are let in.
        has_password: whether they can sign in on the page.
        disabled: whether they were shut out.
    """

    name: str
    role: Role
    datasets: tuple[str, ...] | None
    expires: date | None
    has_password: bool
    disabled: bool


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What may be known of a key; the key itself is known to who was given it.

    Attributes:
        id: names it.
        person: whose it is.
        label: what it is for.
        datasets: what it may see of what the person may; None for all of that.
        created: when it was made.
        expires: when it ends.
        revoked: when it was revoked; None if it was not.
        last_used: when it was used last, to the minute.
    """

    id: str
    person: str
    label: str
    datasets: tuple[str, ...] | None
    created: datetime
    expires: datetime
    revoked: datetime | None
    last_used: datetime | None


@dataclass(frozen=True, slots=True)
class Credential:
    """Somebody who showed who they are.

    Attributes:
        person: who.
        key: the id of the key that was shown; None for who signed in with a password.
        datasets: what may be seen: what the person may and the key may; None for all.
        policy: the fingerprint of the policy that the ledger followed when they showed it; "" where
            nobody looked.
        seen: when that was, by a clock that only goes on.
    """

    person: Person
    key: str | None
    datasets: tuple[str, ...] | None
    policy: str = field(default="", compare=False, repr=False)
    seen: float = field(default=0.0, compare=False, repr=False)

    def may_see(self, dataset: str) -> bool:
        """Whether a dataset is there for them."""
        return self.datasets is None or dataset in self.datasets


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is signed in.

    Attributes:
        credential: who.
        csrf: what a page of theirs has to send along with everything that changes something.
        expires: when they have to sign in again, however busy they are.
    """

    credential: Credential
    csrf: str = field(repr=False)
    expires: datetime
