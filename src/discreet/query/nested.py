"""The exact counts of the finest groups of a roll-up: what all of its levels are made of.

A roll-up (GROUP BY ROLLUP) counts rows by all of its keys, by all but the last, and so on. Its keys
are public: declared, or listed. Rows in which one of them is missing are in no group of any level,
so that parts can add up; they are left out before people are bounded. COALESCE gives them a name.

Guarantee. None: the counts are private. `sensitivity` bounds how far one person moves those of the
finest groups: the sum of the differences, in units of 1/`scale` rows, is at most that.
Proof. The theorems of `discreet.query.stability` for the number of rows in these groups.
Tested by tests/query/test_nested.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import QueryError
from discreet.query import total
from discreet.query.blocks import blocks_of
from discreet.query.build import Query
from discreet.query.cells import Bounded
from discreet.query.plan import Aggregate, Plan, PostAggregate, PostGroup, aggregates
from discreet.query.request import Part, Request
from discreet.query.schema import PerRow, Schema
from discreet.query.stability import stabilities

__all__ = ["Rolled", "rolled", "rollup_plan"]


@dataclass(frozen=True, slots=True)
class Rolled(Bounded):
    """The finest groups of a roll-up.

    Attributes:
        plan: what is asked.
    """

    plan: Plan


def rollup_plan(
    schema: Schema, keys: Sequence[str], where: str | None = None, combinations: Any = None
) -> Plan:
    """The plan of a roll-up that is said in Python.

    Args:
        schema: the table.
        keys: columns or expressions in SQL, the coarsest first; "... AS name" gives a name.
        where: only rows for which this condition holds.
        combinations: the finest groups as tuples, where they are no product; else all are meant.
    """
    if isinstance(keys, str) or not keys:
        raise QueryError("a roll-up needs its keys as a list, the coarsest first")
    query = Query(schema) if where is None else Query(schema).where(where)
    plan = query.group_by(*keys, keys=combinations).count(name="n").plan
    return replace(plan, rollup=True)


def rolled(plan: Plan, schema: Schema) -> Rolled:
    """What to ask for a roll-up; QueryError where it has none, or nothing bounds a person."""
    counts = aggregates(plan)
    if counts != (Aggregate("count"),) or not all(
        isinstance(output.value, PostGroup | PostAggregate) for output in plan.outputs
    ):
        raise QueryError(
            "GROUP BY ROLLUP goes with the keys and COUNT(*): only numbers of rows add up"
        )
    if plan.having is not None or plan.order or plan.limit is not None or plan.other:
        raise QueryError(
            "GROUP BY ROLLUP takes no HAVING, ORDER BY, LIMIT or other=TRUE: every group of every "
            "level is answered, and the release can be sorted and filtered for nothing"
        )
    unlisted = [grouping.name for grouping in plan.groupings if grouping.keys is None]
    if unlisted:
        raise QueryError(
            f"the keys of {', '.join(unlisted)} are not public; a roll-up needs them: let the "
            "owner declare dp.Keys([...]), or list the groups"
        )
    present = [total.negation(total.is_null(g.value)) for g in plan.groupings]
    kept = total.all_of(present if plan.where is None else [plan.where, *present])
    (block,) = set(blocks_of(counts, rows_are_people=isinstance(schema.unit, PerRow)).values())
    stability = stabilities(block, plan, schema)[0]  # the one that keeps the most rows
    part = Part(tuple(g.value for g in plan.groupings), block.totals, stability.bounding)
    return Rolled(Request(schema, kept, (part,)), stability, plan)
