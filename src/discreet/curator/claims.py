"""What a claim is made of: who pays, what is asked; and what its asker gets, the record.

Tested by tests/curator/test_curator.py
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from discreet.curator.asking import Asking
from discreet.curator.combine import combined
from discreet.curator.found import PREFIX, charged_words, found_record_of, searched_info
from discreet.curator.kept import Kept
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.values import Charge, Claim, Done, Pending
from discreet.curator.policy.model import Family, Policy
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.errors import BudgetExceededError, EngineError, LedgerError, ParameterError
from discreet.query.explain import unit_words
from discreet.query.plan import Plan, PostAggregate
from discreet.query.price import Target
from discreet.version import VERSION

__all__ = [
    "OWNER",
    "Asked",
    "Claims",
    "charges_of",
    "check_may_ask",
    "claim_of",
    "counts_of",
    "digest_of",
    "found_record",
    "handed_out",
    "insist_no_failure",
    "key_of",
    "made_record",
    "named_in",
    "own_record",
    "record_of",
]

OWNER = ""
"""Who asks if no analyst is named."""
SHORTEST = 4
"""So many letters of a key say which one is meant."""


def check_may_ask(policy: Policy, family: Family, who: str, today: Callable[[], date]) -> None:
    """Refuse who has no allowance, and what is over."""
    if who != OWNER and family.name not in policy.analysts[who].allowances:
        raise _over(f"{who} has no allowance for {family.name}")
    ends = {f"the family {family.name!r} could be asked": family.expires}
    if who != OWNER:
        ends[f"the analyst {who!r} could ask"] = policy.analysts[who].expires
    for what, last in ends.items():
        if last is not None and today() > last:
            raise _over(f"{what} until {last}")


def _over(words: str) -> BudgetExceededError:
    return BudgetExceededError(f"{words}; nothing was charged", asked=None, left=None, could=None)


def charges_of(account: str, who: str, cost: Amount, *, shared: bool) -> tuple[Charge, ...]:
    """Who pays: the asker's allowance first, so that a refusal is about that, then the people."""
    people = Charge(account, cost)
    if who == OWNER:
        return (people,)
    return Charge(f"{account}@{who}", cost, on_hit=not shared), people


def counts_of(plan: Plan) -> set[str]:
    """The columns of an answer that are never negative."""
    return {
        output.name
        for output in plan.outputs
        if isinstance(output.value, PostAggregate)
        and output.value.aggregate.function in ("count", "people")
    }


_in_order = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest_of(values: Mapping[str, Any]) -> str:
    """A hash of plain values, the same for equal ones."""
    return _digest(_in_order(values))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_KEY = re.compile(r"[0-9A-Za-z_-]{1,64}")
_MARKED = re.compile(r"-[0-9a-f]{8}\Z")
"""How the key of an analyst ends, behind what was said."""


def key_of(key: str | None, who: str, ledger: str) -> str:
    """The name of an asking: an analyst can neither take another's name nor read one from it."""
    if key is None:
        return uuid.uuid4().hex[:12]
    named = key
    if who != OWNER:
        told = f'{{"key":{_in_order(key)},"ledger":{_in_order(ledger)},"who":{_in_order(who)}}}'
        named = f"{key}-{_digest(told)[:8]}"
    if not _KEY.fullmatch(named) or not key or key.startswith(PREFIX):
        raise ParameterError("key", key, "must be 1 to 55 letters, digits, _ and -")
    return named


_LISTED = re.compile(rf"[0-9a-f]{{12}}|(?!{PREFIX})[0-9A-Za-z_-]{{1,55}}-[0-9a-f]{{8}}")
"""The names that questions of analysts have in a ledger."""


