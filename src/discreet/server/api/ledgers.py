"""The ledger, for owners and auditors: entries, the head, and whether it can be believed.

Tested by tests/server/api/test_ledgers.py
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError
from discreet.server.api.models import Stretch
from discreet.server.api.statuses import statuses
from discreet.server.history import entries_after, entries_before
from discreet.server.identity import Auditors, in_turn, service_of

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["ledger"])


@routes.get("/ledger", responses=statuses(422, 503))
def ledger(
    who: Auditors,
    request: Request,
    part: Annotated[Stretch, Query()],
) -> dict[str, Any]:
    """The log, from behind an entry on, or up to one; that a question failed is the owner's.

    What would show it is left out of the entries of answers, and so is their salt, without which
    their hashes show nothing: only an owner can work those out again. `verify` does it for all. The
    same goes for the salt of entries about files: with it, one could try how large they are.
    """
    log = service_of(request).ledger
    if part.before is None:
        entries = entries_after(log, part.after, part.limit)
    else:
        entries = [e for e in entries_before(log, part.before, part.limit) if e.seq > part.after]
    told = [{"entry": e.seq, "kind": e.kind, "hash": e.hash, **e.values()} for e in entries]
    if who.person.role != "owner":
        for one in told:
            if one["kind"] in ("done", "data"):
                del one["salt"]
                one.pop("failed", None)
    return {"entries": told}


@routes.get("/ledger/head", responses=statuses(503))
def head(who: Auditors, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """The last entry: keep it, and nobody can take the ledger back behind it unseen."""
    found = service_of(request).ledger.head
    return {"entry": found.seq, "hash": found.hash}


@routes.get("/ledger/verify", responses=statuses(503), dependencies=[Depends(in_turn)])
def verify(who: Auditors, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """Rebuild everything from the log and compare; what does not fit is told."""
    try:
        found = verified(service_of(request).ledger)
    except LedgerError as error:
        return {"good": False, "message": str(error)}
    return {
        "good": True,
        "entries": found.entries,
        "questions": found.questions,
        "waiting": found.waiting,
        "head": {"entry": found.head.seq, "hash": found.head.hash},
    }
