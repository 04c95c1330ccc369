"""What the owner does to a ledger: register a policy, raise a budget, retire a dataset.

Budget belongs to families of people (I9). Registering a policy again, renaming a dataset, loading
new data or moving a file creates none: accounts are found by the family's name, a family that is
new in a ledger that has others has to be declared to be other people, a source never changes its
family, and a larger total has to be said apart. Each of these is an entry of the log.

Nor does a policy change what a budget is counted in, once something is spent of it: among which
neighbours, and for whom. That rows are people, or which column names them, may have been said
wrongly: who says it otherwise has to say so apart.
Tested by tests/curator/ledger/test_registry.py
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert, update

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import NOTHING, Amount, Limit
from discreet.curator.ledger.anchor import gone_words
from discreet.curator.ledger.chain import Entry
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.marks import Data, changed_words, marks_on, note, otherwise
from discreet.curator.ledger.statements import OF_KIND
from discreet.curator.ledger.unfinished import was_finished
from discreet.curator.ledger.values import Account, Charge, Promised, Protected
from discreet.curator.ledger.writing import Writing
from discreet.errors import LedgerError, ParameterError

__all__ = [
    "Registration", "opened_or_made", "otherwise_protected", "policies_in", "register", "retire",
]  # fmt: skip

_OPEN = insert(t.account)
_SEAL = update(t.account).where(t.account.c.name == bindparam("which")).values(sealed=1)


@dataclass(frozen=True, slots=True)
class Registration:
    """A policy, as far as a ledger is concerned.

    Attributes:
        fingerprint: of the policy.
        policy: its canonical values, for the log.
        families: the accounts of people, with their limits.
        allowances: the accounts of analysts, with theirs; "staff@alice".
        sources: whose data each source holds: the family by the source's address.
        overlap: whether two sources may hold the same rows.
        data: the files behind the sources, as they are now.
        promised: what such values of a policy promise.
        lies: how this policy would say an address of an earlier one, given its values.
    """

    fingerprint: str
    policy: Mapping[str, Any]
    families: Mapping[str, Limit]
    allowances: Mapping[str, Limit]
    sources: Mapping[str, str]
    overlap: Callable[[str, str], bool] = operator.eq
    data: Sequence[Data] = ()
    promised: Callable[[Mapping[str, Any]], Promised] = lambda _: Promised()
    lies: Callable[[Mapping[str, Any], str], str] = lambda _, address: address


class _Earlier(NamedTuple):
    """A policy of the log, with addresses as the one that is wanted would say them."""

    families: frozenset[str]
    sources: Mapping[str, str]
    relations: Mapping[str, str]
    protected: Mapping[str, Sequence[Protected]]


def opened_or_made(address: str, head: Path) -> Ledger:
    """The ledger at an address; a new one, if there is none."""
    if address.startswith("postgres") or Path(address).exists():
        try:
            return Ledger(address, head=head)
        except LedgerError as error:
            if "holds no ledger" not in str(error):
                raise
            if was_finished(head):  # the file was emptied, or another one is in its place
                raise LedgerError(f"{gone_words(head)}. Nothing was changed") from error
    return Ledger.create(address, head=head)


def register(
    ledger: Ledger,
    wanted: Registration,
    *,
    new_people: Collection[str] = (),
    more_budget: Collection[str] = (),
    same_data: Collection[str] = (),
    other_unit: Collection[str] = (),
) -> tuple[int, list[str]]:
    """Let the ledger follow a policy; the policy's version, and what changed, in words.

    Args:
        ledger: an open ledger.
        wanted: the policy.
        new_people: families that are new and hold other people than all families before.
        more_budget: accounts whose total may rise.
        same_data: datasets whose files have changed under their version, and whose rows have not.
        other_unit: datasets whose people were said to be others before, and are the same.
    """
    both = sorted(set(wanted.families) & set(wanted.allowances))
    if both:
        raise LedgerError(f"{both[0]!r} names a family and an allowance. Nothing was changed")
    _check_said("new_people", new_people, wanted.families, "a family of the policy")
    accounts = {**wanted.families, **wanted.allowances}
    _check_said("more_budget", more_budget, accounts, "an account of the policy")
    with ledger.writing() as on:
        on.name = "register"
        now, version = on.policy
        changed = _marked(on, wanted.data, same_data, ledger.now())
        if now == wanted.fingerprint:
            return version, changed
        there = {a.name: a for a in on.accounts()}
        before = _earlier(wanted, on.log("policy"))
        _check_people(wanted, before, new_people)
        _check_relations(wanted, before, there)
        changed += _check_units(wanted, before, there, other_unit)
        number = len(there)
        for name, limit in accounts.items():
            found = there.get(name)
            if found is None:
                number += 1
                changed += _opened(on, name, limit, number)
            elif found.total != limit.most or found.accounting != limit.accounting:
                changed += _moved(on, found, limit, allowed=name in more_budget)
        on.append(
            "policy",
            {
                "version": version + 1,
                "fingerprint": wanted.fingerprint,
                "policy": dict(wanted.policy),
                "families": sorted(wanted.families),
                "sources": dict(wanted.sources),
                "at": ledger.now(),
            },
        )
        on.follow(wanted.fingerprint, version + 1)
    return version + 1, changed


def _check_said(option: str, names: Collection[str], there: Collection[str], what: str) -> None:
    """Refuse a name that nothing has: what was meant would not be done, and nobody told."""
    for name in names:
        if name not in there:
            problem = f"must be {what}: {', '.join(there) or 'none'}"
            raise ParameterError(option, name, problem)


def _earlier(wanted: Registration, before: Sequence[Mapping[str, Any]]) -> list[_Earlier]:
    """Read policies of the log; LedgerError where one is none."""
    found = []
    for values in before:
        try:
            policy = values["policy"]
            said = wanted.promised(policy)
            sources = {wanted.lies(policy, at): str(one) for at, one in values["sources"].items()}
            protected: dict[str, list[Protected]] = {}
            for address, one in said.protected:
                protected.setdefault(wanted.lies(policy, address), []).append(one)
            families = frozenset(map(str, values["families"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise LedgerError(
                "a policy in the ledger's log cannot be read: it was changed. Put a backup back. "
                "Nothing was changed"
            ) from error
        found.append(_Earlier(families, sources, said.relations, protected))
    return found


def _check_people(
    wanted: Registration, before: Sequence[_Earlier], new_people: Collection[str]
) -> None:
    """Compare with all policies that ever were: their families, and the family of each source."""
    families = {name for one in before for name in one.families}
    sources = {source: name for one in before for source, name in one.sources.items()}
    for source, family in wanted.sources.items():
        for known, name in sources.items():
            if name != family and wanted.overlap(source, known):
                raise LedgerError(
                    f"{known} belongs to the family {name!r}, where its people have a budget; the "
                    f"policy now says {family!r} for {source}. A new name creates no new budget: "
                    f"keep {name!r}. Nothing was changed"
                )
    added = sorted(set(wanted.families) - set(families))
    unsaid = [name for name in added if families and name not in new_people]
    if unsaid:
        raise LedgerError(
            f"the family {unsaid[0]!r} is new in this ledger. If it is a new name for people of "
            f"{', '.join(sorted(families))}, keep the old name; if nobody in it is in any of "
            f"those, say so: `discreet register policy.toml --new-people {unsaid[0]}`. Nothing was "
            "changed"
        )


def _check_relations(
    wanted: Registration, before: Sequence[_Earlier], there: Mapping[str, Account]
) -> None:
    """Neighbours stay what they were when the first of a family's budget was spent."""
    known: dict[str, str] = {}
    for one in before:
        known |= one.relations
    spent = {name.partition("@")[0].partition("/")[0] for name, one in there.items() if _used(one)}
    for family, relation in wanted.promised(wanted.policy).relations.items():
        if family in spent and known.get(family, relation) != relation:
            raise LedgerError(
                f"what {family!r} has spent was counted for neighbours {known[family]!r}, and "
                f"cannot be told for {relation!r}: one person instead of another is two steps of "
                f"one more or less. Keep {known[family]!r}. Nothing was changed"
            )


