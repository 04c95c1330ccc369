"""The policy behind a server: shown, checked, changed.

A change is written to the file first and registered afterwards; what the ledger refuses puts the
old file back. So after a crash in between the file is newer than the ledger, which is refused at
every question until `discreet register` was said: nothing is ever answered under a policy that the
ledger does not know.
Tested by tests/server/test_policies.py
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from discreet.curator.curator import Curator
from discreet.curator.ledger.marks import Data, marks_in, otherwise
from discreet.curator.ledger.registry import (
    Registration,
    otherwise_protected,
    policies_in,
    register,
)
from discreet.curator.ledger.values import Account
from discreet.curator.policy.model import Policy
from discreet.curator.policy.reading import parse_policy
from discreet.curator.policy.registration import registration
from discreet.curator.policy.words import explained, warnings
from discreet.errors import LedgerError, ParameterError
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = ["change", "changed_data", "checked", "edit", "masked", "retire", "told"]

_QUOTED = re.compile(
    r"""(?P<mark>["'])(?P<address>postgres(?:ql)?://(?:\\.|(?!(?P=mark))[^\\\n])*)""", re.IGNORECASE
)
"""An address up to its closing mark: the other mark may be a letter of a password."""
_PASSWORD = re.compile(r"(postgres(?:ql)?://[^:/@\s]*):[^\n]*@", re.IGNORECASE)
_BARE = re.compile(r"(postgres(?:ql)?://[^:/@\s\"']*):[^\s\"']*@", re.IGNORECASE)
_PARAMETER = re.compile(r"((?:ssl)?password\s*=\s*[\"']?)[^&\s\"']*", re.IGNORECASE)
_QUERY = re.compile(r"((?:ssl)?password=)[^&\n]*", re.IGNORECASE)
_REFUSED = "Nothing is in force that was not before; say what is meant, or change the text."


def told(service: Service, *, owner: bool) -> dict[str, Any]:
    """The policy in force: text, version, meaning, what is unwise; passwords for an owner only."""
    policy = service.policy
    version = service.ledger.policy[1]  # before the text: a change in between is a conflict then
    text = service.path.read_text(encoding="utf-8")
    return {"text": text if owner else masked(text), "version": version, **_meant(policy)}


def checked(
    service: Service, text: str, *, look: Callable[[Policy], None] = lambda _: None
) -> dict[str, Any]:
    """What another text would mean; PolicyError with everything that is wrong with it.

    Told are also the decisions that it needs: which families would have to be other people than all
    before, whose budget would rise, whose files have changed under their version, and whose people
    are said otherwise.
    """
    policy = _parsed(service, text)
    look(policy)
    return {**_meant(policy), **_decisions(service, policy)}


def change(  # noqa: PLR0913 - each is a decision of its own
    service: Service,
    text: str,
    *,
    new_people: Collection[str] = (),
    more_budget: Collection[str] = (),
    same_data: Collection[str] = (),
    other_unit: Collection[str] = (),
    version: int | None = None,
    by: str,
) -> tuple[int, list[str]]:
    """Put another text into force; the version of the policy, and what changed.

    Args:
        service: the server's.
        text: the new policy.
        new_people: families that are new and hold other people than all before.
        more_budget: accounts whose total may rise.
        same_data: datasets whose files have changed under their version, and whose rows have not.
        other_unit: datasets whose people were said to be others before, and are the same.
        version: of the policy that the text was made from; refused if there is a newer one.
        by: which owner.
    """

    def whole(_: str) -> str:
        there = service.ledger.policy[1]
        if version not in (None, there):
            words = f"the policy is at version {there} now, and this text was made from {version}"
            raise Problem("conflict", words, fix="Load the page again and make the change there.")
        return text

    return edit(
        service, whole, new_people=new_people, more_budget=more_budget, same_data=same_data,
        other_unit=other_unit, by=by,
    )  # fmt: skip


def edit(  # noqa: PLR0913 - each is a decision of its own
    service: Service,
    how: Callable[[str], str],
    *,
    new_people: Collection[str] = (),
    more_budget: Collection[str] = (),
    same_data: Collection[str] = (),
    other_unit: Collection[str] = (),
    look: Callable[[Policy], None] = lambda _: None,
    by: str,
) -> tuple[int, list[str]]:
    """Change the text in force, with nobody in between; the other arguments are those of `change`.

    Args:
        service: the server's.
        how: the new text from the old one.
        new_people: as in `change`.
        more_budget: as in `change`.
        same_data: as in `change`.
        other_unit: as in `change`.
        look: a last look at the new policy; what it raises keeps the old one in force.
        by: which owner.
    """
    with service.changing:
        before = service.path.read_text(encoding="utf-8")
        text = how(before)
        policy = _parsed(service, text)
        look(policy)
        if policy.ledger != service.policy.ledger:
            problem = "cannot be changed from here; stop the server and change the file"
            raise ParameterError("ledger", None, problem)
        _write(service.path, text)
        try:
            done = register(
                service.ledger, registration(policy), new_people=new_people,
                more_budget=more_budget, same_data=same_data, other_unit=other_unit,
            )  # fmt: skip
        except LedgerError as refusal:
            _write(service.path, before)
            raise Problem("conflict", str(refusal), _REFUSED) from None
        except BaseException:
            _write(service.path, before)
            raise
        service.access.note("policy changed", who=by, version=done[0])
        service.reload()
    return done


def retire(service: Service, dataset: str, *, by: str) -> tuple[str, ...]:
    """Seal the budgets behind a dataset; the log says which owner did it."""
    with Curator(service.policy, ledger=service.ledger) as curator:
        sealed = curator.retire(dataset)
    service.access.note("dataset retired", who=by, dataset=dataset)
    return sealed


def _parsed(service: Service, text: str) -> Policy:
    return parse_policy(text, folder=service.path.parent, file=service.path.name)


def _meant(policy: Policy) -> dict[str, Any]:
    return {
        "fingerprint": policy.fingerprint,
        "words": explained(policy),
        "warnings": warnings(policy),
    }


def _decisions(service: Service, policy: Policy) -> dict[str, Any]:
    """What `register` would want to be told apart, compared with all accounts that ever were."""
    wanted, there = registration(policy), service.ledger.accounts
    families = {name for name in there if "@" not in name}
    raised = [
        {
            "account": name,
            "from": there[name].total.said(limit.accounting),
            "to": limit.most.said(limit.accounting),
        }
        for name, limit in {**wanted.families, **wanted.allowances}.items()
        if name in there and not limit.most.within(there[name].total)
    ]
    new = [name for name in wanted.families if name not in families]
    return {
        "new_people": sorted(new) if families else [],
        "more_budget": raised,
        "same_data": [
            {"dataset": one.part, "version": one.version}
            for one in otherwise(marks_in(service.ledger), wanted.data)
        ],
        "other_unit": [
            {"dataset": part, "from": was, "to": now}
            for part, (was, now) in _other_units(service, wanted, there).items()
        ],
    }


def _other_units(
    service: Service, wanted: Registration, there: Mapping[str, Account]
) -> dict[str, tuple[str, str]]:
    """Who was protected and who would be, by the dataset where that is not the same."""
    found = otherwise_protected(wanted, policies_in(service.ledger), there)
    return {now.part: (was.whom, now.whom) for was, now in found}


def changed_data(service: Service) -> list[Data]:
    """Data whose files have changed under their version: nothing is answered from them."""
    return otherwise(marks_in(service.ledger), registration(service.policy).data)


def masked(text: str) -> str:
    """Addresses without their passwords, whatever letters these have."""
    text = _QUOTED.sub(lambda found: found["mark"] + _hidden(found["address"]), text)
    return _BARE.sub(r"\1:...@", _PARAMETER.sub(r"\1...", text))


def _hidden(address: str) -> str:
    return _PASSWORD.sub(r"\1:...@", _QUERY.sub(r"\1...", address))


def _write(path: Path, text: str) -> None:
    """All of it, or nothing, with the rights of the old file."""
    mode = path.stat().st_mode & 0o777
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
