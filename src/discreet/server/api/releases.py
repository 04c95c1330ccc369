"""Stored answers: the list, one of them in every form, and what can be computed from it for free.

Tested by tests/server/api/test_releases.py
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from discreet.curator.binned import end_of
from discreet.curator.derive import between, rolled_up
from discreet.curator.joins import Joins
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.errors import ParameterError
from discreet.server.api.models import Derive, Page
from discreet.server.api.statuses import statuses
from discreet.server.identity import Anyone, in_turn, service_of
from discreet.server.service import Service

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["releases"])
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html; charset=utf-8",
    "vl.json": "application/json",
}


@routes.get("/releases", responses=statuses(422, 503))
def releases(who: Anyone, request: Request, page: Annotated[Page, Query()]) -> dict[str, Any]:
    """The stored answers, the newest first: an analyst's own, or all."""
    found, following = service_of(request).releases(who, limit=page.limit, before=page.before)
    return {"releases": found, "next": following}


@routes.get(
    "/releases/{key}",
    responses={
        200: {"content": {kind.partition(";")[0]: {} for kind in _TYPES.values()}},
        **statuses(404, 422, 503),
    },
    dependencies=[Depends(in_turn)],
)
def release(key: str, who: Anyone, request: Request, alone: bool = False) -> Any:  # noqa: FBT001, FBT002
    """A stored answer; with an ending (.csv, .svg, .png, .html, .vl.json) in that form.

    As it was handed out, or `alone`: not improved by the asker's earlier answers.
    """
    name, _, ending = key.partition(".")
    service = service_of(request)
    record = service.record(who, name, alone=alone)
    if not ending:
        return record.to_dict()
    if ending not in _TYPES:
        raise ParameterError("form", ending[:20], f"must be one of {', '.join(_TYPES)}")
    headers = {}
    if ending in ("csv", "svg", "png"):
        headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    if ending != "csv":  # people read it
        record = Joins(service.datasets(who)).record(record)
    if ending == "html":  # a page of its own, with a drawing inside: no scripts, own styles
        headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
        )
    return Response(_formed(service, record, ending), media_type=_TYPES[ending], headers=headers)


def _formed(service: Service, record: Record, ending: str) -> str | bytes:
    if ending == "csv":
        return record.release.to_csv(spreadsheet=True)
    return service.forms.of(record, ending)


@routes.post(
    "/releases/{key}/derive", responses=statuses(404, 422, 503), dependencies=[Depends(in_turn)]
)
def derive(key: str, wanted: Derive, who: Anyone, request: Request) -> dict[str, Any]:
    """A roll-up over keys, or a range of a histogram, from a stored answer; free."""
    record = service_of(request).record(who, key)
    return derived(record.release, wanted).to_dict()


def derived(release: Release, wanted: Derive) -> Release:
    """What was asked for, from a release."""
    if wanted.column is None:
        if wanted.by is None:
            raise ParameterError("by", None, "or column, low and high must be said")
        return rolled_up(release, by=wanted.by, columns=wanted.columns)
    if wanted.by is not None or wanted.low is None or wanted.high is None:
        raise ParameterError("column", wanted.column, "goes with low and high, and without by")
    low, high = (end_of(release, wanted.column, said) for said in (wanted.low, wanted.high))
    return between(release, wanted.column, low, high, share=wanted.share, columns=wanted.columns)
