"""Statements over cleaned rows that are kept: written once for each shape of a question.

A statement over kept rows has the question's condition in one place. Everything else of it follows
from the parts, so that it is written once, and only the condition for each question.

Light parts. Where no person has more rows than a part allows, in the whole table, then none has in
any part of it, and bounding changes nothing: in "weight" every row has the full weight, in "sample"
every row and group is kept, in "clamp" no total is beyond its limit, because `rows` rows cannot
exceed `rows` times what one row can add. Such a part is asked as if nobody were bounded, and its
totals are multiplied by the full weight afterwards, in whole numbers; its integers are the same.

Flat statements. Where no part bounds anybody and no value needs a name, the statement reads the
kept rows without a subquery. It groups by the code of a value, where there is one (`Whole`): codes
are equal where the values are, and a code is read as its value. Nothing else reads codes.
Tested by tests/engines/test_shapes.py, tests/engines/test_kept.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.base import Hashing
from discreet.engines.bounding import bounds_nobody, check
from discreet.engines.compile import (
    Made,
    base_rows,
    cleaned_rows,
    columns_used,
    needed,
    over,
    person_names,
)
from discreet.engines.dialects import DIALECTS, Node, cast, column, name
from discreet.engines.expressions import Translator, grouped
from discreet.engines.parts import Base, Flat, aliased, carried, select, sub, where
from discreet.engines.reading import Reading
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Flag, Text
from discreet.query.recent import Recent, weight_of
from discreet.query.request import Bounding, Cells, Part, Request
from discreet.query.schema import FindBounds, Hidden, Keys, Schema

if TYPE_CHECKING:
    from discreet.engines.vectors import Vectors

__all__ = ["Shapes", "Statement", "Whole", "whole"]

FEW = 250
"""Columns with at most so many declared texts have codes."""
_HOLE = "\0"
"""Where the condition goes: a character that stands in no statement."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The cleaned rows of a relation with all declared columns, kept as a table called `rows`.

    Attributes:
        schema: the declaration.
        text: selects them.
        names: what each column is called there; the person is p.
        codes: what the codes of some columns are called, which are grouped by faster: an ENUM of
            the declared texts, 0 and 1 for false and true; missing where the value is.
    """

    schema: Schema
    text: str
    names: Mapping[str, str]
    codes: Mapping[str, str]


def whole(schema: Schema, *, dialect: str, relation: Node) -> Whole | None:
    """All that questions may read of a relation; None where a column cannot be read."""
    sql = DIALECTS[dialect]
    usable = [n for n, said in schema.columns.items() if not isinstance(said, Hidden | FindBounds)]
    names = {title: f"c{i}" for i, title in enumerate(usable)}
    people = Part((), (), Bounding("none"), people=True)
    try:
        rows = cleaned_rows(Request(schema, None, (people,)), sql, relation, names)
    except QueryError:
        return None
    coded = {at: code for at in usable if (code := _code(schema, at, names[at])) is not None}
    codes = {at: f"e{i}" for i, at in enumerate(coded)}
    listed = [aliased(code, codes[at]) for at, code in coded.items()]
    made = select([exp.Star(), *listed], sub(rows, "w")) if listed else rows
    return Whole(schema, sql.render(made), names, codes)


def _code(schema: Schema, at: str, title: str) -> Node | None:
    """The code of a cleaned column; None where it has none."""
    kind, said, value = schema.kind(at), schema.declaration(at), column(title, "w")
    if isinstance(kind, Flag):
        return cast(value, "UTINYINT")
    if isinstance(kind, Text) and isinstance(said, Keys) and len(said.values) <= FEW:
        texts: list[Node] = [exp.Literal.string(str(text)) for text in said.values]
        return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.ENUM, expressions=texts))
    return None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement over kept rows, and how its rows are read."""

    text: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class _Shape:
    """What was written for some parts.

    Attributes:
        parts: the parts; kept here, so that their id stays theirs.
        asked: what the statement asks for instead.
        times: what their totals have yet to be multiplied by.
        reading: how its rows are read.
        text: the statement with a hole for its condition; None if values are named first.
        bounds_nobody: whether no part of what is asked bounds anybody.
    """

    parts: tuple[Part, ...]
    asked: tuple[Part, ...]
    times: tuple[int, ...]
    reading: Reading
    text: str | None
    bounds_nobody: bool


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
        self._shapes: Recent[tuple[object, ...], _Shape] = Recent()
        self._last: tuple[e.Expr, str | None] | None = None

    def statement(self, request: Request, *, most: int | None = None) -> Statement:
        """The one statement that answers a request from kept rows.

        Args:
            request: what is asked for; its schema is that of the rows.
            most: no person has more rows; None if that is not known.
        """
        shape = self._shape(request, most)
        condition = None if shape.text is None else self._condition(request.where)
        if shape.text is None or condition is None:
            text = self._in_one(replace(request, parts=shape.asked))
            return Statement(text, shape.reading)
        return Statement(shape.text.replace(_HOLE, condition), shape.reading)

    def check(self, request: Request) -> None:
        """Refuse what cannot be answered, as `statement` does.

        A condition of numbers, dates and flags that needs no names has a statement whatever its
        constants are: it is written only where it is asked.
        """
        nodes = () if request.where is None else e.walk(request.where)
        if self._shape(request, None).text is None or not all(map(_is_plain, nodes)):
            self.statement(request)

    def counted(self, request: Request, most: int | None, rows: Vectors) -> list[Cells] | None:
        """The integers of that statement, without it; None where it has to be asked.

        Args:
            request: what is asked for.
            most: no person has more rows; None if that is not known.
            rows: the same rows.
        """
        shape = self._shape(request, most)
        if not shape.bounds_nobody:
            return None
        found = rows.cells(request.schema, self.of.names, request.where, shape.asked)
        if found is None or all(times == 1 for times in shape.times):
            return found
        return [
            {key: tuple([times * n for n in totals]) for key, totals in part.items()}
            for times, part in zip(shape.times, found, strict=True)
        ]

    def _shape(self, request: Request, most: int | None) -> _Shape:
        """What was written for the parts of a request, or is now."""
        at = (id(request.parts), request.where is None, most)
        shape = self._shapes.get(at)
        if shape is None:
            shape = self._shapes.keep(at, self._made(request, most), _weight(request.parts))
        return shape

    def _made(self, request: Request, most: int | None) -> _Shape:
        for part in request.parts:
            check(request.schema, part)
        asked, times = [], []
        for part in request.parts:
            light = _is_light(part, most)
            asked.append(replace(part, bounding=Bounding("none")) if light else part)
            times.append(part.bounding.scale if light else 1)
        parts = tuple(asked)
        text = self._apart(replace(request, parts=parts))
        reading = Reading(parts, times=times, total=_number)
        nobody = all(map(bounds_nobody, parts))
        return _Shape(request.parts, parts, tuple(times), reading, text, nobody)

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

    def _apart(self, request: Request) -> str | None:
        """The statement with a hole for its condition; None if values are named first."""
        translate = self._translator()
        values = {node: translate(node) for node in needed(request)}
        if translate.levels:
            return None
        rows = exp.Table(this=name("rows"), alias=exp.TableAlias(this=name("a")))
        condition = None if request.where is None else exp.Var(this=_HOLE)
        if all(map(bounds_nobody, request.parts)):
            alone = {node: grouped(made) for node, made in values.items()}
            codes = self._codes(values)
            flat = Flat(self._sql, request.schema, rows, alone, codes, condition)
            return self._sql.render(over(flat, None, request.parts))
        titles = {node: f"x{i}" for i, node in enumerate(values)}
        listed = [aliased(made, titles[node]) for node, made in values.items()]
        made = where(select([*carried(person_names(request), "a"), *listed], rows), condition)
        return self._written(request, Made(made, titles))

    def _codes(self, values: Iterable[e.Expr]) -> dict[e.Expr, str]:
        """The columns of codes of those expressions that have some."""
        columns = [node for node in values if isinstance(node, e.Column)]
        return {n: self.of.codes[n.name] for n in columns if n.name in self.of.codes}

    def _in_one(self, request: Request) -> str:
        """The statement as a whole."""
        names = {title: self.of.names[title] for title in columns_used(request)}
        rows = exp.Table(this=name("rows"), alias=exp.TableAlias(this=name("r")))
        titles = [*person_names(request), *names.values()]
        made = base_rows(request, self._sql, names, lambda: select(carried(titles, "r"), rows))
        return self._written(request, made)

    def _written(self, request: Request, made: Made) -> str:
        base = Base(self._sql, request.schema, made.names, self._hashing, self._key)
        return self._sql.render(over(base, made.select, request.parts))


_PLAIN = (
    e.Column, e.Literal, e.Linear, e.Product, e.Compare, e.Logic, e.Not, e.IsNull, e.Member,
    e.FlagNumber,
)  # fmt: skip


def _is_plain(node: e.Expr) -> bool:
    """Whether nothing about a node, apart from those inside it, is ever refused."""
    if isinstance(node, e.Literal) and isinstance(node.kind, Text):
        return False  # there are characters that no statement holds
    return isinstance(node, _PLAIN)


def _weight(parts: Iterable[Part]) -> int:
    """How much there is of some parts."""
    totals = [one for part in parts for total in part.totals for one in (total.value, total.where)]
    return weight_of((*totals, *(key for part in parts for key in part.keys)))


def _number(total: Any) -> int:
    """A total; of nothing it is 0."""
    return 0 if total is None else int(total)


def _is_light(part: Part, most: int | None) -> bool:
    """Whether bounding changes nothing where no person has more rows than `most`."""
    if most is None or part.bounding.way == "none" or part.spread is not None:
        return False
    bounds = (None if part.people else part.bounding.rows, part.bounding.groups)
    return all(bound is None or most <= bound for bound in bounds)
