"""Everything that an owner may hand in as a table, and the words for what cannot be read."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.engines.base import Engine
from discreet.engines.sources import open_source
from discreet.errors import ParameterError
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, Keys, PerRow, Schema

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = {"a": [5, 7, 20, None], "k": ["x", "y", "x", "z"]}
TABLE = pa.table(ROWS)


def asked(engine: Engine):
    """Rows and sums of a by k: the same from every source."""
    columns = {"a": Bounds(0, 9, 1), "k": Keys(["x", "y"])}
    schema = Schema("t", PerRow(), columns, engine.storage)
    totals = (Total(), Total(e.Column("a", schema.kind("a")), power=1))
    part = Part((e.Column("k", schema.kind("k")),), totals, Bounding("none"))
    return engine.run(Request(schema, None, (part,)))[0]


EXPECTED = {("x",): (2, 14), ("y",): (1, 7), (None,): (1, 0)}


# what can be read


@pytest.fixture
def folder(tmp_path):
    pq.write_table(TABLE.slice(0, 2), tmp_path / "one.parquet")
    (tmp_path / "deeper").mkdir()
    pq.write_table(TABLE.slice(2), tmp_path / "deeper" / "two.parquet")
    return tmp_path


def test_a_parquet_file(tmp_path):
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    pq.write_table(TABLE, tmp_path / "ROWS.PQ")
    assert asked(open_source(tmp_path / "rows.parquet")) == EXPECTED
    assert asked(open_source(str(tmp_path / "rows.parquet"))) == EXPECTED
    assert asked(open_source(tmp_path / "ROWS.PQ")) == EXPECTED


def test_a_folder_and_patterns_of_parquet_files(folder):
    assert asked(open_source(folder)) == EXPECTED
    assert asked(open_source(f"{folder}/**/*.parquet")) == EXPECTED
    assert asked(open_source(f"{folder}/*.parquet")) == {("x",): (1, 5), ("y",): (1, 7)}
    assert asked(open_source(f"{folder}/on[ef].parquet")) == {("x",): (1, 5), ("y",): (1, 7)}


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.CSV", "odd [1] *'\".csv"])
def test_a_text_file(tmp_path, name):
    tab = "\t" if name.endswith("tsv") else ","
    text = "".join(
        f"{'' if a is None else a}{tab}{k}\n" for a, k in zip(*ROWS.values(), strict=True)
    )
    (tmp_path / name).write_text(f"a{tab}k\n{text}")
    assert asked(open_source(tmp_path / name)) == EXPECTED


def test_a_compressed_text_file(tmp_path):
    import gzip

    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write("a,k\n5,x\n7,y\n20,x\n,z\n")
    assert asked(open_source(tmp_path / "rows.csv.gz")) == EXPECTED


def test_a_path_from_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    assert asked(open_source("~/rows.parquet")) == EXPECTED


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        pl.from_arrow(TABLE),
        TABLE.to_pandas(),
        ROWS,
        {"a": np.array([5.0, 7.0, 20.0, np.nan]), "k": np.array(["x", "y", "x", "z"])},
    ],
    ids=["pyarrow", "batch", "polars", "pandas", "dict of lists", "dict of arrays"],
)
def test_a_table_in_memory(source):
    assert asked(open_source(source)) == EXPECTED


def test_a_pandas_subclass_is_a_pandas_table():
    class Mine(pd.DataFrame):
        pass

    assert asked(open_source(Mine(TABLE.to_pandas()))) == EXPECTED


def test_the_type_of_a_pandas_column_does_not_depend_on_its_rows():
    """Objects are text, whatever they are."""
    frames = [pd.DataFrame({"a": pd.Series(v, dtype=object)}) for v in ([1, 2], ["x", 1], [None])]
    assert [dict(open_source(frame).storage) for frame in frames] == [{"a": "text"}] * 3


def test_a_duckdb_file_and_connection(tmp_path):
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute('CREATE TABLE "people" AS SELECT * FROM given')
        connection.execute('CREATE SCHEMA s; CREATE TABLE s."a""b" AS SELECT * FROM given')
        assert asked(open_source(connection, table="people")) == EXPECTED
    assert asked(open_source(path, table="people")) == EXPECTED
    assert asked(open_source(str(path), table='s."a""b"')) == EXPECTED
    for source in (path, duckdb.connect()):
        assert "nowhere" in refused(source, table="nowhere")


def test_a_postgres_table(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE given (a int, k text)")
        connection.execute("INSERT INTO given VALUES (5,'x'), (7,'y'), (20,'x'), (NULL,'z')")
        try:
            assert asked(open_source(postgres, table="given", timeout=60)) == EXPECTED
            other = postgres.replace("postgresql:", "postgres:")
            assert asked(open_source(other, table="public.given")) == EXPECTED
        finally:
            connection.execute("DROP TABLE given")


@pytest.mark.slow
def test_a_spark_frame_and_table(spark):
    frame = spark.createDataFrame(list(zip(*ROWS.values(), strict=True)), "a int, k string")
    assert asked(open_source(frame)) == EXPECTED
    frame.createOrReplaceTempView("given")
    try:
        assert asked(open_source(spark, table="given", hashing="portable")) == EXPECTED
    finally:
        spark.catalog.dropTempView("given")


def test_an_engine_is_taken_as_it_is():
    engine = open_source(TABLE)
    assert open_source(engine) is engine
    for more in ({"table": "t"}, {"key": "k"}):
        with pytest.raises(ParameterError, match="engine already"):
            open_source(engine, **more)


# what cannot


def refused(source, **more):
    with pytest.raises(ParameterError) as caught:
        open_source(source, **more)
    return str(caught.value)


def test_a_missing_file():
    assert "no such file or folder" in refused("nowhere.csv")
    assert "no such file or folder" in refused(Path("nowhere"))
    assert "no file matches" in refused("nowhere/*.parquet")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rows", "must end in .csv"),
        ("rows.txt", "must end in .csv"),
        ("rows.xlsx", "pandas.read_excel"),
        ("rows.feather", "read_table"),
        ("rows.sqlite", "read_sql"),
        ("rows.json", "read_json"),
    ],
)
def test_a_file_of_another_kind(tmp_path, name, words):
    (tmp_path / name).write_text("")
    assert words in refused(tmp_path / name)


def test_a_folder_without_rows(tmp_path):
    assert "without any .parquet file" in refused(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    assert "folder/*.csv" in refused(tmp_path)


def test_a_folder_that_may_not_be_read(folder, monkeypatch):
    """Root may read everything, so that the system's answer is changed instead of the folder."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be read" in refused(folder)


