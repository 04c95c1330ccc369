"""Passwords: argon2id over a keyed hash, so that a stolen database alone allows no guessing.

A check costs 64 MiB and about half a second, whoever is asked for: where there is no password the
same work is done on one that nobody knows. At most `_AT_ONCE` are made at the same time.
Tested by tests/curator/access/test_passwords.py
"""

from __future__ import annotations

import base64
import threading
import unicodedata
from typing import Any

from discreet.curator.access.secret import Pepper
from discreet.engines.cores import everywhere
from discreet.errors import ParameterError
from discreet.noise.source import new_key

__all__ = ["Passwords", "new_password"]

MEMORY, ROUNDS, LANES = 64 * 1024, 3, 4
"""KiB, passes and threads of one check."""
SHORTEST, LONGEST = 10, 1024
"""Letters at least, bytes at most."""
_AT_ONCE = threading.BoundedSemaphore(2)
_SALT, _HASH = 16, 32


class Passwords:
    """Hashes of passwords under a pepper."""

    def __init__(self, pepper: Pepper) -> None:
        self._pepper = pepper
        self._nobody = _unknown()

    def __repr__(self) -> str:
        return "<Passwords>"

    def hash(self, password: str) -> str:
        """What is stored; ParameterError for a password that is too short or too long."""
        given: object = password
        if not isinstance(given, str) or len(given) < SHORTEST:
            raise ParameterError("password", None, f"must have at least {SHORTEST} characters")
        try:
            size = len(given.encode())
        except UnicodeError:
            raise ParameterError("password", None, "must be made of letters") from None
        if size > LONGEST:
            raise ParameterError("password", None, f"must have at most {LONGEST} bytes")
        low = _argon2()
        with _AT_ONCE, everywhere():  # its lanes are threads
            made: bytes = low.hash_secret(
                self._spiced(given), new_key()[:_SALT], time_cost=ROUNDS, memory_cost=MEMORY,
                parallelism=LANES, hash_len=_HASH, type=low.Type.ID,
            )  # fmt: skip
        return made.decode("ascii")

    def fits(self, stored: str | None, password: str) -> bool:
        """Whether a password is the stored one; None is nobody's, and takes as long."""
        low = _argon2()
        hashed = self._nobody if stored is None else stored
        from argon2.exceptions import Argon2Error, InvalidHashError  # noqa: PLC0415 - as below

        with _AT_ONCE, everywhere():
            try:
                same = low.verify_secret(hashed.encode(), self._spiced(password), low.Type.ID)
            except (Argon2Error, InvalidHashError):
                same = False
        return bool(same) and stored is not None

    def _spiced(self, password: str) -> bytes:
        """One text for all ways to type the same letters, under the pepper."""
        return self._pepper.mac("password", unicodedata.normalize("NFC", password)).encode()


def _argon2() -> Any:
    try:
        from argon2 import low_level  # noqa: PLC0415 - only who sets or checks a password needs it
    except ImportError:
        problem = 'needs the extra: pip install "discreet[server]"'
        raise ParameterError("a password", None, problem) from None
    return low_level


def _unknown() -> str:
    """A hash of the usual cost, of a password that nobody knows."""
    salt, made = (base64.b64encode(new_key()[:size]).decode() for size in (_SALT, _HASH))
    costs = f"m={MEMORY},t={ROUNDS},p={LANES}"
    return f"$argon2id$v=19${costs}${salt.rstrip('=')}${made.rstrip('=')}"


def new_password() -> str:
    """A password of 120 random bits: four words of six letters and digits."""
    text = base64.b32encode(new_key()[:15]).decode().lower()
    return "-".join(text[place : place + 6] for place in range(0, len(text), 6))
