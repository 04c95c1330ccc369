"""The head file: what a ledger had reached, kept outside of its database.

A database that was put back from a backup is intact and knows nothing of what was spent since. The
head file does: it holds the number and hash of the last entry and what every account had spent.
A ledger opens only if its log contains that entry. A crash between a commit and the head file
leaves the file one entry behind, which is no harm: the log still contains what it names.

The file is lines of 256 bytes, one for the ledger, one for the head and one for each account, each
with a checksum, rewritten in place, so that it never grows with the log. It is also the lock that
lets one process write at a time. It is not flushed at each entry: who loses power loses at most
what the system had not written, and the log itself is flushed.
Tested by tests/curator/ledger/test_anchor.py
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from discreet.curator.ledger.amounts import NOTHING, Amount
from discreet.curator.ledger.chain import START, Head
from discreet.errors import LedgerError

__all__ = ["Anchor"]

_LINE = 256
_SUM = 16
_FORM = "discreet-head/1"


class Anchor:
    """A head file that is open.

    Args:
        path: the file.
        uid: of the ledger that it belongs to.
    """

    def __init__(self, path: Path, uid: str) -> None:
        self.path = path
        self._known: dict[int, tuple[bytes, list[str]]] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LedgerError(
                f"the ledger's head file {path.name} is missing. If the ledger was moved, bring "
                "the file along; if it is lost, `discreet ledger restore` makes it anew. "
                "Nothing was charged"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"the ledger's head file {path.name} cannot be written ({error.strerror}); "
                "nothing was charged and nothing was computed"
            ) from error
        owner = self._words(0)
        if owner != [_FORM, uid]:
            self.close()
            raise LedgerError(
                f"the head file {path.name} belongs to another ledger, or is damaged; "
                "`discreet ledger restore` makes it anew from the ledger that you trust"
            )

    @classmethod
    def create(cls, path: Path, uid: str) -> Anchor:
        """A new file of a new ledger; refuses to replace one."""
        try:
            made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise LedgerError(
                f"the head file {path.name} exists, and its ledger does not: the ledger was moved "
                "or deleted. Bring it back, or restore it from a backup with "
                "`discreet ledger restore`"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"no ledger can be made here: {path.parent} cannot be written ({error.strerror})"
            ) from error
        try:
            os.pwrite(made, _line(0, _FORM, uid), 0)
            os.fsync(made)
        finally:
            os.close(made)
        return cls(path, uid)

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing."""
        import fcntl  # noqa: PLC0415 - there is none on Windows, where no ledger is kept

        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    @property
    def head(self) -> Head:
        """The furthest entry that was reached."""
        words = self._words(1)
        if words is None:
            return START
        try:
            return Head(int(words[0]), words[1])
        except (ValueError, IndexError):
            raise self._damaged(1) from None

    def spent(self, account: int) -> Amount:
        """The most that an account had spent."""
        words = self._words(1 + account)
        try:
            return NOTHING if words is None else Amount(int(words[1]), int(words[2]))
        except (ValueError, IndexError):
            raise self._damaged(1 + account) from None

    @property
    def accounts(self) -> int:
        """The highest number of an account that it can know of."""
        return max(0, -(-os.fstat(self._file).st_size // _LINE) - 2)

    def advance(self, head: Head, spent: Mapping[int, Amount]) -> None:
        """Write what was reached; the caller holds the lock. What is behind changes nothing.

        The accounts come first: a head that is there says that they are.
        """
        for account, amount in spent.items():
            most = self.spent(account)
            if amount.within(most):
                continue
            reached = (max(amount.main, most.main), max(amount.delta, most.delta))
            self._write(1 + account, head.seq, *reached)
        if head.seq > self.head.seq:
            self._write(1, head.seq, head.hash)

    def flush(self) -> None:
        """Wait until the disk has it."""
        os.fsync(self._file)

    def _write(self, line: int, *words: object) -> None:
        raw = _line(line, *words)
        self._known[line] = (raw, [str(word) for word in words])
        try:
            if os.pwrite(self._file, raw, line * _LINE) != _LINE:
                if os.fstat(self._file).st_size < (line + 1) * _LINE:
                    os.ftruncate(self._file, line * _LINE)  # a new line that was cut short
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        except OSError as error:
            raise LedgerError(
                f"the head file {self.path.name} cannot be written ({error.strerror}); the charge "
                "stands, and nothing was computed"
            ) from error

    def _words(self, line: int) -> list[str] | None:
        """The words of a line; None where nothing was written yet."""
        raw = os.pread(self._file, _LINE, line * _LINE)
        known = self._known.get(line)
        if known is not None and known[0] == raw:
            return known[1]
        if not raw.strip(b"\0"):
            return None
        text = raw.decode("ascii", errors="replace")
        words = text.split()
        if len(raw) != _LINE or not 2 <= len(words) <= 4 or _line(line, *words[:-1]) != raw:
            raise self._damaged(line)
        self._known[line] = (raw, words[:-1])
        return words[:-1]

    def _damaged(self, line: int) -> LedgerError:
        return LedgerError(
            f"the head file {self.path.name} is damaged in line {line + 1}; "
            "`discreet ledger restore` makes it anew from the ledger that you trust"
        )


def _line(number: int, *words: object) -> bytes:
    text = " ".join(map(str, words))
    check = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:_SUM]
    made = f"{text} {check}".ljust(_LINE - 1) + "\n"
    if len(made) != _LINE:
        raise LedgerError("a line of the head file is too long")
    return made.encode("ascii", errors="replace")
