"""Signing in and out, over a real socket."""

import time

import pytest
from tests.server.page.visiting import FORM, Visitor, text, visitor
from tests.server.running import PASSWORD, running, weak

from discreet.curator.access import passwords


def test_the_cookie_has_every_flag(server):
    answer = Visitor(server).login("alice")
    assert answer.status == 303
    assert answer.headers["location"] == "/datasets"
    name, *flags = answer.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-discreet=")
    assert len(name.partition("=")[2]) == 64
    assert {one.lower() for one in flags} == {"path=/", "secure", "httponly", "samesite=strict"}


def test_every_sign_in_has_a_new_token_and_ends_the_one_before(server):
    alice = visitor(server)
    first = alice.cookie
    assert alice.login("alice").status == 303
    assert alice.cookie != first
    assert alice.get("/datasets").status == 200
    old = Visitor(server, first)
    assert old.get("/datasets").status == 303
    given = Visitor(server, "__Host-discreet=" + "0" * 64)  # a token somebody else chose
    given.login("alice")
    assert "0" * 64 not in given.cookie


def test_a_wrong_name_and_a_wrong_password_look_alike(server):
    wrong = [
        Visitor(server).login(name, password)
        for name, password in (("alice", "not this one"), ("nobody", PASSWORD), ("", ""))
    ]
    assert {answer.status for answer in wrong} == {401}
    bodies = {text(answer).replace('value="alice"', "").replace('value="nobody"', "")
              .replace('value=""', "") for answer in wrong[:2]}  # fmt: skip
    assert len(bodies) == 1
    assert "do not fit" in text(wrong[0])
    assert all("set-cookie" not in answer.headers for answer in wrong)


@pytest.mark.slow
def test_a_wrong_name_takes_as_long_as_a_wrong_password(folder, monkeypatch):
    weak(monkeypatch)
    monkeypatch.setattr(passwords, "MEMORY", 16 * 1024)  # some 20 ms: far more than a request
    with running(folder / "policy.toml") as server:
        took = {"alice": [], "nobody": []}
        for _ in range(5):
            for name, times in took.items():
                began = time.perf_counter()
                assert Visitor(server).login(name, "not this one").status == 401
                times.append(time.perf_counter() - began)
    assert min(took["nobody"]) > min(took["alice"]) / 3
    assert min(took["alice"]) > min(took["nobody"]) / 3


def test_too_many_tries_are_refused_in_words(folder, monkeypatch):
    weak(monkeypatch)
    with running(folder / "policy.toml", login_per_minute=2) as server:
        for _ in range(2):
            assert Visitor(server).login("alice", "wrong password").status == 401
        refused = Visitor(server).login("alice")
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) >= 1
    seconds = refused.headers["retry-after"]
    assert "at most 2 tries to sign in a minute</p>" in text(refused)  # nothing of charges
    assert f"Wait {seconds} seconds, and try again." in text(refused)
    assert "set-cookie" not in refused.headers


def test_tries_are_counted_for_the_name_and_for_the_address(server, monkeypatch):
    taken = []
    monkeypatch.setattr(type(_app(server).state.logins), "take", lambda _, name: taken.append(name))
    Visitor(server).login("alice")
    assert taken == ["address 127.0.0.1", "name alice"]


def _app(server):
    import gc

    from fastapi import FastAPI

    return next(
        one for one in gc.get_objects()
        if isinstance(one, FastAPI) and one.state.service is server.service
    )  # fmt: skip


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ""},
    ],
)
def test_another_site_cannot_sign_anybody_in(server, sent):
    answer = Visitor(server).send("/login", {"name": "alice", "password": PASSWORD}, **sent)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("after", "goes"),
    [
        ("/ask?dataset=payroll", "/ask?dataset=payroll"),
        ("https://elsewhere.example/", "/datasets"),
        ("//elsewhere.example/", "/datasets"),
        ("///elsewhere.example/", "/datasets"),
        ("/\\elsewhere.example", "/datasets"),
        ("/%0d%0aSet-Cookie:x", "/%0d%0aSet-Cookie:x"),
        ("/\r\nSet-Cookie: x=1", "/datasets"),
        ("javascript:alert(1)", "/datasets"),
        ("/login", "/datasets"),
        ("", "/datasets"),
    ],
)
def test_signing_in_stays_on_this_server(server, after, goes):
    answer = Visitor(server).login("alice", next=after)
    assert answer.status == 303
    assert answer.headers["location"] == goes
    assert "x" not in answer.headers


def test_who_is_signed_in_needs_no_form(server):
    alice = visitor(server)
    assert alice.get("/login?next=/ask").headers["location"] == "/ask"
    assert alice.get("/login?next=//elsewhere.example").headers["location"] == "/datasets"


def test_signing_out_ends_the_session_and_wants_the_token(server):
    alice = visitor(server)
    token = alice.csrf()
    for wrong in ({}, {"csrf": ""}, {"csrf": token[:-1] + ("0" if token[-1] != "0" else "1")}):
        assert alice.send("/logout", wrong).status == 403
    assert alice.send("/logout", {"csrf": token}, Origin="https://elsewhere.example").status == 403
    assert alice.get("/datasets").status == 200
    done = alice.send("/logout", {"csrf": token})
    assert (done.status, done.headers["location"]) == (303, "/login")
    flags = done.headers["set-cookie"].lower()
    assert all(flag in flags for flag in ("max-age=0", "path=/", "secure", "httponly"))
    assert alice.get("/datasets").status == 303  # the token is worth nothing, wherever it is kept
    assert Visitor(server).send("/logout", {}).status == 303


def test_forms_are_forms(server):
    for kind in ("application/json", "multipart/form-data", "text/plain"):
        answer = Visitor(server).call(
            "POST", "/login", raw=b"name=alice", headers={"Content-Type": kind}
        )
        assert answer.status == 415
    many = "&".join(f"a{i}=1" for i in range(100)).encode()
    for raw in (many, b"name=%ff\xff"):
        answer = Visitor(server).call("POST", "/login", raw=raw, headers={"Content-Type": FORM})
        assert answer.status == 400


def test_the_api_wants_the_token_of_a_page(server):
    alice = visitor(server)
    question = {"question": "SELECT COUNT(*) AS n FROM payroll", "epsilon": "0.1"}
    assert alice.call("POST", "/api/explain", body=question).status == 403
    token = {"X-CSRF-Token": alice.csrf()}
    assert alice.call("POST", "/api/explain", body=question, headers=token).status == 200
    other = {**token, "Origin": "https://elsewhere.example"}
    assert alice.call("POST", "/api/explain", body=question, headers=other).status == 403
    bob = visitor(server, "bob")
    assert bob.call("POST", "/api/explain", body=question, headers=token).status == 403
