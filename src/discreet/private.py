"""Files of SQLite that hold what is private: for their owner, unless the owner says otherwise.

SQLite makes a database with the rights that everything of a process has, which mostly means that
everybody may read it. So the file is made before SQLite opens it. The files that it keeps beside
the database get the rights of the database.

What a database is worth nothing without (the head file of a ledger, the key of a survey) was always
made for its owner alone. Who shares a database on purpose shares that file, too; so it says who may
do what, and no other sign is needed.
Tested by tests/test_private.py
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["give_as", "keep_as", "make"]

_BESIDE = ("", "-wal", "-shm")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make(path: str | Path) -> None:
    """Make an empty file that its owner alone may read and write; FileExistsError if it is there.

    Only for a file that is new: to close a database that this process has open would let go of
    SQLite's locks.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def keep_as(other: str | Path, path: str | Path) -> None:
    """Take from group and others what they may not do with another file.

    Who does not own the database changes nothing, and neither does a file that is not there.

    Args:
        other: the file that says who may do what.
        path: the database.
    """
    real = Path(path).resolve()  # where SQLite keeps the others
    with suppress(OSError):
        never = _OTHERS & ~Path(other).stat().st_mode
        for beside in _BESIDE:
            _take(Path(f"{real}{beside}"), never)


def give_as(other: str | Path, file: int) -> None:
    """Let the group do with a new file what it may do with another one of the same group.

    Args:
        other: the file that says what the group may do.
        file: one's own, open.
    """
    with suppress(OSError):
        about, said = os.fstat(file), Path(other).stat()
        if about.st_gid == said.st_gid:
            os.fchmod(file, stat.S_IMODE(about.st_mode) | said.st_mode & stat.S_IRWXG)


def _take(path: Path, rights: int) -> None:
    with suppress(FileNotFoundError):
        about = path.stat()
        mode = stat.S_IMODE(about.st_mode)
        if mode & rights and about.st_uid == os.geteuid():
            path.chmod(mode & ~rights)
