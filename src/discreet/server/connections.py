"""Connections that say nothing, or say it slowly, are ended; one address holds only so many.

uvicorn waits for the head of a request for ever, and a few hundred waiting connections would keep
everybody else out. Here a connection is closed unless a head is whole in time, counted from its
first byte, or from the beginning of the connection. A body that is slow is for `Guard`.

Between two requests of uvicorn's, `Lane` may answer one: from whole bytes to whole bytes, while
uvicorn's parser stays where it is. What comes meanwhile is held back. A body that follows its head
at once is waited for, for a moment; what is not there then is no request for the lane.

What uvicorn refuses by itself (what is no HTTP, and requests of too many connections) is told in
the one form of all failures.
Tested by tests/server/test_connections.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import h11
from fastapi import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.server.guard import App, Guard
from discreet.server.lane import Asked, Head, Lane, Part
from discreet.server.problems import Problem
from discreet.server.settings import Settings

__all__ = ["Connection", "connections_of"]

MOST = 128
"""Connections of one address; behind a proxy all come from one, and the proxy has to count."""
_MOMENT = 0.05
"""Seconds in which a body that follows its head at once is there."""
_UNREADABLE = "the request is no HTTP that can be read in one way; nothing was charged"


class Connection(H11Protocol):
    """One connection.

    Attributes:
        slowest: seconds in which the head of a request has to be there.
        most: connections that one address may have; None for any number.
        lane: what answers most requests; None where nothing does.
        counted: told how many connections there are, whenever that changes; None for nobody.
        guard: knows the form of a refusal; None for uvicorn's own.
    """

    guard: Guard | None = None
    slowest: float = 10.0
    most: int | None = MOST
    lane: Lane | None = None
    counted: Callable[[int], None] | None = None
    _head: asyncio.TimerHandle | None = None
    _moment: asyncio.TimerHandle | None = None
    _before: Head | None = None
    _held, _last, _asking = b"", False, False
    _most_at_once: int | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if self.guard is not None:  # which refuses, instead of uvicorn
            self._most_at_once, self.limit_concurrency = self.limit_concurrency, None

    @property
    def app(self) -> App:
        """What answers the next request."""
        if self.guard is not None and self._is_crowded():
            return self.guard.crowded
        return self._app

    @app.setter
    def app(self, app: App) -> None:
        self._app = app

    def _is_crowded(self) -> bool:
        """Whether there are more connections than this server has."""
        most = self._most_at_once if self.guard is not None else self.limit_concurrency
        return most is not None and max(len(self.connections), len(self.tasks)) >= most

    def send_400_response(self, msg: str) -> None:
        """Tell that what came is no HTTP, and end the connection."""
        if self.guard is None:
            super().send_400_response(msg)
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = Problem("malformed", _UNREADABLE)
            headers, body = self.guard.refused(problem)
            first = h11.Response(status_code=problem.status, headers=headers, reason=b"Bad Request")
            bodies = () if self._is_head() else (h11.Data(data=body),)
            for event in (first, *bodies, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_head(self) -> bool:
        """Whether what is being answered asks for headers alone."""
        return self.conn.our_state is h11.SEND_RESPONSE and self.scope["method"] == "HEAD"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait, unless there are too many of this address."""
        super().connection_made(transport)
        self._count()
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
        """Take some bytes, for the lane or for uvicorn."""
        if self._held:
            data = self._held + data
        if self._asking:  # one after the other
            self._held = data
            self.flow.pause_reading()
            return
        self._held = b""
        asked: Asked | Part = Part.OTHER
        if self.lane is not None and self._is_between():
            asked = self.lane.read(data, self._before)
        if asked is Part.MORE:
            self._held = data
            if self._moment is None:
                self._moment = self.loop.call_later(_MOMENT, self._take_held)
            return
        self._no_moment()
        if isinstance(asked, Asked):
            self._begin(asked, data)
        else:
            self._take(data)

    def _is_between(self) -> bool:
        """Whether uvicorn waits for a request, would take it, and has nothing of it yet."""
        conn = self.conn
        return (
            conn.their_state is h11.IDLE
            and conn.our_state is h11.IDLE
            and not conn.trailing_data[0]
            and not self.flow.write_paused
            and not self._is_crowded()
        )

    def _take(self, data: bytes) -> None:
        """Let uvicorn have some bytes; go on waiting until a head is whole."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._stop_waiting()
        elif self._head is None:
            self._wait()

    def _take_held(self) -> None:
        """Let uvicorn have what was held for the lane."""
        data, self._held, self._moment = self._held, b"", None
        self._take(data)

    def _begin(self, asked: Asked, data: bytes) -> None:
        """Have the lane answer a request, which are these bytes."""
        self._stop_waiting()
        self._unset_keepalive_if_required()
        lane = cast("Lane", self.lane)
        lane.guard.running += 1
        self._asking, self._before = True, asked.head
        if not lane.begin(asked, self._told):
            task = self.loop.create_task(self._answer(asked, data))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _answer(self, asked: Asked, data: bytes) -> None:
        try:
            response = await cast("Lane", self.lane).answer(asked)
        except BaseException:  # it is cut short
            self._told(None)
            raise
        if response is not None:
            self._told(response)
        elif self._is_over():
            self._take(data)
            self._go_on()

    def _told(self, response: Response | None) -> None:
        """Send what came of a request; None if nothing did, and there is nothing to say."""
        if not self._is_over():
            return
        if response is None:
            self.transport.close()
            return
        self.transport.write(cast("Lane", self.lane).written(response, last=self._last))
        self.on_response_complete()
        self._go_on()

    def _is_over(self) -> bool:
        """The lane is done with a request; whether anybody listens still."""
        cast("Lane", self.lane).guard.running -= 1
        self._asking = False
        return not self.transport.is_closing()

    def _go_on(self) -> None:
        """End the connection, or take what came meanwhile."""
        if self._last:
            self.shutdown()
        elif self._held:
            held, self._held = self._held, b""
            self.flow.resume_reading()
            self.data_received(held)

    def shutdown(self) -> None:
        """End it, once what is being answered is."""
        self._last = True
        if not self._asking:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        self._no_moment()
        super().connection_lost(exc)
        self._count()

    def _count(self) -> None:
        if self.counted is not None:
            self.counted(len(self.connections))

    def _wait(self) -> None:
        self._head = self.loop.call_later(self.slowest, self.timeout_keep_alive_handler)

    def _no_moment(self) -> None:
        if self._moment is not None:
            self._moment.cancel()
            self._moment = None

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def connections_of(
    settings: Settings,
    lane: Lane | None = None,
    counted: Callable[[int], None] | None = None,
    guard: Guard | None = None,
) -> type[Connection]:
    """Connections under the limits of a server.

    Args:
        settings: its limits.
        lane: what answers most requests; None where nothing does.
        counted: told how many there are, whenever that changes; None for nobody.
        guard: knows the form of a refusal; None for uvicorn's own.
    """
    most = None if settings.behind_proxy else settings.part(MOST)
    told = None if counted is None else staticmethod(counted)
    own: dict[str, Any] = {"most": most, "lane": lane, "counted": told, "guard": guard}
    own["slowest"] = settings.slowest_body
    return type("Connection", (Connection,), own)
