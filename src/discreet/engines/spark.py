"""Spark through PySpark: a DataFrame or a table, in a Spark session handed in or made locally.

The statement runs in a session of its own beside the one handed in: it shares the cluster and the
cached tables, and nothing else, so that the settings of a question (time zone, case of names, what
a literal means) never touch the caller's session, nor the caller's settings the question. The rows
are handed over as a view that exists for as long as the statement is analysed.
Tested by tests/engines/test_spark.py
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines import compile as compiler
from discreet.engines.base import Engine, Hashing
from discreet.engines.reading import cells
from discreet.errors import EngineError, ParameterError
from discreet.query.request import Cells, Request
from discreet.query.schema import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["Spark", "local_session"]

VIEW = "discreet_private_rows"
"""What the statement calls the rows. One name for all, used by one engine at a time."""
_NAMING = Lock()

_STORAGE: dict[str, Storage] = {
    "ByteType": "integer",
    "ShortType": "integer",
    "IntegerType": "integer",
    "LongType": "integer",
    "FloatType": "real",
    "DoubleType": "real",
    "DecimalType": "real",
    "StringType": "text",
    "CharType": "text",
    "VarcharType": "text",
    "BooleanType": "boolean",
    "DateType": "date",
    "TimestampType": "timestamp",
    "TimestampNTZType": "timestamp",
}
PINNED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",  # an overflow that the proofs missed fails, and never wraps
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",  # ${...} in a key is a key
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
}
"""The settings on which the meaning of a statement depends."""
_DRAWING = ("GlobalLimit", "LocalLimit", "Offset", "Sample", "Tail")
COPIED = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.",
    "spark.sql.shuffle.",
)
"""The caller's settings that change only how fast an answer comes."""


