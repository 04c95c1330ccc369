"""DuckDB: the contract, its sources, and what it refuses."""

import threading
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines import reference
from tests.engines.contract import EngineContract

from discreet.engines.duckdb import DuckDB, _parts
from discreet.errors import EngineError, ParameterError, QueryError
from discreet.query import expr as e
from discreet.query.kinds import Number
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FreeText,
    Keys,
    PerPerson,
    PerRow,
    Schema,
)

ARROW = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
NONE = Bounding("none")


def table_of(rows, types):
    columns = {
        name: pa.array([row[name] for row in rows], ARROW[storage])
        for name, storage in types.items()
    }
    return pa.table(columns)


class TestContract(EngineContract):
    @pytest.fixture
    def engine_of(self):
        return lambda rows, types: DuckDB.from_frame(
            table_of(rows, types), hashing="portable", key="k", threads=1
        )


def request(engine, columns, *, unit=None, bounding=NONE, row_limit=10**9):
    """For each column: how often its value is there, its sum where it is a number, its groups."""
    schema = Schema("t", unit or PerRow(), columns, engine.storage, {}, row_limit)
    parts = []
    for name in columns:
        node = e.Column(name, schema.kind(name))
        sums = (Total(node, 1, 0),) if isinstance(node.kind, Number) else ()
        parts.append(Part((node,), (Total(), Total(node), *sums), bounding))
    return Request(schema, None, tuple(parts))


def answers(engine, columns, **more):
    return list(engine.run(request(engine, columns, **more)))


def counts(engine, name, declared):
    """How many rows each value of a column has."""
    return {group[0]: totals[0] for group, totals in answers(engine, {name: declared})[0].items()}


# sources


@pytest.fixture
def connection():
    with duckdb.connect() as made:
        yield made


def test_a_view_that_draws_rows_anew_is_read_once(connection, tmp_path):
    """Counted in one sample and added up in another, a person could weigh more than the bound."""
    connection.execute("CREATE TABLE plain AS SELECT 1 AS p, i AS x FROM range(4000) r(i)")
    connection.execute("CREATE VIEW drawn AS SELECT * FROM plain WHERE random() < 0.01")
    connection.execute("CREATE SCHEMA other; CREATE VIEW other.plain AS SELECT * FROM drawn")
    weighted = Bounding("weight", rows=1, scale=1000)
    unit = PerPerson("p", max_rows=1)
    for table in ("drawn", "other.plain"):
        engine = DuckDB.from_connection(connection, table=table)
        asked = request(engine, {"x": Bounds(0, 9, 1)}, unit=unit, bounding=weighted)
        assert 'base" AS MATERIALIZED' in engine.statement(asked)
        for _ in range(20):
            assert sum(totals[0] for totals in engine.run(asked)[0].values()) <= 1000
    engine = DuckDB.from_connection(connection, table="plain")
    asked = request(engine, {"x": Bounds(0, 9, 1)}, unit=unit, bounding=weighted)
    assert 'base" AS NOT MATERIALIZED' in engine.statement(asked)
    path = tmp_path / "d.duckdb"
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE x AS SELECT 1 AS p, 2 AS x; CREATE VIEW v AS FROM x")
    for table, kept in (("x", "NOT MATERIALIZED"), ("v", "MATERIALIZED")):
        engine = DuckDB.from_file(path, table=table)
        asked = request(engine, {"x": Bounds(0, 9, 1)}, unit=unit, bounding=weighted)
        assert f'base" AS {kept}' in engine.statement(asked)
        engine.close()


def test_several_parquet_files_have_the_same_types(tmp_path):
    for name, values in (("a", [1, 2]), ("b", [3]), ("c", ["x"])):
        pq.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    engine = DuckDB.from_files(both, kind="parquet")
    assert counts(engine, "x", Keys(range(5))) == {1: 1, 2: 1, 3: 1}
    with pytest.raises(ParameterError, match="same columns"):
        DuckDB.from_files([*both, tmp_path / "c.parquet"], kind="parquet")


