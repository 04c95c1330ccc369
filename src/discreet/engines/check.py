"""The check at registration, of names and types only; and the owner's, that every row can be read.

Tested by tests/engines/test_check.py
"""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.base import Engine
from discreet.engines.clean import read
from discreet.engines.dialects import DIALECTS
from discreet.errors import ParameterError, QueryError
from discreet.query.expr import Column, Compare, Literal
from discreet.query.kinds import Flag, Text
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, FindBounds, Hidden, PerPerson, Schema

__all__ = ["check_columns", "check_rows"]


def check_columns(schema: Schema, engine: Engine) -> None:
    """Refuse a declaration that the stored names and types cannot have, in words."""
    unit = schema.unit
    named = [*schema.columns, *([unit.column] if isinstance(unit, PerPerson) else [])]
    for name in named:
        if name not in schema.storage:
            raise ParameterError("columns", name, _no_column(name, list(schema.storage)))
    for name, said in schema.columns.items():
        if isinstance(said, Hidden):
            continue
        meant = Bounds(0, 1) if isinstance(said, FindBounds) else said
        dialect = DIALECTS[engine.dialect]
        try:
            read(name, meant, schema.storage[name], exp.column("x"), dialect)
        except QueryError as error:
            raise ParameterError(
                f"columns[{name!r}]", None, f"cannot hold: {error.problem}"
            ) from None


def check_rows(schema: Schema, engine: Engine) -> None:
    """Let the engine read every declared column of every row; EngineError if it cannot.

    What it finds is thrown away: the owner learns that the table can be read, and nothing of it. Of
    a CSV file all lines have to be rows.
    """
    said = [name for name, what in schema.columns.items() if not isinstance(what, Hidden)]
    known = [name for name in said if not isinstance(schema.columns[name], FindBounds)]
    totals = tuple(_looking_at(Column(name, schema.kind(name))) for name in known)
    engine.check_lines()
    engine.run(Request(schema, None, (Part((), (*totals, Total()), Bounding("none")),)))


def _looking_at(column: Column) -> Total:
    """A count for which every value has to be read; how many are there may be known without."""
    if not isinstance(column.kind, Text):
        return Total(value=column)
    return Total(where=Compare("=", column, Literal("", Text()), Flag()))


def _no_column(name: str, there: list[str]) -> str:
    """What is there instead, with a guess at what went wrong."""
    listed = ", ".join(there) or "none"
    words = f"must be columns of the source, which has: {listed}"
    near = next((other for other in there if other.casefold() == name.casefold()), None)
    if near is not None:
        return f"{words} (did you mean {near!r}?)"
    for mark, said in ((";", "';'"), ("\t", "a tab"), ("|", "'|'")):
        if len(there) == 1 and mark in there[0]:
            return f"{words} (is the file separated by {said}? say delimiter={mark!r})"
    return words
