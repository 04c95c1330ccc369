"""uvicorn's server, with a stop that lets requests end, and connections that are divided.

Tested by tests/server/test_stopping.py, tests/server/test_several.py
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import uvicorn

from discreet.server.dividing import Listening, Taking
from discreet.server.guard import Guard

__all__ = ["Stopping", "stop"]


def stop(guard: Guard, longest: float) -> None:
    """Begin nothing more; what runs has so many seconds."""
    guard.stopping, guard.until = True, time.monotonic() + longest


class Stopping(uvicorn.Server):
    """A server that stops as `discreet.server.run` says.

    Args:
        config: uvicorn's.
        guard: what answers.
        longest: seconds that requests have from the beginning of a stop.
        started: told once it listens.
        cut: told that a stop is cut short.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        guard: Guard,
        *,
        longest: float,
        started: Callable[[], None],
        cut: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._guard, self._longest, self._told, self._cut = guard, longest, started, cut

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - as uvicorn calls it
        """Begin nothing more; what runs has its time. The second time nobody is waited for."""
        if self._guard.stopping:
            self.should_exit = self.force_exit = True
            self._cut()
            return
        stop(self._guard, self._longest)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; also where nobody is waited for the ledger is closed."""
        await super().shutdown(sockets)
        if self.force_exit:
            for one in list(self.server_state.tasks):
                one.cancel()
            await self.lifespan.shutdown()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; what is divided is left to nobody else, since a loop in C takes all there is."""
        given = sockets or []
        divided = [one for one in given if isinstance(one, Listening)]
        await super().startup([one for one in given if not isinstance(one, Listening)])
        servers: list[Any] = self.servers
        servers += [Taking(one, self._begin) for one in divided]
        if self.started:
            self._told()

    async def _begin(self, connection: socket.socket) -> None:
        """Begin a connection that was taken."""
        made: Any = self.config.http_protocol_class
        given = {"config": self.config, "server_state": self.server_state}

        def protocol() -> asyncio.Protocol:
            return made(app_state=self.lifespan.state, **given)  # type: ignore[no-any-return]

        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(protocol, connection, ssl=self.config.ssl)

    async def on_tick(self, counter: int) -> bool:
        """Whether it is over."""
        guard = self._guard
        if guard.stopping and (guard.running == 0 or time.monotonic() > guard.until):
            self.should_exit = True
        return await super().on_tick(counter)
