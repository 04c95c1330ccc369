"""What a process left behind that died while it made a ledger: nothing was ever charged there.

A head file is made first, with one line. The second, which names the head, is written when the
finished ledger is opened, before anything can be charged. So a head file without it, and a database
without any table, are no ledger and never were one, and one may be made in their place.

Whoever makes a ledger has the lock of the head file meanwhile, and who cannot have it leaves all of
it as it is.
Tested by tests/curator/ledger/test_unfinished.py
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

with suppress(ImportError):  # there is none on Windows, where no ledger is kept
    import fcntl

__all__ = ["clear", "has_no_table", "is_at", "was_finished"]

_SECOND = 257
"""Bytes of a head file that has more than one line."""


def clear(head: Path, is_empty: Callable[[], bool], files: Path | None) -> None:
    """Remove what is left of a ledger that was never finished, if that is all there is.

    Args:
        head: its head file.
        is_empty: whether its database has no table.
        files: the database, if it is a file.
    """
    try:
        opened = os.open(head, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with suppress(BlockingIOError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(opened, head) and os.fstat(opened).st_size < _SECOND and is_empty():
                for beside in () if files is None else ("", "-wal", "-shm", "-journal"):
                    Path(f"{files}{beside}").unlink(missing_ok=True)
                head.unlink()
    finally:
        os.close(opened)


def was_finished(head: Path) -> bool:
    """Whether there is the head file of a ledger that was opened once; something may be charged."""
    try:
        return head.stat().st_size >= _SECOND
    except OSError:
        return False


def is_at(opened: int, path: Path) -> bool:
    """Whether the file of a path is still the one that was opened."""
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except OSError:
        return False


def has_no_table(path: Path) -> bool:
    """Whether a file of SQLite is not there, or holds nothing."""
    if not path.exists():
        return not path.is_symlink()
    try:
        with closing(sqlite3.connect(path)) as database:
            return not database.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.Error:
        return False
