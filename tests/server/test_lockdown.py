"""DuckDB behind analysts' questions: it reads the dataset's files, and does nothing else.

Through the API everything else is refused when the question is read: status 422, nothing is charged
and no row is read. Should a statement ever get through, the connection itself refuses it.
"""

import os

import duckdb
import pytest
from tests.server.running import weak
from tests.server.twins import twins, write

from discreet.engines.duckdb import DuckDB

FILES = [
    "read_csv('{file}')", "read_csv_auto('{file}')", "read_text('{file}')", "read_blob('{file}')",
    "read_parquet('{file}')", "read_json('{file}')", "read_json_auto('{file}')", "glob('{file}')",
    "parquet_scan('{file}')", "parquet_metadata('{file}')", "parquet_schema('{file}')",
    "sniff_csv('{file}')", "'{file}'", '"{file}"', "read_csv('/etc/passwd')", "'/etc/passwd'",
    "glob('/*')", "read_csv('http://127.0.0.1:1/x.csv')", "read_text('/proc/self/environ')",
    "sqlite_scan('{file}', 'x')", "postgres_scan('host=localhost', 'public', 'x')",
]  # fmt: skip
STATEMENTS = [
    "ATTACH '{file}' AS other", "ATTACH ':memory:' AS other", "DETACH memory", "USE other",
    "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL json", "UPDATE EXTENSIONS",
    "COPY (SELECT 1) TO '{out}'", "COPY t TO '{out}'", "COPY t FROM '{file}'",
    "EXPORT DATABASE '{out}'", "IMPORT DATABASE '{file}'",
    "SET enable_external_access = true", "SET lock_configuration = false", "SET threads = 1",
    "SET memory_limit = '1GB'", "SET allowed_paths = ['/']", "SET temp_directory = '/tmp'",
    "SET autoload_known_extensions = true", "SET python_enable_replacements = true",
    "RESET enable_external_access", "RESET lock_configuration", "SET GLOBAL threads = 1",
    "PRAGMA enable_profiling", "PRAGMA threads = 1", "PRAGMA database_list",
    "CALL pragma_version()", "CALL enable_logging()", "CREATE SECRET s (TYPE s3)",
    "CREATE TABLE x AS SELECT 1", "CREATE MACRO m(x) AS x", "CREATE OR REPLACE VIEW t AS SELECT 1",
    "DROP TABLE t", "DELETE FROM t", "INSERT INTO t VALUES (1)", "CHECKPOINT", "VACUUM",
    "SELECT getenv('HOME')", "SELECT current_setting('threads')", "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()", "SELECT * FROM duckdb_extensions()", "BEGIN", "SHOW TABLES",
    "SELECT COUNT(*) FROM t; ATTACH '{file}' AS other", "EXPLAIN SELECT COUNT(*) FROM t",
    "PREPARE x AS SELECT 1", "SET VARIABLE x = 1", "SELECT getvariable('x')",
]  # fmt: skip
HARMLESS = {
    "ATTACH ':memory:' AS other", "PRAGMA database_list", "CALL pragma_version()", "CHECKPOINT",
    "CREATE TABLE x AS SELECT 1", "CREATE MACRO m(x) AS x", "CREATE OR REPLACE VIEW t AS SELECT 1",
    "VACUUM", "SELECT current_setting('threads')", "SELECT * FROM duckdb_settings()", "BEGIN",
    "SHOW TABLES", "PREPARE x AS SELECT 1", "SET VARIABLE x = 1", "SELECT getvariable('x')",
}  # fmt: skip
"""What touches nothing outside the connection's own memory, and is therefore only refused by us."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    with pytest.MonkeyPatch.context() as made:
        weak(made)
        with twins(tmp_path_factory.mktemp("lockdown"), padded=False) as found:
            yield found


@pytest.fixture
def places(pair, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nSECRET\n")
    return {"file": secret, "out": tmp_path / "out"}


def refused(pair, question, *more):
    before = pair.same_books()
    with pair.caller() as caller:
        for path in ("/api/ask", *more):
            found, _ = caller.both("POST", path, {"question": question, "epsilon": "0.000001"})
            assert found.status == 422, (question, found.body)
            assert b"SECRET" not in found.body
    assert pair.same_books() == before


def test_no_question_names_another_source(pair, places):
    for source in FILES:
        named = source.format(**places)
        refused(pair, f"SELECT COUNT(*) AS n FROM {named}", "/api/explain", "/api/rehearse")
        refused(pair, f"SELECT COUNT(*) AS n FROM t, {named} AS other")
        refused(pair, f"SELECT COUNT(*) AS n FROM t WHERE note IN (SELECT a FROM {named})")


def test_no_question_is_another_statement(pair, places):
    for statement in STATEMENTS:
        refused(pair, statement.format(**places), "/api/explain", "/api/rehearse")
        refused(pair, f"SELECT COUNT(*) AS n FROM t; {statement.format(**places)}")
    assert not places["out"].exists()


@pytest.fixture(params=["csv", "parquet"])
def engine(request, tmp_path):
    path = tmp_path / f"t.{request.param}"
    write(path, target=True)
    made = DuckDB.from_files([path], kind=request.param)
    yield made
    made.close()


def test_the_connection_reads_no_other_file(engine, places):
    for source in FILES:
        named = source.format(**places)
        with pytest.raises(duckdb.Error):
            engine._connection.execute(f"SELECT * FROM {named}").fetchall()


def test_the_connection_does_nothing_else(engine, places):
    for statement in STATEMENTS:
        if statement in HARMLESS:
            continue
        with pytest.raises(duckdb.Error):
            engine._connection.execute(statement.format(**places)).fetchall()
    assert not places["out"].exists()


def test_the_connection_cannot_be_unlocked(engine):
    settings = dict(
        engine._connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()
    )
    wanted = {
        "enable_external_access": "false", "lock_configuration": "true",
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "allow_community_extensions": "false", "python_enable_replacements": "false",
    }  # fmt: skip
    assert wanted.items() <= settings.items()
    for name in wanted:
        for value in ("true", "false", "DEFAULT"):
            with pytest.raises(duckdb.Error):
                engine._connection.execute(f"SET {name} = {value}").fetchall()


def test_the_connection_reads_no_environment(engine, monkeypatch):
    monkeypatch.setenv("LOCKDOWN", "SECRET")
    assert os.environ["LOCKDOWN"] == "SECRET"
    with pytest.raises(duckdb.Error):
        engine._connection.execute("SELECT getenv('LOCKDOWN')").fetchall()


def test_the_connection_sees_no_variable_of_the_process(engine):
    frame = [1, 2, 3]  # noqa: F841 - a replacement scan would find it
    with pytest.raises(duckdb.Error):
        engine._connection.execute("SELECT * FROM frame").fetchall()
