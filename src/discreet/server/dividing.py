"""Connections of one address, divided evenly among the processes of a server.

All processes listen at one socket, and who is ready first takes a connection. That alone would be
left to chance: of eight clients one process has six now and then, and the other waits. So a process
that has more connections than another leaves a new one to that for a moment, and takes it then
itself: nobody who is busy, stuck or dead keeps it from being answered.

How many each has stands in memory that they share; who is not there is told apart from who has
none. It decides where a connection is answered and never how, so that nothing hangs on it being
exact.
Tested by tests/server/test_dividing.py
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

__all__ = ["AWAY", "Listening", "Shares", "Taking"]

AWAY = 2**32 - 1
"""What a process has that is not there: more than any other."""
PATIENCE = 0.005
"""Seconds for which a connection is left to another process."""
_LONG = 1.0
"""Seconds without a question after which a connection is another one."""
_COUNT = struct.Struct("<I")
_FULL = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""What a system says that has no room for another connection."""
_LATER = 1.0
"""Seconds after which it is asked again."""


class Shares:
    """How many connections each of the processes has.

    Args:
        file: the number of an open file that all of them have.
        many: how many processes there are.
    """

    def __init__(self, file: int, many: int) -> None:
        self._many, self._map = many, mmap.mmap(file, many * _COUNT.size)

    def tell(self, place: int, many: int) -> None:
        """A process has so many now."""
        _COUNT.pack_into(self._map, place % self._many * _COUNT.size, many)

    def of(self, place: int) -> int:
        """How many a process has."""
        return int(_COUNT.unpack_from(self._map, place % self._many * _COUNT.size)[0])

    def others(self, place: int) -> tuple[int, ...]:
        """How many each of the others has."""
        mine = place % self._many
        return tuple(self.of(other) for other in range(self._many) if other != mine)


class Listening(socket.socket):
    """A socket at which several processes listen.

    Args:
        given: the socket, which is this one from now on.
        shares: who has how many.
        place: the number of this process.
    """

    def __init__(self, given: socket.socket, shares: Shares, place: int) -> None:
        super().__init__(given.family, given.type, given.proto, fileno=given.detach())
        self._shares, self._place = shares, place
        self._left, self._asked = 0.0, 0.0
        self._seen: tuple[int, ...] = ()

    def counted(self, many: int) -> None:
        """This process has so many connections now."""
        self._shares.tell(self._place, many)

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; BlockingIOError where there is none, or it is left to another."""
        if self._is_left():
            raise BlockingIOError
        found = super().accept()
        self.counted(self._shares.of(self._place) + 1)  # exactly, as soon as it is begun
        return found

    def _is_left(self) -> bool:
        """Whether the connection that waits is left to another process, which has fewer.

        It is another one than before if somebody else has more or fewer than before, or nobody has
        asked for long; a busy process asks seldom, and its patience ends all the same.
        """
        others = self._shares.others(self._place)
        if not others or min(others) >= self._shares.of(self._place):
            return False
        now = time.monotonic()
        if others != self._seen or now - self._asked > _LONG:
            self._seen, self._left = others, now
        self._asked = now
        return now - self._left < PATIENCE


class Taking:
    """Takes connections from such a socket, one whenever there are some; used as a server of an
    event loop, which would take all that there are, and may do so without asking the socket.

    Args:
        listening: the socket.
        begin: begins a connection.
    """

    def __init__(
        self, listening: Listening, begin: Callable[[socket.socket], Awaitable[object]]
    ) -> None:
        self._listening, self._begin = listening, begin
        self._loop = asyncio.get_running_loop()
        self._later: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        listening.settimeout(0)
        self._listen()

    def _listen(self) -> None:
        self._later = None
        self._loop.add_reader(self._listening.fileno(), self._take)

    def _take(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self._loop.remove_reader(self._listening.fileno())
            self._later = self._loop.call_later(_LATER, self._listen)
            return
        connection.settimeout(0)
        task = self._loop.create_task(self._begun(connection))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begun(self, connection: socket.socket) -> None:
        """Begin one; who ends it before it is begun, or cannot encrypt, is no matter to others."""
        with suppress(OSError):  # those of TLS as well
            await self._begin(connection)

    def close(self) -> None:
        """Take no more."""
        if self._later is not None:
            self._later.cancel()
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening.fileno())

    async def wait_closed(self) -> None:
        """Nobody waits here: connections end by themselves."""
