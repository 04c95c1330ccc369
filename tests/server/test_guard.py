"""What stands before and behind every route, without a socket."""

import asyncio
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.curator.policy.model import Server
from discreet.server.guard import Guard, headers_of, read_json
from discreet.server.problems import Problem
from discreet.server.settings import LONGEST_BODY, Settings

SETTINGS = Settings(Server(deadlines=(Fraction(1),)), slowest_body=0.05)
HOST = (b"host", b"localhost")


def asked(app, *headers, path="/api/x", parts=(b"",), settings=SETTINGS, guard=None, wait=None):
    """What a guard around an application answers; status, headers, body."""
    guard = guard or Guard(app, settings)
    said = []
    left = list(parts)

    async def receive():
        if wait is not None and len(left) < len(parts):
            await asyncio.sleep(wait)
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message):
        said.append(message)

    scope = {"type": "http", "path": path, "headers": [*headers]}
    asyncio.run(guard(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in said[1:])
    return said[0]["status"], dict(said[0]["headers"]), body


async def echo(scope, receive, send):
    message = await receive()
    assert not message["more_body"]
    headers = [(b"Cache-Control", b"public"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": message["body"]})


async def broken(scope, receive, send):
    raise ValueError("SECRET")


JSON = (b"content-type", b"application/json")


def test_headers_are_added_and_none_is_replaced():
    status, headers, body = asked(echo, HOST, JSON, parts=(b'{"a":', b"1}"))
    assert (status, body) == (200, b'{"a":1}')
    assert headers[b"Cache-Control"] == b"public"
    assert b"cache-control" not in headers
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"default-src 'none'" in headers[b"content-security-policy"]
    assert b"unsafe" not in headers[b"content-security-policy"]


def test_browsers_are_told_to_stay_with_https():
    assert "strict-transport-security" not in headers_of(SETTINGS)
    secure = replace(SETTINGS, behind_proxy=True)
    assert "max-age" in headers_of(secure)["strict-transport-security"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([HOST], 200),
        ([(b"host", b"evil")], 400),
        ([], 400),
        ([HOST, HOST], 400),
        ([HOST, (b"Content-Length", b"1"), (b"content-length", b"1")], 400),
        ([HOST, (b"content-length", b"1"), (b"transfer-encoding", b"chunked")], 400),
        ([HOST, (b"content-length", str(LONGEST_BODY + 1).encode())], 413),
        ([HOST, (b"content-length", b"9" * 5000)], 413),
        ([HOST, (b"content-length", b"-1")], 413),
    ],
)
def test_heads(headers, status):
    assert asked(echo, *headers)[0] == status


def test_any_name_where_none_is_said_and_others_can_reach_it():
    settings = Settings(Server(host="0.0.0.0"), behind_proxy=True)
    assert asked(echo, (b"host", b"anything.example"), settings=settings)[0] == 200
    named = Settings(Server(host="0.0.0.0", names=("Dp.example",)), behind_proxy=True)
    assert asked(echo, (b"host", b"dp.EXAMPLE:443"), settings=named)[0] == 200
    assert asked(echo, (b"host", b"anything.example"), settings=named)[0] == 400


def test_bodies():
    assert asked(echo, HOST, parts=(b" " * LONGEST_BODY, b" "), path="/x")[0] == 413
    assert asked(echo, HOST, parts=(b" " * LONGEST_BODY, b""), path="/x")[0] == 200
    assert asked(echo, HOST, parts=(b"", b""), wait=1)[0] == 408
    assert asked(echo, HOST, parts=())[0] == 408  # the asker has gone
    assert asked(echo, HOST, parts=(b"{}",))[0] == 415
    assert asked(echo, HOST, parts=(b"a=b",), path="/login")[0] == 200
    assert asked(echo, HOST, JSON, parts=(b"{",))[0] == 400


def test_a_failure_is_told_in_the_usual_form_and_passed_on():
    said = []

    async def send(message):
        said.append(message)

    async def receive():
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "path": "/api/x", "headers": [HOST]}
    guard = Guard(broken, SETTINGS)
    with pytest.raises(ValueError, match="SECRET"):
        asyncio.run(guard(scope, receive, send))
    assert said[0]["status"] == 500
    assert b"SECRET" not in said[1]["body"]
    assert guard.running == 0


def test_a_stopping_server_begins_nothing_but_tells_its_health():
    guard = Guard(echo, SETTINGS)
    guard.stopping = True
    status, headers, body = asked(echo, HOST, guard=guard)
    assert status == 503
    assert headers[b"retry-after"] == b"1"
    assert json.loads(body)["error"] == "busy"
    assert asked(echo, HOST, guard=guard, path="/health/ready")[0] == 200


def test_requests_are_counted_while_they_run():
    counts = []

    async def look(scope, receive, send):
        counts.append(guard.running)
        await echo(scope, receive, send)

    guard = Guard(look, SETTINGS)
    asked(look, HOST, guard=guard)
    asked(look, HOST, guard=guard, path="/health/live")
    assert counts == [1, 0]
    assert guard.running == 0


def test_what_is_no_http_goes_through():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(Guard(app, SETTINGS)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


def test_json():
    assert read_json(b'{"a": [1, 2.5, null, true, "\\u00e9"]}') == {"a": [1, 2.5, None, True, "é"]}
    assert read_json(b"9" * 400) == int("9" * 400)
    assert read_json(b"[" * 32 + b"]" * 32)
    for body in (b"[" * 33 + b"]" * 33, b"9" * 401, b'{"a":1,"a":1}', b"NaN", b"\xff", b"", b"{"):
        with pytest.raises(Problem) as refused:
            read_json(body)
        assert refused.value.status == 400
