"""What can be known of a publication before it is paid: its price, and how far off it would be.

Everything follows from what was said and from the policy: no row is read. How exact a tree becomes
depends on the data, because it looks closer where people are; so two things are told. What one
count would be off by that is asked alone at this price, which holds whatever the data are; and what
parts of a publication of made-up rows are off by, which is an example.
Tested by tests/server/test_foreseeing.py
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from discreet.curator.access import Credential
from discreet.curator.claims import OWNER
from discreet.curator.ledger.amounts import Accounting, Amount, cost_of
from discreet.curator.published import Published
from discreet.curator.record import Record
from discreet.privacy.guarantee import epsilon_of
from discreet.privacy.loss import PureLoss
from discreet.query.cells import Axis
from discreet.server.service import Service

__all__ = ["ForeseenPublication", "foreseen_publication"]

_PARTS = {1: 10, 2: 4, 3: 2}
"""Into so many equal parts each axis is cut, by the number of axes."""


@dataclass(frozen=True)
class ForeseenPublication:
    """A publication, before it is paid.

    Attributes:
        cost: what it takes off a budget.
        accounting: how that adds up.
        alone: the half-width of one count that is asked alone at this price.
        parts: how many equal parts of the made-up publication were looked at,
        within: and the middle one of their half-widths.
        confidence: of both.
        rehearsal: the publication of made-up rows.
    """

    cost: Amount
    accounting: Accounting
    alone: float
    parts: int
    within: float
    confidence: Fraction
    rehearsal: Record

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "cost": self.cost.to_dict(self.accounting), "alone": self.alone, "parts": self.parts,
            "within": self.within, "confidence": str(self.confidence),
            "rehearsal": {"rehearsal": True, **self.rehearsal.to_dict()},
        }  # fmt: skip


def foreseen_publication(
    service: Service, who: Credential, columns: Sequence[str], place: dict[str, Any], *,
    epsilon: Any, where: str | None = None, **axes: Any,
) -> ForeseenPublication:  # fmt: skip
    """What a publication would cost and look like; refused where the publication would be.

    Args:
        service: the server's.
        who: asks.
        columns: of the axes.
        place: dataset and block, as far as they were said.
        epsilon: the price.
        where: only rows for which this holds.
        axes: bins and ranges.
    """
    service.reads_axes(who, columns, place, where=where, **axes)
    with service.published_part(who, place) as (curator, at):
        analyst = service.analyst(who, curator.policy)
        name, policy = str(at["dataset"]), curator.policy
        count = curator.query(name, block=at["block"]).count(name="n")
        if where is not None:
            count = curator.query(name, block=at["block"]).where(where).count(name="n")
        price = curator.price(count, epsilon=epsilon, analyst=analyst, **at)
        rehearsal = service.rehearsal(curator, name)
    dataset = policy.datasets[name]
    accounting = policy.families[dataset.family].accounting
    played = rehearsal.publish(
        columns, analyst=analyst or OWNER, block=at["block"], epsilon=epsilon, where=where, **axes
    )
    made = Published.of(played.release)
    widths = _widths(made)
    loss = PureLoss(epsilon=epsilon_of(epsilon), neighbours=dataset.unit.neighbours)
    return ForeseenPublication(
        cost_of([loss], accounting), accounting, float(price["n"].half_width or 0), len(widths),
        statistics.median(widths), made.confidence, service.shown(who, played),
    )  # fmt: skip


def _widths(made: Published) -> list[float]:
    """Half the width of the interval of each of some equal parts."""
    many = _PARTS[len(made.axes)]
    found = [made.rectangle(*spans) for spans in product(*(_cut(a, many) for a in made.axes))]
    return [(one.high - one.low) / 2 for one in found]


def _cut(axis: Axis, many: int) -> list[tuple[Fraction, Fraction]]:
    edges = [axis.low + i * (axis.high - axis.low) / many for i in range(many + 1)]
    return list(pairwise(edges))
