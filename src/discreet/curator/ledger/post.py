"""What processes that wait for the lock of a ledger want written, in memory that they share.

Who finds the lock taken puts a letter here, and whoever has the lock writes what letters ask for in
its own transaction: one flush serves all of them, as it does for the threads of one process
(`discreet.curator.ledger.group`). The memory is a file in the system's own memory; it is made when
somebody waits for the first time, and removed by the last who closes it, or, where all were killed,
by who opens the ledger next. Where there can be none, everybody waits for the lock, as those do
whose letter is too long.

A letter has a place of its own, which its process has locked for as long as it lives. Its state is
one byte: nothing, a letter, an answer, or one that somebody is about to change.

Guarantee. Each letter is written at most once, and its sender is told that it was only after the
commit has returned, and after the head file was written.
Proof. Only who has the lock of the head file reads letters and answers them, and only the sender
puts one into its place. A letter that was not answered (its reader failed, or was killed, maybe
after the commit) is taken back by its sender as soon as that has the lock; it is written then like
any other question: if it was written before, its key is known, and what was charged for it stands.
Who is interrupted while it waits takes its letter back without the lock: if somebody has read it by
then it is written all the same, and the answer is nobody's. Letters are numbered, from a number
that nobody guesses on, so that an answer that comes late is not taken for that to another letter,
nor by who has the place of its sender by then; where two write into a place at once, the checksum
of state and text holds for neither, and the lock decides. So it does for what a processor shows
others in another order. Letters of the dead are thrown away: their places are not locked. (A forked
child lets go of its parent's.)

What is in a letter is private as the ledger itself (it has the noise key of its question): the
memory is the owner's alone, and whoever answers a letter, or takes it back, erases the whole place
first. It is found by the numbers of the head file and of the database, so that those who meet here
wait for the same lock, and mean the same tables.
Tested by tests/curator/ledger/test_post.py, tests/curator/ledger/test_letters.py
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple
from weakref import finalize
from zlib import crc32

from discreet.curator.ledger.unfinished import is_at
from discreet.noise.source import new_key

with suppress(ImportError):  # there is none on Windows, where no ledger is kept
    import fcntl

__all__ = ["Letter", "Meeting", "Post"]

_SHARED = Path("/dev/shm")  # noqa: S108 - it is checked whose a file there is
_FORM = "discreet-post-1"
"""Of letters: processes with another form do not meet."""
_MANY = 16
"""Places: so many processes may wait so."""
_SIZE = 1 << 14
"""Bytes of a place."""
_EMPTY, _LETTER, _ANSWER, _CHANGING = range(4)
_QUIET = bytes((_EMPTY, _ANSWER))
"""States in which nothing is left to do for who has the lock."""
_MEASURE = Struct("<xxxxII")
"""After the state: the length and the checksum of what comes then."""
_ROOM = _SIZE - _MEASURE.size
_NOTHING = bytes(_SIZE - 1)
_HOW = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_TRIES, _MOMENT = 10, 0.001
"""To open what others remove at the same moment, and seconds between."""
_LOCK = Struct("@hhqqi")
"""How the system is asked for a lock: kind, from where, the first byte, how many, whose."""


class Letter(NamedTuple):
    """What somebody wants written.

    Attributes:
        place: where it was put.
        number: which of its sender's letters it is.
        asked: what it says, plain values.
    """

    place: int
    number: int
    asked: list[Any]


class Post:
    """The memory of those who wait for one lock, opened; `opened` does that.

    Args:
        file: the number of the open file.
        path: where it is.
    """

    def __init__(self, file: int, path: Path) -> None:
        self._file = file
        self._map = mmap.mmap(file, _MANY * _SIZE)
        self._number = int.from_bytes(new_key()[:6], "big")
        self._mine = self._found()
        self.close = finalize(self, _close, self._map, file, path, os.getpid(), self._mine)
        """Let go of the memory, at the end of the process at the latest; the last one removes it,
        unless it was forked from one.
        """

    @classmethod
    def opened(cls, path: Path) -> Post | None:
        """The memory at a path, made if it is not there; None where there can be none."""
        for _ in range(_TRIES):
            try:
                file = os.open(path, _HOW | os.O_CREAT, 0o600)
            except OSError:
                return None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if is_at(file, path):  # nobody has removed it meanwhile
                    return cls(_allocated(file), path)
            except BlockingIOError:  # somebody removes it
                time.sleep(_MOMENT)
            except (AttributeError, OSError, ValueError):  # not here, not ours, or no room
                _close(None, file, path, os.getpid())
                return None
            except BaseException:
                os.close(file)
                raise
            os.close(file)
        return None

    def _found(self) -> int:
        """A place that nobody has, and is this one's from now on; -1 if all are taken."""
        for place in range(_MANY):
            with suppress(BlockingIOError):
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _locking(place, fcntl.F_WRLCK))
                _erase(self._map, place)
                return place
        return -1

    def _is_alive(self, place: int) -> bool:
        """Whether somebody has a place."""
        found = fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, _locking(place, fcntl.F_WRLCK))
        return bool(_LOCK.unpack(found)[0] != fcntl.F_UNLCK)

    # for who waits

    def send(self, asked: Sequence[Any]) -> bool:
        """Put a letter into one's place; whether that was possible."""
        if self._mine < 0:
            return False
        self._number += 1
        text = json.dumps([self._number, *asked]).encode()
        if len(text) > _ROOM:
            return False
        self._put(self._mine, text, _LETTER)
        return True

    @property
    def others(self) -> bool:
        """Whether there is a letter of somebody else."""
        states = self._map[::_SIZE]
        return states.count(_LETTER) > (states[self._mine] == _LETTER)

    def heard(self) -> Any:
        """What was answered; None as long as nothing is."""
        found = self._text(self._mine, _ANSWER)
        return None if found is None or found[0] != self._number else found[1]

    def take_back(self) -> Any:
        """What was answered; else the letter is taken back, and None."""
        if self._mine < 0:
            return None
        found = self.heard()
        _erase(self._map, self._mine)
        return found

    # for who has the lock

    def letters(self) -> list[Letter]:
        """All letters of others that are whole."""
        states = self._map[::_SIZE]
        made: list[Letter] = []
        if not states.strip(_QUIET):
            return made
        for place, state in enumerate(states):
            if state in _QUIET or place == self._mine:
                continue
            if not self._is_alive(place):
                _erase(self._map, place)
                continue
            found = self._text(place, _LETTER)
            if found is not None:
                made.append(Letter(place, found[0], found[1:]))
        return made

    def answer(self, letter: Letter, told: Any) -> None:
        """Tell the sender of a letter what came of it: all is on the disk."""
        self._put(letter.place, json.dumps([letter.number, told]).encode(), _ANSWER)

    # a place

    def _put(self, place: int, text: bytes, state: int) -> None:
        at = place * _SIZE
        begin = at + _MEASURE.size
        _erase(self._map, place, _CHANGING)
        self._map[at + 1 : begin] = _MEASURE.pack(len(text), crc32(text, state))[1:]
        self._map[begin : begin + len(text)] = text
        self._map[at] = state

    def _text(self, place: int, state: int) -> list[Any] | None:
        """What a place in a state says; None where it is in another one, or that is not whole."""
        at = place * _SIZE
        length, check = _MEASURE.unpack_from(self._map, at)
        if self._map[at] != state or not 0 < length <= _ROOM:
            return None
        raw = self._map[at + _MEASURE.size : at + _MEASURE.size + length]
        if crc32(raw, state) != check:
            return None
        with suppress(TypeError, ValueError):
            number, *rest = json.loads(raw)
            return [number, *rest]
        return None


