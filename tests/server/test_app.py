"""The application around a service: health, failures, the description."""

import threading
import time
import warnings

import pytest
from tests.server.running import COUNT, prepared, running, weak

from discreet.errors import LedgerError
from discreet.server import health
from discreet.server.app import PUBLIC, described
from discreet.version import VERSION


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("app"))) as made:
            yield made


def test_health(server):
    assert server.get("/health/live", who=None).json == {"live": True}
    assert server.get("/health/ready", who=None).json == {"ready": True}
    guard = server.app.state.guard
    guard.running, guard.until = guard.running + 1, time.monotonic() + 60  # one is under way
    guard.stopping = True
    assert server.get("/health/ready", who=None).status == 503
    assert server.get("/health/live", who=None).status == 200
    refused = server.ask()
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    guard.stopping = False
    guard.running -= 1
    assert server.get("/health/ready", who=None).status == 200


def test_a_ledger_that_cannot_be_used_is_not_ready(server, monkeypatch):
    def gone(*_, **__):
        raise LedgerError("SECRET place")

    monkeypatch.setattr(health, "_AGAIN", 0.0)
    ledger = type(server.service.ledger)
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "policy", property(gone))
        answer = server.get("/health/ready", who=None)
        assert (answer.status, answer.json) == (503, {"ready": False})
        for path in ("/api/datasets", "/api/budget"):
            told = server.get(path)
            assert told.status in (200, 503)
            assert b"SECRET" not in told.body
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "glance", gone)
        told = server.get("/api/me")
        assert (told.status, told.json["error"]) == (503, "ledger")
        assert b"SECRET" not in told.body
    assert server.get("/health/ready", who=None).status == 200


def test_a_fault_of_the_program_is_told_in_one_sentence(server, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("SECRET")

    monkeypatch.setattr(server.service, "accounts", broken)
    told = server.get("/api/budget")
    assert told.status == 500
    assert told.json["error"] == "internal"
    assert b"SECRET" not in told.body
    assert "x-frame-options" in told.headers
    assert "SECRET" in server.get("/api/faults", who="olga").json["faults"][0]
    assert server.get("/api/me").status == 200


def test_a_failure_while_a_failure_is_told_has_the_same_form(server, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("SECRET")

    monkeypatch.setattr(server.service, "accounts", broken)
    monkeypatch.setattr(server.service, "note", broken)
    told = server.get("/api/budget")
    assert (told.status, told.json["error"]) == (500, "internal")
    assert b"SECRET" not in told.body
    assert "x-frame-options" in told.headers


def test_the_description_is_for_who_is_let_in_and_tells_no_version(server):
    assert server.get("/api/openapi.json", who=None).status == 401
    for path in ("/docs", "/redoc", "/openapi.json", "/metrics", "/.env", "/debug"):
        assert server.get(path).status == 404
    told = server.get("/api/openapi.json")
    assert VERSION not in told.json["info"].values()
    assert set(told.json["paths"]["/api/ask"]["post"]["responses"]) >= {"200", "402", "409", "503"}


def test_no_answer_to_an_analyst_tells_versions_or_places(server):
    import fastapi
    import uvicorn

    answers = [
        server.get("/api/me"),
        server.get("/api/datasets"),
        server.get("/api/datasets/payroll"),
        server.ask(epsilon="0.1"),
        server.get("/api/releases"),
        server.get("/api/budget"),
        server.get("/api/nothing"),
        server.post("/api/explain", {"question": COUNT}),
        server.post("/api/rehearse", {"question": COUNT}),
        server.post("/api/explain", {"question": "SELECT"}),
    ]
    key = answers[3].json["id"]
    answers += [server.get(f"/api/releases/{key}{end}") for end in ("", ".csv", ".html", ".svg")]
    answers.append(server.post(f"/api/releases/{key}/derive", {"by": []}))
    words = (
        f"discreet {VERSION}", str(server.service.path.parent), "payroll.csv", "uvicorn",
        fastapi.__version__, uvicorn.__version__, "duckdb", "Traceback",
    )  # fmt: skip
    for answer in answers:
        told = answer.body.decode() + str(answer.headers)
        assert not [word for word in words if word in told], answer


def test_the_description_says_which_routes_want_a_key():
    told = described()
    assert told["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, operations in told["paths"].items():
        for operation in operations.values():
            assert operation.get("security") == (None if path in PUBLIC else [{"key": []}]), path


def test_no_request_mutes_warnings(tmp_path, monkeypatch):
    """That is done for all threads at once: what one of them mutes, another may hear again."""
    muted = warnings.catch_warnings.__enter__

    def entered(made):
        assert threading.current_thread() is threading.main_thread()
        return muted(made)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", entered)
    weak(monkeypatch)
    wanted = {"columns": ["pay"], "bins": [16], "ranges": [[0, 1000]], "epsilon": "0.1"}
    with running(prepared(tmp_path)) as server:
        assert server.ask(COUNT, epsilon="0.1").status == 200
        for path in ("/api/publish/preview", "/api/publish"):
            assert server.post(path, wanted).status == 200
        for path, who in (("/api/releases", "alice"), ("/api/ledger", "olga"), ("/login", None)):
            assert server.get(path, who=who).status == 200
