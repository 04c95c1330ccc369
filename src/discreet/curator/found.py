"""What a search has found, as a record like that of any answer: its asker paid for it.

Tested by tests/curator/test_found.py
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.curator.ledger.amounts import Accounting, Amount
from discreet.curator.ledger.values import Done
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.curator.search import Chosen, instead_of, noted
from discreet.errors import ParameterError
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss

__all__ = ["PREFIX", "charged_words", "found_record_of", "searched_info"]

PREFIX = "find-"
"""Begins the name of every search."""


def searched_info(
    cost: Amount, paid: list[tuple[str, Amount]], accounting: Accounting
) -> dict[str, Any]:
    """What the log tells of searches that were charged with a question; nothing without any."""
    if not paid:
        return {}
    total = sum((amount for _, amount in paid), cost)
    return {
        "charged": total.said(accounting),
        "searched": [[name, amount.said(accounting)] for name, amount in paid],
    }


def charged_words(info: Mapping[str, Any]) -> str:
    """What was charged for an asking, in words: the question, and what was found for it then."""
    if "searched" not in info:
        return str(info["cost"])
    parts = [f"{info['cost']} for the question"]
    parts += [f"{cost} to find {name}" for name, cost in info["searched"]]
    return f"{info['charged']} ({', '.join(parts)})"


def found_record_of(done: Done) -> Record:
    """The record of a search."""
    info = done.info
    if "unit" not in info:
        raise ParameterError("release", done.key, "is a search of before: its answer has no record")
    name, epsilon = str(info["find"]), Fraction(info["epsilon"])
    chosen = Chosen.read(done.answer) or instead_of(info["column"])
    columns: dict[str, Any] = {"rows": chosen.rows}
    if chosen.bounds is not None:
        columns = {"low": chosen.bounds.low, "high": chosen.bounds.high}
    version, fingerprint = info["policy"]
    sql = f"found: {name}"
    release = Release(
        columns=tuple(columns), keys=(), rows=(tuple(columns.values()),), intervals={}, raw={},
        guarantee=PureDP(epsilon, info["neighbours"]),
        losses=(PureLoss(epsilon=epsilon, neighbours=info["neighbours"]),), sql=sql,
        mechanisms={}, confidence=Fraction(info["confidence"]),
        covers="There are no intervals: what was chosen is exactly this.",
        notes=(noted(name, epsilon, chosen),), asked_at=datetime.fromisoformat(done.at),
    )  # fmt: skip
    return Record(
        id=done.key, release=release, question=sql, plan=sql, dataset=str(info["dataset"]),
        family=str(info["family"]), block=info["block"], data_version=str(info["version"]),
        policy_version=version, policy_fingerprint=fingerprint, entry=done.seq, head=done.hash,
        analyst=done.analyst, software=str(info["software"]), unit=str(info["unit"]),
        cost=str(info["cost"]),
    )  # fmt: skip
