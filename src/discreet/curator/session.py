"""A session: one table, one budget, and questions that are charged before they are answered.

Guarantee. Everything that a session hands out has, all together, the budget's guarantee, however
the questions were chosen.
Neighbours. As the table's unit says, and the budget is made for.
Assumes. The owner's declaration of the unit, the engine's exactness, and that nobody else answers
from the same people under another budget.
Proof. The path of a question is: read, price, check the engine without reading a row, charge,
run, add noise. Every refusal before the charge depends on the question, the declaration and the
budget alone. After the charge there is exactly one outcome, a release with the priced guarantee
(`discreet.curator.answering`). The charge is `discreet.privacy.budget`'s.

An owner's session shows the engine's own error instead, because an owner may see the data. The
charge stays: data was touched.
Tested by tests/curator/test_session.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.curator.answering import Answering, Audience, Telling
from discreet.curator.decided import Decided
from discreet.curator.margining import margining
from discreet.curator.offer import largest, offered
from discreet.curator.published import Published
from discreet.curator.publishing import axes_of, publication
from discreet.curator.questions import Memory, Question, Questions, plan_of, wanted_target
from discreet.curator.release import Release
from discreet.curator.rolling import rolling
from discreet.curator.search import next_search, supposed
from discreet.curator.workloads import working
from discreet.engines.base import Engine
from discreet.errors import BudgetExceededError
from discreet.exact import Exact, shown, written
from discreet.noise.source import system_source
from discreet.privacy.balance import Balance
from discreet.privacy.budget import Chargeable
from discreet.privacy.guarantee import Guarantee, same_neighbours
from discreet.privacy.loss import Loss, PureLoss, ZCDPLoss
from discreet.query.build import Query
from discreet.query.margins import Ways
from discreet.query.nested import rollup_plan
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target, priced
from discreet.query.schema import Schema

__all__ = ["Session"]


class Session(Questions):
    """Ask one table, on one budget.

    Made by `dp.Table.session`; see there for the arguments.
    """

    def __init__(
        self,
        schema: Schema,
        engine: Engine,
        budget: Chargeable,
        *,
        audience: Audience = "owner",
        confidence: Exact = "0.95",
        on_fault: Callable[[Exception], None] | None = None,
    ) -> None:
        self._answering = Answering(engine, audience, on_fault)
        same_neighbours(schema.unit.neighbours, budget.guarantee.neighbours)
        super().__init__(schema, engine, confidence=confidence)
        self._budget = budget
        self._found: list[tuple[str, PureLoss]] = []
        self._base = schema

    @property
    def left(self) -> Balance:
        """What may still be spent."""
        return self._budget.left

    @property
    def spent(self) -> Balance:
        """What was spent so far."""
        return self._budget.spent

    @property
    def guarantee(self) -> Guarantee:
        """What everything that this session hands out has together."""
        return self._budget.guarantee

    def __repr__(self) -> str:
        return f"<Session on {self.schema.name!r}: {self.left} left>"

    def query(self) -> Query:
        """Begin a question in the fluent form, which this session will answer."""
        return Query(self.schema, asker=self)

    def ask(  # noqa: PLR0913 - every word that a question may say about its price
        self,
        question: Question,
        /,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        within: Exact | None = None,
        rows: Exact | None = None,
        column: str | None = None,
        confidence: Exact | None = None,
        search_again: bool = False,
    ) -> Release:
        """Charge the budget, run the question, and return its private answer.

        Args:
            question: SQL, a query of the fluent form, or a plan.
            epsilon: what the question may cost, in pure privacy; or with
            delta: in approximate privacy; or
            rho: in zero-concentrated privacy.
            within: instead: as much as it costs to be within this distance,
            rows: in a group of this many rows (for means),
            column: for this column (without it: for all).
            confidence: of the intervals, and of `within`.
            search_again: what has to be found, and was found before, is found and paid again.
        """
        level = self._level(confidence)

        def wanted(plan: Plan, schema: Schema) -> Target:
            return wanted_target(
                plan, schema, epsilon=epsilon, delta=delta, rho=rho, within=within, rows=rows,
                column=column, confidence=level,
            )  # fmt: skip

        plan = self._ready(question, wanted, search_again=search_again)
        if plan.rollup:
            return self._rolled(plan, wanted, level)
        target = wanted(plan, self.schema)
        priced, statement = self.priced(plan, target)
        try:
            return self._answer(priced, statement, level)
        except BudgetExceededError as refusal:
            raise self._coarser(refusal, plan, target) from None

    def publish(
        self,
        columns: str | Sequence[str],
        /,
        *,
        bins: int | Sequence[int],
        ranges: tuple[Exact, Exact] | Sequence[tuple[Exact, Exact]],
        where: str | None = None,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        confidence: Exact | None = None,
    ) -> Published:
        """Charge the budget once, and publish counts that answer any number of questions.

        Args:
            columns: a column, or an expression in SQL; or up to three of them, one for each axis.
            bins: how many cells of equal width; for each axis, where there are several.
            ranges: (low, high), from where to where; for each axis, where there are several.
            where: only rows for which this condition holds.
            epsilon: what it may cost, in pure privacy; or
            rho: in zero-concentrated privacy.
            confidence: of the intervals.
        """
        level = self._level(confidence)
        axes = axes_of(columns, bins, ranges)
        priced = publication(
            self.schema, self._engine, axes, where, epsilon=epsilon, rho=rho, found=self._found
        )
        self._pay(priced)
        at = datetime.now(UTC)
        return priced.made(self._answering, system_source(), confidence=level, at=at)

    def publish_rollup(
        self,
        keys: Sequence[str],
        /,
        *,
        epsilon: Exact,
        where: str | None = None,
        combinations: Sequence[tuple[Any, ...]] | None = None,
        confidence: Exact | None = None,
    ) -> Release:
        """Charge the budget once, and publish the counts of all levels of GROUP BY ROLLUP (keys).

        Whole numbers, none negative, and the parts of every group add up to it. None stands for
        "all" in the columns of the keys.

        Args:
            keys: columns with public keys, or expressions in SQL, the coarsest first.
            epsilon: what it may cost, all levels together.
            where: only rows for which this condition holds.
            combinations: the finest groups as tuples, such as the districts that each region has;
                without them all combinations of keys are meant.
            confidence: of the intervals.
        """
        level = self._level(confidence)
        plan = rollup_plan(self.schema, keys, where, combinations)
        return self._rolled(plan, epsilon, level)

    def publish_workload(
        self,
        questions: Sequence[Question],
        /,
        *,
        epsilon: Exact,
        confidence: Exact | None = None,
    ) -> Release:
        """Charge the budget once, and answer several counting questions together.

        What is measured is chosen for these questions, so that their errors are small together;
        all answers are read from the same cells, none of them negative.

        Args:
            questions: each SELECT COUNT(*) in SQL, with WHERE and GROUP BY over columns whose
                values are public; or the condition alone, such as "age < 30"; or a query.
            epsilon: what it may cost, all questions together.
            confidence: of the intervals.
        """
        level = self._level(confidence)
        wanted = working(self.schema, self._engine, questions, epsilon, found=self._found)
        return self._made(wanted, level)

    def publish_marginals(
        self,
        columns: Sequence[str],
        /,
        *,
        ways: Ways = 2,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        where: str | None = None,
        confidence: Exact | None = None,
    ) -> Release:
        """Charge the budget once, and publish tables of counts over a few of many columns each.

        Marginals of fewer columns follow. The unbiased numbers (`raw`) agree with each other; the
        values are read from tables that agree and are then moved into their intervals, after which
        sums can differ. A missing value is one more key of its column.

        Args:
            columns: columns with public keys, or expressions in SQL; "... AS name" gives a name.
            ways: of how many columns each table is; or the tables, each a list of names.
            epsilon: what it may cost, all tables together; or
            rho: in zero-concentrated privacy, which is far better for many tables.
            where: only rows for which this condition holds.
            confidence: of the intervals.
        """
        level = self._level(confidence)
        wanted = margining(
            self.schema, self._engine, columns, ways, where=where, epsilon=epsilon, rho=rho,
            found=self._found,
        )  # fmt: skip
        return self._made(wanted, level)

    def _rolled(
        self, plan: Plan, epsilon: Exact | Callable[[Plan, Schema], Target], confidence: Fraction
    ) -> Release:
        wanted = rolling(self.schema, self._engine, plan, epsilon, found=self._found)
        return self._made(wanted, confidence)

    def _made(self, wanted: Decided[Any], confidence: Fraction) -> Release:
        self._pay(wanted)
        at = datetime.now(UTC)
        return wanted.released(self._answering, system_source(), confidence=confidence, at=at)

    def _pay(self, wanted: Decided[Any]) -> None:
        try:
            self._charge([wanted.loss])
        except BudgetExceededError as refusal:
            loss = wanted.loss
            kind = "rho" if isinstance(loss, ZCDPLoss) else "epsilon"
            price = shown(loss.rho if isinstance(loss, ZCDPLoss) else loss.epsilon)
            words = (
                f"this publication costs {kind} {price}, and {self.left} is left; "
                f"nothing was charged. A smaller {kind} has a larger error"
            )
            words += "; where no rhos are added up, say epsilon=..." if kind == "rho" else ""
            raise BudgetExceededError(
                words, asked=refusal.asked, left=refusal.left, could=refusal.could
            ) from None

    def _coarser(
        self, refusal: BudgetExceededError, plan: Plan, target: Target
    ) -> BudgetExceededError:
        """The refusal, with what the rest of the budget would still buy."""
        could = refusal.could
        words = f"this question costs {target}, and {self.left} is left; nothing was charged"
        if isinstance(could, Fraction) and could > 0:
            words += self._offer(plan, target, could)
        else:
            words += "; the budget is spent"
        return BudgetExceededError(words, asked=refusal.asked, left=refusal.left, could=could)

    def _offer(self, plan: Plan, target: Target, left: Fraction) -> str:
        """A smaller epsilon, or a smaller delta, at which the question would be answered."""
        asked = target if target.epsilon is not None else Target(epsilon=left)
        smaller = largest(
            self, plan, asked, lambda found: self._budget.affords(*found.losses), left=left
        )
        if smaller is None or smaller.epsilon is None:
            return ". It needs a delta: open a session with session(epsilon=..., delta=...)"
        more = "" if smaller.delta is None else f", delta={written(smaller.delta)}"
        offer = offered(self, plan, smaller, confidence=self._confidence)
        return f". Ask it with epsilon={shown(smaller.epsilon)}{more}{offer.errors()}"

    def _answer(self, question: Priced, statement: str, confidence: Fraction) -> Release:
        if question.request.parts:
            self._charge(question.losses)
        telling = Telling(self.schema, confidence, self._found, datetime.now(UTC))
        made, _ = self._answering.release(question, statement, system_source(), telling)
        return made

    def _charge(self, losses: Sequence[Loss]) -> None:
        """Charge first, look afterwards."""
        self._engine.ping()
        self._budget.charge(*losses)

    def _ready(
        self, question: Question, wanted: Callable[[Plan, Schema], Target], *, search_again: bool
    ) -> Plan:
        """The plan, after everything that it needs and that has to be found was found.

        A question that would be refused anyway is refused before anything is spent on finding.
        """
        if next_search(question, self.schema) is not None:
            schema = supposed(self.schema)
            plan = plan_of(question, schema)
            priced(plan, schema, wanted(plan, schema))
        if search_again:
            self._forget(question)
        while (search := next_search(question, self.schema)) is not None:
            self._charge([search.loss])
            text = self._answering.made(
                search.request, self._engine.statement(search.request),
                partial(search.told, schema=self.schema, source=system_source()),
            )  # fmt: skip
            chosen = search.taken(text, self._answering.audience)
            self._declare(Memory(search.applied(self.schema, chosen)))
            self._found.append((search.note(chosen), search.loss))
        return self.plan(question)

    def _forget(self, question: Question) -> None:
        """Take back what was found for a question: it is to be found, and paid, again."""
        base = self._base
        while (search := next_search(question, base)) is not None:
            base = search.applied(base, search.instead)
            self._declare(Memory(search.undone(self.schema, self._base)))
            self._found = [one for one in self._found if not one[0].startswith(f"{search.name} ")]
