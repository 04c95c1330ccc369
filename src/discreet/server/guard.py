"""Before and behind every route: which host was meant, how long a body may be, which headers go.

Written for ASGI itself: a body is counted while it arrives, a slow one is cut off, and no route
begins before all of it is there.
Tested by tests/server/test_guard.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.server.problems import Problem
from discreet.server.settings import LONGEST_BODY, Settings

__all__ = ["Guard", "headers_of"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LARGE = f"a request may have at most {LONGEST_BODY:,} bytes"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}


def headers_of(settings: Settings) -> dict[str, str]:
    """The headers of every answer."""
    more = {"strict-transport-security": "max-age=31536000"} if settings.secure else {}
    return {**_HEADERS, **more}


class Guard:
    """An ASGI application around another.

    Args:
        app: what answers.
        settings: names, limits.
    """

    def __init__(self, app: App, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._headers = [(k.encode(), v.encode()) for k, v in headers_of(settings).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = list(message.get("headers", []))
                names = {name.lower() for name, _ in given}
                given += [one for one in self._headers if one[0] not in names]
                if b"cache-control" not in names:
                    given.append((b"cache-control", b"no-store"))
                message = {**message, "headers": given}
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, await self._whole(receive), sending)
        except Problem as problem:
            if begun:
                raise
            await _tell(problem, sending)

    def _check(self, scope: Scope) -> None:
        headers = [(name.lower(), value) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        names = self._settings.names
        if len(hosts) != 1:
            raise Problem("malformed", "a request names one host")
        host = hosts[0].decode("latin-1").lower()
        bare = host if host.endswith("]") else host.rpartition(":")[0] or host
        if names and bare not in names and host not in names:
            raise Problem("malformed", "this server is not called by that name")
        lengths = [value for name, value in headers if name == b"content-length"]
        if any(not value.isdigit() or int(value) > LONGEST_BODY for value in lengths):
            raise Problem("too_large", _LARGE)

    async def _whole(self, receive: Receive) -> Receive:
        """Wait for all of a body, and hand it on in one piece."""
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._settings.slowest_body):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Problem("late", "the request ended before it was whole")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False)
                    if size > LONGEST_BODY:
                        raise Problem("too_large", _LARGE)
        except TimeoutError:
            raise Problem("late", "the request took too long to arrive") from None
        body = b"".join(parts)
        told = False

        async def receiving() -> Message:
            nonlocal told
            if told:
                return await receive()  # only to hear that the asker has gone
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        return receiving


async def _tell(problem: Problem, send: Send) -> None:
    body = json.dumps(problem.told()).encode()
    headers = {
        "content-type": "application/json", "content-length": str(len(body)),
        "connection": "close", **{k.lower(): v for k, v in problem.headers.items()},
    }  # fmt: skip
    told = [(k.encode(), v.encode()) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": told})
    await send({"type": "http.response.body", "body": body})
