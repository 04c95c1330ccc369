"""Failures that an analyst is not shown: written down for the owner, beside the head file.

Who can make something fail cannot fill the disk: a line is cut, and of the lines only the last two
files' worth are kept. A group that shares the head file shares this one.

Tested by tests/curator/test_faults.py
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from discreet import private
from discreet.curator.ledger.ledger import Ledger

__all__ = ["faults", "note_fault"]

LARGEST = 1 << 20
"""Bytes after which a new file is begun; one older file is kept."""
_CUT = 4000


def faults_path(ledger: Ledger) -> Path:
    """The file that failures are written to."""
    return ledger.head_path.with_suffix(".faults")


def _older(ledger: Ledger) -> Path:
    return ledger.head_path.with_suffix(".faults.old")


def note_fault(ledger: Ledger, fault: BaseException) -> None:
    """Write down one failure, on one line."""
    cause = fault.__cause__
    told = [datetime.now(UTC).isoformat(timespec="seconds"), f"{type(fault).__name__}: {fault}"]
    if cause is not None:
        told.append(f"{type(cause).__name__}: {cause}")
    line = " | ".join(" ".join(part.split())[:_CUT] for part in told) + "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(faults_path(ledger), flags, 0o600)
    try:
        if not os.fstat(file).st_size:  # it is new: who shares the ledger has to write it, too
            private.give_as(ledger.head_path, file)
        os.write(file, line.encode(errors="backslashreplace"))
        full = os.fstat(file).st_size > LARGEST
    finally:
        os.close(file)
    if full:
        with suppress(FileNotFoundError):  # another thread was faster
            faults_path(ledger).replace(_older(ledger))


def faults(ledger: Ledger, most: int = 100) -> list[str]:
    """The last failures, the newest first."""
    lines: list[str] = []
    for path in (_older(ledger), faults_path(ledger)):
        with suppress(FileNotFoundError):
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[: -most - 1 : -1]
