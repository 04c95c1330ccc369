"""From a table to a roll-up: what is counted, what it costs, and how counts become a release.

Guarantee. `Rolling.published` has the guarantee of its price, whatever the cells are.
Neighbours. As the table's unit says.
Assumes. The price was charged, and the source's bits are used for nothing else.
Proof. One person moves the finest counts by `counted.sensitivity` at most
(`discreet.query.nested`), which is what `discreet.publish.rollups` is told; the rest sees its
output only.
Tested by tests/curator/test_rolling.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.curator.answer import public_groups
from discreet.curator.answering import Answering
from discreet.curator.claims import Asked
from discreet.curator.foretold import rollup_epsilon
from discreet.curator.publishing import Decided, finished
from discreet.curator.release import Release
from discreet.curator.values import Value
from discreet.curator.values import finished as plain
from discreet.engines.base import Engine
from discreet.exact import Exact, shown
from discreet.noise.source import Source
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss
from discreet.publish.rollups import Rollup, nested, rollup
from discreet.query.cells import Bounded
from discreet.query.keys import shown_key
from discreet.query.nested import Rolled, rolled
from discreet.query.plan import Plan, PostGroup
from discreet.query.price import Target
from discreet.query.render import to_sql
from discreet.query.request import Cells
from discreet.query.schema import Schema

__all__ = ["Rolling", "covers", "rolling"]

_STEP = "parts made to add up to their groups"


@dataclass(frozen=True, slots=True)
class Rolling(Decided):
    """A roll-up that will be published.

    Attributes:
        counted: what is asked of the engine, and how far a person moves it.
    """

    counted: Rolled

    @property
    def sql(self) -> str:
        """The question."""
        return to_sql(self.counted.plan, self.schema)

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal roll-ups."""
        told = {"publish": {"rollup": self.sql, "by": "levels with the least error"}}
        return Asked(self.sql, told, (str(self.epsilon), "None", "None"), ())

    def released(
        self, answering: Answering, source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Look at the data, once it is charged. For an analyst a failure is an empty table."""
        finish = partial(self.published, source=source, confidence=confidence, at=at)
        return finished(answering, self.counted.request, self.statement, finish)

    def published(
        self, cells: Cells, source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the cells and forget them.

        Args:
            cells: the exact counts of the groups that hold anybody.
            source: of the noise.
            confidence: of the intervals.
            at: when it was asked.
        """
        groups = public_groups(self.counted.plan)
        counts = [cells[group][0] if group in cells else 0 for group in groups]
        made = rollup(
            np.array(counts, dtype=np.int64), nested(groups), epsilon=self.epsilon,
            sensitivity=self.counted.sensitivity, neighbours=self.schema.unit.neighbours,
            source=source,
        )  # fmt: skip
        return self._release(made, confidence, at)

    def _release(self, made: Rollup, confidence: Fraction, at: datetime) -> Release:
        plan = self.counted.plan
        name = next(o.name for o in plan.outputs if not isinstance(o.value, PostGroup))
        rows, ends, raw = [], [], []
        levels = made.counts(confidence=confidence, scale=self.counted.scale)
        for level, place in _in_order(made):
            counts = levels[level]
            keys = self._keys(counts.nodes[place])
            number = int(counts.values[place])
            rows.append(tuple(
                keys[o.value.place] if isinstance(o.value, PostGroup) else number
                for o in plan.outputs
            ))  # fmt: skip
            ends.append((int(counts.low[place]), int(counts.high[place])))
            raw.append(float(counts.raw[place]))
        return Release(
            columns=tuple(output.name for output in plan.outputs),
            keys=tuple(o.name for o in plan.outputs if isinstance(o.value, PostGroup)),
            rows=tuple(rows),
            intervals={name: tuple(ends)},
            raw={name: tuple(raw)},
            guarantee=PureDP(
                self.epsilon + sum(loss.epsilon for _, loss in self.found),
                made.guarantee.neighbours,
            ),
            losses=(made.privacy_loss, *(loss for _, loss in self.found)),
            sql=self.sql,
            mechanisms={name: _words(made)},
            confidence=confidence,
            covers=covers(self.counted),
            notes=(*(note for note, _ in self.found), *_notes(plan)),
            asked_at=at,
            steps=(_STEP,),
        )

    def _keys(self, path: tuple[object, ...]) -> list[Value]:
        """The keys of a group as people write them; None for all."""
        groupings = self.counted.plan.groupings
        found: list[Value] = [
            plain(shown_key(key, grouping.value), where=grouping.name)  # type: ignore[arg-type]
            for key, grouping in zip(path, groupings, strict=False)
        ]
        return found + [None] * (len(groupings) - len(path))


def _in_order(made: Rollup) -> list[tuple[int, int]]:
    """Every group as (level, place), each before its parts."""
    first = [np.arange(made.groups.sizes[0])]
    for up, size in zip(made.groups.parents, made.groups.sizes[1:], strict=True):
        least = np.full(size, made.groups.sizes[0])
        np.minimum.at(least, up, first[-1])
        first.append(least)
    places = [
        (int(leaf), -level, level, place)
        for level, leaves in enumerate(first)
        for place, leaf in enumerate(leaves)
    ]
    return [(level, place) for _, _, level, place in sorted(places)]


def _words(made: Rollup) -> str:
    shares = ", ".join(shown(share * made.terms.epsilon) for share in made.shares[::-1])
    return (
        "geometric noise on every level, least squares over all levels; epsilon by level, from "
        f"everybody down: {shares}"
    )


def covers(counted: Bounded) -> str:
    """What intervals cover, in words."""
    bounded = counted.stability.bounding.way != "none"
    more = "; not what people with more rows than count would add" if bounded else ""
    return f"Intervals cover the noise, one number at a time{more}."


def _notes(plan: Plan) -> tuple[str, ...]:
    notes = ["(none) in a key stands for all of its values"]
    missing = [g.name for g in plan.groupings if g.value.kind.nullable]
    left_out = [f"whose {' or '.join(missing)} is missing"] if missing else []
    left_out += ["of no listed group"] if plan.combinations is not None else []
    if left_out:
        notes.append(f"rows {', or '.join(left_out)} are in no level")
    return tuple(notes)


def rolling(
    schema: Schema, engine: Engine, plan: Plan, epsilon: Exact | Callable[[Plan, Schema], Target],
    *, found: Sequence[tuple[str, PureLoss]] = (),
) -> Rolling:  # fmt: skip
    """Decide everything that needs no data; refused here, nothing was charged.

    Args:
        schema: the table.
        engine: reads it.
        plan: a roll-up.
        epsilon: the price, or what says it of a plan.
        found: what had to be found of the table before, and what that leaks.
    """
    target = epsilon(plan, schema) if callable(epsilon) else Target(epsilon=epsilon)
    price = rollup_epsilon(target)
    bare = replace(plan, epsilon=None, delta=None, rho=None)  # the price is no part of it
    wanted = rolled(bare, schema)
    return Rolling(schema, engine.statement(wanted.request), price, tuple(found), wanted)