def frames():
    rows = {"x": [1.5, None, 3.0], "t": ["a", None, "ü"], "n": [1, 2, 3]}
    return [pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows)]


@pytest.mark.parametrize("frame", frames(), ids=lambda frame: type(frame).__module__)
def test_tables_in_memory(frame):
    engine = DuckDB.from_frame(frame)
    assert engine.storage == {"x": "real", "t": "text", "n": "integer"}
    assert counts(engine, "t", FreeText()) == {"a": 1, None: 1, "ü": 1}
    assert counts(engine, "x", Bounds(0, 5, "0.5")) == {3: 1, None: 1, 6: 1}


def test_types_of_pandas_do_not_depend_on_the_rows():
    """Python objects are text, whatever they are; and so are categories."""
    frame = pd.DataFrame(
        {
            "mixed": pd.Series([1, "x", None, date(2020, 1, 1), Decimal("1.5")], dtype=object),
            "days": pd.Series([date(2020, 1, 1), None] + [date(2021, 1, 1)] * 3, dtype=object),
            "kind": pd.Categorical([1, 2, None, 1, 1]),
            "flag": pd.Series([True, None, False, True, True], dtype=object),
            "whole": pd.array([1, None, 3, 4, 5], dtype="Int64"),
            "when": pd.to_datetime(["2020-01-01T23:30-02:00"] * 4 + [None], utc=True),
        }
    )
    engine = DuckDB.from_frame(frame)
    assert engine.storage == {
        "mixed": "text",
        "days": "text",
        "kind": "text",
        "flag": "text",
        "whole": "integer",
        "when": "timestamp",
    }
    assert counts(engine, "mixed", Keys([1, 2])) == {1: 1, None: 4}
    assert counts(engine, "days", Dates("2020-01-01", "2020-06-30")) == {
        date(2020, 1, 1): 1,
        None: 1,
        date(2020, 6, 30): 3,
    }
    assert counts(engine, "kind", Keys(["1", "2"])) == {"1": 3, "2": 1, None: 1}
    assert counts(engine, "flag", Boolean()) == {True: 3, False: 1, None: 1}
    assert counts(engine, "when", Dates("2019-01-01", "2021-01-01")) == {
        date(2020, 1, 2): 4,
        None: 1,
    }
    empty = DuckDB.from_frame(frame.iloc[:0])
    assert empty.storage == engine.storage


def test_values_as_text_in_every_storage():
    columns = {
        "integer": ["7", None, "x"],
        "real": ["0.5", "nan", "one"],
        "text": ["it's", "", None],
        "boolean": ["true", "f", "perhaps"],
        "date": ["2024-02-29", "2023-02-29", None],
        "timestamp": ["2024-02-29 12:00:00", "9999-99-99", None],
        "other": ["a", None, None],
    }
    made = {f'a "{name}"; --': (name, values) for name, values in columns.items()}
    engine = DuckDB.from_text(made)
    assert [*engine.storage.values()] == [*[*columns][:-1], "text"]
    assert [*engine.storage] == [*made]
    (first, second, third) = engine._rows("SELECT * FROM rows")
    moment = datetime.fromisoformat("2024-02-29T12:00:00")
    assert first == (7, 0.5, "it's", True, date(2024, 2, 29), moment, "a")
    assert second[0] is None
    assert (second[2], second[3], second[4:]) == ("", False, (None, None, None))
    assert third == (None, None, None, None, None, None, None)
    with pytest.raises(EngineError):  # like every connection of our own, it reads no file
        engine._rows("SELECT * FROM read_csv('/etc/passwd')")


def test_names_that_differ_by_case_only_are_refused():
    with pytest.raises(ParameterError, match="upper and lower case"):
        DuckDB.from_frame(pa.table({"a": [1], "A": [2]}))


