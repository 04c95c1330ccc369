"""Publish once, and ask what was published.

Publishing is charged like a question, and leaves at its deadline. What is asked of a publication
afterwards is free: it follows from what was released.
Tested by tests/server/api/test_publications.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from discreet.curator.pace import Pace
from discreet.curator.published import Published
from discreet.curator.record import Record
from discreet.publish.measured import Answer
from discreet.server.api.models import Boxes, KeyHeader, Publication, Publish
from discreet.server.api.questions import handed_out, one_key
from discreet.server.api.statuses import statuses
from discreet.server.deadlines import room
from discreet.server.foreseeing import foreseen_publication
from discreet.server.identity import Anyone, Askers, in_turn, service_of

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["publications"])


@routes.post("/publish", responses=statuses(402, 404, 409, 422, 503))
async def publish(
    wanted: Publish,
    who: Askers,
    request: Request,
    idempotency_key: KeyHeader = None,
) -> Response:
    """Charge once, publish counts over one to three axes, store them and hand them out."""
    service = service_of(request)
    key = one_key(wanted.key, idempotency_key)

    def work(pace: Pace, read: Callable[[], None]) -> tuple[Record, int]:
        reads()
        read()
        return service.publish(who, wanted.columns, wanted.at(), key=key, pace=pace, **wanted.how())

    def reads() -> None:
        service.reads_axes(who, wanted.columns, wanted.at(), **wanted.how())

    said = " ".join([*wanted.columns, wanted.where or ""])
    size = room(len(said) // 8 + 1, 1, said)
    return await handed_out(
        request.app.state, who, reads, work, deadline=wanted.deadline, size=size
    )


@routes.post(
    "/publish/preview", responses=statuses(402, 404, 422, 503), dependencies=[Depends(in_turn)]
)
def preview(wanted: Publication, who: Askers, request: Request) -> dict[str, Any]:
    """All that can be known before publishing: price, errors, a rehearsal on made-up rows; free."""
    found = foreseen_publication(
        service_of(request), who, wanted.columns, wanted.at(), **wanted.how()
    )
    return found.to_dict()


@routes.post(
    "/releases/{key}/counts", responses=statuses(404, 422, 503), dependencies=[Depends(in_turn)]
)
def counts(key: str, wanted: Boxes, who: Anyone, request: Request) -> dict[str, Any]:
    """Ranges, rectangles, quantiles and wider cells of what was published; free."""
    published = Published.of(service_of(request).record(who, key).release)
    level = {"confidence": wanted.confidence}
    return {
        "counts": [_told(published.rectangle(*box, **level)) for box in wanted.boxes],
        "quantiles": [_told(published.quantile(share, **level)) for share in wanted.quantiles],
        "cells": wanted.rebin and published.rebin(*wanted.rebin, **level).to_dict(),
    }


def _told(answer: Answer) -> dict[str, float]:
    return {
        "value": answer.value, "low": answer.low, "high": answer.high,
        "confidence": answer.confidence,
    }  # fmt: skip
