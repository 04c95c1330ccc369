"""Who asks: a key in the header, or a session of the page; and which roles may do what.

Deny by default: a route without a role here is refused when the server is made (`checked_routes`).
Tested by tests/server/test_identity.py
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute

from discreet.curator.access import Credential, Session
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = [
    "COOKIE", "CSRF", "Analysts", "Anyone", "Askers", "Auditors", "Owner", "check_own",
    "checked_routes", "origin_is_own", "service_of", "session_of",
]  # fmt: skip

COOKIE = "__Host-discreet"
CSRF = "X-CSRF-Token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_WRONG = "this key is not known here, has ended or was revoked"


def service_of(request: Request) -> Service:
    """The service behind the application."""
    return cast("Service", request.app.state.service)


def _credential(request: Request) -> Credential:
    """Who asks, by key or by session; Problem where nobody is known."""
    found = request.state.who = _known(request)
    return found


def _known(request: Request) -> Credential:
    state = request.app.state
    said = request.headers.get("authorization")
    if said is not None:
        scheme, _, key = said.partition(" ")
        address = request.client.host if request.client else ""
        found = None
        if scheme.lower() == "bearer" and len(key) <= 200:
            found = service_of(request).access.by_key(key.strip())
        if found is None:
            state.guesses.take(address)
            raise Problem("unauthorized", _WRONG, headers={"WWW-Authenticate": "Bearer"})
        state.rate.take(f"key {found.key}")
        return found
    session = session_of(request)
    if session is None:
        words = "nobody is signed in, and no key was sent"
        raise Problem("unauthorized", words, headers={"WWW-Authenticate": "Bearer"})
    if request.method not in _SAFE:
        check_own(request, session, request.headers.get(CSRF))
    state.rate.take(f"person {session.credential.person.name}")
    request.state.session = session
    return session.credential


def session_of(request: Request) -> Session | None:
    """The session of the page that a request belongs to."""
    token = request.cookies.get(COOKIE)
    if token is None or len(token) > 200:
        return None
    return service_of(request).access.session(token)


def check_own(request: Request, session: Session, token: str | None) -> None:
    """Refuse what another site made a browser send."""
    same = hmac.compare_digest((token or "").encode(), session.csrf.encode())
    if not same or not origin_is_own(request):
        raise Problem("forbidden", "this was not sent by a page of this server; load it again")


def origin_is_own(request: Request) -> bool:
    """Whether a browser says that a page of this server sent it."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host", "")


def _role(*roles: str) -> Callable[[Request], Credential]:
    def wanted(request: Request) -> Credential:
        found = _credential(request)
        if found.person.role not in roles:
            listed = " or ".join(roles)
            raise Problem("forbidden", f"this is for the role {listed}, not {found.person.role}")
        return found

    wanted.roles = roles  # type: ignore[attr-defined]
    return wanted


Anyone = Annotated[Credential, Depends(_role("owner", "analyst", "auditor"))]
Askers = Annotated[Credential, Depends(_role("owner", "analyst"))]
Analysts = Annotated[Credential, Depends(_role("analyst"))]
Auditors = Annotated[Credential, Depends(_role("owner", "auditor"))]
Owner = Annotated[Credential, Depends(_role("owner"))]


def roles_of(route: APIRoute) -> tuple[str, ...]:
    """The roles that may use a route."""
    for one in route.dependant.dependencies:
        roles = getattr(one.call, "roles", None)
        if roles is not None:
            return cast("tuple[str, ...]", roles)
    return ()


def checked_routes(app: FastAPI, public: set[str]) -> dict[str, Any]:
    """Every route with its roles; AssertionError for one that forgot to say who may use it."""
    found: dict[str, Any] = {}
    for route in app.routes:
        if not isinstance(route, APIRoute):
            continue
        roles = roles_of(route)
        if not roles and route.path not in public:
            raise AssertionError(f"{route.path} says no role")
        for method in route.methods or ():
            found[f"{method} {route.path}"] = roles
    return found
