"""Failures that an analyst is not shown: written down for the owner, beside the head file.

Tested by tests/curator/test_faults.py
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from discreet.curator.ledger.ledger import Ledger

__all__ = ["faults", "note_fault"]


def faults_path(ledger: Ledger) -> Path:
    """The file that failures are written to."""
    return ledger.head_path.with_suffix(".faults")


def note_fault(ledger: Ledger, fault: BaseException) -> None:
    """Write down one failure, on one line."""
    cause = fault.__cause__
    told = [datetime.now(UTC).isoformat(timespec="seconds"), f"{type(fault).__name__}: {fault}"]
    if cause is not None:
        told.append(f"{type(cause).__name__}: {cause}")
    line = " | ".join(" ".join(part.split()) for part in told) + "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(faults_path(ledger), flags, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def faults(ledger: Ledger, most: int = 100) -> list[str]:
    """The last failures, the newest first."""
    try:
        text = faults_path(ledger).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[: -most - 1 : -1]
