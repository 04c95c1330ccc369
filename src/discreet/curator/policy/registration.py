"""A policy as a ledger sees it: accounts of people, allowances of analysts, and sources.

Tested by tests/curator/policy/test_registration.py
"""

from __future__ import annotations

from pathlib import Path

from discreet.curator.ledger.amounts import Limit
from discreet.curator.ledger.registry import Registration
from discreet.curator.policy.model import Policy
from discreet.curator.policy.sources import overlap, placed

__all__ = ["registration"]


def registration(policy: Policy) -> Registration:
    """A policy as a ledger sees it: accounts and sources."""
    families = {name: family.limit for name, family in policy.families.items()}
    sources: dict[str, str] = {}
    for dataset in policy.datasets.values():
        for block in (None, *dataset.blocks):
            place = dataset.meaning(block)
            address = place["source"] + ("" if place["table"] is None else f"#{place['table']}")
            account = sources[address] = dataset.account(block)
            limit = None if block is None else dataset.blocks[block].limit
            if limit is not None:
                families[account] = limit
    allowances: dict[str, Limit] = {}
    for analyst in policy.analysts.values():
        for family, limit in analyst.allowances.items():
            for account in families:
                if account.partition("/")[0] == family:
                    allowances[f"{account}@{analyst.name}"] = limit

    def overlapping(one: str, other: str) -> bool:
        return overlap(_split(one, policy.folder), _split(other, policy.folder))

    return Registration(
        policy.fingerprint, policy.canonical(), families, allowances, sources, overlapping
    )


def _split(address: str, folder: Path) -> tuple[str, str | None]:
    """The source and the table of an address as the ledger has it."""
    source, mark, table = address.rpartition("#")
    if not mark:
        source, table = address, ""
    return placed(source, folder), table or None
