"""PostgreSQL, on a real server: what it reads, what it refuses, what no row can make it do."""

import os
import signal
import threading
import time
from datetime import date
from functools import partial
from itertools import count

import pytest
from tests.engines.contract import EngineContract
from tests.engines.hashes import check_any_hash

from discreet.engines.postgres import Postgres, _table
from discreet.errors import EngineError, ParameterError
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    Schema,
)

psycopg = pytest.importorskip("psycopg")
from psycopg.sql import SQL, Identifier  # noqa: E402


@pytest.fixture
def sql(postgres):
    """Run statements as the owner; what they made is gone after the test."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection.execute
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.execute('DROP SCHEMA IF EXISTS "we.ird" CASCADE')


def settles(sql, counting, expected):
    """Whether a count of the server's activity comes to a number within ten seconds.

    The server forgets a closed connection in its own time, after the client's `close` returned.
    """
    end = time.monotonic() + 10
    while sql(counting).fetchone() != (expected,):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


NONE = Bounding("none")


def request(engine, columns, *, keys=(), value=None, unit=None, bounding=NONE, people=False):
    """One part: rows and, with a value, its sum, by some keys."""
    schema = Schema("t", unit or PerRow(), columns, engine.storage)
    column = lambda name: e.Column(name, schema.kind(name))
    totals = (Total(),) if value is None else (Total(), Total(column(value), power=1))
    part = Part(tuple(map(column, keys)), () if people else totals, bounding, people)
    return Request(schema, None, (part,))


def answer(engine, columns, **more):
    return engine.run(request(engine, columns, **more))[0]


# binding


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("t", ("public", "t")),
        ("s.t", ("s", "t")),
        ('"a.b".t', ("a.b", "t")),
        ('"a""b"."c.d"', ('a"b', "c.d")),
        ("People", ("public", "People")),
        ('x"; DROP TABLE y --', ("public", 'x"; DROP TABLE y --')),
        ('"ünï"', ("public", "ünï")),
    ],
)
def test_a_table_is_named_as_the_catalogue_spells_it(text, found):
    assert _table(text) == found


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c", '"a', '"a"b', '""', "a\0b"])
def test_what_is_no_table_name_is_refused(text):
    with pytest.raises(ParameterError, match="table"):
        _table(text)


def test_types_come_from_the_catalogue(postgres, sql):
    sql("CREATE TYPE mood AS ENUM ('x', 'y')")
    sql("CREATE TYPE public.date AS (x int)")
    sql("CREATE DOMAIN d1 AS numeric(10, 0)")
    sql("CREATE DOMAIN d2 AS d1 CHECK (VALUE > 0)")
    sql(
        """CREATE TABLE t (a int2, b int4, c int8, d real, e float8, f numeric, g numeric(18, 0),
        h numeric(18, 2), i numeric(19, 0), j d2, k text, l varchar(5), m char(5), n uuid, o mood,
        p boolean, q date, r timestamp, s timestamptz, u jsonb, v int[], w bytea, x interval,
        y money, z time, odd public.date, dropped int)"""
    )
    sql("ALTER TABLE t DROP COLUMN dropped")
    expected = {
        **dict.fromkeys("abcgj", "integer"),
        **dict.fromkeys("defhi", "real"),
        **dict.fromkeys("klmno", "text"),
        "p": "boolean",
        "q": "date",
        "r": "timestamp",
        "s": "timestamp",
        **dict.fromkeys([*"uvwxyz", "odd"], "other"),
    }
    assert Postgres(postgres, "t").storage == expected


def test_types_are_known_of_views_and_partitioned_tables_too(postgres, sql):
    sql("CREATE TABLE t (a int) PARTITION BY RANGE (a)")
    sql("CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)")
    sql("CREATE VIEW v AS SELECT a, a::text AS b FROM t")
    sql("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    assert Postgres(postgres, "t").storage == {"a": "integer"}
    assert Postgres(postgres, "public.v").storage == {"a": "integer", "b": "text"}
    assert Postgres(postgres, "m").storage == {"a": "integer"}


def test_binding_reads_no_row(postgres, sql):
    """The table cannot even be scanned: a view that fails for every row has types all the same."""
    sql("CREATE TABLE t (a int)")
    sql("INSERT INTO t VALUES (0)")
    sql("CREATE VIEW v AS SELECT 1 / a AS b FROM t")
    engine = Postgres(postgres, "v")
    engine.ping()
    assert engine.storage == {"b": "integer"}
    with pytest.raises(EngineError):
        answer(engine, {"b": Bounds(0, 9)}, value="b")


def test_a_missing_table_is_named(postgres):
    with pytest.raises(ParameterError, match=r"public\.nowhere"):
        _ = Postgres(postgres, "nowhere").storage
    with pytest.raises(EngineError, match="table cannot be read"):
        Postgres(postgres, "nowhere").ping()


def test_a_table_that_may_not_be_read_is_named(postgres, sql):
    sql("CREATE TABLE t (a int)")
    sql("DROP ROLE IF EXISTS stranger")
    sql("CREATE ROLE stranger LOGIN")
    with pytest.raises(ParameterError, match="may not be read"):
        _ = Postgres(postgres.replace("//postgres:", "//stranger:"), "t").storage


def test_a_database_in_another_encoding_is_refused(postgres_server, worker_id):
    """There text could come back that is no text, and the failure would depend on a row."""
    name = f"latin_{worker_id}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"
        )
    address = postgres_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a text)")
    with pytest.raises(ParameterError, match="LATIN1"):
        _ = Postgres(address, "t").storage


@pytest.mark.parametrize("address", ["nonsense secret", "postgresql://u:secret@[broken"])
def test_a_wrong_address_is_refused_without_quoting_it(address):
    with pytest.raises(ParameterError, match="postgresql://user@host") as caught:
        Postgres(address, "t")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_password_is_never_shown():
    engine = Postgres("postgresql://ann:secret@127.0.0.1:1/db", "t")
    assert repr(engine) == "Postgres(table='public.t', database='db')"
    with pytest.raises(EngineError) as caught:
        engine.ping()
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert "secret" not in str(caught.value.__cause__)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_time(timeout):
    with pytest.raises(ParameterError, match="timeout"):
        Postgres("postgresql:///x", "t", timeout=timeout)


# the connection


READ_ONLY, SYNTAX = "ReadOnlySqlTransaction", "SyntaxError"


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("CREATE TABLE public.w (a int)", READ_ONLY),
        ("CREATE TEMP TABLE w (a int)", READ_ONLY),
        ("INSERT INTO public.t VALUES (1) RETURNING a", READ_ONLY),
        ("WITH x AS (DELETE FROM public.t RETURNING a) SELECT * FROM x", READ_ONLY),
        ("DELETE FROM public.t", READ_ONLY),
        ("TRUNCATE public.t", READ_ONLY),
        ("SELECT * FROM public.t FOR UPDATE", READ_ONLY),
        ("SELECT nextval('public.s')", READ_ONLY),
        ("SELECT lo_create(0)", READ_ONLY),
        ("COPY public.t FROM PROGRAM 'echo 1'", READ_ONLY),
        ("SET TRANSACTION READ WRITE", "ActiveSqlTransaction"),
        ("SELECT set_config('transaction_read_only', 'off', true)", "ActiveSqlTransaction"),
        ("SELECT 1; SELECT 2", SYNTAX),
        ("COMMIT; INSERT INTO public.t VALUES (1)", SYNTAX),
    ],
)
def test_nothing_can_be_written(postgres, sql, statement, refusal):
    sql("CREATE TABLE t (a int)")
    sql("INSERT INTO t VALUES (7)")
    sql("CREATE SEQUENCE s")
    with pytest.raises(EngineError) as caught:
        Postgres(postgres, "t")._read(statement)
    assert type(caught.value.__cause__).__name__ == refusal
    assert sql("SELECT a FROM t").fetchall() == [(7,)]
    assert sql("SELECT is_called FROM s").fetchone() == (False,)


def test_the_settings_hold_for_the_transaction(postgres, sql):
    name = sql("SELECT current_database()").fetchone()[0]
    sql(f"ALTER DATABASE {name} SET timezone = 'Pacific/Auckland'")
    sql(f"ALTER DATABASE {name} SET standard_conforming_strings = off")
    sql(f"ALTER DATABASE {name} SET extra_float_digits = -5")
    sql(f"ALTER DATABASE {name} SET search_path = public")
    try:
        read = Postgres(postgres, "t", timeout=7)._read
        shown = lambda setting: read(f"SELECT current_setting('{setting}')")[0][0]
        assert shown("TimeZone") == "UTC"
        assert shown("standard_conforming_strings") == "on"
        assert shown("extra_float_digits") == "1"
        assert shown("search_path") == "pg_catalog, pg_temp"
        assert shown("statement_timeout") == "7s"
        assert shown("lock_timeout") == "7s"
        assert shown("transaction_read_only") == "on"
        assert shown("client_encoding") == "UTF8"
    finally:
        sql(f"ALTER DATABASE {name} RESET ALL")


def test_functions_of_the_database_do_not_take_over(postgres, sql):
    """A function or operator of the same name in public is not found."""
    sql("CREATE TABLE t (a int8)")
    sql("INSERT INTO t VALUES (3)")
    sql("CREATE FUNCTION coalesce_sum(int8) RETURNS int8 LANGUAGE sql AS 'SELECT 99::int8'")
    sql("CREATE FUNCTION md5(text) RETURNS text LANGUAGE sql AS 'SELECT ''x'''")
    sql("CREATE FUNCTION evil(int8, int4) RETURNS bool LANGUAGE sql AS 'SELECT true'")
    sql("CREATE OPERATOR < (LEFTARG = int8, RIGHTARG = int4, FUNCTION = evil)")
    assert answer(Postgres(postgres, "t"), {"a": Bounds(0, 9)}, value="a") == {(): (1, 3 * 10**6)}


def test_a_long_statement_is_stopped(postgres):
    start = time.monotonic()
    with pytest.raises(EngineError) as caught:
        Postgres(postgres, "t", timeout=0.3)._read("SELECT pg_sleep(30)")
    assert time.monotonic() - start < 10
    assert isinstance(caught.value.__cause__, psycopg.errors.QueryCanceled)
    assert "sleep" not in str(caught.value)


def test_a_locked_table_is_not_waited_for(postgres, sql):
    sql("CREATE TABLE t (a int)")
    with psycopg.connect(postgres) as other:
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(EngineError):
            Postgres(postgres, "t", timeout=0.3)._read("SELECT a FROM public.t")


def test_an_interrupt_stops_the_statement_on_the_server(postgres, sql):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Postgres(postgres, "t")._read("SELECT pg_sleep(31)")
    finally:
        signal.signal(signal.SIGUSR1, before)
    left = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%_sleep(31)' AND state = 'active'"
    )
    assert settles(sql, left, 0)


def test_no_connection_is_left_behind(postgres, sql):
    sql("CREATE TABLE t (a int)")
    engine = Postgres(postgres, "t")
    for _ in range(3):
        answer(engine, {"a": Bounds(0, 1000)})
    with pytest.raises(EngineError):
        engine._read("SELECT 1/0")
    mine = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    assert settles(sql, mine, 1)


def test_progress_is_a_line_on_a_terminal_and_nothing_elsewhere(postgres, sql, capfd):
    sql("CREATE TABLE t (a int)")
    engine = Postgres(postgres, "t")
    engine.run(request(engine, {"a": Bounds(0, 1000)}), progress=True)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


# rows that make PostgreSQL fail


HOSTILE = {
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "smallint": ["-32768", "32767"],
    "integer": ["-2147483648", "2147483647"],
    "float8": ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "5e-324", "1.7976931348623157e308"],
    "real": ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "1e-45", "3.4028235e38"],
    "numeric": ["'NaN'", "'Infinity'", "1e400", "-1e400", "1e-400", "-1e-400", "1e131000"],
    "numeric(18, 0)": ["'NaN'", "999999999999999999", "-999999999999999999"],
    "numeric(30, 5)": ["'NaN'", "9999999999999999999999999.99999"],
}
FITS = {
    "bigint": [0, 9],
    "smallint": [0, 9],
    "integer": [0, 9],
    "float8": [None, 9, 0, 0, 0, 9],
    "real": [None, 9, 0, 0, 0, 9],
    "numeric": [None, 9, 9, 0, 0, 0, 9],
    "numeric(18, 0)": [None, 9, 0],
    "numeric(30, 5)": [None, 9],
}


@pytest.mark.parametrize("type_", HOSTILE)
@pytest.mark.parametrize("grid", ["1", "0.001", "3"])
def test_numbers_at_the_ends_of_their_type_are_clamped(postgres, sql, type_, grid):
    """Each odd value is counted as its rule says, and no row makes the statement fail."""
    sql(f"CREATE TABLE t (a {type_})")
    engine = Postgres(postgres, "t")
    bounds = Bounds(0, 9, grid)
    for literal, expected in zip([*HOSTILE[type_], "NULL"], [*FITS[type_], None], strict=True):
        sql("TRUNCATE t")
        sql(f"INSERT INTO t VALUES ({literal})")
        held = 0 if expected is None else int(expected / bounds.grid)
        assert answer(engine, {"a": bounds}, value="a") == {(): (1, held)}
    sql(f"INSERT INTO t VALUES {', '.join(f'({literal})' for literal in HOSTILE[type_])}")
    assert answer(engine, {"a": bounds}, value="a")[()][0] == len(HOSTILE[type_]) + 1


@pytest.mark.parametrize("type_", ["float8", "numeric"])
def test_what_is_nearly_0_is_no_whole_number(postgres, sql, type_):
    """It must not become the key 0 on the way; within bounds it is 0, as everywhere."""
    sql(f"CREATE TABLE t (a {type_})")
    sql("INSERT INTO t VALUES (1e-203), (-1e-203), (1e-101), (0), (-0.0), (1), (1e-307), (NULL)")
    engine = Postgres(postgres, "t")
    assert answer(engine, {"a": Keys([0, 1])}, keys=("a",)) == {
        (0,): (2,),
        (1,): (1,),
        (None,): (5,),
    }
    for low, grid in ((-1, "0.001"), (-9, 3), (0, "1e-15")):
        bounds = Bounds(low, 9, grid)
        assert answer(engine, {"a": bounds}, value="a") == {(): (8, round(1 / bounds.grid))}


def test_wide_bounds_do_not_overflow(postgres, sql):
    sql("CREATE TABLE t (a int8)")
    sql("INSERT INTO t SELECT 9223372036854775807 FROM generate_series(1, 1000)")
    found = answer(Postgres(postgres, "t"), {"a": Bounds(-(2**60), 2**60, 1)}, value="a")
    assert found == {(): (1000, 1000 * 2**60)}


@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_infinite_and_ancient_days_are_clamped(postgres, sql, type_):
    sql(f"CREATE TABLE t (a {type_})")
    days = ["infinity", "-infinity", "4713-01-01 BC", "9999-12-31", "2024-02-29"]
    days += ["5874897-12-31"] if type_ == "date" else ["294276-12-31 23:59:59.999999"]
    for day in days:
        sql("INSERT INTO t VALUES (%s)", [day])
    sql("INSERT INTO t VALUES (NULL)")
    declared = {"a": Dates(date(2020, 1, 1), date(2024, 12, 31))}
    assert answer(Postgres(postgres, "t"), declared, keys=("a",)) == {
        (date(2020, 1, 1),): (2,),
        (date(2024, 2, 29),): (1,),
        (date(2024, 12, 31),): (3,),
        (None,): (1,),
    }


def test_a_moment_is_cut_to_its_day_in_utc(postgres, sql):
    name = sql("SELECT current_database()").fetchone()[0]
    sql(f"ALTER DATABASE {name} SET timezone = 'Pacific/Auckland'")
    try:
        sql("CREATE TABLE t (a timestamptz)")
        sql("INSERT INTO t VALUES ('2024-01-01 23:59:59.999999+00'), ('2024-01-02 00:00+00')")
        declared = {"a": Dates(date(2020, 1, 1), date(2024, 12, 31))}
        found = answer(Postgres(postgres, "t"), declared, keys=("a",))
        assert found == {(date(2024, 1, 1),): (1,), (date(2024, 1, 2),): (1,)}
    finally:
        sql(f"ALTER DATABASE {name} RESET ALL")


def test_text_of_every_type_is_text(postgres, sql):
    sql("CREATE TYPE mood AS ENUM ('x', 'other')")
    sql("CREATE TABLE t (a char(5), b varchar(9), c uuid, d mood, e text)")
    one = "00000000-0000-0000-0000-000000000001"
    sql("INSERT INTO t VALUES ('x', 'x', %s, 'x', 'x'), ('X', 'x ', NULL, 'other', 'é')", [one])
    engine = Postgres(postgres, "t")
    keys = dict.fromkeys("abde", Keys(["x", "other"])) | {"c": FreeText()}
    assert answer(engine, keys, keys=("a",)) == {("x",): (1,), (None,): (1,)}
    assert answer(engine, keys, keys=("b",)) == {("x",): (1,), (None,): (1,)}
    assert answer(engine, keys, keys=("c",)) == {(one,): (1,), (None,): (1,)}
    assert answer(engine, keys, keys=("d",)) == {("x",): (1,), ("other",): (1,)}
    assert answer(engine, keys, keys=("e",)) == {("x",): (1,), (None,): (1,)}


def test_people_are_told_apart_to_the_last_digit(postgres, sql):
    """Numbers of people beyond all doubles are different people; 1.5 and 1.50 are the same."""
    sql("CREATE TABLE t (p numeric, a bool)")
    people = ["100000000000000000001", "100000000000000000002", "1.5", "1.50", "7", "7.0"]
    sql(f"INSERT INTO t VALUES {', '.join(f'({p}, true)' for p in people)}")
    engine = Postgres(postgres, "t")
    unit = PerPerson("p", max_rows=1)
    columns = {"a": Boolean(), "p": Hidden()}
    found = answer(engine, columns, unit=unit, people=True)
    assert found == {(): (4,)}
    sampled = answer(engine, columns, unit=unit, bounding=Bounding("sample", rows=1))
    assert sampled == {(): (4,)}


def test_the_choice_of_rows_does_not_depend_on_zeros_at_the_end(postgres, sql):
    """A person is the number, however many digits of it are written."""
    found = []
    for table, zeros in (("t", ["", "0", "00"]), ("u", ["", "", ""])):
        sql(f"CREATE TABLE {table} (p numeric, k text)")
        rows = [f"({i}.5{zeros[j]}, '{'xyz'[j]}')" for i in range(30) for j in range(3)]
        sql(f"INSERT INTO {table} VALUES {', '.join(rows)}")
        engine = Postgres(postgres, table, hashing="portable")
        columns = {"k": Keys(list("xyz")), "p": Hidden()}
        sampled = Bounding("sample", rows=1, groups=1)
        unit = PerPerson("p", max_rows=1, max_groups=1)
        found.append(answer(engine, columns, keys=("k",), unit=unit, bounding=sampled))
    assert found[0] == found[1]
    assert sum(rows for (rows,) in found[0].values()) == 30


def test_hostile_names_are_names(postgres, sql):
    table = 'a"; DROP TABLE x; --'
    column, other = "he\"llo'; -- %s {} \\ ü", 'select"'
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in (table, column, other)}
    sql('CREATE SCHEMA "we.ird"')
    make = f'CREATE TABLE "we.ird".{quoted[table]} ({quoted[column]} int, {quoted[other]} text)'
    sql(make)
    fill = f"INSERT INTO \"we.ird\".{quoted[table]} VALUES (5, 'k''; --'), (7, 'k''; --')"
    sql(fill)
    engine = Postgres(postgres, f'"we.ird".{quoted[table]}')
    assert engine.storage == {column: "integer", other: "text"}
    declared = {column: Bounds(0, 9, 1), other: Keys(["k'; --", "\\", '"'])}
    assert answer(engine, declared, keys=(other,), value=column) == {("k'; --",): (2, 12)}


def test_failures_do_not_quote_rows(postgres, sql):
    sql("CREATE TABLE t (a text)")
    sql("INSERT INTO t VALUES ('very private')")
    sql("CREATE VIEW v AS SELECT a::int AS b FROM t")
    with pytest.raises(EngineError) as caught:
        answer(Postgres(postgres, "v"), {"b": Bounds(0, 9)}, value="b")
    assert "private" not in str(caught.value)
    assert "very private" in str(caught.value.__cause__)


COLUMN = {
    "integer": "bigint",
    "real": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}


@pytest.fixture
def postgres_engine_of(postgres):
    """Engines over rows; their tables are gone after the test."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        tables = count()

        def made(rows, types, key="k", hashing="portable"):
            name = f"t{next(tables)}"
            listed = SQL(", ").join(
                SQL("{} {}").format(Identifier(column), SQL(COLUMN[storage]))
                for column, storage in types.items()
            )
            table = Identifier("contract", name)
            connection.execute(SQL("CREATE TABLE {} ({})").format(table, listed))
            copy = SQL("COPY {} FROM STDIN").format(table)
            with connection.cursor() as cursor, cursor.copy(copy) as copied:
                for row in rows:
                    copied.write_row([row[column] for column in types])
            return Postgres(postgres, f"contract.{name}", hashing=hashing, key=key)

        connection.execute("CREATE SCHEMA contract")
        yield made
        connection.execute("DROP SCHEMA contract CASCADE")


@pytest.mark.slow
class TestContract(EngineContract):
    """Two hundred requests of the corpus, all with TORTURE set."""

    most = None if os.environ.get("TORTURE") else 200

    @pytest.fixture
    def engine_of(self, postgres_engine_of):
        return postgres_engine_of


def test_the_bounds_hold_with_its_own_hash(postgres_engine_of):
    check_any_hash(partial(postgres_engine_of, hashing="engine"))


def test_a_question_may_be_given_less_time_than_the_engine(postgres):
    engine = Postgres(postgres, "t", timeout=60)
    with pytest.raises(EngineError):
        engine._read("SELECT pg_sleep(30)", 0.3)
    assert engine._pinned(1000)[1][3] == "60000"  # and never more
