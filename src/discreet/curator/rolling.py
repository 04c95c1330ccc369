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

import numpy as np

from discreet.curator.answer import public_groups
from discreet.curator.claims import Asked
from discreet.curator.decided import Decided
from discreet.curator.foretold import rollup_loss
from discreet.curator.release import Release
from discreet.curator.values import Value
from discreet.curator.values import finished as plain
from discreet.engines.base import Engine
from discreet.exact import Exact, shown
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.publish.rollups import Rollup, nested, rollup
from discreet.query.keys import shown_key
from discreet.query.nested import Rolled, rolled
from discreet.query.plan import Plan, PostGroup
from discreet.query.price import Target
from discreet.query.render import to_sql
from discreet.query.request import Cells
from discreet.query.schema import Schema

__all__ = ["Rolling", "rolling"]

_STEP = "parts made to add up to their groups"


@dataclass(frozen=True, slots=True)
class Rolling(Decided[Rolled]):
    """A roll-up that will be published."""

    @property
    def sql(self) -> str:
        """The question."""
        return to_sql(self.counted.plan, self.schema)

    @property
    def asked(self) -> Asked:
        """What is published, for the ledger: the same for equal roll-ups."""
        return self.question(self.sql, {"rollup": self.sql, "by": "levels with the least error"})

    def published(
        self, parts: Sequence[Cells], source: Source, *, confidence: Fraction, at: datetime
    ) -> Release:
        """Measure the cells and forget them."""
        (cells,) = parts
        groups = public_groups(self.counted.plan)
        counts = [cells[group][0] if group in cells else 0 for group in groups]
        made = rollup(
            np.array(counts, dtype=np.int64), nested(groups), epsilon=self.price["epsilon"],
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
        return self.release(
            columns=tuple(output.name for output in plan.outputs),
            keys=tuple(o.name for o in plan.outputs if isinstance(o.value, PostGroup)),
            rows=tuple(rows),
            intervals={name: tuple(ends)},
            raw={name: tuple(raw)},
            sql=self.sql,
            mechanisms={name: _words(made)},
            confidence=confidence,
            notes=_notes(plan),
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


def _notes(plan: Plan) -> tuple[str, ...]:
    notes = ["(all) in a key stands for all of its values"]
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
    loss = rollup_loss(target, schema)
    bare = replace(plan, epsilon=None, delta=None, rho=None)  # the price is no part of it
    wanted = rolled(bare, schema)
    return Rolling(schema, engine.statement(wanted.request), loss, tuple(found), wanted)
