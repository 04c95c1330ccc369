"""Threads for questions: what the event loop hands to them, and how it hears that it is done.

An executor makes two futures of every question and locks for each; here there is a queue to them,
and one back. Who is done while the loop has not yet heard of another wakes it no second time.
Tested by tests/server/test_workers.py
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

__all__ = ["Back", "Over", "Workers"]

Over = Callable[[BaseException | None], None]
"""Told in the loop that something is done, and what it raised."""


class Back:
    """The way back to the event loop, from any thread. Made in the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: deque[tuple[Over, BaseException | None]] = deque()
        self._woken = False

    def tell(self, over: Over, failure: BaseException | None) -> None:
        """Have the loop told that something is done."""
        self._done.append((over, failure))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        """Tell, in the loop, of all that is done.

        Who has seen `_woken` set has added what it did before, and that is told of here: it is
        taken back first.
        """
        self._woken = False
        while self._done:
            over, failure = self._done.popleft()
            try:
                over(failure)
            except Exception as error:  # noqa: BLE001 - one of them is no matter to the others
                told = {"message": "what a question's end calls has failed", "exception": error}
                self._loop.call_exception_handler(told)


class Workers:
    """A few threads of an event loop, which are there from the beginning until they are ended.

    Args:
        many: how many.
    """

    def __init__(self, many: int) -> None:
        self._loop, self._back = asyncio.get_running_loop(), Back()
        self._jobs: SimpleQueue[tuple[Callable[[], None], Over] | None] = SimpleQueue()
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
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((work, partial(_tell, done)))
        await done

    def end(self) -> None:
        """Wait until all is done that was handed to them."""
        for _ in self._threads:
            self._jobs.put(None)
        for one in self._threads:
            one.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, over = job
            failure: BaseException | None = None
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - for who waits
                failure = error
            self._back.tell(over, failure)
            del job, work, over, failure  # held by nobody while this one waits


def _tell(done: asyncio.Future[None], failure: BaseException | None) -> None:
    if done.cancelled():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
