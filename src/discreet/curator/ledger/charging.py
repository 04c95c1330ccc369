"""A charge and its answer, each as the part that one writer has in a transaction.

Both look, then refuse or decide, and only then change anything: what is refused has changed
nothing, so that others may be written in the same transaction.
Tested by tests/curator/ledger/test_charging.py, tests/curator/ledger/test_ledger.py, and
tests/curator/ledger/test_machine.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.curator.ledger.chain import new_salt, noise_mark
from discreet.curator.ledger.statements import FAILED, LARGEST, LOOK, WAITING
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Charge, Charged, Claim, Done, Pending
from discreet.curator.ledger.writing import Writing
from discreet.errors import LedgerError
from discreet.noise.source import new_key

__all__ = ["reserve", "said", "store"]


def reserve(on: Writing, *, claim: Claim, now: Callable[[], str]) -> Pending | Done:
    """Charge a question, or give the answer that is stored already."""
    key, canon = claim.key, claim.canon
    least = min(claim.size, LARGEST)
    policy, known, answered = on.look(LOOK, (key, canon, least, canon + FAILED, least))
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
    charges: Sequence[Charge] = claim.charges
    if stored is not None or finer is not None:
        charges = [] if own else [charge for charge in charges if charge.on_hit]
        if charges:
            on.enough(charges)
            on.afford(claim.charges)
    spent = on.pay(charges)
    reached("in reserve")
    body = said(claim, spent, now())
    if stored is not None:
        return _hit(on, claim, stored, body)
    of = ""
    if finer is not None:
        body["of"] = of = str(finer["key"])
    noise = new_key()
    body["noise"] = noise_mark(noise)
    entry = on.charge(claim, "reserve", body, state="reserved", noise=noise, answer=None)
    return Pending(key, noise, entry.seq, entry.hash, resumed=False, of=of)


def said(claim: Claim, spent: Sequence[Sequence[int]], at: str) -> dict[str, Any]:
    """What the log says of a charge."""
    return {
        "salt": new_salt(),
        "key": claim.key,
        "digest": claim.digest,
        "canon": claim.canon,
        "size": claim.size,
        "analyst": claim.analyst,
        "charges": spent,
        "at": at,
        "info": dict(claim.info),
    }


def _hit(on: Writing, claim: Claim, stored: Mapping[str, Any], body: Mapping[str, Any]) -> Done:
    """Point an asking at an answer that is there; never at one that points itself."""
    of = on.pointed(stored)
    claim = replace(claim, size=int(stored["size"]), canon=str(stored["canon"]))
    pointer, at = f"@{of}", str(body["at"])
    told = {**body, "size": claim.size, "canon": claim.canon, "of": of}
    entry = on.charge(claim, "hit", told, state="done", noise=None, answer=pointer)
    digest = hashlib.sha256(pointer.encode()).hexdigest()
    on.append("done", {"key": claim.key, "answer": digest, "at": at, "salt": new_salt()})
    answer, who = on.done(stored, "other").answer, claim.analyst
    return Done(claim.key, answer, entry.seq, entry.hash, "other", who, at, claim.info)


def store(on: Writing, *, answer: str, body: Mapping[str, Any]) -> Done:
    """Put an answer in and the noise key out; who comes second gets the stored answer.

    Args:
        on: the transaction.
        answer: what is put in.
        body: what the log says of it.
    """
    key = str(body["key"])
    reached("in store")
    found = on.look(WAITING, (key,))
    if not found or not found[3]:  # it does not wait
        known = on.question(key)
        if known is None:
            raise LedgerError(f"the question {key!r} was never charged: nothing is stored")
        return on.done(known, "")
    charged = Charged(int(found[0]), str(found[2]), str(found[1]))
    on.finish(key, charged.seq, answer)
    on.append("done", body)
    if body.get("failed"):
        on.fail(key)
    return Done(key, answer, charged.seq, charged.hash, analyst=charged.analyst)
