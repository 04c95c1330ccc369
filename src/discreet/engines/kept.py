"""The cleaned rows of files, kept in memory while the files stay as they are.

Reading a CSV file and turning its text into numbers takes far longer than counting. A table that
was asked twice is therefore read once more, by a thread beside the questions, and kept: the person
and all declared columns, as questions see them. All engines on the same files share it.

Guarantee. An answer comes from the rows that the files hold: what was kept is used only while every
file has the device, number, size and times (of its content and of its entry) that it had before and
after it was read. A file that was changed, replaced or removed is read itself, as if nothing had
been kept. Rows are kept only after a question was charged and answered from them.
Assumes. A change of content shows in a file's times. They are coarse, so that files which were
changed in the last two seconds are not kept; a program that writes through a memory map without
flushing may be seen late, as by every other reader.
Proof. What is kept is what `shapes.whole` selects of the same relation, so that a statement over
it has the same rows under the same names. Nothing of a question is in it.

Few rows are kept as vectors, too (`vectors`), read from what is kept.

Bounded: files of more than `LARGEST` bytes are not kept, and `MOST` declarations of the same files
at most are. What cannot be kept is read from its file; nobody is told, and no question waits.
Tested by tests/engines/test_kept.py
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

from discreet.engines.cores import everywhere
from discreet.engines.own import own

if TYPE_CHECKING:
    import duckdb

    from discreet.engines.vectors import Vectors

__all__ = ["LARGEST", "MOST", "Files", "Rows"]

LARGEST = {"csv": 1 << 28, "parquet": 1 << 26}
"""Bytes of all files together: 256 MiB, and 64 MiB where they are compressed."""
MOST = 4
SMALL = 1 << 23
"""Rows of fewer bytes are counted by one thread: a second one takes longer to begin."""
RESTED = 2.0
"""Seconds for which a file must not have changed."""
Identity = tuple[tuple[int, ...], ...]


class Rows:
    """Kept rows: a table called `rows` in a database of its own.

    Attributes:
        most: no person has more rows: private, and for the engine alone; None without people.
        vectors: the same rows to count without a statement; None if there are too many.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, most: int | None, vectors: Vectors | None
    ) -> None:
        self._connection, self.most, self.vectors = connection, most, vectors

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection to it, for one engine."""
        return self._connection.cursor()


class Files:
    """What is kept of some files; made by `of`.

    Args:
        paths: the files.
        kind: "csv" or "parquet".
        threads: how many threads may work; all cores without it.
    """

    _open: ClassVar[WeakValueDictionary[tuple[object, ...], Files]] = WeakValueDictionary()
    _opening = threading.Lock()

    def __init__(self, paths: Sequence[str], kind: str, threads: int | None) -> None:
        self._paths, self._kind, self._threads = tuple(paths), kind, threads
        self._lock = threading.Lock()
        self._identity: Identity | None = None
        self._kept: dict[str, Rows] = {}
        self._asked: dict[str, int] = {}
        self._reading: threading.Thread | None = None

    @classmethod
    def of(cls, paths: Sequence[str], kind: str, threads: int | None) -> Files:
        """The one for these files in this process."""
        key = (tuple(paths), kind, threads, os.getpid())
        with cls._opening:
            found = cls._open.get(key)
            if found is None:
                found = cls._open[key] = cls(paths, kind, threads)
            return found

    def rows(self, text: str) -> Rows | None:
        """The kept rows of a SELECT, if the files are as they were; else they may be kept later."""
        return self.rows_at(text, self.identity())

    def rows_at(self, text: str, now: Identity | None) -> Rows | None:
        """The same.

        Args:
            text: the SELECT.
            now: the `identity` of the files, as somebody has just looked.
        """
        with self._lock:
            if now != self._identity or now is None:
                self._identity, self._kept, self._asked = now, {}, {}
            found = self._kept.get(text)
            if found is None and now is not None:
                self._asked[text] = self._asked.get(text, 0) + 1
                if self._asked[text] > 1 and self._reading is None and self._may_be_kept(now):
                    work = threading.Thread(target=self._read, args=(text, now), name="keeping")
                    self._reading = work
                    work.start()
            return found

    def there(self) -> bool:
        """Whether all files are there."""
        return self.identity() is not None

    def forget(self, rows: Rows) -> None:
        """Let go of rows that something failed with."""
        with self._lock:
            self._kept = {text: one for text, one in self._kept.items() if one is not rows}

    def settled(self) -> None:
        """Wait until nothing is being read, for tests and measurements."""
        reading = self._reading
        if reading is not None:
            reading.join()

    def identity(self) -> Identity | None:
        """What tells whether the files are still the same; None if one is not there."""
        try:
            found = [os.stat(path) for path in self._paths]  # noqa: PTH116 - many a second
        except OSError:
            return None
        return tuple([
            (at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns) for at in found
        ])  # fmt: skip

    def _may_be_kept(self, now: Identity) -> bool:
        size = sum(size for _, _, size, *_ in now)
        newest = max(moment for _, _, _, *times in now for moment in times)
        rested = time.time_ns() - newest > RESTED * 1e9
        return rested and size <= LARGEST[self._kind] and len(self._kept) < MOST

    def _read(self, text: str, before: Identity) -> None:
        """Read the files, in a thread of its own; what fails is not tried again."""
        made: Rows | None = None
        try:
            made = self._made(text, sum(size for _, _, size, *_ in before))
        except Exception:  # noqa: BLE001 - the files are read by every question, then
            made = None
        after = self.identity()
        with self._lock:
            self._reading = None
            if before != after or before != self._identity:
                return
            if made is None:
                self._asked[text] = -(1 << 62)
                return
            self._kept[text] = made

    def _made(self, text: str, size: int) -> Rows:
        from discreet.engines.vectors import vectors  # noqa: PLC0415 - importing stays cheap

        connection = own(self._paths, threads=1 if size < SMALL else self._threads)
        with everywhere():  # not on the core of the questions beside it
            connection.execute(f"CREATE TABLE rows AS {text}").fetchall()
        titles = [row[0] for row in connection.execute("DESCRIBE rows").fetchall()]
        most = None
        if "p" in titles:
            counted = "SELECT max(n) FROM (SELECT count(*) AS n FROM rows GROUP BY p)"
            most = int(connection.execute(counted).fetchall()[0][0] or 0)
        return Rows(connection, most, vectors(connection))