def named_in(ledger: Ledger, key: str | None, who: str) -> str:
    """The name of an asking in a ledger: what an analyst is shown of an own one serves, too.

    So she can go on with a question that waits, also if she gave it no key. Whether others have
    such a name makes no difference; and a key that she has used stays the name of what it named.
    """
    named = key_of(key, who, ledger.uid)
    if who == OWNER or key is None or not _LISTED.fullmatch(key):
        return named
    return key if ledger.is_own(key, who) and not ledger.is_own(named, who) else named


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, for the ledger: the same for equal questions, whatever they cost.

    Attributes:
        sql: in SQL, or in words like it.
        canonical: everything that the answer depends on but the data and the price.
        price: as it was said: epsilon, delta, rho.
        counts: the columns of the answer that are never negative.
    """

    sql: str
    canonical: Mapping[str, Any]
    price: tuple[str, ...]
    counts: tuple[str, ...]

    @classmethod
    def of_plan(cls, plan: Plan, target: Target, sql: str) -> Asked:
        """A question at a price."""
        how = {
            "plan": sql,
            "how": "rho" if target.rho is not None else "epsilon",
            "delta": str(target.delta or 0),
        }
        price = tuple(str(part) for part in (target.epsilon, target.delta, target.rho))
        return cls(sql, how, price, tuple(sorted(counts_of(plan))))


def claim_of(  # noqa: PLR0913 - all that a claim says
    policy: Policy, version: int, asking: Asking, asked: Asked, who: str, cost: Amount, key: str, *,
    named: bool = False,
) -> Claim:  # fmt: skip
    """What the ledger is asked to charge."""
    family = policy.families[asking.dataset.family]
    canon = digest_of(_canonical(policy, asking, asked))
    shared = family.releases == "public"
    charges = charges_of(asking.account, who, cost, shared=shared)
    info = {
        "sql": asked.sql,
        "dataset": asking.dataset.name,
        "block": asking.block,
        "version": asking.version,
        "cost": cost.said(family.accounting),
        "counts": list(asked.counts),
        "price": list(asked.price),
        "policy": [version, policy.fingerprint],
        "software": f"discreet {VERSION}",
        **searched_info(cost, asking.paid, family.accounting),
    }
    digest = digest_of({"canon": canon, "who": who, "cost": [cost.main, cost.delta]})
    return Claim(
        key, digest, canon, cost.main, who, charges, policy.fingerprint, info, shared, named=named
    )


def _canonical(policy: Policy, asking: Asking, asked: Asked) -> dict[str, Any]:
    """Everything that an answer depends on but the price."""
    return {
        "data": asking.fingerprint,
        "found": asking.canon,
        "confidence": str(policy.defaults.confidence),
        **asked.canonical,
    }


class Claims:
    """The claims for questions of one shape: `claim_of` for one asker, at one price.

    They differ in their SQL, which is what is asked, and in their key.

    Args:
        policy: under which they are asked.
        version: of the policy.
        asking: the part of the data; nothing had to be found for the questions.
        asked: one of the questions.
        who: asks.
        cost: of each.
    """

    def __init__(
        self, policy: Policy, version: int, asking: Asking, asked: Asked, who: str, cost: Amount
    ) -> None:
        self._first = claim_of(policy, version, asking, asked, who, cost, "")
        told = _canonical(policy, asking, asked)
        del told["plan"]  # the SQL: its name comes after all others
        self._before = f'{_in_order(told)[:-1]},"plan":'
        self._behind = f'","cost":[{cost.main},{cost.delta}],"who":{_in_order(who)}}}'

    def claim(self, sql: str, key: str, *, named: bool) -> Claim:
        """The claim for one of them."""
        first = self._first
        canon = _digest(f"{self._before}{_in_order(sql)}}}")
        digest = _digest(f'{{"canon":"{canon}{self._behind}')
        return Claim(
            key, digest, canon, first.size, first.analyst, first.charges, first.policy,
            {**first.info, "sql": sql}, first.public, named=named,
        )  # fmt: skip


def made_record(
    asking: Asking, release: Release, charged: Pending, claim: Claim, *, version: int
) -> Record:
    """The record of an answer that was made for a claim, under this version of the policy."""
    return Record(
        id=charged.key,
        release=release,
        question=str(claim.info["sql"]),
        plan=str(claim.info["sql"]),
        dataset=asking.dataset.name,
        family=asking.dataset.family,
        block=asking.block,
        data_version=asking.version,
        policy_version=version,
        policy_fingerprint=claim.policy,
        entry=charged.seq,
        head=charged.hash,
        analyst=claim.analyst,
        software=f"discreet {VERSION}",
        unit=f"a person {unit_words(asking.schema)}",
        cost=charged_words(claim.info),
    )


def own_record(found: Done) -> Record:
    """A stored answer as its asker sees it: another's has the marks of the own asking.

    They are put together for every answer, so that the time does not tell whose it is.
    """
    try:
        marks = _marks(found)
    except (KeyError, TypeError, ValueError) as error:
        if found.hit == "other":
            raise LedgerError(
                f"the ledger's entry {found.seq} cannot be read: it was changed. `discreet ledger "
                "verify` says more"
            ) from error
        marks = {}
    return Kept.from_text(found.answer, marks, put=found.hit == "other").record


def _marks(found: Done) -> dict[str, Any]:
    """What a record says of the asking of its own."""
    told = found.info
    own: dict[str, Any] = {"id": found.key, "analyst": found.analyst}
    if "policy" in told:
        version, fingerprint = told["policy"]
        own |= {
            "policy_version": version, "policy_fingerprint": fingerprint,
            "software": told["software"], "dataset": told["dataset"], "block": told["block"],
            "data_version": told["version"], "cost": charged_words(told),
        }  # fmt: skip
    return own | {"entry": found.seq, "head": found.hash, "release": {"asked_at": found.at}}


def insist_no_failure(who: str, *, failed: bool) -> None:
    """Hand an owner no answer of a failure: he is told, where an analyst must not know.

    By then the asking is written down, for an owner as for everybody: what the next one pays
    follows from that, and must not tell.
    """
    if failed and who == OWNER:
        raise EngineError(
            "the database failed when this was computed for an analyst, and what is stored was "
            "read off an empty table; whoever asks the same is given that. To begin anew, say so: "
            "a new version of the data makes every question a new one"
        )


def handed_out(
    ledger: Ledger, record: Record, *, canon: str, analyst: str, counts: Collection[str]
) -> Record:
    """A stored answer, improved by those that the same analyst has paid for before it.

    Others' answers are left out: they would show that somebody else asked. Those that were not
    there yet when it was charged are left out, too: one asking is answered in one way, for good.

    Args:
        ledger: where the answers are.
        record: the stored answer, as its asker sees it.
        canon: what was asked.
        analyst: who asked.
        counts: the columns that are never negative.
    """
    release, seen = record.release, [record.release]
    for done in ledger.paid(canon, analyst, before=record.entry):
        other = Kept.from_text(done.answer).record.release
        if not any(other.raw == one.raw and other.rows == one.rows for one in seen):
            seen.append(other)
            release = combined(other, release, counts=counts)
    return record if release is record.release else replace(record, release=release)


def record_of(ledger: Ledger, found: Done, *, alone: bool = False) -> Record:
    """A stored answer, as its asker was handed it; or alone, not improved by earlier ones."""
    if found.key.startswith(PREFIX):
        return found_record_of(found)
    record, counts = own_record(found), found.info.get("counts", ())
    if alone:
        return record
    return handed_out(ledger, record, canon=found.canon, analyst=found.analyst, counts=counts)


def found_record(ledger: Ledger, key: str, *, alone: bool = False) -> Record:
    """The stored answer of a key: the whole one, as an analyst said it, or the beginning of it."""
    done = ledger.answer(key)
    if done is None:
        asked = _asked(ledger)
        found = [key] if key in asked else [one for one in asked if _MARKED.sub("", one) == key]
        if not found and len(key) < SHORTEST:
            problem = f"is no whole id, and too short for the beginning of one: say {SHORTEST} "
            raise ParameterError(
                "release", key, f"{problem}letters or more; `discreet ledger show` lists all"
            )
        found = found or [one for one in asked if one.startswith(key)]
        if len(found) > 1:
            raise ParameterError("release", key, f"could be any of {', '.join(found[:5])}")
        done = ledger.answer(found[0]) if found else None
        if done is None and found:
            raise ParameterError("release", key, _waiting_words(found[0], asked[found[0]]))
    if done is None:
        raise ParameterError("release", key, "is not stored here; `discreet ledger show` lists all")
    return record_of(ledger, done, alone=alone)


def _asked(ledger: Ledger) -> dict[str, str]:
    """Who asked what somebody has asked for, by the names of all askings."""
    told = (one.values() for one in ledger.entries() if one.kind in ("reserve", "hit"))
    return {v["key"]: v["analyst"] for v in told if not v["key"].startswith(PREFIX)}


def _waiting_words(key: str, who: str) -> str:
    asker = f" --as {who}" if who else ""
    return (
        "was charged and is not answered yet. The same question at the same price, asked again "
        f"with{asker} --key {key}, goes on at no further charge"
    )
