"""SQLAlchemy's statements, compiled once, to be run by a driver's own cursor.

Tested by tests/curator/ledger/test_compiled.py, tests/curator/ledger/test_statements.py, and
tests/curator/ledger/test_database.py
"""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.sql.base import Executable

    from discreet.curator.ledger.database import Database

__all__ = ["Placed", "Statement", "Texts"]


class Placed:
    """A statement whose values go by place: those of a charge, which are run all the time.

    Args:
        statement: SQLAlchemy's, the same for all databases.
        places: the names of its values in the order in which they occur, each as often as it does.
    """

    __slots__ = ("places", "statement")

    def __init__(self, statement: Any, *places: str) -> None:
        self.statement, self.places = statement, places


class Texts(dict[Placed, str]):
    """The texts of statements in the dialect of a database, each compiled when first looked up."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = weakref.proxy(database)

    def __missing__(self, placed: Placed) -> str:
        dialect = self._database.dialect
        pyformat = dialect.paramstyle == "pyformat"
        places: list[str] = []

        def place(found: re.Match[str]) -> str:
            places.append(found[1])
            return "%s" if pyformat else "?"

        pattern = r"%\((\w+)\)s" if pyformat else r":(\w+)"
        text = re.sub(pattern, place, Statement(placed.statement, dialect).text)
        if tuple(places) != placed.places:
            raise TypeError(f"the values of a statement are {places}, and not {placed.places}")
        self[placed] = text
        return text


class Statement:
    """A statement of SQLAlchemy's, compiled once, to be run by the driver's own cursor.

    Attributes:
        text: with names where values go; the values that it has itself are written out.
    """

    __slots__ = ("_kept", "text")

    def __init__(self, statement: Executable, dialect: Any) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self._kept = statement  # its id stays its own
        text = str(compiled)
        for name, value in compiled.params.items():
            if not compiled.binds[name].required:
                place = f"%({name})s" if dialect.paramstyle == "pyformat" else f":{name}"
                text = re.sub(rf"{re.escape(place)}(?!\w)", _literal(value, dialect), text)
        self.text = text


def _literal(value: object, dialect: Any) -> str:
    """A constant of a statement: no value of anybody's."""
    match value:
        case None:
            return "NULL"
        case int():
            return str(int(value))
        case str():
            text = "'" + value.replace("'", "''") + "'"
            return text.replace("%", "%%") if dialect.paramstyle == "pyformat" else text
        case _:
            raise TypeError(f"a constant of the type {type(value).__name__}")
