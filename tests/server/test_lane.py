"""The short way of a question says what the route says."""

import threading
import time

import pytest
from tests.server.running import COUNT, running, weak

from discreet.server import lane

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
def test_the_short_way_says_what_the_route_says(folder, monkeypatch):
    weak(monkeypatch)
    taken, usual = [], lane._usual

    def spied(*given):
        found = usual(*given)
        taken.append(found is not None)
        return found

    with running(folder / "policy.toml", deadlines=("1/20", "1/2")) as server:
        monkeypatch.setattr(lane, "_usual", spied)
        short = [told(one) for one in every(server)]
        assert len(taken) > sum(taken) > 20
        monkeypatch.setattr(lane, "_usual", lambda *_: None)
        routed = [told(one) for one in every(server)]
    assert short == routed
    assert {status for status, *_ in short} >= {200, 401, 402, 403, 415, 422}


def test_it_is_the_way_of_questions_with_a_key_alone(server, monkeypatch):
    taken, usual = [], lane._usual
    monkeypatch.setattr(lane, "_usual", lambda *given: taken.append(1) or usual(*given))
    assert server.ask(epsilon="0.01").status == 200
    assert taken == [1]
    assert server.post("/api/explain", {"question": COUNT}).status == 200
    assert server.get("/api/ask").status == 405
    assert taken == [1]


def test_a_revoked_key_is_refused_at_once(server):
    assert server.ask(epsilon="0.01").status == 200
    (key,) = server.service.access.keys("alice")
    server.service.access.revoke(key.id, by="tests")
    assert server.ask(epsilon="0.01").status == 401


@pytest.mark.parametrize("held", ["turn", "reader"])
def test_others_are_served_while_a_question_waits_for_the_ledger(server, monkeypatch, held):
    database = server.service.ledger._database
    came, inner = threading.Event(), lane.asker
    monkeypatch.setattr(lane, "asker", lambda request: came.set() or inner(request))
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
