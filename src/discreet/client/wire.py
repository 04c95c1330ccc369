"""One request to a server and its answer: TLS, limits, retries, and refusals as our own errors.

Guarantees. A key travels over TLS with a checked certificate, or to this machine, and nowhere else:
another scheme is refused, redirects are not followed, proxies of the environment are not used. An
answer is read up to a limit of bytes and of time. A request is sent again after a broken connection
and after 429, 502, 503 and 504, and only if that cannot charge twice: it costs nothing, or has an
idempotency key, which is the same every time, or certainly was not accepted. No error and no repr
quotes the key.
Tested by tests/client/test_wire.py
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
    RemoteError,
)
from discreet.exact import Exact, positive, whole
from discreet.noise.source import system_source
from discreet.version import VERSION

__all__ = ["Wire", "new_asking"]

LARGEST = 64 << 20
"""No answer is longer, in bytes."""
LONGEST_PAUSE = 60.0
_CHUNK = 1 << 16
_FIRST_PAUSE, _LAST_PAUSE = 0.25, 8.0
_AGAIN = (429, 502, 503, 504)
_REFUSED = (429, 503)
"""The server says itself that it did not take the request."""
_KEY = re.compile(r"[\x21-\x7e]{1,512}")
_ASKING = re.compile(r"[0-9A-Za-z_-]{1,55}")
_VARIABLE = "DISCREET_KEY"
_NOTHING_CHARGED = ". Nothing was charged and no row was read"
_NOTHING_RELEASED = "; nothing was released"
_WORDS = {
    "unauthorized": "the server does not know this key, or it has expired",
    "forbidden": "the key may not do this",
    "not_found": "there is no such thing, or the key may not see it",
    "limit": "too many requests; wait a little",
    "busy": "the server is busy; ask again later",
    "internal": "the server failed",
}
_BY_STATUS = {
    400: "query",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    413: "limit",
    422: "parameter",
    429: "limit",
    503: "busy",
}


class _BrokenError(Exception):
    """No answer, or half of one. A request that was not sent was certainly not taken."""

    def __init__(self, why: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    pause: str | None
    """What Retry-After says."""


def new_asking() -> str:
    """A new idempotency key: 128 random bits of the operating system."""
    return f"{system_source().bits(128):032x}"


class Wire:
    """The way to one server.

    Args:
        url: its address, https://host, with a path if it has one. http:// is for this machine only.
        key: what the owner handed out, "dk_..."; from the environment (DISCREET_KEY) if it is None.
        timeout: seconds until an attempt without an answer counts as broken.
        ca: a file of certificates to trust instead of the system's.
        retries: how often a request is sent again.
        sleep: waits between two attempts.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: Exact = 75,
        ca: str | Path | None = None,
        retries: int = 5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._at, self._host, self._prefix = _address(url)
        self._timeout = float(positive(timeout, name="timeout", at_most=3600))
        self._retries = whole(retries, name="retries", at_least=0, at_most=100)
        self._tls = _trusting(ca) if self._at.scheme == "https" else None
        self._key: str | None = _checked(key)
        self._sleep = sleep

    def __repr__(self) -> str:
        return f"<Wire to {self.url}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a connection holds a key and is not stored; connect again")

    @property
    def url(self) -> str:
        """The server's address."""
        return f"{self._at.scheme}://{self._at.netloc}{self._prefix}"

    def close(self) -> None:
        """Forget the key."""
        self._key = None

    def get(self, *path: str, **query: str | int | None) -> dict[str, Any]:
        """What is at a path."""
        said = {name: value for name, value in query.items() if value is not None}
        more = f"?{urlencode(said)}" if said else ""
        return self._called("GET", path, more, None, asking=None, safe=True)

    def post(
        self,
        *path: str,
        body: Mapping[str, Any],
        asking: str | None = None,
        free: bool = False,
    ) -> dict[str, Any]:
        """The answer to values that are sent to a path.

        Args:
            path: its parts.
            body: the values.
            asking: the idempotency key: with it the request may be sent again.
            free: whether it may be sent again without one, because it costs nothing.
        """
        if asking is not None and not _ASKING.fullmatch(asking):
            raise ParameterError("key", asking, "must be 1 to 55 letters, digits, _ and -")
        text = json.dumps(body, allow_nan=False).encode()
        return self._called("POST", path, "", text, asking=asking, safe=free or asking is not None)

    # attempts

    def _called(
        self,
        method: str,
        path: tuple[str, ...],
        query: str,
        body: bytes | None,
        *,
        asking: str | None,
        safe: bool,
    ) -> dict[str, Any]:
        target = "/".join([self._prefix, "api", *(quote(part, safe="") for part in path)]) + query
        why, doubtful = "", False
        for attempt in range(self._retries + 1):
            asked_for = None
            try:
                answer = self._once(method, target, body, asking)
                last = attempt == self._retries
                if answer.status not in _AGAIN or (last and answer.status in _REFUSED):
                    return _read(answer, asking)
                asked_for, why = answer.pause, f"it answered {answer.status}"
                doubtful = answer.status not in _REFUSED and not safe
            except _BrokenError as broken:
                why, doubtful = str(broken), broken.sent and not safe
            if doubtful:
                break
            if attempt < self._retries:
                self._sleep(_pause(attempt, asked_for))
        raise self._lost(why, asking, doubtful=doubtful)

    def _lost(self, why: str, asking: str | None, *, doubtful: bool) -> RemoteError:
        words = f"no answer from {self.url}: {why}"
        if asking is not None:
            words += f". Ask again with key={asking!r}: it is charged once at most"
        if doubtful:
            words += ". Whether the question arrived, and was charged, releases() tells"
        return RemoteError(words, kind="unreachable", key=asking)

    def _once(self, method: str, target: str, body: bytes | None, asking: str | None) -> _Answer:
        """One attempt, over a connection of its own."""
        if self._key is None:
            raise RemoteError("this connection is closed; connect again", kind="unreachable")
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Accept": "application/json",
            "User-Agent": f"discreet {VERSION}",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        if asking is not None:
            headers["Idempotency-Key"] = asking
        connection = self._connection()
        late, sent = time.monotonic() + self._timeout, False
        try:
            connection.connect()
            sent = True
            connection.request(method, target, body, headers)
            return _received(connection, late)
        except ssl.SSLCertVerificationError as error:
            problem = f"the certificate of {self._host} cannot be trusted: {error.verify_message}"
            raise RemoteError(problem, kind="unreachable") from error
        except (OSError, HTTPException) as error:
            why = "it took too long" if isinstance(error, TimeoutError) else type(error).__name__
            raise _BrokenError(why, sent=sent) from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        port, seconds = self._at.port, self._timeout
        if self._tls is None:
            return HTTPConnection(self._host, port, timeout=seconds)
        return HTTPSConnection(self._host, port, timeout=seconds, context=self._tls)


