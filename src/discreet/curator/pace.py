"""The moments of one question, which are known when it begins: whatever its parts take.

What waits for its answer serves nobody. So whether another analyst who asks the same meanwhile
pays as for a new question, or is handed this one, follows from when its answer is stored. If that
were as soon as it is there, the next charge would tell how long a database took, which may depend
on one row.

Guarantee. At a pace, what came of a question is stored at a moment that follows from its beginning
and its deadline; so is what had to be found for it.
Assumes. The ledger and the noise take less than what a deadline leaves them. What is late all the
same is stored as soon as it is there.
Proof. The database is cut off before that moment, which is a failure and answered as one, and what
is there earlier waits for it. The k-th search has all but 2^-k of the time of the database, so that
there is time for the next one, and for the question, however many there are.
Tested by tests/curator/test_pace.py
"""

from __future__ import annotations

import time

__all__ = ["ENGINE_SHARE", "UNHURRIED", "Pace"]

ENGINE_SHARE = 0.6
"""The part of a deadline that the database may take; what is left is for the ledger and noise."""
_STORED = 0.8
"""The part of a deadline after which an answer is stored."""
_SEARCHED = 0.9
"""The part of the time of a search that its database may take."""
_LEAST = 0.01
"""Seconds that a database always has: some take 0 for no limit."""


class Pace:
    """The pace of one question, which begins now.

    Args:
        deadline: seconds until it is answered; None where nobody waits for a deadline.
        share: the part of them that the database may take.
    """

    def __init__(self, deadline: float | None, *, share: float = ENGINE_SHARE) -> None:
        self._deadline, self._share, self._began = deadline, share, time.monotonic()
        self._searches, self._moment = 0, self._began

    def searching(self) -> float | None:
        """Begin a search: the seconds that the database may take for it."""
        if self._deadline is None:
            return None
        self._searches += 1
        part = self._deadline * (1 - 2**-self._searches)
        self._moment = self._began + part * ENGINE_SHARE
        return self._left(part * self._share * _SEARCHED)

    def answering(self) -> float | None:
        """Begin with the question itself: the seconds that the database may take for it."""
        if self._deadline is None:
            return None
        self._moment = self._began + self._deadline * _STORED
        return self._left(self._deadline * self._share)

    def hold(self) -> None:
        """Wait for the moment at which what was begun last is stored."""
        if self._deadline is not None:
            time.sleep(max(self._moment - time.monotonic(), 0))

    def _left(self, part: float) -> float:
        return max(self._began + part - time.monotonic(), _LEAST)


UNHURRIED = Pace(None)
"""The pace of who waits for no deadline."""
