"""Where rows go that do not fit into memory, and the end of those that a dead process left.

They lie in a folder that only this user may enter, each process in one of its own, which it holds
locked while it lives and removes at its end. A process that is killed removes nothing; but the
system drops its lock, and the next process that starts removes what is not locked. The lock is that
of the folder itself: a number of a process may be given again, or mean nothing in a container.
Tested by tests/engines/test_spilled.py
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":  # no such locks there, and nothing is cleared
    import fcntl

__all__ = ["spill_folder"]

_PREFIX = "of-"
_TRIES = 10


@dataclass(frozen=True, slots=True)
class _Held:
    """A folder of this process; the lock lasts as long as the descriptor is open."""

    path: Path
    lock: int

    def is_there(self) -> bool:
        """Whether the folder that is locked still has its name: systems remove old ones."""
        with suppress(OSError):
            return os.path.samestat(self.path.lstat(), os.fstat(self.lock))
        return False


_others: dict[Path, Path] = {}
"""Folders of this process, by those that it cannot use."""
_held: dict[Path, _Held] = {}
"""What this process holds, by the closed folder that it is in."""


def spill_folder() -> Path:
    """A name for a folder that DuckDB may make for one connection; nobody else can look into it."""
    closed = _closed()
    held = _held.get(closed)
    if held is None or not held.is_there():
        held = _taken(closed)
        if held is None:  # nothing can be written or locked here: DuckDB says so if it has to
            return closed / uuid.uuid4().hex
        _held[closed] = held
        atexit.register(_given_back, held, os.getpid())
        for folder in {closed, *closed.parent.glob("discreet-*")}:
            _clear(folder)
    return held.path / uuid.uuid4().hex


def _taken(closed: Path) -> _Held | None:
    """A new folder, locked; None where there can be none."""
    if sys.platform == "win32":
        return None
    for _ in range(_TRIES):  # somebody who clears may be faster than our lock
        path = closed / f"{_PREFIX}{uuid.uuid4().hex}"
        try:
            path.mkdir(0o700)
            lock = _locked(path)
        except OSError:
            with suppress(OSError):
                path.rmdir()
            return None
        if lock is not None:
            held = _Held(path, lock)
            if held.is_there():
                return held
            os.close(lock)
    return None


def _locked(path: Path) -> int | None:
    """A descriptor that locks a folder; None if another process does, or it is gone."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(found)
        return None
    except OSError:
        os.close(found)
        raise
    return found


def _clear(closed: Path) -> None:
    """Remove what processes left here that are dead: their folders are locked by nobody."""
    with suppress(OSError):
        if not _is_ours(closed, _user()):
            return
        for path in closed.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                lock = _locked(path)
                if lock is not None:
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(lock)


def _given_back(held: _Held, process: int) -> None:
    """Remove the folder at the end of the process that made it; its forks leave it alone."""
    if os.getpid() == process and held.is_there():
        shutil.rmtree(held.path, ignore_errors=True)


def _closed() -> Path:
    """A folder that only this user may enter; those that DuckDB makes are open to everybody."""
    user = _user()
    place = Path(tempfile.gettempdir()) / f"discreet-{user}"
    with suppress(OSError):
        place.mkdir(0o700)
    with suppress(OSError):
        if _is_ours(place, user):
            return place
        other = _others.get(place)
        if other is None or not _is_ours(other, user):
            other = _others[place] = Path(tempfile.mkdtemp(prefix="discreet-"))
        return other
    return place  # nothing can be written here, and DuckDB will say so if it has to


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _is_ours(place: Path, user: int) -> bool:
    """Whether a folder is there that only this user may enter."""
    try:
        about = place.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == user and not about.st_mode & 0o077