class Spark(Engine):
    """One Spark DataFrame or table.

    Args:
        source: a DataFrame, or the name of a table or view as the session knows it.
        session: the Spark session of that table; without it the active one, or a local one that
            lasts until `close`.
        timeout: a statement that runs longer than this many seconds is cancelled; None to wait.
        hashing: which hash chooses rows where people are sampled.
        key: the key of that hash.
    """

    dialect = "spark"

    def __init__(
        self,
        source: DataFrame | str,
        *,
        session: SparkSession | None = None,
        timeout: float | None = None,
        hashing: Hashing = "engine",
        key: str = "discreet",
    ) -> None:
        if timeout is not None and not 0.001 <= timeout <= 2_000_000:
            raise ParameterError("timeout", timeout, "must be between 0.001 and 2000000 seconds")
        self._timeout = timeout
        self.hashing, self.key = hashing, key
        self._made: SparkSession | None = None
        if isinstance(source, str):
            if session is None:
                session, self._made = _session()
            self._frame = _named(source, session)
        else:
            self._frame = _classic(source)

    def __repr__(self) -> str:
        return f"Spark({', '.join(self._frame.columns)})"

    @cached_property
    def storage(self) -> Mapping[str, Storage]:
        """How each column is stored, by the DataFrame's schema."""
        found: dict[str, Storage] = {}
        for field in self._frame.schema.fields:
            if field.name in found:
                problem = "is the name of two columns of the DataFrame; rename one"
                raise ParameterError("columns", field.name, problem)
            found[field.name] = _storage(field.dataType)
        return found

    def statement(self, request: Request) -> str:
        """The one SQL statement that answers the request."""
        return compiler.statement(
            request,
            dialect=self.dialect,
            relation=exp.table_(VIEW, db="global_temp", quoted=True),
            hashing=self.hashing,
            key=self.key,
        )

    def run(
        self,
        request: Request,
        statement: str | None = None,
        *,
        progress: bool = False,  # noqa: ARG002 - Spark shows its own, or not
        seconds: float | None = None,
    ) -> Sequence[Cells]:
        """The exact integers of every part, in order."""
        return cells(request, self._read(statement or self.statement(request), seconds))

    def ping(self) -> None:
        """Let Spark answer a question about no table."""
        with _failing():
            self._frame.sparkSession.sql("SELECT 1").collect()

    def close(self) -> None:
        """Stop the local Spark session, if this engine made it."""
        made, self._made = self._made, None
        if made is not None:
            made.stop()

    def _read(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """The rows of one statement, in a session and a thread of their own.

        The caller's thread stays free to interrupt: a call into Java cannot be left half-way.
        """
        from pyspark import InheritableThread  # noqa: PLC0415 - loaded with the DataFrame

        answer: Future[list[tuple[Any, ...]]] = Future()
        limits = [one for one in (seconds, self._timeout) if one is not None]
        longest = min(limits, default=None)
        with _failing():
            session = self._apart()
            thread = InheritableThread(
                target=_fulfil, args=(answer, self._collect, session, text), session=session
            )
            thread.start()
            try:
                return answer.result(longest)
            except TimeoutError:
                problem = f"Spark was stopped: it took longer than {longest} seconds"
                raise EngineError(problem) from None
            finally:
                while not answer.done():  # too late or interrupted; its job may still have to come
                    session.interruptAll()
                    wait([answer], timeout=0.2)
                thread.join()

    def _collect(self, session: SparkSession, text: str) -> list[tuple[Any, ...]]:
        rows = self._rows
        with _NAMING:  # a view is looked up when the statement is analysed, not when it runs
            rows.createGlobalTempView(VIEW)
            try:
                answer = session.sql(text)
            finally:
                session.catalog.dropGlobalTempView(VIEW)
        return [tuple(row) for row in answer.collect()]

    @cached_property
    def _rows(self) -> DataFrame:
        """The DataFrame with every column in the type of its storage; no value can fail here.

        Columns are taken by place: names may differ by case only, or hold anything.
        """
        from pyspark.sql import functions as f  # noqa: PLC0415 - loaded with the DataFrame
        from pyspark.sql.types import DecimalType  # noqa: PLC0415 - loaded with the DataFrame

        places = [f"c{place}" for place in range(len(self.storage))]
        columns: list[Column] = []
        for place, field in zip(places, self._frame.schema.fields, strict=True):
            storage, kept = self.storage[field.name], f.col(place)
            if storage == "real" and isinstance(field.dataType, DecimalType):
                wide = kept  # as exact as it is: it may be the number of a person
            else:
                wide = kept.cast(_WIDE[storage]) if storage in _WIDE else kept
            if storage != "other":
                columns.append(wide.alias(field.name))
        return self._frame.toDF(*places).select(*columns)

    def _apart(self) -> SparkSession:
        """A session for one statement, with settings of its own."""
        theirs = self._frame.sparkSession
        session = theirs.newSession()
        for setting, value in theirs.conf.getAll.items():
            if setting.startswith(COPIED):
                session.conf.set(setting, value)
        for setting, value in PINNED.items():
            session.conf.set(setting, value)
        return session


def _fulfil(answer: Future[Any], work: Callable[..., Any], *arguments: Any) -> None:
    try:
        answer.set_result(work(*arguments))
    except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
        answer.set_exception(error)


_WIDE: dict[Storage, str] = {"integer": "bigint", "real": "double", "text": "string"}


def _storage(type_: Any) -> Storage:
    """A decimal number of up to 18 digits and no fraction is an integer."""
    name = type(type_).__name__
    if name == "DecimalType" and type_.scale == 0 and type_.precision <= 18:
        return "integer"
    return _STORAGE.get(name, "other")


@contextmanager
def _failing() -> Iterator[None]:
    """Spark's failures as `EngineError`: those of the query, and those of a lost Java process."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # noqa: PLC0415 - no types
    from pyspark.errors import PySparkException  # noqa: PLC0415 - loaded with the DataFrame

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise EngineError("Spark could not answer") from error


def _classic(frame: Any) -> DataFrame:
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        problem = "belongs to Spark Connect; hand in a DataFrame of a classic Spark session"
        raise ParameterError("the DataFrame", None, problem)
    if getattr(frame, "isStreaming", False):
        raise ParameterError("the DataFrame", None, "is a stream, which never ends; write it first")
    found: DataFrame = frame
    with _failing():
        drawn = _draws(found._jdf.queryExecution().analyzed())  # noqa: SLF001 - there is no other way
    if drawn:
        problem = (
            "may show other rows when it is read again (rand, sample, limit), so that nobody's "
            "part of it can be bounded; hand in frame.localCheckpoint(), or write it to a table"
        )
        raise ParameterError("the DataFrame", None, problem)
    return found


def _draws(plan: Any) -> bool:
    """Whether a plan of Spark's says that its rows may differ from one reading to the next."""
    if not plan.deterministic() or plan.nodeName() in _DRAWING:
        return True
    below = plan.children()
    return any(_draws(below.apply(place)) for place in range(below.size()))


def _named(table: str, session: SparkSession) -> DataFrame:
    from pyspark.errors import AnalysisException, ParseException  # noqa: PLC0415 - loaded before

    try:
        with _failing():
            return _classic(session.table(table))
    except EngineError as error:
        if not isinstance(error.__cause__, AnalysisException | ParseException):
            raise
    problem = "is no table or view of this Spark session; a name with odd letters needs `backticks`"
    raise ParameterError("table", table, problem)


def _session() -> tuple[SparkSession, SparkSession | None]:
    """The active session, or a local one, which is then given twice: it is ours to stop."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only those who use it need it
    except ImportError:
        problem = 'needs PySpark: pip install "discreet[spark]"'
        raise ParameterError("Spark", None, problem) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, None
    made = local_session()
    return made, made


def local_session(*, cores: int | None = None, **settings: str) -> SparkSession:
    """A Spark session inside this machine: no web page, and files in a temporary folder only.

    Args:
        cores: how many to use; all without it.
        settings: more of Spark's settings, such as **{"spark.driver.memory": "8g"}.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 - only those who use it need it
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only those who use it need it

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = tempfile.mkdtemp(prefix="discreet-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    java = "spark.driver.extraJavaOptions"
    given = settings.pop(java, "")
    chosen = {
        "spark.master": f"local[{'*' if cores is None else cores}]",
        "spark.app.name": "discreet",
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder,
        java: f"-Djava.io.tmpdir={folder} -Dderby.system.home={folder} {given}".rstrip(),
        **settings,
    }
    builder = SparkSession.builder
    for setting, value in chosen.items():
        builder = builder.config(setting, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise EngineError("Spark did not start; it needs Java 17 or 21") from error
