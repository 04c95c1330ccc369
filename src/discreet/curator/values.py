"""The values that a release is made of: what they may be, what kind a column is, how text is shown.

Everything here is public: it was released. One rule each, applied when a release is made:

* a float that is not a finite number (NaN, an infinity) is no value and becomes None; at the end
  of an interval None says that there is no bound on that side;
* -0.0 becomes 0.0; scalars of numpy become plain ones; a whole `Fraction` or `Decimal` becomes an
  int and any other a float; a datetime at midnight becomes its date;
* anything else is refused by its type.
Tested by tests/curator/test_values.py
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from discreet.errors import InputTypeError
from discreet.query.words import visible

__all__ = [
    "Interval",
    "Kind",
    "Value",
    "are_finished",
    "are_there",
    "finished",
    "kind_of",
    "same",
    "shortened",
    "visible",
    "width_of",
]

Value = int | float | str | bool | date | None
Interval = tuple[Value, Value] | None
Kind = Literal["none", "bool", "int", "float", "date", "text", "mixed"]

_FINISHED = frozenset((int, bool, str))
"""Most values are, and need no look."""
_FINISHED_OR_NONE = _FINISHED | {type(None)}
_MISSING = frozenset((type(None),))
_KINDS: dict[type, Kind] = {bool: "bool", int: "int", float: "float", date: "date", str: "text"}


def finished(value: object, *, where: str) -> Value:
    """A value as a release holds it; `where` names its column for the refusal.

    >>> finished(float("nan"), where="mean"), finished(Fraction(6, 2), where="mean")
    (None, 3)
    """
    if value is None or type(value) in _FINISHED:
        return value  # type: ignore[return-value]
    match value:
        case bool():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value) + 0.0 if math.isfinite(value) else None
        case Fraction() | Decimal():
            return _number(value)
        case datetime() if value.tzinfo is None and value.time() == time.min:
            return value.date()
        case date() if not isinstance(value, datetime):
            return value
        case _ if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
            return finished(value.item(), where=where)  # type: ignore[attr-defined]
        case _:
            raise InputTypeError(
                f"{where!r} cannot hold a {type(value).__name__}; a release holds whole numbers, "
                "floats, text, booleans, dates and None"
            )


def are_finished(values: Iterable[object]) -> bool:
    """Whether a release holds these values as they are; not said of floats and dates.

    >>> are_finished([1, "a", None, True]), are_finished([0.5])
    (True, False)
    """
    return _FINISHED_OR_NONE.issuperset(map(type, values))


def are_there(values: Iterable[object]) -> bool:
    """The same, and none of them is missing.

    >>> are_there([1, "a", True]), are_there([1, None])
    (True, False)
    """
    return _FINISHED.issuperset(map(type, values))


def _number(value: Fraction | Decimal) -> int | float | None:
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    exact = Fraction(value)
    if exact.denominator == 1:
        return int(exact)
    try:
        return float(exact) + 0.0
    except OverflowError:
        return round(exact)


def kind_of(values: Iterable[Value]) -> Kind:
    """The kind of a whole column; whole numbers among floats are floats.

    >>> kind_of([1, None, 2]), kind_of([1, 2.5]), kind_of(["a", 1])
    ('int', 'float', 'mixed')
    """
    kinds = {_KINDS[type_] for type_ in set(map(type, values)) - _MISSING}
    if kinds == {"int", "float"}:
        return "float"
    if len(kinds) > 1:
        return "mixed"
    return kinds.pop() if kinds else "none"


def same(first: object, second: object) -> bool:
    """Equal and of one type: 1, 1.0 and True are three values."""
    return type(first) is type(second) and first == second


def width_of(text: str) -> int:
    """The number of terminal columns that visible text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def shortened(text: str, most: int) -> str:
    """Visible text in at most this many terminal columns.

    >>> shortened("Engineering", 6)
    'Engin…'
    """
    if width_of(text) <= most:
        return text
    kept, used = [], 0
    for letter in text:
        used += _width(letter)
        if used > most - 1:
            break
        kept.append(letter)
    return "".join(kept) + "…"
