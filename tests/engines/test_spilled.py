"""Rows that do not fit into memory: where they are, and that they go with their process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines import spilled
from discreet.engines.own import own
from discreet.engines.spilled import spill_folder

_SPILLED = """
import os, sys
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
    folder = place.parent.parent
    print(folder, oct(folder.stat().st_mode & 0o777), len(list(place.iterdir())) > 0, flush=True)
    if sys.stdin.readline():  # until it is killed
        sys.stdin.read()
"""


def spilling(folder):
    """A process that has spilled rows, and what it told; it ends, or waits to be killed."""
    made = subprocess.Popen(
        [sys.executable, "-c", _SPILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    return made, made.stdout.readline().split()


@pytest.mark.slow
def test_rows_that_do_not_fit_into_memory_are_nobody_elses(tmp_path):
    """They are in a folder that is closed to others, and gone when the process is."""
    made, told = spilling(tmp_path)
    made.communicate()
    assert made.returncode == 0
    assert Path(told[0]).parent == tmp_path
    assert told[1:] == ["0o700", "True"]
    assert list(tmp_path.rglob("*")) == [Path(told[0])]


@pytest.mark.slow
def test_rows_that_a_killed_process_left_are_removed_by_the_next_and_no_others(tmp_path):
    made, told = spilling(tmp_path)
    (folder,) = Path(told[0]).iterdir()
    before = files(folder)
    assert before
    assert ask_another(tmp_path) == 1, "another that starts meanwhile sees it, and lets it be"
    assert files(folder) == before
    made.kill()
    made.communicate()
    assert files(folder) == before, "a killed process removes nothing"
    assert ask_another(tmp_path) == 0
    assert list(tmp_path.rglob("*")) == [Path(told[0])]


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


_ANOTHER = """
from discreet.engines.own import own
from pathlib import Path
with own([], threads=1) as made:
    place = Path(made.execute("SELECT current_setting('temp_directory')").fetchone()[0]).parent
    print(len([path for path in place.parent.iterdir() if path != place]))
"""


def ask_another(folder):
    """How many folders of other processes there are when a new one has begun."""
    return int(subprocess.run(
        [sys.executable, "-c", _ANOTHER], check=True, capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    ).stdout)  # fmt: skip


def test_a_folder_that_was_removed_is_made_again(tmp_path, monkeypatch):
    """Old folders are removed by systems; the lock of such a one holds nothing any more."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = spill_folder().parent
    assert spill_folder().parent == first
    first.rmdir()
    again = spill_folder().parent
    assert again.is_dir()
    assert again != first


def test_no_lock_no_clearing(tmp_path, monkeypatch):
    """Where folders cannot be locked, none is made that somebody might take for a dead one's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spilled, "_locked", fails)
    assert spill_folder().parent.parent == tmp_path
    assert list(spill_folder().parent.iterdir()) == []


def fails(path):
    raise OSError


def spills(monkeypatch, folder):
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with own([], threads=1) as made:
        asked = "SELECT current_setting('temp_directory')"
        place = Path(made.execute(asked).fetchone()[0]).parent
        return place.parent if place.name.startswith("of-") else place


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
        shutil.rmtree(first)
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
    shutil.rmtree(other)
    other.mkdir(0o755)
    again = spills(monkeypatch, tmp_path)
    assert again != other
    assert again.stat().st_mode & 0o777 == 0o700


def test_no_folder_is_needed_where_nothing_is_spilled(tmp_path, monkeypatch):
    assert spills(monkeypatch, tmp_path / "missing").parent == tmp_path / "missing"
    assert list(tmp_path.iterdir()) == []
