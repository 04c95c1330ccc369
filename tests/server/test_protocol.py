"""The protocol attacked, byte by byte, against a real server on a real socket.

What is slow, large, ambiguous, misdirected or forged is refused in the usual form; the server goes
on answering others meanwhile. Who may do what is in test_roles.py, keys and sessions in
test_forgery.py.
"""

import contextlib
import json
import socket
import time
from fractions import Fraction

import pytest
from tests.server.running import COUNT, prepared, running, weak
from tests.server.wire import HEADERS, connected, head, sent

from discreet import remembered
from discreet.server.service import Service
from discreet.server.settings import LONGEST_BODY

SLOW = 1.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        folder = tmp_path_factory.mktemp("protocol")
        with running(prepared(folder), deadlines=("0.05", "1.5"), slowest_body=SLOW) as made:
            yield made


END = "Connection: close"


def fine(answer, status, kind=None):
    """An answer of this status with every header, in the usual form."""
    assert answer is not None
    assert answer.status == status, answer.body
    assert set(answer.headers) >= HEADERS
    assert not {"server", "date", "x-powered-by"} & set(answer.headers)
    if status >= 400:
        told = answer.json
        assert set(told) >= {"error", "message", "fix"}
        assert kind is None or told["error"] == kind
    return answer


def post(server, body, *more, path="/api/explain", kind="application/json", who="alice"):
    """The answer to these bytes as a body."""
    lines = (f"Authorization: Bearer {server.keys[who]}", f"Content-Length: {len(body)}", *more)
    typed = (f"Content-Type: {kind}",) if kind else ()
    return sent(server, head(server, f"POST {path} HTTP/1.1", *lines, *typed) + body)


def alive(server, source="127.0.0.1"):
    fine(sent(server, head(server), source=source, timeout=5), 200)


# headers


@pytest.mark.parametrize(
    ("method", "path", "who", "status"),
    [
        ("GET", "/health/live", None, 200),
        ("GET", "/health/ready", None, 200),
        ("GET", "/api/me", "alice", 200),
        ("GET", "/api/me", None, 401),
        ("GET", "/api/people", "alice", 403),
        ("GET", "/api/datasets/none", "alice", 404),
        ("GET", "/api/releases?limit=0", "alice", 422),
        ("GET", "/nothing", None, 404),
        ("GET", "/login", None, 200),
        ("GET", "/static/nothing.js", None, 404),
        ("GET", "/static/..%2f..%2fapp.py", None, 404),
        ("GET", "/api/me/", "alice", 404),
        ("GET", "//api/me", "alice", 404),
        ("DELETE", "/api/me", "alice", 405),
        ("HEAD", "/api/me", "alice", 405),
        ("OPTIONS", "/api/me", "alice", 405),
        ("OPTIONS", "*", None, 404),
        ("TRACE", "/api/me", "alice", 405),
        ("CONNECT", "/api/me", "alice", 405),
        ("PATCH", "/api/policy", "olga", 405),
        ("BREW", "/api/me", "alice", 405),
    ],
)
def test_every_kind_of_answer_has_the_headers(server, method, path, who, status):
    key = (f"Authorization: Bearer {server.keys[who]}",) if who else ()
    answer = sent(server, head(server, f"{method} {path} HTTP/1.1", *key, "Connection: close"))
    assert answer.status == status
    assert set(answer.headers) >= HEADERS
    assert "server" not in answer.headers
    if status == 405:
        assert answer.headers["allow"]
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
    assert "set-cookie" not in answer.headers
    assert not any(name.startswith("access-control") for name in answer.headers)
    if method == "TRACE":
        assert server.keys["alice"].encode() not in answer.body


def test_answers_are_not_kept_by_anybody(server):
    assert server.get("/api/me").headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in server.get("/api/me").headers  # it is no https


def test_files_have_the_headers_and_are_kept(server):
    from discreet.server.page.assets import address

    answer = fine(sent(server, head(server, f"GET {address('style.css')} HTTP/1.1")), 200)
    assert "immutable" in answer.headers["cache-control"]
    assert "set-cookie" not in answer.headers


# bodies


def test_a_body_that_is_too_large(server):
    fine(post(server, b" " * (LONGEST_BODY + 1)), 413, "too_large")
    declared = head(server, "POST /api/explain HTTP/1.1", f"Content-Length: {LONGEST_BODY + 1}")
    fine(sent(server, declared), 413, "too_large")  # nothing of it had to be sent
    for length in ("1" + "0" * 18, "9" * 20):
        declared = head(server, "POST /api/explain HTTP/1.1", f"Content-Length: {length}")
        fine(sent(server, declared), 413)
    alive(server)


