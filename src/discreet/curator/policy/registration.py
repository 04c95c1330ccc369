"""A policy as a ledger sees it: accounts of people, allowances of analysts, and sources.

Tested by tests/curator/policy/test_registration.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from discreet.curator.ledger.amounts import Limit
from discreet.curator.ledger.marks import Data
from discreet.curator.ledger.registry import Registration
from discreet.curator.policy.model import Dataset, Policy, is_address
from discreet.curator.policy.promised import promised
from discreet.curator.policy.sources import files_at, folder_of, of_address, overlap, placed
from discreet.engines.sources import files_of
from discreet.engines.state import Watched

__all__ = ["data_of", "overlapping", "registration"]


def registration(policy: Policy) -> Registration:
    """A policy as a ledger sees it: accounts, sources, and their files as they are now."""
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

    return Registration(
        policy.fingerprint, policy.canonical(), families, allowances, sources,
        overlapping(policy.folder), [*_data(policy)], promised,
        partial(_lies, policy),
    )  # fmt: skip


def _lies(policy: Policy, earlier: Mapping[str, Any], address: str) -> str:
    """How a policy would say an address of an earlier one, which may have lain elsewhere.

    Where that was is told by the ledger, which it named from there.
    """
    source, _ = of_address(address)
    if is_address(source) or Path(source).is_absolute():
        return address
    for name, now in (("address", policy.ledger.address), ("head", policy.ledger.head)):
        folder = folder_of(Path(now), earlier["ledger"][name])
        if folder is not None:
            return address if folder == policy.folder else str(folder / address)
    return address


def overlapping(folder: Path) -> Callable[[str, str], bool]:
    """Whether two addresses, as the ledger of a policy in a folder has them, may hold the same."""
    files = cache(files_at)

    def lies(address: str) -> tuple[str, str | None]:
        source, table = of_address(address)
        return placed(source, folder), table

    return lambda one, other: overlap(lies(one), lies(other), files)


def _data(policy: Policy) -> Iterator[Data]:
    """The parts that lie in files which are there; of others nothing can be told."""
    for dataset in policy.datasets.values():
        for block in (None, *dataset.blocks):
            part = dataset if block is None else dataset.blocks[block]
            files = () if is_address(part.source) else files_of(part.source)
            seen = Watched(files).now() if files else None
            if seen is not None:
                yield data_of(dataset, block, seen.state)


def data_of(dataset: Dataset, block: str | None, state: str) -> Data:
    """One part of a dataset, with the state of its files."""
    meant = dataset.meaning(block)
    part = dataset.name if block is None else f"{dataset.name}/{block}"
    return Data(part, meant["source"], meant["version"], state)
