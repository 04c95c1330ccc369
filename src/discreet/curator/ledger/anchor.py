"""The head file: what a ledger had reached, kept outside of its database.

A database that was put back from a backup is intact and knows nothing of what was spent since. The
head file does: it holds the number and hash of the last entry and what every account had spent.
A ledger opens only if its log contains that entry, and if no account of its tables has spent less.
A crash between a commit and the head file leaves the file one entry behind, which is no harm: the
log still contains what it names, and the tables say what it cost.

The file is lines of 256 bytes, one for the ledger, one for the head and one for each account, each
with a checksum (of a torn or damaged line: nobody who can write the file is kept from making one),
rewritten in place, so that it never grows with the log. What changes within a page
of 16 lines is one write, and the page with the head comes last. It is not flushed at each entry:
who loses power loses at most what the system had not written, and the log itself is flushed.

It is also the lock that lets one process write at a time. Who finds it taken says what it wants
written (`discreet.curator.ledger.post`), and waits until the system wakes it: a server's processes
write now and then. Who has itself just written, and writes all the time, and who is one of several
that wait, sleeps and looks again a few times before that. So of several such processes one may go
on for some milliseconds, and write what the others want, instead of waking one of them for every
commit. The system promises no order among those who wait.
Tested by tests/curator/ledger/test_anchor.py
"""

from __future__ import annotations

import errno
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from discreet.curator.ledger.amounts import NOTHING, Amount
from discreet.curator.ledger.chain import START, Head
from discreet.curator.ledger.post import Meeting, Post
from discreet.curator.ledger.unfinished import is_at
from discreet.curator.ledger.values import Account
from discreet.errors import LedgerError

with suppress(ImportError):  # there is none on Windows, where no ledger is kept
    import fcntl

    _TRY = fcntl.LOCK_EX | fcntl.LOCK_NB

__all__ = ["Anchor", "gone_words"]

_LINE = 256
_PAGE = 16
"""Lines that are read and written together: what a system writes whole, or not at all."""
_JUST = 0.0003
"""Who wrote less than so many seconds ago writes all the time, and makes room for others."""
_PAUSES: tuple[float, ...] = (0.0003, 0.0006, 0.0012, 0.0025, 0.005, 0.01, 0.02)
"""Seconds between its tries, before it waits in the queue."""
_ROUNDS = (0.002,) * 10
"""The same of who has sent a letter and is one of several: others write for it meanwhile."""
_CROWD = 0.05
"""For so many seconds there are several after there were."""
_FORM = "discreet-head/1"
_ANEW = (
    "A second curator of a ledger in PostgreSQL needs a copy of the first one's head file. If "
    "there is none any more, `discreet ledger restore` makes it anew, and everything that is left "
    "counts as spent then: nobody knows what was spent"
)
"""What to do without a head file."""
_BEGUN = [crc32(b"%d " % number) for number in range(_PAGE)]
"""What the checksums of the first page's lines begin with."""


