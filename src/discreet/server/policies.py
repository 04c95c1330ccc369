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
from collections.abc import Collection
from pathlib import Path
from typing import Any

from discreet.curator.curator import Curator
from discreet.curator.ledger.registry import register
from discreet.curator.policy.model import Policy
from discreet.curator.policy.reading import parse_policy
from discreet.curator.policy.registration import registration
from discreet.curator.policy.words import explained, warnings
from discreet.errors import LedgerError, ParameterError
from discreet.server.problems import Problem
from discreet.server.service import Service

__all__ = ["change", "checked", "retire", "told"]

_PASSWORD = re.compile(r"(postgres(?:ql)?://[^:/@\s\"']*):[^@\s\"']*@")
_PARAMETER = re.compile(r"((?:ssl)?password=)[^&\s\"']*", re.IGNORECASE)


def told(service: Service, *, owner: bool) -> dict[str, Any]:
    """The policy in force: text, version, meaning, what is unwise; passwords for an owner only."""
    policy = service.policy
    text = service.path.read_text(encoding="utf-8")
    version = service.ledger.policy[1]
    return {"text": text if owner else _masked(text), "version": version, **_meant(policy)}


def checked(service: Service, text: str) -> dict[str, Any]:
    """What another text would mean; PolicyError with everything that is wrong with it."""
    return _meant(_parsed(service, text))


def change(
    service: Service,
    text: str,
    *,
    new_people: Collection[str] = (),
    more_budget: Collection[str] = (),
    by: str,
) -> tuple[int, list[str]]:
    """Put another text into force; the version of the policy, and what changed.

    Args:
        service: the server's.
        text: the new policy.
        new_people: families that are new and hold other people than all before.
        more_budget: accounts whose total may rise.
        by: which owner.
    """
    with service.changing:
        policy = _parsed(service, text)
        before = service.path.read_text(encoding="utf-8")
        if policy.ledger != service.policy.ledger:
            problem = "cannot be changed from here; stop the server and change the file"
            raise ParameterError("ledger", None, problem)
        _write(service.path, text)
        try:
            done = register(
                service.ledger, registration(policy), new_people=new_people, more_budget=more_budget
            )
        except LedgerError as refusal:
            _write(service.path, before)
            raise Problem("conflict", str(refusal), "Change the text.") from None
        except BaseException:
            _write(service.path, before)
            raise
        service.access.note("policy changed", who=by, version=done[0])
        service.reload()
    return done


def retire(service: Service, dataset: str) -> tuple[str, ...]:
    """Seal the budgets behind a dataset."""
    with Curator(service.policy, ledger=service.ledger) as curator:
        return curator.retire(dataset)


def _parsed(service: Service, text: str) -> Policy:
    return parse_policy(text, folder=service.path.parent, file=service.path.name)


def _meant(policy: Policy) -> dict[str, Any]:
    return {
        "fingerprint": policy.fingerprint,
        "words": explained(policy),
        "warnings": warnings(policy),
    }


def _masked(text: str) -> str:
    """Addresses without their passwords."""
    return _PASSWORD.sub(r"\1:...@", _PARAMETER.sub(r"\1...", text))


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
