"""Statements over cleaned rows that are kept: written once for each shape of a question.

A statement over kept rows has the question's condition in one place. Everything else of it follows
from the parts, so that it is written once, and only the condition for each question.

Light rows. Where no person has more rows than a part allows, in the whole table, then none has in
any part of it, and bounding changes nothing: in "weight" every row has the full weight, in "sample"
every row and group is kept, in "clamp" no total is beyond its limit, because `rows` rows cannot
exceed `rows` times what one row can add. A part is then added up without looking for such people;
its integers are the same.
Tested by tests/engines/test_shapes.py, tests/engines/test_kept.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.base import Hashing
from discreet.engines.compile import (
    Made,
    base_rows,
    cleaned_rows,
    columns_used,
    needed,
    over,
    person_names,
)
from discreet.engines.dialects import DIALECTS, Node, name
from discreet.engines.expressions import Translator
from discreet.engines.parts import Base, aliased, carried, select, where
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request
from discreet.query.schema import FindBounds, Hidden, Schema

__all__ = ["Shapes", "Whole", "whole"]

_HOLE = "\0"
"""Where the condition goes: a character that stands in no statement."""
_KEPT = 256
"""So many shapes are remembered; then all are forgotten."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The cleaned rows of a relation with all declared columns, kept as a table called `rows`.

    Attributes:
        schema: the declaration.
        text: selects them.
        names: what each column is called there; the person is p.
    """

    schema: Schema
    text: str
    names: Mapping[str, str]


def whole(schema: Schema, *, dialect: str, relation: Node) -> Whole | None:
    """All that questions may read of a relation; None where a column cannot be read."""
    sql = DIALECTS[dialect]
    usable = [n for n, said in schema.columns.items() if not isinstance(said, Hidden | FindBounds)]
    names = {title: f"c{i}" for i, title in enumerate(usable)}
    people = Part((), (), Bounding("none"), people=True)
    try:
        made = cleaned_rows(Request(schema, None, (people,)), sql, relation, names)
    except QueryError:
        return None
    return Whole(schema, sql.render(made), names)


class Shapes:
    """Statements over kept rows, as they were written before for the same parts.

    They follow from the declaration and the questions; and from how many rows the person with the
    most has, which is private: so does the statement, which stays with the engine.

    Args:
        of: what is kept.
        dialect: one of `DIALECTS`.
        hashing: which hash chooses rows and groups.
        key: the key of that hash.
    """

    def __init__(self, of: Whole, *, dialect: str, hashing: Hashing, key: str) -> None:
        self.of = of
        self._sql, self._hashing, self._key = DIALECTS[dialect], hashing, key
        self._texts: dict[tuple[object, ...], str | None] = {}
        self._last: tuple[e.Expr, str | None] | None = None

    def statement(self, request: Request, *, most: int | None = None) -> str:
        """The one statement that answers a request from kept rows.

        Args:
            request: what is asked for; its schema is that of the rows.
            most: no person has more rows; None if that is not known.
        """
        light = frozenset(part for part in request.parts if _is_light(part, most))
        key = (request.parts, request.where is None, light)
        if key not in self._texts:
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            self._texts[key] = self._apart(request, light)
        text = self._texts[key]
        condition = None if text is None else self._condition(request.where)
        if text is None or condition is None:
            return self._in_one(request, light)
        return text.replace(_HOLE, condition)

    def _translator(self) -> Translator:
        return Translator(self._sql, columns=self.of.names, tables=self.of.schema.tables)

    def _condition(self, asked: e.Expr | None) -> str | None:
        """A condition on kept columns; None if it needs values that are named first."""
        if asked is None:
            return ""
        last = self._last
        if last is None or last[0] is not asked:
            translate = self._translator()
            made = translate(asked)
            last = self._last = asked, None if translate.levels else self._sql.render(made)
        return last[1]

    def _apart(self, request: Request, light: frozenset[Part]) -> str | None:
        """The statement with a hole for its condition; None if values are named first."""
        translate = self._translator()
        values = [(node, f"x{i}", translate(node)) for i, node in enumerate(needed(request))]
        if translate.levels:
            return None
        rows = exp.Table(this=name("rows"), alias=exp.TableAlias(this=name("a")))
        listed = [aliased(made, title) for _, title, made in values]
        condition = None if request.where is None else exp.Var(this=_HOLE)
        made = where(select([*carried(person_names(request), "a"), *listed], rows), condition)
        return self._written(request, Made(made, {n: title for n, title, _ in values}), light)

    def _in_one(self, request: Request, light: frozenset[Part]) -> str:
        """The statement as a whole."""
        names = {title: self.of.names[title] for title in columns_used(request)}
        rows = exp.Table(this=name("rows"), alias=exp.TableAlias(this=name("r")))
        titles = [*person_names(request), *names.values()]
        made = base_rows(request, self._sql, names, lambda: select(carried(titles, "r"), rows))
        return self._written(request, made, light)

    def _written(self, request: Request, made: Made, light: frozenset[Part]) -> str:
        base = Base(self._sql, request.schema, made.names, self._hashing, self._key, light=light)
        return self._sql.render(over(base, made, request.parts))


def _is_light(part: Part, most: int | None) -> bool:
    """Whether bounding changes nothing where no person has more rows than `most`."""
    if most is None or part.bounding.way == "none" or part.spread is not None:
        return False
    bounds = (None if part.people else part.bounding.rows, part.bounding.groups)
    return all(bound is None or most <= bound for bound in bounds)
