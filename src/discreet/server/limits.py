"""How often, and how much at once: buckets that fill with time, one for each asker.

Everything here is decided from who asks and when; no data, no answer. What is remembered is
bounded: the oldest askers are forgotten first, and a forgotten one starts with a full bucket.
Tested by tests/server/test_limits.py
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.server.problems import Problem

__all__ = ["Alone", "Rate"]

_MOST = 10_000


class Rate:
    """At most so many a minute, for each name; unused ones add up to a minute's worth.

    Args:
        per_minute: how many.
        what: of what, for the message.
        clock: seconds that never go back.
    """

    def __init__(
        self, per_minute: int, what: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._what, self._clock = per_minute, what, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Count one more; Problem if that is too many."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(name, (float(self._most), now))
            left = min(left + (now - since) * self._most / 60, float(self._most))
            self._left[name] = (left - 1 if left >= 1 else left, now)
            while len(self._left) > _MOST:
                self._left.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self._most)
            words = f"at most {self._most} {self._what} a minute; nothing was charged"
            raise Problem("limit", words, headers={"Retry-After": str(wait)})


class Alone:
    """One thing at a time, for each name."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Be the only one of this name; Problem if there is another."""
        with self._lock:
            if name in self._busy:
                words = "one question at a time for each key; nothing was charged"
                raise Problem("limit", words, headers={"Retry-After": "1"})
            self._busy.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(name)
