"""The pages of those who ask: datasets, questions, releases.

Tested by tests/server/page/test_analyst.py
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from discreet.curator.joins import Joins
from discreet.server.identity import Anyone, Askers, service_of
from discreet.server.page.frame import HOME, render, signed_in
from discreet.server.page.views import MOST_KEYS, MOST_ROWS, described, joinable
from discreet.server.page.ways import ways
from discreet.server.problems import Problem

__all__ = ["routes"]

routes = APIRouter(tags=["page"], include_in_schema=False)
_PROPOSED = 500
"""So many keys of a column are proposed while somebody types."""
_LISTED = 50
"""So many releases are on one page."""


@routes.get("/")
def home(who: Anyone, request: Request) -> Response:
    """Where somebody begins."""
    signed_in(request)
    return RedirectResponse(HOME[who.person.role], 303)


@routes.get("/datasets")
def datasets(who: Anyone, request: Request) -> Response:
    """Every dataset with its columns and what is left of its budget."""
    session, service = signed_in(request), service_of(request)
    found = [described(service, who, name, most=MOST_ROWS) for name in service.datasets(who)]
    return render(request, "datasets.html", session=session, datasets=found, most_keys=MOST_KEYS)


@routes.get("/ask")
def ask(
    who: Askers,
    request: Request,
    dataset: Annotated[str | None, Query(max_length=200)] = None,
    block: Annotated[str | None, Query(max_length=200)] = None,
    question: Annotated[str | None, Query(max_length=20_000)] = None,
    publish: Literal["histogram", "map", "rollup"] | None = None,
) -> Response:
    """The page for asking, and for publishing once, about one dataset or a part of it."""
    session, service = signed_in(request), service_of(request)
    names = list(service.datasets(who))
    told: dict[str, Any] | None = None
    if dataset is not None or names:
        told = described(service, who, dataset or names[0], most=_PROPOSED)
    values: dict[str, Any] = {"names": names, "dataset": told, "question": "", "deadlines": []}
    values |= {"ways": [], "block": block or ""}
    if told is not None and told["problem"] is None:
        _check_part(told, block)
        values["question"] = question or told["example"]
        values["ways"] = ways(told)
        values["deadlines"] = [f"{float(one):g}" for one in service.settings.server.deadlines]
        values["data"] = {
            "name": told["name"],
            "columns": [
                {k: one.get(k) for k in ("name", "kind", "what", "keys", "of", "axis")}
                for one in told["columns"]
            ],
            "lookups": [joinable(one) for one in told["lookups"]],
            "budgets": told["budgets"],
            "example": told["example"],
            "epsilon": told["epsilon"],
            "units": ["epsilon", "rho"] if told["accounting"] == "zcdp" else ["epsilon"],
            "mode": publish or "sql",
        }
    return render(request, "ask.html", session=session, **values)


def _check_part(told: dict[str, Any], block: str | None) -> None:
    """Refuse a part that is not there: all of the dataset has other people, and another budget."""
    if block and block not in {one["name"] for one in told["blocks"]}:
        words = f"there is no part {block[:60]!r} of {told['name']} for you"
        raise Problem("not_found", words, fix="Choose one on the page for asking.")


@routes.get("/releases")
def releases(
    who: Anyone,
    request: Request,
    before: Annotated[str | None, Query(pattern=r"^[0-9A-Za-z_-]{1,64}$")] = None,
) -> Response:
    """What was answered, the newest first."""
    session, service = signed_in(request), service_of(request)
    found, following = service.releases(who, limit=_LISTED, before=before)
    return render(
        request, "releases.html", session=session, releases=found, following=following,
        is_first=before is None,
    )  # fmt: skip


@routes.get("/releases/{key}")
def release(key: str, who: Anyone, request: Request) -> Response:
    """One answer, and what can be computed from it for free."""
    session, service = signed_in(request), service_of(request)
    record = service.record(who, key)
    return render(
        request, "release.html", session=session, record=record,
        question=Joins(service.datasets(who)).told(record.question, record.dataset),
        data={"record": record.to_dict()},
    )  # fmt: skip
