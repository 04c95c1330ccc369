"""The curator: a policy, a ledger and the data, and questions from people over weeks.

Guarantee. Everything that any process hands out under a policy has, for each family of people, the
guarantee of the family's limit, and no analyst sees more than their allowance pays for.
Neighbours. As the policy says.
Assumes. What the policy declares of the unit; the ledger's assumptions.
Proof. The way of a question: read and price it (from the policy alone), reserve it in the ledger
(`discreet.curator.ledger`, where the limits are kept), run it with the noise key of that charge
(`discreet.curator.answering`), store the answer, and hand out what is stored. A question that is
stored already is handed out again, or made coarser for somebody else at a lower price
(`discreet.curator.gradual`): that is post-processing. So is that of a failure, which is the answer
of an empty table: nothing that is asked later tells of one.
Tested by tests/curator/test_curator.py, tests/curator/test_alike.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.curator.answer import can_be_coarser
from discreet.curator.answering import Answering, Audience, Telling
from discreet.curator.asking import (
    Asking,
    named_dataset,
    only_dataset,
    retired_with,
    wanting,
)
from discreet.curator.claims import (
    OWNER,
    Asked,
    Claims,
    check_may_ask,
    claim_of,
    found_record,
    named_in,
)
from discreet.curator.free import Free
from discreet.curator.gradual import finer_answer, finer_keys
from discreet.curator.kept import Cells
from discreet.curator.ledger.amounts import NOTHING, Amount, cost_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import opened_or_made, register, retire
from discreet.curator.ledger.values import Account, Claim, Pending
from discreet.curator.offer import largest, offered, offering
from discreet.curator.policy.model import Dataset, Family, Policy
from discreet.curator.policy.registration import registration
from discreet.curator.publications import Publications
from discreet.curator.questions import Question, unpriced
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.curator.search import columns_read
from discreet.curator.settling import Settling, Steps
from discreet.curator.unchanged import insist_unchanged
from discreet.errors import BudgetExceededError, LedgerError, ParameterError, QueryError
from discreet.exact import Exact
from discreet.noise.source import KeyedSource
from discreet.query.build import Query
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target
from discreet.query.render import question_sql

if TYPE_CHECKING:
    from discreet.curator.decided import Decided

__all__ = ["OWNER", "Curator"]


class Curator(Settling, Free, Publications):
    """Answers questions under a policy, on its ledger.

    Args:
        policy: the policy, or the path of its file.
        ledger: the policy's ledger, if it is open already; it stays open then.
        on_fault: told of every error that an analyst is not shown.
        clock: what time it is, for the log and for expiry.

    Attributes:
        pace: when the parts of the next question are over; what takes longer is a failure.
        paid: what the last question took off the people's budget, or off an analyst's allowance.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        *,
        ledger: Ledger | None = None,
        on_fault: Callable[[Exception], None] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.policy = _read(policy)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._on_fault = on_fault
        self._parts: dict[tuple[str, str | None], Asking] = {}
        place = self.policy.ledger
        self.ledger = ledger or Ledger(place.address, head=place.head, clock=self._clock)
        self._own = ledger is None
        try:
            self.version = self.ledger.following(self.policy.fingerprint)
        except LedgerError:
            self.close()
            raise

    @classmethod
    def register(
        cls,
        policy: Policy | str | Path,
        *,
        new_people: Collection[str] = (),
        more_budget: Collection[str] = (),
        same_data: Collection[str] = (),
        other_unit: Collection[str] = (),
    ) -> tuple[int, list[str]]:
        """Make the ledger of a policy, or let it follow a changed one; its version, what changed.

        Args:
            policy: the policy, or the path of its file.
            new_people: families that are new and hold other people than all before.
            more_budget: accounts whose total may rise.
            same_data: datasets whose files were copied or touched, and whose rows are the same.
            other_unit: datasets whose people were said to be others before, and are the same.
        """
        read = _read(policy)
        with opened_or_made(read.ledger.address, read.ledger.head) as ledger:
            return register(
                ledger, registration(read), new_people=new_people, more_budget=more_budget,
                same_data=same_data, other_unit=other_unit,
            )  # fmt: skip

    def close(self) -> None:
        """Let go of the ledger, if it was opened here, and the data."""
        if self._own:
            self.ledger.close()
        for part in self._parts.values():
            part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # free

    def query(self, dataset: str | None = None, *, block: str | None = None) -> Query:
        """Begin a question in the fluent form; hand it to `ask`."""
        name = dataset or only_dataset(self.policy.datasets)
        return Query(self._opened(name, block).declared)

    def reads(self, question: Question, /, *, dataset: str | None = None,
              block: str | None = None, analyst: str | None = None) -> Plan:  # fmt: skip
        """The same, as if all that is to be found were found: refused only if `ask` would; free."""
        return self._asking(question, dataset, block, analyst).read(question)

    def accounts(self, analyst: str | None = None) -> Mapping[str, Account]:
        """What was spent and is left: of everybody, or of one analyst's allowances."""
        found = self.ledger.accounts
        if analyst is None:
            return found
        return {n: a for n, a in found.items() if n.endswith(f"@{self._known(analyst)}")}

    def record(self, key: str, *, alone: bool = False) -> Record:
        """A stored answer, by its key or the beginning of it; free.

        As it was handed out, or `alone`: with the noise of one law, not improved by earlier ones.
        """
        return found_record(self.ledger, key, alone=alone)

    def retire(self, dataset: str, block: str | None = None) -> tuple[str, ...]:
        """Seal the budgets behind a dataset, or one part: nothing is answered from it any more."""
        accounts = self.retiring(dataset, block)
        retire(self.ledger, *accounts)
        return accounts

    def retiring(self, dataset: str, block: str | None = None) -> tuple[str, ...]:
        """The budgets that `retire` would seal."""
        return retired_with(self._dataset(dataset), block)

    # questions

    def ask(  # noqa: PLR0913 - every word that a question may say
        self,
        question: Question,
        /,
        *,
        analyst: str | None = None,
        dataset: str | None = None,
        block: str | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        within: Exact | None = None,
        rows: Exact | None = None,
        column: str | None = None,
        key: str | None = None,
        with_what_is_left: bool = False,
        search_again: bool = False,
    ) -> Record:
        """Charge the ledger, run the question, store its answer and return it.

        Args:
            question: SQL, a query of the fluent form, or a plan.
            analyst: who asks; the owner if nobody is named.
            dataset: which one, where the question does not tell.
            block: which part of its data.
            epsilon: what the question may cost, in pure privacy; or with
            delta: in approximate privacy; or
            rho: in zero-concentrated privacy.
            within: instead: as much as it costs to be within this distance,
            rows: in a group of this many rows (for means),
            column: for this column (without it: for all).
            key: names this asking: the same key again is the same asking, and is charged once.
            with_what_is_left: if the rest does not suffice, ask for less.
            search_again: what has to be found, and was found before, is found and paid again.
        """
        return self.ledger.through(
            self.steps(
                question, analyst=analyst, dataset=dataset, block=block, epsilon=epsilon,
                delta=delta, rho=rho, within=within, rows=rows, column=column, key=key,
                with_what_is_left=with_what_is_left, search_again=search_again,
            )
        )  # fmt: skip

    def steps(  # noqa: PLR0913 - the words of `ask`
        self, question: Question, /, *, analyst: str | None = None, dataset: str | None = None,
        block: str | None = None, epsilon: Exact | None = None, delta: Exact | None = None,
        rho: Exact | None = None, within: Exact | None = None, rows: Exact | None = None,
        column: str | None = None, key: str | None = None, with_what_is_left: bool = False,
        search_again: bool = False,
    ) -> Steps:  # fmt: skip
        """The same, in steps: it stops where the ledger has to write something for it.

        Who goes through the steps of several questions (each of a curator of its own) has what they
        stop at written together (`Ledger.write`), before each goes on.
        """
        asking = self._asking(question, dataset, block, analyst)
        family = self.policy.families[asking.dataset.family]
        who = OWNER if analyst is None else self._known(analyst)
        named = named_in(self.ledger, key, who)
        if key is not None and with_what_is_left:
            problem = "names one price; it does not go with what is left, which changes"
            raise ParameterError("key", key, problem)
        self._may_ask(family, who)
        self._insist_unchanged(asking)
        wanted = wanting(
            self.policy.defaults, epsilon=epsilon, delta=delta, rho=rho, within=within, rows=rows,
            column=column,
        )  # fmt: skip
        if asking.read(question).rollup:
            from discreet.curator.rolling import rolling  # noqa: PLC0415 - of roll-ups only

            return self._published(
                lambda part: rolling(part.schema, part.engine, part.plan(question), wanted),
                analyst=analyst, dataset=asking.dataset.name, block=block, key=key,
            )  # fmt: skip
        supposed = asking.supposed(question, wanted)  # refused here, nothing was searched for
        _cost(supposed, family)
        plan = self._ready(asking, question, who, named, again=search_again)
        target = wanted(plan, asking.schema)
        plan = unpriced(plan)  # the price is no part of it
        try:
            return (
                yield from self._answer(
                    asking, family, who, plan, target, named, chosen=key is not None
                )
            )
        except BudgetExceededError as refusal:
            smaller = None  # where the asker may not know what is left
            if refusal.left is not None and not self._is_retired(asking):
                smaller = self._coarser(asking, family, who, plan, target)
            if with_what_is_left and smaller is not None:
                return (yield from self._answer(asking, family, who, plan, smaller, named))
            level, offer = self.policy.defaults.confidence, None
            if smaller is not None:
                offer = offered(asking, plan, smaller, confidence=level)
            raise offering(refusal, offer, searched=self.paid != NOTHING) from None

    def _answer(
        self, asking: Asking, family: Family, who: str, plan: Plan, target: Target, key: str, *,
        chosen: bool = False,
    ) -> Steps:  # fmt: skip
        priced, statement = asking.priced(plan, target)
        cost = _cost(priced, family)
        asking.engine.ping()
        sql = question_sql(priced)
        claim = self._claims(asking, priced, who, cost).claim(sql, key, named=chosen)
        if not claim.public and can_be_coarser(priced):
            claim = claim._replace(finer=None)  # they are looked for where there are any

        def finer(claim: Claim) -> Claim:
            stored = self.ledger.finer(claim.canon, claim.size)
            return claim._replace(finer=finer_keys(stored, asking, priced))

        make = partial(self._made, asking, (priced, statement), sql)
        return (yield from self._settled(claim, asking, make, finer))

    def _claims(self, asking: Asking, priced: Priced, who: str, cost: Amount) -> Claims:
        """Makes the claims for questions that differ in what WHERE says."""

        def make() -> Claims:
            asked = Asked.of_plan(priced.plan, priced.target, "")
            return Claims(self.policy, self.version, asking, asked, who, cost)

        if asking.canon or asking.paid:  # what was found says something else for every question
            return make()
        return priced.once(("claims", who), make)

    def _published(
        self, decide: Callable[[Asking], Decided[Any]], *, analyst: str | None, dataset: str | None,
        block: str | None, key: str | None,
    ) -> Record:  # fmt: skip
        asking = self._part(dataset or only_dataset(self.policy.datasets), block, analyst)
        family = self.policy.families[asking.dataset.family]
        who = OWNER if analyst is None else self._known(analyst)
        named = named_in(self.ledger, key, who)
        self._may_ask(family, who)
        self._insist_unchanged(asking)
        wanted = self._decided(asking, decide, analyst)
        cost = cost_of([wanted.loss], family.accounting)
        asking.engine.ping()
        claim = claim_of(
            self.policy, self.version, asking, wanted.asked, who, cost, named,
            named=key is not None,
        )  # fmt: skip
        at, level = self._clock().replace(microsecond=0), self.policy.defaults.confidence

        def make(charged: Pending, answering: Answering) -> tuple[Release, None]:
            source = KeyedSource(charged.noise)
            return wanted.released(answering, source, confidence=level, at=at), None

        return self.ledger.through(self._settled(claim, asking, make))

    def _decided(
        self, asking: Asking, decide: Callable[[Asking], Decided[Any]], analyst: str | None
    ) -> Decided[Any]:
        """What is published, under what the asker was given before, as far as it uses that."""
        searches = self._searches(asking, analyst)
        if not searches.given(asking):
            return decide(asking)
        used = columns_read(decide(asking).counted.request)
        asking.begin()
        searches.given(asking, only=used)
        return replace(decide(asking), found=tuple(asking.found))

    def _made(
        self,
        asking: Asking,
        question: tuple[Priced, str],
        sql: str,
        charged: Pending,
        answering: Answering,
    ) -> tuple[Release, Cells | None]:
        """The answer to a charged question: from the data, or from the answer it is made of."""
        priced, statement = question
        at, level = self._clock().replace(microsecond=0), self.policy.defaults.confidence
        telling = Telling(asking.schema, level, asking.found, at, sql)
        source = KeyedSource(charged.noise)
        if charged.of:
            finer = finer_answer(self.ledger.answer(charged.of), asking, priced)
            return answering.coarser(priced, finer, source, telling), None
        release, noisy = answering.release(priced, statement, source, telling)
        return release, None if noisy is None else Cells(priced.target, noisy)

    # which data

    def _insist_unchanged(self, asking: Asking) -> None:
        """Nothing is answered from files that are not those of their version."""
        insist_unchanged(self.ledger, asking, policy=self.policy.fingerprint)

    def _dataset(self, name: str) -> Dataset:
        found = self.policy.datasets.get(name)
        if found is None:
            known = ", ".join(self.policy.datasets)
            raise QueryError(f"the policy has no dataset {name!r}; there are: {known}")
        return found

    def _asking(
        self, question: Question, dataset: str | None, block: str | None, analyst: str | None
    ) -> Asking:
        return self._part(dataset or named_dataset(question, self.policy.datasets), block, analyst)

    def _part(self, named: str, block: str | None, analyst: str | None) -> Asking:
        who = OWNER if analyst is None else self._known(analyst)
        part = self._opened(named, block)
        part.begin(who)
        return part

    def _opened(self, named: str, block: str | None) -> Asking:
        found = self._dataset(named)
        if block is not None and block not in found.blocks:
            known = ", ".join(found.blocks) or "none"
            raise QueryError(f"{named!r} has no block {block!r}; there are: {known}")
        part = self._parts.get((named, block))
        if part is None:
            level = self.policy.defaults.confidence
            part = self._parts[named, block] = Asking(found, block, confidence=level)
        return part

    def _ready(
        self, asking: Asking, question: Question, who: str, key: str, *, again: bool
    ) -> Plan:
        """The plan, after what it needs and has to be found was found."""
        audience: Audience = "owner" if who == OWNER else "analyst"
        while (search := asking.search(question)) is not None:
            searches = self._searches(asking, None if who == OWNER else who)
            given = searches.found(
                asking, search, lambda claim: self._reserve(claim, asking),
                lambda: asking.answering(audience, self._on_fault, self.pace.searching()),
                self.pace.hold, key=key, again=again,
            )  # fmt: skip
            asking.take(search, given, audience)
        return asking.plan(question)

    # who, and how much

    def _known(self, analyst: str) -> str:
        if analyst not in self.policy.analysts:
            known = ", ".join(self.policy.analysts) or "none"
            raise ParameterError("analyst", analyst, f"must be one of the policy's: {known}")
        return analyst

    def _is_retired(self, asking: Asking) -> bool:
        return self.ledger.accounts[asking.account].sealed

    def _may_ask(self, family: Family, who: str) -> None:
        self.paid = NOTHING  # so far
        check_may_ask(self.policy, family, who, self._today)

    def _today(self) -> date:
        """Never before the last entry of the log, whatever the clock says."""
        entries = self.ledger.entries(max(self.ledger.head.seq - 2, 0))
        times = [v["at"] for v in (e.values() for e in entries) if "at" in v]
        written = [datetime.fromisoformat(at).date() for at in times]
        return max([self._clock().date(), *written])

    def _coarser(
        self, asking: Asking, family: Family, who: str, plan: Plan, target: Target
    ) -> Target | None:
        accounts, accounting = self.ledger.accounts, family.accounting
        left = accounts[asking.account].left
        if who != OWNER:  # who may not know what others have left
            own = accounts[f"{asking.account}@{who}"].left
            left = own.least(left) if family.tells_rest else own
        return largest(
            asking, plan, target, lambda found: cost_of(found.losses, accounting).within(left),
            left=left.value(), adds_up=accounting == "pure" or target.rho is not None,
        )  # fmt: skip


def _cost(question: Priced, family: Family) -> Amount:
    kind = family.accounting
    return question.once(("cost", kind), lambda: cost_of(question.losses, kind))


def _read(policy: Policy | str | Path) -> Policy:
    if isinstance(policy, Policy):
        return policy
    from discreet.curator.policy.reading import read_policy  # noqa: PLC0415 - it takes a while

    return read_policy(policy)
