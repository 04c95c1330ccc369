"""Explain, rehearse and ask.

What is free answers at once: it follows from the question and the policy alone. What is asked
leaves at its deadline, an answer or a refusal.
Tested by tests/server/api/test_questions.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from fractions import Fraction
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from discreet.curator.access import Credential
from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Accounting, Amount
from discreet.curator.ledger.group import Member
from discreet.curator.pace import ENGINE_SHARE, Pace
from discreet.curator.questions import foreseen
from discreet.curator.record import Record
from discreet.curator.search import Search
from discreet.curator.searching import to_be_found
from discreet.errors import ParameterError, QueryError
from discreet.exact import shown
from discreet.query.explain import Price
from discreet.query.plan import Plan
from discreet.server.api.models import Ask, Errors, KeyHeader, Question
from discreet.server.api.statuses import statuses
from discreet.server.deadlines import Deadline, padded, room
from discreet.server.identity import Askers, in_turn, service_of
from discreet.server.problems import Problem, problem_of
from discreet.server.service import Service

__all__ = ["answered", "begin", "handed_out", "one_key", "routes", "working"]

Work = Callable[[Pace, Callable[[], None]], Generator[Member, None, tuple[Record, int]]]
"""Answers in steps, which stop where something has to be written; also the number of groups."""

routes = APIRouter(prefix="/api", tags=["questions"])
POINTS = tuple(Fraction(n, 100) for n in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200,
                                          300, 500, 1000))  # fmt: skip
"""The prices at which errors are told, unless others are asked for."""
MOST_REHEARSED = 40
"""So many columns are rehearsed: each has noise of its own, whose tables take a while to make."""
_ONE_OF_BOTH = "Leave out Idempotency-Key (or key), or with_what_is_left."
MOST_FIGURES = 256
"""So many numbers, at all prices together, have their error told at once."""


@routes.post("/explain", responses=statuses(402, 404, 422, 503), dependencies=[Depends(in_turn)])
def explain(question: Question, who: Askers, request: Request) -> dict[str, Any]:
    """What a question would cost, and how far off each number would be; free."""
    service = service_of(request)
    with service.part(who, question.question, **question.where()) as (curator, at):
        mine = {**at, "analyst": service.analyst(who, curator.policy)}
        wanted = {**mine, "search_again": question.search_again}
        told = foreseen(
            curator, question.question, question.price(),
            accuracy=_accuracy(question), where=wanted,
            words={"with_statement": who.person.role == "owner"},
            figures={"confidence": question.confidence, "rows": question.rows},
        )  # fmt: skip
        missing = curator.to_find(question.question, **wanted)
        if told.epsilon_for is None:
            found, said = None, question.price()
        else:
            found, said = (
                str(told.epsilon_for),
                {"epsilon": told.epsilon_for, "delta": question.delta},
            )
        cost = curator.cost(question.question, **said, **wanted)
        paid = curator.is_paid(question.question, **said, **wanted)
        how, before = _accounting(curator, at), _found_before(curator, question.question, mine)
    return {
        "text": told.text, "epsilon_for": found, **told.price.to_dict(), **at,
        "cost": cost.to_dict(how), "paid": paid, "to_find": [one.name for one in missing],
        "note": to_be_found(missing, cost, how, again=question.search_again).strip(),
        "found_before": [{"name": x.name, "epsilon": shown(x.loss.epsilon)} for x in before],
    }  # fmt: skip


def _found_before(curator: Curator, question: str, mine: Mapping[str, Any]) -> list[Search]:
    """What a question needs and its asker was given by a search: `search_again` pays for it."""
    missing = {one.name for one in curator.to_find(question, **mine)}
    needed = curator.to_find(question, **mine, search_again=True)
    return [one for one in needed if one.name not in missing]


def _accuracy(question: Question) -> dict[str, Any] | None:
    if question.within is None:
        return None
    if question.epsilon is not None or question.rho is not None:
        raise ParameterError("within", question.within, "goes instead of epsilon and rho")
    return {**question.accuracy(), "delta": question.delta}


@routes.post("/errors", responses=statuses(402, 404, 422, 503), dependencies=[Depends(in_turn)])
def errors(question: Errors, who: Askers, request: Request) -> dict[str, Any]:
    """The error of every number at many prices; free.

    The more numbers a question has, the fewer prices are told: the work is bounded. The price that
    was said is always among them.
    """
    service = service_of(request)
    with service.part(who, question.question, **question.where()) as (curator, at):
        mine = {**at, "analyst": service.analyst(who, curator.policy)}
        wanted = {**mine, "search_again": question.search_again}
        missing = [one.name for one in curator.to_find(question.question, **wanted)]
        unit, told_at = _told_at(question, curator.plan(question.question, **mine))
        said = [{unit: amount, "delta": question.delta} for amount in told_at]
        told = curator.told_at(question.question, said, rows=question.rows, **wanted)
        how = _accounting(curator, at)
    points = [
        {unit: _said(amount), "paid": one.paid, **_point(one.price, one.cost, how)}
        for amount, one in zip(told_at, told, strict=True)
    ]
    return {"points": points, "to_find": missing, **at}


def _told_at(question: Errors, plan: Plan) -> tuple[str, list[Any]]:
    """The prices at which errors are told, epsilons or rhos: as many as can be computed in a
    moment.
    """
    if question.rhos and question.epsilons:
        raise ParameterError("rhos", None, "go instead of epsilons")
    unit, said = ("rho", question.rho) if question.rhos else ("epsilon", question.epsilon)
    wanted: list[Any] = [*(question.rhos or question.epsilons or POINTS)]
    most = 1 if plan.rollup else max(MOST_FIGURES // len(plan.outputs), 1)
    if len(wanted) <= most:
        return unit, wanted
    first = wanted[:1] if said is None else [said]
    rest = [one for one in wanted if str(one) != str(first[0])]
    return unit, first + rest[: most - 1]


def _accounting(curator: Curator, at: Mapping[str, Any]) -> Accounting:
    policy = curator.policy
    return policy.families[policy.datasets[at["dataset"]].family].accounting


def _point(price: Price, cost: Amount, how: Accounting) -> dict[str, Any]:
    """The error of every number at one price, and what the price takes off a budget."""
    return {
        "groups": price.groups,
        "cost": cost.to_dict(how),
        "columns": [{"name": x.name, "error": x.error, "within": x.half_width} for x in price],
    }


def _said(number: object) -> str:
    return f"{float(number):g}" if isinstance(number, Fraction) else str(number)


@routes.post("/rehearse", responses=statuses(402, 404, 422, 503), dependencies=[Depends(in_turn)])
def rehearse(question: Question, who: Askers, request: Request) -> dict[str, Any]:
    """The same question on made-up rows, from the policy alone; free."""
    service = service_of(request)
    service.asker(who)
    if len(service.reads(who, question.question, question.where()).outputs) > MOST_REHEARSED:
        words = f"a rehearsal has at most {MOST_REHEARSED} columns; nothing was charged"
        raise Problem("query", words, fix="Explain it, or rehearse it in parts.")
    wanted = {**question.price(), **question.accuracy()}
    record = service.rehearse(who, question.question, question.where(), **wanted)
    return {"rehearsal": True, **record.to_dict()}


@routes.post("/preview", responses=statuses(402, 404, 422, 503), dependencies=[Depends(in_turn)])
def preview(question: Errors, who: Askers, request: Request) -> dict[str, Any]:
    """All that can be known before paying, in one request: words, errors, a rehearsal; free.

    Where something is to be found first, costs are with that, errors are as if nothing were found,
    and a note says so. Where there are too many numbers for a rehearsal there is none.
    """
    plan = service_of(request).reads(who, question.question, question.where())
    few = len(plan.outputs) <= MOST_REHEARSED
    played = rehearse(question, who, request) if few else None  # refused here, if it is
    try:
        told, points = explain(question, who, request), errors(question, who, request)
        note = told["note"]
    except QueryError as error:
        told, points, note = None, {"points": []}, str(error)
    return {"explain": told, "points": points["points"], "note": note, "rehearsal": played}


@routes.post("/ask", responses=statuses(402, 404, 409, 422, 503))
async def ask(
    question: Ask,
    who: Askers,
    request: Request,
    idempotency_key: KeyHeader = None,
) -> Response:
    """Charge a question, run it, store its answer, and hand it out at its deadline."""
    return await answered(request.app.state, question, who, idempotency_key)


async def answered(state: Any, question: Ask, who: Credential, named: str | None) -> Response:
    """What becomes of a question.

    Args:
        state: that of the application.
        question: what is asked.
        who: asks.
        named: its key, where a header says it.
    """
    return await _at_deadline(state, working(state, question, who, named))


def working(state: Any, question: Ask, who: Credential, named: str | None) -> Working:
    """A question as work for a thread; Problem where it cannot be, and nothing was charged.

    Args:
        state: that of the application.
        question: what is asked.
        who: asks.
        named: its key, where a header says it.
    """
    key = one_key(question.key, named)
    if question.with_what_is_left and key is not None:
        words = "a key names one price; it does not go with what is left, which changes"
        raise Problem("parameter", f"{words}. Nothing was charged", fix=_ONE_OF_BOTH)
    service: Service = state.service
    where = question.where()

    def work(pace: Pace, read: Callable[[], None]) -> Generator[Member, None, tuple[Record, int]]:
        return service.steps(
            who, question.question, where, key=key, pace=pace, read=read,
            with_what_is_left=question.with_what_is_left, search_again=question.search_again,
            **question.price(), **question.accuracy(),
        )  # fmt: skip

    def reads() -> None:
        service.reads(who, question.question, where)

    size = room(len(question.question) // 8 + 1, 1, question.question)
    seconds = _seconds(service, question.deadline)
    return Working(service, who, reads, work, seconds, size)


def one_key(said: str | None, header: str | None) -> str | None:
    """The name of an asking, which a body and a header may say."""
    if said is not None and header not in (None, said):
        raise Problem("parameter", "key and Idempotency-Key must be the same; nothing was charged")
    return said or header


async def handed_out(
    state: Any,
    who: Credential,
    read: Callable[[], object],
    work: Callable[[Pace, Callable[[], None]], tuple[Record, int]],
    *,
    deadline: float | None,
    size: int,
) -> Response:
    """What becomes of a charged question, at its deadline.

    What cannot even be read is refused without waiting for a worker's place, gives back one that it
    has, and leaves at the same time as if it had kept it: others do not wait for it.

    Args:
        state: that of the application.
        who: asks.
        read: refuses what cannot be asked, from the request and the policy alone.
        work: answers, given the pace of its parts, and what it calls once all
            that can be refused so is read; also the number of groups.
        deadline: that was asked for.
        size: the length of a refusal.
    """
    seconds = _seconds(state.service, deadline)

    def whole(pace: Pace, read: Callable[[], None]) -> Generator[Member, None, tuple[Record, int]]:
        yield from ()  # it stops nowhere
        return work(pace, read)

    return await _at_deadline(state, Working(state.service, who, read, whole, seconds, size))


def _seconds(service: Service, deadline: float | None) -> float | None:
    """The deadline of a question; None where nobody waits for one."""
    asked = None if deadline is None else Fraction(str(deadline))
    until = float(service.settings.deadline(asked))
    return until if service.settings.padded else None


async def _at_deadline(state: Any, done: Working) -> Response:
    name, seconds = done.who.person.name, done.seconds
    with state.alone.turn(done.who.key or name):
        if state.places.is_full(name):
            async with state.turns.turn(name):
                await asyncio.to_thread(done.read)
        due = Deadline(seconds)
        if not done.refused:
            async with state.places.turn(name):
                due = Deadline(seconds)
                await state.workers.run(done)
                if not done.refused:
                    await due.over()
        if done.refused:
            await due.over()
    return done.answer


def begin(state: Any, done: Working, told: Callable[[Response | None], None]) -> None:
    """Begin a question without a deadline; Problem if another one of its key is under way.

    Its asker has taken a place among the workers, and gives it back when it is answered, as by
    `answered`; not if it was not begun.

    Args:
        state: that of the application.
        done: the question.
        told: what came of it, in the event loop; None where its thread was ended.
    """
    name = done.who.person.name
    key = done.who.key or name

    def over(failure: BaseException | None) -> None:
        state.places.leave(name)
        state.alone.end(key)
        told(done.answer if failure is None else None)

    state.alone.begin(key)
    state.batches.put(done.steps(), over)


class Working:
    """One question in a thread, or between others: its finished response, never an exception.

    Attributes:
        who: asks.
        seconds: its deadline; None where nobody waits for one.
        answer: what came of it.
        refused: whether it could not be read, and that is the answer.
    """

    def __init__(
        self,
        service: Service,
        who: Credential,
        read: Callable[[], object],
        work: Work,
        seconds: float | None,
        size: int,
    ) -> None:
        self._service, self.who, self._read, self._work = service, who, read, work
        self.seconds, self._size = seconds, size
        self._is_read = False
        self.refused = False
        self.answer: Response

    def read(self) -> None:
        """Refuse what cannot be read."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001 - told in one form, and to the owner
            self.answer, self.refused = self._told(error), True

    def __call__(self) -> None:
        """Read it and answer it."""
        self._service.ledger.through(self.steps())

    def steps(self) -> Generator[Member, None, None]:
        """The same in steps, which stop where something has to be written."""
        try:
            pace = Pace(self.seconds, share=ENGINE_SHARE)
            record, groups = yield from self._work(pace, self._mark)
            columns = len(record.release.columns)
            size = room(columns, groups, record.plan)
            self.answer = _response(200, padded(record.to_line(), size))
        except Exception as error:  # noqa: BLE001 - told in one form, and to the owner
            self.answer, self.refused = self._told(error), not self._is_read

    def _mark(self) -> None:
        self._is_read = True

    def _told(self, error: Exception) -> Response:
        problem = problem_of(error, owner=self.who.person.role == "owner")
        if problem.hidden is not None:
            self._service.note(problem.hidden)
        return _response(problem.status, padded(problem.told(), self._size))


def _response(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json")
