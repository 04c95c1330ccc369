"""One server as several processes: they share its address, its ledger and its limits.

Each process is a whole server, with a ledger that it opens for itself; that several of them never
overspend together is the ledger's promise (`discreet.curator.ledger`). All listen at one socket,
and connections are divided evenly among those that are there (`discreet.server.dividing`). Rates
and "one question at a time" are counted in common (`discreet.server.together`); questions at once,
lines and connections are divided among the processes.

One that dies is started again; what it was asked stays charged, and goes on under its key at
another. A stop is handed on to all, and waited for, as long as it may take; who has not ended by
then, or soon after a second signal, is killed, and what it was asked stays charged. If the first
process dies, the others hear that its pipe has ended, and stop by themselves.
Tested by tests/server/test_several.py
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from discreet.engines.cores import any_core
from discreet.errors import ParameterError
from discreet.server.dividing import AWAY, Listening, Shares
from discreet.server.run import address_of, bound, longest_stop, run_here
from discreet.server.service import Service
from discreet.server.settings import Settings
from discreet.server.together import Together

__all__ = ["run_several"]

_TRIES = 5
"""So many processes in a row may end before they are ready, where none is ready."""
_PAUSE = 0.2
"""Seconds until one that ended is started again; up to 32 times as many if it was not ready."""

_CUT = 3.0
"""Seconds after a second signal until those are killed that are still there."""


def run_several(
    path: Path, settings: Settings, *, started: Callable[[str], None] = lambda _: None
) -> None:
    """Serve from several processes until this one is told to stop.

    Args:
        path: the policy file.
        settings: how they behave; `processes` says how many they are.
        started: told the address once all are ready.
    """
    with bound(settings) as listening, Together.made(settings.processes) as together:
        address = address_of(settings, listening)
        settings = settings.at(None, listening.getsockname()[1])
        crew = _Crew((path, settings, together), settings.processes, listening)
        crew.run(partial(started, address))


@dataclass(slots=True)
class _Worker:
    """One of the processes, the pipe on which it says that it is ready, and its number."""

    process: Any
    pipe: Connection
    place: int
    ready: bool = False


class _Crew:
    """The processes, and who looks after them.

    Args:
        given: what each process is given.
        many: how many there are.
        listening: where they listen.
    """

    def __init__(
        self, given: tuple[Path, Settings, Together], many: int, listening: socket.socket
    ) -> None:
        self._given, self._many, self._listening = given, many, listening
        self._shares = Shares(given[2].shares, many)
        self._first = any_core()
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._due: list[tuple[float, int]] = []
        self._stopping = self._asked = False  # told to stop, and by somebody
        self._until = math.inf  # then those are killed that have not stopped
        self._starting = False
        self._failed = 0

    def run(self, started: Callable[[], None]) -> None:
        """Start them, start those again that die, and wait for all in the end."""
        before = {number: signal.signal(number, self._told) for number in _SIGNALS}
        try:
            for place in range(self._first, self._first + self._many):
                self._start(place)
            told = False
            while self._workers or self._due:
                self._look()
                ready = sum(one.ready for one in self._workers)
                if not told and not self._stopping and ready == self._many:
                    told = True
                    started()
        finally:
            for one in self._workers:
                one.process.kill()
                one.process.join()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._failed >= _TRIES and not self._asked:
            problem = "were started, and end before they are ready; what they wrote says why"
            raise ParameterError("processes", self._many, problem)

    def _start(self, place: int) -> None:
        """Start a process, unless it was said meanwhile that all stop: also while it is started."""
        self._starting = True
        try:
            if not self._stopping:
                self._started(place)
        finally:
            self._starting = False
        if self._stopping:
            self._listening.close()

    def _started(self, place: int) -> None:
        ours, theirs = self._context.Pipe()
        told = (*self._given, self._listening, place, theirs)
        process = self._context.Process(target=_serve, args=told)
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours, place))
        if self._stopping:  # meanwhile
            os.kill(process.pid, signal.SIGTERM)  # type: ignore[arg-type]

    def _look(self) -> None:
        """Wait until something happens, and see to it."""
        pipes = [one.pipe for one in self._workers if not one.ready]
        wait([*pipes, *(one.process.sentinel for one in self._workers)], timeout=_PAUSE)
        for one in list(self._workers):
            if not one.ready and one.pipe.poll():
                one.ready = _heard(one.pipe)
                self._failed = 0 if one.ready else self._failed
            if one.process.exitcode is not None:
                self._ended(one)
        now = time.monotonic()
        for one in self._workers if now > self._until else ():
            one.process.kill()
        ripe = [place for due, place in self._due if due <= now]
        self._due = [one for one in self._due if one[0] > now]
        for place in () if self._stopping else ripe:
            self._start(place)

    def _ended(self, one: _Worker) -> None:
        self._workers.remove(one)
        self._shares.tell(one.place, AWAY)
        one.pipe.close()
        one.process.join()
        if self._stopping:
            return
        self._failed = 0 if one.ready else self._failed + 1
        if self._failed >= _TRIES and not any(other.ready for other in self._workers):
            self._stop(signal.SIGTERM)
            return
        later = _PAUSE * 2 ** min(self._failed, _TRIES)
        self._due.append((time.monotonic() + later, one.place))

    def _told(self, number: int, _: object) -> None:
        if self._asked:
            self._until = min(self._until, time.monotonic() + _CUT)
        self._asked = True
        self._stop(number)

    def _stop(self, number: int) -> None:
        """Hand a signal on to all; nothing is started any more."""
        if not self._stopping:
            self._until = time.monotonic() + longest_stop(self._given[1])
        self._stopping = True
        self._due.clear()
        if not self._starting:  # which hands it on
            self._listening.close()  # the last process that stops is then the last that listens
        for one in self._workers:
            if one.process.exitcode is None:
                os.kill(one.process.pid, number)


_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _heard(pipe: Connection) -> bool:
    """Whether a process has said that it is ready; not if it has ended."""
    try:
        return bool(pipe.recv() == "ready")
    except (EOFError, OSError):
        return False


def _serve(
    path: Path, settings: Settings, together: Together, listening: socket.socket, place: int,
    pipe: Connection,
) -> None:  # fmt: skip
    """One of the processes."""
    os.setsid()  # a key that is pressed is for the first process, which hands it on
    threading.Thread(target=_orphaned, args=(pipe,), daemon=True).start()
    service = Service(path, settings=settings)
    shares = Shares(together.shares, together.many)
    with Listening(listening, shares, place) as divided:

        def ready() -> None:
            divided.counted(0)
            pipe.send("ready")

        run_here(
            service, divided, together, place=place, counted=divided.counted, started=ready
        )  # fmt: skip


def _orphaned(pipe: Connection) -> None:
    """Stop where the first process is not there any more."""
    while True:
        try:
            pipe.recv()
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)
            return
