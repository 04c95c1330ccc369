"""PostgreSQL through psycopg: one statement in a read-only transaction of its own.

A run opens a connection, reads, and closes it: nothing is kept between questions. Everything on
which the meaning of a statement could depend is set for that transaction: the time zone, how
strings are read, in which schema functions are looked up. Types that only PostgreSQL has are read
as types that every engine has (`_column`): enumerations and UUIDs as text, text in byte order
whatever its collation, moments of any time zone as times in UTC.
Tested by tests/engines/test_postgres.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines import compile as compiler
from discreet.engines.base import Engine, Hashing
from discreet.engines.progress import waiting
from discreet.engines.reading import cells
from discreet.errors import EngineError, ParameterError
from discreet.query.request import Cells, Request
from discreet.query.schema import Hidden, PerPerson, Schema, Storage

if TYPE_CHECKING:
    import psycopg

__all__ = ["Postgres"]

CONNECT_SECONDS = 10
LOCK_SECONDS = 10

_STORAGE: dict[str, Storage] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "real",
    "float8": "real",
    "numeric": "real",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "uuid": "text",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
}
_COLUMNS = """
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, a.atttypid AS type, a.atttypmod AS modifier
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
        SELECT b.attnum, b.attname, t.typbasetype, t.typtypmod
        FROM base AS b JOIN pg_catalog.pg_type AS t ON t.oid = b.type
        WHERE t.typtype = 'd'
    )
    SELECT b.attname::pg_catalog.text, t.typname::pg_catalog.text, t.typtype = 'e',
           t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace, b.modifier
    FROM base AS b JOIN pg_catalog.pg_type AS t ON t.oid = b.type
    WHERE t.typtype <> 'd'
    ORDER BY b.attnum
"""
_TABLE = """
    SELECT c.oid, pg_catalog.has_table_privilege(c.oid, 'SELECT'),
           pg_catalog.current_setting('server_encoding')
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A column of the catalogue: its type without domains, and whether it is an exact bigint."""

    name: str
    type: str
    storage: Storage


class Postgres(Engine):
    """One table or view of a PostgreSQL database.

    Args:
        address: postgresql://user@host/database; a password may be in it, or better in the
            environment or the password file that libpq reads.
        table: "name" in the schema public, or "schema.name", as the catalogue spells them; a part
            that holds a dot is written in double quotes.
        timeout: a statement that runs longer than this many seconds is cancelled.
        hashing: which hash chooses rows where people are sampled.
        key: the key of that hash.
    """

    dialect = "postgres"

    def __init__(
        self,
        address: str,
        table: str,
        *,
        timeout: float = 300,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> None:
        psycopg = _psycopg()
        try:
            self._where: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.Error:
            problem = "must look like postgresql://user@host:5432/database"
            raise ParameterError("the PostgreSQL address", None, problem) from None
        if not 0.001 <= timeout <= 2_000_000:
            raise ParameterError("timeout", timeout, "must be between 0.001 and 2000000 seconds")
        self._schema, self._name = _table(table)
        self._milliseconds = round(timeout * 1000)
        self.hashing, self.key = hashing, key

    def __repr__(self) -> str:
        database = self._where.get("dbname", "")
        return f"Postgres(table={self._schema + '.' + self._name!r}, database={database!r})"

    @property
    def storage(self) -> Mapping[str, Storage]:
        """How each column is stored: read from the catalogue, once."""
        return {column.name: column.storage for column in self._columns}

    def statement(self, request: Request) -> str:
        """The one SQL statement that answers the request."""
        return compiler.statement(
            request,
            dialect=self.dialect,
            relation=self._relation(request.schema),
            hashing=self.hashing,
            key=self.key,
        )

    def run(
        self,
        request: Request,
        statement: str | None = None,
        *,
        progress: bool = False,
        seconds: float | None = None,
    ) -> Sequence[Cells]:
        """The exact integers of every part, in order."""
        text = statement or self.statement(request)
        with waiting(shown=progress):
            return cells(request, self._read(text, seconds))

    def ping(self) -> None:
        """Connect, and check that the table is there and may be read; no row is."""
        with self._transaction() as connection:
            try:
                self._found(connection)
            except ParameterError as error:
                raise EngineError("the PostgreSQL table cannot be read any more") from error

    def _read(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """The rows of one statement. Results in binary form rule out a second one behind it."""
        with self._transaction(seconds) as connection:
            return connection.execute(text.encode(), binary=True, prepare=False).fetchall()

    @contextmanager
    def _transaction(
        self, seconds: float | None = None
    ) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A read-only transaction on a connection of its own.

        An interrupt cancels the statement on the server: psycopg does that before it hands the
        interrupt on, and closing the connection rolls back.
        """
        psycopg = _psycopg()
        where = {"connect_timeout": CONNECT_SECONDS, **self._where, "client_encoding": "utf8"}
        connection = None
        try:
            connection = psycopg.connect(**where)
            connection.read_only = True
            connection.execute(*self._pinned(seconds))
            yield connection
        except psycopg.Error as error:
            raise EngineError("the PostgreSQL database could not answer") from error
        finally:
            if connection is not None:
                connection.close()

    def _pinned(self, seconds: float | None) -> tuple[str, list[str]]:
        """The settings of one transaction, as one statement and its parameters."""
        longest = self._milliseconds
        if seconds is not None:
            longest = min(longest, max(round(seconds * 1000), 1))  # 0 would be no limit
        settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": str(longest),
            "lock_timeout": str(min(longest, LOCK_SECONDS * 1000)),
            "idle_in_transaction_session_timeout": str(longest),
            "search_path": "pg_catalog, pg_temp",
            "TimeZone": "UTC",
            "DateStyle": "ISO, YMD",
            "extra_float_digits": "1",
            "standard_conforming_strings": "on",
            "transform_null_equals": "off",
        }
        calls = ["pg_catalog.set_config(%s, %s, true)"] * len(settings)
        flat = [word for setting in settings.items() for word in setting]
        return f"SELECT {', '.join(calls)}", flat

    def _found(self, connection: psycopg.Connection[tuple[Any, ...]]) -> int:
        """The number of the table in the catalogue."""
        named = {"schema": self._schema, "name": self._name}
        found = connection.execute(_TABLE, named).fetchone()
        shown = f"{self._schema}.{self._name}"
        if found is None:
            problem = "is not in this PostgreSQL database, or hidden from this user"
            raise ParameterError("table", shown, problem)
        number, readable, encoding = found
        if not readable:
            raise ParameterError("table", shown, "may not be read by this PostgreSQL user")
        if encoding != "UTF8":
            problem = f"must be in a database with the encoding UTF8, and this has {encoding}"
            raise ParameterError("table", shown, problem)
        return int(number)

    @cached_property
    def _columns(self) -> tuple[_Stored, ...]:
        with self._transaction() as connection:
            rows = connection.execute(_COLUMNS, {"table": self._found(connection)}).fetchall()
        return tuple(_stored(*row) for row in rows)

    def _relation(self, schema: Schema) -> exp.Expression:
        """The columns that a question may use, read so that they mean the same everywhere."""
        table = exp.table_(self._name, db=self._schema, quoted=True)
        usable = {name for name, d in schema.columns.items() if not isinstance(d, Hidden)}
        if isinstance(schema.unit, PerPerson):
            usable.add(schema.unit.column)
        columns = [
            exp.alias_(_column(column), column.name, quoted=True)
            for column in self._columns
            if column.name in usable
        ]
        return exp.select(*columns).from_(table).subquery()


