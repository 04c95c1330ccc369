"""CSV files for DuckDB: the names in the first line, and how the rest is read.

All columns are text, and nothing is guessed from the rows. A line that has too few fields, is no
UTF-8 or is longer than 16 MiB is left out.
Tested by tests/engines/test_delimited.py
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from discreet.engines.dialects import name
from discreet.errors import EngineError, ParameterError

__all__ = ["Names", "check_names", "csv_relation", "header"]

_LONGEST_LINE = 1 << 24


def check_names(names: Sequence[str]) -> None:
    """DuckDB does not tell names apart that differ by case only."""
    seen: set[str] = set()
    for title in names:
        if not title or "\0" in title or title.lower() in seen:
            problem = "must all have names, different not only by upper and lower case"
            raise ParameterError("columns", title, problem)
        seen.add(title.lower())


def header(files: Sequence[str], delimiter: str) -> list[str]:
    """The names in the first line, which has to be the same in every file."""
    if len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise ParameterError("delimiter", delimiter, "must be one letter, such as ';'")
    found: list[str] | None = None
    for file in files:
        opened = gzip.open if file.lower().endswith(".gz") else open
        try:
            with opened(file, "rb") as lines:  # no row is looked at, whatever it holds
                line = bytes(lines.readline(_LONGEST_LINE)).decode("utf-8-sig")
                names = next(csv.reader([line], delimiter=delimiter), [])
        except (OSError, UnicodeDecodeError, csv.Error, EOFError) as error:
            raise ParameterError("a CSV file", Path(file).name, "cannot be read") from error
        if not names:
            raise ParameterError("a CSV file", Path(file).name, "needs names in its first line")
        if found is not None and names != found:
            raise ParameterError("a CSV file", Path(file).name, "has other names than the first")
        found = names
    check_names(found or [])
    return found or []


class Names:
    """The names in the first lines, as long as these are what they were.

    Columns are known by their place. A file that another took the place of may have them in another
    order, and then its numbers would be taken for those of other columns.

    Args:
        files: the files.
        delimiter: what stands between the names.
        seen: what tells whether the files are still the same, from before they are read.
    """

    def __init__(self, files: Sequence[str], delimiter: str, seen: object) -> None:
        self._files, self._delimiter = files, delimiter
        self._seen = seen
        self.known = header(files, delimiter)

    def insist(self, now: object) -> None:
        """Refuse files that have other names now; EngineError.

        Args:
            now: what tells whether the files are still the same, as somebody has just looked.
        """
        if now == self._seen:
            return
        try:
            same = header(self._files, self._delimiter) == self.known
        except ParameterError as error:
            raise EngineError("the files could not be read any more") from error
        if not same:
            raise EngineError("the columns of the files have changed since they were opened")
        self._seen = now


def csv_relation(
    listed: exp.Expr, names: Sequence[str], delimiter: str, *, strict: bool = False
) -> exp.Expr:
    """The files as they stand after FROM.

    Args:
        listed: the files.
        names: of the columns.
        delimiter: what stands between fields.
        strict: whether a line that is no row is a failure, and quotation marks have to be right.
    """

    def given(option: str, value: exp.Expr) -> exp.Expr:
        return exp.PropertyEQ(this=exp.Var(this=option), expression=value)

    text = exp.Literal.string
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=name(title), expression=text("VARCHAR")) for title in names
        ]
    )
    options = {
        "columns": columns,
        "auto_detect": exp.false(),
        "header": exp.true(),
        "delim": text(delimiter),
        "quote": text('"'),
        "escape": text('"'),
        "ignore_errors": exp.false() if strict else exp.true(),
        "strict_mode": exp.true() if strict else exp.false(),
        "max_line_size": exp.Literal.number(_LONGEST_LINE),
    }
    given_all = [given(option, value) for option, value in options.items()]
    return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[listed, *given_all]))
