"""What tells whether files are as they were: their sizes, the times of their content, and where
there are several, their names.

Nothing is read but the entries of a file system: one look at each file, which takes a microsecond.
Devices, numbers and the times of entries are no part of a state, so that files which are moved, or
copied with their times, are as they were. Folders such as `year=2024` are: DuckDB reads a column of
them. What a state says tells of the rows: it is kept as a salted hash only
(`discreet.curator.ledger.marks`).

Whether they are the very same files, which somebody opened before, is another matter: one who has a
file open reads on in it after another took its name, and knows the first lines of the one that was
there. Devices, numbers and times of entries tell that.
Tested by tests/engines/test_state.py
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Seen", "Watched", "with_log"]


class Seen(NamedTuple):
    """Files as they were at one look; equal ones are the same files in the same state.

    Attributes:
        state: private; equal texts are equal states, also of copies.
        which: the device, number and time of the entry of each.
    """

    state: str
    which: tuple[tuple[int, int, int], ...]


class Watched:
    """Some files, to be looked at again and again.

    Args:
        files: their absolute paths; at least one.
    """

    __slots__ = ("_files", "_last")

    def __init__(self, files: Sequence[str]) -> None:
        above = os.path.commonpath(files)
        folders = Path(above).parts[: None if len(set(files)) > 1 else -1]
        values = [part for part in folders if "=" in part]
        self._files = sorted(
            ("/".join([*values, os.path.relpath(file, above)]), file) for file in files
        )
        self._last: tuple[list[tuple[int, ...]], Seen] | None = None

    def now(self) -> Seen | None:
        """As they are now; None if one is not there."""
        try:
            found = [os.stat(file) for _, file in self._files]  # noqa: PTH116 - many a second
        except OSError:
            return None
        told: list[tuple[int, ...]] = [
            (at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino, at.st_ctime_ns) for at in found
        ]
        last = self._last
        if last is None or last[0] != told:
            last = self._last = told, self._seen(told)
        return last[1]

    def _seen(self, told: Sequence[tuple[int, ...]]) -> Seen:
        """What a look at all files has told, as it is kept."""
        named = zip(self._files, told, strict=True)
        return Seen(
            "\n".join([f"{size} {time} {name}" for (name, _), (size, time, *_) in named]),
            tuple([(device, number, entry) for _, _, device, number, entry in told]),
        )


def with_log(database: str) -> Sequence[str]:
    """A DuckDB file, and beside it what was written and is not moved into it yet."""
    log = f"{database}.wal"
    return (database, log) if Path(log).exists() else (database,)
