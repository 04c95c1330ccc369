"""What is told of a request that does not fit its form: which field, and what it has to be.

Where a field is not known, the one that was probably meant.

All of it follows from the request and the form, which everybody may read.
Tested by tests/server/test_unfit.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError

from discreet.query.words import brief, listed, meant
from discreet.server.problems import Problem

__all__ = ["unfit"]

_MOST = 5
"""So many fields are told of."""
_BEGINNINGS = {
    "Input should be": "must be",
    "String should": "must",
    "List should": "must",
    "Field required": "must be said",
}
"""How pydantic begins its sentences, and how ours go."""


def unfit(
    request: Request, error: RequestValidationError, *, ending: str, fix: str = ""
) -> Problem:
    """The failure as it is told.

    Args:
        request: the request.
        error: what is wrong with it, field by field.
        ending: what did not happen, in words.
        fix: where to look.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in error.errors():
        found.setdefault(_named(one["loc"]), []).append(one)
    if any(one["type"] == "json_invalid" for one in error.errors()):
        return Problem("malformed", f"the body is no JSON; {ending}", fix=fix)
    known = _known(request)
    told = [f"{name} {_words(name, each, known)}" for name, each in found.items()]
    words = "; ".join(told[:_MOST])[:500]
    return Problem("parameter", f"{words}; {ending}", fix=fix)


def _named(place: Sequence[object]) -> str:
    """The field, and where in it; not which of several forms of it was tried."""
    inside = list(place[1:])
    kept = inside[:1] + [part for part in inside[1:] if isinstance(part, int)]
    return ".".join(str(brief(str(part))) for part in kept) or "the body"


def _words(name: str, each: Sequence[Mapping[str, Any]], known: Sequence[str]) -> str:
    """What is wrong with a field."""
    first = each[0]
    if first["type"] == "extra_forbidden":
        there = f"; there are: {listed(known, 20)}" if known else ""
        return f"is no field of this request{meant(name, known)}{there}"
    if len(each) > 1:  # a number, which may be text
        long = isinstance(first.get("input"), str)
        said = "must have at most 60 characters" if long else "must be a number, or one as text"
        return f'{said}, such as "0.5"'
    text = str(first["msg"])
    for theirs, ours in _BEGINNINGS.items():
        if text.startswith(theirs):
            return ours + text[len(theirs) :]
    return f"does not fit: {text}"


def _known(request: Request) -> Sequence[str]:
    """The fields that a request may have."""
    body = getattr(request.scope.get("route"), "body_field", None)
    form = getattr(getattr(body, "field_info", None), "annotation", None)
    return list(getattr(form, "model_fields", ()))
