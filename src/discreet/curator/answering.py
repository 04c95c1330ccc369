"""After the charge: the one place where rows, noise and answers meet.

Guarantee. What comes out has the guarantee of the priced question, whatever the engine does.
Assumes. The question was charged, and the source's bits are used for nothing else.
Proof. The engine's integers reach noise only (`discreet.curator.answer`). For an analyst whatever
fails after the charge counts as an empty table, so that a failure shows no more than an answer
would: all of it, with what makes coarser answers of it, is that of an empty table, which is one of
the tables that might be there. The owner is told. An owner sees the failure itself.
Tested by tests/curator/test_session.py
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Literal, TypeVar

from discreet.curator.answer import Answered, Finer, NoisyCells, answered, coarsened
from discreet.curator.present import presented
from discreet.curator.release import Release
from discreet.engines.base import Engine
from discreet.errors import ParameterError
from discreet.noise.source import Source
from discreet.privacy.loss import PureLoss
from discreet.query.price import Priced
from discreet.query.render import to_sql
from discreet.query.request import Cells, Request
from discreet.query.schema import Schema

__all__ = ["Answering", "Audience", "Telling"]

Audience = Literal["owner", "analyst"]
Made = TypeVar("Made")
_log = logging.getLogger("discreet.owner")
_log.addHandler(logging.NullHandler())  # never to an analyst's terminal unless somebody says so


@dataclass(frozen=True, slots=True)
class Telling:
    """What a release says besides its numbers.

    Attributes:
        schema: the declaration that the question was priced under.
        confidence: of the intervals.
        found_before: what had to be found for the question, and what that leaks.
        asked_at: when.
        sql: the question in canonical SQL, if it was written already.
    """

    schema: Schema
    confidence: Fraction
    found_before: Sequence[tuple[str, PureLoss]]
    asked_at: datetime
    sql: str | None = None

    def release(self, question: Priced, found: Answered) -> Release:
        """The finished release."""
        return presented(
            question, found, sql=self.sql or to_sql(question.plan, self.schema),
            confidence=self.confidence, found_before=self.found_before, asked_at=self.asked_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answering:
    """How questions to one engine are answered, once they are charged.

    Attributes:
        engine: reads the rows.
        audience: "owner", who may see a database's own errors, or "analyst", who may not.
        on_fault: told of every error that an analyst is not shown.
        seconds: the longest that the engine may take; longer is a failure.
        as_agreed: raises what is a failure, too, after rows were read: that they were changed.
        faults: these errors.
    """

    engine: Engine
    audience: Audience = "owner"
    on_fault: Callable[[Exception], None] | None = None
    seconds: float | None = None
    as_agreed: Callable[[], None] = lambda: None
    faults: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.audience not in ("owner", "analyst"):
            raise ParameterError("audience", self.audience, "must be 'owner' or 'analyst'")

    def _looked(self, request: Request, statement: str) -> Sequence[Cells] | None:
        """The exact integers; None where a failing engine has to be an empty table."""
        try:
            shown = self.audience == "owner" and self.seconds is None
            found = self.engine.run(request, statement, progress=shown, seconds=self.seconds)
            self.as_agreed()
            return found  # noqa: TRY300 - all of it may fail
        except Exception as fault:
            if self.audience == "owner":
                raise
            self.tell(fault)
            return None

    def made(
        self, request: Request, statement: str, finish: Callable[[Sequence[Cells]], Made]
    ) -> Made:
        """What is made of the exact integers; for an analyst a failure is an empty table."""
        found = self._looked(request, statement)
        try:
            if found is not None:
                return finish(found)
        except Exception as fault:
            if self.audience == "owner":
                raise
            self.tell(fault)
        return finish([{} for _ in request.parts])

    def release(
        self, question: Priced, statement: str, source: Source, telling: Telling
    ) -> tuple[Release, NoisyCells | None]:
        """Run a charged question and finish its answer; also its cells, to make it coarser."""

        def finished(exact: Sequence[Cells]) -> tuple[Release, NoisyCells | None]:
            found = answered(question, exact, source, confidence=telling.confidence)
            return telling.release(question, found), found.cells

        exact: Sequence[Cells] | None = ()
        if question.request.parts:
            exact = self._looked(question.request, statement)
        try:
            if exact is not None:
                return finished(exact)
        except Exception as fault:
            if self.audience == "owner":
                raise
            self.tell(fault)
        return finished([{} for _ in question.request.parts])

    def coarser(self, question: Priced, finer: Finer, source: Source, telling: Telling) -> Release:
        """Finish the answer to a charged question from the cells of a finer one: no row is read."""
        try:
            found = coarsened(question, finer, source, confidence=telling.confidence)
            return telling.release(question, found)
        except Exception as fault:
            if self.audience == "owner":
                raise
            self.tell(fault)
        empty: Sequence[Cells] = [{} for _ in question.request.parts]
        found = answered(question, empty, source, confidence=telling.confidence)
        return telling.release(question, found)

    def tell(self, fault: Exception) -> None:
        """Tell the owner, and nobody else: not even that telling failed."""
        self.faults.append(fault)
        try:
            if self.on_fault is not None:
                self.on_fault(fault)
                return
        except Exception as another:  # noqa: BLE001 - it would reach the analyst
            _log.error("on_fault failed", exc_info=another)
        _log.error("a question failed after it was charged", exc_info=fault)
