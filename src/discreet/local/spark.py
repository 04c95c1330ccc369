"""Count the reports in a column of a Spark DataFrame.

Guarantee. The collector is that of `Collector.add` and of `collect_parquet` on the same reports,
bit for bit: all of them add integers.
How. Reports of an oracle that writes one integer are counted by one aggregation inside Spark, and
at most one row for each different report comes back. Bitmaps (unary encodings, subset selection)
and other reports that are not counted one by one are added up where they lie, by the same code that
a collector runs: each partition sends back one collector, and these are merged. For that the
executors need discreet, too.
Tested by tests/local/test_spark.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.local.collect import Collector, is_countable
from discreet.local.oracle import Oracle
from discreet.local.report import FIRST, HEADER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["collect_spark"]

_INTEGERS = ("ByteType", "ShortType", "IntegerType", "LongType")


def collect_spark(
    oracle: Any, frame: DataFrame, *, column: str = "report", skip_malformed: bool = False
) -> Collector:
    """Collect all reports of one column of a Spark DataFrame.

    The column holds integers (the codes that `oracle.reports` makes) or binaries (whole reports in
    the format "discreet-report/1", or payloads alone), as `collect_parquet` reads them.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - only who has Spark needs it

    collector = Collector(oracle)
    kind = _kind(frame, column)
    named = f.col("`" + column.replace("`", "``") + "`")
    countable = is_countable(collector.oracle)
    if kind == "BinaryType" and countable:
        rows = _counted(frame, _payload(collector.oracle, named))
        payloads = [None if one is None else bytes(one) for one, _ in rows]
        collector.add_payloads(payloads, _numbers(n for _, n in rows), skip=skip_malformed)
    elif kind == "BinaryType":
        payload = _payload(collector.oracle, named)
        collector = _added(frame.select(payload.alias("payload")), collector, skip=skip_malformed)
    elif countable and kind in _INTEGERS:
        fits = named.between(0, collector.oracle.outcomes - 1)
        code = f.when(fits, named.cast("bigint")).otherwise(f.lit(-1).cast("bigint"))
        rows = _counted(frame, code)
        codes, counts = _numbers(c for c, _ in rows), _numbers(n for _, n in rows)
        collector.add_counts(codes, counts, skip=skip_malformed)
    else:
        problem = "must hold binaries, or the integers of an oracle that writes integers"
        raise ParameterError("column", f"{column}: {kind}", problem)
    return collector


def _kind(frame: DataFrame, column: str) -> str:
    found = [field for field in frame.schema.fields if field.name == column]
    if len(found) != 1:
        raise ParameterError("column", column, "must be one column of the DataFrame")
    return type(found[0].dataType).__name__


def _payload(oracle: Oracle, column: Column) -> Column:
    """The payload of a report; null stands for what is none."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    head = f.lit(bytearray(bytes((FIRST, oracle.number)) + oracle.fingerprint))
    long = f.length(column) == HEADER + oracle.width
    whole = long & (f.substring(column, 1, HEADER) == head)
    rest = f.substring(column, HEADER + 1, oracle.width)
    return f.when(f.length(column) == oracle.width, column).when(whole, rest)


def _counted(frame: DataFrame, column: Column) -> list[tuple[Any, int]]:
    """How often each value occurs."""
    rows = frame.groupBy(column.alias("value")).count().collect()
    return [(row[0], int(row[1])) for row in rows]


def _numbers(values: Iterable[Any]) -> Any:
    return np.array(list(values), dtype=np.int64)


def _added(frame: DataFrame, collector: Collector, *, skip: bool) -> Collector:
    """Add up in each partition; merge what comes back."""
    oracle = collector.oracle

    def adding(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - where the rows are

        part = Collector(oracle)
        for batch in batches:
            part.add_payloads(batch.column(0).to_pylist(), skip=True)
        yield pa.RecordBatch.from_pydict({"collector": [part.to_bytes()]})

    for row in frame.mapInArrow(adding, "collector binary").toLocalIterator():
        collector = collector.merge(Collector.from_bytes(bytes(row[0]), oracle))
    if collector.refused and not skip:
        problem = "must be ones that the oracle can write (skip_malformed=True leaves such out)"
        said = f"{collector.refused:,} malformed of {collector.n + collector.refused:,}"
        raise ParameterError("reports", said, problem)
    return collector
