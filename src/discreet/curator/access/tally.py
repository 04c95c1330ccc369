"""Failed attempts, counted by name, so that who tries often does not fill the log.

Each name is told once a minute, with the number of attempts since it was told last. Only the name
that was tried decides, whether there is such a person or not.
Tested by tests/curator/access/test_tally.py
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

__all__ = ["Tally"]

PAUSE = timedelta(minutes=1)
MOST = 1000
"""Names that are kept apart; more are counted together."""


class Tally:
    """Attempts that failed, of one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[datetime, int]] = {}

    def failed(self, name: str, now: datetime) -> int:
        """Count one; how many there were since the last were told, or 0 to tell nothing yet."""
        with self._lock:
            if name not in self._seen and len(self._seen) >= MOST:
                self._forget(now)
                name = name if len(self._seen) < MOST else ""
            told, count = self._seen.get(name, (now - PAUSE, 0))
            if now - told < PAUSE:
                self._seen[name] = (told, count + 1)
                return 0
            self._seen[name] = (now, 0)
            return count + 1

    def passed(self, name: str) -> int:
        """Somebody got in; how many attempts were not told yet."""
        with self._lock:
            return self._seen.pop(name, (None, 0))[1]

    def _forget(self, now: datetime) -> None:
        """Let go of names whose minute is over; what was not told of them is told as of nobody."""
        for name, (told, count) in list(self._seen.items()):
            if now - told >= PAUSE:
                del self._seen[name]
                if count:
                    at, more = self._seen.get("", (told, 0))
                    self._seen[""] = (at, more + count)
