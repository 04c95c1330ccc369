"""Keys that are bins of a number: told by where they begin and end, and in words.

A histogram groups by a formula, which is in the question's SQL as it was asked, and calls each bin
by where it begins. People read "salary in 50 bins of 7,200" and "40,000 to 47,200" instead.
Tested by tests/curator/test_binned.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.curator.values import Value, visible
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["Bins", "axis_of", "bins_of", "end_of"]

_NAME = r'(?:\w+|"(?:[^"]|"")+")'
_NUMBER = r"\d+(?:\.\d+)?"
_MOVED = r"(?: [-+] [\d./ ]+?)?"
_FORMULA = re.compile(
    rf"CASE WHEN (?P<column>{_NAME}) IS NOT NULL THEN (?:"
    rf"(?P<width>{_NUMBER}) \* FLOOR\(LEAST\((?P=column), -?{_NUMBER}\) / (?P=width){_MOVED}\)|"
    rf"FLOOR\((?P<over>{_NUMBER}) \* LEAST\((?P=column), -?{_NUMBER}\){_MOVED}\) / (?P=over)"
    rf"){_MOVED} ELSE NULL END(?P<named> AS (?P<key>{_NAME}))?"
)


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of one key.

    Attributes:
        key: the column of the release that names them.
        column: what is binned.
        width: of each bin.
        number: how many there are; None where some are not in the release.
        question: the SQL, with the key instead of the formula.
    """

    key: str
    column: str
    width: Fraction
    number: int | None
    question: str

    def words(self) -> str:
        """Such as "salary in 50 bins of 7,200"."""
        many = "bins" if self.number is None else f"{self.number:,} bins"
        return f"{visible(self.column)} in {many} of {_number(self.width)}"

    def label(self, low: Value) -> str:
        """From where to where a bin goes: "40,000 to 47,200"."""
        if not isinstance(low, int | float):
            return "(none)"
        begin = Fraction(Decimal(repr(low)))
        return f"{_number(begin)} to {_number(begin + self.width)}"


def bins_of(release: Release) -> Bins | None:
    """The bins of a release; None where none of its keys is one."""
    if "FLOOR(" not in release.sql:
        return None
    found = next((one for one in _FORMULA.finditer(release.sql) if one["named"]), None)
    key = None if found is None else _plain(found["key"])
    if found is None or key is None or key not in release.keys:
        return None
    width = Fraction(found["width"]) if found["width"] else 1 / Fraction(found["over"])
    question = _FORMULA.sub(found["key"], release.sql)
    return Bins(key, _plain(found["column"]), width, _many(release, key, width), question)


def axis_of(release: Release) -> str | None:
    """The key along which ranges can be taken: the one of bins, or the only number or date."""
    bins = bins_of(release)
    if bins is not None:
        return bins.key
    ordered = [key for key in release.keys if _is_ordered(release[key])]
    return ordered[0] if len(ordered) == 1 else None


def _is_ordered(values: Sequence[Value]) -> bool:
    there = [value for value in values if value is not None]
    return bool(there) and all(
        isinstance(value, int | float | date) and not isinstance(value, bool) for value in there
    )


def end_of(release: Release, key: str, said: str | float) -> int | float | date:
    """An end of a range as its key has it: a date, or a number."""
    dates = any(isinstance(value, date) for value in release[key])
    if dates and isinstance(said, str):
        try:
            return date.fromisoformat(said)
        except ValueError:
            problem = "must be a date such as 2024-12-31"
            raise ParameterError("low and high", said, problem) from None
    try:
        return (
            float(said) if isinstance(said, str) and not said.lstrip("-").isdigit() else int(said)
        )
    except (ValueError, OverflowError):
        raise ParameterError("low and high", said, "must be numbers") from None


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _many(release: Release, key: str, width: Fraction) -> int | None:
    """How many bins there are, if none is left out between the first and the last."""
    lows = {Fraction(low) for low in release[key] if isinstance(low, int | float)}
    if not lows or (max(lows) - min(lows)) / width != len(lows) - 1:
        return None
    return len(lows)


def _number(value: Fraction) -> str:
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):,.6g}"
