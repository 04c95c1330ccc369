"""Several counting questions about one table, answered from the same cells.

Each question is a COUNT(*), with WHERE, FILTER and GROUP BY as it likes. The *cells* are the
coarsest partition of all possible rows on which every question is constant: two rows are in one
cell exactly if every question counts both in the same group, or neither. They follow from the
questions and the declaration (`discreet.query.classes`), so they are public. Rows that no question
counts are in no cell. Those for which no condition holds are left out before people are bounded.

Missing values are values like others here: a row whose region is missing is in cells of its own,
where a question can tell; `region = 'north'` is not true of it, and neither is `region <> 'north'`.
A row whose key is missing is in no group of a GROUP BY, as in every question.

Guarantee. None: the counts are private. `sensitivity` bounds how far one person moves those of all
cells: the sum of the differences, in units of 1/`scale` rows, is at most that.
Proof. The engine counts rows in groups that are at least as fine as the cells, and
`discreet.query.stability` bounds the sum of the changes over these groups, whatever they are. Every
group is in one cell at most, so that adding groups up to cells does not make the sum larger.
Tested by tests/query/test_jointly.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.query import total
from discreet.query.blocks import blocks_of
from discreet.query.build import Query
from discreet.query.cells import Bounded
from discreet.query.classes import Atom, Line, atoms_of, lines
from discreet.query.evaluate import compiled
from discreet.query.expr import Expr
from discreet.query.plan import Aggregate, Grouping, Plan, PostAggregate, PostGroup, aggregates
from discreet.query.request import Cells, Key, Part, Request
from discreet.query.schema import PerRow, Schema
from discreet.query.stability import number_of_groups, stabilities

__all__ = ["MOST_CELLS", "Counting", "Joint", "jointly"]

MOST_CELLS = 10_000
"""So many cells can be answered together at most."""
MOST_COMBINATIONS = 200_000
"""So many combinations of classes are looked at to find the cells."""
MOST_ANSWERS = 20_000
"""So many groups of all questions together."""
MOST_LOOKS = 20_000_000
"""So often a question is held against a combination: as many numbers are in memory, four bytes
each, and some three microseconds go by for each."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Counting:
    """One question.

    Attributes:
        plan: as it was asked.
        condition: what a row has to fulfil to be counted; None for nothing.
        groups: the public groups, in the order of the answer; one empty group without GROUP BY.
    """

    plan: Plan
    condition: Expr | None
    groups: tuple[tuple[Key, ...], ...]

    @property
    def atoms(self) -> list[Atom]:
        """What it depends on."""
        found = [] if self.condition is None else list(atoms_of(self.condition))
        return found + [Atom(g.value, g.keys) for g in self.plan.groupings]


@dataclass(frozen=True, slots=True)
class Joint(Bounded):
    """Questions with their common cells.

    Attributes:
        asked: the questions.
        lines: the axes that the cells are made of.
        shape: of the cells: that of the axes where no two combinations of classes are alike.
        cell: for every combination of classes its cell; -1 where no question counts it.
        rows: for every question and cell the group that it is counted in; -1 for none.
    """

    asked: tuple[Counting, ...]
    lines: tuple[Line, ...]
    shape: tuple[int, ...]
    cell: Array
    rows: Array

    def counts(self, cells: Cells) -> Array:
        """The exact counts of the cells, from what the engine returned."""
        found = np.zeros(math.prod(self.shape), dtype=np.int64)
        ends = np.cumsum([0, *(len(line.keys) for line in self.lines)]).tolist()
        for key, (count,) in cells.items():
            place = tuple(
                line.places[key[low:high]]
                for line, low, high in zip(self.lines, ends, ends[1:], strict=False)
            )
            at = self.cell[place]
            if at >= 0:
                found[at] += count
        return found.reshape(self.shape)


def jointly(plans: Sequence[Plan], schema: Schema) -> Joint:
    """What to ask for several questions together; QueryError where they have no common cells."""
    if not plans:
        raise QueryError("a workload needs at least one question")
    asked = tuple(_counting(plan) for plan in plans)
    if sum(len(one.groups) for one in asked) > MOST_ANSWERS:
        raise QueryError(f"a workload may ask for {MOST_ANSWERS:,} counts at most")
    axes = lines([atom for one in asked for atom in one.atoms], schema)
    sizes = tuple(len(line.rows) for line in axes)
    if math.prod(sizes) > MOST_COMBINATIONS:
        raise _too_many(math.prod(sizes), axes)
    if len(asked) * math.prod(sizes) > MOST_LOOKS:
        raise _too_long(len(asked), math.prod(sizes), axes)
    which = np.stack([_groups_of(one, axes, sizes, schema).reshape(-1) for one in asked])
    shape, cell, rows = _merged(which, sizes)
    if math.prod(shape) > MOST_CELLS:
        raise _too_many(math.prod(shape), axes)
    wanted = _where([one.condition for one in asked])
    plan = replace(
        Query(schema).count().plan, where=wanted,
        groupings=tuple(Grouping(f"c{i}", key, None) for i, key in enumerate(_keys(axes))),
    )  # fmt: skip
    (block,) = set(
        blocks_of(aggregates(plan), rows_are_people=isinstance(schema.unit, PerRow)).values()
    )
    stability = stabilities(block, plan, schema)[0]  # the one that keeps the most rows
    part = Part(_keys(axes), block.totals, stability.bounding)
    request = Request(schema, wanted, (part,))
    return Joint(request, stability, asked, axes, shape, cell, rows)


