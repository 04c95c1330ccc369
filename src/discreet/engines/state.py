"""What tells whether files are as they were: their sizes, the times of their content, and where
there are several, their names.

Nothing is read but the entries of a file system: one look at each file, which takes a microsecond.
Devices, numbers and the times of entries are left out, so that files which are moved, or copied
with their times, are as they were. What a state says tells of the rows: it is kept as a salted hash
only (`discreet.curator.ledger.marks`).
Tested by tests/engines/test_state.py
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Watched", "with_log"]


class Watched:
    """Some files, to be looked at again and again.

    Args:
        files: their absolute paths; at least one.
    """

    __slots__ = ("_files",)

    def __init__(self, files: Sequence[str]) -> None:
        above = os.path.commonpath(files)
        self._files = sorted((os.path.relpath(file, above), file) for file in files)

    def now(self) -> str | None:
        """Their state, private: equal texts are equal states. None if one is not there."""
        try:
            found = [(name, os.stat(file)) for name, file in self._files]  # noqa: PTH116 - many a second
        except OSError:
            return None
        return "\n".join([f"{at.st_size} {at.st_mtime_ns} {name}" for name, at in found])


def with_log(database: str) -> Sequence[str]:
    """A DuckDB file, and beside it what was written and is not moved into it yet."""
    log = f"{database}.wal"
    return (database, log) if Path(log).exists() else (database,)
