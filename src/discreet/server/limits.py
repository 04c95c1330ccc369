"""How often, and how much at once: buckets that fill with time, one for each asker.

Everything here is decided from who asks and when; no data, no answer. What is remembered is
bounded: the oldest askers are forgotten first, and a forgotten one starts with a full bucket.
Tested by tests/server/test_limits.py
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from discreet.server.problems import Problem

if TYPE_CHECKING:
    from discreet.server.together import Busy, SharedBuckets

__all__ = ["Alone", "Buckets", "Rate", "Turns", "filled"]

_MOST = 10_000


class Buckets:
    """Buckets that fill with time, of one process."""

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str, most: int, now: float) -> float:
        """Count one more, of `most` a minute; what was left before."""
        with self._lock:
            left = filled(self._left.pop(name, None), most, now)
            self._left[name] = (left - 1 if left >= 1 else left, now)
            while len(self._left) > _MOST:
                self._left.popitem(last=False)
        return left


def filled(bucket: tuple[float, float] | None, most: int, now: float) -> float:
    """What is in a bucket now, of which it is known what was left, and when; full if it is new."""
    if bucket is None:
        return float(most)
    left, since = bucket
    return min(left + (now - since) * most / 60, float(most))


class Rate:
    """At most so many a minute, for each name; unused ones add up to a minute's worth.

    Args:
        per_minute: how many.
        what: of what, for the message.
        clock: seconds that never go back, the same in all processes.
        buckets: where it is counted; its own if nothing is said.
    """

    def __init__(
        self,
        per_minute: int,
        what: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        buckets: Buckets | SharedBuckets | None = None,
    ) -> None:
        self._most, self._what, self._clock = per_minute, what, clock
        self._buckets = buckets or Buckets()

    def take(self, name: str) -> None:
        """Count one more; Problem if that is too many."""
        left = self._buckets.take(f"{self._what} {name}", self._most, self._clock())
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self._most)
            words = f"at most {self._most} {self._what} a minute; nothing was charged"
            raise Problem("limit", words, headers={"Retry-After": str(wait)})


class Alone:
    """One thing at a time, for each name.

    Args:
        busy: knows what other processes do; None where there are none.
    """

    def __init__(self, busy: Busy | None = None) -> None:
        self._here: set[str] = set()
        self._busy, self._lock = busy, threading.Lock()

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Be the only one of this name; Problem if there is another."""
        self.begin(name)
        try:
            yield
        finally:
            self.end(name)

    def begin(self, name: str) -> None:
        """Be the only one of this name until `end`; Problem if there is another."""
        with self._lock:
            free = name not in self._here and (self._busy is None or self._busy.begin(name))
            if free:
                self._here.add(name)
        if not free:
            words = "one question at a time for each key; nothing was charged"
            raise Problem("limit", words, headers={"Retry-After": "1"})

    def end(self, name: str) -> None:
        """Let another one of this name begin."""
        with self._lock:
            self._here.discard(name)
            if self._busy is not None:
                self._busy.end(name)


class _Places(asyncio.Semaphore):
    """So many places, which can also be taken without waiting."""

    def take(self) -> bool:
        """Take one, if one is free and nobody waits for it; whether it was."""
        if self.locked():
            return False
        self._value -= 1
        return True


class Turns:
    """A few things at once for each name, and not many for all; who comes next waits in line.

    No thread waits, so that a burst of one name keeps nobody else from a thread. It belongs to one
    event loop.

    Args:
        everybody: how many at once, of all names together.
        each: how many at once, of one name.
        line: how many of one name, at once and waiting.
        longest: seconds that somebody waits.
    """

    def __init__(self, everybody: int, *, each: int, line: int, longest: float) -> None:
        self._all, self._longest = _Places(everybody), longest
        self._each, self._line = each, line
        self._lines: dict[str, tuple[_Places, int]] = {}

    def is_full(self, name: str) -> bool:
        """Whether somebody of this name would have to wait."""
        own = self._lines.get(name)
        return self._all.locked() or (own is not None and own[0].locked())

    def take(self, name: str) -> bool:
        """Have a turn at once, until `leave`; False where it would have to be waited for."""
        own, there = self._lines.get(name) or (_Places(self._each), 0)
        if there >= self._line or own.locked() or not self._all.take():
            return False
        own.take()
        self._lines[name] = own, there + 1
        return True

    def leave(self, name: str) -> None:
        """Let go of what `take` gave."""
        own, _ = self._lines[name]
        self._all.release()
        own.release()
        self._less(name)

    def _less(self, name: str) -> None:
        """One fewer of this name is there; a name that has none is forgotten."""
        own, there = self._lines[name]
        if there > 1:
            self._lines[name] = own, there - 1
        else:
            del self._lines[name]

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait until it is this one's turn; Problem if the line is too long, or too slow."""
        own, there = self._lines.get(name) or (_Places(self._each), 0)
        if there >= self._line:
            words = f"at most {self._line} requests of this kind at once; nothing was charged"
            raise Problem("limit", words, headers={"Retry-After": "1"})
        self._lines[name] = own, there + 1
        held: list[_Places] = []
        try:
            for places in (own, self._all):
                await _place(places, self._longest)
                held.append(places)
            yield
        finally:
            for places in held:
                places.release()
            self._less(name)


async def _place(places: _Places, longest: float) -> None:
    """Take one of some places; Problem if none becomes free in time."""
    if places.take():
        return
    try:
        async with asyncio.timeout(longest):
            await places.acquire()
    except TimeoutError:
        words = "too many questions at once; nothing was charged"
        raise Problem("busy", words, headers={"Retry-After": "5"}) from None
