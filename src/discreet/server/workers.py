"""Threads for questions: what the event loop hands to them, and how it hears that it is done.

An executor makes two futures of every question and locks for each; here there is one future, of
the loop, and a queue.
Tested by tests/server/test_workers.py
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

__all__ = ["Workers"]

Job = tuple[Callable[[], None], asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Workers:
    """A few threads, which are there from the beginning until they are ended.

    Args:
        many: how many.
    """

    def __init__(self, many: int) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"question_{number}", daemon=True)
            for number in range(many)
        ]
        for one in self._threads:
            one.start()

    async def run(self, work: Callable[[], None]) -> None:
        """Have one of them do something, and wait for it; what it raises is raised here.

        Who does not wait any longer leaves it to be done nevertheless.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._jobs.put((work, loop, done))
        await done

    def end(self) -> None:
        """Wait until all is done that was handed to them."""
        for _ in self._threads:
            self._jobs.put(None)
        for one in self._threads:
            one.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, loop, done = job
            failure: BaseException | None = None
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - for who waits
                failure = error
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(_tell, done, failure)
            del job, work, loop, done, failure  # held by nobody while this one waits


def _tell(done: asyncio.Future[None], failure: BaseException | None) -> None:
    if done.cancelled():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