def test_a_database_file(tmp_path):
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x").fetchall()
        made.execute('CREATE SCHEMA "a.b"').fetchall()
        made.execute('CREATE VIEW "a.b"."v ""w" AS SELECT 2 AS x').fetchall()
    assert counts(DuckDB.from_file(path, table="t"), "x", Keys([1, 2])) == {1: 1}
    engine = DuckDB.from_file(path, table='"a.b"."v ""w"')
    assert counts(engine, "x", Keys([1, 2])) == {2: 1}
    with pytest.raises(EngineError, match="no such table"):
        DuckDB.from_file(path, table="nothing")
    with pytest.raises(EngineError, match="could not be opened"):
        DuckDB.from_file(tmp_path / "no.duckdb", table="t")


def test_a_connection_stays_the_owners(connection):
    connection.execute("CREATE TABLE t AS SELECT 'a' AS x UNION ALL SELECT 'A'").fetchall()
    connection.execute("SET default_collation = 'nocase'").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    pending = connection.execute("SELECT * FROM range(5)")
    assert counts(engine, "x", Keys(["a"])) == {"a": 1, None: 1}
    assert len(pending.fetchall()) == 5
    assert connection.execute("SELECT 'a' = 'A'").fetchall() == [(True,)]
    engine.close()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(EngineError, match="no such table"):
        DuckDB.from_connection(connection, table="u")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("t", ["t"]),
        ("s.t", ["s", "t"]),
        ("d.s.t", ["d", "s", "t"]),
        ('"a.b".t', ["a.b", "t"]),
        ('"a""b"', ['a"b']),
        ("x; DROP TABLE y", ["x; DROP TABLE y"]),
        ("read_csv('/etc/passwd')", ["read_csv('/etc/passwd')"]),
    ],
)
def test_a_table_is_a_name_and_nothing_else(text, parts):
    assert _parts(text) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c.d", '"a', 'a"b', '"a"b', '""', "a\0"])
def test_what_is_no_table_name_is_refused(text):
    with pytest.raises(ParameterError, match="table"):
        _parts(text)


# types


def test_types_come_from_describe(connection):
    types = {
        "integer": "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT UBIGINT DECIMAL(18,0)",
        "real": "FLOAT DOUBLE DECIMAL(18,2) DECIMAL(38,0)",
        "text": "VARCHAR UUID ENUM('x')",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "timestamp": "TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS TIMESTAMPTZ",
        "other": "TIME INTERVAL BLOB INTEGER[] BIT JSON",
    }
    listed = [(t, storage) for storage, names in types.items() for t in names.split()]
    columns = ", ".join(f"c{i} {type_}" for i, (type_, _) in enumerate(listed))
    connection.execute(f"CREATE TABLE t ({columns})").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    assert engine.storage == {f"c{i}": storage for i, (_, storage) in enumerate(listed)}


def test_odd_values_of_odd_types(connection):
    """Nothing fails, and everything is what it would be in a common type."""
    connection.execute(
        """CREATE TABLE t AS SELECT * FROM (VALUES
        (170141183460469231731687303715884105727::HUGEINT, 'NaN'::FLOAT, 'infinity'::DATE,
         'infinity'::TIMESTAMPTZ, 12345678901234567890123.45::DECIMAL(38,2), 255::UTINYINT),
        (-170141183460469231731687303715884105727::HUGEINT, 'inf'::FLOAT, '-infinity'::DATE,
         '-infinity'::TIMESTAMPTZ, -12345678901234567890123.45::DECIMAL(38,2), 0::UTINYINT),
        (7::HUGEINT, 0.1::FLOAT, '290000-01-01'::DATE, '2020-03-01 01:30:00+02'::TIMESTAMPTZ,
         0.145::DECIMAL(38,2), 7::UTINYINT),
        (NULL, NULL, NULL, NULL, NULL, NULL)) AS v(h, f, d, z, w, u)"""
    ).fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    assert counts(engine, "h", Bounds(-10, 10, 1)) == {10: 1, -10: 1, 7: 1, None: 1}
    assert counts(engine, "h", Keys([7, 9])) == {7: 1, None: 3}
    assert counts(engine, "f", Bounds(0, 1, "0.001")) == {1000: 1, 100: 1, None: 2}
    days = Dates("2020-01-01", "2020-12-31")
    first, last = days.low, days.high
    assert counts(engine, "d", days) == {first: 1, last: 2, None: 1}
    assert counts(engine, "z", days) == {first: 1, last: 1, date(2020, 2, 29): 1, None: 1}
    assert counts(engine, "z", Keys([date(2020, 2, 29)])) == {date(2020, 2, 29): 1, None: 3}
    assert counts(engine, "w", Bounds(-1, 1, "0.01")) == {-100: 1, 100: 1, 15: 1, None: 1}
    assert counts(engine, "u", Bounds(-300, 300, 1)) == {255: 1, 0: 1, 7: 1, None: 1}


