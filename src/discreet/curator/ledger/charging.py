"""A charge and its answer, each as the part that one writer has in a transaction.

Both look, then refuse or decide, and only then change anything: what is refused has changed
nothing, so that others may be written in the same transaction.
Tested by tests/curator/ledger/test_ledger.py, tests/curator/ledger/test_machine.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet.curator.ledger.chain import new_salt
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Claim, Done, Pending
from discreet.curator.ledger.writing import FAILED, LARGEST, LOOK, WAITING, Writing
from discreet.errors import LedgerError
from discreet.noise.source import new_key

__all__ = ["reserve", "store"]


def reserve(on: Writing, *, claim: Claim, now: Callable[[], str]) -> Pending | Done:
    """Charge a question, or give the answer that is stored already."""
    policy, known, answered = on.look(
        LOOK, asked=claim.key, canon=claim.canon, failed=claim.canon + FAILED,
        least=min(claim.size, LARGEST),
    )  # fmt: skip
    if known:
        return on.known(claim)
    if policy != claim.policy:
        raise LedgerError(
            "the ledger follows another version of the policy than this question was "
            "priced under; read the policy again. Nothing was charged"
        )
    stored = on.stored(claim) if answered else None
    own = stored is not None and stored["analyst"] == claim.analyst
    if stored is not None and own and not claim.named:
        return on.done(stored, "own")
    finer = on.finer(claim) if answered and stored is None else None
    free = stored is not None or finer is not None
    charges = [] if own else [c for c in claim.charges if c.on_hit or not free]
    if free and any(charge.on_hit for charge in charges):
        on.enough(charges)
        on.afford(claim.charges)
    spent = on.pay(charges)
    reached("in reserve")
    body = {
        "salt": new_salt(),
        "key": claim.key,
        "digest": claim.digest,
        "canon": claim.canon,
        "size": claim.size,
        "analyst": claim.analyst,
        "charges": spent,
        "at": now(),
        "info": dict(claim.info),
    }
    if stored is not None:
        return _hit(on, claim, stored, body)
    of = {} if finer is None else {"of": finer["key"]}
    entry = on.append("reserve", body | of)
    noise = new_key()
    on.put(claim, entry, state="reserved", noise=noise, answer=None)
    return Pending(claim.key, noise, entry.seq, entry.hash, resumed=False, **of)


def _hit(on: Writing, claim: Claim, stored: Mapping[str, Any], body: Mapping[str, Any]) -> Done:
    """Point an asking at an answer that is there; never at one that points itself."""
    of = on.pointed(stored)
    claim = replace(claim, size=int(stored["size"]), canon=str(stored["canon"]))
    entry = on.append("hit", {**body, "size": claim.size, "canon": claim.canon, "of": of})
    pointer, at = f"@{of}", str(body["at"])
    on.put(claim, entry, state="done", noise=None, answer=pointer)
    digest = hashlib.sha256(pointer.encode()).hexdigest()
    on.append("done", {"key": claim.key, "answer": digest, "at": at, "salt": new_salt()})
    answer, who = on.done(stored, "other").answer, claim.analyst
    return Done(claim.key, answer, entry.seq, entry.hash, "other", who, at, claim.info)


def store(on: Writing, *, answer: str, body: Mapping[str, Any]) -> Done:
    """Put an answer in and the noise key out; who comes second gets the stored answer."""
    key = str(body["key"])
    found = on.look(WAITING, asked=key)
    reached("in store")
    if not found or not found[3]:  # it does not wait
        known = on.question(key)
        if known is None:
            raise LedgerError(f"the question {key!r} was never charged: nothing is stored")
        return on.done(known, "")
    seq, analyst, charged, _ = found
    on.finish(key, answer)
    on.append("done", body)
    if body.get("failed"):
        on.fail(key)
    return Done(key, answer, int(seq), str(charged), analyst=str(analyst))
