"""A charge and its answer, each as the part that one writer has in a transaction.

Both look, then refuse or decide, and only then change anything: what is refused has changed
nothing, so that others may be written in the same transaction.
Tested by tests/curator/ledger/test_charging.py, tests/curator/ledger/test_ledger.py, and
tests/curator/ledger/test_machine.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.curator.ledger.chain import canonical, new_salt, noise_mark, quoted
from discreet.curator.ledger.statements import LARGEST, LOOK, WAITING
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Charged, Claim, Done, Pending
from discreet.curator.ledger.writing import Writing, is_failed
from discreet.errors import LedgerError
from discreet.noise.source import new_key

__all__ = ["answered", "charged", "reserve", "store"]


def reserve(on: Writing, *, claim: Claim, now: Callable[[], str]) -> Pending | Done | None:
    """Charge a question, or give the answer that is stored already.

    None, and nothing is charged, where better answers are stored and nobody has looked for them.
    """
    key, canon = claim.key, claim.canon
    policy, known, answered = on.look(LOOK, (key, canon, min(claim.size, LARGEST)))
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
    finer = None
    if answered and stored is None:
        if claim.finer is None:
            return None
        finer = on.finer(claim)
    charges = claim.charges
    if stored is not None or finer is not None:
        charges = () if own else tuple(charge for charge in charges if charge.on_hit)
        if charges:
            on.enough(charges)
            on.afford(claim.charges)
    spent = on.pay(charges)
    reached("in reserve")
    if stored is not None:
        return _hit(on, claim, stored, spent, now())._replace(paid=charges)
    of = None if finer is None else str(finer["key"])
    noise = new_key()
    body = charged(claim, spent, now(), noise=noise, of=of)
    entry = on.charge(claim, "reserve", body, state="reserved", noise=noise, answer=None)
    failed = finer is not None and is_failed(finer)
    return Pending(
        key, noise, entry.seq, entry.hash, resumed=False, of=of or "", failed=failed, paid=charges
    )


def charged(
    claim: Claim,
    spent: Sequence[Sequence[int]],
    at: str,
    *,
    noise: bytes | None,
    of: str | None = None,
) -> str:
    """What the log says of a charge: the text that `canonical` writes, put together here because
    every question needs it.

    Args:
        claim: the question.
        spent: what each account paid: its number, units of epsilon or rho, and of delta.
        at: when.
        noise: the noise key, of which it says the mark; None where no noise is drawn.
        of: the key of the asking whose answer serves, or is made coarser; None if it is a new one.
    """
    paid = ",".join(["[%d,%d,%d]" % tuple(one) for one in spent])  # noqa: UP031 - half the time
    marked = "" if noise is None else f'"noise":"{noise_mark(noise)}",'
    made = "" if of is None else f'"of":{quoted(of)},'
    return (
        f'{{"analyst":{quoted(claim.analyst)},"at":{quoted(at)},"canon":{quoted(claim.canon)},'
        f'"charges":[{paid}],"digest":{quoted(claim.digest)},"info":{canonical(dict(claim.info))},'
        f'"key":{quoted(claim.key)},{marked}{made}"salt":"{new_salt()}","size":{claim.size}}}'
    )


def answered(key: str, answer: str, at: str, *, failed: bool = False) -> str:
    """What the log says of an answer: canonical text, too. A hash with a salt tells nothing."""
    digest = hashlib.sha256(answer.encode()).hexdigest()
    said = '"failed":true,' if failed else ""
    return (
        f'{{"answer":"{digest}","at":{quoted(at)},{said}"key":{quoted(key)},"salt":"{new_salt()}"}}'
    )


def _hit(
    on: Writing, claim: Claim, stored: Mapping[str, Any], spent: Sequence[Sequence[int]], at: str
) -> Done:
    """Point an asking at an answer that is there; never at one that points itself."""
    of, failed = on.pointed(stored), is_failed(stored)
    claim = claim._replace(size=int(stored["size"]))
    pointer = f"@{of}"
    told = charged(claim, spent, at, noise=None, of=of)
    entry = on.charge(claim, "hit", told, state="done", noise=None, answer=pointer, failed=failed)
    on.append("done", answered(claim.key, pointer, at, failed=failed))
    answer, who = on.done(stored, "other").answer, claim.analyst
    return Done(
        claim.key, answer, entry.seq, entry.hash, "other", who, at, claim.info, failed=failed
    )


def store(on: Writing, *, key: str, answer: str, body: str, failed: bool) -> Done:
    """Put an answer in and the noise key out; who comes second gets the stored answer.

    Args:
        on: the transaction.
        key: of the asking.
        answer: what is put in.
        body: what the log says of it.
        failed: whether it is that of a failure.
    """
    reached("in store")
    found = on.look(WAITING, (key,))
    if not found or not found[3]:  # it does not wait
        known = on.question(key)
        if known is None:
            raise LedgerError(f"the question {key!r} was never charged: nothing is stored")
        return on.done(known, "")
    paid = Charged(int(found[0]), str(found[2]), str(found[1]))
    on.finish(key, paid.seq, answer)
    on.append("done", body)
    if failed:
        on.fail(key)
    return Done(key, answer, paid.seq, paid.hash, analyst=paid.analyst)
