"""Connections that say nothing, or say it slowly, are ended; one address holds only so many.

uvicorn waits for the head of a request for ever, and a few hundred waiting connections would keep
everybody else out. Here a connection is closed unless a head is whole in time, counted from its
first byte, or from the beginning of the connection. A body that is slow is for `Guard`.
Tested by tests/server/test_connections.py
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.server.settings import Settings

__all__ = ["Connection", "connections_of"]

MOST = 128
"""Connections of one address; behind a proxy all come from one, and the proxy has to count."""


class Connection(H11Protocol):
    """One connection.

    Attributes:
        slowest: seconds in which the head of a request has to be there.
        most: connections that one address may have; None for any number.
    """

    slowest: float = 10.0
    most: int | None = MOST
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait, unless there are too many of this address."""
        super().connection_made(transport)
        self._wait()
        if self.most is not None and self.client is not None:
            address = self.client[0]
            there = sum(
                isinstance(one, Connection) and one.client is not None and one.client[0] == address
                for one in self.connections
            )
            if there > self.most:
                transport.close()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; go on waiting until a head is whole."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._stop_waiting()
        elif self._head is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._head = self.loop.call_later(self.slowest, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def connections_of(settings: Settings) -> type[Connection]:
    """Connections under the limits of a server."""
    most = None if settings.behind_proxy else settings.part(MOST)
    return type("Connection", (Connection,), {"slowest": settings.slowest_body, "most": most})
