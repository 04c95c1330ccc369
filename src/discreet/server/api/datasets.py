"""Who am I, what may I ask, what is left.

Tested by tests/server/api/test_datasets.py
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request

from discreet.curator.metadata import MOST_LISTED
from discreet.server.api.statuses import statuses
from discreet.server.identity import Anyone, service_of

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["datasets"])


@routes.get("/me", responses=statuses())
def me(who: Anyone) -> dict[str, Any]:
    """Who asks, in which role, for which datasets."""
    person = who.person
    return {
        "name": person.name,
        "role": person.role,
        "datasets": None if who.datasets is None else list(who.datasets),
        "expires": None if person.expires is None else person.expires.isoformat(),
    }


@routes.get("/datasets", responses=statuses(422, 503))
def datasets(who: Anyone, request: Request) -> dict[str, Any]:
    """What may be asked: the public metadata of every dataset."""
    service = service_of(request)
    return {"datasets": [service.told(who, name) for name in service.datasets(who)]}


@routes.get("/datasets/{name}", responses=statuses(404, 422, 503))
def dataset(
    name: str, who: Anyone, request: Request, keys: Literal["all"] | None = None
) -> dict[str, Any]:
    """The public metadata of one dataset; with `keys=all` however many keys there are."""
    service = service_of(request)
    service.dataset(who, name)
    return service.told(who, name, most=None if keys == "all" else MOST_LISTED)


@routes.get("/budget", responses=statuses(503))
def budget(who: Anyone, request: Request) -> dict[str, Any]:
    """What was spent and what is left: of the own allowances, or of everybody."""
    return {"accounts": [one.to_dict() for one in service_of(request).accounts(who)]}
