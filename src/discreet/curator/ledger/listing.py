"""What was answered, as a list.

Tested by tests/curator/ledger/test_listing.py
"""

from __future__ import annotations

from typing import Any

from discreet.curator.ledger.ledger import Ledger

__all__ = ["released"]


def released(ledger: Ledger, analyst: str | None = None) -> list[dict[str, Any]]:
    """The answered questions, the oldest first: of one analyst, or of all.

    Each with its key, question, dataset, block, price, time, entry, asker, and whether it is the
    answer of a failure.
    """
    asked: dict[str, dict[str, Any]] = {}
    found = []
    for entry in ledger.entries():
        if entry.kind not in ("reserve", "hit", "done"):
            continue
        values = entry.values()
        if entry.kind != "done":
            asked[values["key"]] = {**values, "entry": entry.seq}
            continue
        question = asked.pop(values["key"], None)
        if question is None or "sql" not in question["info"]:
            continue
        if analyst is not None and question["analyst"] != analyst:
            continue
        told = question["info"]
        found.append({
            "key": values["key"], "sql": told["sql"], "dataset": told["dataset"],
            "block": told["block"], "cost": told["cost"], "at": question["at"],
            "entry": question["entry"], "analyst": question["analyst"],
            "failed": bool(values.get("failed")),
        })  # fmt: skip
    return found