def test_long_decimals_are_read_as_the_nearest_double(connection):
    words = [f"{i}.{'0' * 15}{i}5" for i in range(1, 60)] + ["90071992547409.93", "0.285"]
    connection.execute("CREATE TABLE t (x DECIMAL(38, 18))").fetchall()
    connection.executemany("INSERT INTO t VALUES (?)", [[Decimal(w)] for w in words])
    engine = DuckDB.from_connection(connection, table="t")
    bounds = Bounds(0, 10**15, "0.01")
    expected = {}
    for word in words:
        n = reference.clean(float(Decimal(word)), bounds, "real")
        expected[n] = expected.get(n, 0) + 1
    assert counts(engine, "x", bounds) == expected


def test_people_are_told_apart_by_all_their_digits(connection):
    """Two long decimal numbers that are one double are two people."""
    connection.execute(
        "CREATE TABLE t AS SELECT x::DECIMAL(38,0) AS p, 1 AS n FROM "
        "(VALUES ('90071992547409931'), ('90071992547409932'), ('90071992547409932')) AS v(x)"
    ).fetchall()
    engine = DuckDB.from_connection(connection, table="t", hashing="portable", key="k")
    schema = Schema("t", PerPerson("p"), {"n": Bounds(0, 5, 1)}, engine.storage, {}, 10**6)
    people = Part((), (), NONE, people=True)
    kept = Part((), (Total(),), Bounding("clamp", rows=1))
    assert engine.run(Request(schema, None, (people, kept))) == [{(): (2,)}, {(): (2,)}]


@pytest.mark.parametrize("write", [pq.write_table, lambda t, f: pl.from_arrow(t).write_parquet(f)])
@pytest.mark.parametrize(
    "values",
    [[1.0, 3.0, 999.0], [1500.0, 2000.0], [-5.0, -3.0], [1.0], [500.0, 2000.0], [float("inf")], []],
)
def test_statistics_of_a_file_that_leave_out_nan_are_not_believed(tmp_path, write, values):
    rows = [
        {"p": float(i % 3) if i % 4 else float("nan"), "v": v}
        for i, v in enumerate([*values, float("nan")] * 5)
    ]
    path = tmp_path / "rows.parquet"
    write(table_of(rows, {"p": "real", "v": "real"}), path)
    engine = DuckDB.from_files([path], kind="parquet", hashing="portable", key="k")
    for declared in (
        Bounds(0, 1000, 1),
        Bounds(0, 1000, "0.01"),
        Bounds(0, 1000, 5),
        Bounds("0.1", "0.7", "0.1"),
        Bounds(-(1 << 60), 1 << 60, 1),
        Keys(range(1001)),
        Keys([1, 999]),
        Boolean(),
    ):
        for unit in (PerRow(), PerPerson("p")):
            asked = request(engine, {"v": declared}, unit=unit)
            assert list(engine.run(asked)) == reference.answer(rows, asked)