def _pause(attempt: int, asked_for: str | None) -> float:
    """Seconds before the next attempt: what the server says, or twice as many each time.

    A random part keeps clients that failed together from coming back together.
    """
    own = min(_FIRST_PAUSE * (1 << attempt), _LAST_PAUSE)
    own *= 1 + system_source().bits(16) / (1 << 16)
    wanted = float(asked_for) if asked_for and re.fullmatch(r"\d{1,6}", asked_for.strip()) else 0.0
    return min(max(own, wanted), LONGEST_PAUSE)


# answers


def _received(connection: HTTPConnection, late: float) -> _Answer:
    response = connection.getresponse()
    told = response.getheader("Content-Length") or "0"
    if told.isdigit() and int(told) > LARGEST:
        raise RemoteError(f"the answer is longer than {LARGEST:,} bytes", kind="unreadable")
    body = _body(connection, response, late)
    return _Answer(response.status, body, response.getheader("Retry-After"))


def _body(connection: HTTPConnection, response: HTTPResponse, late: float) -> bytes:
    found = bytearray()
    while True:
        left = late - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(_CHUNK)
        if not chunk:
            break
        found += chunk
        if len(found) > LARGEST:
            raise RemoteError(f"the answer is longer than {LARGEST:,} bytes", kind="unreadable")
    if response.length:  # the connection ended before the answer did
        raise HTTPException("half an answer")
    return bytes(found)