def test_a_body_in_pieces_that_is_too_large(server):
    begin = head(server, "POST /api/explain HTTP/1.1", "Transfer-Encoding: chunked")
    piece = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    fine(sent(server, begin + piece * 5), 413, "too_large")
    body = json.dumps({"question": COUNT, "epsilon": "0.5"}).encode()
    whole = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    key = f"Authorization: Bearer {server.keys['alice']}"
    typed = "Content-Type: application/json"
    begin = head(server, "POST /api/explain HTTP/1.1", key, typed, "Transfer-Encoding: chunked")
    fine(sent(server, begin + whole), 200)


def test_the_largest_body_is_read(server):
    body = json.dumps({"question": COUNT, "epsilon": "0.5"}).encode()
    fine(post(server, body.ljust(LONGEST_BODY)), 200)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 60_000, "JSON"),
        (b"[" * 40 + b"]" * 40, "deeply"),
        (b'{"a":' * 10_000, "JSON"),
        (b'{"question": {"a": ' + b"[" * 32 + b"]" * 32 + b"}}", "deeply"),
        (b'{"question": "x", "question": "y"}', "twice"),
        (b'{"question": "x", "epsilon": {"a": 1, "a": 1}}', "twice"),
        (b'{"question": "x", "epsilon": NaN}', "NaN"),
        (b'{"question": "x", "epsilon": -Infinity}', "Infinity"),
        (b'{"question": "x", "epsilon": ' + b"9" * 5_000 + b"}", "too long"),
        (b'{"question": "x", "epsilon": ' + b"9" * 401 + b"}", "too long"),
        (b'{"question": "\xff"}', "UTF-8"),
        (b'{"question": "\xed\xa0\x80"}', "UTF-8"),
        ('{"question": "x"}'.encode("utf-16"), "UTF-8"),
        (b'\xef\xbb\xbf{"question": "x"}', "JSON"),
        (b"{'question': 'x'}", "JSON"),
        (b'{"question": "x"} {}', "JSON"),
        (b'{"question": "\n"}', "JSON"),
        (b"\x00", "JSON"),
    ],
)
def test_json_that_cannot_be_read_is_malformed(server, body, words):
    for path in ("/api/explain", "/api/ask"):
        answer = fine(post(server, body, path=path), 400, "malformed")
        assert words in answer.json["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"null", b"[]", b'"x"', b"1", b"{}",
        b'{"question": null}', b'{"question": ["x"]}', b'{"question": 1}',
        b'{"question": "\\ud800"}',
        b'{"question": "\\u0000"}',
        b'{"question": "x", "epsilon": ' + b"9" * 400 + b"}",
        b'{"question": "x", "epsilon": 1e400}',
        b'{"question": "x", "epsilon": true}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "delta": "' + b"0" * 61 + b'"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "epsilon": "' + b"9" * 4_000 + b'"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "epsilon": "' + b"9" * 60 + b'"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "epsilon": "1e-999999999"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "epsilon": "1e999999999"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "epsilon": "1/0"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "delta": "1e-999999999"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "within": 5, "rows": "1e999999999"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "within": "1e-999999999"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "deadline": 1e-300}',
        b'{"question": "' + b"(" * 19_000 + b'"}',
        b'{"question": "SELECT ' + b"-" * 15_000 + b'1"}',
        b'{"question": "SELECT ' + b"NOT " * 4_000 + b'1"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "block": "../../etc"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "key": "../x"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "key": "find-x"}',
        b'{"question": "SELECT COUNT(*) FROM payroll", "__proto__": {}}',
    ],
    ids=lambda body: body[:60].decode(),
)  # fmt: skip
def test_what_is_no_question_is_a_parameter_that_is_wrong(server, body):
    answer = fine(post(server, body, path="/api/ask"), 422)
    assert b"Traceback" not in answer.body
    assert len(answer.body) < 100 * max(len(body), 100)  # padded, but no gift to who asks
    assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0"


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
     "text/json", "application/jsonp", "application/vnd.api+json"],
)  # fmt: skip
def test_a_body_is_json_and_says_so(server, kind):
    body = json.dumps({"question": COUNT, "epsilon": "0.5"}).encode()
    fine(post(server, body, kind=kind), 415, "media")
    fine(post(server, body, kind="Application/JSON; charset=utf-8"), 200)


