"""Connections that read the files they were made for, and their cursors."""

import duckdb
import pytest

from discreet.engines.own import failing, own, quoted
from discreet.errors import EngineError, ParameterError


def test_a_connection_and_its_cursors_read_their_files_and_no_others(tmp_path):
    one, other = tmp_path / "it's.csv", tmp_path / "other.csv"
    for path in (one, other):
        path.write_text("a\n1\n")
    with own([str(one)], threads=1) as made:
        for connection in (made, made.cursor()):
            assert connection.execute(f"FROM read_csv({quoted(str(one))})").fetchall() == [(1,)]
            said = "SELECT current_setting('TimeZone'), current_setting('default_collation')"
            assert connection.execute(said).fetchall() == [("UTC", "binary")]
            for text in (
                f"FROM read_csv({quoted(str(other))})", "FROM read_csv('/etc/passwd')",
                "SET threads = 2", "SET enable_external_access = true", "LOAD httpfs",
                f"COPY (SELECT 1) TO {quoted(str(other))}", "ATTACH 'x.duckdb'",
            ):  # fmt: skip
                with pytest.raises(duckdb.Error):
                    connection.execute(text)


def test_words_of_duckdb_are_the_cause_and_not_the_message():
    with pytest.raises(EngineError, match="it failed") as caught, failing("it failed"):
        duckdb.execute("SELECT CAST('SECRET' AS INTEGER)").fetchall()
    assert "SECRET" not in str(caught.value)
    assert "SECRET" in str(caught.value.__cause__)
    with pytest.raises(ParameterError, match="NUL"):
        quoted("a\0b")