def test_a_pattern_of_two_kinds(folder):
    (folder / "rows.csv").write_text("a\n1\n")
    assert "one kind" in refused(f"{folder}/*.*")
    (folder / "readme.txt").write_text("")
    assert "must end in" in refused(f"{folder}/*")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "", b"rows.csv"])
def test_what_is_no_path(name):
    assert refused(name)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://example.org/rows.csv", "download"),
        ("s3://bucket/rows.parquet", "download"),
        ("HTTP://user:secret@example.org", "download"),
        ("file:///tmp/rows.csv", "plain path"),
        ("postgresql+psycopg://u:secret@h/d", "postgresql://"),
        ("jdbc:postgresql://h/d?password=secret", "postgresql://"),
        ("mysql://u:secret@h/d", "cannot be read"),
    ],
)
def test_an_address_of_another_kind(address, words):
    text = refused(address)
    assert words in text
    assert "secret" not in text


def test_a_table_has_to_be_said_where_there_are_several(tmp_path):
    duckdb.connect(str(tmp_path / "x.db")).close()
    assert "say which table" in refused(tmp_path / "x.db")
    assert "say which table" in refused(duckdb.connect())
    assert "say which table" in refused("postgresql://u:secret@h/d")
    assert "say which table" in refused("postgresql://u:secret@h/d", table="")
    assert "secret" not in refused("postgresql://u:secret@h/d")


def test_a_table_has_no_meaning_where_there_is_one(folder):
    for source in (TABLE, folder, folder / "one.parquet", f"{folder}/*.parquet"):
        assert "has no meaning" in refused(source, table="t")


def test_an_unknown_option_is_named():
    text = refused(TABLE, colour="red")
    assert "colour" in text
    assert "hashing" in text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pl.LazyFrame({"a": [1]}), "collect()"),
        (pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()), "read_all()"),
        (pd.Series([1]), "to_frame()"),
        (pl.Series([1]), "to_frame()"),
        (np.zeros(3, dtype=[("a", int)]), "pandas.DataFrame"),
        ([{"a": 1}], "from_pylist"),
        (duckdb.connect().sql("SELECT 1 AS a"), "connection"),
        ({"a": [1], "b": [1, 2]}, "one length"),
        ({"a": [1, "x"]}, "one type"),
        (object(), "of the type object"),
        (None, "of the type NoneType"),
        (3, "hand in"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_object_of_another_kind(source, words):
    assert words in refused(source)


def test_refusals_do_not_quote_rows():
    class Odd:
        def __repr__(self):
            return "very private"

    assert "private" not in refused(Odd())
    assert "private" not in refused({"a": [1, "very private"]})
    assert "private" not in refused(["very private"])


def test_nothing_is_imported_that_is_not_used():
    """Reading an arrow table loads neither pandas nor polars nor psycopg nor Spark."""
    code = (
        "import sys, discreet.engines.sources as s\n"
        "import duckdb\n"
        "connection = duckdb.connect()\n"
        "connection.execute('CREATE TABLE t AS SELECT 1 AS a')\n"
        "print(dict(s.open_source(connection, table='t').storage))\n"
        "print(sorted({'pandas', 'polars', 'psycopg', 'pyspark', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["{'a': 'integer'}", "[]"]
