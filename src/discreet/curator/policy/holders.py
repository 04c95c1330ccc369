"""Which other ledgers in a folder hold a budget for the same data.

A ledger knows its own families; of another one beside it, it knows nothing. Whoever makes a new one
for data that are held already is told so: what is asked under both adds up, and no book says it.
Only files that lie there are looked at, and nothing in them is changed.
Tested by tests/curator/policy/test_holders.py
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from discreet.curator.policy.model import Policy
from discreet.curator.policy.promised import promised
from discreet.curator.policy.registration import overlapping

__all__ = ["held_elsewhere"]

_POLICIES = "SELECT body FROM discreet_entry WHERE kind = 'policy' ORDER BY seq DESC LIMIT 1"


def held_elsewhere(policy: Policy) -> list[str]:
    """The names of other ledgers in the folder of a policy, whose policies speak of its sources."""
    own, meet = Path(policy.ledger.address).resolve(), overlapping(policy.folder)
    wanted = [address for address, _ in promised(policy.canonical()).protected]
    return [
        other.name
        for other in sorted(policy.folder.glob("*.ledger"))
        if other.is_file()
        and other.resolve() != own
        and any(meet(one, its) for its in _sources(other) for one in wanted)
    ]


def _sources(ledger: Path) -> Iterator[str]:
    """What the last policy of a ledger speaks of; nothing where that cannot be read."""
    with (
        suppress(sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, OSError),
        closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as database,
    ):
        row = database.execute(_POLICIES).fetchone()
        if row is not None:
            for address in json.loads(row[0])["sources"]:
                yield address if "://" in address else str(ledger.parent / address)
