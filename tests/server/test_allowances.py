"""Allowances changed in the policy's text, over a real socket."""

import tomllib
from decimal import Decimal

from tests.server.running import POLICY, prepared, running, weak

from discreet.server.allowances import AllowanceWanted, _with, said

ALICE = {"analyst": "alice", "family": "staff"}


def allow(server, **more):
    return server.post("/api/allowances", {**ALICE, **more}, who="olga")


def text_of(server):
    return server.service.path.read_text()


def test_an_analyst_is_added_and_the_rest_of_the_text_stays(server):
    before = text_of(server)
    made = allow(server, analyst="carol", epsilon="0.25")
    assert made.status == 200
    assert made.json["changed"] == ["staff@carol may spend epsilon 0.25"]
    assert text_of(server).startswith(before.rstrip())
    assert said(text_of(server))["carol"] == {"staff": {"epsilon": 0.25}}


def test_less_is_a_change_and_more_a_decision(server):
    assert allow(server, epsilon="0.5").status == 200
    before = text_of(server)
    refused = allow(server, epsilon="0.75")
    assert (refused.status, refused.json["error"]) == (409, "conflict")
    assert "More budget is a decision of its own" in refused.json["message"]
    assert text_of(server) == before
    assert allow(server, epsilon="0.75", more_budget=True).status == 200
    left = {one["account"]: one["total"]["epsilon"]
            for one in server.get("/api/budget", who="olga").json["accounts"]}  # fmt: skip
    assert left == {"staff": "3", "staff@alice": "0.75", "staff@bob": "1"}


def test_no_more_than_the_family_has_and_no_less_than_was_spent(server):
    more = allow(server, epsilon="4", more_budget=True)
    assert (more.status, "more than the family" in more.json["message"]) == (422, True)
    assert server.ask(epsilon="0.5").status == 200
    less = allow(server, epsilon="0.25")
    assert (less.status, "has spent" in less.json["message"]) == (409, True)


def test_one_decision_is_about_one_account(server):
    """A rise that is allowed for alice does not let bob's slip in from the file."""
    path = server.service.path
    text = path.read_text().replace("[analyst.bob.allowance.staff]\nepsilon = 1",
                                    "[analyst.bob.allowance.staff]\nepsilon = 2")  # fmt: skip
    body = {"text": text, "more_budget": ["staff@alice"]}
    refused = server.call("PUT", "/api/policy", body, who="olga")
    assert (refused.status, "staff@bob" in refused.json["message"]) == (409, True)


def test_wrong_amounts_come_back_in_the_words_of_the_reader(server):
    for wrong in ({}, {"rho": "1"}, {"epsilon": "much"}, {"epsilon": "-1"}, {"delta": "0.1"},
                  {"epsilon": "0.5", "family": "nobody"}, {"epsilon": "1", "analyst": "owner"},
                  {"epsilon": "1", "analyst": 'x"]'}, {"epsilon": "0.5\nrho = 3"}):  # fmt: skip
        assert allow(server, **wrong).status == 422, wrong


def test_a_delta_is_added_and_is_a_decision(tmp_path, monkeypatch):
    weak(monkeypatch)
    policy = POLICY.replace("epsilon = 3\n", "epsilon = 3\ndelta = 0.001\n")
    with running(prepared(tmp_path, policy)) as server:
        refused = allow(server, delta="0.0001")
        assert (refused.status, refused.json["error"]) == (409, "conflict")
        assert allow(server, delta="0.0001", more_budget=True).status == 200
        assert said(text_of(server))["alice"]["staff"] == {"epsilon": 1, "delta": Decimal("0.0001")}
        assert allow(server, delta="0.00005").status == 200  # less is none
        assert said(text_of(server))["alice"]["staff"]["delta"] == Decimal("0.00005")
        more = allow(server, delta="0.002", more_budget=True)
        assert (more.status, "more than the family" in more.json["message"]) == (422, True)
        assert allow(server, analyst="carol", epsilon="0.5", delta="0.00001").status == 200
        account = server.service.ledger.accounts["staff@carol"]
        assert account.to_dict()["total"] == {"epsilon": "0.5", "delta": "0.00001"}


def test_who_may(server):
    for who, status in (("alice", 403), ("audrey", 403), (None, 401)):
        body = {**ALICE, "epsilon": "2", "more_budget": True}
        assert server.call("POST", "/api/allowances", body, who=who).status == status


def test_inline_tables_change_in_place():
    text = "[analyst]\nalice.allowance = { staff = { rho = 1, delta = 1e-9 } } # hers\n"
    made = _with(text, AllowanceWanted(**ALICE, rho="0.5"))
    assert made == text.replace("rho = 1", "rho = 0.5")
    assert tomllib.loads(made, parse_float=Decimal) is not None
