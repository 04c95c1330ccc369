"""A session: one table, one budget, and questions that are charged before they are answered.

Guarantee. Everything that a session hands out has, all together, the budget's guarantee, however
the questions were chosen.
Neighbours. As the table's unit says, and the budget is made for.
Assumes. The owner's declaration of the unit, the engine's exactness, and that nobody else answers
from the same people under another budget.
Proof. The path of a question is: read, price, check the engine without reading a row, charge,
run, add noise. Every refusal before the charge depends on the question, the declaration and the
budget alone. After the charge there is exactly one outcome, a release with the priced guarantee
(`discreet.curator.answer`): for an analyst an engine that fails counts as an empty table, so that a
failure shows no more than an answer would. The charge is `discreet.privacy.budget`'s.

An owner's session shows the engine's own error instead, because an owner may see the data. The
charge stays: data was touched.
Tested by tests/curator/test_session.py
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal

from discreet.curator.answer import answered
from discreet.curator.find import (
    bounds_from,
    bounds_request,
    rows_from,
    rows_request,
)
from discreet.curator.present import presented
from discreet.curator.questions import Question, Questions, plan_of, target_of
from discreet.curator.release import Release
from discreet.engines.base import Engine
from discreet.errors import BudgetExceededError, DiscreetError, ParameterError
from discreet.exact import Exact, shown, written
from discreet.noise.source import system_source
from discreet.privacy.balance import Balance
from discreet.privacy.budget import Chargeable
from discreet.privacy.guarantee import Guarantee, same_neighbours
from discreet.privacy.loss import Loss, PureLoss
from discreet.query.build import Query
from discreet.query.explain import epsilon_for, price_of
from discreet.query.expr import Column, walk
from discreet.query.plan import Plan, aggregates
from discreet.query.price import Priced, Target
from discreet.query.render import to_sql
from discreet.query.request import Cells, Request
from discreet.query.schema import Bounds, FindBounds, PerPerson, Schema

__all__ = ["Audience", "Session"]

Audience = Literal["owner", "analyst"]
_SUPPOSED = Bounds(1, 1_000_000)
"""Bounds that stand for those to be found while a question is only checked."""
_log = logging.getLogger("discreet.owner")
_log.addHandler(logging.NullHandler())  # never to an analyst's terminal unless somebody says so


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
        if audience not in ("owner", "analyst"):
            raise ParameterError("audience", audience, "must be 'owner' or 'analyst'")
        same_neighbours(schema.unit.neighbours, budget.guarantee.neighbours)
        super().__init__(schema, engine, confidence=confidence)
        self._budget = budget
        self._audience = audience
        self._on_fault = on_fault
        self._found: list[tuple[str, PureLoss]] = []

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
        return f"<Session on {self._schema.name!r}: {self.left} left>"

    def query(self) -> Query:
        """Begin a question in the fluent form, which this session will answer."""
        return Query(self._schema, asker=self)

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
        """
        level = self._level(confidence)
        if within is not None and (epsilon is not None or rho is not None):
            raise ParameterError("within", within, "goes instead of epsilon and rho")
        plan = self._ready(question)
        if within is not None:
            epsilon = epsilon_for(
                plan, self._schema, within=within, confidence=level, column=column, rows=rows,
                delta=delta,
            )  # fmt: skip
        target = target_of(plan, epsilon, delta, rho)
        priced, statement = self._priced(plan, target)
        try:
            return self._answer(priced, statement, level)
        except BudgetExceededError as refusal:
            raise self._coarser(refusal, plan, target) from None

    def _coarser(
        self, refusal: BudgetExceededError, plan: Plan, target: Target
    ) -> BudgetExceededError:
        """The refusal, with what the rest of the budget would still buy."""
        could = refusal.could
        words = f"this question costs {target}, and {self.left} is left; nothing was charged"
        least = _rounded_down(could) if isinstance(could, Fraction) and could > 0 else None
        offer = "; the budget is spent" if least is None else self._offer(plan, target, least)
        return BudgetExceededError(
            words + offer, asked=refusal.asked, left=refusal.left, could=could
        )

    def _offer(self, plan: Plan, target: Target, least: Fraction) -> str:
        """A smaller epsilon, or a smaller delta, at which the question would be answered."""
        epsilon = least if target.epsilon is None else min(least, target.epsilon)
        deltas = [None] if target.delta is None else [target.delta / 2**i for i in range(8)]
        for delta in deltas:
            try:
                found, _ = self._priced(plan, Target(epsilon=epsilon, delta=delta))
            except DiscreetError:
                continue
            if self._budget.affords(*found.losses):
                price = price_of(found, confidence=self._confidence)
                widths = [f"{x.name} within {x.half_width:,.3g}" for x in price if x.half_width]
                more = "" if delta is None else f", delta={written(delta)}"
                said = f": {', '.join(widths)}" if widths else ""
                return f". Ask it with epsilon={shown(epsilon)}{more}{said}"
        return ". It needs a delta: open a session with session(epsilon=..., delta=...)"

    def _answer(self, question: Priced, statement: str, confidence: Fraction) -> Release:
        exact: Sequence[Cells] = ()
        if question.request.parts:
            exact = self._charged(question.losses, question.request, statement)
        try:
            return self._released(question, exact, confidence)
        except Exception as fault:
            if self._audience == "owner":
                raise
            self._tell(fault)
            return self._released(question, [{} for _ in exact], confidence)

    def _released(self, question: Priced, exact: Sequence[Cells], confidence: Fraction) -> Release:
        found = answered(question, exact, system_source(), confidence=confidence)
        return presented(
            question, found, sql=to_sql(question.plan, self._schema), confidence=confidence,
            found_before=self._found, asked_at=datetime.now(UTC),
        )  # fmt: skip

    def _charged(self, losses: Sequence[Loss], request: Request, statement: str) -> Sequence[Cells]:
        """Charge first, look afterwards; for an analyst a failing engine is an empty table."""
        self._engine.ping()
        self._budget.charge(*losses)
        try:
            return self._engine.run(request, statement, progress=self._audience == "owner")
        except Exception as fault:
            if self._audience == "owner":
                raise
            self._tell(fault)
            return [{} for _ in request.parts]

    def _tell(self, fault: Exception) -> None:
        """Tell the owner, and nobody else: not even that telling failed."""
        try:
            if self._on_fault is not None:
                self._on_fault(fault)
                return
        except Exception as another:  # noqa: BLE001 - it would reach the analyst
            _log.error("on_fault failed", exc_info=another)
        _log.error("a question failed after it was charged", exc_info=fault)

    def _ready(self, question: Question) -> Plan:
        """The plan, after everything that it needs and that has to be found was found.

        The question is checked before anything is spent on finding.
        """
        wanted = [n for n, d in self._schema.columns.items() if isinstance(d, FindBounds)]
        if wanted:
            supposed = {**self._schema.columns, **dict.fromkeys(wanted, _SUPPOSED)}
            plan = plan_of(question, replace(self._schema, columns=supposed))
            for name in sorted(_columns(plan) & set(wanted)):
                self._find_bounds(name)
        plan = self.plan(question)
        unit = self._schema.unit
        if isinstance(unit, PerPerson) and unit.max_rows == "find" and _needs_rows(plan):
            self._find_rows(unit)
        return plan

    def _find_bounds(self, column: str) -> None:
        wanted = self._schema.columns[column]
        assert isinstance(wanted, FindBounds)  # noqa: S101 - the caller looked
        request = bounds_request(self._schema, column)
        loss = PureLoss(neighbours=self._schema.unit.neighbours, epsilon=wanted.epsilon)
        (cells,) = self._charged([loss], request, self._engine.statement(request))
        bounds = bounds_from(self._schema, column, cells, wanted.epsilon, system_source())
        self._declare(replace(self._schema, columns={**self._schema.columns, column: bounds}))
        note = (
            f"bounds of {column} found: {shown(bounds.low)} to {shown(bounds.high)}, "
            f"at a cost of epsilon {shown(wanted.epsilon)}"
        )
        self._found.append((note, loss))

    def _find_rows(self, unit: PerPerson) -> None:
        assert unit.find_epsilon is not None  # noqa: S101 - checked when the unit was made
        request = rows_request(self._schema)
        loss = PureLoss(neighbours=unit.neighbours, epsilon=unit.find_epsilon)
        (cells,) = self._charged([loss], request, self._engine.statement(request))
        most = rows_from(unit, cells, unit.find_epsilon, system_source())
        found = PerPerson(
            unit.column, max_rows=most, max_groups=unit.max_groups, bounding=unit.bounding,
            neighbours=unit.neighbours, people=unit.people, together=unit.together,
        )  # fmt: skip
        self._declare(replace(self._schema, unit=found))
        note = (
            f"rows per person found: at most {most} count, "
            f"at a cost of epsilon {shown(unit.find_epsilon)}"
        )
        self._found.append((note, loss))


def _rounded_down(value: Fraction) -> Fraction:
    """To three digits, so that an offer can be typed."""
    digits = 3 - len(str(int(value))) if value >= 1 else 2 + len(str(int(1 / value)))
    step = Fraction(10) ** -max(digits, 0)
    return value // step * step


def _needs_rows(plan: Plan) -> bool:
    return any(a.function != "people" for a in aggregates(plan))


def _columns(plan: Plan) -> set[str]:
    """The columns that a question uses."""
    roots = [plan.where, *(g.value for g in plan.groupings)]
    for aggregate in aggregates(plan):
        roots += [aggregate.operand, aggregate.where]
    return {
        node.name
        for root in roots
        if root is not None
        for node in walk(root)
        if isinstance(node, Column)
    }
