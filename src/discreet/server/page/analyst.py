"""The pages of those who ask: datasets, questions, releases.

Tested by tests/server/page/test_analyst.py
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from discreet.server.identity import Anyone, service_of
from discreet.server.page.frame import HOME, render, signed_in
from discreet.server.page.views import MOST_KEYS, described

__all__ = ["routes"]

routes = APIRouter(tags=["page"], include_in_schema=False)


@routes.get("/")
def home(who: Anyone, request: Request) -> Response:
    """Where somebody begins."""
    signed_in(request)
    return RedirectResponse(HOME[who.person.role], 303)


@routes.get("/datasets")
def datasets(who: Anyone, request: Request) -> Response:
    """Every dataset with its columns and what is left of its budget."""
    session, service = signed_in(request), service_of(request)
    found = [described(service, who, name, most=MOST_KEYS) for name in service.datasets(who)]
    return render(request, "datasets.html", session=session, datasets=found)
