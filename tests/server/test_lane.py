"""The short way of a question says what the route says, and takes what is as usual alone."""

import asyncio
import json
import threading
import time

import pytest
from tests.server.running import COUNT, running, weak
from tests.server.wire import connected, head

from discreet.server import connections, lane
from discreet.server.lane import Asked, Lane, Part

BODIES = [
    {"question": COUNT, "epsilon": "0.01"},
    {"question": COUNT, "epsilon": 0.01, "key": "one"},
    {"question": COUNT, "epsilon": "0.01", "key": "two", "deadline": 0.5},
    {"question": COUNT, "epsilon": "0.01", "deadline": 7},
    {"question": COUNT, "epsilon": "50"},
    {"question": COUNT, "epsilon": "x" * 61},
    {"question": COUNT, "epsilon": True},
    {"question": COUNT, "extra": 1},
    {"question": ""},
    {"question": "SELECT nothing FROM payroll"},
    {"question": COUNT, "dataset": "other"},
    {"question": COUNT, "with_what_is_left": "yes", "epsilon": "0.01"},
    {},
    [],
    [{"question": COUNT}],
    "text",
    None,
]
HEADERS = [
    {},
    {"Idempotency-Key": "three"},
    {"Idempotency-Key": "no good"},
    {"Idempotency-Key": "x" * 56},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/json; charset=utf-8"},
]


def told(answer):
    """All of an answer that is the same for two askings of one question."""
    try:
        found = answer.json
    except ValueError:
        found = None
    if answer.status == 200:
        found = sorted(found), sorted(found["release"])
    return answer.status, sorted(answer.headers), len(answer.body), found


def every(server):
    for who in ("alice", "audrey", None):
        for number, body in enumerate(BODIES):
            more = {"raw": b"null"} if body is None else {"body": body}
            yield server.call("POST", "/api/ask", who=who, **more)
            if number < 2:
                yield from (server.call("POST", "/api/ask", body, who=who, headers=h)
                            for h in HEADERS)  # fmt: skip
    for wrong in ("Bearer dk_0", "Basic abc", ""):
        yield server.call("POST", "/api/ask", BODIES[0], headers={"Authorization": wrong})


@pytest.mark.slow
@pytest.mark.parametrize("padded", [True, False])
def test_the_short_way_says_what_the_route_says(folder, monkeypatch, padded):
    weak(monkeypatch)
    taken, answer, begin = [], Lane.answer, Lane.begin

    async def spied(*given):
        found = await answer(*given)
        taken.append(found is not None)
        return found

    def seen(*given):
        begun = begin(*given)
        taken.extend([True] * begun)
        return begun

    with running(folder / "policy.toml", deadlines=("1/20", "1/2"), padded=padded) as server:
        monkeypatch.setattr(Lane, "answer", spied)
        monkeypatch.setattr(Lane, "begin", seen)
        short = [told(one) for one in every(server)]
        assert len(short) > len(taken) > sum(taken) > 10
        monkeypatch.setattr(Lane, "read", lambda *_: Part.OTHER)
        routed = [told(one) for one in every(server)]
    assert short == routed
    assert {status for status, *_ in short} >= {200, 401, 402, 403, 415, 422}


def test_it_is_the_way_of_questions_with_a_key_alone(server, monkeypatch):
    taken, answer = [], Lane.answer
    monkeypatch.setattr(Lane, "answer", lambda *given: taken.append(1) or answer(*given))
    assert server.ask(epsilon="0.01").status == 200
    assert taken == [1]
    assert server.post("/api/explain", {"question": COUNT}).status == 200
    assert server.get("/api/ask").status == 405
    assert taken == [1]


# without deadlines


@pytest.fixture
def hasty(folder, monkeypatch):
    """A server without deadlines, whose questions are never left to a task."""
    weak(monkeypatch)
    with running(folder / "policy.toml", padded=False, workers=3) as made:
        yield made


def answers_of(monkeypatch):
    """Which questions are left to a task, from now on."""
    left, answer = [], Lane.answer
    monkeypatch.setattr(Lane, "answer", lambda *given: left.append(1) or answer(*given))
    return left


