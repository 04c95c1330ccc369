"""Collect the reports of one survey over the network: one of each device and epoch.

    GET  /api/survey     the survey, the epoch of now, and what a collector learns; for everybody
    POST /api/reports    {"survey", "epoch", "device", "report", "ticket"}: 201 counted, 409 was
                         there before
    POST /api/batches    {"survey", "epoch", "reports": [{"device", "report", "ticket"}, ...]}: what
                         a relay has gathered; 200 with an outcome for each
    GET  /api/estimate   ?epoch=&confidence=: shares with intervals; with the owner's key
    GET  /api/counts     ?epoch=: the collector in the format "discreet-collector/1"; the same
    GET  /health/live, /health/ready

A report is the base64 text of the format "discreet-report/1". Whoever got no answer sends the
*same* report again: 201 and 409 both say that it is counted. 422 is told to what is no report of
this survey and epoch, 403 to what comes without the ticket of its device where tickets are needed,
413 to what is too long, and none of these is kept. In a batch each report has its own outcome:
"counted", "before", or "refused" with a reason; what is no batch is refused as a whole.

Guarantee. A report that was answered with 201 or 409 is counted exactly once, whatever crashes
(`discreet.local.store`). Requests that wait at the same time share one flush.
What the collector learns. A report is epsilon-differentially private by itself, whoever reads it.
That a device took part, its name, its address and the time are *not* hidden from whoever runs
this; only a keyed hash of the name is kept, and nothing that ties it to the report. The answer 409
tells anybody who knows a device's name that it has reported: names have to be hard to guess, or to
need a ticket, without which 403 is all that is heard. A relay learns what it relays.
What is not prevented. Without tickets (`discreet.local.tickets`) anybody can invent devices. With
them, n tickets are at most n reports an epoch, whoever holds them. And an estimate is as good as
the devices are honest.
Tested by tests/server/test_collecting.py
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError, InputTypeError, LedgerError, ParameterError
from discreet.local.collect import payload_of
from discreet.local.report import HEADER
from discreet.local.store import Store
from discreet.local.tickets import DIGITS
from discreet.server.guard import Guard
from discreet.server.limits import Rate
from discreet.server.problems import KINDS, Problem
from discreet.server.run import address_of, bound, in_thread, server_around
from discreet.server.settings import LONGEST_BODY, Settings
from discreet.server.unfit import unfit

__all__ = ["LEARNT", "collecting_app", "run_collecting", "serving_collecting"]

LEARNT = (
    "Your device randomises its answer before it is sent, so the report itself is private, whoever "
    "reads it. That your device took part, its name, its network address and the time of arrival "
    "are seen by whoever runs this collector; of these a keyed hash of the name is kept, apart "
    "from the report."
)
_BATCH, _LINE, _MOST = 1024, 16384, 1024
"""Reports that are written together, that may wait, that one request may bring."""
_AGAIN = "Send the same report again: it is counted once."
_KEY = "Send the owner's key as `Authorization: Bearer ck_...`."
_BY_STATUS = {status: kind for kind, status in reversed(list(KINDS.items()))}
_ROOM = 1024
"""Bytes of a body beside the report."""


class OneIn(BaseModel):
    """One report of a device."""

    model_config = ConfigDict(extra="forbid", strict=True)

    device: Annotated[str, Field(min_length=16, max_length=128)]
    report: Annotated[str, Field(min_length=1, max_length=LONGEST_BODY)]
    ticket: Annotated[str | None, Field(pattern=f"^[0-9a-f]{{{DIGITS}}}$")] = None


class Addressed(BaseModel):
    """What every request says: for which survey and epoch it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    survey: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    epoch: Annotated[int, Field(ge=0, lt=1 << 31)]


class ReportIn(OneIn, Addressed):
    """One report, as a device sends it."""


class BatchIn(Addressed):
    """Many reports, as a relay sends them."""

    reports: Annotated[list[OneIn], Field(min_length=1, max_length=_MOST)]


Kept = tuple[int, str, bytes]


class _Writer:
    """Everything that waits is written with one flush."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._line: asyncio.Queue[tuple[list[Kept], asyncio.Future[list[bool]]]] = asyncio.Queue()
        self._waiting = 0

    async def add(self, reports: list[Kept]) -> list[bool]:
        """Whether each was its device's first report; returns after all are on disk."""
        if self._waiting + len(reports) > _LINE:
            words = "too many reports at once; nothing was counted"
            raise Problem("busy", words, fix=_AGAIN, headers={"Retry-After": "5"})
        done: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._waiting += len(reports)
        self._line.put_nowait((reports, done))
        return await done

    async def run(self) -> None:
        """Write until it is cancelled."""
        while True:
            batch = [await self._line.get()]
            size = len(batch[0][0])
            while not self._line.empty() and size < _BATCH:
                batch.append(self._line.get_nowait())
                size += len(batch[-1][0])
            try:
                together = [one for reports, _ in batch for one in reports]
                fresh = await asyncio.to_thread(self._store.add, together)
            except Exception as error:  # noqa: BLE001 - each of them is told
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                continue
            finally:
                self._waiting -= size
            first = iter(fresh)
            for reports, done in batch:
                own = [next(first) for _ in reports]
                if not done.done():  # the asker may have gone
                    done.set_result(own)


