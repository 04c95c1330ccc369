"""Questions that go through their steps together, in one thread, where nobody waits for a deadline.

A question stops where the ledger has to write something for it (`Curator.steps`). Here all that are
there go up to that point one after the other, what they want is written together, with one flush,
and they go on. Threads that each answer one question would wait for the interpreter at every turn,
and for the ledger's lock; with several processes they would take it from each other for every
single entry.

One question may take long, in the database. Whoever waits behind it for more than a moment
(`PATIENCE`) is taken over by another thread; and where questions take long on the average
(`LONG`), each has a thread of its own from the beginning.

Guarantee. Each question is answered as if it were alone, and is told of once.
Proof. It belongs to one thread at a time: to the one that took it out of a queue, which is one
step. What is written together is as if it were written one by one: see
`discreet.curator.ledger.group`.
Tested by tests/server/test_batches.py
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

from discreet.curator.ledger.group import Member
from discreet.server.workers import Back, Over

__all__ = ["LONG", "MOST", "PATIENCE", "Batches"]

Steps = Generator[Member, None, None]
PATIENCE = 0.01
"""Seconds after which a question waits behind another for no longer."""
LONG = 0.005
"""Seconds that a step may take on the average, with others waiting for it."""
MOST = 16
"""So many go together: each waits for all."""
_WEIGHT = 0.1
"""Of the last step, in the average."""


class _Job:
    """A question, between its steps."""

    __slots__ = ("over", "steps", "wanted")

    def __init__(self, steps: Steps, over: Over) -> None:
        self.steps, self.over = steps, over
        self.wanted: Member | None = None


class _Batch:
    """What one thread has taken: what can go on, and what waits to be written.

    Args:
        job: the first that it has.
        alone: whether nobody joins it.
    """

    __slots__ = ("alone", "begun", "ready", "waiting")

    def __init__(self, job: _Job, *, alone: bool) -> None:
        self.ready: deque[_Job] = deque()
        self.waiting: deque[_Job] = deque()
        self.alone, self.begun = alone, time.monotonic()
        self.take(job)

    def take(self, job: _Job) -> None:
        """It is here from now on."""
        (self.ready if job.wanted is None else self.waiting).append(job)

    def goes_on(self, late: float) -> bool:
        """Whether who comes now joins it soon."""
        return not self.alone and self.begun >= late


class Batches:
    """Threads of an event loop, of which one does the work as long as that is quick.

    Args:
        many: how many there are at most.
        write: has what some questions want written, each of which has its result then.
    """

    def __init__(self, many: int, write: Callable[[Sequence[Member]], None]) -> None:
        self._many, self._write = many, write
        self._loop, self._back = asyncio.get_running_loop(), Back()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._idle = 0  # threads that wait for their turn
        self._active = 0  # those that have it: they run something, or wait for jobs
        self._running: set[_Batch] = set()
        self._average = 0.0
        self._watched = False
        self._ended = False
        self._let_in()

    def put(self, steps: Steps, over: Over) -> None:
        """Have a question go through its steps; `over` is called in the loop once it has."""
        self._jobs.put(_Job(steps, over))
        if not self._watched:
            self._watched = True
            self._loop.call_later(PATIENCE, self._watch)

    def end(self) -> None:
        """Wait until all is done that was handed to them."""
        self._ended = True
        self._jobs.put(None)
        with self._lock:
            threads = list(self._threads)
            self._turn.release(len(threads) or 1)
        for one in threads:
            one.join()

    # in the loop

    def _watch(self) -> None:
        """Let others go on with what waits behind something that takes long."""
        if self._ended:
            return
        late = time.monotonic() - PATIENCE
        with self._lock:
            running = list(self._running)
        for batch in running:
            if batch.begun < late:
                for queue in (batch.ready, batch.waiting):
                    while (job := _first(queue)) is not None:
                        self._jobs.put(job)
        if not (self._jobs.empty() or any(one.goes_on(late) for one in running)):
            self._let_in()
        self._watched = bool(running) or not self._jobs.empty()
        if self._watched:
            self._loop.call_later(PATIENCE, self._watch)

    def _let_in(self) -> None:
        """Let another thread wait for jobs, unless one does; where there is none, all are busy, and
        the first that is done goes on.
        """
        with self._lock:
            if self._active > len(self._running):
                return
            if self._idle:
                self._idle -= 1
                self._active += 1
                self._turn.release()
            elif len(self._threads) < self._many:
                name = f"batch_{len(self._threads)}"
                made = threading.Thread(target=self._work, name=name, daemon=True)
                with suppress(RuntimeError):  # the system has no more: it goes on with those here
                    made.start()
                    self._threads.append(made)
                    self._active += 1

    # in a thread

    def _work(self) -> None:
        while (batch := self._begun()) is not None:
            if batch.alone:
                self._let_in()
            self._run(batch)
            if self._gives_up(batch):
                self._turn.acquire()

    def _begun(self) -> _Batch | None:
        """Wait for the first one; None at the end."""
        job = self._jobs.get()
        if job is None:
            self._jobs.put(None)
            return None
        batch = _Batch(job, alone=self._average > LONG)
        with self._lock:
            self._running.add(batch)
        return batch

    def _gives_up(self, batch: _Batch) -> bool:
        """End a batch; whether another thread takes those who come."""
        late = time.monotonic() - PATIENCE
        with self._lock:
            self._running.discard(batch)
            another = self._active - 1 > len(self._running) or any(
                one.goes_on(late) for one in self._running
            )
            if another:
                self._active -= 1
                self._idle += 1
            return another

    def _joined(self, batch: _Batch) -> bool:
        """Take those who came meanwhile; whether there are any."""
        room = MOST - len(batch.ready) - len(batch.waiting)
        before = room
        while room > 0:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            batch.take(job)
            room -= 1
        return room < before

    def _run(self, batch: _Batch) -> None:
        """Go through all steps, as long as nobody takes over; with those who come meanwhile."""
        while True:
            while (job := _first(batch.ready)) is not None:
                self._step(batch, job)
            if not batch.alone and self._joined(batch):
                continue
            wanting: list[_Job] = []
            while (job := _first(batch.waiting)) is not None:
                wanting.append(job)
            if not wanting:
                return
            self._have_written([job.wanted for job in wanting if job.wanted is not None])
            batch.begun = time.monotonic()
            for job in wanting:
                job.wanted = None
                batch.take(job)
            del wanting, job  # held by nobody

    def _step(self, batch: _Batch, job: _Job) -> None:
        failure: BaseException | None = None
        ends = True
        try:
            job.wanted = next(job.steps)
            ends = False
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001 - for who waits
            failure = error
        now = time.monotonic()
        self._average += _WEIGHT * (now - batch.begun - self._average)
        batch.begun = now
        if ends:
            self._back.tell(job.over, failure)
        else:
            batch.take(job)

    def _have_written(self, members: Sequence[Member]) -> None:
        try:
            self._write(members)
        except Exception as error:  # noqa: BLE001 - it is raised where a result is taken
            for one in members:
                if not one.over:
                    one.fail(error)


def _first(queue: deque[_Job]) -> _Job | None:
    """Take the first one, if nobody else has."""
    try:
        return queue.popleft()
    except IndexError:
        return None
