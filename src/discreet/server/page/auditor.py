"""What owners and auditors look at: the ledger line by line, its chain, and the policy.

An auditor sees no fault of the program and no password; neither sees data here.
Tested by tests/server/page/test_auditor.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from discreet.curator.joins import Joins
from discreet.curator.ledger.listing import OWNER, Line
from discreet.server import policies
from discreet.server.history import newest
from discreet.server.identity import Auditors, service_of
from discreet.server.page.frame import render, signed_in

__all__ = ["routes"]

routes = APIRouter(tags=["page"], include_in_schema=False)
_LISTED = 100
_CHANGES = ("policy changed", "dataset retired")
"""What is noted of owners, and is more than that they came in."""
Word = Annotated[str, Query(max_length=200)]


@routes.get("/ledger")
def ledger(
    who: Auditors,
    request: Request,
    by: Word = "",
    dataset: Word = "",
    kind: Literal["", "questions", "people", "everything"] = "",
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> Response:
    """What happened, the newest first, as far as it is asked for; a part of the log at a time."""
    session, service = signed_in(request), service_of(request)
    policy = service.policy
    found, older = newest(
        service.ledger, lambda one: _fits(one, by=by, dataset=dataset, kind=kind), most=_LISTED,
        before=before, everything=kind in ("", "everything"),
    )  # fmt: skip
    if who.person.role != "owner":  # that a question failed is between the owner and the program
        found = [replace(one, state=one.seen) for one in found]
    askers = {OWNER, *policy.analysts, *(one.who for one in found)}
    parts = {f"{one.name}/{block}" for one in policy.datasets.values() for block in one.blocks}
    datasets = {*policy.datasets, *parts, *(one.dataset for one in found if one.dataset)}
    return render(
        request, "ledger.html", session=session, lines=Joins(policy.datasets).lines(found),
        older=older,
        head=service.ledger.head, askers=sorted(askers), datasets=sorted(datasets), by=by,
        dataset=dataset, kind=kind, is_first=before is None,
    )  # fmt: skip


def _fits(line: Line, *, by: str, dataset: str, kind: str) -> bool:
    """Whether a line is wanted; a budget that is new is a change as one that rises is."""
    wanted = {
        "": line.state not in ("data", "note") or line.what.startswith(_CHANGES),
        "questions": bool(line.release),
        "people": line.state == "access",
    }
    whose = by in ("", line.who) and dataset in ("", line.dataset)
    return whose and wanted.get(kind, True)


@routes.get("/policy")
def policy(who: Auditors, request: Request) -> Response:
    """The policy: its text, and what it means."""
    session, service = signed_in(request), service_of(request)
    owner = who.person.role == "owner"
    told = policies.told(service, owner=owner)
    return render(
        request, "policy.html", session=session, told=told, owner=owner,
        data={"version": told["version"]},
    )  # fmt: skip
