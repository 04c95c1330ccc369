"""When an answer leaves, and how long it is: both public.

Guarantee. To somebody on the network an answer shows when it was asked for and the class of its
deadline, and nothing of how long it took; its length follows from the question, not from the rows.
Assumes. The attacker is not on the same machine. Work that is not done at its deadline leaves at
the next multiple of it: the database is stopped well before the first one, so that only a ledger
or a machine that is busy for other reasons makes it late.
Proof. A place among the workers is held to the deadline, whenever the work was done, so that the
waiting of others does not depend on it either. A body is filled with spaces, which mean nothing in
JSON, up to a size that is known before a row is read; beyond it, to a power of two of what was
released.
Tested by tests/server/test_deadlines.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

__all__ = ["at_deadline", "padded", "room"]

_T = TypeVar("_T")
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
    """JSON, filled with spaces up to a size, or to a power of two beyond it."""
    body = json.dumps(told, allow_nan=False, separators=(",", ":")).encode("ascii")
    size = max(least, 1)
    while size < len(body):
        size *= 2
    return body.ljust(size)


async def at_deadline(
    seconds: float | None,
    work: Callable[[], Awaitable[_T]],
    *,
    clock: Callable[[], float] | None = None,
) -> _T:
    """The outcome of some work, a failure too, at the next multiple of a deadline.

    Args:
        seconds: the deadline, after now; None hands it over as soon as it is there.
        work: what is to be done.
        clock: seconds that never go back; the loop's.
    """
    now = clock or asyncio.get_running_loop().time
    began = now()
    try:
        return await work()
    finally:
        if seconds is not None:
            late = int((now() - began) / seconds)
            await asyncio.sleep(max(began + (late + 1) * seconds - now(), 0))
