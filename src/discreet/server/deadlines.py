"""When an answer leaves, and how long it is: both public.

Guarantee. To somebody on the network an answer shows when it was asked for and the class of its
deadline, and nothing of how long it took; its length follows from the question, not from the rows.
Assumes. The attacker is not on the same machine. Work that is not done at its deadline leaves at
the next multiple of it: the database is stopped well before the first one, so that only a ledger
or a machine that is busy for other reasons makes it late.
Proof. A place among the workers is held to the deadline, whenever the work was done, so that the
waiting of others does not depend on it either. A body is filled with spaces, which mean nothing in
JSON, up to a size that is known before a row is read; beyond it, to a power of two of what was
released. A machine wakes up a fraction of a millisecond earlier or later by what it did before: so
an answer leaves at a random moment of the eighth of a deadline that follows it, drawn after all
work is done, in which such a trace is lost for who has not thousands of answers to average.
Tested by tests/server/test_deadlines.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from discreet.noise.source import system_source

__all__ = ["Deadline", "padded", "room"]

_STEPS = 1 << 16
SPREAD = 8
"""Answers leave within this part of a deadline after it."""

_TIGHT = (",", ":")
_LEAST = 4096
_CELL = 192
"""Bytes for one number with its interval, its raw value and the commas between."""


def room(columns: int, groups: int, question: str) -> int:
    """The bytes that an answer gets: a power of two, from public things only.

    >>> room(2, 6, "SELECT department, COUNT(*) FROM payroll GROUP BY department")
    8192
    """
    wanted = _LEAST + 6 * len(question) + _CELL * max(columns, 1) * max(groups, 1)
    return 1 << (wanted - 1).bit_length()


def padded(told: Any, least: int) -> bytes:
    """JSON, filled with spaces up to a size, or to a power of two beyond it.

    Args:
        told: its values, or its text.
        least: the size.
    """
    text = told if isinstance(told, str) else json.dumps(told, allow_nan=False, separators=_TIGHT)
    body = text.encode("ascii")
    size = max(least, 1)
    while size < len(body):
        size *= 2
    return body.ljust(size)


class Deadline:
    """When an answer may leave.

    Args:
        seconds: the deadline, after now; None for at once.
        clock: seconds that never go back; the loop's.
    """

    def __init__(self, seconds: float | None, clock: Callable[[], float] | None = None) -> None:
        self._seconds = seconds
        self._now = clock or asyncio.get_running_loop().time
        self._began = self._now()

    async def over(self) -> None:
        """Wait for the next multiple of the deadline, and for a random moment after it."""
        if self._seconds is not None:
            late = int((self._now() - self._began) / self._seconds)
            after = system_source().below(_STEPS) / (_STEPS * SPREAD)
            until = self._began + (late + 1 + after) * self._seconds
            await asyncio.sleep(max(until - self._now(), 0))
