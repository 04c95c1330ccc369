"""Searches under a ledger: what has to be found for an asker, charged once and kept.

What an asker was given stays hers, as every answer does, also that of a failure: an engine broke,
and an empty table was looked at instead. It serves others as well, as any search does. Whoever
wants another search says so (`again`), and pays for it like for the first, whatever came of that.

So no charge, and no question that is known again, tells of a failure: a search that were repeated
because an engine failed would be charged, or change what it means to ask the same again, where that
of a twin is not. An owner who is given it is told that nothing was found, as of any empty table.

Guarantee. Each search that is charged looks at the data once, with the guarantee of its loss.
Proof. Its name has one noise key and one answer (`discreet.curator.ledger`).
Tested by tests/curator/test_searching.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count

from discreet.curator.answering import Answering
from discreet.curator.asking import Asking, Given
from discreet.curator.claims import charges_of, digest_of
from discreet.curator.ledger.amounts import Accounting, Amount, cost_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.values import Claim, Done, Pending
from discreet.curator.policy.model import Family, Policy
from discreet.curator.questions import Question
from discreet.curator.search import Search, searches_of
from discreet.exact import shown
from discreet.noise.source import KeyedSource
from discreet.query.explain import unit_words
from discreet.version import VERSION

__all__ = ["Searches", "to_be_found"]


@dataclass(frozen=True, slots=True)
class Searches:
    """What is found for one asker.

    Attributes:
        ledger: where it is charged and stored.
        policy: in force.
        version: of the policy.
        family: of the people.
        who: asks.
    """

    ledger: Ledger
    policy: Policy
    version: int
    family: Family
    who: str

    def found(
        self,
        asking: Asking,
        search: Search,
        reserve: Callable[[Claim], Pending | Done],
        answering: Callable[[], AbstractContextManager[Answering]],
        hold: Callable[[], None],
        *,
        key: str,
        again: bool = False,
    ) -> Given:
        """What was found: before, or now; what is charged for it is noted in `asking.paid`.

        Args:
            asking: what is asked.
            search: what is to be found.
            reserve: charges.
            answering: how it is looked for, once it is charged.
            hold: waits for the moment at which what was found is stored.
            key: names the question: the same key again needs what it needed then.
            again: whether to search again, and pay, what was found before.
        """
        turns = list(self._turns(asking, search, key))
        if turns and (not again or turns[-1].info.get("for") == key):
            return Given(turns[-1].answer, len(turns) - 1)
        turn = len(turns)
        claim = self._claim(asking, search, turn, key)
        asking.engine.ping()
        got = reserve(claim)
        if got.paid:
            asking.paid.append((search.name, cost_of([search.loss], self.family.accounting)))
        if isinstance(got, Done):
            return Given(got.answer, turn)
        with answering() as made:
            text = asking.searched(search, made, KeyedSource(got.noise))
        hold()
        done = self.ledger.store(got.key, text, failed=bool(made.faults))
        return Given(done.answer, turn)

    def applied(self, asking: Asking, question: Question, *, again: bool = False) -> list[Search]:
        """Make what the asker was given part of the declaration; what is still to be found.

        Instead of the latter what would be taken is supposed, unless the question is a publication,
        which finds nothing by itself. Free: it reads the ledger alone.

        Args:
            asking: what is asked.
            question: the same, as it was said.
            again: whether what was found before is to be found again, too.
        """
        missing: list[Search] = []
        rollup = asking.read(question).rollup
        while (search := asking.search(question)) is not None:
            turns = list(self._turns(asking, search))
            if turns and (rollup or not again):
                given = Given(turns[-1].answer, len(turns) - 1)
                asking.take(search, given, "analyst")  # an owner may also see what is taken
            elif rollup:
                break
            else:
                missing.append(search)
                asking.suppose(search)
        return missing

    def given(self, asking: Asking, only: Collection[str] | None = None) -> bool:
        """Make all that the asker was given part of the declaration; whether there is anything.

        For publications, which find nothing by themselves. Free, as above.

        Args:
            asking: what is asked.
            only: bounds of these columns alone; None for all.
        """
        for search in searches_of(asking.schema):
            turns = list(self._turns(asking, search))
            if turns and (only is None or search.column is None or search.column in only):
                given = Given(turns[-1].answer, len(turns) - 1)
                asking.take(search, given, "analyst")
        return bool(asking.found)

    def _turns(self, asking: Asking, search: Search, key: str | None = None) -> Iterator[Done]:
        """What was found for the asker, one after the other, until the question was charged."""
        known = None if key is None else self.ledger.entry_of(key, self.who)
        for turn in count():
            found = self.ledger.answer(self._key(asking, search, turn))
            if found is None or (known is not None and found.seq > known):
                return
            yield found

    def _key(self, asking: Asking, search: Search, turn: int) -> str:
        name = f"{asking.search_key(search)}-{digest_of({'who': self.who})[:12]}"
        return f"{name}-{turn}" if turn else name

    def _claim(self, asking: Asking, search: Search, turn: int, key: str) -> Claim:
        accounting, name = self.family.accounting, self._key(asking, search, turn)
        what, cost = asking.search_key(search), cost_of([search.loss], accounting)
        shared = self.family.releases == "public"
        info = {
            "find": search.name,
            "for": key,
            "column": search.column,
            "epsilon": str(search.loss.epsilon),
            "neighbours": search.loss.neighbours,
            "dataset": asking.dataset.name,
            "family": self.family.name,
            "block": asking.block,
            "version": asking.version,
            "cost": cost.said(accounting),
            "policy": [self.version, self.policy.fingerprint],
            "software": f"discreet {VERSION}",
            "unit": f"a person {unit_words(asking.schema)}",
            "confidence": str(self.policy.defaults.confidence),
        }
        charges = charges_of(asking.account, self.who, cost, shared=shared)
        return Claim(
            name, name, f"{what}-{turn}" if turn else what, cost.main, self.who, charges,
            self.policy.fingerprint, info, shared,
        )  # fmt: skip


def to_be_found(
    missing: Sequence[Search], total: Amount, accounting: Accounting, *, again: bool = False
) -> str:
    """What is found before a question, what that costs, and what is supposed until then."""
    if not missing:
        return ""
    how = (
        "are searched for, and paid, again"
        if again
        else "have still to be found, which is paid once"
    )
    names = [f"{one.name} (epsilon {shown(one.loss.epsilon)})" for one in missing]
    supposed = [f"{one.name}: {one.instead.words}" for one in missing]
    return (
        f"\n{' and '.join(names)} {how}: in all {total.said(accounting)}. The errors are supposed, "
        f"as if nothing were found ({'; '.join(supposed)}): what is found decides them.\n"
    )
