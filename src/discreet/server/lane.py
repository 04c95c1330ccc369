"""The way of most requests: a question with a key, without the framework's search for its route.

Finding a route, solving what it depends on in threads of their own and reading the body again takes
longer than an answer's noise. What is as usual here (a body that fits, a key that is sent) is
handed to the same functions as by the route; everything else goes to the route, which says what is
wrong with it. Nothing is decided here that the route does not decide.
Tested by tests/server/test_lane.py
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from fastapi import FastAPI, Request, Response
from pydantic import ValidationError

from discreet.server.api.models import Ask
from discreet.server.api.questions import answered
from discreet.server.guard import BODY, Receive, Scope, Send
from discreet.server.identity import asker, service_of

__all__ = ["Lane"]

_KEY = re.compile(r"[0-9A-Za-z_-]{1,55}", re.ASCII)
Failed = Callable[[Request, Exception], Response]


class Lane:
    """An ASGI application around that of the routes.

    Args:
        app: the routes.
        failed: what is told of whatever is raised.
    """

    def __init__(self, app: FastAPI, failed: Failed) -> None:
        self.app, self._failed = app, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] != "/api/ask" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        scope["app"] = self.app
        request = Request(scope, receive)
        named = request.headers.get("idempotency-key")
        question = _usual(request, named)
        if question is None:
            await self.app(scope, receive, send)
            return
        try:
            near = service_of(request).ledger.is_near
            who = asker(request) if near else await asyncio.to_thread(asker, request)
            response = await answered(request, question, who, named)
        except Exception as error:  # noqa: BLE001 - as the routes tell it
            response = self._failed(request, error)
        await response(scope, receive, send)


def _usual(request: Request, named: str | None) -> Ask | None:
    """The question of a request with a key and a body that fits; None for any other."""
    if "authorization" not in request.headers or BODY not in request.scope:
        return None
    if named is not None and not _KEY.fullmatch(named):
        return None
    try:
        return Ask.model_validate(request.scope[BODY])
    except ValidationError:
        return None
