"""The way of most requests: a question with a key, from its bytes to those of its answer.

Reading any request that there may be, finding its route, solving what that depends on in threads
and wrapping what is sent takes longer than an answer's noise. What is as usual (one head in the
plainest form, of which no two readers differ, a key that is known, a body that fits) is handed to
the same functions as by the route; everything else is left as it came, to the parser, the guard and
the route, which say what is wrong with it. Nothing is decided here that they do not decide.

Proof that nothing gets in here that they would refuse. The form of a head here is a part of what
the parser accepts: a request line, names of tokens, values of printable ASCII, no name twice, none
that changes where a message ends, and a length that is that of the bytes that are there. Host,
content type, JSON, key, role and limits are checked by what they check them with.
Tested by tests/server/test_lane.py
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from discreet.curator.access import Credential
from discreet.remembered import share
from discreet.server.api.models import Ask
from discreet.server.api.questions import answered, begin, working
from discreet.server.guard import Guard, is_json, read_json
from discreet.server.identity import asker, by_header
from discreet.server.problems import Problem
from discreet.server.settings import LONGEST_BODY

__all__ = ["Asked", "Head", "Lane", "Part"]

Failed = Callable[[Exception, Credential | None], Response]

_LINE = b"POST /api/ask HTTP/1.1\r\n"
_HEAD = re.compile(
    re.escape(_LINE) + rb"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[\t\x20-\x7e]*+\r\n)++\r\n"
)
"""The plainest form of a head; no part of it is tried twice."""
_LONGEST = 8192
"""Bytes of a head that is as usual."""
_OTHER = frozenset((b"expect", b"transfer-encoding", b"upgrade"))
"""Headers by which a request has another course."""
_LENGTH = re.compile(rb"[1-9][0-9]{0,4}")
_ASKERS: tuple[str, ...] = asker.roles  # type: ignore[attr-defined]
_NAMED = re.compile(r"[0-9A-Za-z_-]{1,55}", re.ASCII)
_STATUS = {one.value: f"HTTP/1.1 {one.value} {one.phrase}\r\n".encode() for one in HTTPStatus}


class Part(Enum):
    """What some bytes are, if they are no whole request that is as usual."""

    MORE = "the beginning of one"
    OTHER = "something else"


@dataclass(frozen=True, slots=True)
class Head:
    """A head that is as usual.

    Attributes:
        text: its bytes, with the empty line that ends it.
        length: that of the body, in bytes.
        key: what a header says of who asks.
        named: the name of the asking, where a header says it.
    """

    text: bytes
    length: int
    key: str
    named: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is as usual.

    Attributes:
        question: what its body says.
        head: what comes before it.
    """

    question: Ask
    head: Head


class Lane:
    """What answers such requests.

    Args:
        guard: what stands before the routes.
        state: that of the application.
        failed: what is told of whatever is raised, to whom.
    """

    def __init__(self, guard: Guard, state: Any, failed: Failed) -> None:
        self.guard, self._state, self._failed = guard, state, failed
        self._before = lru_cache(maxsize=64)(self._made)

    def read(self, data: bytes, before: Head | None = None) -> Asked | Part:
        """What was asked; or what it is instead.

        Args:
            data: the bytes.
            before: the head of a request before on the same connection. Mostly the next one is the
                same, byte by byte; then it ends where that ends, and means what that means.
        """
        if self.guard.stopping:
            return Part.OTHER
        same = before is not None and data.startswith(before.text)
        head = before if same else self._head(data)
        if head is None:
            return Part.OTHER
        there = len(data) - len(head.text)
        if there != head.length:
            return Part.MORE if there < head.length else Part.OTHER
        question = _question(data[len(head.text) :])
        return Part.OTHER if question is None else Asked(question, head)

    def _head(self, data: bytes) -> Head | None:
        """The head that some bytes begin with; None if it is not as usual."""
        found = _HEAD.match(data, 0, _LONGEST)
        if found is None:
            return None
        headers = _headers(data[len(_LINE) : found.end() - 4].split(b"\r\n"))
        length = 0 if headers is None else self._length(headers)
        if headers is None or not 0 < length <= LONGEST_BODY:
            return None
        named = headers.get(b"idempotency-key")
        name = None if named is None else named.decode("ascii")
        if name is not None and not _NAMED.fullmatch(name):
            return None
        return Head(found[0], length, headers[b"authorization"].decode("ascii"), name)

    def _length(self, headers: dict[bytes, bytes]) -> int:
        """How long the body is, of a request that is here as usual; 0 of any other."""
        usual = (
            b"authorization" in headers
            and headers.keys().isdisjoint(_OTHER)
            and headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
            and self.guard.is_called(headers.get(b"host", b""))
            and is_json(headers.get(b"content-type", b""))
        )
        length = headers.get(b"content-length", b"")
        return int(length) if usual and _LENGTH.fullmatch(length) else 0

    def begin(self, asked: Asked, told: Callable[[Response | None], None]) -> bool:
        """Hand a question to a worker at once, where it waits for nothing; whether it was.

        Nothing has happened otherwise: `answer` has to say what becomes of it. With deadlines it
        always has.

        Args:
            asked: the question.
            told: what came of it; None where that is not known, and the connection ends.
        """
        state, who = self._state, None
        service = state.service
        if service.settings.padded or not service.ledger.is_near:
            return False
        try:
            who = by_header(service, asked.head.key)
            if who is None or who.person.role not in _ASKERS:
                return False
            if not state.places.take(who.person.name):
                return False
            try:
                state.rate.take(f"key {who.key}")
                begin(state, working(state, asked.question, who, asked.head.named), told)
            except BaseException:
                state.places.leave(who.person.name)
                raise
        except Exception as error:  # noqa: BLE001 - as the routes tell it
            told(self._failed(error, who))
        return True

    async def answer(self, asked: Asked) -> Response | None:
        """What becomes of a question; None where the route has to say it."""
        share()  # its context may be a copy of that of a request before
        state, who = self._state, None
        service = state.service
        try:
            near = service.ledger.is_near
            who = (
                by_header(service, asked.head.key)
                if near
                else await asyncio.to_thread(by_header, service, asked.head.key)
            )
            if who is None or who.person.role not in _ASKERS:
                return None
            state.rate.take(f"key {who.key}")
            return await answered(state, asked.question, who, asked.head.named)
        except Exception as error:  # noqa: BLE001 - as the routes tell it
            return self._failed(error, who)

    def written(self, response: Response, *, last: bool) -> bytes:
        """The bytes of an answer; `last` says that the connection ends with it."""
        head = self._before(response.status_code, tuple(response.raw_headers), last=last)
        return head + bytes(response.body)

    def _made(self, status: int, headers: tuple[tuple[bytes, bytes], ...], *, last: bool) -> bytes:
        """What comes before the body of an answer. Lengths are padded, so that few differ."""
        told = self.guard.dressed(headers)
        if last:
            told.append((b"connection", b"close"))
        return b"".join((_STATUS[status], *(b"%b: %b\r\n" % one for one in told), b"\r\n"))


def _headers(lines: list[bytes]) -> dict[bytes, bytes] | None:
    """The headers of a head; None if one is there twice."""
    found: dict[bytes, bytes] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        found[name.lower()] = value.strip(b" \t")
    return found if len(found) == len(lines) else None


def _question(body: bytes) -> Ask | None:
    """What a body asks; None for what does not fit."""
    try:
        return Ask.model_validate(read_json(body))
    except (Problem, ValidationError):
        return None
