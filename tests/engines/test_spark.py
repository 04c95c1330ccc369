"""Spark, in a real local session: types, settings, interrupts, and rows that make it fail."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from decimal import Decimal
from functools import partial

import pytest
from tests.engines import corpus
from tests.engines.contract import REQUESTS, EngineContract, check
from tests.engines.hashes import check_any_hash

from discreet.engines import spark as module
from discreet.engines.spark import VIEW, Spark
from discreet.errors import EngineError, ParameterError
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, Dates, FreeText, Hidden, Keys, PerPerson, PerRow, Schema

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow
NONE = Bounding("none")


@pytest.fixture(params=["true", "false"], ids=["ansi", "not ansi"])
def ansi(request, monkeypatch):
    """Spark's two ways with what fails: an error, or a missing value. We never meet either."""
    monkeypatch.setitem(module.PINNED, "spark.sql.ansi.enabled", request.param)


def question(engine, columns, *, keys=(), value=None, unit=None, bounding=NONE, people=False):
    schema = Schema("t", unit or PerRow(), columns, engine.storage)
    column = lambda name: e.Column(name, schema.kind(name))
    totals = (Total(),) if value is None else (Total(), Total(column(value), power=1))
    part = Part(tuple(map(column, keys)), () if people else totals, bounding, people)
    return Request(schema, None, (part,))


def answer(engine, columns, **more):
    return engine.run(question(engine, columns, **more))[0]


# binding


def test_types_come_from_the_schema(spark):
    frame = spark.createDataFrame(
        [],
        """a byte, b short, c int, d long, e float, f double, g decimal(18, 0), h decimal(18, 2),
        i decimal(19, 0), j string, k boolean, l date, m timestamp, n timestamp_ntz, o binary,
        p array<int>, q struct<x: int>, r interval day to second""",
    )
    assert Spark(frame).storage == {
        **dict.fromkeys("abcdg", "integer"),
        **dict.fromkeys("efhi", "real"),
        "j": "text",
        "k": "boolean",
        "l": "date",
        "m": "timestamp",
        "n": "timestamp",
        **dict.fromkeys("opqr", "other"),
    }


def test_binding_runs_no_job(spark):
    frame = spark.sql("SELECT raise_error('read') AS a, 1 AS b")
    engine = Spark(frame)
    engine.ping()
    assert set(engine.storage) == {"a", "b"}
    assert repr(engine) == "Spark(a, b)"


def test_two_columns_of_one_name_are_refused(spark):
    frame = spark.sql("SELECT 1 AS a, 2 AS a")
    with pytest.raises(ParameterError, match="two columns"):
        _ = Spark(frame).storage


def test_a_table_is_found_by_its_name(spark):
    spark.createDataFrame([(5,)], "a int").createOrReplaceTempView("some_rows")
    try:
        for engine in (Spark("some_rows", session=spark), Spark("some_rows")):
            assert answer(engine, {"a": Bounds(0, 9, 1)}, value="a") == {(): (1, 5)}
            engine.close()  # the session is not this engine's: it goes on
    finally:
        spark.catalog.dropTempView("some_rows")


@pytest.mark.parametrize("name", ["nowhere", "a b", "`", "x; DROP TABLE y", ""])
def test_a_missing_table_is_named(spark, name):
    with pytest.raises(ParameterError, match="no table or view"):
        Spark(name, session=spark)


def test_a_stream_and_a_remote_frame_are_refused(spark):
    with pytest.raises(ParameterError, match="stream"):
        Spark(spark.readStream.format("rate").load())
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(ParameterError, match="Connect"):
        Spark(remote())


def test_rows_that_change_between_two_readings_are_refused(spark):
    rows = spark.range(100).selectExpr("id AS a")
    drawn = [
        rows.sample(fraction=0.5, seed=1),
        rows.where("rand() < 0.5").selectExpr("a + 1 AS a"),
        rows.limit(10),
        rows.union(rows.limit(10)),
        rows.selectExpr("uuid() AS a"),
    ]
    for frame in drawn:
        with pytest.raises(ParameterError, match=r"localCheckpoint"):
            Spark(frame)
    kept = rows.where("rand() < 0.5").localCheckpoint()
    assert set(Spark(kept).storage) == {"a"}


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_time(timeout):
    with pytest.raises(ParameterError, match="timeout"):
        Spark("t", timeout=timeout)


# the session


def test_the_callers_session_is_left_alone(spark):
    """Its settings stay, and neither do they reach the question: days are cut in UTC."""
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        frame = spark.sql("SELECT timestamp '2024-01-01 12:30:00 UTC' AS a")
        before = dict(spark.conf.getAll)
        engine = Spark(frame)
        declared = {"a": Dates(date(2020, 1, 1), date(2024, 12, 31))}
        assert answer(engine, declared, keys=("a",)) == {(date(2024, 1, 1),): (1,)}
        assert dict(spark.conf.getAll) == before
        apart = engine._apart().conf
        assert apart.get("spark.sql.session.timeZone") == "UTC"
        assert apart.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
        spark.conf.set("spark.sql.shuffle.partitions", "1")


