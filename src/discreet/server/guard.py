"""Before and behind every route: which host was meant, how long a body may be, which headers go.

Written for ASGI itself: a body is counted while it arrives, a slow one is cut off, and no route
begins before all of it is there. What two readers could read in two ways is refused: a header that
is there twice, a body with two lengths, JSON with a name twice, with numbers that are none or
larger than anybody needs, or nested deeper than any request here.

A server that stops finishes what it has begun and begins nothing more.
Tested by tests/server/test_guard.py
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from discreet.remembered import share
from discreet.server.problems import Problem
from discreet.server.settings import LONGEST_BODY, Settings

if TYPE_CHECKING:
    from discreet.server.lane import Lane

__all__ = ["BODY", "App", "Guard", "Receive", "Scope", "Send", "headers_of", "is_json", "read_json"]

BODY = "discreet.body"
"""What the JSON of a request says, in its scope."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
_ONCE = (
    b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key", b"origin",
    b"transfer-encoding", b"x-csrf-token",
)  # fmt: skip
"""Headers of which a second one would be read by one and not by another."""
_DEEPEST, _DIGITS = 32, 400
_STOPPING = "this server is stopping; nothing was charged"
_CROWDED = "there are too many connections at once; nothing was charged"
_FAILED = "something failed, and the data owner can see what"
_LARGE = f"a request may have at most {LONGEST_BODY:,} bytes"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
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

    Attributes:
        stopping: whether nothing is begun any more.
        running: how many requests are being answered; those after its health do not count.
        until: when a stop waits for them no longer.
        lane: what answers most requests before they come here; None where nothing does.
    """

    lane: Lane | None = None

    def __init__(self, app: App, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self.stopping, self.running, self.until = False, 0, 0.0
        self._names = settings.names
        told = {**headers_of(settings), "cache-control": "no-store"}
        self._headers = [(k.encode(), v.encode()) for k, v in told.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        share()  # its context may be a copy of that of the request before
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/health/"):
            await self._answer(scope, receive, send)
            return
        self.running += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self.running -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": self.dressed(message.get("headers", ()))}
            await send(message)

        try:
            headers = self._check(scope)
            await self._app(scope, await self._whole(scope, headers, receive), sending)
        except Problem as problem:
            if begun:
                raise
            await _tell(problem, sending)
        except Exception:
            if not begun:  # the form is the usual one, whatever it is
                await _tell(Problem("internal", _FAILED), sending)
            raise

    def dressed(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers of an answer, with those that every answer has."""
        found = list(given)
        names = {name.lower() for name, _ in found}
        found += [one for one in self._headers if one[0] not in names]
        return found

    def refused(self, problem: Problem) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """The headers and the body of a refusal, with which the connection ends."""
        headers, body = _told(problem)
        return self.dressed(headers), body

    async def crowded(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Refuse a request, as an application, because there are too many connections."""
        await _tell(Problem("busy", _CROWDED, headers={"Retry-After": "1"}), send, self.dressed)

    def is_called(self, host: bytes) -> bool:
        """Whether what a request says of its host is a name of this server."""
        said = _HOST.fullmatch(host.decode("latin-1").lower())
        names = self._names
        return said is not None and (not names or said[0] in names or said[1] in names)

    def _check(self, scope: Scope) -> dict[bytes, bytes]:
        """The headers of which there may be one; Problem for a request that is refused by them."""
        headers = _single(scope)
        host = headers.get(b"host", b"")
        if not self.is_called(host):
            known = _HOST.fullmatch(host.decode("latin-1").lower()) is not None
            words = (
                "this server is not called by that name" if known else "a request names one host"
            )
            raise Problem("malformed", words)
        if b"content-length" in headers and b"transfer-encoding" in headers:
            raise Problem("malformed", "a body has one length")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 20 or int(length) > LONGEST_BODY:
            raise Problem("too_large", _LARGE)
        if self.stopping and not scope["path"].startswith("/health/"):
            raise Problem("busy", _STOPPING, headers={"Retry-After": "1"})
        return headers

    async def _whole(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Receive:
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
        if body and scope["path"].startswith("/api/"):
            if not is_json(headers.get(b"content-type", b"")):
                raise Problem("media", "send JSON, as application/json")
            scope[BODY] = read_json(body)
        told = False

        async def receiving() -> Message:
            nonlocal told
            if told:
                return await receive()  # only to hear that the asker has gone
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        return receiving


def _single(scope: Scope) -> dict[bytes, bytes]:
    """The headers of which there may be one."""
    found: dict[bytes, bytes] = {}
    for given, value in scope["headers"]:
        name = given.lower()
        if name in _ONCE:
            if name in found:
                raise Problem("malformed", f"{name.decode()} is there twice")
            found[name] = value
    return found


def is_json(kind: bytes) -> bool:
    """Whether a content type is that of JSON."""
    return kind.partition(b";")[0].strip().lower() == b"application/json"


def read_json(body: bytes) -> Any:
    """JSON that every reader reads alike; Problem for any other.

    >>> read_json(b'{"epsilon": "0.5"}')
    {'epsilon': '0.5'}
    """
    try:
        found = _read(body.decode("utf-8"))
        if _deeper(found, _DEEPEST):
            raise Problem("malformed", "the JSON is nested too deeply")
    except (ValueError, RecursionError):
        raise Problem("malformed", "the body is no JSON in UTF-8 that can be read") from None
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Problem("malformed", "the JSON has a name twice")
    return found


def _no_number(said: str) -> Any:
    raise Problem("malformed", f"{said} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise Problem("malformed", "the JSON has a number that is too long")
    return int(digits)


_read = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_no_number, parse_int=_integer
).decode
_NESTED = (list, dict)


def _deeper(value: object, most: int) -> bool:
    """Whether lists and objects are nested deeper than this."""
    if not isinstance(value, _NESTED):
        return False
    if most == 0:
        return True
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, _NESTED) and _deeper(one, most - 1):
            return True
    return False


def _told(problem: Problem) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers and the body of a refusal."""
    body = json.dumps(problem.told()).encode()
    headers = {
        "content-type": "application/json", "content-length": str(len(body)),
        "connection": "close", **{k.lower(): v for k, v in problem.headers.items()},
    }  # fmt: skip
    return [(k.encode(), v.encode()) for k, v in headers.items()], body


async def _tell(
    problem: Problem,
    send: Send,
    dress: Callable[[list[tuple[bytes, bytes]]], list[tuple[bytes, bytes]]] = list,
) -> None:
    headers, body = _told(problem)
    told = {"status": problem.status, "headers": dress(headers)}
    await send({"type": "http.response.start", **told})
    await send({"type": "http.response.body", "body": body})