# slow ones, and many


@pytest.mark.parametrize("path", ["/api/explain", "/api/ask"])
def test_a_slow_body_is_cut_off(server, path):
    lines = (f"Authorization: Bearer {server.keys['alice']}", "Content-Type: application/json")
    begin = head(server, f"POST {path} HTTP/1.1", *lines, "Content-Length: 100")
    with connected(server) as wire:
        began = time.monotonic()
        wire.say(begin + b"{")
        for _ in range(4):  # some bytes from time to time are no help
            time.sleep(SLOW / 5)
            with contextlib.suppress(OSError):
                wire.say(b" ")
        alive(server)
        fine(wire.hear(), 408, "late")
        assert SLOW <= time.monotonic() - began < SLOW + 5
        assert wire.ended()


def test_a_slow_head_is_cut_off(server):
    with connected(server) as wire, connected(server) as silent, connected(server) as second:
        second.say(head(server))
        fine(second.hear(), 200)
        began = time.monotonic()
        second.say(b"GET /health")  # a second request on a kept connection, begun and not ended
        for byte in b"GET / HT":
            with contextlib.suppress(OSError):
                wire.say(bytes([byte]))
            time.sleep(SLOW / 16)
        for one in (wire, silent, second):
            assert one.ended()
        assert time.monotonic() - began < SLOW + 5
    alive(server)


def test_a_kept_connection_is_not_cut_off(server):
    with connected(server) as wire:
        for _ in range(2):
            wire.say(head(server))
            fine(wire.hear(), 200)
            time.sleep(SLOW * 1.2)


def test_one_address_cannot_take_all_connections(server):
    held = lambda: sum(
        one.client[0] == "127.0.0.9" for one in list(server.server.server_state.connections)
    )
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(connected(server, source="127.0.0.9")) for _ in range(200)]
        alive(server, source="127.0.0.8")
        time.sleep(0.1)  # those that were closed are gone by then, those that are slow are not
        assert held() <= 128
        assert wires[-1].ended()
    time.sleep(0.2)
    alive(server, source="127.0.0.9")


def test_a_head_that_is_too_long(server):
    answer = sent(server, head(server, "GET /health/live HTTP/1.1", "X: " + "x" * 200_000))
    assert answer is None or answer.status == 400
    answer = sent(server, b"GET /" + b"x" * 70_000)
    assert answer is None or answer.status == 400
    many = [f"X-{n}: 1" for n in range(20_000)]
    answer = sent(server, head(server, "GET /health/live HTTP/1.1", *many))
    assert answer is None or answer.status == 400
    alive(server)


# which host, which length


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
     "localhost@evil.example", "evil.example/127.0.0.1", "127.0.0.1:80:80", "127.0.0.1:x",
     "127.0.0.1 evil", "0.0.0.0", "[::]", "127.1", "localhost.", " ", "[127.0.0.1"],
)  # fmt: skip
def test_another_host_is_refused(server, host):
    """A page elsewhere whose name was made to point here does not get in."""
    fine(sent(server, head(server, host=host)), 400, "malformed")


@pytest.mark.parametrize(
    "said",
    [b"Host: 127.0.0.1\r\nHost: 127.0.0.1", b"Host: 127.0.0.1\r\nContent-Length: -1",
     b"Host: 127.0.0.1\r\nno header", b"Host: 127.0.0.1\r\nTransfer-Encoding: gzip"],
)  # fmt: skip
def test_what_the_parser_refuses_has_the_usual_form(server, said):
    answer = fine(sent(server, b"GET /health/live HTTP/1.1\r\n" + said + b"\r\n\r\n"), 400)
    assert answer.json["error"] == "malformed"
    assert answer.headers["connection"] == "close"
    fine(sent(server, b"nonsense\r\n\r\n"), 400, "malformed")
    alive(server)


