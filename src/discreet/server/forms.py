"""Stored answers as figures and pages, drawn in a process of their own.

The library that draws keeps every other thread of its process waiting, for seconds. In the
server's own process nobody's deadline would be kept meanwhile; so it works in another, which is
started when the first figure is wanted, and sees released numbers only.
Tested by tests/server/test_forms.py
"""

from __future__ import annotations

import multiprocessing
import tempfile
import threading
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as Late
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path

from discreet.curator.record import Record
from discreet.remembered import Results
from discreet.server.problems import Problem

__all__ = ["Forms", "formed"]

_LONGEST = 60.0
"""Seconds that a figure may take."""
_NOT_NOW = "the figure could not be drawn now; take the CSV"


def formed(text: str, ending: str) -> bytes:
    """A record as a figure (svg, png, vl.json) or as a page (html).

    What is found for it is not kept for the next one, who may be somebody else.

    Args:
        text: the record's JSON.
        ending: which form.
    """
    return copy_context().run(_formed, text, ending)


def _formed(text: str, ending: str) -> bytes:
    from discreet.curator.report import report  # noqa: PLC0415 - in the other process only

    Results().use()
    record = Record.from_json(text)
    if ending == "html":
        return report(record).encode()
    if ending == "vl.json":
        return str(record.release.plot().to_json()).encode()
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder) / f"figure.{ending}"
        record.release.plot(path=path)
        return path.read_bytes()


class Forms:
    """The process that draws; it begins with the first figure, and again if it has died."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()

    def of(self, record: Record, ending: str) -> bytes:
        """A record in another form; Problem if that takes too long."""
        text = record.to_json()
        for _ in range(2):
            pool, work = self._begun(text, ending)
            try:
                return work.result(_LONGEST)
            except (BrokenProcessPool, CancelledError):  # it died, or another took too long
                self._end(pool)
            except Late:
                self._end(pool)
                raise Problem("busy", "the figure takes too long; take the CSV") from None
        raise Problem("busy", _NOT_NOW)

    def _begun(self, text: str, ending: str) -> tuple[ProcessPoolExecutor, Future[bytes]]:
        with self._lock:
            for _ in range(2):
                if self._pool is None:
                    context = multiprocessing.get_context("spawn")
                    self._pool = ProcessPoolExecutor(1, mp_context=context)
                with suppress(BrokenProcessPool):  # it died while nobody wanted anything
                    return self._pool, self._pool.submit(formed, text, ending)
                self._pool = None
        raise Problem("busy", _NOT_NOW)

    def close(self) -> None:
        """End the process."""
        self._end(self._pool)

    def _end(self, pool: ProcessPoolExecutor | None) -> None:
        """End this process, and not one that somebody else has begun since."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - a hanging one too
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)
