"""Which statuses a route may answer with, for the OpenAPI description.

Tested by tests/server/test_app.py
"""

from __future__ import annotations

from typing import Any

from discreet.server.api.models import Told

__all__ = ["ALWAYS", "statuses"]

ALWAYS = (400, 401, 403, 408, 413, 415, 429, 500, 503)
"""What every route with a role may answer."""
_WORDS = {
    400: "The request cannot be read.",
    401: "No key, or one that is not known, has ended or was revoked.",
    402: "The budget does not suffice; nothing was charged.",
    403: "The role may not do this.",
    404: "It is not there, or not for you.",
    408: "The request took too long to arrive.",
    409: "It contradicts what is there, or the key belongs to another question.",
    413: "The request is too large.",
    415: "A body has to be JSON, as application/json.",
    422: "The question or a parameter is wrong; nothing was charged.",
    429: "Too many requests; Retry-After says when to come back.",
    500: "A fault of the program.",
    503: "Busy, or the data or the ledger cannot be used now; ask again with the same key.",
}


def statuses(*more: int) -> dict[int | str, dict[str, Any]]:
    """The failures of one route."""
    return {status: {"description": _WORDS[status], "model": Told} for status in (*ALWAYS, *more)}