def test_nothing_is_left_in_the_catalogue(spark):
    engine = Spark(spark.createDataFrame([(1,)], "a int"))
    answer(engine, {"a": Bounds(0, 9)})
    with pytest.raises(EngineError):
        engine._read("SELECT nothing FROM nowhere")
    assert spark.sql("SHOW TABLES IN global_temp").collect() == []
    assert spark.catalog.listTables() == []


def test_questions_at_the_same_time_do_not_mix(spark):
    engines = [Spark(spark.createDataFrame([(n,)], "a int")) for n in range(4)]
    found = [None] * 4

    def ask(n):
        found[n] = answer(engines[n], {"a": Bounds(0, 9, 1)}, value="a")

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{(): (1, n)} for n in range(4)]


def test_a_long_statement_is_stopped(spark):
    engine = Spark(spark.range(10**12), timeout=1)
    start = time.monotonic()
    with pytest.raises(EngineError, match="longer than 1 seconds"):
        engine._read(f"SELECT sum(sqrt(id)) FROM global_temp.{VIEW}")
    assert time.monotonic() - start < 20
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_an_interrupt_stops_the_job(spark):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Spark(spark.range(10**12))._read(f"SELECT sum(sqrt(id)) FROM global_temp.{VIEW}")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_failures_do_not_quote_rows(spark):
    frame = spark.sql("SELECT CAST(x AS int) AS a FROM VALUES ('very private') AS t(x)")
    with pytest.raises(EngineError) as caught:
        answer(Spark(frame), {"a": Bounds(0, 9)}, value="a")
    assert "private" not in str(caught.value)
    assert "very private" in str(caught.value.__cause__)