def policies_in(ledger: Ledger) -> list[dict[str, Any]]:
    """All policies that a ledger ever followed, as its log has them, the last one last."""
    return [Entry.of(row).values() for row in ledger.glance(OF_KIND, which="policy")]


def otherwise_protected(
    wanted: Registration, before: Sequence[Mapping[str, Any]], there: Mapping[str, Account]
) -> list[tuple[Protected, Protected]]:
    """Who was protected when something was spent, and who would be now, where it is not the same.

    Args:
        wanted: the policy.
        before: all policies that ever were, as the log has them, the last one last.
        there: the accounts, by name.
    """
    return _otherwise(wanted, _earlier(wanted, before), there)


def _otherwise(
    wanted: Registration, before: Sequence[_Earlier], there: Mapping[str, Account]
) -> list[tuple[Protected, Protected]]:
    """The same. A source is the same under every name, and a dataset is with every source.

    What a policy said of this very source, at the same time or later, was compared then.
    """
    known: dict[str, tuple[int, Sequence[Protected]]] = {}
    for version, one in enumerate(before):
        known |= {address: (version, found) for address, found in one.protected.items()}

    def was_said(address: str, now: Protected, version: int) -> bool:
        said, found = known.get(address, (-1, ()))
        return said >= version and any(one.whom == now.whom for one in found)

    return [
        (was, now)
        for address, now in wanted.promised(wanted.policy).protected
        for other, (version, earlier) in known.items()
        for was in earlier
        if was.whom != now.whom
        and was.account in there
        and _used(there[was.account])
        and not was_said(address, now, version)
        and (was[:2] == now[:2] or wanted.overlap(address, other))
    ]


