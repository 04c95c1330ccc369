"""What the ledger keeps of an answer: its record and, for later and coarser askings, its cells.

A record is what the asker gets and what is exported. The noisy cells that all of it was read off
are released numbers too, and no secret; but they are of no use to a reader, so that they stay
with the ledger. An answer that cannot be made coarser is kept as its record alone, and so is one
that was made of another's cells. Every answer of before there were cells reads as such a one.
Tested by tests/curator/test_kept.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.curator.answer import NoisyCells
from discreet.curator.record import Record
from discreet.curator.stored import in_one_line, read_json
from discreet.errors import ParameterError
from discreet.query.price import Target

__all__ = ["SCHEMA", "Cells", "Kept"]

SCHEMA = "discreet-kept/1"
_NONE: Mapping[str, Any] = {}
_NAMES = {"schema", "price", "cells", "record"}


@dataclass(frozen=True, slots=True)
class Cells:
    """Noisy cells, and the price at which they were released."""

    price: Target
    noisy: NoisyCells


@dataclass(frozen=True, slots=True)
class Kept:
    """A record, with its cells where it can be made coarser."""

    record: Record
    cells: Cells | None = None

    def to_text(self) -> str:
        """As it is stored; `from_text` reads it back."""
        if self.cells is None:
            return self.record.to_line()
        price = self.cells.price
        return (
            f'{{"schema":"{SCHEMA}","price":{{"epsilon":{_said(price.epsilon)},'
            f'"delta":{_said(price.delta)},"rho":{_said(price.rho)}}},'
            f'"cells":{in_one_line(self.cells.noisy)},"record":{self.record.to_line()}}}'
        )

    @classmethod
    def from_text(cls, text: str, marks: Mapping[str, Any] = _NONE, *, put: bool = True) -> Kept:
        """Read what was stored, with cells or without; what is not known is refused.

        Args:
            text: as it is stored.
            marks: what the record says instead of what is stored; all of it, or it is refused.
            put: whether it does; otherwise marks are only looked at, which takes as long.
        """
        values = read_json(text)
        if values.get("schema") != SCHEMA:
            return cls(Record.from_dict(_marked(values, marks, put)))
        if set(values) != _NAMES:
            odd = sorted(set(values) ^ _NAMES)
            raise ParameterError("fields", odd, "of a kept answer are missing or not known here")
        cells = Cells(Target(**_mapping(values["price"])), _cells(values["cells"]))
        return cls(Record.from_dict(_marked(values["record"], marks, put)), cells)


def _marked(told: Any, marks: Mapping[str, Any], put: bool) -> Any:  # noqa: FBT001
    """What a record says, with marks in place of fields of the same kind; never without them."""
    inner, made = marks.get("release", _NONE), told
    if _has(told, marks) and _has(told.get("release"), inner):
        made = {**told, **marks, "release": {**told["release"], **inner}}
    elif put and marks:
        raise ParameterError("record", None, "of a kept answer cannot be read")
    return made if put else told


def _has(told: Any, marks: Mapping[str, Any]) -> bool:
    """Whether there is what marks replace, of the same kind; a block may be none."""
    return isinstance(told, Mapping) and all(
        name in told and (name == "block" or type(told[name]) is type(mark))
        for name, mark in marks.items()
    )


def _said(number: Fraction | None) -> str:
    """A part of a price in JSON."""
    return "null" if number is None else f'"{number}"'


def _mapping(values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping) or set(values) != {"epsilon", "delta", "rho"}:
        raise ParameterError("price", None, "of a kept answer cannot be read")
    return values


def _cells(values: Any) -> NoisyCells:
    """Lists of lists of lists of integers, as tuples."""
    try:
        found = tuple(tuple(tuple(row) for row in rows) for rows in values)
    except TypeError as error:
        raise ParameterError("cells", None, "of a kept answer cannot be read") from error
    if not all(type(n) is int for rows in found for row in rows for n in row):
        raise ParameterError("cells", None, "of a kept answer must be whole numbers")
    return found