def _told(axes: Sequence[Line]) -> str:
    said = ", ".join(f"{' and '.join(line.columns)}: {len(line.rows)}" for line in axes)
    return f"({said} classes)"


def _too_long(questions: int, combinations: int, axes: Sequence[Line]) -> QueryError:
    return QueryError(
        f"{questions:,} questions over {combinations:,} combinations {_told(axes)} are too many to "
        f"plan together: at most {MOST_LOOKS:,} in all, questions times combinations; ask for less "
        "at once, or join questions that differ in a value to one with GROUP BY"
    )


def _too_many(number: int, axes: Sequence[Line]) -> QueryError:
    return QueryError(
        f"these questions tell {number:,} cells apart {_told(axes)}, and at most "
        f"{MOST_CELLS:,} can be answered together; ask for less at once, or for coarser groups. "
        "Tables of a few of many columns are marginals: publish_marginals"
    )


def _keys(axes: Sequence[Line]) -> tuple[Expr, ...]:
    return tuple(key for line in axes for key in line.keys)


def _counting(plan: Plan) -> Counting:
    counts = aggregates(plan)
    if (
        len(counts) != 1
        or counts[0].function != "count"
        or not all(isinstance(o.value, PostGroup | PostAggregate) for o in plan.outputs)
    ):
        raise QueryError(
            "each question of a workload has its keys and one COUNT(*): numbers of rows are what "
            "can be answered together"
        )
    if plan.rollup or plan.having is not None or plan.order or plan.limit is not None or plan.other:
        raise QueryError(
            "a question of a workload takes no ROLLUP, HAVING, ORDER BY, LIMIT or other=TRUE: all "
            "of its groups are answered, and the release can be sorted and filtered for nothing"
        )
    if number_of_groups(plan) is None:
        unlisted = ", ".join(g.name for g in plan.groupings if g.keys is None)
        raise QueryError(
            f"the keys of {unlisted} are not public; a workload needs them: let the owner declare "
            "dp.Keys([...]), or list the groups"
        )
    keys = [dict.fromkeys(grouping.keys or ()) for grouping in plan.groupings]
    groups = tuple(product(*keys)) if plan.combinations is None else plan.combinations
    return Counting(plan, _condition(plan, counts[0]), tuple(dict.fromkeys(groups)))


def _condition(plan: Plan, count: Aggregate) -> Expr | None:
    parts = [part for part in (plan.where, count.where) if part is not None]
    if count.operand is not None:
        parts.append(total.negation(total.is_null(count.operand)))
    return total.all_of(parts) if parts else None


def _where(conditions: Sequence[Expr | None]) -> Expr | None:
    """Rows that some question may count; None for all."""
    every = [condition for condition in conditions if condition is not None]
    if len(every) < len(conditions):
        return None
    return total.any_of(list(dict.fromkeys(every)))


def _groups_of(
    asked: Counting, axes: Sequence[Line], sizes: tuple[int, ...], schema: Schema
) -> Array:
    """For every combination of classes the group that a question counts it in; -1 for none."""
    names = {name for atom in asked.atoms for name in atom.columns}
    used = [i for i, line in enumerate(axes) if names & set(line.columns)]
    holds = None if asked.condition is None else compiled(asked.condition, schema.tables)
    keys = [compiled(grouping.value, schema.tables) for grouping in asked.plan.groupings]
    place = {group: number for number, group in enumerate(asked.groups)}
    found = []
    for rows in product(*(axes[i].rows for i in used)):
        row = {name: value for part in rows for name, value in part.items()}
        inside = holds is None or holds(row) is True
        found.append(place.get(tuple(key(row) for key in keys), -1) if inside else -1)
    own = [sizes[i] if i in used else 1 for i in range(len(axes))]
    return np.broadcast_to(np.array(found, dtype=np.int32).reshape(own), sizes)


def _merged(which: Array, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], Array, Array]:
    """Combinations that no question tells apart become one cell, in the order of their first."""
    counted = (which >= 0).any(axis=0)
    if not counted.any():
        raise QueryError("no row can be counted by any of these questions")
    columns, first, inverse = np.unique(
        which[:, counted], axis=1, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    cell = np.full(which.shape[1], -1, dtype=np.int64)
    cell[counted] = rank[inverse.reshape(-1)]
    whole = len(order) == which.shape[1]
    shape = tuple(n for n in sizes if n > 1) if whole else (len(order),)
    return shape or (1,), cell.reshape(sizes), columns[:, order]
