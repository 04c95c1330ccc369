"""A policy as a ledger sees it: accounts of people, allowances of analysts, and sources.

Tested by tests/curator/policy/test_registration.py
"""

from __future__ import annotations

from discreet.curator.ledger.amounts import Limit
from discreet.curator.ledger.registry import Registration
from discreet.curator.policy.model import Policy

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
    return Registration(policy.fingerprint, policy.canonical(), families, allowances, sources)
