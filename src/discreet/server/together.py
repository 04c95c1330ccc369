"""What the processes of one server know together: how often somebody came, and who is busy.

One file holds the buckets of `limits.Rate`, one the locks of `limits.Alone`, and one who has how
many connections (`discreet.server.dividing`). They have no name: they are handed from process to
process, nobody can remove them from one that starts later, and they end with the last one. The
first two are locked by the operating system, which lets go of what a process held when that is
killed, or when it closes the file: none does. A bucket is found by a keyed hash of its name; eight
names that fall into one set stand beside each other, and of more the oldest is forgotten, as in one
process.
Tested by tests/server/test_together.py
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from discreet.noise.source import new_key
from discreet.server.limits import filled

with suppress(ImportError):  # there is none on Windows, where one process serves
    import fcntl
    from multiprocessing.reduction import DupFd

__all__ = ["Busy", "SharedBuckets", "Together"]

_SLOT = struct.Struct("<Qdd")
_WAYS, _SETS = 8, 2048
_SIZE = _WAYS * _SLOT.size
_KNOWN = 1024
"""Names whose digests are remembered."""


@dataclass(frozen=True, slots=True)
class Together:
    """Where the processes of one server meet; made by `made`.

    Attributes:
        buckets: the number of the one open file in this process.
        busy: that of the second.
        shares: that of the third.
        many: how many processes there are.
        secret: the key of the hashes, so that nobody can choose names that meet.
    """

    buckets: int
    busy: int
    shares: int
    many: int
    secret: bytes

    @classmethod
    @contextmanager
    def made(cls, many: int = 1) -> Iterator[Together]:
        """A place that is there while the server runs, for so many processes."""
        with ExitStack() as files:
            buckets, busy, shares = (
                files.enter_context(tempfile.TemporaryFile()) for _ in range(3)
            )  # fmt: skip
            buckets.truncate(_SETS * _SIZE)
            shares.write(b"\xff" * (4 * many))
            shares.flush()
            yield cls(buckets.fileno(), busy.fileno(), shares.fileno(), many, new_key()[:16])

    def __reduce__(self) -> tuple[Callable[..., Together], tuple[Any, ...]]:
        files = (DupFd(one) for one in (self.buckets, self.busy, self.shares))
        return _received, (*files, self.many, self.secret)

    def digests(self) -> Callable[[str], bytes]:
        """What gives sixteen bytes for a name; it remembers those of the last ones."""

        @lru_cache(maxsize=_KNOWN)
        def digest(name: str) -> bytes:
            return blake2b(name.encode(), digest_size=16, key=self.secret).digest()

        return digest


def _received(buckets: Any, busy: Any, shares: Any, many: int, secret: bytes) -> Together:
    """The same files, in a process that was just started."""
    return Together(buckets.detach(), busy.detach(), shares.detach(), many, secret)


class SharedBuckets:
    """Buckets that fill with time, in a file: `limits.Buckets` for several processes."""

    def __init__(self, together: Together) -> None:
        self._digest, self._lock = together.digests(), threading.Lock()
        self._file = together.buckets
        self._map = mmap.mmap(self._file, _SETS * _SIZE)

    def take(self, name: str, most: int, now: float) -> float:
        """Count one more; what was left before."""
        digest = self._digest(name)
        tag = int.from_bytes(digest[:8], "big") or 1
        first = int.from_bytes(digest[8:], "big") % _SETS * _SIZE
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX, _SIZE, first)
            try:
                at, bucket = self._bucket(tag, first)
                left = filled(bucket, most, now)
                _SLOT.pack_into(self._map, at, tag, left - 1 if left >= 1 else left, now)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, _SIZE, first)
        return left

    def _bucket(self, tag: int, first: int) -> tuple[int, tuple[float, float] | None]:
        """The place of a name in its set, and what is there of it; else where nobody is, or who was
        there longest ago.
        """
        slots: list[tuple[bool, float, int]] = []
        for at in range(first, first + _SIZE, _SLOT.size):
            found, left, since = _SLOT.unpack_from(self._map, at)
            if found == tag:
                return at, (left, since)
            slots.append((found != 0, since, at))
        return min(slots)[2], None


class Busy:
    """Names that are busy in any of the processes: each is a byte of a file, locked."""

    def __init__(self, together: Together) -> None:
        self._digest, self._file = together.digests(), together.busy

    def begin(self, name: str) -> bool:
        """Whether no other process is busy with this name; then this one is."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._at(name))
        except OSError:
            return False
        return True

    def end(self, name: str) -> None:
        """Not busy any more."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._at(name))

    def _at(self, name: str) -> int:
        return int.from_bytes(self._digest(name)[:8], "big") >> 2
