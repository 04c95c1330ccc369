"""From a table to a workload: counting questions that are answered together, and their release.

Guarantee. `Working.published` has the guarantee of its price, whatever the cells are.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. One person moves the counts of all cells by `counted.sensitivity` at most
(`discreet.query.jointly`), which is what `discreet.publish.workloads` is told. What is measured is
chosen from the questions, which are public; the rest sees the measurement only.
Tested by tests/curator/test_workloads.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator.claims import Asked
from discreet.curator.decided import Decided
from discreet.curator.questions import Question, plan_of
from discreet.curator.release import Release
from discreet.curator.values import Value
from discreet.curator.values import finished as plain
from discreet.engines.base import Engine
from discreet.errors import QueryError
from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.guarantee import epsilon_of
from discreet.privacy.loss import PureLoss
from discreet.publish.measured import LinearAnswer
from discreet.publish.questions import Workload, listed
from discreet.publish.workloads import Worked, fitting_terms, workload
from discreet.query.build import Query
from discreet.query.jointly import Joint, jointly
from discreet.query.keys import shown_key
from discreet.query.options import SMALLEST_EPSILON, not_below
from discreet.query.plan import Plan, PostGroup
from discreet.query.render import to_sql
from discreet.query.request import Cells
from discreet.query.schema import Schema
from discreet.query.tree import selects

__all__ = ["Working", "tenths", "working"]

NUMBER, COUNT = "question", "n"
"""The columns of the release beside the keys."""


@dataclass(frozen=True, slots=True)
class Working(Decided[Joint]):
    """A workload that will be published."""

    @property
    def sql(self) -> str:
        """All questions, in their order."""
        return ";\n".join(to_sql(one.plan, self.schema) for one in self.counted.asked)

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal workloads."""
        told = {"workload": self.sql, "by": "the strategy with the least error"}
        return self.question(self.sql, told)

    @property
    def wanted(self) -> Workload:
        """The questions, as weights of the cells."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        starts = np.cumsum([0, *(len(one.groups) for one in self.counted.asked)])
        question, cell = np.nonzero(self.counted.rows >= 0)
        row = self.counted.rows[question, cell] + starts[question]
        shape = (int(starts[-1]), self.counted.rows.shape[1])
        return listed(self.counted.shape, csr_array((np.ones(len(row)), (row, cell)), shape=shape))

    def published(
        self, parts: Sequence[Cells], source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the cells and forget them."""
        (cells,) = parts
        made = workload(
            self.counted.counts(cells), self.wanted, epsilon=self.price["epsilon"],
            sensitivity=self.counted.sensitivity, neighbours=self.schema.unit.neighbours,
            source=source,
        )  # fmt: skip
        return self._release(made, confidence, at)

    def _release(self, made: Worked, confidence: Fraction, at: datetime) -> Release:
        found = made.answers(confidence=confidence)
        keys = _names([one.plan for one in self.counted.asked])
        scale = self.counted.scale
        rows = [
            (*row, n)
            for row, n in zip(self._keys(keys), (tenths(a, scale)[0] for a in found), strict=True)
        ]
        return self.release(
            columns=(NUMBER, *keys, COUNT),
            keys=(NUMBER, *keys),
            rows=tuple(rows),
            intervals={COUNT: tuple(tenths(answer, scale)[1] for answer in found)},
            raw={COUNT: tuple(answer.raw / scale for answer in found)},
            sql=self.sql,
            mechanisms={COUNT: _words(made)},
            confidence=confidence,
            notes=_notes(keys),
            asked_at=at,
        )

    def _keys(self, names: Sequence[str]) -> list[tuple[Value, ...]]:
        """The number of the question and the keys of each row, as people write them."""
        rows: list[tuple[Value, ...]] = []
        for number, one in enumerate(self.counted.asked, start=1):
            for group in one.groups:
                own = {
                    g.name: plain(shown_key(key, g.value), where=g.name)
                    for key, g in zip(group, one.plan.groupings, strict=True)
                }
                rows.append((number, *(own.get(name) for name in names)))
        return rows


def tenths(answer: LinearAnswer, scale: int) -> tuple[float, tuple[float, float]]:
    """A value and its interval in rows, to one decimal; the interval is rounded outward."""
    low, high = answer.low / scale, answer.high / scale
    return round(answer.value / scale, 1), (math.floor(10 * low) / 10, math.ceil(10 * high) / 10)


def _names(plans: Sequence[Plan]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(g.name for plan in plans for g in plan.groupings))


def _words(made: Worked) -> str:
    strategy = made.strategy
    return (
        f"geometric noise on the {strategy.size:,} cells that the questions tell apart and on "
        f"{len(strategy.extra):,} sums of them ({strategy.name}), least squares without negative "
        "counts"
    )


def _notes(keys: Sequence[str]) -> tuple[str, ...]:
    notes = ["the questions are numbered in their order"]
    if keys:
        notes.append("(none) in a key says that the question is not grouped by it")
    return tuple(notes)


def plans_of(questions: Sequence[Question], schema: Schema) -> list[Plan]:
    """The questions as plans; text that is no SELECT is the condition of a COUNT(*)."""
    given: Any = questions
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise QueryError("a workload is a list of questions: publish_workload([...], epsilon=...)")
    plans = []
    for question in questions:
        if isinstance(question, str) and not selects(question):
            plans.append(Query(schema).where(question).count(name=COUNT).plan)
        else:
            plans.append(plan_of(question, schema))
    for name in _names(plans):
        if name in (NUMBER, COUNT):
            raise QueryError(f"the key {name!r} is called like a column of the answer; rename it")
    return [_plain(plan) for plan in plans]


def _plain(plan: Plan) -> Plan:
    """Without its price, and with the one name that all counts have."""
    outputs = tuple(
        o if isinstance(o.value, PostGroup) else replace(o, name=COUNT) for o in plan.outputs
    )
    return replace(plan, outputs=outputs, epsilon=None, delta=None, rho=None)


def working(
    schema: Schema, engine: Engine, questions: Sequence[Question], epsilon: Exact, *,
    found: Sequence[tuple[str, PureLoss]] = (),
) -> Working:  # fmt: skip
    """Decide everything that needs no data; refused here, nothing was charged.

    Args:
        schema: the table.
        engine: reads it.
        questions: what is answered together.
        epsilon: the price.
        found: what had to be found of the table before, and what that leaks.
    """
    price = epsilon_of(epsilon)
    not_below(price, SMALLEST_EPSILON, name="epsilon")
    wanted = jointly(plans_of(questions, schema), schema)
    fitting_terms(price, wanted.sensitivity, schema.unit.neighbours)
    loss = PureLoss(epsilon=price, neighbours=schema.unit.neighbours)
    return Working(schema, engine.statement(wanted.request), loss, tuple(found), wanted)