def test_without_java_the_words_say_so(tmp_path):
    """In a process of its own: Java is looked for once."""
    code = (
        "from discreet.engines.spark import Spark\n"
        "from discreet.errors import EngineError\n"
        "try: Spark('t')\n"
        "except EngineError as error: print(error)"
    )
    bare = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    bare |= {"PATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=bare,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "needs Java 17" in done.stdout, done.stderr


def test_a_local_session_is_made_and_stopped(tmp_path):
    """Also in a process of its own; nothing is left in the folder it is started in."""
    code = (
        "import sys\n"
        "from pyspark.sql import SparkSession\n"
        "from discreet.engines.spark import Spark\n"
        "engine = Spark(f'parquet.`{sys.argv[1]}`')\n"
        "print(dict(engine.storage), SparkSession.getActiveSession() is not None)\n"
        "engine.close()\n"
        "print(SparkSession.getActiveSession())"
    )
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pytest.importorskip("pyarrow").table({"a": [1]}), tmp_path / "rows.parquet")
    (tmp_path / "cwd").mkdir()
    (tmp_path / "tmp").mkdir()
    quick = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # it lives for seconds
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "rows.parquet"],
        cwd=tmp_path / "cwd",
        env=os.environ | quick | {"TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == ["{'a': 'integer'} True", "None"], done.stderr
    assert list((tmp_path / "cwd").iterdir()) == []
    assert not [found for found in (tmp_path / "tmp").iterdir() if "discreet" in found.name]


# rows that make Spark fail


HOSTILE = {
    "tinyint": (["-128", "127"], [0, 9]),
    "smallint": (["-32768", "32767"], [0, 9]),
    "int": (["-2147483648", "2147483647"], [0, 9]),
    "bigint": (["-9223372036854775808", "9223372036854775807"], [0, 9]),
    "double": (
        ["NaN", "Infinity", "-Infinity", "-0.0", "5e-324", "1.7976931348623157e308"],
        [None, 9, 0, 0, 0, 9],
    ),
    "float": (
        ["NaN", "Infinity", "-Infinity", "-0.0", "1e-45", "3.4028235e38"],
        [None, 9, 0, 0, 0, 9],
    ),
    "decimal(38, 0)": (["9" * 38, "-" + "9" * 38], [9, 0]),
    "decimal(38, 38)": (["0." + "9" * 38, "-0." + "9" * 38], [1, 0]),
    "decimal(18, 0)": (["9" * 18, "-" + "9" * 18], [9, 0]),
}


@pytest.mark.usefixtures("ansi")
@pytest.mark.parametrize("type_", HOSTILE)
@pytest.mark.parametrize("grid", ["1", "0.001", "3"])
def test_numbers_at_the_ends_of_their_type_are_clamped(spark, type_, grid):
    literals = [*(f"'{literal}'" for literal in HOSTILE[type_][0]), "NULL"]
    held = [*HOSTILE[type_][1], None]
    bounds = Bounds(0, 9, grid)
    rows = ", ".join(f"({at}, CAST({literal} AS {type_}))" for at, literal in enumerate(literals))
    engine = Spark(spark.sql(f"SELECT * FROM VALUES {rows} AS t(at, a)"))
    declared = {"at": Keys(range(len(held))), "a": bounds}
    found = answer(engine, declared, keys=("at",), value="a")
    assert found == {
        (at,): (1, 0 if value is None else round(value / bounds.grid))
        for at, value in enumerate(held)
    }


@pytest.mark.usefixtures("ansi")
def test_wide_bounds_do_not_overflow(spark):
    engine = Spark(spark.range(1000).selectExpr("9223372036854775807 AS a"))
    found = answer(engine, {"a": Bounds(-(2**60), 2**60, 1)}, value="a")
    assert found == {(): (1000, 1000 * 2**60)}


@pytest.mark.usefixtures("ansi")
def test_far_days_are_clamped(spark):
    frame = spark.sql(
        "SELECT timestamp_micros(a) AS a, date_from_unix_date(b) AS b FROM VALUES "
        "(9223372036854775807, 2147483647), (-9223372036854775808, -2147483648), (0, 0), "
        "(NULL, NULL) AS t(a, b)"
    )
    low, high = date(1970, 1, 1), date(2024, 12, 31)
    expected = {(low,): (2,), (high,): (1,), (None,): (1,)}
    declared = {"a": Dates(low, high), "b": Dates(low, high)}
    for name in "ab":
        assert answer(Spark(frame), declared, keys=(name,)) == expected


@pytest.mark.usefixtures("ansi")
def test_hostile_names_are_names(spark):
    names = ["a", "A", "x`y.z", "${spark.app.name}", 'it\'s "\\" ü', "select"]
    schema = ", ".join(f"`{n.replace('`', '``')}` int" for n in names)
    engine = Spark(spark.createDataFrame([tuple(range(1, 7))], schema))
    assert list(engine.storage) == names
    declared = {n: Bounds(0, 9, 1) for n in names}
    for place, name in enumerate(names, start=1):
        assert answer(engine, declared, value=name) == {(): (1, place)}


@pytest.mark.usefixtures("ansi")
def test_hostile_keys_are_keys(spark):
    keys = ["${spark.app.name}", "it's", '"', "\\", "\\n", "\n", "`", "%", "é", "e\u0301", " ", ""]
    engine = Spark(spark.createDataFrame([(k,) for k in [*keys, None, "no key"]], "a string"))
    found = answer(engine, {"a": Keys(keys)}, keys=("a",))
    assert found == {**{(k,): (1,) for k in keys}, (None,): (2,)}


def test_text_is_compared_byte_by_byte_whatever_its_collation(spark):
    frame = spark.sql("SELECT x COLLATE UTF8_LCASE AS a FROM VALUES ('x'), ('X') AS t(x)")
    engine = Spark(frame)
    assert answer(engine, {"a": FreeText()}, keys=("a",)) == {("x",): (1,), ("X",): (1,)}
    unit = PerPerson("a", max_rows=1)
    assert answer(engine, {"a": Hidden()}, unit=unit, people=True) == {(): (2,)}


@pytest.mark.usefixtures("ansi")
def test_people_are_told_apart_to_the_last_digit(spark):
    people = [Decimal(100000000000000000001), Decimal(100000000000000000002)]
    engine = Spark(spark.createDataFrame([(p,) for p in people], "p decimal(30, 0)"))
    found = answer(engine, {"p": Hidden()}, unit=PerPerson("p", max_rows=1), people=True)
    assert found == {(): (2,)}


COLUMN = {
    "integer": "long",
    "real": "double",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
}


@pytest.fixture
def spark_engine_of(spark):
    """Engines over rows that Spark keeps in memory."""
    kept = []

    def made(rows, types, key="k", hashing="portable"):
        named = [(f"`{name.replace('`', '``')}`", COLUMN[t]) for name, t in types.items()]
        schema = ", ".join(f"{name} {type_}" for name, type_ in named)
        listed = [tuple(row[name] for name in types) for row in rows]
        frame = spark.createDataFrame(listed, schema, verifySchema=False).coalesce(1).persist()
        kept.append(frame)
        return Spark(frame, hashing=hashing, key=key)

    yield made
    for frame in kept:
        frame.unpersist()


class TestContract(EngineContract):
    """With Spark's interpreter, which is the faster one for statements that run once.

    Two hundred requests of the corpus, all with TORTURE set: each takes half a second.
    """

    random_tables = 10
    most, sparse = (None, 1) if os.environ.get("TORTURE") else (200, 3)

    @pytest.fixture
    def engine_of(self, spark_engine_of, monkeypatch):
        monkeypatch.setitem(module.PINNED, "spark.sql.codegen.wholeStage", "false")
        monkeypatch.setitem(module.PINNED, "spark.sql.codegen.factoryMode", "NO_CODEGEN")
        monkeypatch.setitem(module.PINNED, "spark.sql.adaptive.enabled", "false")
        return spark_engine_of


@pytest.mark.usefixtures("ansi")
def test_compiled_code_and_both_ways_with_failures_change_nothing(spark_engine_of):
    """Every fortieth request of the corpus, with the settings that users have."""
    rows = corpus.main_rows()
    engine = spark_engine_of(rows, corpus.TYPES)
    for request in list(REQUESTS.values())[::40]:
        check(engine, rows, request)


def test_the_bounds_hold_with_its_own_hash(spark_engine_of):
    check_any_hash(partial(spark_engine_of, hashing="engine"))
