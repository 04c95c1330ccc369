"""A release as a table of pandas, polars or arrow, or as CSV; each library is loaded when asked.

Columns keep their kind: whole numbers stay whole (nullable where a value is missing), dates are
dates. An interval becomes two columns, <name>_low and <name>_high. Whole numbers beyond 64 bits
stay exact where the library can (pandas: Python ints; polars: 128 bits; arrow: decimals) and are
floats or text where it cannot. A column of several kinds becomes text.
Tested by tests/curator/test_frames.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.curator.values import Kind, Value, kind_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["as_arrow", "as_csv", "as_pandas", "as_polars", "series"]

Series = tuple[str, list[Value], Kind]


def library(name: str, asked: str, package: str | None = None) -> Any:
    """A library that only those need who ask for it; refuses with the words to install it."""
    try:
        return import_module(name)
    except ImportError:
        problem = f"needs {name}: pip install {package or name}"
        raise ParameterError(asked, None, problem) from None


def series(release: Release, *, intervals: bool) -> list[Series]:
    """The columns with their kinds, each followed by the two of its interval."""
    taken = set(release.columns)
    found: list[Series] = []
    for name in release.columns:
        values = release[name]
        found.append((name, values, kind_of(values)))
        if intervals and name in release.intervals:
            for end, place in (("low", 0), ("high", 1)):
                title = f"{name}_{end}"
                while title in taken:
                    title += "_"
                taken.add(title)
                ends = [None if pair is None else pair[place] for pair in release.intervals[name]]
                found.append((title, ends, kind_of(ends)))
    return found


def _words(values: Sequence[Value]) -> list[str | None]:
    """Values as text that every library can hold: half a character becomes a question mark."""
    return [
        None if v is None else _word(v).encode("utf-8", "replace").decode("utf-8") for v in values
    ]


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bits(values: Sequence[Value]) -> int:
    """The bits that the widest whole number needs, its sign included."""
    whole = (v for v in values if isinstance(v, int))
    return 1 + max(((v if v >= 0 else ~v).bit_length() for v in whole), default=0)


def _floats(values: Sequence[Value]) -> list[float | None]:
    return [None if v is None else _float(v) for v in values]


def _float(value: Value) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("nan")


def as_pandas(release: Release, *, intervals: bool) -> Any:
    """A pandas DataFrame; its `attrs` carry the guarantee and the question."""
    pandas = library("pandas", "to_pandas()")
    made = {
        name: _pandas_series(pandas, values, kind)
        for name, values, kind in series(release, intervals=intervals)
    }
    frame = pandas.DataFrame(made, index=pandas.RangeIndex(len(release)))
    frame.attrs = {"guarantee": str(release.guarantee), "sql": release.sql}
    return frame


def _pandas_series(pandas: Any, values: list[Value], kind: Kind) -> Any:
    missing = any(value is None for value in values)
    match kind:
        case "int" if _bits(values) <= 64:
            return pandas.Series(values, dtype="Int64" if missing else "int64")
        case "float":
            return pandas.Series(_floats(values), dtype="float64")
        case "bool":
            return pandas.Series(values, dtype="boolean" if missing else "bool")
        case "date":
            return pandas.Series(values, dtype="datetime64[s]")
        case "text" | "mixed":
            return pandas.Series(_words(values), dtype="string")
        case _:
            return pandas.Series(values, dtype="object")


def as_polars(release: Release, *, intervals: bool) -> Any:
    """A polars DataFrame."""
    polars = library("polars", "to_polars()")
    made = []
    for name, values, kind in series(release, intervals=intervals):
        bits = _bits(values) if kind == "int" else 0
        dtype = {
            "int": polars.Int64 if bits <= 64 else polars.Int128 if bits <= 128 else polars.Float64,
            "float": polars.Float64,
            "bool": polars.Boolean,
            "date": polars.Date,
            "text": polars.String,
            "mixed": polars.String,
            "none": polars.Null,
        }[kind]
        plain: Any = values
        if dtype == polars.String:
            plain = _words(values)
        elif dtype == polars.Float64:
            plain = _floats(values)
        made.append(polars.Series(name, plain, dtype=dtype))
    return polars.DataFrame(made)


def as_arrow(release: Release, *, intervals: bool) -> Any:
    """An arrow Table; its metadata carry the guarantee and the question."""
    arrow = library("pyarrow", "to_arrow()")
    names, arrays = [], []
    for name, values, kind in series(release, intervals=intervals):
        names.append(name)
        arrays.append(_arrow_array(arrow, values, kind))
    (question,) = _words([release.sql])
    told = {"discreet.guarantee": str(release.guarantee), "discreet.sql": question}
    return arrow.table(arrays, names=names).replace_schema_metadata(told)


def _arrow_array(arrow: Any, values: list[Value], kind: Kind) -> Any:
    match kind:
        case "int" if _bits(values) <= 64:
            return arrow.array(values, type=arrow.int64())
        case "int" if (digits := _digits(values)) <= 76:
            wide = arrow.decimal128(38) if digits <= 38 else arrow.decimal256(76)
            return arrow.array(values, type=wide)
        case "int" | "float":
            return arrow.array(_floats(values), type=arrow.float64())
        case "bool":
            return arrow.array(values, type=arrow.bool_())
        case "date":
            return arrow.array(values, type=arrow.date32())
        case "text" | "mixed":
            return arrow.array(_words(values), type=arrow.string())
        case _:
            return arrow.nulls(len(values))


def _digits(values: list[Value]) -> int:
    return max(len(str(abs(value))) for value in values if isinstance(value, int))


def as_csv(release: Release, *, intervals: bool, spreadsheet: bool) -> str:
    """CSV text: exact numbers, ISO dates, an empty field for a missing value.

    With `spreadsheet`, text that a spreadsheet would take for a formula (=, +, -, @ or a tab or
    return in front) gets an apostrophe before it.
    """
    guard = _guarded if spreadsheet else str
    found = series(release, intervals=intervals)
    columns = [[guard(name), *(_field(v, guard) for v in values)] for name, values, _ in found]
    lines = (",".join(map(_quoted, row)) for row in zip(*columns, strict=True))
    return "".join((line or '""') + "\n" for line in lines)  # an empty line would be no row


def _field(value: Value, guard: Callable[[str], str]) -> str:
    if value is None:
        return ""
    return guard(value) if isinstance(value, str) else _word(value)


def _quoted(text: str) -> str:
    """In quotes where a reader needs them; a lone return is the end of a line to some."""
    return '"' + text.replace('"', '""') + '"' if re.search('[,"\r\n]', text) else text


def _guarded(text: str) -> str:
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
