"""What owners add to a policy without writing its text: datasets, periods and allowances.

Tested by tests/server/test_registering.py, tests/server/test_periods.py,
tests/server/test_allowances.py
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from discreet.server import periods, registering
from discreet.server.allowances import AllowanceWanted, allow
from discreet.server.api.statuses import statuses
from discreet.server.identity import Owner, service_of
from discreet.server.periods import PeriodWanted
from discreet.server.registering import DatasetWanted, SourceWanted

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["owner"])


@routes.get("/sources", responses=statuses(503))
def sources(who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """The files that could be registered, by name."""
    return registering.sources(service_of(request))


@routes.post("/sources/draft", responses=statuses(422, 503))
def draft(wanted: SourceWanted, who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """Columns with their types and what these suggest; no row is read."""
    return registering.draft(service_of(request), wanted)


@routes.post("/datasets", status_code=201, responses=statuses(409, 422, 503))
def register(wanted: DatasetWanted, who: Owner, request: Request) -> dict[str, Any]:
    """Register a dataset: it is added to the policy, which is in force then."""
    version, changed = registering.register(service_of(request), wanted, by=who.person.name)
    return {"version": version, "changed": changed}


@routes.post("/datasets/check", responses=statuses(409, 422, 503))
def check(wanted: DatasetWanted, who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """What the policy would mean with a dataset; nothing is changed."""
    return registering.checked(service_of(request), wanted)


@routes.post("/datasets/{name}/blocks", status_code=201, responses=statuses(404, 409, 422, 503))
def add_block(name: str, wanted: PeriodWanted, who: Owner, request: Request) -> dict[str, Any]:
    """Add a block, the data of one period, to a dataset: it can be asked at once."""
    service = service_of(request)
    service.dataset(who, name)
    version, changed = periods.add(service, name, wanted, by=who.person.name)
    return {"version": version, "changed": changed}


@routes.post("/datasets/{name}/blocks/check", responses=statuses(404, 409, 422, 503))
def check_block(name: str, wanted: PeriodWanted, who: Owner, request: Request) -> dict[str, Any]:
    """What the policy would mean with a block; nothing is changed."""
    service = service_of(request)
    service.dataset(who, name)
    return periods.checked(service, name, wanted)


@routes.post("/allowances", responses=statuses(409, 422, 503))
def allowance(wanted: AllowanceWanted, who: Owner, request: Request) -> dict[str, Any]:
    """Give an analyst an allowance, or change it."""
    version, changed = allow(service_of(request), wanted, by=who.person.name)
    return {"version": version, "changed": changed}
