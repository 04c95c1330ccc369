"""Who may sign in: people with a role, their keys and their sessions.

Guarantee. Nobody is let in without a password or a key that was given to them, that has not expired
and was not revoked, by a person who was not shut out; each request looks into the database, so that
a revocation holds from the next one on, at every server. What is stored opens nothing: of keys and
sessions only keyed hashes, of passwords argon2id over a keyed hash. Every change is an entry of the
ledger's hash chain, and `discreet.curator.ledger.verify` rebuilds people and keys from it. Deny by
default: an unknown role, a row that cannot be read, a secret that is another one let nobody in.
Assumes. The secret is kept from who reads the database; HMAC-SHA256 is a pseudo-random function.
Not promised. Who can write to the database can let themselves in until the next verification.

A name that is tried and does not exist takes the same time and gives the same answer as a wrong
password. The clock decides about expiry, and about nothing that is charged.
Tested by tests/curator/access/test_access.py, tests/curator/access/test_sessions.py
"""

from __future__ import annotations

from discreet.curator.access.access import Access, keys_of, people_of
from discreet.curator.access.passwords import new_password
from discreet.curator.access.secret import read_secret, secret_path
from discreet.curator.access.values import Credential, KeyInfo, Person, Role, Session

__all__ = [
    "Access",
    "Credential",
    "KeyInfo",
    "Person",
    "Role",
    "Session",
    "keys_of",
    "new_password",
    "people_of",
    "read_secret",
    "secret_path",
]
