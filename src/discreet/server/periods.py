"""A period more of a dataset that is registered: new data, of the same people or of others.

Guarantee. Who is counted twice has two budgets: people of their own are taken only where the owner
says that none of them is in another part. Everything else is that of `registering`.
Tested by tests/server/test_periods.py
"""

from __future__ import annotations

from typing import Any

from discreet.curator.policy.model import Policy
from discreet.curator.policy.written import added
from discreet.server import policies
from discreet.server.problems import Problem
from discreet.server.registering import BlockWanted, Text, block_text, opened
from discreet.server.service import Service

__all__ = ["PeriodWanted", "add", "checked"]


class PeriodWanted(BlockWanted):
    """A block that is to be added to a dataset."""

    name: Text
    new_people: bool = False


def add(
    service: Service, dataset: str, wanted: PeriodWanted, *, by: str
) -> tuple[int, list[str]]:  # fmt: skip
    """Add a block to the policy and put it into force; the version, and what changed."""
    family = service.policy.datasets[dataset].family
    own = wanted.people == "own" and wanted.new_people
    return policies.edit(
        service, lambda text: _with(service, dataset, wanted, text), by=by,
        new_people=(f"{family}/{wanted.name}",) if own else (),
        look=lambda policy: _look(policy, dataset, wanted),
    )  # fmt: skip


def checked(service: Service, dataset: str, wanted: PeriodWanted) -> dict[str, Any]:
    """What the policy would mean with a block: its words and warnings, and the text added."""
    before = service.path.read_text(encoding="utf-8")
    text = _with(service, dataset, wanted, before)
    told = policies.checked(service, text, look=lambda policy: _look(policy, dataset, wanted))
    return {"added": policies.masked(text[len(before.rstrip()) :].strip() + "\n"), **told}


def _look(policy: Policy, dataset: str, wanted: PeriodWanted) -> None:
    opened(policy, dataset, wanted.name)


def _with(service: Service, dataset: str, wanted: PeriodWanted, text: str) -> str:
    there = service.policy.datasets[dataset]
    if wanted.name in there.blocks:
        words = f"{dataset} has a part {wanted.name[:60]!r} already; nothing was changed"
        raise Problem("conflict", words, fix="Choose another name, or change the policy's text.")
    own = there.meaning()["source"] if "://" not in there.source else there.source
    return added(text, block_text(service, dataset, wanted.name, wanted, own=own))
