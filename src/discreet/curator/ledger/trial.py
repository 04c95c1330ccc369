"""Whether a ledger can be written, found out by writing: a row that is nobody's, and is taken out.

It is a session of nobody: the log says nothing of sessions, no token has its name, and should it
stay, the next who signs in sweeps it out. It takes a few pages of its own, as a charge does, so
that a disk on which no charge has room has none for it. Nothing is charged.
Tested by tests/curator/ledger/test_trial.py
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert

from discreet.curator.ledger import tables as t

if TYPE_CHECKING:
    from discreet.curator.ledger.ledger import Ledger

__all__ = ["try_writing"]

_PUT = insert(t.session)
_TAKE = delete(t.session).where(t.session.c.mac == bindparam("which"))
_LONG_AGO = "1970-01-01T00:00:00+00:00"
_SIZE = 16 * 1024
"""Bytes: more than what is usually written for one question."""


def try_writing(ledger: Ledger) -> None:
    """Write something, and take it out again; LedgerError if that cannot be.

    Args:
        ledger: an open ledger.
    """
    which = f"trial {uuid.uuid4().hex}"
    ledger.jot(
        _PUT, mac=which, person="", created=_LONG_AGO, used=_LONG_AGO, seal=" " * _SIZE
    )  # fmt: skip
    ledger.jot(_TAKE, which=which)
