"""DuckDB, inside this process: files, tables in memory, DuckDB databases.

Files, tables in memory and database files are read through a connection of our own, which may read
these files and nothing else (`own`). Rows of files that are asked again are kept in memory while
the files stay as they are (`kept`). A connection that is handed in stays the owner's: its tables
are read through a cursor, with the few session settings that the meaning of a statement needs.

Column names and types come from DESCRIBE: no row is read for them. CSV is all text, its names are
the first line's, and nothing is guessed from the rows; a line that has too few fields or is no
UTF-8 is left out. Columns of Python objects (pandas) are read as text.
Tested by tests/engines/test_duckdb.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from discreet.engines.base import Engine, Hashing
from discreet.engines.compile import Cleaned, columns_used, statement
from discreet.engines.delimited import Names, check_names, csv_relation
from discreet.engines.dialects import column, name
from discreet.engines.kept import Files, Rows
from discreet.engines.own import SESSION, failing, own, quoted
from discreet.engines.reading import cells
from discreet.engines.running import fetched
from discreet.engines.shapes import Shapes, Whole, whole
from discreet.engines.state import with_log
from discreet.errors import EngineError, ParameterError
from discreet.query.request import Cells, Request
from discreet.query.schema import PerPerson, Schema, Storage

if TYPE_CHECKING:
    import duckdb

__all__ = ["DuckDB"]

_STORAGE: dict[str, Storage] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM"), "text"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}
_MADE: dict[Storage, str] = {
    "integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP", "other": "VARCHAR",
}  # fmt: skip
_REPLACED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "UHUGEINT")
_REMEMBERED = 32
"""So many declarations of the same table are remembered; then all are forgotten."""
_OF_KEPT = "(of kept rows)"
"""Stands for a statement over the rows that are kept."""


class DuckDB(Engine):
    """One table that DuckDB reads; made by `from_files`, `from_frame`, `from_file` and
    `from_connection`.

    Args:
        connection: where the table is; used by this engine alone.
        relation: the table, as it stands after FROM.
        stable: whether a statement that reads the table twice sees the same rows; of a view nobody
            knows, and it is read once.
        files: the files that the table is made of, if their rows may be kept.
        hashing: which hash chooses rows where people are sampled.
        key: the key of that hash.
    """

    dialect = "duckdb"
    _names: Names | None = None
    _strictly: exp.Expr | None = None
    """CSV files, as they are read where a line that is no row is a failure."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        relation: exp.Expr,
        *,
        stable: bool = True,
        files: Files | None = None,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> None:
        self._connection = connection
        self._files, self._closed = files, False
        self._shapes: dict[int, tuple[Schema, Shapes | None]] = {}
        self._wholes: dict[tuple[int, ...], tuple[list[Any], Whole | None]] = {}
        self._at: tuple[Rows, duckdb.DuckDBPyConnection] | None = None
        self._relation = relation
        self._busy = Lock()
        self.hashing, self.key = hashing, key
        self._stable = stable
        self._cleaned = Cleaned()
        self._replaced: tuple[str, ...] = _REPLACED
        self._types = self._described()

    # ways to make one

    @classmethod
    def from_files(
        cls,
        paths: Sequence[str | Path],
        *,
        kind: Literal["csv", "parquet"],
        delimiter: str | None = None,
        threads: int | None = None,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> DuckDB:
        """CSV or Parquet files that together are one table.

        Args:
            paths: the files; all have the same columns.
            kind: "csv" or "parquet".
            delimiter: what stands between the fields of a CSV file; without it a tab where the
                name says .tsv, else a comma.
            threads: how many threads may work; all cores without it.
            hashing: which hash chooses rows where people are sampled.
            key: the key of that hash.
        """
        files = [str(Path(path).resolve()) for path in paths]
        if not files:
            raise ParameterError("paths", None, "needs at least one file")
        listed: exp.Expr = exp.Array(expressions=[exp.Literal.string(file) for file in files])
        rows = Files.of(files, kind, threads)
        names, strictly = None, None
        if kind == "csv":
            between = delimiter or ("\t" if ".tsv" in Path(files[0]).name.lower() else ",")
            names = Names(files, between, rows.identity())
            relation = csv_relation(listed, names.known, between)
            strictly = csv_relation(listed, names.known, between, strict=True)
        else:
            relation = _function("read_parquet", listed)
        with failing("the files could not be read"):
            connection = own(files, threads=threads)
            engine = cls(connection, relation, files=rows, hashing=hashing, key=key)
            engine.files, engine._names, engine._strictly = files, names, strictly
            if kind == "parquet":
                engine._check_parquet(listed, files)
        return engine

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        threads: int | None = None,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> DuckDB:
        """A pandas or polars DataFrame, or a pyarrow table."""
        check_names([str(c) for c in getattr(frame, "column_names", None) or frame.columns])
        if type(frame).__module__.partition(".")[0] == "pandas":
            frame = _plain_pandas(frame)
        with failing("the table in memory could not be read"):
            connection = own([], threads=threads)
            connection.register("rows", frame)
            engine = cls(connection, _table("rows"), hashing=hashing, key=key)
            if type(frame).__module__.startswith("pyarrow"):
                engine._replaced = (*_REPLACED, "VARCHAR")  # nobody checked that it is UTF-8
            return engine

    @classmethod
    def from_text(cls, columns: Mapping[str, tuple[Storage, Sequence[str | None]]]) -> DuckDB:
        """A small table in memory: for each column how it is stored, and its values as text; what
        cannot be stored so is missing.
        """
        made = [
            f"TRY_CAST(unnest(?::VARCHAR[]) AS {_MADE[storage]}) AS {name(title).sql('duckdb')}"
            for title, (storage, _) in columns.items()
        ]
        with failing("the table could not be made"):
            connection = own([], threads=1)
            text = f"CREATE TABLE rows AS SELECT {', '.join(made)}"
            connection.execute(text, [list(values) for _, values in columns.values()]).fetchall()
            return cls(connection, _table("rows"))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        table: str,
        threads: int | None = None,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> DuckDB:
        """A table of a DuckDB database file, opened read-only."""
        database = str(Path(path).resolve())
        parts = _parts(table)
        with failing("the DuckDB file could not be opened, or has no such table"):
            connection = own([], threads=threads, database=database)
            at = ["data", *(parts if len(parts) > 1 else ["main", *parts])]
            stable = _is_table(connection, at)
            engine = cls(connection, _table(*at), stable=stable, hashing=hashing, key=key)
            engine.files = with_log(database)
            return engine

    @classmethod
    def from_connection(
        cls,
        connection: duckdb.DuckDBPyConnection,
        *,
        table: str,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> DuckDB:
        """A table or view of a DuckDB connection, which stays the owner's.

        Temporary tables and registered frames belong to one connection and are not seen.
        """
        at = _parts(table)
        with failing("the connection has no such table that others could read, too"):
            cursor = connection.cursor()
            for setting, value in SESSION.items():
                cursor.execute(f"SET SESSION {setting} = {value}").fetchall()
            stable = _is_table(cursor, at)
            return cls(cursor, _table(*at), stable=stable, hashing=hashing, key=key)

    # what an engine does

    def __repr__(self) -> str:
        return f"DuckDB({', '.join(self._types)})"

    @property
    def storage(self) -> Mapping[str, Storage]:
        """How each column is stored, by DESCRIBE."""
        return {title: _storage(type_) for title, type_ in self._types.items()}

    def statement(self, request: Request) -> str:
        """The one SQL statement that answers the request."""
        return statement(
            request,
            dialect=self.dialect,
            relation=(relation := self._read_as(request)),
            hashing=self.hashing,
            key=self.key,
            stable=self._stable,
            known=self._cleaned if relation is self._relation else None,
        )

    def ready(self, request: Request) -> str:
        """A word for the statement over kept rows, where rows can be kept; else the usual one."""
        found = self._over_kept(request.schema)
        if found is None:
            return self.statement(request)
        found.check(request)
        return _OF_KEPT

    def run(
        self,
        request: Request,
        statement: str | None = None,
        *,
        progress: bool = False,
        seconds: float | None = None,
    ) -> Sequence[Cells]:
        """The exact integers of every part, in order; a progress bar where one is asked for."""
        now = None if self._files is None else self._files.identity()
        if self._names is not None:
            self._names.insist(now)
        over, rows = self._over_kept(request.schema), None
        if self._files is not None and over is not None:
            rows = self._files.rows_at(over.of.text, now)
        if rows is not None and over is not None:
            if rows.vectors is not None:
                found = over.counted(request, rows.most, rows.vectors)
                if found is not None:
                    return found
            made = over.statement(request, most=rows.most)
            return made.reading(self._from_kept(rows, made.text, seconds))
        if statement is None or statement is _OF_KEPT:
            statement = self.statement(request)
        return cells(request, self._rows(statement, progress=progress, seconds=seconds))

    def check_lines(self) -> None:
        """Refuse CSV files with lines that are no rows, which questions leave out.

        These have too few fields, or too many, a quotation mark that stays open, or are no UTF-8.
        """
        if self._strictly is None:
            return
        words = "lines of the CSV files are no rows, and questions leave them out"
        with self._busy, failing(words):
            text = f"SELECT count(COLUMNS(*)) FROM {self._strictly.sql(dialect=self.dialect)}"  # noqa: S608
            self._connection.execute(text).fetchall()

    def ping(self) -> None:
        """Check that the files are there; else let DuckDB answer a question about no table."""
        if self._files is not None and not self._closed:
            if not self._files.there():  # DuckDB itself is in this process, and so are we
                raise EngineError("a file of the data is not there any more")
            return
        with self._busy, failing("DuckDB could not answer"):
            self._connection.execute("SELECT 1").fetchall()

    def close(self) -> None:
        """Close the connection, or the cursor of the one that was handed in."""
        with self._busy:
            self._at, self._closed = None, True
            self._connection.close()

    # kept rows

    def expect(self, schema: Schema) -> None:
        """Write what cleans the rows that are kept, which all copies of a declaration share."""
        if self._files is not None:
            self._whole(schema)

    def _over_kept(self, schema: Schema) -> Shapes | None:
        """Statements over what is kept of the files under a declaration."""
        if self._files is None:
            return None
        found = self._shapes.get(id(schema))
        if found is None:
            of = self._whole(schema)
            how: dict[str, Any] = {"dialect": self.dialect, "hashing": self.hashing}
            made = None if of is None else Shapes(of, **how, key=self.key)
            if len(self._shapes) >= _REMEMBERED:
                self._shapes.clear()
            found = self._shapes[id(schema)] = (schema, made)  # its id stays its own
        return found[1]

    def _whole(self, schema: Schema) -> Whole | None:
        """What is kept under a declaration: written once for all its copies.

        Each asker has a copy of what is declared, which holds the same columns. What was found
        besides for one asker makes other columns, and no two askers share these.
        """
        parts = [getattr(schema, one.name) for one in fields(schema)]
        at = tuple(map(id, parts))
        found = self._wholes.get(at)
        if found is None:
            relation = self._with_types(schema, [n for n in schema.columns if n in self._types])
            made = whole(schema, dialect=self.dialect, relation=relation)
            if len(self._wholes) >= _REMEMBERED:
                self._wholes.clear()
            found = self._wholes[at] = (parts, made)  # their ids stay their own
        return found[1]

    def _from_kept(self, rows: Rows, text: str, seconds: float | None) -> list[tuple[Any, ...]]:
        """The rows of a statement over what is kept; whatever fails, that is not kept any more."""
        with self._busy, failing("DuckDB could not answer"):
            if self._at is None or self._at[0] is not rows:
                self._at = rows, rows.cursor()
            try:
                return fetched(self._at[1], text, seconds=seconds)
            except BaseException:
                self._at = None
                if self._files is not None:
                    self._files.forget(rows)
                raise

    # inside

    def _rows(
        self, text: str, *, progress: bool = False, seconds: float | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        with self._busy, failing("DuckDB could not answer"):
            return fetched(self._connection, text, progress=progress, seconds=seconds)

    def _described(self) -> dict[str, str]:
        select = exp.Select(expressions=[exp.Star()]).from_(self._relation.copy())
        rows = self._rows(f"DESCRIBE {select.sql(dialect='duckdb')}")
        return {str(row[0]): str(row[1]) for row in rows}

    def _check_parquet(self, listed: exp.Expr, files: Sequence[str]) -> None:
        """Files of other types than the first would be cast, which may fail for some row."""
        if len(files) == 1:
            return
        table = _function("parquet_schema", listed)
        fields = ("name", "type", "converted_type", "logical_type", "scale", "precision")
        text = "SELECT file_name, {} FROM {} WHERE type IS NOT NULL ORDER BY file_name, column_id"
        found: dict[object, list[tuple[Any, ...]]] = {}
        for file, *rest in self._rows(text.format(", ".join(fields), table.sql(dialect="duckdb"))):
            found.setdefault(file, []).append(tuple(map(str, rest)))
        if len({tuple(columns) for columns in found.values()}) != 1:
            problem = "must have the same columns in the same types and order in every file"
            raise ParameterError("Parquet files", None, problem)

    def _read_as(self, request: Request) -> exp.Expr:
        """The table; where a column needs it, with types that mean the same on every engine."""
        return self._with_types(request.schema, list(columns_used(request)))

    def _with_types(self, schema: Schema, titles: Sequence[str]) -> exp.Expr:
        unit = schema.unit
        person = unit.column if isinstance(unit, PerPerson) else None
        used = dict.fromkeys(titles)
        replaced = {
            title: _replaced(title, self._types[title])
            for title in used
            if title != person and self._types.get(title) in self._replaced
        }
        if not replaced:
            return self._relation
        kept = [*used, *([] if person is None or person in used else [person])]
        table = self._relation.copy()
        table.set("alias", exp.TableAlias(this=name("s")))
        columns = [
            exp.Alias(this=replaced.get(title) or column(title, "s"), alias=name(title))
            for title in kept
        ]
        return exp.Subquery(this=exp.Select(expressions=columns).from_(table))


# types


def _storage(type_: str) -> Storage:
    """A decimal number of up to 18 digits and no fraction is an integer."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_)
    if decimal is not None:
        return "integer" if int(decimal[1]) <= 18 and decimal[2] == "0" else "real"
    plain = "ENUM" if type_.startswith("ENUM(") and type_.endswith(")") else type_
    return _STORAGE.get(plain, "other")


def _replaced(title: str, type_: str) -> exp.Expr:
    """A column in a type that every comparison can hold; no value can fail here.

    A moment becomes the time in UTC, whatever the session's time zone, and other precisions become
    microseconds: nanoseconds cannot be compared with the year 2300. Beyond the calendar they are
    missing. Unsigned integers of 128 bits are cut at 2^126, far beyond all bounds. Text that is no
    UTF-8 is missing.
    """
    value = column(title, "s")
    if type_ == "VARCHAR":
        again = exp.Anonymous(this="encode", expressions=[value])
        read = exp.Anonymous(this="decode", expressions=[again])
        return exp.Anonymous(this="TRY", expressions=[read])
    if type_ == "TIMESTAMP WITH TIME ZONE":
        moved = exp.Anonymous(this="timezone", expressions=[exp.Literal.string("UTC"), value])
        return exp.Anonymous(this="TRY", expressions=[moved])
    if type_ == "UHUGEINT":
        top = exp.cast(exp.Literal.number(1 << 126), "UHUGEINT", dialect="duckdb")
        inside = exp.case().when(exp.GT(this=value, expression=top), top.copy()).else_(value.copy())
        return exp.cast(inside, "HUGEINT", dialect="duckdb")
    return exp.TryCast(this=value, to=exp.DataType.build("TIMESTAMP", dialect="duckdb"))


# names and relations


def _parts(table: str) -> list[str]:
    """The parts of a table's name; one that holds a dot is in double quotes."""
    found = re.findall(r'"((?:[^"]|"")+)"(?:\.|$)|([^".]+)(?:\.|$)', table)
    parts = [quoted.replace('""', '"') or plain for quoted, plain in found]
    length = sum(len(quoted) + 2 if quoted else len(plain) for quoted, plain in found)
    if not 1 <= len(parts) <= 3 or length + len(parts) - 1 != len(table) or "\0" in table:
        problem = "must be 'name', 'schema.name' or 'database.schema.name'"
        raise ParameterError("table", table, problem)
    return parts


def _table(*parts: str) -> exp.Expr:
    given = dict(zip(("this", "db", "catalog"), (name(part) for part in parts[::-1]), strict=False))
    return exp.Table(**given)


def _is_table(connection: duckdb.DuckDBPyConnection, parts: Sequence[str]) -> bool:
    """Whether a name is a table's for certain, and not a view's."""
    *above, title = (quoted(part) for part in parts)
    schema, database = above[-1:] or ["current_schema()"], above[-2:-1] or ["current_database()"]
    text = f"""
        SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower({title})
        AND lower(schema_name) = lower({schema[0]}) AND lower(database_name) = lower({database[0]})
    """  # noqa: S608 - the names are quoted
    return bool(connection.execute(text).fetchall())


def _function(function: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Table(this=exp.Anonymous(this=function, expressions=list(arguments)))


def _plain_pandas(frame: Any) -> Any:
    """Columns of Python objects and of categories as text, so that no type depends on a row."""
    odd = [c for c, kind in frame.dtypes.items() if str(kind) in ("object", "category")]
    texts = {
        c: frame[c].astype(object).map(lambda value: None if _is_missing(value) else str(value))
        for c in odd
    }
    changed = frame.assign(**{str(c): values.astype("str") for c, values in texts.items()})
    return changed.rename(columns=str)


def _is_missing(value: object) -> bool:
    return value is None or value != value or str(value) in ("<NA>", "NaT")  # noqa: PLR0124
