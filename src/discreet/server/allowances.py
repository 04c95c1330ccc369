"""Allowances of analysts, in the policy's text: a new one is added, one that is there changed.

A delta may be added to an epsilon that is there.
Guarantee. Only the amount that was meant changes; a rise happens only where it was said apart that
it may.
Tested by tests/server/test_allowances.py
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.policy.form import as_table
from discreet.curator.policy.written import added, changed, joined, table_text
from discreet.server import policies
from discreet.server.problems import Problem
from discreet.server.registering import number_of
from discreet.server.service import Service

__all__ = ["AllowanceWanted", "allow", "said"]

Amount = Annotated[str, Field(max_length=60)] | int | float
Name = Annotated[str, Field(max_length=60, pattern=r"^[A-Za-z0-9_-]+$")]
_AMOUNTS = ("epsilon", "rho", "delta")


class AllowanceWanted(BaseModel):
    """How much of a family's budget an analyst may use."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    analyst: Name
    family: Name
    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount | None = None
    more_budget: bool = False

    def amounts(self) -> dict[str, Any]:
        """What is said of it, exactly."""
        given = {name: getattr(self, name) for name in _AMOUNTS}
        return {name: number_of(value) for name, value in given.items() if value is not None}


def allow(service: Service, wanted: AllowanceWanted, *, by: str) -> tuple[int, list[str]]:
    """Give an analyst an allowance, or change it; the policy's version, and what changed."""
    whose = f"@{wanted.analyst}"
    risen = [
        name
        for name in service.ledger.accounts
        if name.endswith(whose) and name.partition("@")[0].partition("/")[0] == wanted.family
    ]
    more = risen if wanted.more_budget else ()
    return policies.edit(service, lambda text: _with(text, wanted), more_budget=more, by=by)


def _with(text: str, wanted: AllowanceWanted) -> str:
    path = ["analyst", wanted.analyst, "allowance", wanted.family]
    amounts = wanted.amounts()
    if not amounts:
        raise Problem("parameter", "say epsilon or rho; nothing was changed")
    there = said(text).get(wanted.analyst, {}).get(wanted.family)
    if there is None:
        return added(text, table_text(path, amounts))
    for name, value in amounts.items():
        if name == "delta" and "delta" not in there and "epsilon" in there:
            text = joined(text, [*path, name], value, beside="epsilon")
            continue
        if name not in there:
            listed = " and ".join(one for one in _AMOUNTS if one in there)
            words = f"the policy says {listed or 'something else'} for {wanted.analyst}, not {name}"
            raise Problem("parameter", words, fix="Change it in the policy's text.")
        text = changed(text, [*path, name], value)
    return text


def said(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The allowances as they stand in a policy's text: by analyst, by family."""
    read = tomllib.loads(text.removeprefix("\ufeff"), parse_float=Decimal)
    analysts = as_table(read.get("analyst"))
    return {
        name: {
            family: as_table(amount)
            for family, amount in as_table(as_table(one).get("allowance")).items()
        }
        for name, one in analysts.items()
    }
