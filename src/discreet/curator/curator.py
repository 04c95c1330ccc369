"""The curator: a policy, a ledger and the data, and questions from people over weeks.

Guarantee. Everything that any process hands out under a policy has, for each family of people, the
guarantee of the family's limit, and no analyst sees more than their allowance pays for.
Neighbours. As the policy says.
Assumes. What the policy declares of the unit; the ledger's assumptions.
Proof. The way of a question: read and price it (from the policy alone), reserve it in the ledger
(`discreet.curator.ledger`, where the limits are kept), run it with the noise key of that charge
(`discreet.curator.answering`), store the answer, and hand out what is stored. A question that is
stored already is handed out again, or made coarser for somebody else at a lower price
(`discreet.curator.gradual`): that is post-processing.
Tested by tests/curator/test_curator.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.curator.answer import can_be_coarser
from discreet.curator.answering import Answering, Audience, Telling
from discreet.curator.asking import Asking, named_dataset, only_dataset, priced_at, wanting
from discreet.curator.claims import (
    OWNER,
    Asked,
    charges_of,
    claim_of,
    digest_of,
    found_record,
    handed_out,
    key_of,
    made_record,
    own_record,
)
from discreet.curator.gradual import finer_answer, finer_keys
from discreet.curator.kept import Cells, Kept
from discreet.curator.ledger.amounts import Amount, cost_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Account, Claim, Done, Pending
from discreet.curator.offer import largest, offering, widths
from discreet.curator.policy.model import Dataset, Family, Policy
from discreet.curator.policy.registration import registration
from discreet.curator.publications import Publications
from discreet.curator.questions import Question, target_of, unpriced
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.errors import BudgetExceededError, LedgerError, ParameterError, QueryError
from discreet.exact import Exact
from discreet.noise.source import KeyedSource
from discreet.query.build import Query
from discreet.query.explain import Price
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target
from discreet.query.render import question_sql

if TYPE_CHECKING:
    from discreet.curator.decided import Decided

__all__ = ["OWNER", "Curator"]


Making = Callable[[Pending, Answering], tuple[Release, Cells | None]]
"""Makes the answer to what was charged."""


class Curator(Publications):
    """Answers questions under a policy, on its ledger.

    Args:
        policy: the policy, or the path of its file.
        ledger: the policy's ledger, if it is open already; it stays open then.
        on_fault: told of every error that an analyst is not shown.
        clock: what time it is, for the log and for expiry.

    Attributes:
        seconds: the longest that a database may take for a question; longer is a failure.
    """

    seconds: float | None = None

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
    ) -> tuple[int, list[str]]:
        """Make the ledger of a policy, or let it follow a changed one; its version, what changed.

        Args:
            policy: the policy, or the path of its file.
            new_people: families that are new and hold other people than all before.
            more_budget: accounts whose total may rise.
        """
        read = _read(policy)
        place = read.ledger
        there = place.address.startswith("postgres") or Path(place.address).exists()
        opened = None
        if there:
            try:
                opened = Ledger(place.address, head=place.head)
            except LedgerError as error:
                if "holds no ledger" not in str(error):
                    raise
        with opened or Ledger.create(place.address, head=place.head) as ledger:
            return register(
                ledger, registration(read), new_people=new_people, more_budget=more_budget
            )

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
        return Query(self._part(name, block).schema)

    def explain(self, question: Question, /, *, dataset: str | None = None,
                block: str | None = None, **price: Any) -> str:  # fmt: skip
        """The question in words, with the statement that would run; free."""
        asking = self._asking(question, dataset, block)
        return asking.explain(question, **priced_at(self.policy.defaults, price))

    def price(self, question: Question, /, *, dataset: str | None = None,
              block: str | None = None, **price: Any) -> Price:  # fmt: skip
        """The expected error of every number at a price; free."""
        asking = self._asking(question, dataset, block)
        return asking.price(question, **priced_at(self.policy.defaults, price))

    def cost(self, question: Question, /, *, dataset: str | None = None,
             block: str | None = None, **price: Any) -> Amount:  # fmt: skip
        """What a question at a price would take off a budget; free."""
        asking = self._asking(question, dataset, block)
        plan, said = asking.plan(question), priced_at(self.policy.defaults, price)
        target = target_of(plan, said.get("epsilon"), said.get("delta"), said.get("rho"))
        return cost_of(
            asking.losses(plan, target), self.policy.families[asking.dataset.family].accounting
        )

    def epsilon_for(self, question: Question, /, *, dataset: str | None = None,
                    block: str | None = None, **accuracy: Any) -> Decimal:  # fmt: skip
        """The least epsilon at which the answer is as accurate as asked; free."""
        return self._asking(question, dataset, block).epsilon_for(question, **accuracy)

    def plan(self, question: Question, /, *, dataset: str | None = None,
             block: str | None = None) -> Plan:  # fmt: skip
        """The question as a frozen value, under what is declared; free."""
        return self._asking(question, dataset, block).plan(question)

    def reads(self, question: Question, /, *, dataset: str | None = None,
              block: str | None = None) -> Plan:  # fmt: skip
        """The same, as if all that is to be found were found: refused only if `ask` would; free."""
        return self._asking(question, dataset, block).read(question)

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
        found = self._dataset(dataset)
        parts = [None, *found.blocks] if block is None else [block]
        accounts = tuple(dict.fromkeys(found.account(part) for part in parts))
        retire(self.ledger, *accounts)
        return accounts

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
        """
        asking = self._asking(question, dataset, block)
        family = self.policy.families[asking.dataset.family]
        who = OWNER if analyst is None else self._known(analyst)
        named = key_of(key, who, self.ledger.uid)
        if key is not None and with_what_is_left:
            problem = "names one price; it does not go with what is left, which changes"
            raise ParameterError("key", key, problem)
        self._may_ask(family, who)

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
        plan, searched = self._ready(asking, question, family, who)
        target = wanted(plan, asking.schema)
        plan = unpriced(plan)  # the price is no part of it
        try:
            return self._answer(asking, family, who, plan, target, named, chosen=key is not None)
        except BudgetExceededError as refusal:
            smaller = None  # where the asker may not know what is left
            if refusal.left is not None:
                smaller = self._coarser(asking, family, who, plan, target)
            if with_what_is_left and smaller is not None:
                return self._answer(asking, family, who, plan, smaller, named)
            level = self.policy.defaults.confidence
            offer = "" if smaller is None else widths(asking, plan, smaller, confidence=level)
            raise offering(refusal, smaller, offer, searched=searched) from None

    def _answer(
        self, asking: Asking, family: Family, who: str, plan: Plan, target: Target, key: str, *,
        chosen: bool = False,
    ) -> Record:  # fmt: skip
        priced, statement = asking.priced(plan, target)
        cost = _cost(priced, family)
        asking.engine.ping()
        sql = question_sql(priced)
        asked = Asked.of_plan(plan, target, sql)
        claim = claim_of(self.policy, self.version, asking, asked, who, cost, key, named=chosen)
        if not claim.public and can_be_coarser(priced):
            stored = self.ledger.finer(claim.canon, claim.size)
            finer = finer_keys(stored, asking, priced)
            claim = replace(claim, finer=finer) if finer else claim
        return self._settled(
            claim, asking,
            lambda found, how: self._made(asking, (priced, statement), sql, found, how),
        )  # fmt: skip

    def _settled(self, claim: Claim, asking: Asking, make: Making) -> Record:
        """Charge, compute, store, hand out; or hand out what is stored already."""
        found = self._reserve(claim, asking)
        if isinstance(found, Done):
            return self._handed_out(own_record(found), claim)
        audience: Audience = "owner" if claim.analyst == OWNER else "analyst"
        with asking.answering(audience, self._on_fault, self.seconds) as answering:
            release, cells = make(found, answering)
        reached("after compute")
        record = made_record(asking, release, found, claim, version=self.version)
        text = Kept(record, cells).to_text()
        done = self.ledger.store(claim.key, text, failed=bool(answering.faults))
        reached("before send")
        if done.answer != text:  # somebody else went on with it, and was faster
            record = Kept.from_text(done.answer).record
        return self._handed_out(record, claim)

    def _published(
        self, decide: Callable[[Asking], Decided[Any]], *, analyst: str | None, dataset: str | None,
        block: str | None, key: str | None,
    ) -> Record:  # fmt: skip
        asking = self._part(dataset or only_dataset(self.policy.datasets), block)
        family = self.policy.families[asking.dataset.family]
        who = OWNER if analyst is None else self._known(analyst)
        named = key_of(key, who, self.ledger.uid)
        self._may_ask(family, who)
        wanted = decide(asking)
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

        return self._settled(claim, asking, make)

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

    def _reserve(self, claim: Claim, asking: Asking) -> Pending | Done:
        """Charge; an analyst who is refused learns nothing of accounts that others share."""
        try:
            return self.ledger.reserve(claim)
        except BudgetExceededError as refusal:
            asked, who = refusal.asked, claim.analyst
            if who == OWNER or not isinstance(asked, Amount):
                raise
            if not asked.within(self._left(asking, who)):
                raise
            words = "the budget of these people does not suffice for this question"
            if self.ledger.accounts[asking.account].sealed:
                words = "these data were retired: no question is answered from them any more"
        words += "; nothing was charged"
        raise BudgetExceededError(words, asked=asked, left=None, could=None)

    def _handed_out(self, record: Record, claim: Claim) -> Record:
        return handed_out(
            self.ledger, record, canon=claim.canon, analyst=claim.analyst,
            counts=claim.info["counts"],
        )  # fmt: skip

    # which data

    def _dataset(self, name: str) -> Dataset:
        found = self.policy.datasets.get(name)
        if found is None:
            known = ", ".join(self.policy.datasets)
            raise QueryError(f"the policy has no dataset {name!r}; there are: {known}")
        return found

    def _asking(self, question: Question, dataset: str | None, block: str | None) -> Asking:
        return self._part(dataset or named_dataset(question, self.policy.datasets), block)

    def _part(self, named: str, block: str | None) -> Asking:
        found = self._dataset(named)
        if block is not None and block not in found.blocks:
            known = ", ".join(found.blocks) or "none"
            raise QueryError(f"{named!r} has no block {block!r}; there are: {known}")
        part = self._parts.get((named, block))
        if part is None:
            level = self.policy.defaults.confidence
            part = self._parts[named, block] = Asking(found, block, confidence=level)
        part.begin()
        return part

    def _ready(
        self, asking: Asking, question: Question, family: Family, who: str
    ) -> tuple[Plan, bool]:
        """The plan, after what it needs and has to be found was found; whether that was charged."""
        charged = False
        while (search := asking.search(question)) is not None:
            cost, what = cost_of([search.loss], family.accounting), asking.search_key(search)
            key = f"{what}-{digest_of({'who': who})[:12]}"
            shared = family.releases == "public"
            info = {
                "find": search.column or "rows per person",
                "dataset": asking.dataset.name,
                "block": asking.block,
                "cost": cost.said(family.accounting),
            }
            charges = charges_of(asking.account, who, cost, shared=shared)
            claim = Claim(
                key, key, what, cost.main, who, charges, self.policy.fingerprint, info, shared
            )
            asking.engine.ping()
            found = self._reserve(claim, asking)
            charged = True
            if isinstance(found, Pending):
                audience: Audience = "owner" if who == OWNER else "analyst"
                with asking.answering(audience, self._on_fault, self.seconds) as answering:
                    text = asking.searched(search, answering.look, KeyedSource(found.noise))
                found = self.ledger.store(key, text, failed=bool(answering.faults))
            asking.take(search, found.answer)
        return asking.plan(question), charged

    # who, and how much

    def _known(self, analyst: str) -> str:
        if analyst not in self.policy.analysts:
            known = ", ".join(self.policy.analysts) or "none"
            raise ParameterError("analyst", analyst, f"must be one of the policy's: {known}")
        return analyst

    def _may_ask(self, family: Family, who: str) -> None:
        if who != OWNER and family.name not in self.policy.analysts[who].allowances:
            raise BudgetExceededError(
                f"{who} has no allowance for {family.name}; nothing was charged",
                asked=None, left=None, could=None,
            )  # fmt: skip
        ends = {f"the family {family.name!r}": family.expires}
        if who != OWNER:
            ends[f"the analyst {who!r}"] = self.policy.analysts[who].expires
        for what, last in ends.items():
            if last is not None and self._today() > last:
                raise BudgetExceededError(
                    f"{what} could be asked until {last}; nothing was charged",
                    asked=None, left=None, could=None,
                )  # fmt: skip

    def _today(self) -> date:
        """Never before the last entry of the log, whatever the clock says."""
        entries = self.ledger.entries(max(self.ledger.head.seq - 2, 0))
        times = [v["at"] for v in (e.values() for e in entries) if "at" in v]
        written = [datetime.fromisoformat(at).date() for at in times]
        return max([self._clock().date(), *written])

    def _left(self, asking: Asking, who: str) -> Amount:
        """What the asker may know of: the people's budget, or an analyst's own allowance."""
        name = asking.account if who == OWNER else f"{asking.account}@{who}"
        return self.ledger.accounts[name].left

    def _coarser(
        self, asking: Asking, family: Family, who: str, plan: Plan, target: Target
    ) -> Target | None:
        left, accounting = self._left(asking, who), family.accounting
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
