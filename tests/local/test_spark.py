"""Counting in Spark: what comes out is the collector that numpy and DuckDB make, bit for bit."""

import duckdb
import numpy as np
import pytest

import discreet as dp
from discreet.local.collect import Collector, collect_parquet
from discreet.local.spark import collect_spark

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow

# codes of one byte and of two; bitmaps with unused bits, and with two bytes before them
CODED = [
    dp.local.HadamardResponse(["a", "b", "c", "d", "e"], 2, blocks=2),
    dp.local.KaryResponse(300, 1),
]
BITMAPS = [dp.local.SubsetSelection(20, 1), dp.local.CountMeanSketch(5, 1, rows=3, columns=4)]
N = 900


def people(oracle):
    labels = oracle.domain.labels()
    return [labels[i * i % len(labels)] for i in range(N)]


def counted(oracle, reports):
    found = Collector(oracle)
    found.add(reports)
    return found


def payloads(oracle, reports):
    return [bytes(one) for one in np.atleast_2d(reports.view(np.uint8).reshape(N, -1))]


@pytest.fixture
def one_of_each(spark):
    """A DataFrame of binaries or integers, in several partitions."""

    def make(values, kind):
        rows = [(None if one is None else bytearray(one),) if kind == "binary" else (one,)
                for one in values]  # fmt: skip
        return spark.createDataFrame(rows, f"`a report` {kind}").repartition(3)

    return make


@pytest.mark.parametrize("oracle", [*CODED, *BITMAPS], ids=repr)
def test_binaries_are_counted_as_numpy_and_duckdb_count_them(oracle, one_of_each, tmp_path):
    reports = oracle.reports(people(oracle))
    data = payloads(oracle, reports)
    head = bytes((0xD1, oracle.number)) + oracle.fingerprint
    data[::2] = [head + one for one in data[::2]]  # whole reports and payloads alone
    found = collect_spark(oracle, one_of_each(data, "binary"), column="a report")
    assert found == counted(oracle, reports)
    path = tmp_path / "reports.parquet"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (report BLOB)")
        connection.executemany("INSERT INTO t VALUES (?)", [[one] for one in data])
        connection.execute(f"COPY t TO '{path}'")
    assert found == collect_parquet(oracle, path)
    assert found.to_bytes() == collect_parquet(oracle, path).to_bytes()
    assert np.array_equal(found.estimate().raw, counted(oracle, reports).estimate().raw)


@pytest.mark.parametrize("oracle", CODED, ids=repr)
def test_integers_are_counted_too(oracle, one_of_each):
    reports = oracle.reports(people(oracle))
    for kind in ("int", "bigint"):
        frame = one_of_each(reports.tolist(), kind)
        assert collect_spark(oracle, frame, column="a report") == counted(oracle, reports)


@pytest.mark.parametrize("oracle", [CODED[1], BITMAPS[0]], ids=repr)
def test_what_is_no_report_is_refused_or_left_out(oracle, one_of_each):
    reports = oracle.reports(people(oracle))
    head = bytes((0xD1, oracle.number)) + oracle.fingerprint
    wrong = [None, b"", b"x" * 50, head, head[:-1] + b"?" + bytes(oracle.width),
             b"\xff" * oracle.width]  # fmt: skip
    frame = one_of_each([*payloads(oracle, reports), *wrong], "binary")
    with pytest.raises(dp.ParameterError, match=r"[56] malformed of 906"):
        collect_spark(oracle, frame, column="a report")
    found = collect_spark(oracle, frame, column="a report", skip_malformed=True)
    assert (found.n, found.refused) == (N, 6)
    assert np.array_equal(found.tally, counted(oracle, reports).tally)


def test_integers_that_are_no_codes(one_of_each):
    oracle = dp.local.KaryResponse(7, 1)
    frame = one_of_each([0, 6, 7, -1, None, 2**40], "bigint")
    with pytest.raises(dp.ParameterError, match="4 malformed of 6"):
        collect_spark(oracle, frame, column="a report")
    found = collect_spark(oracle, frame, column="a report", skip_malformed=True)
    assert (found.n, found.refused) == (2, 4)


def test_no_rows_are_no_reports(one_of_each):
    for oracle in (CODED[0], BITMAPS[0]):
        assert collect_spark(oracle, one_of_each([], "binary"), column="a report").n == 0


def test_other_columns_are_refused(one_of_each):
    frame = one_of_each(["a"], "string")
    with pytest.raises(dp.ParameterError, match="StringType"):
        collect_spark(CODED[0], frame, column="a report")
    with pytest.raises(dp.ParameterError, match="one column"):
        collect_spark(CODED[0], frame, column="report")
    with pytest.raises(dp.ParameterError, match="must hold binaries"):
        collect_spark(BITMAPS[0], one_of_each([1], "int"), column="a report")