def _read(answer: _Answer, asking: str | None) -> dict[str, Any]:
    """The values of an answer; a refusal is raised."""
    if 300 <= answer.status < 400:
        problem = f"the server redirects ({answer.status}), which is not followed; connect there"
        raise RemoteError(problem, kind="unreadable", key=asking)
    try:
        values = json.loads(answer.body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        values = None
    if answer.status != 200:
        told = values if isinstance(values, dict) else {}
        raise refusal(answer.status, told, asking)
    if not isinstance(values, dict):
        raise RemoteError("the answer is not the JSON of a curator", kind="unreadable", key=asking)
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def refusal(status: int, told: Mapping[str, Any], asking: str | None = None) -> DiscreetError:
    """What the server refused, as the error that the same question raises in this process."""
    kind = str(told.get("error") or _BY_STATUS.get(status, "internal"))
    said = told.get("message")
    message = said if isinstance(said, str) and said else _WORDS.get(kind, f"refused ({status})")
    made: DiscreetError
    match kind:
        case "query":
            made = QueryError(message.removesuffix(_NOTHING_CHARGED))
        case "parameter":
            name, _, problem = message.removesuffix(_NOTHING_RELEASED).partition(" ")
            made = ParameterError(name, None, problem)
        case "budget":
            could = _number(told.get("could"))
            made = BudgetExceededError(message, asked=None, left=None, could=could)
        case "ledger" | "conflict":
            made = LedgerError(message)
        case "nothing_found":
            made = NothingFoundError(message)
        case "not_found":
            made = QueryError(message.removesuffix(_NOTHING_CHARGED))
        case _:
            made = RemoteError(message, kind=kind, key=asking)
    fix = told.get("fix")
    if isinstance(fix, str) and fix and fix not in message:
        made.add_note(fix)
    return made


def _number(text: object) -> Fraction | None:
    try:
        return positive(text, name="could")
    except ParameterError:
        return None


# where to, and with what


def _address(url: str) -> tuple[SplitResult, str, str]:
    """The parts of an address, the host and the path before /api; refused where a key may leak."""
    given: object = url
    if not isinstance(given, str):
        raise ParameterError("url", None, "must be text, such as 'https://data.example.org'")
    try:
        at = urlsplit(url.strip())
        host, _ = at.hostname, at.port
    except ValueError:
        raise ParameterError("url", None, "is no address: say https://host") from None
    if at.scheme not in ("https", "http") or not host:
        raise ParameterError("url", url[:60], "must begin with https:// and name a host")
    if "@" in at.netloc or at.query or at.fragment:
        problem = "must hold neither a name nor a question mark; the key goes apart: key='dk_...'"
        raise ParameterError("url", None, problem)
    if at.scheme == "http" and not _is_here(host):
        problem = "must be https://: over http:// the key and all answers could be read on the way"
        raise ParameterError("url", url[:60], problem)
    if not re.fullmatch(r"[\x21-\x7e]*", at.path):
        raise ParameterError("url", None, "must have a path of plain letters")
    return at, host, at.path.rstrip("/")


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trusting(ca: str | Path | None) -> ssl.SSLContext:
    """Certificates and names are always checked; `ca` says by whom they are signed."""
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except OSError as error:
        raise ParameterError("ca", str(ca), "must be a file of certificates (PEM)") from error


def _checked(key: str | None) -> str:
    """The key; an error does not quote it."""
    found: object = os.environ.get(_VARIABLE) if key is None else key
    if found is None or found == "":
        problem = f"is missing: connect(url, 'dk_...'), or {_VARIABLE} in the environment"
        raise ParameterError("key", None, problem)
    if not isinstance(found, str) or not _KEY.fullmatch(found):
        raise ParameterError("key", None, "must be the text that the owner handed out, 'dk_...'")
    return found
