"""Questions to one table that cost nothing: read, price, explain.

Everything here depends on the question and the owner's declaration alone; no row is read.
Tested by tests/curator/test_questions.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from discreet.engines.base import Engine
from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, probability
from discreet.privacy.loss import Loss
from discreet.query.build import Query
from discreet.query.explain import Price, epsilon_for, explained, price_of
from discreet.query.known import Reader
from discreet.query.narrow import narrowed
from discreet.query.plan import Plan, aggregates, but_for_where, keys_in
from discreet.query.price import Priced, Target, priced
from discreet.query.recent import Recent, weight_of
from discreet.query.render import to_sql
from discreet.query.schema import Schema
from discreet.query.sql import parse
from discreet.remembered import remembered

__all__ = [
    "NOTHING",
    "Askable",
    "Foreseen",
    "Memory",
    "Question",
    "Questions",
    "foreseen",
    "plan_of",
    "rounded_down",
    "target_of",
    "unpriced",
    "wanted_target",
]

NOTHING = "(nothing is read: the answer is public)"
Question = str | Plan | Query
"""SQL, a finished plan, or the fluent form."""


def plan_of(question: Question, schema: Schema) -> Plan:
    """The question as a frozen value, under a declaration.

    A plan that is handed in has to be what its own SQL means here: what it says about the range of
    a column decides the noise, and is not believed.
    """
    if isinstance(question, Plan):
        plan = narrowed(question)
        if parse(to_sql(plan, schema), schema) != plan:
            raise QueryError("this plan is not one of this table: build it by SQL or table.query()")
        return plan
    if isinstance(question, Query):
        return question.with_schema(schema).plan
    return parse(question, schema)


def unpriced(plan: Plan) -> Plan:
    """The question without what its OPTIONS say of its price."""
    if plan.epsilon is None and plan.delta is None and plan.rho is None:
        return plan
    return replace(plan, epsilon=None, delta=None, rho=None)


def target_of(plan: Plan, epsilon: Exact | None, delta: Exact | None, rho: Exact | None) -> Target:
    """What a question may cost: what was said, or what its OPTIONS say."""
    if epsilon is None and rho is None:
        epsilon, rho = plan.epsilon, plan.rho
        if epsilon is None and rho is None:
            raise QueryError("say what the question may cost: epsilon=..., such as epsilon=0.1")
    if delta is None and rho is None:
        delta = plan.delta
    if type(epsilon) is str and delta is None and rho is None:
        return _of_epsilon(epsilon)
    return Target(epsilon=epsilon, delta=delta, rho=rho)


@remembered(256)
def _of_epsilon(epsilon: str) -> Target:
    """A price that was read lately: most say an epsilon, as text."""
    return Target(epsilon=epsilon)


def wanted_target(  # noqa: PLR0913 - every word that a question may say about its price
    plan: Plan,
    schema: Schema,
    *,
    epsilon: Exact | None,
    delta: Exact | None,
    rho: Exact | None,
    within: Exact | None,
    rows: Exact | None,
    column: str | None,
    confidence: Fraction,
) -> Target:
    """What a question may cost: a price, or as much as an accuracy costs."""
    if within is not None:
        if epsilon is not None or rho is not None:
            raise ParameterError("within", within, "goes instead of epsilon and rho")
        epsilon = _epsilon_for(
            plan, schema, within=within, confidence=confidence, column=column, rows=rows,
            delta=delta,
        )  # fmt: skip
    return target_of(plan, epsilon, delta, rho)


def _epsilon_for(
    plan: Plan, schema: Schema, *, within: Exact, confidence: Fraction, column: str | None,
    rows: Exact | None, delta: Exact | None,
) -> Decimal:  # fmt: skip
    """The least epsilon at which every number, or one column, is this accurate."""
    if plan.rollup:
        if delta is not None:
            raise ParameterError("delta", delta, "does not go with GROUP BY ROLLUP")
        from discreet.curator.foretold import rollup_epsilon_for  # noqa: PLC0415 - of roll-ups only

        return rollup_epsilon_for(plan, schema, within=within, confidence=confidence, column=column)
    return epsilon_for(
        plan, schema, within=within, confidence=confidence, column=column, rows=rows, delta=delta
    )


def rounded_down(value: Fraction) -> Fraction:
    """A price of three digits, so that an offer can be typed."""
    if value <= 0:
        return Fraction(0)
    digits = 3 - len(str(int(value))) if value >= 1 else 2 + len(str(int(1 / value)))
    step = Fraction(10) ** -max(digits, 0)
    return value // step * step


def _weight(plan: Plan) -> int:
    """How much there is of a plan, in keys and letters, with its constants."""
    parts = [plan.where, *(one.value for one in plan.groupings)]
    for one in aggregates(plan):
        parts += one.operand, one.where
    return keys_in(plan) + weight_of(parts)


class Memory:
    """What was decided about questions under one declaration.

    Attributes:
        schema: the declaration.
        reader: of questions under it.
        plans: of questions, by their text.
        prices: of plans; and of
        kin: those that differ in what WHERE says, and in nothing else.
    """

    __slots__ = ("kin", "plans", "prices", "reader", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.reader = Reader(schema)
        self.plans: Recent[str, Plan] = Recent()
        self.prices: Recent[tuple[Plan, str, Target, bool], Priced] = Recent()
        self.kin: Recent[tuple[object, ...], Priced] = Recent()


class Questions:
    """One declared table that can be asked what a question would cost."""

    def __init__(self, schema: Schema, engine: Engine, *, confidence: Exact = "0.95") -> None:
        self._engine = engine
        self._confidence = probability(confidence, name="confidence")
        self._declare(Memory(schema))

    @property
    def schema(self) -> Schema:
        """The declaration, with what was found since."""
        return self._memory.schema

    def _declare(self, memory: Memory) -> None:
        """Take a declaration: what was decided under another one does not hold under it."""
        self._memory = memory
        self._last: tuple[Plan, Target, tuple[Priced, str]] | None = None

    def plan(self, question: Question) -> Plan:
        """The question as a frozen value."""
        if isinstance(question, str):
            at = self._memory
            found = at.plans.get(question)
            if found is None:
                found = at.reader.plan(question)
                at.plans.keep(question, found, len(question) + keys_in(found))
            return found
        given: object = question
        if not isinstance(given, Plan | Query):
            kind = type(given).__name__
            raise ParameterError("question", kind, "must be SQL, a query or a plan")
        return plan_of(question, self.schema)

    def priced(self, plan: Plan, target: Target) -> tuple[Priced, str]:
        """The question with its noise, and what its engine needs: decided once for equal ones.

        Questions that differ in what WHERE says, and in nothing else, are priced once: `priced`
        asks only whether there is a condition, which it hands on to the engine.
        """
        last = self._last
        if last is not None and last[0] is plan and (last[1] is target or last[1] == target):
            return last[2]
        kin = (*but_for_where(plan), target, plan.where is None)
        known = self._memory.kin.get(kin)
        if known is None:
            known = self._memory.kin.keep(kin, self._decided(plan, target), _weight(plan))
        question = known if known.plan is plan else known.asking(plan)
        statement = NOTHING
        if question.request.parts:
            statement = self._engine.ready(question.request)
        found = question, statement
        self._last = plan, target, found
        return found

    def _decided(self, plan: Plan, target: Target) -> Priced:
        """The question with its noise; it keeps the plan alive."""
        said = repr((plan.outputs, plan.having, plan.order))  # TRUE and 1 are equal, and differ
        shape = plan if plan.where is None else replace(plan, where=None)
        key = (shape, said, target, plan.where is None)
        prices = self._memory.prices
        known = prices.get(key)
        if known is None:
            return prices.keep(key, priced(plan, self.schema, target), _weight(plan) + len(said))
        return known.asking(plan)

    def _statement(self, question: Priced) -> str:
        """What reads the rows, to be shown."""
        return self._engine.statement(question.request) if question.request.parts else NOTHING

    def _level(self, confidence: Exact | None) -> Fraction:
        if confidence is None:
            return self._confidence
        return probability(confidence, name="confidence")

    def price(
        self,
        question: Question,
        /,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        confidence: Exact | None = None,
        rows: Exact | None = None,
    ) -> Price:
        """The expected error of every number at this price; free.

        Args:
            question: SQL, a query of the fluent form, or a plan.
            epsilon: the price; with
            delta: in approximate privacy; or
            rho: in zero-concentrated privacy.
            confidence: of the half-widths.
            rows: the size of a group, for means.
        """
        plan, level = self.plan(question), self._level(confidence)
        target = target_of(plan, epsilon, delta, rho)
        if plan.rollup:
            from discreet.curator.foretold import rollup_price  # noqa: PLC0415 - of roll-ups only

            return rollup_price(plan, self.schema, target, level)
        return price_of(self.priced(plan, target)[0], confidence=level, rows=rows)

    def losses(self, plan: Plan, target: Target) -> tuple[Loss, ...]:
        """What a question at a price leaks."""
        if plan.rollup:
            from discreet.curator.foretold import rollup_loss  # noqa: PLC0415 - of roll-ups only

            return (rollup_loss(target, self.schema),)
        return self.priced(plan, target)[0].losses

    def epsilon_for(
        self,
        question: Question,
        /,
        *,
        within: Exact,
        confidence: Exact | None = None,
        column: str | None = None,
        rows: Exact | None = None,
        delta: Exact | None = None,
    ) -> Decimal:
        """The least epsilon at which every number, or one column, is this accurate; free."""
        return _epsilon_for(
            self.plan(question), self.schema, within=within, confidence=self._level(confidence),
            column=column, rows=rows, delta=delta,
        )  # fmt: skip

    def explain(
        self,
        question: Question,
        /,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        rows: Exact | None = None,
        with_statement: bool = True,
    ) -> str:
        """The question in words, with the statement that will run; free. Priced at epsilon 1
        where no price is said; `rows` is the size of a group, for means.
        """
        plan = self.plan(question)
        if epsilon is None and rho is None and plan.epsilon is None and plan.rho is None:
            epsilon = 1
        target = target_of(plan, epsilon, delta, rho)
        if plan.rollup:
            from discreet.curator.foretold import rollup_explained  # noqa: PLC0415 - as above

            engine = self._engine if with_statement else None
            return rollup_explained(
                plan, self.schema, target, confidence=self._confidence, engine=engine
            )
        found = self.priced(plan, target)[0]
        told = self._statement(found) if with_statement else None
        return explained(
            found, statement=told, sql=to_sql(plan, self.schema), confidence=self._confidence,
            rows=rows,
        )  # fmt: skip


class Askable(Protocol):
    """Whatever tells for free what a question would cost: a table, a curator."""

    def explain(self, question: Question, /, **price: Any) -> str:
        """The question in words."""
        ...

    def price(self, question: Question, /, **price: Any) -> Price:
        """The expected error of every number."""
        ...

    def epsilon_for(self, question: Question, /, **accuracy: Any) -> Decimal:
        """The least epsilon that is accurate enough."""
        ...


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What is known of a question before it is paid.

    Attributes:
        text: the question in words.
        price: what it costs, and how far off each number will be.
        epsilon_for: what the accuracy that was asked for costs; None where none was.
    """

    text: str
    price: Price
    epsilon_for: Decimal | None


def foreseen(
    asker: Askable,
    question: Question,
    said: Mapping[str, Any],
    *,
    accuracy: Mapping[str, Any] | None = None,
    where: Mapping[str, Any] | None = None,
    words: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> Foreseen:
    """A question in words with its price: at what was said, at as much as an accuracy costs, or,
    where nobody says a price, at epsilon 1.

    Args:
        asker: tells it.
        question: SQL, a query of the fluent form, or a plan.
        said: epsilon, delta and rho.
        accuracy: what `epsilon_for` is told; None where no accuracy is asked for.
        where: dataset and block, if the asker has several.
        words: what `explain` is told besides.
        figures: what `price` is told besides; of it `explain` is told the size of a group.
    """
    at, found = {**said, **(where or {})}, None
    if accuracy is not None:
        found = at["epsilon"] = asker.epsilon_for(question, **accuracy, **(where or {}))
    more = figures or {}
    text = asker.explain(question, **at, rows=more.get("rows"), **(words or {}))
    try:
        price = asker.price(question, **at, **more)
    except QueryError:
        price = asker.price(question, **{**at, "epsilon": 1}, **more)
    return Foreseen(text, price, found)