def _check_units(
    wanted: Registration, before: Sequence[_Earlier], there: Mapping[str, Account],
    said: Collection[str],
) -> list[str]:  # fmt: skip
    """Who is protected stays the same, unless the owner says that they are the same people."""
    parts = [one.part for _, one in wanted.promised(wanted.policy).protected]
    _check_said("other_unit", said, parts, "a dataset, or dataset/block, of the policy")
    changed = {}
    for was, now in _otherwise(wanted, before, there):
        if now.part not in said:
            raise LedgerError(
                f"what {was.account!r} has spent on {now.part} was promised to {was.whom}, and the "
                f"policy now protects {now.whom}. Somebody who is several of the first has lost "
                "more than was counted. If everybody is one of each, say so: `discreet register "
                f"policy.toml --other-unit {now.part}`. Nothing was changed"
            )
        changed[now.part] = f"{now.part}: protects {now.whom}; before it was {was.whom}"
    return list(changed.values())


def _used(account: Account) -> bool:
    """Whether something is spent of it, or it was retired."""
    return account.sealed or account.spent != NOTHING


def _marked(on: Writing, data: Sequence[Data], same: Collection[str], at: str) -> list[str]:
    """Note what is new; refuse files that have changed, unless the rows are said to be the same."""
    known = [one.part for one in data]
    for part in same:
        if part not in known:
            there = ", ".join(known) or "none"
            problem = f"must be a dataset, or dataset/block, in files that are there: {there}"
            raise ParameterError("same_data", part, problem)
    marks = marks_on(on)
    changed = otherwise(marks, data)
    accepted = {one.key for one in changed if one.part in same}
    for one in changed:
        if one.key not in accepted:
            raise LedgerError(f"{changed_words(one)}. Nothing was changed")
    parts = [one.part for one in changed]
    new = [one for one in data if one.key not in marks or one.key in accepted]
    if new:
        note(on, new, at, same=parts)
    return [f"{part}: its files have changed, and its rows are the same" for part in parts]


def _opened(on: Writing, name: str, limit: Limit, number: int) -> list[str]:
    on.run(
        _OPEN, id=number, name=name, accounting=limit.accounting, total=limit.most.main, spent=0,
        delta_total=limit.most.delta, delta_spent=0, sealed=0,
    )  # fmt: skip
    on.append(
        "account",
        {
            "id": number,
            "name": name,
            "accounting": limit.accounting,
            "total": [limit.most.main, limit.most.delta],
        },
    )
    return [f"{name} may spend {limit.most.said(limit.accounting)}", *_unseen(on, name, limit)]


def _unseen(on: Writing, name: str, limit: Limit) -> list[str]:
    """A backup was put back that did not know some accounts: a new one may be one of those.

    Nobody can tell which, so that it has spent what any of them had.
    """
    gone = [Amount(*spent) for values in on.log("lost") for spent in values.get("unseen", ())]
    if not gone:
        return []
    lost = Amount(
        min(max(amount.main for amount in gone), limit.most.main),
        min(max(amount.delta for amount in gone), limit.most.delta),
    )
    charges = on.pay([Charge(name, lost)])
    on.append("lost", {"reached": "unknown", "charges": charges})
    words = f"{name}: {lost.said(limit.accounting)} counts as spent"
    return [f"{words}, as by an account that the restored backup did not know"]


def _moved(on: Writing, found: Account, limit: Limit, *, allowed: bool) -> list[str]:
    if found.accounting != limit.accounting:
        raise LedgerError(
            f"{found.name} is accounted for as {found.accounting!r}; what it spent cannot be told "
            f"in {limit.accounting!r}. Nothing was changed"
        )
    most = limit.most
    if not most.within(found.total) and not allowed:
        raise LedgerError(
            f"the policy raises {found.name} from {found.total.said(found.accounting)} to "
            f"{most.said(found.accounting)}. More budget is a decision of its own: "
            f"`discreet register policy.toml --more-budget {found.name}`. Nothing was changed"
        )
    if not found.spent.within(most):
        raise LedgerError(
            f"{found.name} has spent {found.spent.said(found.accounting)} already, more than the "
            f"{most.said(found.accounting)} of the policy; that cannot be undone. Nothing was "
            "changed"
        )
    on.limit(found, most)
    words = f"from {found.total.said(found.accounting)} to {most.said(found.accounting)}"
    return [f"{found.name}: {words}"]


def retire(ledger: Ledger, *names: str) -> None:
    """Seal accounts: no question is answered from their data any more; stored answers stay."""
    with ledger.writing() as on:
        on.name = "retire"
        there = {a.name: a for a in on.accounts()}
        for name in names:
            if name not in there:
                known = ", ".join(sorted(there)) or "none"
                raise LedgerError(f"the ledger has no account {name!r}; there are: {known}")
            if there[name].sealed:
                continue
            on.run(_SEAL, which=name)
            on.append("seal", {"id": there[name].id, "at": ledger.now()})
            on.spent[there[name].id] = there[name].total  # a backup put back has nothing left
