"""What was spent over time, as rising steps: by the people whose budget it was, and by who asked.

The last step of a family is what its account says, and so is the last step of an analyst for the
allowances: both are sums over the same entries.
Tested by tests/curator/ledger/test_spending.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.curator.ledger.amounts import Accounting, Amount
from discreet.curator.ledger.chain import Entry
from discreet.curator.ledger.listing import OWNER
from discreet.curator.ledger.values import Account

__all__ = ["Step", "spending"]

MOST = 400
"""So many steps of one line are told: more cannot be seen."""


@dataclass(frozen=True, slots=True)
class Step:
    """How much had been spent when.

    Attributes:
        of: "family" for people with a budget (a block of own people is one, too), "asker" for who
            spent it: an analyst of the allowances, or the owner.
        name: which.
        accounting: what is added up.
        at: when, in UTC.
        spent: all until then.
    """

    of: Literal["family", "asker"]
    name: str
    accounting: Accounting
    at: str
    spent: Amount


def spending(
    entries: Iterable[Entry], accounts: Sequence[Account], *, most: int = MOST
) -> list[Step]:
    """The steps of every line, in the order of time.

    Args:
        entries: the whole log.
        accounts: all accounts.
        most: how many steps one line may have; the last one is always among them.
    """
    known = {one.id: one for one in accounts}
    sums: dict[tuple[str, str, str], Amount] = {}
    lines: dict[tuple[str, str, str], list[Step]] = {}
    at = ""
    for entry in entries:
        if entry.kind not in ("reserve", "hit", "lost"):
            continue
        values = entry.values()
        at = values.get("at") or at
        for number, main, delta in values["charges"]:
            if not main and not delta:
                continue
            account = known[number]
            for of, name in _lines_of(account, values.get("analyst")):
                key = (of, name, account.accounting)
                sums[key] = sums.get(key, Amount(0)) + Amount(main, delta)
                step = Step(of, name, account.accounting, at, sums[key])
                lines.setdefault(key, []).append(step)
    found = [step for steps in lines.values() for step in _thinned(steps, most)]
    return sorted(found, key=lambda step: step.at)


def _lines_of(account: Account, asker: str | None) -> list[tuple[Literal["family", "asker"], str]]:
    """The lines that a charge belongs to; what a restored backup lost was asked by nobody known."""
    people, mark, analyst = account.name.partition("@")
    if mark:
        return [("asker", analyst)]
    return [("family", people), ("asker", OWNER)] if asker == "" else [("family", people)]


def _thinned(steps: list[Step], most: int) -> list[Step]:
    if len(steps) <= most:
        return steps
    picked = {i * (len(steps) - 1) // (most - 1) for i in range(most)}
    return [steps[i] for i in sorted(picked)]
