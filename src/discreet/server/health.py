"""Whether a ledger can be used, for those who ask after the health of a server.

It has to follow the policy that is served, and to be written, which is found out by writing
(`discreet.curator.ledger.trial`): once a second at most, however often strangers ask. What is wrong
is told once, so that strangers do not push what else failed out of the owner's file. A write of
somebody's question that failed counts, too, for some seconds: what fits on a disk that is nearly
full may be less than a question.
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
        follows: whether it follows the policy that is served; may raise anything.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], float] = time.monotonic,
        *,
        follows: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ledger, self._clock, self._follows = ledger, clock, follows
        self._lock = threading.Lock()
        self._tried = self._failed = -math.inf
        self._good = True

    def noticed(self, fault: BaseException) -> None:
        """Remember a failure, if it is one of the ledger's database or disk."""
        if isinstance(fault, LedgerError) and isinstance(fault.__cause__, outages()):
            self._failed = self._clock()

    def is_good(self) -> bool:
        """Whether the ledger can be used; raises why not, when that is first found."""
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
            if self._follows():
                try_writing(self._ledger)
                good = True
        except Exception:
            if before:
                raise
        finally:
            self._good, self._tried = good, self._clock()
