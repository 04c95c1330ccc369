"""What a question needs and the owner did not declare: which search is next, and what it chose.

A search is charged like a question (`discreet.curator.find` has its guarantee); what it chose
becomes part of the declaration, for every later question.

Where nothing stands out from the noise an owner is told so, and may declare instead. For an analyst
the question goes on, at its own price, with `Search.instead`: bounds that every question is checked
under before it is paid (`supposed`), so that the price and the form of the answer do not depend on
what was found.

Guarantee. That of the search, whatever is taken instead.
Proof. `instead` is one constant for all bounds and one for all rows: it follows from nothing. That
it is taken follows from the noisy bins alone. So what the question goes on with is post-processing
of the search.
Tested by tests/curator/test_search.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.curator.answering import Audience
from discreet.curator.find import bounds_from, bounds_request, rows_from, rows_request
from discreet.curator.questions import Question, plan_of
from discreet.errors import NothingFoundError
from discreet.exact import shown
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.query.expr import Column, Expr, walk
from discreet.query.plan import Plan, aggregates
from discreet.query.request import Cells, Request
from discreet.query.schema import Bounds, FindBounds, PerPerson, Schema

__all__ = [
    "Chosen",
    "Search",
    "columns_read",
    "instead_of",
    "next_search",
    "noted",
    "searches_of",
    "supposed",
]

_SUPPOSED = Bounds(1, 1_000_000)
"""Bounds that stand for those to be found, while a question is only checked or if none are."""
_ONE_ROW = 1
"""The same for a number of rows."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a search chose: bounds of a column, or a number of rows.

    Attributes:
        bounds: of a column; or
        rows: of a person that count.
        found: whether the data showed it; else it was taken instead, and says nothing of them.
    """

    bounds: Bounds | None = None
    rows: int | None = None
    found: bool = True

    @property
    def words(self) -> str:
        """What was chosen, in words."""
        if self.bounds is not None:
            return f"{shown(self.bounds.low)} to {shown(self.bounds.high)}"
        return f"at most {self.rows} count"

    def to_json(self) -> str:
        """As text, to be stored."""
        told: dict[str, Any] = {"rows": self.rows}
        if self.bounds is not None:
            ends = (self.bounds.low, self.bounds.high, self.bounds.grid)
            told = {"bounds": [str(end) for end in ends]}
        return json.dumps(told)

    @classmethod
    def read(cls, text: str) -> Chosen | None:
        """Read it back; None where the text says that nothing was found."""
        told = json.loads(text)
        if "nothing" in told:
            return None
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

    @property
    def name(self) -> str:
        """What is searched for, in words."""
        return "rows per person" if self.column is None else f"bounds of {self.column}"

    @property
    def instead(self) -> Chosen:
        """What is taken where nothing was found: the same whatever the data are."""
        return instead_of(self.column)

    def told(self, parts: Sequence[Cells], schema: Schema, source: Source) -> str:
        """What came of it, as text to be stored."""
        (cells,) = parts
        try:
            return self.chosen(schema, cells, source).to_json()
        except NothingFoundError as nothing:
            return json.dumps({"nothing": str(nothing)})

    def taken(self, text: str, audience: Audience) -> Chosen:
        """What a stored text says was chosen; NothingFoundError for an owner if nothing was."""
        chosen = Chosen.read(text)
        if chosen is None and audience == "owner":
            raise NothingFoundError(str(json.loads(text)["nothing"]))
        return chosen or self.instead

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

    def undone(self, schema: Schema, before: Schema) -> Schema:
        """The declaration without what was chosen, as it was before."""
        if self.column is None:
            return replace(schema, unit=before.unit)
        said = before.columns[self.column]
        return replace(schema, columns={**schema.columns, self.column: said})

    def note(self, chosen: Chosen) -> str:
        """What was chosen, in words."""
        return noted(self.name, self.loss.epsilon, chosen)


def instead_of(column: str | None) -> Chosen:
    """What is taken for bounds of a column, or for rows per person, where nothing was found."""
    if column is None:
        return Chosen(rows=_ONE_ROW, found=False)
    return Chosen(bounds=_SUPPOSED, found=False)


def noted(name: str, epsilon: Fraction, chosen: Chosen) -> str:
    """What a search for something has chosen, in words."""
    cost = f"by a search that costs epsilon {shown(epsilon)}, once"
    if chosen.found:
        return f"{name} found: {chosen.words}, {cost}"
    return (
        f"{name} not found: nothing stood out from the noise, {cost}; instead {chosen.words}, "
        "which says nothing of the data"
    )


def supposed(schema: Schema) -> Schema:
    """The declaration as if everything had been found: to check a question before it is paid."""
    columns = {n: _SUPPOSED if isinstance(d, FindBounds) else d for n, d in schema.columns.items()}
    made, unit = schema, schema.unit
    if columns != schema.columns:
        made = replace(schema, columns=columns)
    if isinstance(unit, PerPerson) and unit.max_rows == "find":
        made = replace(made, unit=_with_rows(unit, _ONE_ROW))
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


def searches_of(schema: Schema) -> list[Search]:
    """All that has to be found of a table."""
    neighbours, unit = schema.unit.neighbours, schema.unit
    found = [
        Search(
            name, bounds_request(schema, name),
            PureLoss(neighbours=neighbours, epsilon=said.epsilon),
        )
        for name, said in sorted(schema.columns.items())
        if isinstance(said, FindBounds)
    ]  # fmt: skip
    if isinstance(unit, PerPerson) and unit.max_rows == "find":
        assert unit.find_epsilon is not None  # noqa: S101 - checked when the unit was made
        loss = PureLoss(neighbours=neighbours, epsilon=unit.find_epsilon)
        found.append(Search(None, rows_request(schema), loss))
    return found


def columns_read(request: Request) -> set[str]:
    """The columns that a request uses."""
    roots = [request.where]
    for part in request.parts:
        roots += [*part.keys]
        for total in part.totals:
            roots += [total.value, total.where]
    return _names(roots)


def _columns(plan: Plan) -> set[str]:
    """The columns that a question uses."""
    roots = [plan.where, *(g.value for g in plan.groupings)]
    for aggregate in aggregates(plan):
        roots += [aggregate.operand, aggregate.where]
    return _names(roots)


def _names(roots: Iterable[Expr | None]) -> set[str]:
    return {
        node.name
        for root in roots
        if root is not None
        for node in walk(root)
        if isinstance(node, Column)
    }
