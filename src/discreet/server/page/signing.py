"""Signing in and out.

Guarantee. Whoever tries to sign in learns from words and time whether name and password fit, and
nothing of which of them did not. A session's token is new each time, and lives in a cookie that no
script reads, no other site's page sends, and no other host or plain connection gets.
Tested by tests/server/page/test_signing.py
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from discreet.server.identity import COOKIE, address_of, origin_is_own, service_of, session_of
from discreet.server.page.frame import HOME, form_of, local, on_page, render
from discreet.server.problems import Problem

__all__ = ["routes"]

routes = APIRouter(tags=["page"], include_in_schema=False)
_FLAGS: dict[str, Any] = {"path": "/", "secure": True, "httponly": True, "samesite": "strict"}
_LONGEST = 200
_WRONG = Problem(
    "unauthorized", "this name and password do not fit",
    fix="Try again, or ask the data owner for a new password.",
)  # fmt: skip


@routes.get("/login")
def login_page(request: Request, next: str | None = None) -> Response:
    """The form; who is signed in already goes on."""
    session = session_of(request)
    if session is not None:
        return RedirectResponse(local(next) or HOME[session.credential.person.role], 303)
    return _form(request, after=local(next))


@routes.post("/login")
async def login(request: Request) -> Response:
    """Sign in, and go on to where somebody wanted to go."""
    if not origin_is_own(request):
        raise Problem("forbidden", "this was not sent by a page of this server; load it again")
    fields = await form_of(request)
    name, password = fields.get("name", "")[:_LONGEST], fields.get("password", "")[:1000]
    after = local(fields.get("next"))
    logins, access = request.app.state.logins, service_of(request).access
    try:
        logins.take(f"address {address_of(request)}")
        logins.take(f"name {name}")
    except Problem as problem:
        return _form(request, after=after, name=name, problem=problem)
    found = await run_in_threadpool(access.login, name, password)
    if found is None:
        return _form(request, after=after, name=name, problem=_WRONG)
    token, session = found
    before = request.cookies.get(COOKIE)
    if before is not None and len(before) <= _LONGEST:
        await run_in_threadpool(access.logout, before)
    made = RedirectResponse(after or HOME[session.credential.person.role], 303)
    made.set_cookie(COOKIE, token, **_FLAGS)
    return made


def _form(
    request: Request, *, after: str | None, name: str = "", problem: Problem | None = None
) -> Response:
    told = None if problem is None else on_page(problem)
    status = 200 if problem is None else problem.status
    made = render(
        request, "login.html", status=status, after=after or "", name=name, problem=told
    )  # fmt: skip
    if problem is not None:
        made.headers.update(problem.headers)
    return made


@routes.post("/logout")
async def logout(request: Request) -> Response:
    """End the session."""
    session = await run_in_threadpool(session_of, request)
    if session is not None:
        await form_of(request, session=session)
        await run_in_threadpool(service_of(request).access.logout, request.cookies[COOKIE])
    made = RedirectResponse("/login", 303)
    made.delete_cookie(COOKIE, **_FLAGS)
    return made
