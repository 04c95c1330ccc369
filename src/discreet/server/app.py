"""The application: routes, roles, limits and one form for every failure, around a service.

Tested by tests/server/test_app.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import cache, partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from discreet.curator.access import Credential
from discreet.errors import DiscreetError
from discreet.remembered import ResultsOf
from discreet.server.api import (
    datasets,
    ledgers,
    owners,
    publications,
    questions,
    registering,
    releases,
)
from discreet.server.api.statuses import statuses
from discreet.server.batches import Batches
from discreet.server.guard import Guard
from discreet.server.identity import Anyone, checked_routes, service_of
from discreet.server.lane import Lane
from discreet.server.limits import Alone, Rate, Turns
from discreet.server.page import analyst, assets, auditor, frame, owner, signing
from discreet.server.problems import KINDS, Problem, problem_of
from discreet.server.service import Service
from discreet.server.together import Busy, SharedBuckets, Together
from discreet.server.unfit import unfit
from discreet.server.workers import Workers

__all__ = ["PUBLIC", "described", "make_app"]

PUBLIC = {"/health/live", "/health/ready", "/login", "/logout", "/static/{name}"}
"""Routes that need no role."""
_BY_STATUS = {status: kind for kind, status in reversed(list(KINDS.items()))}
_WORDS = {
    400: "the request cannot be read",
    404: "there is nothing here",
    405: "this cannot be done here",
    415: "send JSON, as application/json",
}


def make_app(service: Service, together: Together | None = None) -> Guard:
    """The application around a service, which it closes when it ends.

    Args:
        service: what is served.
        together: where it meets the other processes of the same server; None if there are none.
    """

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        threads = _threads(app, service)
        await asyncio.to_thread(service.warm)
        app.state.ready = True
        try:
            yield
        finally:
            app.state.ready = False
            with closing(service):
                for one in threads:
                    one.end()

    app = _bare(living)
    app.openapi_schema = described()
    app.state.service = service
    app.state.ready = False
    buckets = None if together is None else SharedBuckets(together)
    app.state.alone = Alone(None if together is None else Busy(together))
    app.state.rate = Rate(service.settings.server.requests_per_minute, "requests", buckets=buckets)
    app.state.guesses = Rate(30, "wrong keys", buckets=buckets)
    logins = service.settings.login_per_minute
    app.state.logins = Rate(logins, "tries to sign in", buckets=buckets)
    _failures(app)
    guard = app.state.guard = Guard(app, service.settings)
    guard.lane = Lane(guard, app.state, partial(_failed_at, service))
    return guard


def _threads(app: FastAPI, service: Service) -> tuple[Workers, Batches]:
    """What answers questions, and who may hand them to it."""
    workers, part = service.settings.workers, service.settings.part
    wait = service.settings.longest_wait
    share = max(workers - 1, 1)  # with however many keys: others find a worker, too
    app.state.places = Turns(workers, each=share, line=part(64), longest=wait)
    app.state.results = ResultsOf()
    app.state.turns = Turns(2 * workers, each=part(2), line=part(8), longest=wait)
    app.state.workers = Workers(workers)
    app.state.batches = Batches(workers, service.ledger.write)
    return app.state.workers, app.state.batches


def _bare(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None) -> FastAPI:
    """The routes, each with its roles, around nothing yet."""
    app = FastAPI(
        title="discreet", version="1", openapi_url=None, docs_url=None, redoc_url=None,
        lifespan=lifespan, description=__doc__, separate_input_output_schemas=False,
        redirect_slashes=False,
    )  # fmt: skip
    _routes(app)
    checked_routes(app, PUBLIC)
    return app


def _routes(app: FastAPI) -> None:
    """Add all routes, as they were made when their modules were imported.

    `include_router` would make each anew when it is first asked for: that takes half a second, and
    mutes warnings for all threads meanwhile, so that two servers in one process disturb each other.
    """
    pages = (assets, signing, analyst, owner, auditor)
    for one in (datasets, questions, publications, releases, ledgers, owners, registering, *pages):
        app.router.routes.extend(one.routes.routes)

    @app.get("/health/live", tags=["health"])
    def live() -> dict[str, bool]:
        """Whether the process runs."""
        return {"live": True}

    @app.get("/health/ready", tags=["health"], responses={503: {"description": "Not now."}})
    def ready(request: Request) -> Response:
        """Whether questions can be asked: not while it stops, or its ledger cannot be used."""
        service = service_of(request)
        state = request.app.state
        good = bool(state.ready) and not state.guard.stopping
        try:
            good = good and service.health.is_good()
        except Exception as error:  # noqa: BLE001 - only whether it works is told
            service.note(error)
            good = False
        return JSONResponse({"ready": good}, 200 if good else 503)

    @app.get("/api/openapi.json", tags=["health"], responses=statuses())
    def description(who: Anyone, request: Request) -> dict[str, Any]:  # noqa: ARG001
        """This description."""
        return described()


@cache
def described() -> dict[str, Any]:
    """The description of all routes, and which of them want a key: all that have roles.

    It takes longer than the rest of a start, and is the same for every service: it is made once.
    """
    app = _bare(None)
    told = app.openapi()
    key = {"type": "http", "scheme": "bearer", "description": "dk_<id>_<secret>"}
    told.setdefault("components", {})["securitySchemes"] = {"key": key}
    for route, roles in checked_routes(app, PUBLIC).items():
        method, path = route.split()
        operation = told["paths"].get(path, {}).get(method.lower())
        if roles and operation is not None:
            operation["security"] = [{"key": []}]
    return told


def _answer(request: Request, problem: Problem) -> Response:
    """What is told of a problem; the owner's file has what is not told."""
    if problem.hidden is not None:
        service_of(request).note(problem.hidden)
    return frame.failed(request, problem) if frame.is_page(request) else _plain(problem)


def _plain(problem: Problem) -> Response:
    return JSONResponse(problem.told(), problem.status, headers=dict(problem.headers))


def _failed(request: Request, error: Exception) -> Response:
    """What is told of whatever was raised."""
    who = getattr(request.state, "who", None)
    return _answer(request, problem_of(error, owner=who is not None and who.person.role == "owner"))


def _failed_at(service: Service, error: Exception, who: Credential | None) -> Response:
    """The same, where there is no request yet."""
    problem = problem_of(error, owner=who is not None and who.person.role == "owner")
    if problem.hidden is not None:
        service.note(problem.hidden)
    return _plain(problem)


def _failures(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        fix = "GET /api/openapi.json says what every request may hold."
        return _answer(request, unfit(request, error, ending="nothing was charged", fix=fix))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        kind = _BY_STATUS.get(error.status_code, "internal")
        words = _WORDS.get(error.status_code, "this cannot be done")
        return _answer(request, Problem(kind, words, headers=dict(error.headers or {})))

    for kind in (DiscreetError, Exception, Problem):
        app.add_exception_handler(kind, _failed)
