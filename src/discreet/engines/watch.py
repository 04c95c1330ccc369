"""What takes too long is stopped: by one thread for all, which sleeps until somebody is late.

Tested by tests/engines/test_watch.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

__all__ = ["Watch"]

PAUSE = 0.05
"""Seconds until what was stopped and still runs is stopped again: it may not have begun yet."""


class Watch:
    """Those whose time is measured.

    Guarantee. `stop` is called while the work is under way, never after it: whatever is done next
    with the same connection is not stopped for it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        self._thread: threading.Thread | None = None
        self._wakes = 0.0

    @contextmanager
    def over(self, seconds: float | None, stop: Callable[[], None]) -> Iterator[None]:
        """Work that is stopped after so many seconds, again and again until it ends.

        Args:
            seconds: how long it may take; None for as long as it likes.
            stop: asks it to end; called from another thread.
        """
        if seconds is None:
            yield
            return
        mark, latest = object(), monotonic() + seconds
        with self._changed:
            self._running[mark] = (latest, stop)
            if self._thread is None or not self._thread.is_alive():  # it is not, after a fork
                self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
                self._thread.start()
            elif latest < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._running[mark]

    def _look(self) -> None:
        """Sleep until the next one is late; end where nobody is there any more."""
        with self._changed:
            while self._running:
                now = monotonic()
                for latest, stop in self._running.values():
                    if latest <= now:
                        with suppress(Exception):  # the others are watched all the same
                            stop()
                first = min(latest for latest, _ in self._running.values())
                self._wakes = max(first, now + PAUSE)
                self._changed.wait(self._wakes - now)
            self._thread = None