def collecting_app(
    store: Store, settings: Settings, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Guard:
    """The application around a store, which it closes when it ends.

    Args:
        store: of the survey whose reports are collected.
        settings: names, limits.
        clock: the time, for the number of the epoch.
    """
    oracle = store.survey.oracle
    longest = -(-(HEADER + oracle.width) // 3) * 4
    if longest + _ROOM > LONGEST_BODY:
        problem = f"must have reports of at most {(LONGEST_BODY - _ROOM) // 4 * 3 - HEADER:,} bytes"
        raise ParameterError("oracle", f"{oracle.width:,} bytes", problem)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        writer = app.state.writer = _Writer(store)
        writing = asyncio.create_task(writer.run())
        app.state.ready = True
        try:
            yield
        finally:
            app.state.ready = False
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            store.close()

    app = FastAPI(
        title="discreet collect", version="1", openapi_url=None, docs_url=None, redoc_url=None,
        lifespan=living, redirect_slashes=False,
    )  # fmt: skip
    app.state.store, app.state.clock, app.state.ready = store, clock, False
    app.state.identity = store.survey.identity
    app.state.guesses = Rate(30, "wrong keys")
    _devices(app)
    _owners(app)
    _failures(app)
    guard = app.state.guard = Guard(app, settings)
    return guard


def _devices(app: FastAPI) -> None:
    @app.get("/health/live")
    def live() -> dict[str, bool]:
        return {"live": True}

    @app.get("/health/ready")
    def ready(request: Request) -> Response:
        state = request.app.state
        good = bool(state.ready) and not state.guard.stopping
        return JSONResponse({"ready": good}, 200 if good else 503)

    @app.get("/api/survey")
    def survey(request: Request) -> Response:
        """What is asked, and what a collector learns."""
        state = request.app.state
        found = state.store.survey
        told = {
            "identity": state.identity,
            "needs_tickets": state.store.needs_tickets,
            "epoch": found.epoch(state.clock()),
            "epsilon_of_a_report": str(found.guarantee.epsilon),
            "epsilon_of_all_epochs": str(found.total.epsilon),
            "learnt": LEARNT,
            "survey": found.to_json(),
        }
        return JSONResponse(told)

    @app.post("/api/reports", status_code=201)
    async def report(body: ReportIn, request: Request) -> Response:
        """Count one report of a device in this epoch; 409 if it has reported before."""
        state = request.app.state
        _addressed(state, body)
        (payload,) = _payloads(state.store, [body])
        if isinstance(payload, Problem):
            raise payload
        (first,) = await state.writer.add([(body.epoch, body.device, payload)])
        if not first:
            words = "this device has reported in this epoch; the first report counts"
            raise Problem("conflict", words, fix="Nothing is to be done.")
        return JSONResponse({"counted": True, "epoch": body.epoch}, 201)

    @app.post("/api/batches")
    async def batch(body: BatchIn, request: Request) -> Response:
        """Count many reports, each of another device; the outcome of each."""
        state = request.app.state
        _addressed(state, body)
        found = _payloads(state.store, body.reports)
        good = [
            (body.epoch, one.device, payload)
            for one, payload in zip(body.reports, found, strict=True)
            if not isinstance(payload, Problem)
        ]
        first = iter(await state.writer.add(good) if good else ())
        outcomes = [
            {"outcome": "refused", "reason": one.message} if isinstance(one, Problem)
            else {"outcome": "counted" if next(first) else "before"}
            for one in found
        ]  # fmt: skip
        return JSONResponse({"epoch": body.epoch, "outcomes": outcomes})


def _addressed(state: Any, body: Addressed) -> None:
    """Problem for what is for another survey, or not for the epoch of now."""
    if body.survey != state.identity:
        words = "this is another survey; nothing was counted"
        raise Problem("parameter", words, fix="Read /api/survey.")
    epoch = state.store.survey.epoch(state.clock())
    if body.epoch != epoch:
        said = "no epoch is open now" if epoch is None else f"epoch {epoch} is open now"
        raise Problem("parameter", f"{said}; nothing was counted", fix="Read /api/survey.")


def _payloads(store: Store, reports: Sequence[OneIn]) -> list[bytes | Problem]:
    """The payload of each report that may be counted; Problem for any other."""
    oracle = store.survey.oracle
    found = [_payload(store, one) for one in reports]
    read = [one for one in found if isinstance(one, bytes)]
    good = iter(oracle.well_formed(oracle.array_of(b"".join(read))).tolist())
    words = "the oracle cannot have written this report; nothing was counted"
    return [
        one if isinstance(one, Problem) or next(good) else Problem("parameter", words)
        for one in found
    ]


def _payload(store: Store, one: OneIn) -> bytes | Problem:
    needed = store.needs_tickets or one.ticket is not None
    if needed and not store.tickets.holds(one.device, one.ticket or ""):
        words = "this survey needs the ticket of the device; nothing was counted"
        return Problem("forbidden", words, fix="Ask whoever runs the survey for a ticket.")
    try:
        data = base64.b64decode(one.report, validate=True)
        if base64.b64encode(data).decode() != one.report:
            raise ValueError
        return payload_of(store.survey.oracle, data)
    except (ParameterError, InputTypeError):  # a ParameterError is a ValueError, too
        words = "this is no report of this survey's oracle; nothing was counted"
        return Problem("parameter", words, fix="Read /api/survey.")
    except (binascii.Error, ValueError):
        return Problem("parameter", "a report is written in base64; nothing was counted")


def _owner(request: Request) -> Store:
    """The store, for its owner only."""
    state = request.app.state
    word, _, key = request.headers.get("authorization", "").partition(" ")
    if word.lower() != "bearer" or not state.store.owned_by(key):
        state.guesses.take(request.client.host if request.client else "")
        words = "this is for the owner of the survey"
        raise Problem("unauthorized", words, fix=_KEY, headers={"WWW-Authenticate": "Bearer"})
    found: Store = state.store
    return found


Owned = Annotated[Store, Depends(_owner)]


def _owners(app: FastAPI) -> None:
    @app.get("/api/estimate")
    def estimate(
        store: Owned,
        epoch: Annotated[int, Query(ge=0)],
        confidence: Annotated[str, Query(max_length=20)] = "0.95",
    ) -> Response:
        """The shares of all values in an epoch."""
        found = store.collector(epoch)
        if found.n == 0:
            raise Problem("nothing_found", "there are no reports of this epoch")
        told = found.estimate(confidence)
        more = {"epoch": epoch, "n": told.n, "confidence": told.confidence}
        return JSONResponse({**more, "rows": list(told.rows())})

    @app.get("/api/counts")
    def counts(store: Owned, epoch: Annotated[int, Query(ge=0)]) -> Response:
        """The exact counts of an epoch, to be merged with those of other collectors."""
        data = store.collector(epoch).to_bytes()
        return Response(data, media_type="application/octet-stream")


def _failures(app: FastAPI) -> None:
    def answer(problem: Problem) -> Response:
        return JSONResponse(problem.told(), problem.status, headers=dict(problem.headers))

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        return answer(unfit(request, error, ending="nothing was counted"))

    @app.exception_handler(HTTPException)
    def refused(_: Request, error: HTTPException) -> Response:
        kind = _BY_STATUS.get(error.status_code, "internal")
        words = {404: "there is nothing here", 405: "this cannot be done here"}
        said = words.get(error.status_code, "this cannot be done")
        return answer(Problem(kind, said, headers=dict(error.headers or {})))

    @app.exception_handler(Problem)
    def told(_: Request, problem: Problem) -> Response:
        return answer(problem)

    @app.exception_handler(DiscreetError)
    def failed(_: Request, error: DiscreetError) -> Response:
        if isinstance(error, LedgerError):
            words = "the store cannot be used now"
            return answer(Problem("unavailable", words, fix=_AGAIN))
        return answer(Problem("parameter", str(error)))


def run_collecting(
    store: Store, settings: Settings, *, started: Callable[[str], None] = lambda _: None
) -> None:
    """Collect until the process is told to stop.

    Args:
        store: of the survey; it is closed in the end.
        settings: where to listen.
        started: told the address once it serves.
    """
    with bound(settings) as listening:
        told = partial(started, address_of(settings, listening))
        app = collecting_app(store, settings)
        server_around(app, settings, started=told).run(sockets=[listening])


@contextmanager
def serving_collecting(
    store: Store, settings: Settings, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Iterator[str]:
    """Collect from a thread of this process, for notebooks and tests; the address."""
    server = server_around(collecting_app(store, settings, clock=clock), settings)
    with in_thread(server, bound(settings)) as listening:
        yield address_of(settings, listening)
