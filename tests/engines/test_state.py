"""The state of files: what counts as a change, and what does not."""

import os
import shutil
from pathlib import Path

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.sources import files_of, open_source
from discreet.engines.state import Watched, with_log

THEN = 1_700_000_000_123_456_789


def written(path, text="a\n1\n", at=THEN):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(at, at))
    return str(path)


def state(*files):
    seen = Watched(files).now()
    return seen and seen.state


def test_a_file_that_is_left_alone_stays_as_it_is(tmp_path):
    watched = Watched([written(tmp_path / "a.csv")])
    assert watched.now() == watched.now() is not None


@pytest.mark.parametrize(
    ("text", "at"), [("a\n12\n", THEN), ("a\n2\n", THEN + 1), ("a\n1\n", THEN + 1)]
)
def test_another_size_or_another_time_is_another_state(tmp_path, text, at):
    file = written(tmp_path / "a.csv")
    before = state(file)
    written(tmp_path / "a.csv", text, at)
    assert state(file) != before


def test_a_file_that_is_moved_renamed_or_copied_with_its_time_is_as_it_was(tmp_path):
    before = state(file := written(tmp_path / "a.csv"))
    (tmp_path / "there").mkdir()
    assert state(shutil.copy2(file, tmp_path / "there" / "b.csv")) == before
    assert state(shutil.move(file, tmp_path / "c.csv")) == before


def test_of_several_files_each_counts_and_so_do_their_names(tmp_path):
    """Names of folders may be values of a column, as in year=2024/part.parquet."""
    files = [written(tmp_path / "in" / f"{name}.csv") for name in "ab"]
    before = state(*files)
    assert state(*files[::-1]) == before
    moved = shutil.copytree(tmp_path / "in", tmp_path / "out")
    assert state(*map(str, moved.iterdir())) == before
    more = written(tmp_path / "in" / "c.csv")
    assert state(*files, more) != before
    assert state(files[0]) != before
    assert state(files[0], more) != before
    written(tmp_path / "in" / "b.csv", "a\n123\n")
    assert state(*files) != before


@pytest.mark.parametrize("many", [1, 2])
def test_a_folder_that_is_a_value_counts_also_above_all_files(tmp_path, many):
    """DuckDB reads a column of it. Other folders may change their names."""
    names = [f"{name}.csv" for name in "ab"[:many]]
    files = [written(tmp_path / "in" / "year=2024" / "x" / name) for name in names]
    before = state(*files)
    (tmp_path / "in").rename(tmp_path / "out")
    (tmp_path / "out" / "year=2024" / "x").rename(tmp_path / "out" / "year=2024" / "y")
    there = tmp_path / "out" / "year=2024" / "y"
    assert state(*(str(there / name) for name in names)) == before
    there.parent.rename(tmp_path / "out" / "year=2025")
    there = tmp_path / "out" / "year=2025" / "y"
    assert state(*(str(there / name) for name in names)) != before


def test_another_file_in_the_same_state_is_not_the_same_file(tmp_path):
    """Whoever has the first one open reads on in it."""
    file = written(tmp_path / "a.csv")
    watched = Watched([file])
    before = watched.now()
    written(tmp_path / "b.csv", "a\n2\n")
    (tmp_path / "b.csv").replace(file)
    after = watched.now()
    assert after.state == before.state
    assert after != before


def test_a_file_that_is_not_there_has_no_state(tmp_path):
    watched = Watched([written(tmp_path / "a.csv"), written(tmp_path / "b.csv")])
    (tmp_path / "a.csv").unlink()
    assert watched.now() is None


def test_what_duckdb_has_not_moved_into_its_file_yet_counts(tmp_path):
    file = written(tmp_path / "a.duckdb")
    assert with_log(file) == (file,)
    before = state(*with_log(file))
    log = written(tmp_path / "a.duckdb.wal")
    assert with_log(file) == (file, log)
    assert state(*with_log(file)) != before


# what an engine reads is what is looked at


def test_the_files_of_a_source_are_those_that_its_engine_reads(tmp_path):
    import duckdb

    for name in ("a", "b"):
        written(tmp_path / "csv" / f"{name}.csv")
        (tmp_path / "pq" / f"year=202{ord(name)}").mkdir(parents=True)
        part = tmp_path / "pq" / f"year=202{ord(name)}" / "part.parquet"
        with duckdb.connect() as own:
            own.execute(f"COPY (SELECT 1 AS a) TO '{part}'").fetchall()
    (tmp_path / "link.csv").symlink_to(tmp_path / "csv" / "a.csv")
    with duckdb.connect(tmp_path / "a.duckdb") as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS a")
    count = {"csv/a.csv": 1, "csv/*.csv": 2, "pq": 2, "pq/**/*.parquet": 2, "link.csv": 1}
    for name, many in {**count, "a.duckdb": 1}.items():
        source = str(tmp_path / name)
        engine = open_source(source, table="t" if name == "a.duckdb" else None)
        assert list(files_of(source)) == list(engine.files), name
        assert len(engine.files) == many
        engine.close()
    assert files_of(str(tmp_path / "link.csv")) == [str(tmp_path / "csv" / "a.csv")]


def test_what_is_not_there_or_no_file_has_no_files(tmp_path):
    for name in ("nothing.csv", "no/*.csv", "odd.xyz", "x" * 300):
        assert not files_of(str(tmp_path / name))
    written(tmp_path / "odd.xyz")
    assert not files_of(str(tmp_path / "odd.xyz"))
    assert not DuckDB.from_text({"a": ("integer", ["1"])}).files


def test_every_look_is_a_new_one(tmp_path):
    """One who has looked before sees what somebody sees who looks for the first time."""
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for name in files:
        Path(name).write_text("x\n1\n")
    watched, told = Watched(files), []
    for change in (
        lambda: None,
        lambda: None,
        lambda: Path(files[0]).write_text("x\n12\n"),
        lambda: os.utime(files[1], ns=(1, 1)),
        lambda: Path(files[0]).rename(tmp_path / "c.csv"),
        lambda: Path(tmp_path / "c.csv").rename(files[0]),
    ):
        change()
        told.append(watched.now())
        assert told[-1] == Watched(files).now()
    assert told[0] == told[1]
    assert told[4] is None
    assert len({None if seen is None else seen.state for seen in told}) == 4
