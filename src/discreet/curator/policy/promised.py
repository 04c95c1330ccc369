"""Whom a policy protects, and among which neighbours: what budgets are counted in.

What was spent was spent on a promise to somebody. Epsilon 1 for "one person more or less" is
epsilon 2 for "one person instead of another"; and what costs a row epsilon 1 may cost a person with
four rows epsilon 4. So none of it may change under a budget of which something is spent.
Tested by tests/curator/policy/test_promised.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.curator.ledger.values import Promised, Protected

__all__ = ["promised"]


def promised(policy: Mapping[str, Any]) -> Promised:
    """What the canonical values of a policy say, as a log may hold them; of any version of it."""
    families = policy.get("families", {})
    relations = {name: one["neighbours"] for name, one in families.items()}
    found: list[tuple[str, Protected]] = []
    for name, dataset in policy.get("datasets", {}).items():
        for block, part in _parts(dataset):
            family = dataset["family"]
            named, account = name, family
            if block is not None:
                named = f"{name}/{block}"
                account = f"{family}/{block}" if part["own_people"] else family
            address = part["source"] + ("" if part["table"] is None else f"#{part['table']}")
            found.append((address, Protected(named, account, _whom(dataset["unit"]))))
    return Promised(relations, found)


def _parts(dataset: Mapping[str, Any]) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    yield None, dataset
    yield from dataset.get("blocks", {}).items()


def _whom(unit: Mapping[str, Any]) -> str:
    """Whom a unit protects, in words: the same where that is the same."""
    one = "rows" if unit["per"] == "row" else f"people, named by {unit['person']!r}"
    return one if unit["together"] == "1" else f"{one}, {unit['together']} together"
