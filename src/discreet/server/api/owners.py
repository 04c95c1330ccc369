"""What owners do: the policy, people and their keys, faults.

Tested by tests/server/api/test_owners.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from fastapi import APIRouter, Request

from discreet.curator.access import KeyInfo, Person
from discreet.curator.faults import faults as noted
from discreet.errors import ParameterError
from discreet.server import policies
from discreet.server.api.models import KeyWanted, NewPassword, PersonWanted, PolicyText
from discreet.server.api.statuses import statuses
from discreet.server.identity import Auditors, Owner, service_of
from discreet.server.service import Service

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["owner"])


@routes.get("/policy", responses=statuses(503))
def policy(who: Auditors, request: Request) -> dict[str, Any]:
    """The policy: its text, its version, and what is unwise in it."""
    return policies.told(service_of(request), owner=who.person.role == "owner")


@routes.put("/policy", responses=statuses(409, 422, 503))
def change_policy(wanted: PolicyText, who: Owner, request: Request) -> dict[str, Any]:
    """Put another text of the policy into force."""
    version, changed = policies.change(
        service_of(request), wanted.text, new_people=wanted.new_people,
        more_budget=wanted.more_budget, same_data=wanted.same_data, other_unit=wanted.other_unit,
        version=wanted.version, by=who.person.name,
    )  # fmt: skip
    return {"version": version, "changed": changed}


@routes.post("/policy/check", responses=statuses(422))
def check_policy(wanted: PolicyText, who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """What a text of the policy would mean, in plain words, and what is unwise in it."""
    return policies.checked(service_of(request), wanted.text)


@routes.post("/policy/reload", responses=statuses(422, 503))
def reload_policy(who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """Read the policy file again, after it was changed and registered outside."""
    service_of(request).reload()
    return policies.told(service_of(request), owner=True)


@routes.post("/datasets/{name}/retire", responses=statuses(404, 422, 503))
def retire(name: str, who: Owner, request: Request) -> dict[str, Any]:
    """Seal the budgets behind a dataset: nothing is answered from it any more."""
    service = service_of(request)
    service.dataset(who, name)
    return {"retired": list(policies.retire(service, name, by=who.person.name))}


@routes.get("/people", responses=statuses(503))
def people(who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """Everybody who may come in."""
    return {"people": [_plain(one) for one in service_of(request).access.people]}


@routes.post("/people", status_code=201, responses=statuses(409, 422, 503))
def add_person(wanted: PersonWanted, who: Owner, request: Request) -> dict[str, Any]:
    """Let somebody in."""
    _check_known(service_of(request), wanted.datasets)
    made = service_of(request).access.add(
        wanted.name, wanted.role, password=wanted.password, datasets=wanted.datasets,
        expires=wanted.expires, by=who.person.name,
    )  # fmt: skip
    return _plain(made)


def _check_known(service: Service, datasets: Sequence[str] | None) -> None:
    """Refuse a name that no dataset has: who is let in for it would see nothing."""
    there = service.policy.datasets
    for name in datasets or ():
        if name not in there:
            problem = f"must be names of datasets: {', '.join(there) or 'there is none yet'}"
            raise ParameterError("datasets", name, problem)


@routes.post("/people/{name}/disable", responses=statuses(404, 422, 503))
def disable(name: str, who: Owner, request: Request) -> dict[str, Any]:
    """Keep somebody out: sessions and keys end at once."""
    service_of(request).access.disable(name, by=who.person.name)
    return {"disabled": name}


@routes.post("/people/{name}/password", responses=statuses(404, 422, 503))
def new_password(name: str, wanted: NewPassword, who: Owner, request: Request) -> dict[str, Any]:
    """Give somebody a new password: their sessions end at once."""
    service_of(request).access.set_password(name, wanted.password, by=who.person.name)
    return {"changed": name}


@routes.get("/keys", responses=statuses(503))
def keys(who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """All keys, without their secrets."""
    access = service_of(request).access
    return {"keys": [_plain(one) for one in access.keys(None)]}


@routes.post("/keys", status_code=201, responses=statuses(404, 422, 503))
def make_key(wanted: KeyWanted, who: Owner, request: Request) -> dict[str, Any]:
    """Make a key; this answer is the only place where it is ever seen."""
    _check_known(service_of(request), wanted.datasets)
    key = service_of(request).access.make_key(
        wanted.person, days=wanted.days, label=wanted.label, datasets=wanted.datasets,
        by=who.person.name,
    )  # fmt: skip
    return {"key": key}


@routes.delete("/keys/{key}", responses=statuses(404, 422, 503))
def revoke(key: str, who: Owner, request: Request) -> dict[str, Any]:
    """Revoke a key, at once."""
    service_of(request).access.revoke(key, by=who.person.name)
    return {"revoked": key}


@routes.get("/faults", responses=statuses(503))
def faults(who: Owner, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """What failed without an asker being told, the newest first."""
    return {"faults": noted(service_of(request).ledger)}


def _plain(value: Person | KeyInfo) -> dict[str, Any]:
    told = asdict(value)
    return {
        name: one.isoformat() if isinstance(one, date | datetime) else one
        for name, one in told.items()
    }
