"""What a question needs and the owner did not declare: which search is next, and what it chose.

A search is charged like a question (`discreet.curator.find` has its guarantee); what it chose
becomes part of the declaration, for every later question.
Tested by tests/curator/test_search.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from discreet.curator.find import bounds_from, bounds_request, rows_from, rows_request
from discreet.curator.questions import Question, plan_of
from discreet.exact import shown
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.query.expr import Column, walk
from discreet.query.plan import Plan, aggregates
from discreet.query.request import Cells, Request
from discreet.query.schema import Bounds, FindBounds, PerPerson, Schema

__all__ = ["Chosen", "Search", "next_search", "supposed"]

_SUPPOSED = Bounds(1, 1_000_000)
"""Bounds that stand for those to be found while a question is only checked."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a search chose: bounds of a column, or a number of rows."""

    bounds: Bounds | None = None
    rows: int | None = None

    def to_json(self) -> str:
        """As text, to be stored."""
        told: dict[str, Any] = {"rows": self.rows}
        if self.bounds is not None:
            ends = (self.bounds.low, self.bounds.high, self.bounds.grid)
            told = {"bounds": [str(end) for end in ends]}
        return json.dumps(told)

    @classmethod
    def from_json(cls, text: str) -> Chosen:
        """Read it back."""
        told = json.loads(text)
        if "bounds" in told:
            low, high, grid = told["bounds"]
            return cls(bounds=Bounds(low, high, grid))
        return cls(rows=int(told["rows"]))


@dataclass(frozen=True, slots=True)
class Search:
    """One thing to be found.

    Attributes:
        column: whose bounds; None for rows per person.
        request: what the engine is asked.
        loss: what it costs.
    """

    column: str | None
    request: Request
    loss: PureLoss

    def chosen(self, schema: Schema, cells: Cells, source: Source) -> Chosen:
        """What the noisy bins show; NothingFoundError if nothing stands out."""
        if self.column is not None:
            bounds = bounds_from(schema, self.column, cells, self.loss.epsilon, source)
            return Chosen(bounds=bounds)
        assert isinstance(schema.unit, PerPerson)  # noqa: S101 - else there is nothing to find
        return Chosen(rows=rows_from(schema.unit, cells, self.loss.epsilon, source))

    def applied(self, schema: Schema, chosen: Chosen) -> Schema:
        """The declaration with what was chosen."""
        if self.column is not None and chosen.bounds is not None:
            return replace(schema, columns={**schema.columns, self.column: chosen.bounds})
        unit = schema.unit
        assert isinstance(unit, PerPerson)  # noqa: S101 - else there is nothing to find
        return replace(schema, unit=_with_rows(unit, chosen.rows))

    def note(self, chosen: Chosen) -> str:
        """What was chosen, in words."""
        cost = f"at a cost of epsilon {shown(self.loss.epsilon)}"
        if chosen.bounds is not None:
            ends = f"{shown(chosen.bounds.low)} to {shown(chosen.bounds.high)}"
            return f"bounds of {self.column} found: {ends}, {cost}"
        return f"rows per person found: at most {chosen.rows} count, {cost}"


def supposed(schema: Schema) -> Schema:
    """The declaration as if everything had been found: to check a question before it is paid."""
    columns = {n: _SUPPOSED if isinstance(d, FindBounds) else d for n, d in schema.columns.items()}
    made, unit = schema, schema.unit
    if columns != schema.columns:
        made = replace(schema, columns=columns)
    if isinstance(unit, PerPerson) and unit.max_rows == "find":
        made = replace(made, unit=_with_rows(unit, 1))
    return made


def _with_rows(unit: PerPerson, rows: int | None) -> PerPerson:
    return PerPerson(
        unit.column, max_rows=rows, max_groups=unit.max_groups, bounding=unit.bounding,
        neighbours=unit.neighbours, people=unit.people, together=unit.together,
    )  # fmt: skip


def next_search(question: Question, schema: Schema, *, plan: Plan | None = None) -> Search | None:
    """The first thing that a question needs and that has to be found; None if nothing is left.

    The question is checked before anything is spent on finding.

    Args:
        question: what is asked.
        schema: the declaration.
        plan: the question as if everything had been found, if the caller has read it already.
    """
    neighbours = schema.unit.neighbours
    wanted = [name for name, said in schema.columns.items() if isinstance(said, FindBounds)]
    if wanted:
        plan = plan or plan_of(question, supposed(schema))
        for column in sorted(_columns(plan) & set(wanted)):
            said = schema.columns[column]
            assert isinstance(said, FindBounds)  # noqa: S101 - it is wanted
            loss = PureLoss(neighbours=neighbours, epsilon=said.epsilon)
            return Search(column, bounds_request(schema, column), loss)
    unit = schema.unit
    if isinstance(unit, PerPerson) and unit.max_rows == "find":
        assert unit.find_epsilon is not None  # noqa: S101 - checked when the unit was made
        if any(a.function != "people" for a in aggregates(plan_of(question, schema))):
            loss = PureLoss(neighbours=neighbours, epsilon=unit.find_epsilon)
            return Search(None, rows_request(schema), loss)
    return None


def _columns(plan: Plan) -> set[str]:
    """The columns that a question uses."""
    roots = [plan.where, *(g.value for g in plan.groupings)]
    for aggregate in aggregates(plan):
        roots += [aggregate.operand, aggregate.where]
    return {
        node.name
        for root in roots
        if root is not None
        for node in walk(root)
        if isinstance(node, Column)
    }