def test_one_connection_too_many_is_told_in_the_usual_form(server, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(server.server.config, "limit_concurrency", 1)
        for asked in (head(server), head(server, "POST /api/ask HTTP/1.1", "Content-Length: 2")):
            answer = fine(sent(server, asked + b"{}"), 503, "busy")
            assert answer.headers["retry-after"] == "1"
    alive(server)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8080"])
def test_its_own_names_are_known(server, host):
    fine(sent(server, head(server, host=host)), 200)


@pytest.mark.parametrize(
    "lines",
    [
        ("Host: evil.example",),
        ("Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: 2, 3",),
        ("Content-Length: +2",),
        ("Content-Length: -1",),
        ("Content-Length: 0x2",),
        ("Content-Length: 2_0",),
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 2"),
        ("Transfer-Encoding: identity, chunked",),
        ("Transfer-Encoding: chunked, chunked",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding : chunked",),
        (" Transfer-Encoding: chunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Authorization: Bearer a", "Authorization: Bearer b"),
        ("Idempotency-Key: a", "Idempotency-Key: b"),
        ("X-CSRF-Token: a", "x-csrf-token: b"),
        ("X\x00: 1",),
        ("X: a\x00b",),
        ("X: a\nY: b\rZ: c",),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/explain", "/api/ask"])
def test_what_two_readers_would_read_in_two_ways(server, lines, path):
    """Refused, and what follows in the same connection is never taken for a request."""
    smuggled = head(server, "GET /health/live HTTP/1.1")
    request = head(server, f"POST {path} HTTP/1.1", *lines) + b"0\r\n\r\n" + smuggled
    with connected(server) as wire:
        wire.say(request)
        answer = wire.hear()
        assert answer.status in (400, 501), answer
        assert wire.ended()


def test_no_host(server):
    assert sent(server, b"GET /health/live HTTP/1.1\r\n\r\n").status == 400
    fine(sent(server, b"GET /health/live HTTP/1.0\r\n\r\n"), 400, "malformed")


@pytest.mark.parametrize(
    "data",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /\r\n\r\n",
     b"get /health/live HTTP/9.9\r\n\r\n", b"GET  /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"GET http://evil.example/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"GET /health\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n" * 3000],
)  # fmt: skip
def test_what_is_no_request(server, data):
    answer = sent(server, data)
    assert answer is None or 400 <= answer.status < 500
    alive(server)


def test_no_web_sockets_and_no_upgrades(server):
    key = f"Authorization: Bearer {server.keys['alice']}"
    for what in ("websocket", "h2c"):
        lines = (key, "Connection: Upgrade", f"Upgrade: {what}", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")  # fmt: skip
        fine(sent(server, head(server, "GET /api/me HTTP/1.1", *lines)), 200)


# paths

PATHS = [
    "/api/datasets/{}", "/api/releases/{}", "/api/releases/{}.csv", "/api/releases/x.{}",
    "/api/people/{}/disable", "/api/keys/{}", "/api/datasets/{}/retire", "/api/releases/{}/derive",
]  # fmt: skip
ODD = [
    "..%2f..%2fetc%2fpasswd", "../../etc/passwd", "..%252f", "%2e%2e", "..%5c..", "%00",
    "payroll%00", "payroll%20", "payroll%0a", "%c0%ae%c0%ae", "%ff", "%ed%a0%80", "%e2%80%ae",
    "pay%72oll%2f", "\\..\\", "%F0%9F%98%80", "a" * 5000, "'%20OR%201=1--", "{{7*7}}", "%25s", ";",
    "%EF%BC%8E%EF%BC%8E",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_odd_paths_lead_nowhere(server, path):
    method = {"disable": "POST", "retire": "POST", "derive": "POST"}.get(
        path.rpartition("/")[2], "DELETE" if "keys" in path else "GET"
    )
    key = f"Authorization: Bearer {server.keys['olga']}"
    for odd in ODD:
        line = f"{method} {path.format(odd)} HTTP/1.1"
        typed = ("Content-Type: application/json", "Content-Length: 13")
        derive = path.endswith("derive")
        begin = head(server, line, key, *typed) if derive else head(server, line, key)
        answer = sent(server, begin + (b'{"by": ["a"]}' if derive else b""))
        assert answer.status in (404, 405, 422), (odd, answer)
        assert set(answer.headers) >= HEADERS
        assert b"root:" not in answer.body
        assert b"Traceback" not in answer.body
        assert len(answer.body) < 1000
    assert {one.name for one in server.service.access.people if one.disabled} == set()


# limits


def test_too_many_requests_are_told_when_to_come_back(server, monkeypatch):
    from discreet.server.limits import Rate

    rate = Rate(3, "requests")
    monkeypatch.setattr(rate_of(server), "take", rate.take)
    assert [server.get("/api/me").status for _ in range(4)] == [200, 200, 200, 429]
    refused = fine(server.get("/api/me"), 429, "limit")
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert server.get("/api/me", who="bob").status == 200  # each has an own count
    assert sent(server, head(server)).status == 200


def rate_of(server):
    return server.app.state.rate


def spent(server, who):
    return server.service.ledger.accounts[f"staff@{who}"].spent.value()


def charged(server, who, before):
    """Wait until a question is under way, for whatever time a busy machine needs."""
    until = time.monotonic() + 30
    while spent(server, who) == before and time.monotonic() < until:
        time.sleep(0.005)


def test_one_question_at_a_time_for_each_key(server):
    asking = head(
        server, "POST /api/ask HTTP/1.1", f"Authorization: Bearer {server.keys['bob']}",
        "Content-Type: application/json", "Content-Length: {}",
    )  # fmt: skip
    new = COUNT + " ORDER BY dept"  # what was asked before is free
    body = json.dumps({"question": new, "epsilon": "0.01", "deadline": 1.5}).encode()
    asking = asking.replace(b"{}", str(len(body)).encode()) + body
    before = spent(server, "bob")
    with connected(server) as one, connected(server) as two:
        one.say(asking)
        charged(server, "bob", before)
        two.say(asking)
        refused = fine(two.hear(), 429, "limit")
        assert refused.headers["retry-after"] == "1"
        fine(one.hear(), 200)
    assert server.ask(epsilon="0.01", who="bob").status == 200


def test_no_free_worker(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    with running(path, workers=1, deadlines=("0.05", "1.5"), longest_wait=0.3) as server:
        body = json.dumps({"question": COUNT, "epsilon": "0.01", "deadline": 1.5}).encode()
        lines = (f"Authorization: Bearer {server.keys['bob']}", "Content-Type: application/json",
                 f"Content-Length: {len(body)}")  # fmt: skip
        with connected(server) as one:
            one.say(head(server, "POST /api/ask HTTP/1.1", *lines) + body)
            charged(server, "bob", 0)
            refused = fine(server.ask(epsilon="0.01"), 503, "busy")
            assert refused.headers["retry-after"] == "5"
            fine(one.hear(), 200)
        assert server.ask(epsilon="0.01").status == 200


def test_who_leaves_is_still_charged_once(server):
    """The connection ends once it is charged; the same key brings the answer, at no further price.

    Waited for are states, not times: the charge, and the end of the first asking.
    """
    before = spent(server, "bob")
    asked = {"question": COUNT, "epsilon": "0.125", "key": "left", "deadline": 1.5}
    body = json.dumps(asked).encode()
    lines = (f"Authorization: Bearer {server.keys['bob']}", "Content-Type: application/json",
             f"Content-Length: {len(body)}")  # fmt: skip
    with connected(server) as wire:
        wire.say(head(server, "POST /api/ask HTTP/1.1", *lines) + body)
        charged(server, "bob", before)
        wire.made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    first = server.ask(epsilon="0.125", key="left", who="bob")
    until = time.monotonic() + 30
    while first.status == 429 and time.monotonic() < until:  # the first asking is not done yet
        time.sleep(0.05)
        first = server.ask(epsilon="0.125", key="left", who="bob")
    assert first.status == 200
    assert server.ask(epsilon="0.125", key="left", who="bob").json == first.json
    assert spent(server, "bob") - before == Fraction("0.125")


def test_no_request_uses_what_was_found_for_the_one_before(server, monkeypatch):
    """Two people at one connection, as behind a proxy: what answers the second request is begun by
    what has answered the first.
    """
    met, inner = [], Service.releases

    def seen(service, who, **how):
        met.append((who.person.name, remembered._USED.get()))
        return inner(service, who, **how)

    monkeypatch.setattr(Service, "releases", seen)
    body = json.dumps({"question": COUNT, "epsilon": "0.125"}).encode()
    lines = (f"Authorization: Bearer {server.keys['alice']}", "Content-Type: application/json",
             f"Content-Length: {len(body)}")  # fmt: skip
    first = head(server, "POST /api/explain HTTP/1.1", *lines) + body
    of_bob = f"Authorization: Bearer {server.keys['bob']}"
    second, last = (
        head(server, "GET /api/releases HTTP/1.1", of_bob, *more) for more in ((), (END,))
    )
    with connected(server) as wire:
        wire.say(first + second + last)
        told = b"".join(iter(wire._more, b""))
    assert told.count(b"HTTP/1.1 200 ") == 3
    assert met == [("bob", None)] * 2
