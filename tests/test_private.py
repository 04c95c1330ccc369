"""Files of SQLite are their owner's, and shared only on purpose."""

import os
import sqlite3
import stat

import pytest

from discreet import private


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    """A process whose new files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_database_is_its_owners_from_the_first_moment(tmp_path, open_umask):
    path = tmp_path / "x.db"
    private.make(path)
    assert rights(path) == 0o600
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (n)")
    beside = sorted(tmp_path.iterdir())
    assert [one.name for one in beside] == ["x.db", "x.db-shm", "x.db-wal"]
    assert {rights(one) for one in beside} == {0o600}
    connection.close()


def test_what_is_there_is_not_made(tmp_path):
    (tmp_path / "x.db").write_text("kept")
    with pytest.raises(FileExistsError):
        private.make(tmp_path / "x.db")
    assert (tmp_path / "x.db").read_text() == "kept"


@pytest.mark.parametrize(
    ("other", "before", "after"),
    [
        (0o600, 0o644, 0o600),
        (0o600, 0o666, 0o600),
        (0o660, 0o664, 0o660),
        (0o660, 0o660, 0o660),
        (0o660, 0o600, 0o600),  # nothing is given
        (0o400, 0o644, 0o600),  # and nothing is taken from the owner
    ],
)
def test_others_may_do_no_more_than_with_the_file_that_says_so(tmp_path, other, before, after):
    said = tmp_path / "said"
    said.touch()
    said.chmod(other)
    for name in ("x", "x-wal", "x-shm", "xy"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(before)
    private.keep_as(said, tmp_path / "x")
    assert {rights(tmp_path / name) for name in ("x", "x-wal", "x-shm")} == {after}
    assert rights(tmp_path / "xy") == before


def test_a_link_is_followed_to_the_files_beside_the_database(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("said", "there/x", "there/x-wal"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o600 if name == "said" else 0o644)
    (tmp_path / "link").symlink_to(tmp_path / "there/x")
    private.keep_as(tmp_path / "said", tmp_path / "link")
    assert rights(tmp_path / "there/x") == rights(tmp_path / "there/x-wal") == 0o600


@pytest.mark.parametrize(
    ("said", "after"), [(0o600, 0o600), (0o660, 0o660), (0o664, 0o660), (0o640, 0o640)]
)
def test_a_group_is_given_what_it_may_do_with_the_file_that_says_so(tmp_path, said, after):
    (tmp_path / "said").touch()
    (tmp_path / "said").chmod(said)
    private.make(tmp_path / "x")
    with (tmp_path / "x").open("rb") as file:
        private.give_as(tmp_path / "said", file.fileno())
    assert rights(tmp_path / "x") == after


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to a group")
def test_another_group_is_given_nothing(tmp_path):
    (tmp_path / "said").touch()
    (tmp_path / "said").chmod(0o660)
    os.chown(tmp_path / "said", 0, 54321)
    private.make(tmp_path / "x")
    with (tmp_path / "x").open("rb") as file:
        private.give_as(tmp_path / "said", file.fileno())
    assert rights(tmp_path / "x") == 0o600


def test_what_is_not_there_or_not_ones_own_stays(tmp_path, monkeypatch):
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(0o644)
    private.keep_as(tmp_path / "missing", tmp_path / "x")
    assert rights(tmp_path / "x") == 0o644
    (tmp_path / "said").touch()
    (tmp_path / "said").chmod(0o600)
    private.keep_as(tmp_path / "said", tmp_path / "missing")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    private.keep_as(tmp_path / "said", tmp_path / "x")
    assert rights(tmp_path / "x") == 0o644
