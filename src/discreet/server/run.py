"""Run the server: bind, say where it is, stop gracefully.

A stop begins with `/health/ready` saying 503, and nothing more is begun; requests that are being
answered are waited for, up to the longest deadline; then nothing is listened to any more. What does
not end by then stays charged, and goes on when it is asked again under its key. A second signal
cuts that short: nobody is waited for any more, and what does not end within a second is left as
by a crash, which the ledger survives. The process ends with 0 either way.
Tested by tests/server/test_run.py
"""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.engines.cores import any_core, staying
from discreet.errors import ParameterError
from discreet.server.app import make_app
from discreet.server.guard import Guard
from discreet.server.lane import Lane
from discreet.server.service import Service
from discreet.server.settings import Settings
from discreet.server.together import Together

if TYPE_CHECKING:
    import uvicorn

__all__ = [
    "address_of",
    "bound",
    "in_thread",
    "longest_stop",
    "run",
    "run_here",
    "server_around",
    "server_of",
    "serving",
]

_GRACE = 10
"""Seconds beyond the longest deadline that a stop waits."""
_CUT = 1.0
"""Seconds that a process has to end after a second signal."""
_PAUSE = 0.01
_GARBAGE = 10_000
"""New objects after which those are looked through that may be garbage."""
_CONNECTIONS = 512
"""Connections at once; who comes later is told 503."""


def bound(settings: Settings) -> socket.socket:
    """The socket that the server listens at; refused where somebody else does."""
    server = settings.server
    host = server.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a body waits for its head
        made.bind((host, server.port))
        made.listen(_CONNECTIONS)
    except OSError as error:
        made.close()
        problem = f"cannot be listened at ({error.strerror}); choose another with --port"
        where = f"{server.host}:{server.port}"
        raise ParameterError("address", where, problem, "nothing is served") from None
    return made


def address_of(settings: Settings, listening: socket.socket) -> str:
    """Where the server is, for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104 - it is shown
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.server.certificate is not None else "http"
    return f"{scheme}://{shown}:{port}"


def server_of(
    service: Service,
    together: Together | None = None,
    *,
    counted: Callable[[int], None] | None = None,
    started: Callable[[], None] = lambda: None,
    cut: Callable[[], None] = lambda: None,
) -> uvicorn.Server:
    """The server of a curator, ready to run.

    Args:
        service: the curator.
        together: where it meets the other processes of the same server; None if there are none.
        counted: told how many connections there are, whenever that changes.
        started: told once it listens.
        cut: told that a stop is cut short.
    """
    guard = make_app(service, together)
    return server_around(
        guard, service.settings, lane=guard.lane, counted=counted, started=started, cut=cut
    )


def server_around(
    guard: Guard,
    settings: Settings,
    *,
    lane: Lane | None = None,
    counted: Callable[[int], None] | None = None,
    started: Callable[[], None] = lambda: None,
    cut: Callable[[], None] = lambda: None,
) -> uvicorn.Server:
    """A server, ready to run: with limits of its own, and a stop that lets requests end.

    Args:
        guard: what answers.
        settings: limits.
        lane: what answers most requests before the guard; None where nothing does.
        counted: told how many connections there are, whenever that changes.
        started: told once it listens.
        cut: told that a stop is cut short.
    """
    import uvicorn  # noqa: PLC0415 - only who serves needs it

    from discreet.server.connections import connections_of  # noqa: PLC0415
    from discreet.server.stopping import Stopping  # noqa: PLC0415

    longest = int(settings.server.deadlines[-1]) + _GRACE
    config = uvicorn.Config(
        guard, log_level="error", access_log=False, server_header=False, date_header=False,
        proxy_headers=False, lifespan="on", timeout_keep_alive=75, ws="none",
        timeout_graceful_shutdown=_GRACE, limit_concurrency=settings.part(_CONNECTIONS),
        backlog=_CONNECTIONS, http=connections_of(settings, lane, counted, guard),
        h11_max_incomplete_event_size=32 * 1024, **_tls(settings),
    )  # fmt: skip

    return Stopping(config, guard, longest=longest, started=started, cut=cut)


def _tls(settings: Settings) -> dict[str, Any]:
    server = settings.server
    if server.certificate is None or server.private_key is None:
        return {}
    return {"ssl_certfile": server.certificate, "ssl_keyfile": server.private_key}


def longest_stop(settings: Settings) -> float:
    """Seconds within which a server that is told to stop has ended, if nothing keeps it."""
    return int(settings.server.deadlines[-1]) + 3 * _GRACE  # requests, connections, itself


def run(service: Service, *, started: Callable[[str], None] = lambda _: None) -> None:
    """Serve until the process is told to stop.

    Args:
        service: what is served; it is closed in the end.
        started: told the address once it serves.
    """
    with bound(service.settings) as listening:
        address = address_of(service.settings, listening)
        run_here(service, listening, started=partial(started, address))


def run_here(
    service: Service,
    listening: socket.socket,
    together: Together | None = None,
    *,
    place: int | None = None,
    counted: Callable[[int], None] | None = None,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve from this process, which does nothing else, on one core.

    What is there once it has started stays: it is not looked through for garbage again, which takes
    a tenth of a question's time, and now and then far longer.

    Args:
        service: what is served; it is closed in the end.
        listening: where.
        together: where it meets the other processes of the same server; None if there are none.
        place: its number among them, so that each has a core of its own; any if nobody says.
        counted: told how many connections it has, whenever that changes.
        started: told once it serves.
    """

    def ready() -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])
        started()

    before = gc.get_threshold()
    leaving = threading.Timer(_CUT, os._exit, (0,))
    leaving.daemon = True

    def cut() -> None:
        if leaving.ident is None:
            leaving.start()

    try:
        with staying(any_core() if place is None else place):
            server = server_of(service, together, counted=counted, started=ready, cut=cut)
            server.run(sockets=[listening])
    finally:
        leaving.cancel()
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """Serve from a thread of this process, for notebooks and tests; the address.

    Args:
        service: what is served; it is closed in the end.
    """
    with in_thread(server_of(service), bound(service.settings)) as listening:
        yield address_of(service.settings, listening)


@contextmanager
def in_thread(server: uvicorn.Server, listening: socket.socket) -> Iterator[socket.socket]:
    """Run a server in a thread while it is needed; where it listens, which is closed in the end."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(_PAUSE)
        yield listening
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
