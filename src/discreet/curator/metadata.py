"""What an analyst may know of a dataset, as plain JSON values; and back to a schema.

Everything here is the owner's declaration, plus one thing of the stored types: whether a number
without a declared grid is held in whole numbers. Nothing is read from rows. No source, path, table,
engine or option is told, and no budget. A hidden column is left out: to a question it is as if it
were not there, and refusals say the same with and without it. Bounds that are to be found privately
are told as such, also where somebody has found them: what was found was paid for.

Guarantee. `schema_from(metadata(...))` makes of every question the same plan, the same SQL and the
same refusal as the owner's schema: the two differ in storage, which no question looks at.

Numbers are exact text ("1/10"), keys have a type. Of long lists only the first are told, with how
many there are; such metadata are for people, and `schema_from` refuses them.
Tested by tests/curator/test_metadata.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from discreet.curator.policy.model import (
    Dataset,
    Defaults,
    Family,
    declared_values,
    lookup_values,
    unit_values,
)
from discreet.curator.policy.words import column_words
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.query.explain import unit_words
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    Declared,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
    Storage,
    Unit,
)

__all__ = ["FORM", "MOST_LISTED", "declared_schema", "metadata", "schema_from"]

FORM = "discreet-dataset/1"
MOST_LISTED = 2_000
"""So many keys of a column, and rows of a lookup table, are listed for people."""
_READ: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "date": date.fromisoformat,
}


def metadata(
    dataset: Dataset,
    schema: Schema,
    *,
    family: Family | None = None,
    defaults: Defaults | None = None,
    most: int | None = MOST_LISTED,
) -> dict[str, Any]:
    """What an analyst may know of a dataset, fit for JSON.

    Args:
        dataset: as the policy declares it.
        schema: how it is stored; nothing else is taken from it.
        family: whose budget it charges: how prices add up, and until when questions are answered.
        defaults: what a question costs that does not say so.
        most: how many keys and rows of lookup tables are listed; None for all, which a program
            needs (`schema_from`).
    """
    known = declared_schema(dataset, schema.storage)
    default = defaults or Defaults()
    return {
        "form": FORM,
        "name": dataset.name,
        "family": dataset.family,
        "accounting": None if family is None else family.accounting,
        "expires": None if family is None or family.expires is None else str(family.expires),
        "version": dataset.version,
        "blocks": [
            {"name": one.name, "version": one.version, "own_people": one.own_people}
            for one in dataset.blocks.values()
        ],
        "unit": {**unit_values(dataset.unit), "words": _unit_words(known)},
        "columns": [
            {"name": name, **_column(said, most), "words": column_words(said)}
            for name, said in known.columns.items()
        ],
        "lookups": [_lookup(name, table, most) for name, table in known.tables.items()],
        "row_limit": str(dataset.row_limit),
        "defaults": default.canonical(),
    }


def declared_schema(dataset: Dataset, storage: Mapping[str, Storage]) -> Schema:
    """The declaration as an analyst knows it: nothing hidden, nothing found, no storage."""
    columns: dict[str, Declared] = {}
    for name, said in dataset.columns.items():
        if isinstance(said, Bounds):
            meant = said.stored_as(storage.get(name, "other"))
            columns[name] = Bounds(meant.low, meant.high, meant.grid, missing=meant.missing)
        elif not isinstance(said, Hidden):
            columns[name] = said
    return Schema(dataset.name, dataset.unit, columns, {}, dict(dataset.lookups), dataset.row_limit)


def _unit_words(schema: Schema) -> list[str]:
    unit = schema.unit
    words = [f"A person {unit_words(schema)}."]
    if isinstance(unit, PerPerson):
        words += _rows_words(unit)
        size, what = unit.people, "people"
    else:
        size, what = unit.rows, "rows"
    if unit.together > 1:
        words.append(f"Groups of up to {unit.together:,} people are protected together.")
    if size is not None:
        words.append(f"The number of {what} is public: {size:,}.")
    return words


def _rows_words(unit: PerPerson) -> list[str]:
    words = []
    if unit.max_rows == "find" and unit.find_epsilon is not None:
        cost = shown(unit.find_epsilon)
        words.append(f"How many rows of a person count is found privately, for epsilon {cost}.")
    elif unit.trusted and unit.max_rows is not None:
        words.append(f"Nobody has more than {_many(unit.max_rows, 'row')}.")
    elif unit.max_rows is not None:
        where = "in each group of a question" if unit.max_groups is not None else "in a question"
        count = "counts" if unit.max_rows == 1 else "count"
        words.append(f"At most {_many(unit.max_rows, 'row')} of a person {count} {where}.")
    if unit.max_groups is not None:
        many = _many(unit.max_groups, "group")
        words.append(f"A person counts in at most {many} of a question.")
    return words


def _many(number: int | str, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _column(said: Declared, most: int | None) -> dict[str, Any]:
    told = declared_values(said)
    match said:
        case Bounds():
            return {"kind": "number", **told}
        case FindBounds(epsilon=epsilon):
            return {"kind": "find", "epsilon": str(epsilon)}
        case Keys(values=values):
            listed = {"keys": told["keys"][:most], "of": told["of"], "count": len(values)}
            return {"kind": "keys", **listed, "range": _range(values)}
        case Dates():
            return {"kind": "dates", **told}
        case _:
            return {"kind": told}


def _range(values: Sequence[Any]) -> list[str] | None:
    """First and last of whole numbers in a row, which need no list."""
    first = values[0]
    if type(first) is not int or list(values) != list(range(first, first + len(values))):
        return None
    return [str(first), str(values[-1])]


def _lookup(name: str, table: PublicTable, most: int | None) -> dict[str, Any]:
    told = lookup_values(table)
    return {"name": name, **told, "rows": told["rows"][:most], "count": len(table.rows)}


# and back


def schema_from(values: Mapping[str, Any]) -> Schema:
    """The schema that questions are built with; ParameterError if these are no metadata, or a list
    in them was cut.
    """
    given: object = values
    if not isinstance(given, Mapping) or values.get("form") != FORM:
        raise ParameterError("metadata", None, f"must have the form {FORM!r}")
    try:
        columns = {one["name"]: _declared(one) for one in values["columns"]}
        tables = {one["name"]: _table(one) for one in values["lookups"]}
        limit = int(values["row_limit"])
        return Schema(str(values["name"]), _unit(values["unit"]), columns, {}, tables, limit)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ParameterError):
            raise
        problem = f"does not have the form of {FORM} ({type(error).__name__})"
        raise ParameterError("metadata", None, problem) from error


def _declared(one: Mapping[str, Any]) -> Declared:
    match one["kind"]:
        case "number":
            return Bounds(one["low"], one["high"], one["grid"], missing=one["missing"])
        case "find":
            return Bounds.find(epsilon=one["epsilon"])
        case "keys" if one["range"] is not None:
            first, last = map(int, one["range"])
            return Keys(range(first, last + 1))
        case "keys":
            _whole(one["keys"], one)
            return Keys(map(_READ[one["of"]], one["keys"]))
        case "dates":
            return Dates(one["first"], one["last"])
        case "boolean":
            return Boolean()
        case "text":
            return FreeText()
        case kind:
            raise ParameterError("kind", kind, "of a column is not known here")


def _table(one: Mapping[str, Any]) -> PublicTable:
    _whole(one["rows"], one)
    names = one["columns"]
    rows = [[_value(value) for value in row] for row in one["rows"]]
    made = {at: dict(zip(names, row, strict=True)) for at, *row in rows}
    return PublicTable(one["key"], made)


def _value(typed: Sequence[Any] | None) -> Any:
    return None if typed is None else _READ[typed[0]](typed[1])


def _whole(listed: Sequence[Any], one: Mapping[str, Any]) -> None:
    if len(listed) != one["count"]:
        problem = f"lists {len(listed):,} of {one['count']:,}; ask for all of them"
        raise ParameterError("metadata", one["name"], problem)


def _unit(told: Mapping[str, Any]) -> Unit:
    together = int(told["together"])
    if told["per"] == "row":
        return PerRow(neighbours=told["neighbours"], rows=_size(told["rows"]), together=together)
    most = told["max_rows"]
    return PerPerson(
        told["person"], max_rows="find" if most == "find" else _size(most),
        max_groups=_size(told["max_groups"]), bounding=told["bounding"], trusted=told["trusted"],
        neighbours=told["neighbours"], people=_size(told["people"]), together=together,
        find_epsilon=told["find_epsilon"],
    )  # fmt: skip


def _size(text: str | None) -> int | None:
    return None if text is None else int(text)
