"""Whether the ledger can be written, for those who ask after the health of a server.

It is found out by writing (`discreet.curator.ledger.trial`), once a second at most, however often
strangers ask. A write of somebody's question that failed counts, too, for some seconds: what fits
on a disk that is nearly full may be less than a question.
Tested by tests/server/test_health.py
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from discreet.curator.ledger.connecting import outages
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.trial import try_writing
from discreet.errors import LedgerError

__all__ = ["Health"]

_AGAIN = 1.0
"""Seconds for which what was found holds."""
_FAILED = 5.0
"""Seconds for which the failure of a question's write counts."""


class Health:
    """What is known of a ledger.

    Args:
        ledger: the one.
        clock: seconds, from anywhere.
    """

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._clock = ledger, clock
        self._lock = threading.Lock()
        self._tried = self._failed = -math.inf
        self._good = True

    def noticed(self, fault: BaseException) -> None:
        """Remember a failure, if it is one of the ledger's database or disk."""
        if isinstance(fault, LedgerError) and isinstance(fault.__cause__, outages()):
            self._failed = self._clock()

    def writes(self) -> bool:
        """Whether the ledger can be written; LedgerError when it is first found that it cannot."""
        if self._lock.acquire(blocking=False):  # one tries; the others hear what was last found
            try:
                self._try()
            finally:
                self._lock.release()
        return self._good and self._clock() >= self._failed + _FAILED

    def _try(self) -> None:
        if self._clock() < self._tried + _AGAIN:
            return
        before, good = self._good, False
        try:
            try_writing(self._ledger)
            good = True
        except LedgerError:
            if before:
                raise
        finally:
            self._good, self._tried = good, self._clock()
