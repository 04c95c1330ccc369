"""Who asks: a key in the header, or a session of the page; and which roles may do what.

Deny by default: a route without a role here is refused when the server is made (`checked_routes`).
Tested by tests/server/test_identity.py
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from discreet.curator.access import Credential, Session
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = [
    "COOKIE", "CSRF", "Anyone", "Askers", "Auditors", "Owner", "address_of", "asker", "by_header",
    "check_own", "checked_routes", "in_turn", "origin_is_own", "service_of", "session_of",
]  # fmt: skip

COOKIE = "__Host-discreet"
CSRF = "X-CSRF-Token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_WRONG = "this key is not known here, has ended or was revoked"


def service_of(request: Request) -> Service:
    """The service behind the application."""
    return cast("Service", request.app.state.service)


def address_of(request: Request) -> str:
    """Where a request comes from, for limits: an address, or the network of 64 bits of one.

    Behind a proxy it is the one that the proxy wrote down, the last in X-Forwarded-For; those
    before it are what the asker said. A host that has one address of IPv6 has 2^64 of them.
    """
    found = request.client.host if request.client else ""
    if service_of(request).settings.behind_proxy:
        written = request.headers.getlist("x-forwarded-for")
        found = (written[-1].rpartition(",")[2].strip() if written else "") or found
    try:
        return str(ipaddress.IPv6Network((found.strip("[]"), 64), strict=False))
    except ValueError:
        return found[:64]


def _credential(request: Request) -> Credential:
    """Who asks, by key or by session, looked up once; Problem where nobody is known."""
    found: Credential | None = getattr(request.state, "who", None)
    if found is None:
        found = request.state.who = _known(request)
    return found


def _known(request: Request) -> Credential:
    state = request.app.state
    said = request.headers.get("authorization")
    if said is not None:
        found = by_header(service_of(request), said)
        if found is None:
            state.guesses.take(address_of(request))
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


def by_header(service: Service, said: str) -> Credential | None:
    """Who shows a key in the header Authorization; None if nobody is known by it."""
    scheme, _, key = said.partition(" ")
    if scheme.lower() != "bearer" or len(key) > 200:
        return None
    return service.access.by_key(key.strip())


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
    scheme, _, host = origin.partition("://")
    secure = service_of(request).settings.secure
    return scheme in (("https",) if secure else ("http", "https")) and (
        host == request.headers.get("host")
    )


def _role(*roles: str, whole: bool = False) -> Callable[[Request], Credential]:
    """Who has one of these roles; `whole` is what reaches beyond the datasets of a narrow scope."""

    def wanted(request: Request) -> Credential:
        found = _credential(request)
        if found.person.role not in roles:
            listed = " or ".join(roles)
            raise Problem("forbidden", f"this is for the role {listed}, not {found.person.role}")
        if whole and found.datasets is not None:
            raise Problem("forbidden", "this is not for who is limited to some datasets")
        return found

    wanted.roles = roles  # type: ignore[attr-defined]
    return wanted


Anyone = Annotated[Credential, Depends(_role("owner", "analyst", "auditor"))]
asker = _role("owner", "analyst")
Askers = Annotated[Credential, Depends(asker)]
Auditors = Annotated[Credential, Depends(_role("owner", "auditor", whole=True))]
Owner = Annotated[Credential, Depends(_role("owner", whole=True))]


async def in_turn(request: Request, who: Anyone) -> AsyncIterator[None]:
    """For routes that take a while and answer at once: somebody's own requests wait for each other,
    without a thread, and what others have had computed makes none of them faster.

    What counts is the person, with however many keys.
    """
    name, state = who.person.name, request.app.state
    async with state.turns.turn(name):
        state.results[name].use()  # in the context of this request alone
        yield


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
    for path, route in _every(app.routes):
        roles = roles_of(route) if isinstance(route, APIRoute) else ()
        if not roles and path not in public:
            raise AssertionError(f"{path} says no role")
        for method in getattr(route, "methods", None) or ():
            found[f"{method} {path}"] = roles
    return found


def _every(routes: Sequence[BaseRoute], before: str = "") -> Iterator[tuple[str, BaseRoute]]:
    """Every route with its path, also those of routers that FastAPI keeps whole."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is None:
            yield before + str(getattr(route, "path", repr(route))), route
        else:
            context = cast("Any", route).include_context
            yield from _every(included.routes, before + context.prefix)