class Meeting:
    """Where those meet who wait for one lock; its memory is opened when somebody has to wait.

    Args:
        head: the number of the open head file, which is the lock.
        uid: of its ledger.

    Attributes:
        database: the numbers of the file that the ledger writes into, as the system has them; None
            where that is not known, and nobody meets.
    """

    __slots__ = ("_at", "_head", "_post", "_uid", "database")

    def __init__(self, head: int, uid: str) -> None:
        self._head, self._uid = head, uid
        self.database: tuple[int, int] | None = None
        self._post: Post | None = None
        self._at: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        """Of the memory."""
        about = os.fstat(self._head)
        place = f"{about.st_dev} {about.st_ino} {self.database}"
        return _SHARED / f"{self._all}{_short(place)}"

    @property
    def _all(self) -> str:
        """What the names begin with of all memories of this ledger, whatever files it had."""
        return f"{_FORM}-{_short(f'{self._uid} {os.geteuid()}')}-"

    def post(self) -> Post | None:
        """The memory, opened; None where there can be none."""
        if self._at != self.database:  # or another file is in place of the database
            self.close()
            self._at = self.database
            self._post = None if self.database is None else Post.opened(self.path)
        return self._there

    @property
    def _there(self) -> Post | None:
        """The memory, if it is open: a process that ends closes it before others use it last."""
        post = self._post
        return post if post is not None and post.close.alive else None

    def close(self) -> None:
        """Let go of the memory."""
        post, self._post, self._at = self._post, None, None
        if post is not None:
            post.close()

    def sweep(self) -> None:
        """Remove memories of this ledger whose owners were all killed."""
        with suppress(OSError):
            for path in _SHARED.iterdir():
                if path.name.startswith(self._all):
                    with suppress(OSError):
                        _close(None, os.open(path, _HOW), path, os.getpid())

    # for who has the lock

    def letters(self) -> Sequence[Letter]:
        """What others who wait want written."""
        if self._post is None or self._at != self.database:
            return ()
        post = self._there
        return () if post is None else post.letters()

    def tell(self, letter: Letter, told: Any) -> None:
        """Answer a letter: what it asks for is on the disk."""
        post = self._there
        if post is not None:
            post.answer(letter, told)


def _short(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:16]


def _erase(memory: mmap.mmap, place: int, state: int = _EMPTY) -> None:
    """Leave nothing of what a place says; who is killed meanwhile leaves it to others."""
    at = place * _SIZE
    memory[at] = _CHANGING
    memory[at + 1 : at + _SIZE] = _NOTHING
    memory[at] = state


def _remove(file: int, path: Path) -> None:
    """Remove a memory that nobody else has open; OSError otherwise."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if is_at(file, path):
        path.unlink()


def _locking(place: int, how: int) -> bytes:
    """A lock of one byte for a place, of the open file and not of the process."""
    return _LOCK.pack(how, os.SEEK_SET, place, 1, 0)


def _allocated(file: int) -> int:
    """The same file, of the right size: memory that is there cannot run out later."""
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o77:
        raise PermissionError("the memory of letters is somebody else's")
    os.posix_fallocate(file, 0, _MANY * _SIZE)
    return file


def _close(memory: mmap.mmap | None, file: int, path: Path, process: int, place: int = -1) -> None:
    """Let go of an open memory; the last one removes it, in the process that opened it.

    What is locked is let go of by itself: a forked child may have the file open still.
    """
    try:
        if os.getpid() == process:
            if memory is not None and place >= 0:
                _erase(memory, place)
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, _locking(place, fcntl.F_UNLCK))
            with suppress(OSError):
                _remove(file, path)
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        if memory is not None:
            memory.close()
        os.close(file)
