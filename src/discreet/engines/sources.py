"""What an owner may hand in as a table, and the engine that reads it.

A source is known by its form alone: the ending of a file's name, the module of a class. A library
is imported only where its own object is handed in, or its address. Nothing is read from the rows
here; what cannot be used is refused with the words that mend it.
Tested by tests/engines/test_sources.py
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from discreet.engines.base import Engine
from discreet.engines.state import with_log
from discreet.errors import EngineError, ParameterError

__all__ = ["files_of", "open_source"]

FILES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "database",
    ".ddb": "database",
    ".db": "database",
}
OTHER_FILES = {
    ".xlsx": "pandas.read_excel(path)",
    ".xls": "pandas.read_excel(path)",
    ".json": "pandas.read_json(path)",
    ".jsonl": "pandas.read_json(path, lines=True)",
    ".feather": "pyarrow.feather.read_table(path)",
    ".arrow": "pyarrow.feather.read_table(path)",
    ".orc": "pyarrow.orc.read_table(path)",
    ".pkl": "the DataFrame that it holds",
    ".pickle": "the DataFrame that it holds",
    ".sqlite": "pandas.read_sql(...) of its table",
    ".sqlite3": "pandas.read_sql(...) of its table",
}
_KNOWN = (
    "a path to .csv, .tsv, .parquet or .duckdb, a folder or pattern of .parquet files, a pandas, "
    "polars or pyarrow table, a dict of columns, a DuckDB connection, 'postgresql://...', "
    "or a Spark DataFrame or session"
)
Options = Mapping[str, Any]


def open_source(source: Any, *, table: str | None = None, **options: Any) -> Engine:
    """The engine that reads a source; ParameterError with the way out if there is none.

    Args:
        source: CSV or Parquet (a path, a pattern such as "data/*.parquet", a folder of Parquet
            files), a pandas, polars or pyarrow table, a dict of columns, a DuckDB file or
            connection, postgresql://user@host/database, a Spark DataFrame or session; or an
            engine, as it is.
        table: which table, where the source holds several.
        options: more for the engine, such as timeout=60 or hashing="portable".
    """
    if isinstance(source, Engine):
        if table is not None or options:
            problem = "is an engine already, which takes no table and no options"
            raise ParameterError("source", None, problem)
        return source
    if isinstance(source, str | os.PathLike):
        return _address(os.fspath(source), table, options)
    for class_ in type(source).__mro__:
        package = class_.__module__.partition(".")[0].lstrip("_")
        known = _CLASSES.get((package, class_.__name__))
        if known is not None:
            return known(source, table, options)
    if isinstance(source, Mapping):
        return _columns(source, table, options)
    problem = f"of the type {type(source).__name__} cannot be read; hand in {_KNOWN}"
    raise ParameterError("a source", None, problem)


def _needed(table: str | None, what: str) -> str:
    if not isinstance(table, str) or not table:
        raise ParameterError("table", table, f"is needed: say which table of {what}, table='...'")
    return table


def _unneeded(table: str | None, what: str) -> None:
    if table is not None:
        raise ParameterError("table", table, f"has no meaning for {what}, which is one table")


def _refused(problem: str) -> Callable[[Any, str | None, Options], Engine]:
    def refuse(_source: Any, _table: str | None, _options: Options) -> Engine:
        raise ParameterError("the source", None, problem)

    return refuse


def _called(make: Callable[..., Engine], source: Any, options: Options) -> Engine:
    """An engine, after a look at the options: an unknown one is named."""
    known = [name for name in list(signature(make).parameters)[1:] if name not in _OURS]
    unknown = [name for name in options if name not in (*known, *_OURS)]
    if unknown:
        problem = f"is no option of this source, which takes: {', '.join(known)}"
        raise ParameterError(unknown[0], None, problem)
    return make(source, **options)


_OURS = ("table", "kind", "session")


def _made(way: str, source: Any, options: Options) -> Engine:
    """An engine on DuckDB; importing the package is left until here."""
    from duckdb import CatalogException  # noqa: PLC0415 - importing discreet stays cheap

    from discreet.engines.duckdb import DuckDB  # noqa: PLC0415 - only if it is used

    try:
        return _called(getattr(DuckDB, way), source, options)
    except EngineError as error:
        if not isinstance(error.__cause__, CatalogException) or "table" not in options:
            raise
        problem = "is no table or view of this database that others could read, too"
        raise ParameterError("table", options["table"], problem) from error


# paths and addresses


def _address(text: str | bytes, table: str | None, options: Options) -> Engine:
    if isinstance(text, bytes):
        raise ParameterError("source", None, "must be a str or a path, not bytes")
    if "\0" in text or not text:
        raise ParameterError("source", text, f"is no path; hand in {_KNOWN}")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(//|[a-z]+://)", text)
    if scheme is None:
        return _path(text, table, options)
    match scheme[1].lower():
        case "postgresql" | "postgres":
            from discreet.engines.postgres import Postgres  # noqa: PLC0415 - only if it is used

            needed = _needed(table, "the database")
            return _called(Postgres, text, {**options, "table": needed})
        case "file":
            problem = "must be a plain path, without file://"
        case other if "postgres" in other or "postgres" in scheme[2]:
            problem = "must begin with postgresql:// and nothing before or after the word"
        case "http" | "https" | "ftp" | "s3" | "gs" | "gcs" | "az" | "abfss" | "hf" | "r2":
            problem = "are not read from elsewhere; download the file and hand in its path"
        case _:
            problem = f"of this kind cannot be read; hand in {_KNOWN}"
    # an address may hold a password: only its first word is quoted
    raise ParameterError("addresses", f"{scheme[1]}:...", problem)


def _path(text: str, table: str | None, options: Options) -> Engine:
    path = Path(text).expanduser()
    if _exists(path) and path.is_dir():
        _unneeded(table, "a folder")
        return _folder(path, options)
    if not _exists(path) and any(letter in text for letter in "*?["):
        _unneeded(table, "a pattern of files")
        return _files(_listed(path), text, options)
    if not _exists(path):
        raise ParameterError("source", text, "is not there: no such file or folder")
    kind = _kind(path)
    if kind == "database":
        what = "the DuckDB file"
        return _made("from_file", path, {**options, "table": _needed(table, what)})
    _unneeded(table, "a file of rows")
    return _files([path], text, options)


def files_of(source: str) -> Sequence[str]:
    """The files that an engine on a source would read; none of an address, or if none is there.

    Args:
        source: an absolute path or pattern, or an address.
    """
    try:
        found = sorted(_listed(Path(source)))
        paths = [str(path.resolve()) for path in found]
        database = len(found) == 1 and _kind(found[0]) == "database"
    except (OSError, ParameterError):
        return ()
    return with_log(paths[0]) if database else paths


def _listed(path: Path) -> list[Path]:
    """The file of a path, or the files of a folder or a pattern."""
    if path.is_dir():
        found = [p for p in path.rglob("*") if p.suffix.lower() in (".parquet", ".pq")]
    elif path.exists():
        found = [path]
    else:
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    return [p for p in found if p.is_file()]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise ParameterError("source", str(path), "cannot be looked at") from error


def _kind(path: Path) -> str:
    name = path.name.lower()
    for ending, kind in FILES.items():
        if name.endswith(ending):
            return kind
    ending = path.suffix.lower()
    known = ".csv, .tsv, .parquet, .duckdb or .db"
    if ending in OTHER_FILES:
        problem = f"is no {known} file; hand in {OTHER_FILES[ending]} instead"
    else:
        problem = f"must end in {known}, so that it is known how to read it"
    raise ParameterError("source", path.name, problem)


def _folder(path: Path, options: Options) -> Engine:
    if not os.access(path, os.R_OK | os.X_OK):
        raise ParameterError("source", str(path), "is a folder that cannot be read")
    found = _listed(path)
    if not found:
        problem = "is a folder without any .parquet file; for CSV say a pattern, 'folder/*.csv'"
        raise ParameterError("source", str(path), problem)
    return _files(found, str(path), options)


def _files(found: list[Path], text: str, options: Options) -> Engine:
    if not found:
        raise ParameterError("source", text, "is a pattern that no file matches")
    kinds = {_kind(path) for path in found}
    if len(kinds) > 1 or kinds == {"database"}:
        problem = "must match files of one kind, all .csv (or .tsv) or all .parquet"
        raise ParameterError("source", text, problem)
    return _made("from_files", sorted(found), {**options, "kind": kinds.pop()})


# objects


def _connection(source: Any, table: str | None, options: Options) -> Engine:
    needed = _needed(table, "the connection")
    return _made("from_connection", source, {**options, "table": needed})


def _frame(source: Any, table: str | None, options: Options) -> Engine:
    _unneeded(table, "a table in memory")
    return _made("from_frame", source, options)


def _batch(source: Any, table: str | None, options: Options) -> Engine:
    import pyarrow as pa  # noqa: PLC0415 - it is loaded

    return _frame(pa.Table.from_batches([source]), table, options)


def _columns(source: Mapping[Any, Any], table: str | None, options: Options) -> Engine:
    try:
        import pyarrow as pa  # noqa: PLC0415 - only those who hand in columns need it
    except ImportError:
        problem = "needs pyarrow; or hand in a pandas or polars DataFrame"
        raise ParameterError("a dict of columns", None, problem) from None
    try:
        made = pa.table({str(name): values for name, values in source.items()})
    except (pa.ArrowException, TypeError, ValueError) as error:
        problem = "must have columns of one length, each with values of one type"
        raise ParameterError("a dict of columns", None, problem) from error
    return _frame(made, table, options)


def _spark_frame(source: Any, table: str | None, options: Options) -> Engine:
    from discreet.engines.spark import Spark  # noqa: PLC0415 - only if it is used

    _unneeded(table, "a Spark DataFrame")
    return _called(Spark, source, options)


def _spark_session(source: Any, table: str | None, options: Options) -> Engine:
    from discreet.engines.spark import Spark  # noqa: PLC0415 - only if it is used

    return _called(Spark, _needed(table, "the Spark session"), {**options, "session": source})


_CLASSES: dict[tuple[str, str], Callable[[Any, str | None, Options], Engine]] = {
    ("duckdb", "DuckDBPyConnection"): _connection,
    ("duckdb", "DuckDBPyRelation"): _refused(
        "is a DuckDB relation, which its connection may still change; hand in the connection with "
        "table='...', or relation.to_arrow_table()"
    ),
    ("pandas", "DataFrame"): _frame,
    ("pandas", "Series"): _refused("is one column; hand in series.to_frame()"),
    ("polars", "DataFrame"): _frame,
    ("polars", "LazyFrame"): _refused("is not computed yet; hand in frame.collect()"),
    ("polars", "Series"): _refused("is one column; hand in series.to_frame()"),
    ("pyarrow", "Table"): _frame,
    ("pyarrow", "RecordBatch"): _batch,
    ("pyarrow", "RecordBatchReader"): _refused(
        "can be read only once, and a table is asked many times; hand in reader.read_all()"
    ),
    ("pyarrow", "Dataset"): _refused("is a dataset; hand in the path of its files"),
    ("pyspark", "DataFrame"): _spark_frame,
    ("pyspark", "SparkSession"): _spark_session,
    ("numpy", "ndarray"): _refused("is an array; hand in pandas.DataFrame(array)"),
    ("psycopg", "Connection"): _refused(
        "is a PostgreSQL connection; hand in its address, 'postgresql://user@host/database', so "
        "that every question has a connection of its own"
    ),
    ("sqlalchemy", "Engine"): _refused(
        "is an SQLAlchemy engine; hand in the address, 'postgresql://user@host/database'"
    ),
    ("builtins", "list"): _refused("is a list; hand in pyarrow.Table.from_pylist(rows)"),
}