class Anchor:
    """A head file that is open.

    Args:
        path: the file.
        uid: of the ledger that it belongs to.

    Attributes:
        meeting: where those meet who wait for the lock.
    """

    def __init__(self, path: Path, uid: str) -> None:
        self.path = path
        self._alone = self._fresh = False
        self._raw, self._left, self._crowded = b"", -_JUST, 0.0
        self._asked: Callable[[], list[Any]] | None = None
        self._reached: Head | None = None
        self._spends: dict[int, tuple[int, int]] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LedgerError(
                f"the ledger's head file {path.name} is missing. If the ledger was moved, bring "
                f"the file along. {_ANEW}. Nothing was charged"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"the ledger's head file {path.name} cannot be written ({error.strerror}); "
                "nothing was charged and nothing was computed"
            ) from error
        self.meeting = Meeting(self._file, uid)
        _OPEN.add(self)
        owner = self._words(0, self._read(0)[:_LINE])
        if owner != [_FORM, uid]:
            self.close()
            raise LedgerError(
                f"the head file {path.name} belongs to another ledger, or is damaged. {_ANEW}. "
                "Nothing was charged"
            )

    @classmethod
    def create(cls, path: Path, uid: str) -> Anchor:
        """A new file of a new ledger; refuses to replace one."""
        try:
            made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise LedgerError(
                f"{gone_words(path)}. To delete {path.name}, too, begins a new ledger with all of "
                "its budget, whatever was answered under the old one: only the owner of the data "
                "can decide that. Nothing was changed"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"no ledger can be made here: {path.parent} cannot be written ({error.strerror})"
            ) from error
        try:
            os.pwrite(made, _line(0, f"{_FORM} {uid}".encode()), 0)
            os.fsync(made)
        finally:
            os.close(made)
        return cls(path, uid)

    def close(self) -> None:
        """Let go of the file, and of letters."""
        self.meeting.close()
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def leave(self) -> None:
        """In a forked child: the lock and the letters are the parent's."""
        self._alone = self._fresh = False
        self.close()

    def locked(self, asked: Callable[[], list[Any]] | None = None) -> Self:
        """Keep every other process from writing, as a context.

        What is read of the first page is read once then: nobody else changes it.

        Args:
            asked: what to write to a process that has the lock, so that it writes this, too. If it
                does, the context gives what it tells, and nobody is kept from writing. It gives
                None where one has the lock oneself.
        """
        self._asked = asked
        return self

    def __enter__(self) -> Any:
        asked, self._asked = self._asked, None
        try:
            try:
                fcntl.flock(self._file, _TRY)
            except BlockingIOError:
                told = self._wait(asked)
                if told is not None:
                    return told
            self._alone = True
        except BaseException:  # an interrupt may come when it has the lock
            self._alone = False
            with suppress(OSError, ValueError):
                fcntl.flock(self._file, fcntl.LOCK_UN)
            raise
        return None

    def __exit__(self, *_: object) -> None:
        if self._alone:
            self._alone = self._fresh = False
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._left = time.monotonic()

    def _wait(self, asked: Callable[[], list[Any]] | None) -> Any:
        """Another process writes: wait for its end, or until it has written what is asked for."""
        post = None if asked is None else self.meeting.post()
        if post is None or asked is None:
            return self._queue(None)
        try:
            sent = post.send(asked())
            told = self._queue(post if sent else None)
            if sent and told is None:
                told = post.take_back()
                if told is not None:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        except BaseException:
            post.take_back()
            raise
        return told

    def _queue(self, post: Post | None) -> Any:
        """Wait for the lock; or what is told meanwhile."""
        now = time.monotonic()
        pauses = _PAUSES if now - self._left < _JUST else ()
        if post is not None:
            if post.others:
                self._crowded = now + _CROWD
            pauses = _ROUNDS if pauses or now < self._crowded else ()
        for pause in pauses:
            time.sleep(pause)
            told = None if post is None else post.heard()
            if told is not None:
                return told
            with suppress(BlockingIOError):
                fcntl.flock(self._file, _TRY)
                return None
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return None

    @property
    def head(self) -> Head:
        """The furthest entry that was reached."""
        if not self._fresh:
            self._first()
        if self._reached is None:
            self._reached = self._head(self._raw[_LINE : 2 * _LINE])
        return self._reached

    def _head(self, raw: bytes) -> Head:
        words = self._words(1, raw)
        if words is None:
            return START
        try:
            return Head(int(words[0]), words[1])
        except (ValueError, IndexError):
            raise self._damaged(1) from None

    def spent(self, account: int) -> Amount:
        """The most that an account had spent."""
        return Amount(*self.had(account))

    def had(self, account: int) -> tuple[int, int]:
        """The same, in units of epsilon or rho and of delta."""
        if not self._fresh:
            self._first()
        found = self._spends.get(account)
        if found is None:
            number, line = divmod(1 + account, _PAGE)
            raw = self._read(number)
            found = self._spent(1 + account, raw[line * _LINE : (line + 1) * _LINE])
            if not number:
                self._spends[account] = found
        return found

    def _spent(self, line: int, raw: bytes) -> tuple[int, int]:
        words = self._words(line, raw)
        if words is None:
            return 0, 0
        try:
            return int(words[1]), int(words[2])
        except (ValueError, IndexError):
            raise self._damaged(line) from None

    def believe(self, account: Account) -> None:
        """Refuse a row that says that less was spent than this file knows.

        A row is written before this file is, so that none is behind by itself. (For a sealed
        account the file says its total, and it pays for nothing.)
        """
        known = self.spent(account.id)
        if not account.sealed and not known.within(account.spent):
            raise _changed(
                f"{account.name!r} has spent {account.spent.said(account.accounting)} by its "
                f"tables, and had spent {known.said(account.accounting)} before"
            )

    def catch_up(self, head: Head, accounts: Sequence[Account]) -> None:
        """Write down what all rows say at a head; the caller holds the lock.

        Each is believed or refused first, and none may be gone that has spent something.
        """
        for account in accounts:
            self.believe(account)
        there = {account.id for account in accounts}
        for number in range(1, self.accounts + 1):
            if number not in there and self.spent(number) != NOTHING:
                raise _changed(f"account {number} had spent something and is gone")
        self.advance(head, {account.id: account.spent for account in accounts})

    @property
    def is_there(self) -> bool:
        """Whether this is still the file of its path."""
        return is_at(self._file, self.path)

    @property
    def accounts(self) -> int:
        """The highest number of an account that it can know of."""
        return max(0, -(-os.fstat(self._file).st_size // _LINE) - 2)

    def follow(self, head: Head, spent: Sequence[tuple[int, int, int]]) -> None:
        """Write the next head after the one in the file, and what accounts have spent to get there.

        The same as `advance`, of what is known to be more than the file says. The caller holds the
        lock, and the log ended at the head in the file.

        Args:
            head: the last entry.
            spent: numbers of accounts, each once, with units of epsilon or rho and of delta.
        """
        raw, at = self._first(), 2 * _LINE
        made = [_line(1, b"%d %b" % (head.seq, head.hash.encode()))]
        for number, main, delta in sorted(spent) if len(spent) > 1 else spent:
            begin = (1 + number) * _LINE
            if begin > at:  # what is between them stays
                made.append(raw[at:begin])
            made.append(_line(1 + number, b"%d %d %d" % (head.seq, main, delta)))
            at = begin + _LINE
        if len(raw) < at:  # a line is new, or on another page
            self.advance(head, {number: Amount(main, delta) for number, main, delta in spent})
            return
        new = b"".join(made) if spent else made[0]
        self._write(_LINE, new, raw)
        for number, main, delta in spent:
            self._spends[number] = main, delta
        self._reached = head
        self._raw = b"".join((raw[:_LINE], new, raw[at:]))  # last: until then the page is another
        self._fresh = self._alone

    def advance(self, head: Head, spent: Mapping[int, Amount]) -> None:
        """Write what was reached; the caller holds the lock. What is behind changes nothing.

        The accounts come first, or in the same write: a head that is there says that they are.
        """
        lines = {1 + account: amount for account, amount in spent.items()}
        if lines and max(lines) >= _PAGE:
            for page in sorted({line // _PAGE for line in lines} - {0}, reverse=True):
                self._rewrite(page, head, lines)
        self._rewrite(0, head, lines)

    def _rewrite(self, page: int, head: Head, lines: Mapping[int, Amount]) -> None:
        """Bring one page up to date, by one write from its first to its last changed line."""
        first, old = page * _PAGE, self._read(page)
        made: list[tuple[int, bytes]] = []
        for line, amount in lines.items():
            at = (line - first) * _LINE
            if not 0 <= at < _PAGE * _LINE:
                continue
            known = Amount(*self._spent(line, old[at : at + _LINE]))
            if not amount.within(known):
                most = amount
                if not known.within(amount):
                    most = Amount(max(amount.main, known.main), max(amount.delta, known.delta))
                made.append((at, _spending(line, head, most)))
        if not page and head.seq > self._head(old[_LINE : 2 * _LINE]).seq:
            made.append((_LINE, _reaching(head)))
        if not made:
            return
        new = bytearray(old)
        for at, raw in made:
            if at > len(new):
                new += bytes(at - len(new))
            new[at : at + _LINE] = raw
        begin, end = min(made)[0], max(made)[0] + _LINE
        self._write(first * _LINE + begin, bytes(new[begin:end]), old, first * _LINE)

    def flush(self) -> None:
        """Wait until the disk has it."""
        os.fsync(self._file)

    def _write(self, at: int, new: bytes, old: bytes, first: int = 0) -> None:
        """Write at a place of a page; who cannot write all of it takes it back.

        Args:
            at: the place.
            new: what is written.
            old: the page as it was.
            first: where the page begins.
        """
        self._fresh = False
        try:
            done = os.pwrite(self._file, new, at)
            if done != len(new):
                before = old[at - first :]
                if done > len(before):
                    os.ftruncate(self._file, at + len(before))
                os.pwrite(self._file, before[:done], at)
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        except OSError as error:
            raise LedgerError(
                f"the head file {self.path.name} cannot be written ({error.strerror}); the charge "
                "stands, and nothing was computed"
            ) from error

    def _read(self, page: int) -> bytes:
        return self._page(page) if page else self._first()

    def _page(self, page: int) -> bytes:
        try:
            return os.pread(self._file, _PAGE * _LINE, page * _PAGE * _LINE)
        except OSError as error:
            if self._file < 0:
                words = "belongs to the process that opened it, which forked this one"
            else:
                words = f"cannot be read ({error.strerror})"
            raise LedgerError(
                f"the head file {self.path.name} {words}; nothing was sent"
            ) from error

    def _first(self) -> bytes:
        """The first page as it is; what was read of it is known until it changes."""
        if not self._fresh:
            raw = self._page(0)
            if raw != self._raw:
                self._know(raw)
            self._fresh = self._alone
        return self._raw

    def _know(self, raw: bytes) -> None:
        """This is the first page; nothing was read from its lines so far."""
        self._raw, self._reached, self._spends = raw, None, {}

    def _words(self, line: int, raw: bytes) -> list[str] | None:
        """The words of a line; None where nothing was written yet."""
        if not raw.strip(b"\0"):
            return None
        words = raw.decode("latin-1").split()
        if (
            len(raw) != _LINE
            or not raw.isascii()
            or not 2 <= len(words) <= 4
            or raw not in _lines(line, " ".join(words[:-1]).encode())
        ):
            raise self._damaged(line)
        return words[:-1]

    def _damaged(self, line: int) -> LedgerError:
        return LedgerError(
            f"the head file {self.path.name} is damaged in line {line + 1}. {_ANEW}. "
            "Nothing was charged"
        )


_OPEN: weakref.WeakSet[Anchor] = weakref.WeakSet()


def _after_fork() -> None:
    for anchor in list(_OPEN):
        anchor.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def gone_words(head: Path) -> str:
    """What to say where there is a head file, and no ledger."""
    return (
        f"the head file {head.name} exists, and its ledger does not: the ledger was moved or "
        "deleted. Bring it back; or put a backup in its place, and `discreet ledger restore` "
        "counts what was spent since"
    )


def _changed(words: str) -> LedgerError:
    return LedgerError(
        f"this ledger was changed: {words}. `discreet ledger rebuild` makes its accounts anew from "
        "its log, if that is intact; otherwise put a backup back, and `discreet ledger restore` "
        "counts what was spent since. Nothing was charged"
    )


def _reaching(head: Head) -> bytes:
    """The line of a head that will be in the file."""
    return _line(1, b"%d %b" % (head.seq, head.hash.encode()))


def _spending(line: int, head: Head, most: Amount) -> bytes:
    """The line of an account that will be in the file."""
    return _line(line, b"%d %d %d" % (head.seq, most.main, most.delta))


def _line(number: int, text: bytes) -> bytes:
    """A line, with the checksum of its number and text."""
    begun = _BEGUN[number] if number < _PAGE else crc32(b"%d " % number)
    return _filled(b"%b %08x" % (text, crc32(text, begun)))


def _lines(number: int, text: bytes) -> tuple[bytes, bytes]:
    """The line, and as it was made by version 0.1 and earlier."""
    check = sha256(b"%d %b" % (number, text)).hexdigest()[:16]
    return _line(number, text), _filled(b"%b %b" % (text, check.encode()))


def _filled(text: bytes) -> bytes:
    if len(text) >= _LINE:
        raise LedgerError("a line of the head file is too long")
    return text.ljust(_LINE - 1) + b"\n"