def nothing_is_left(server):
    """Wait until nobody has a place, no key is busy and nothing is being answered."""
    state, until = server.app.state, time.monotonic() + 30
    while state.places._lines or state.alone._here or state.guard.running:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_question_without_a_deadline_goes_straight_to_a_worker(hasty, monkeypatch):
    left = answers_of(monkeypatch)
    assert hasty.ask(epsilon="0.01").status == 200
    assert hasty.ask(epsilon="50").status == 402
    assert hasty.ask("SELECT nothing FROM payroll", epsilon="0.01").status == 422
    assert hasty.ask(epsilon="0.01", deadline=7).status == 422
    assert not left
    assert hasty.ask(epsilon="0.01", who="audrey").status == 403  # the route says it
    assert left == [1]
    nothing_is_left(hasty)


def test_with_a_deadline_none_does(server, monkeypatch):
    left = answers_of(monkeypatch)
    assert server.ask(epsilon="0.01").status == 200
    assert left == [1]


def test_a_rate_holds_and_gives_the_place_back(folder, monkeypatch):
    weak(monkeypatch)
    with running(folder / "policy.toml", padded=False, requests_per_minute=3) as server:
        statuses = [server.ask(epsilon="0.01").status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        nothing_is_left(server)


def test_one_question_of_a_key_and_so_many_of_an_asker_at_once(hasty, monkeypatch):
    """Who finds no place waits for one; who asks twice under one key is refused."""
    left = answers_of(monkeypatch)
    access, service = hasty.service.access, hasty.service
    for number in range(3):
        hasty.keys[f"alice {number}"] = access.make_key("alice", by="tests")
    may, inner, running_now, most = threading.Event(), service.steps, [], []

    def held(*given, **more):
        running_now.append(1)
        most.append(len(running_now))
        assert may.wait(30)
        running_now.pop()
        return inner(*given, **more)

    monkeypatch.setattr(service, "steps", held)
    seen = {}

    def ask(who):
        seen[who] = hasty.ask(epsilon="0.01", who=who).status

    threads = [threading.Thread(target=ask, args=(f"alice {number}",)) for number in range(3)]
    for one in threads[:2]:
        one.start()
    until = time.monotonic() + 30
    while len(running_now) < 2:
        assert time.monotonic() < until
        time.sleep(0.001)
    assert hasty.ask(epsilon="0.01", who="alice 0").status == 429
    left.clear()
    threads[2].start()  # two of three workers are one asker's share
    while not left:
        assert time.monotonic() < until
        time.sleep(0.001)
    other = threading.Thread(target=ask, args=("bob",))
    other.start()
    while len(running_now) < 3:
        assert time.monotonic() < until
        time.sleep(0.001)
    may.set()
    for one in (*threads, other):
        one.join()
    assert set(seen.values()) == {200}
    assert max(most) == 3
    nothing_is_left(hasty)


def test_who_has_gone_keeps_no_place(hasty, monkeypatch):
    came, may, inner = threading.Event(), threading.Event(), hasty.service.steps

    def held(*given, **more):
        came.set()
        assert may.wait(30)
        return inner(*given, **more)

    monkeypatch.setattr(hasty.service, "steps", held)
    with connected(hasty) as wire:
        wire.say(request(hasty))
        assert came.wait(30)
    may.set()
    nothing_is_left(hasty)
    assert hasty.ask(epsilon="0.01").status == 200


def test_a_thread_that_is_ended_ends_the_connection_alone(hasty, monkeypatch):
    inner = hasty.service.steps

    def ended(*_, **__):
        raise SystemExit

    monkeypatch.setattr(hasty.service, "steps", ended)
    with connected(hasty) as wire:
        wire.say(request(hasty))
        assert wire.ended()
    monkeypatch.setattr(hasty.service, "steps", inner)
    assert hasty.ask(epsilon="0.01").status == 200


def test_a_revoked_key_is_refused_at_once(server):
    assert server.ask(epsilon="0.01").status == 200
    (key,) = server.service.access.keys("alice")
    server.service.access.revoke(key.id, by="tests")
    assert server.ask(epsilon="0.01").status == 401


@pytest.mark.parametrize("held", ["turn", "reader"])
def test_others_are_served_while_a_question_waits_for_the_ledger(server, monkeypatch, held):
    database = server.service.ledger._database
    came, inner = threading.Event(), lane.by_header
    monkeypatch.setattr(lane, "by_header", lambda *given: came.set() or inner(*given))
    seen = []
    asking = threading.Thread(target=lambda: seen.append(server.ask(epsilon="0.01").status))
    with database.turn() if held == "turn" else database._glancing:
        asking.start()
        assert came.wait(30)  # its first use is written down
        assert server.get("/health/live", who=None, timeout=30).status == 200
    asking.join()
    assert seen == [200]
    until = time.monotonic() + 30  # it may be written after the answer
    while server.service.access.keys("alice")[0].last_used is None:
        assert time.monotonic() < until
        time.sleep(0.01)


# which bytes it takes


def request(server, *more, line="POST /api/ask HTTP/1.1", body=None, length=None, who="alice"):
    """The bytes of a question."""
    said = json.dumps({"question": COUNT, "epsilon": "0.01"}).encode() if body is None else body
    size = len(said) if length is None else length
    lines = (f"Authorization: Bearer {server.keys[who]}", "Content-Type: application/json",
             f"Content-Length: {size}")  # fmt: skip
    return head(server, line, *lines, *more) + said


def reader(server):
    return server.server.config.http_protocol_class.lane.read


@pytest.mark.parametrize(
    "more",
    [(), ("Connection: keep-alive",), ("X: ",), ("x-odd_Name.1:\tA b, c;d=\"e\" ",),
     ("Accept: */*", "User-Agent: x/1 (y)", "Idempotency-Key: one"), ("Cookie: a=b",)],
)  # fmt: skip
def test_a_plain_question_is_taken(standing, more):
    whole = request(standing, *more)
    read = reader(standing)
    found = read(whole)
    assert isinstance(found, Asked)
    assert found.question.question == COUNT
    assert found.head.key == f"Bearer {standing.keys['alice']}"
    assert found.head.named == ("one" if len(more) == 3 else None)
    begins = whole.index(b"\r\n\r\n") + 4
    assert {read(whole[:end]) for end in range(begins)} == {Part.OTHER}
    assert {read(whole[:end]) for end in range(begins, len(whole))} == {Part.MORE}
    assert read(whole + b" ") is Part.OTHER
    assert read(whole + whole) is Part.OTHER
    assert read(b"\r\n" + whole) is Part.OTHER


OTHERS = [
    {"line": "POST /api/ask HTTP/1.0"},
    {"line": "POST /api/ask HTTP/1.1 "},
    {"line": "POST  /api/ask HTTP/1.1"},
    {"line": "POST /api/ask?x=1 HTTP/1.1"},
    {"line": "POST /api/ask/ HTTP/1.1"},
    {"line": "POST /api/%61sk HTTP/1.1"},
    {"line": "POST http://localhost/api/ask HTTP/1.1"},
    {"line": "post /api/ask HTTP/1.1"},
    {"line": "PUT /api/ask HTTP/1.1"},
    {"more": ("Transfer-Encoding: chunked",)},
    {"more": ("transfer-encoding:",)},
    {"more": ("Expect: 100-continue",)},
    {"more": ("Connection: close",)},
    {"more": ("Connection: keep-alive, Upgrade", "Upgrade: h2c")},
    {"more": ("Upgrade: h2c",)},
    {"more": ("Content-Length: 5",)},
    {"more": ("content-length: 56",)},
    {"more": ("Authorization: Bearer x",)},
    {"more": ("HOST: localhost",)},
    {"more": ("Idempotency-Key: a", "idempotency-key: a")},
    {"more": ("Idempotency-Key: no good",)},
    {"more": ("Idempotency-Key: ",)},
    {"more": ("X : a",)},
    {"more": (" X: a",)},
    {"more": ("X",)},
    {"more": (": a",)},
    {"more": ("X: a\x00",)},
    {"more": ("X: a\x7f",)},
    {"more": ("X: \xe9",)},
    {"more": ("X: a\n b",)},
    {"more": ("X: a\r b",)},
    {"more": ("X: a\r\n b",)},
    {"more": ("X\xff: a",)},
    {"more": ("X: " + "x" * 9000,)},
    {"length": "+56"},
    {"length": "056"},
    {"length": "5_6"},
    {"length": "56 56"},
    {"length": "56,56"},
    {"length": 0, "body": b""},
    {"length": 65_537},
    {"length": "1" + "0" * 20},
    {"body": b"null"},
    {"body": b'{"question": "x", "question": "y"}'},
    {"body": b'{"question": "x", "epsilon": NaN}'},
    {"body": b'\xef\xbb\xbf{"question": "x"}'},
]


@pytest.mark.parametrize("given", OTHERS, ids=str)
def test_whatever_differs_is_left_to_the_route(standing, given):
    said = {name: value for name, value in given.items() if name != "more"}
    read = reader(standing)
    assert read(request(standing, *given.get("more", ()), **said)) is Part.OTHER


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:x", "", "localhost@evil.example"])
def test_another_host_is_left_to_the_route(standing, host):
    whole = request(standing)
    read = reader(standing)
    said = f"127.0.0.1:{standing.port}".encode()
    assert isinstance(read(whole.replace(said, b"LocalHost:1")), Asked)
    assert read(whole.replace(said, host.encode())) is Part.OTHER


def test_a_head_that_was_read_before_means_the_same_again(standing, monkeypatch):
    """Whatever follows it, and whatever else begins like it: as if nothing had been read before."""
    read = reader(standing)
    before = read(request(standing, "X: a")).head
    body = b'{"question": "SELECT 1", "epsilon": 1, "key": "'
    body += b"k" * (before.length - len(body) - 2) + b'"}'
    assert len(body) == before.length
    whole, said = before.text + body, before.text
    others = [
        request(standing), request(standing, "X: a", who="bob"), request(standing, "X: b"),
        request(standing, "X: a", "Y: b"), request(standing, "X: a", body=body[:-1] + b" }"),
        request(standing, "X: a", "Idempotency-Key: one"), said[:-4] + b"\r\nX: a\r\n\r\n" + body,
        said[:-2] + b"Connection: close\r\n\r\n" + body, said + b"\r\n" + body[:-2],
        said[:-1], said, whole[:-1], whole + b"x", whole + whole, said + b"null".ljust(len(body)),
        b"\r\n" + whole, whole[:40] + b"\n" + whole[40:],
    ]  # fmt: skip
    for data in (whole, *others):
        assert read(data, before) == read(data), data
    assert read(whole, before).head is before
    assert read(whole, before).question.question == "SELECT 1"
    lane = standing.server.config.http_protocol_class.lane
    monkeypatch.setattr(lane.guard, "stopping", True)
    assert read(whole, before) is Part.OTHER


def test_no_head_takes_long_to_be_told_from_others(standing):
    read = reader(standing)
    line = b"POST /api/ask HTTP/1.1\r\n"
    began = time.process_time()
    for odd in (b"a" * 60_000, b"a:" + b" " * 60_000, b"a: b\r\n" * 10_000, b"a:\t \r" * 10_000):
        for end in (b"", b"\x00\r\n\r\n"):
            assert read(line + odd + end) is Part.OTHER
    assert time.process_time() - began < 1


# one connection


def answering(server):
    """Wait until something is being answered."""
    until = time.monotonic() + 30
    while not server.app.state.guard.running:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_requests_on_one_connection(server):
    """Of the lane and of the route in turn, in pieces, and several at once; each is answered."""
    whole, free = request(server), head(server)
    explain = request(server, line="POST /api/explain HTTP/1.1")
    begins = whole.index(b"\r\n\r\n") + 4
    with connected(server) as wire:
        for parts in (
            [whole], [free], [whole[:begins], whole[begins:]], [whole[:40], whole[40:]],
            [whole[:-1], whole[-1:]], [explain], [whole],
        ):  # fmt: skip
            for part in parts:
                wire.say(part)
                time.sleep(0.01)
            assert wire.hear().status == 200
        wire.say(whole[:-1])
        time.sleep(3 * connections._MOMENT)  # too late for the lane, and still a request
        wire.say(whole[-1:])
        assert wire.hear().status == 200
        wire.say(whole)
        answering(server)
        wire.say(free)  # while that is being answered
        both = b""
        while not both.endswith(b'{"live":true}'):
            both += wire.made.recv(65536)
    first, last = both.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert b'"release":' in first
    assert b'"release":' not in last


def test_what_is_being_answered_ends_before_its_connection(server, monkeypatch):
    """The answer is held until the connection knows that it ends, however late that is."""
    ending, answer, shutdown = asyncio.Event(), Lane.answer, connections.Connection.shutdown

    async def held(*given):
        found = await answer(*given)
        await ending.wait()
        return found

    def told(connection):
        shutdown(connection)
        ending.set()

    monkeypatch.setattr(Lane, "answer", held)
    monkeypatch.setattr(connections.Connection, "shutdown", told)
    with connected(server) as wire:
        wire.say(request(server))
        answering(server)
        server.server.should_exit = True
        answer = wire.hear()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert wire.ended()
