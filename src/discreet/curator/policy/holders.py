"""Which other ledgers beside a policy or its data hold a budget for the same data.

A ledger knows its own families; of another one beside it, it knows nothing. Whoever makes a new one
for data that are held already, or goes on with a copy of one, is told so: what is asked under both
adds up, and no book says it. Only files that lie there are looked at, and nothing in them is
changed.
Tested by tests/curator/policy/test_holders.py
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from discreet.curator.policy.model import Policy, is_address
from discreet.curator.policy.promised import promised
from discreet.curator.policy.registration import overlapping
from discreet.curator.policy.sources import folder_of, of_address

__all__ = ["held_elsewhere", "was_renamed"]

_POLICIES = "SELECT body FROM discreet_entry WHERE kind = 'policy' ORDER BY seq DESC"


def held_elsewhere(policy: Policy) -> list[str]:
    """Other ledgers in the folders of a policy and its data, whose policies spoke of its sources.

    Each by its path from the policy.
    """
    own, meet = Path(policy.ledger.address).resolve(), overlapping(policy.folder)
    wanted = [address for address, _ in promised(policy.canonical()).protected]
    folders = {policy.folder, *map(_beside, _files_of(wanted, policy.folder))}
    return [
        os.path.relpath(other, policy.folder)
        for other in sorted(other for folder in folders for other in folder.glob("*.ledger"))
        if other.is_file()
        and other.resolve() != own
        and any(meet(one, its) for its in _sources(other) for one in wanted)
    ]


def was_renamed(policy: Policy) -> bool:
    """Whether the ledger of a policy had another name under the policy before: it may be a copy."""
    if is_address(policy.ledger.address):
        return False
    told = [one["ledger"]["address"] for one in _policies(Path(policy.ledger.address))]
    return len(told) > 1 and told[0] != told[1]


def _files_of(addresses: Iterable[str], folder: Path) -> Iterator[Path]:
    for address in addresses:
        source, _ = of_address(address)
        if not is_address(source):
            yield folder / source


def _beside(file: Path) -> Path:
    """Where the ledger of a bare file lies."""
    return file.resolve().parent


def _sources(ledger: Path) -> set[str]:
    """What the policies of a ledger spoke of, as far as they can be read."""
    found = set()
    for said in _policies(ledger):
        folder = folder_of(ledger.absolute(), said["ledger"]["address"]) or ledger.parent
        for address, _ in promised(said).protected:
            found.add(address if is_address(address) else str(folder / address))
    return found


def _policies(ledger: Path) -> list[Mapping[str, Any]]:
    """The policies of a ledger, the last one first; none where they cannot be read."""
    found: list[Mapping[str, Any]] = []
    with (
        suppress(sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, OSError),
        closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as database,
    ):
        for (body,) in database.execute(_POLICIES):
            said = json.loads(body)["policy"]
            promised(said), said["ledger"]["address"].strip()  # what is none is left out
            found.append(said)
    return found
