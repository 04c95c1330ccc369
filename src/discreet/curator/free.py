"""What a question would cost and how far off it would be, under a ledger; all of it free.

What the asker was given by searches before is known here: it was released to her. What is still to
be found is supposed, and `to_find` tells what that is; its price is part of the cost. What she has
an answer to already is known, too (`is_paid`); of answers to others only those that are public.
Tested by tests/curator/test_free.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from discreet.curator.asking import Asking, priced_at, wanting
from discreet.curator.claims import OWNER, Asked, check_may_ask, claim_of
from discreet.curator.ledger.amounts import Accounting, Amount, cost_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.policy.model import Family, Policy
from discreet.curator.questions import Question, target_of, unpriced
from discreet.curator.search import Search
from discreet.curator.searching import Searches, to_be_found
from discreet.curator.unchanged import change_of
from discreet.errors import DiscreetError
from discreet.exact import Exact
from discreet.query.explain import Price
from discreet.query.plan import Plan
from discreet.query.price import Target
from discreet.query.render import question_sql
from discreet.query.schema import Schema

__all__ = ["Free", "Told"]

_PAID = (
    "\n\nNote: there is an answer to this for you, at this price or a higher one. To ask for it "
    "takes nothing off your budget."
)


class Told(NamedTuple):
    """What is known of a question at a price.

    Attributes:
        price: how far off each number will be.
        cost: what it takes off a budget, with what is to be found.
        paid: whether it takes nothing, because there is an answer; None where that is not told.
    """

    price: Price
    cost: Amount
    paid: bool | None


class Free(ABC):
    """Tells for free; what is asked is the curator's.

    The arguments are those of `Curator.ask`: with `search_again` it is told what another search of
    all that the question needs would cost.
    """

    policy: Policy
    ledger: Ledger
    version: int

    @abstractmethod
    def _asking(
        self, question: Question, dataset: str | None, block: str | None, analyst: str | None
    ) -> Asking:
        """What a question is about, begun for who asks it."""

    @abstractmethod
    def _part(self, named: str, block: str | None, analyst: str | None) -> Asking:
        """A dataset of that name, or a part of it, begun for who asks."""

    @abstractmethod
    def _known(self, analyst: str) -> str:
        """Somebody whom the policy knows."""

    @abstractmethod
    def _today(self) -> date:
        """The day, for what can be asked until one."""

    def explain(self, question: Question, /, *, dataset: str | None = None,
                block: str | None = None, analyst: str | None = None,
                search_again: bool = False, **price: Any,
                ) -> str:  # fmt: skip
        """The question in words, with the statement that would run; free.

        The owner is told where files have changed, and asking would be refused.
        """
        asking, missing = self._informed(question, dataset, block, analyst, again=search_again)
        said = priced_at(self.policy.defaults, price, asking.plan(question))
        text = asking.explain(question, **said)
        changed = change_of(self.ledger, asking) if analyst is None else ""
        if changed:
            text += f"\n\nNote: asking would be refused. {changed[0].upper()}{changed[1:]}."
        if not missing:
            target = _target(asking.plan(question), said)
            return text + (_PAID if self._paid(asking, question, (), analyst)(target) else "")
        cost = self._cost_of(asking, question, said, missing)
        return text + to_be_found(missing, *cost, again=search_again)

    def price(self, question: Question, /, *, dataset: str | None = None,
              block: str | None = None, analyst: str | None = None,
              search_again: bool = False, **price: Any,
              ) -> Price:  # fmt: skip
        """The expected error of every number at a price; free."""
        asking, _ = self._informed(question, dataset, block, analyst, again=search_again)
        said = priced_at(self.policy.defaults, price, asking.plan(question))
        return asking.price(question, **said)

    def cost(self, question: Question, /, *, dataset: str | None = None,
             block: str | None = None, analyst: str | None = None,
             search_again: bool = False, **price: Any,
             ) -> Amount:  # fmt: skip
        """What a question at a price would take off a budget, with what is to be found; free."""
        asking, missing = self._informed(question, dataset, block, analyst, again=search_again)
        said = priced_at(self.policy.defaults, price, asking.plan(question))
        return self._cost_of(asking, question, said, missing)[0]

    def is_paid(self, question: Question, /, *, dataset: str | None = None,  # noqa: PLR0913
                block: str | None = None, analyst: str | None = None,
                search_again: bool = False, epsilon: Exact | None = None,
                delta: Exact | None = None, rho: Exact | None = None,
                within: Exact | None = None, rows: Exact | None = None,
                column: str | None = None,
                ) -> bool | None:  # fmt: skip
        """Whether `ask` would give the asker an answer that she has, or a public one, at this price
        or a higher one, and take nothing off a budget; free.

        None of roll-ups: it is not told. Where something is still to be found it is False, also if
        a public search would serve. The owner is told of what the owner paid, or what is public,
        also of a failure that an analyst was given as an answer, which `ask` refuses to an owner.
        No file is looked at: where these were changed, `ask` refuses whatever is paid.
        """
        asking, missing = self._informed(question, dataset, block, analyst, again=search_again)
        plan, said = asking.plan(question), {"epsilon": epsilon, "delta": delta, "rho": rho}
        if within is None:
            target = _target(plan, priced_at(self.policy.defaults, said, plan))
        else:
            wanted = wanting(self.policy.defaults, within=within, rows=rows, column=column, **said)
            target = wanted(plan, asking.schema)
        return self._paid(asking, question, missing, analyst)(target)

    def told_at(self, question: Question, prices: Sequence[Mapping[str, Any]], /, *,
                dataset: str | None = None, block: str | None = None,
                analyst: str | None = None, search_again: bool = False, **figures: Any,
                ) -> list[Told]:  # fmt: skip
        """What `price`, `cost` and `is_paid` tell, at several prices: looked up once; free.

        Args:
            question: SQL, a query of the fluent form, or a plan.
            prices: each an epsilon, a delta, a rho, by name.
            dataset: that it is about, and
            block: which part of it.
            analyst: asks; the owner if nobody is named.
            search_again: whether what was found before is to be found again, too.
            figures: what `price` is told besides.
        """
        asking, missing = self._informed(question, dataset, block, analyst, again=search_again)
        plan, defaults = asking.plan(question), self.policy.defaults
        is_paid, told = self._paid(asking, question, missing, analyst), []
        for price in prices:
            said = priced_at(defaults, price, plan)
            cost = self._cost_of(asking, question, said, missing)[0]
            error = asking.price(question, **said, **figures)
            told.append(Told(error, cost, is_paid(_target(plan, said))))
        return told

    def to_find(self, question: Question, /, *, dataset: str | None = None,
                block: str | None = None, analyst: str | None = None,
                search_again: bool = False) -> list[Search]:  # fmt: skip
        """What would be found, and charged, before a question is answered; free."""
        return self._informed(question, dataset, block, analyst, again=search_again)[1]

    def epsilon_for(self, question: Question, /, *, dataset: str | None = None,
                    block: str | None = None, analyst: str | None = None,
                    search_again: bool = False, **accuracy: Any,
                    ) -> Decimal:  # fmt: skip
        """The least epsilon at which the answer is as accurate as asked; free."""
        asking, _ = self._informed(question, dataset, block, analyst, again=search_again)
        return asking.epsilon_for(question, **accuracy)

    def plan(self, question: Question, /, *, dataset: str | None = None,
             block: str | None = None, analyst: str | None = None) -> Plan:  # fmt: skip
        """The question as a frozen value, under what is declared and was found; free."""
        return self._informed(question, dataset, block, analyst)[0].plan(question)

    def declared(self, dataset: str, /, *, block: str | None = None,
                 analyst: str | None = None) -> Schema:  # fmt: skip
        """What is declared of a dataset, with all that the asker was given before; free."""
        asking = self._part(dataset, block, analyst)
        self._searches(asking, analyst).given(asking)
        return asking.schema

    def _informed(
        self, question: Question, dataset: str | None, block: str | None, analyst: str | None, *,
        again: bool = False,
    ) -> tuple[Asking, list[Search]]:  # fmt: skip
        """What is asked, with what the asker was given before; and what is still to be found."""
        asking = self._asking(question, dataset, block, analyst)
        return asking, self._searches(asking, analyst).applied(asking, question, again=again)

    def _searches(self, asking: Asking, analyst: str | None) -> Searches:
        """What is found for somebody; for the owner if nobody is named."""
        family = self.policy.families[asking.dataset.family]
        who = OWNER if analyst is None else self._known(analyst)
        return Searches(self.ledger, self.policy, self.version, family, who)

    def _cost_of(
        self, asking: Asking, question: Question, said: Mapping[str, Any], missing: Sequence[Search]
    ) -> tuple[Amount, Accounting]:
        plan, family = asking.plan(question), self.policy.families[asking.dataset.family]
        target = _target(plan, said)
        losses = [*asking.losses(plan, target), *(search.loss for search in missing)]
        return cost_of(losses, family.accounting), family.accounting

    def _paid(
        self, asking: Asking, question: Question, missing: Sequence[Search], analyst: str | None
    ) -> Callable[[Target], bool | None]:
        """Whether there is an answer at a price, under the name that the question would get then;
        None where it is not told. The ledger is looked at once for a name.
        """
        plan, family = asking.plan(question), self.policy.families[asking.dataset.family]
        if plan.rollup:
            return lambda _: None
        who = OWNER if analyst is None else self._known(analyst)
        if missing or (who == OWNER and asking.nothing) or not self._may(family, who):
            return lambda _: False
        best: dict[str, int] = {}

        def is_paid(target: Target) -> bool:
            try:
                priced, _ = asking.priced(unpriced(plan), target)
            except DiscreetError:  # it cannot be asked at this price
                return False
            asked = Asked.of_plan(priced.plan, priced.target, question_sql(priced))
            cost = cost_of(priced.losses, family.accounting)
            claim = claim_of(self.policy, self.version, asking, asked, who, cost, "")
            if claim.canon not in best:
                found = self.ledger.best(claim.canon, None if claim.public else who)
                best[claim.canon] = -1 if found is None else found
            return claim.size <= best[claim.canon]

        return is_paid

    def _may(self, family: Family, who: str) -> bool:
        """Whether somebody may ask still."""
        try:
            check_may_ask(self.policy, family, who, self._today)
        except DiscreetError:
            return False
        return True


def _target(plan: Plan, said: Mapping[str, Any]) -> Target:
    """The price that was said; 1 where nobody says one, as `Questions.explain` supposes."""
    own = plan.epsilon is not None or plan.rho is not None
    none = said.get("epsilon") is None and said.get("rho") is None and not own
    epsilon = 1 if none else said.get("epsilon")
    return target_of(plan, epsilon, said.get("delta"), said.get("rho"))
