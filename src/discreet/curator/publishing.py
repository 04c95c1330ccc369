"""From a table to a publication: what is counted, what it costs, and how counts become public.

Guarantee. `Publication.published` has the guarantee of its price, whatever the cells are.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. One person moves the cells by `counted.sensitivity` at most (`discreet.query.cells`), which
is what the adaptive tree is told (`discreet.publish.histogram`); the rest sees its output only.
Tested by tests/curator/test_publishing.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.curator.answering import Answering
from discreet.curator.claims import Asked
from discreet.curator.published import Published, question_of
from discreet.curator.release import Release
from discreet.engines.base import Engine
from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss, ZCDPLoss
from discreet.publish.histogram import adaptive_tree
from discreet.publish.tree.domain import Cells as Private
from discreet.publish.tree.terms import terms_of
from discreet.query.cells import Axis, Counted, counted
from discreet.query.price import Target
from discreet.query.request import Cells, Request
from discreet.query.schema import Schema

__all__ = ["Decided", "Publication", "Wanted", "axes_of", "finished", "looked", "publication"]

_Made = TypeVar("_Made")


class Wanted(Protocol):
    """Something to be published that is decided and not charged yet."""

    @property
    def loss(self) -> PureLoss | ZCDPLoss:
        """What it leaks."""

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger."""

    def released(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Look at the data, once it is charged, and publish."""


def finished(
    answering: Answering, request: Request, statement: str, finish: Callable[[Cells], _Made]
) -> _Made:
    """What is made of the exact cells of one part. For an analyst a failure is an empty table."""
    return looked(answering, request, statement, lambda parts: finish(parts[0]))


def looked(
    answering: Answering,
    request: Request,
    statement: str,
    finish: Callable[[Sequence[Cells]], _Made],
) -> _Made:
    """What is made of the exact cells of all parts. For an analyst a failure is an empty table."""
    parts = answering.look(request, statement)
    try:
        return finish(parts)
    except Exception as fault:
        if answering.audience == "owner":
            raise
        answering.tell(fault)
    return finish([{} for _ in request.parts])


def axes_of(
    columns: str | Sequence[str],
    bins: int | Sequence[int],
    ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]],
) -> tuple[Axis, ...]:
    """The axes of a grid, as people say them."""
    if isinstance(columns, str):
        return (_axis(columns, bins, ranges),)
    several: tuple[object, ...] = (bins, ranges)
    if not all(isinstance(one, Sequence) and len(one) == len(columns) for one in several):
        problem = f"must be {len(columns)} numbers and pairs, one for each of the columns"
        raise ParameterError("bins and ranges", None, problem)
    return tuple(_axis(*one) for one in zip(columns, bins, ranges, strict=True))  # type: ignore[arg-type]


def _axis(of: str, bins: Any, ends: object) -> Axis:
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise ParameterError("range", None, f"of {of} must be a pair (low, high)")
    return Axis(of, ends[0], ends[1], whole(bins, name="bins", at_least=1))


@dataclass(frozen=True, slots=True)
class Decided:
    """Something that will be published: decided, and not charged yet.

    Attributes:
        schema: the table.
        statement: what is asked of the engine.
        epsilon: the price.
        found: what had to be found of the table before, and what that leaks.
    """

    schema: Schema
    statement: str
    epsilon: Fraction
    found: tuple[tuple[str, PureLoss], ...]

    @property
    def loss(self) -> PureLoss:
        """What it leaks."""
        return PureLoss(epsilon=self.epsilon, neighbours=self.schema.unit.neighbours)


@dataclass(frozen=True, slots=True)
class Publication:
    """A grid that will be published: decided, and not charged yet.

    Attributes:
        schema: the table.
        statement: what is asked of the engine.
        target: the price, an epsilon or a rho.
        found: what had to be found of the table before, and what that leaks.
        counted: what is asked of the engine, and how far a person moves it.
        where: only rows for which this holds, as it was said.
    """

    schema: Schema
    statement: str
    target: Target
    found: tuple[tuple[str, PureLoss], ...]
    counted: Counted
    where: str | None

    @property
    def loss(self) -> PureLoss | ZCDPLoss:
        """What it leaks."""
        neighbours = self.schema.unit.neighbours
        if self.target.rho is not None:
            return ZCDPLoss(rho=self.target.rho, neighbours=neighbours)
        assert self.target.epsilon is not None  # noqa: S101 - one of the two is there
        return PureLoss(epsilon=self.target.epsilon, neighbours=neighbours)

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal publications."""
        axes = [axis.to_dict() for axis in self.counted.axes]
        text = question_of(self.schema.name, self.where, self.counted.axes)
        told = {"axes": axes, "where": self.where, "by": "adaptive tree"}
        how = {} if self.target.rho is None else {"how": "rho"}
        price = (str(self.target.epsilon), "None", str(self.target.rho))
        return Asked(text, {"publish": {**told, **how}}, price, ("n",))

    def made(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Published:
        """Look at the data, once it is charged. For an analyst a failure is an empty table."""
        finish = partial(self.published, source=source, confidence=confidence, at=at)
        return finished(answering, self.counted.request, self.statement, finish)

    def released(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """The same, as a table that can be stored."""
        return self.made(answering, source, confidence=confidence, at=at).release

    def published(
        self, cells: Cells, source: Source, *, confidence: Fraction, at: datetime
    ) -> Published:
        """Measure the cells and forget them.

        Args:
            cells: the exact counts of the cells that hold anybody.
            source: of the noise.
            confidence: of the intervals.
            at: when it was asked.
        """
        shape = self.counted.shape
        keys = np.array(list(cells), dtype=np.int64).reshape(-1, len(shape))
        counts = np.array([totals[0] for totals in cells.values()], dtype=np.int64)
        made = adaptive_tree(
            Private.sparse(shape, keys, counts), epsilon=self.target.epsilon, rho=self.target.rho,
            sensitivity=self.counted.sensitivity, neighbours=self.schema.unit.neighbours,
            source=source,
        )  # fmt: skip
        return Published(
            table=self.schema.name, where=self.where, axes=self.counted.axes, histogram=made,
            scale=self.counted.scale, confidence=confidence, asked_at=at,
            found=tuple((note, loss.epsilon) for note, loss in self.found),
        )  # fmt: skip


def publication(
    schema: Schema, engine: Engine, axes: Sequence[Axis], where: str | None, *,
    epsilon: Exact | None, rho: Exact | None = None, found: Sequence[tuple[str, PureLoss]] = (),
) -> Publication:  # fmt: skip
    """Decide everything that needs no data; refused here, nothing was charged."""
    target = Target(epsilon=epsilon, rho=rho)
    wanted = counted(schema, axes, where)
    terms_of(epsilon=target.epsilon, rho=target.rho, sensitivity=wanted.sensitivity)
    statement = engine.statement(wanted.request)
    return Publication(schema, statement, target, tuple(found), wanted, where)
