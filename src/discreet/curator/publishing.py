"""From a table to a publication: what is counted, what it costs, and how counts become public.

Guarantee. `Publication.published` has the guarantee of its price, whatever the cells are.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. One person moves the cells by `counted.sensitivity` at most (`discreet.query.cells`), which
is what the adaptive tree is told (`discreet.publish.histogram`); the rest sees its output only.
Tested by tests/curator/test_publishing.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator.answering import Answering
from discreet.curator.claims import Asked
from discreet.curator.decided import Decided, loss_of
from discreet.curator.published import Published, question_of
from discreet.curator.release import Release
from discreet.engines.base import Engine
from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.publish.histogram import adaptive_tree
from discreet.publish.tree.domain import Cells as Private
from discreet.publish.tree.terms import terms_of
from discreet.query.cells import Axis, Counted, counted
from discreet.query.price import Target
from discreet.query.request import Cells
from discreet.query.schema import Schema

__all__ = ["Publication", "axes_of", "publication"]


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
class Publication(Decided[Counted]):
    """A grid that will be published.

    Attributes:
        where: only rows for which this holds, as it was said.
    """

    where: str | None

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal publications."""
        axes = [axis.to_dict() for axis in self.counted.axes]
        text = question_of(self.schema.name, self.where, self.counted.axes)
        told = {"axes": axes, "where": self.where, "by": "adaptive tree"}
        how = {"how": "rho"} if "rho" in self.price else {}
        return self.question(text, {**told, **how}, ["n"])

    def published(
        self, parts: Sequence[Cells], source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the cells and forget them."""
        return self._grid(parts, source, confidence, at).release

    def made(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Published:
        """The same as `released`, before it is a table that can be stored."""
        return self.looked(answering, lambda parts: self._grid(parts, source, confidence, at))

    def _grid(
        self, parts: Sequence[Cells], source: Source, confidence: Fraction, at: datetime
    ) -> Published:
        (cells,) = parts
        shape = self.counted.shape
        keys = np.array(list(cells), dtype=np.int64).reshape(-1, len(shape))
        counts = np.array([totals[0] for totals in cells.values()], dtype=np.int64)
        made = adaptive_tree(
            Private.sparse(shape, keys, counts), epsilon=self.price.get("epsilon"),
            rho=self.price.get("rho"), sensitivity=self.counted.sensitivity,
            neighbours=self.schema.unit.neighbours, source=source,
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
    loss = loss_of(target, schema)
    statement = engine.statement(wanted.request)
    return Publication(schema, statement, loss, tuple(found), wanted, where)
