"""A declaration bound to a source: what questions need to know, and the engine that answers them.

Names and types come from the source, everything else from the owner. No row is read.
Tested by tests/test_table.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.engines.base import Engine
from discreet.engines.check import check_columns
from discreet.engines.sources import open_source
from discreet.errors import ParameterError
from discreet.exact import Exact, whole
from discreet.query.schema import (
    MOST_ROWS,
    Bounds,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
    Unit,
    declared,
)

__all__ = ["bound"]


def bound(  # noqa: PLR0913 - all that an owner may say
    source: Any,
    *,
    unit: Unit,
    columns: Mapping[str, Any],
    name: str,
    table: str | None = None,
    lookups: Mapping[str, PublicTable] | None = None,
    row_limit: Exact = MOST_ROWS,
    options: Mapping[str, Any] | None = None,
) -> tuple[Schema, Engine]:
    """Open a source and check the declaration against its names and types.

    The arguments are those of `dp.Table`.
    """
    if not isinstance(unit, PerRow | PerPerson):
        raise ParameterError("unit", unit, "must be dp.PerRow() or dp.PerPerson(column, ...)")
    if not isinstance(columns, Mapping):
        raise ParameterError("columns", columns, "must be a dictionary of declarations")
    engine = open_source(source, table=table, **(options or {}))
    for title, lookup in (lookups or {}).items():
        given: object = lookup
        if not isinstance(given, PublicTable):
            problem = "must be a dp.PublicTable(key, {key: {column: value, ...}, ...})"
            raise ParameterError(f"lookups[{title!r}]", type(given).__name__, problem)
    storage = dict(engine.storage)
    known = {str(column): declared(column, said) for column, said in columns.items()}
    for column, said in known.items():
        if isinstance(said, Bounds):
            known[column] = said.stored_as(storage.get(column, "other"))
    schema = Schema(
        name=name,
        unit=unit,
        columns=known,
        storage=storage,
        tables=dict(lookups or {}),
        row_limit=whole(row_limit, name="row_limit", at_least=1, at_most=1 << 62),
    )
    check_columns(schema, engine)
    return schema, engine