def _stored(name: str, type_: str, is_enum: bool, builtin: bool, modifier: int) -> _Stored:  # noqa: FBT001
    """One row of `_COLUMNS`. A decimal number of up to 18 digits and no fraction is an integer."""
    if is_enum:
        return _Stored(name, "enum", "text")
    if not builtin:
        return _Stored(name, type_, "other")
    if type_ == "numeric" and modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        if precision <= 18 and scale == 0:
            return _Stored(name, "whole", "integer")
    return _Stored(name, type_, _STORAGE.get(type_, "other"))


def _column(column: _Stored) -> exp.Expression:
    """A column as the statement reads it. It cannot fail, whatever is stored."""
    name = exp.column(column.name, quoted=True)
    match column.type:
        case "whole":  # NaN fits into every numeric column
            nan = exp.cast(exp.Literal.string("NaN"), "NUMERIC")
            return exp.cast(exp.Nullif(this=name, expression=nan), "BIGINT")
        case "numeric":  # 1.5 and 1.50 are equal, and so is their text
            return exp.Anonymous(this="TRIM_SCALE", expressions=[name])
        case "text" | "varchar" | "bpchar" | "name" | "uuid" | "enum":
            binary = exp.Identifier(this="C", quoted=True)
            return exp.Collate(this=exp.cast(name, "TEXT"), expression=binary)
        case "timestamptz":
            return exp.AtTimeZone(this=name, zone=exp.Literal.string("UTC"))
        case _:
            return name


def _table(text: str) -> tuple[str, str]:
    """Schema and name, from "name", "schema.name" or with parts in double quotes."""
    parts: list[str] = []
    rest = text
    while True:
        part, rest = _part(rest, text)
        parts.append(part)
        if not rest:
            break
        rest = rest[1:]
    if len(parts) > 2 or not all(parts) or "\0" in text:
        raise ParameterError("table", text, "must be 'name' or 'schema.name'")
    return (parts[0], parts[1]) if len(parts) == 2 else ("public", parts[0])


def _part(rest: str, text: str) -> tuple[str, str]:
    """The first part of a dotted name, and what follows it."""
    if not rest.startswith('"'):
        part, dot, after = rest.partition(".")
        return part, dot + after
    at, letters = 1, []
    while True:
        end = rest.find('"', at)
        if end < 0:
            raise ParameterError("table", text, "has a double quote that does not end")
        letters.append(rest[at:end])
        if not rest.startswith('"', end + 1):
            break
        letters.append('"')
        at = end + 2
    after = rest[end + 1 :]
    if after and not after.startswith("."):
        raise ParameterError("table", text, "must be 'name' or 'schema.name'")
    return "".join(letters), after


def _psycopg() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415 - only those who use it need it
    except ImportError:
        problem = 'needs psycopg: pip install "discreet[postgres]"'
        raise ParameterError("PostgreSQL", None, problem) from None
    return psycopg
