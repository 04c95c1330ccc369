"""Connections that read the files they were made for, and their cursors."""

import os
import subprocess
import sys
from pathlib import Path

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


_SPILLED = """
import os
from pathlib import Path
from discreet.engines import own as module
os.umask(0)
module._PROGRESS["memory_limit"] = "'60MB'"
with module.own([], threads=1) as one, module.own([], threads=1) as two:
    asked = "SELECT current_setting('temp_directory')"
    place, other = (Path(made.execute(asked).fetchone()[0]) for made in (one, two))
    assert place != other and place.parent == other.parent
    one.execute("CREATE TABLE t AS SELECT hash(range)::VARCHAR AS s FROM range(1000000)")
    while not place.exists():
        one.execute("INSERT INTO t FROM t")
    print(place.parent, oct(place.parent.stat().st_mode & 0o777), len(list(place.iterdir())) > 0)
"""


@pytest.mark.slow
def test_rows_that_do_not_fit_into_memory_are_nobody_elses(tmp_path):
    """They are in a folder that is closed to others, and gone when the process is."""
    told = subprocess.run(
        [sys.executable, "-c", _SPILLED], check=True, capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ).stdout.split()  # fmt: skip
    assert Path(told[0]).parent == tmp_path
    assert told[1:] == ["0o700", "True"]
    assert list(tmp_path.rglob("*")) == [Path(told[0])]


def spills(monkeypatch, folder):
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with own([], threads=1) as made:
        asked = "SELECT current_setting('temp_directory')"
        return Path(made.execute(asked).fetchone()[0]).parent


@pytest.mark.parametrize("there", ["open", "link", "file", "another's"])
def test_a_folder_that_is_not_ours_alone_is_not_used(tmp_path, monkeypatch, there):
    """Somebody may have made it before, to look into it."""
    first = spills(monkeypatch, tmp_path)
    assert (first.parent, first.stat().st_mode & 0o777) == (tmp_path, 0o700)
    assert spills(monkeypatch, tmp_path) == first
    if there == "open":
        first.chmod(0o755)
    elif there == "another's":
        monkeypatch.setattr(os, "geteuid", lambda: 4321)
        first = first.with_name("discreet-4321")
        first.mkdir(0o700)
    else:
        first.rmdir()
        (tmp_path / "elsewhere").mkdir(0o700)
        first.touch() if there == "file" else first.symlink_to(tmp_path / "elsewhere")
    other = spills(monkeypatch, tmp_path)
    assert (other.parent, other.stat().st_mode & 0o777) == (tmp_path, 0o700)
    assert other != first
    assert there == "another's" or spills(monkeypatch, tmp_path) == other, "one is enough"


def test_a_folder_instead_is_looked_at_each_time(tmp_path, monkeypatch):
    """Old folders are removed by systems, and then anybody may make one of that name."""
    spills(monkeypatch, tmp_path).chmod(0o755)
    other = spills(monkeypatch, tmp_path)
    other.rmdir()
    other.mkdir(0o755)
    again = spills(monkeypatch, tmp_path)
    assert again != other
    assert again.stat().st_mode & 0o777 == 0o700


def test_no_folder_is_needed_where_nothing_is_spilled(tmp_path, monkeypatch):
    assert spills(monkeypatch, tmp_path / "missing").parent == tmp_path / "missing"
    assert list(tmp_path.iterdir()) == []


def test_words_of_duckdb_are_the_cause_and_not_the_message():
    with pytest.raises(EngineError, match="it failed") as caught, failing("it failed"):
        duckdb.execute("SELECT CAST('SECRET' AS INTEGER)").fetchall()
    assert "SECRET" not in str(caught.value)
    assert "SECRET" in str(caught.value.__cause__)
    with pytest.raises(ParameterError, match="NUL"):
        quoted("a\0b")