def test_moments_are_cut_off_in_utc_whatever_the_clock_of_the_connection_says(connection):
    connection.execute("SET TimeZone = 'Pacific/Kiritimati'").fetchall()
    when = datetime(2020, 1, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    connection.execute("CREATE TABLE t AS SELECT ?::TIMESTAMPTZ AS x", [when]).fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    found = counts(engine, "x", Dates("2019-01-01", "2021-01-01"))
    assert found == {date(2020, 1, 2): 1}


# what may be read


@pytest.fixture
def locked(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "rows.parquet")
    (tmp_path / "other.csv").write_text("x\n1\n")
    return DuckDB.from_files([tmp_path / "rows.parquet"], kind="parquet")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{}/other.csv')",
        "SELECT * FROM read_text('{}/other.csv')",
        "SELECT * FROM glob('{}/*')",
        "SELECT * FROM '{}/other.csv'",
        "COPY (SELECT 1) TO '{}/new.csv'",
        "COPY (SELECT 1) TO '{}/rows.parquet'",
        "ATTACH '{}/new.duckdb'",
        "EXPORT DATABASE '{}'",
        "SET enable_external_access = true",
        "SET threads = 1",
        "RESET lock_configuration",
        "SET allowed_paths = ['/']",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM frame",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    ],
)
def test_nothing_but_the_source_can_be_read_or_changed(locked, tmp_path, text):
    frame = pd.DataFrame({"x": [1]})  # a variable that DuckDB might find
    with pytest.raises(EngineError):
        locked._rows(text.format(tmp_path))
    assert len(frame) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.csv", "rows.parquet"]
    assert counts(locked, "x", Keys([1])) == {1: 1}


def test_a_database_file_cannot_be_changed(tmp_path):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x").fetchall()
    engine = DuckDB.from_file(tmp_path / "d.duckdb", table="t")
    for text in ("INSERT INTO data.t VALUES (2)", "DROP TABLE data.t", "ATTACH 'x.duckdb'"):
        with pytest.raises(EngineError):
            engine._rows(text)
    assert counts(engine, "x", Keys([1])) == {1: 1}


def test_words_of_the_database_are_only_a_cause(connection):
    connection.execute("CREATE TABLE t AS SELECT 'SECRET' AS x").fetchall()
    engine = DuckDB.from_connection(connection, table="t")
    with pytest.raises(EngineError) as caught:
        engine._rows("SELECT x::INTEGER FROM t")
    assert "SECRET" not in str(caught.value)
    assert "SECRET" in str(caught.value.__cause__)


def test_what_is_stored_otherwise_is_refused_before_a_row_is_read(locked):
    for declared in (Dates("2020-01-01", "2021-01-01"), FreeText(), Keys(["a"])):
        with pytest.raises(QueryError, match="'x' is stored as whole numbers"):
            counts(locked, "x", declared)


# running


def test_many_threads_may_ask(locked):
    answers_ = []
    threads = [
        threading.Thread(target=lambda: answers_.append(counts(locked, "x", Keys([1]))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers_ == [{1: 1}] * 8


def test_threads_are_checked(tmp_path):
    with pytest.raises(ParameterError, match="threads"):
        DuckDB.from_frame(pa.table({"x": [1]}), threads=0)
    engine = DuckDB.from_frame(pa.table({"x": np.arange(3)}), threads=1)
    assert engine._rows("SELECT current_setting('threads')") == [(1,)]
    assert repr(engine) == "DuckDB(x)"


def test_a_database_that_takes_too_long_is_stopped():
    engine = DuckDB.from_frame(pd.DataFrame({"a": [1]}))
    slow = "SELECT sum(sqrt(range)) FROM range(10000000000)"
    with pytest.raises(EngineError) as caught:
        engine._rows(slow, seconds=0.2)
    assert "longer than 0.2 s" in str(caught.value.__cause__)
    assert engine._rows("SELECT 1", seconds=5) == [(1,)]
