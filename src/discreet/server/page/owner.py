"""The owner's pages: an overview, registering a dataset, people with their keys, faults.

They show; what they change goes through the API, with its roles and the page's token.
Tested by tests/server/page/test_owner.py
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request, Response

from discreet.curator.faults import faults as noted
from discreet.curator.joins import Joins
from discreet.curator.ledger.amounts import decimal
from discreet.curator.ledger.values import Account
from discreet.curator.policy.model import Dataset, Policy, is_address
from discreet.server import policies, registering
from discreet.server.allowances import said
from discreet.server.history import LOOKED_AT, lately_spent, newest
from discreet.server.identity import Owner, in_turn, service_of
from discreet.server.page.frame import render, signed_in
from discreet.server.page.views import gauge_of
from discreet.server.service import Service

__all__ = ["routes"]

routes = APIRouter(tags=["page"], include_in_schema=False)
_RECENT = 8
_EVER = 1 << 62


@routes.get("/overview", dependencies=[Depends(in_turn)])
def overview(
    who: Owner,  # noqa: ARG001
    request: Request,
    history: Literal["", "all"] = "",
) -> Response:
    """Budgets, data that have changed, what was spent lately, and what was asked last; with
    `history=all` since ever.
    """
    most = _EVER if history == "all" else LOOKED_AT
    session, service = signed_in(request), service_of(request)
    accounts = list(service.ledger.accounts.values())
    asked, _ = newest(service.ledger, lambda one: bool(one.release), most=_RECENT)
    spent = lately_spent(service.ledger, accounts, most=most)
    steps = [
        {
            "of": step.of, "name": step.name, "at": step.at,
            "unit": _unit(step.accounting), "spent": decimal(step.spent.main),
        }
        for step in spent.steps
    ]  # fmt: skip
    return render(
        request, "overview.html", session=session, families=_families(service.policy, accounts),
        asked=Joins(service.policy.datasets).lines(asked), faults=len(noted(service.ledger)),
        since=spent.since,
        changed=policies.changed_data(service),
        data={"steps": steps, "totals": _totals(accounts), "since": spent.since},
    )  # fmt: skip


@routes.get("/register")
def register(who: Owner, request: Request) -> Response:  # noqa: ARG001
    """A dataset, decision by decision."""
    session, service = signed_in(request), service_of(request)
    accounts = list(service.ledger.accounts.values())
    families = _families(service.policy, accounts)
    ever = sorted(one.name for one in accounts if "@" not in one.name and "/" not in one.name)
    listed = registering.sources(service)
    told = [{k: one[k] for k in ("name", "neighbours", "datasets")} for one in families]
    return render(
        request, "register.html", session=session, families=families, listed=listed,
        data={"families": told, "ever": ever, "names": list(service.policy.datasets)},
    )  # fmt: skip


@routes.get("/people")
def people(who: Owner, request: Request) -> Response:  # noqa: ARG001
    """Who may come in, with what, and how much each analyst may use."""
    session, service = signed_in(request), service_of(request)
    access, policy = service.access, service.policy
    accounts = {one.name: gauge_of(one.to_dict()) for one in service.ledger.accounts.values()}
    found = access.people
    return render(
        request, "people.html", session=session, people=found, keys=access.keys(None)[::-1],
        allowances=_allowances(service, accounts), datasets=list(policy.datasets),
        without=[name for name in policy.analysts if name not in {one.name for one in found}],
        families=[
            {"name": name, "unit": _unit(one.accounting), "of": accounts.get(name)}
            for name, one in policy.families.items()
        ],
        data={"me": session.credential.person.name},
    )  # fmt: skip


@routes.get("/faults")
def faults(who: Owner, request: Request) -> Response:  # noqa: ARG001
    """What failed without an asker being told."""
    session = signed_in(request)
    found = [one.split(" | ") for one in noted(service_of(request).ledger)]
    return render(request, "faults.html", session=session, faults=found)


def _unit(accounting: str) -> str:
    return "epsilon" if accounting == "pure" else "rho"


def _families(policy: Policy, accounts: Sequence[Account]) -> list[dict[str, Any]]:
    """Every family with its accounts, its datasets and its analysts."""
    found = []
    for name, family in policy.families.items():
        own = [one for one in accounts if one.name.partition("@")[0].partition("/")[0] == name]
        datasets = [one for one in policy.datasets.values() if one.family == name]
        found.append({
            "name": name,
            "unit": _unit(family.accounting),
            "neighbours": family.neighbours,
            "expires": family.expires,
            "releases": family.releases,
            "gauges": [gauge_of(one.to_dict()) for one in own if "@" not in one.name],
            "analysts": sorted(
                (_allowed(one) for one in own if "@" in one.name), key=lambda one: one["name"]
            ),
            "datasets": [_owned(one) for one in datasets],
        })  # fmt: skip
    return found


def _allowed(account: Account) -> dict[str, Any]:
    """What an analyst may use of a family's budget, or of that of one period's own people."""
    of, _, analyst = account.name.partition("@")
    return {**gauge_of(account.to_dict()), "name": analyst, "part": of.partition("/")[2]}


def _owned(dataset: Dataset) -> dict[str, Any]:
    blocks = [
        {"name": one.name, "version": one.version, "own_people": one.own_people}
        for one in dataset.blocks.values()
    ]
    told = {"name": dataset.name, "version": dataset.version, "blocks": blocks}
    return {**told, "in_database": is_address(dataset.source)}


def _totals(accounts: Sequence[Account]) -> dict[str, str]:
    return {one.name: decimal(one.total.main) for one in accounts if "@" not in one.name}


def _plainly(amount: object) -> str:
    return f"{amount:f}" if isinstance(amount, Decimal) else str(amount)


def _has_delta(gauge: dict[str, Any] | None) -> bool:
    return gauge is not None and gauge["delta_total"] != "0"


def _allowances(service: Service, accounts: dict[str, Any]) -> list[dict[str, Any]]:
    """As they stand in the policy's text, so that a form can change the very amount."""
    text = service.path.read_text(encoding="utf-8")
    found = []
    for analyst, families in said(text).items():
        for family, amounts in families.items():
            unit = next((one for one in ("epsilon", "rho") if one in amounts), None)
            found.append({
                "analyst": analyst, "family": family, "unit": unit,
                "said": None if unit is None else _plainly(amounts[unit]),
                "delta": _plainly(amounts["delta"]) if "delta" in amounts else None,
                "may_delta": unit == "epsilon" and _has_delta(accounts.get(family)),
                "gauge": accounts.get(f"{family}@{analyst}"),
            })  # fmt: skip
    return found
