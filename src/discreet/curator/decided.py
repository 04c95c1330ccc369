"""What every publication has in common: decided without data, charged, then looked at once.

Guarantee. `Decided.released` has the guarantee of `loss`, whatever the cells are: that is what
`published` of every kind of publication promises of the cells that it is handed.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. The cells are read in one place, here, and go into `published` and nowhere else. Where that
fails for an analyst, it is handed empty cells, which no person moves.
Tested by tests/curator/test_publishing.py, tests/curator/test_rolling.py,
tests/curator/test_workloads.py, tests/curator/test_margining.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import partial
from typing import Any, Generic, TypeVar

from discreet.curator.answering import Answering
from discreet.curator.claims import Asked
from discreet.curator.release import Release
from discreet.noise.source import Source
from discreet.privacy.compose import sequential
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import PureLoss, ZCDPLoss
from discreet.query.cells import Bounded
from discreet.query.price import Target
from discreet.query.request import Cells
from discreet.query.schema import Schema

__all__ = ["Decided", "loss_of"]

_Counted = TypeVar("_Counted", bound=Bounded)
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Decided(ABC, Generic[_Counted]):
    """Something that will be published: decided, and not charged yet.

    Attributes:
        schema: the table.
        statement: what is asked of the engine.
        loss: the price: what it leaks.
        found: what had to be found of the table before, and what that leaks.
        counted: what is asked of the engine, and how far a person moves it.
    """

    schema: Schema
    statement: str
    loss: PureLoss | ZCDPLoss
    found: tuple[tuple[str, PureLoss], ...]
    counted: _Counted

    @property
    @abstractmethod
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal publications."""

    @abstractmethod
    def published(
        self, parts: Sequence[Cells], source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the cells and forget them.

        Args:
            parts: for each part of the request, the exact counts of the groups that hold anybody.
            source: of the noise.
            confidence: of the intervals.
            at: when it was asked.
        """

    def released(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Look at the data, once it is charged, and publish."""
        finish = partial(self.published, source=source, confidence=confidence, at=at)
        return self.looked(answering, finish)

    def looked(self, answering: Answering, finish: Callable[[Sequence[Cells]], _Made]) -> _Made:
        """What is made of the exact cells. For an analyst a failure is an empty table."""
        return answering.made(self.counted.request, self.statement, finish)

    @property
    def price(self) -> dict[str, Fraction]:
        """The price as it is said: an epsilon or a rho."""
        if isinstance(self.loss, ZCDPLoss):
            return {"rho": self.loss.rho}
        return {"epsilon": self.loss.epsilon}

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to each person, with what had to be found before."""
        losses = (self.loss, *(loss for _, loss in self.found))
        return sequential(*(loss.guarantee for loss in losses))

    def question(self, sql: str, told: Mapping[str, Any], columns: Sequence[str] = ()) -> Asked:
        """What is published, for the ledger, with its price."""
        epsilon, rho = (str(self.price.get(name)) for name in ("epsilon", "rho"))
        return Asked(sql, {"publish": told}, (epsilon, "None", rho), tuple(columns))

    def release(self, *, notes: Sequence[str], **values: Any) -> Release:
        """A release with everything that follows from what was decided.

        Args:
            notes: beside those of what was found before.
            values: the other attributes of the release.
        """
        return Release(
            guarantee=self.guarantee,
            losses=(self.loss, *(loss for _, loss in self.found)),
            covers=_covers(self.counted),
            notes=(*(note for note, _ in self.found), *notes),
            **values,
        )


def loss_of(target: Target, schema: Schema) -> PureLoss | ZCDPLoss:
    """What a publication at a price leaks; the price has no delta."""
    if target.rho is not None:
        return ZCDPLoss(rho=target.rho, neighbours=schema.unit.neighbours)
    assert target.epsilon is not None  # noqa: S101 - one of the two is there
    return PureLoss(epsilon=target.epsilon, neighbours=schema.unit.neighbours)


def _covers(counted: Bounded) -> str:
    """What intervals cover, in words."""
    bounded = counted.stability.bounding.way != "none"
    more = "; not what people with more rows than count would add" if bounded else ""
    return f"Intervals cover the noise, one number at a time{more}."
