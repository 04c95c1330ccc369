"""Run the server: bind, say where it is, stop gracefully.

A stop waits for questions that are being answered, up to the longest deadline; what does not end by
then stays charged, and goes on when it is asked again under its key.
Tested by tests/server/test_run.py
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from discreet.errors import ParameterError
from discreet.server.app import make_app
from discreet.server.service import Service
from discreet.server.settings import Settings

__all__ = ["address_of", "run"]

_GRACE = 10
"""Seconds beyond the longest deadline that a stop waits."""


def bound(settings: Settings) -> socket.socket:
    """The socket that the server listens at; refused where somebody else does."""
    server = settings.server
    host = server.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, server.port))
        made.listen(512)
    except OSError as error:
        made.close()
        problem = f"cannot be listened at ({error.strerror}); choose another with --port"
        raise ParameterError("address", f"{server.host}:{server.port}", problem) from None
    return made


def address_of(settings: Settings, listening: socket.socket) -> str:
    """Where the server is, for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104 - it is shown
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.server.certificate is not None else "http"
    return f"{scheme}://{shown}:{port}"


def run(service: Service, *, started: Callable[[str], None] = lambda _: None) -> None:
    """Serve until the process is told to stop.

    Args:
        service: what is served; it is closed in the end.
        started: told the address once it listens.
    """
    import uvicorn  # noqa: PLC0415 - only who serves needs it

    settings = service.settings
    server = settings.server
    listening = bound(settings)
    tls: dict[str, Any] = {}
    if server.certificate is not None and server.private_key is not None:
        tls = {"ssl_certfile": server.certificate, "ssl_keyfile": server.private_key}
    config = uvicorn.Config(
        make_app(service), log_level="warning", access_log=False, server_header=False,
        date_header=False, proxy_headers=False, lifespan="on", timeout_keep_alive=75, **tls,
        timeout_graceful_shutdown=int(server.deadlines[-1]) + _GRACE, limit_concurrency=512,
        h11_max_incomplete_event_size=32 * 1024, ws="none",
    )  # fmt: skip
    started(address_of(settings, listening))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
