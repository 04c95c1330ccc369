"""What owners do over the network."""

from tests.server.running import PASSWORD


def test_a_key_is_shown_once_and_ends_when_revoked(server):
    made = server.post("/api/keys", {"person": "bob", "label": "notebook", "days": 5}, who="olga")
    assert made.status == 201, made.body
    server.keys["new"] = made.json["key"]
    assert server.get("/api/me", who="new").json["name"] == "bob"
    listed = server.get("/api/keys", who="olga")
    assert made.json["key"] not in listed.body.decode()
    (found,) = [one for one in listed.json["keys"] if one["label"] == "notebook"]
    assert server.call("DELETE", f"/api/keys/{found['id']}", who="olga").status == 200
    assert server.get("/api/me", who="new").status == 401


def test_somebody_new_may_come_in_and_be_shut_out(server):
    wanted = {"name": "carol", "role": "auditor", "password": PASSWORD}
    assert server.post("/api/people", wanted, who="olga").status == 201
    assert server.service.access.login("carol", PASSWORD) is not None
    assert server.call("POST", "/api/people/carol/disable", who="olga").status == 200
    assert server.service.access.login("carol", PASSWORD) is None
    people = server.get("/api/people", who="olga").json["people"]
    assert {"carol": True}.items() <= {one["name"]: one["disabled"] for one in people}.items()


def test_only_owners_do_it(server):
    for who in ("alice", "audrey"):
        for path in ("/api/people", "/api/keys", "/api/faults"):
            assert server.get(path, who=who).status == 403
        assert server.post("/api/keys", {"person": who}, who=who).status == 403
    assert server.get("/api/policy").status == 403
    assert server.get("/api/policy", who="audrey").status == 200


def test_what_cannot_be_made_is_said(server):
    assert server.post("/api/keys", {"person": "nobody"}, who="olga").status in (404, 422)
    assert server.post("/api/keys", {"person": "bob", "days": 0}, who="olga").status == 422
    unknown = {"datasets": ["payrol"]}  # would see nothing, and nobody would know why
    before = server.get("/api/keys", who="olga").json
    for path, body in (
        ("/api/keys", {"person": "bob"}),
        ("/api/people", {"name": "eve", "role": "analyst"}),
    ):
        refused = server.post(path, {**body, **unknown}, who="olga")
        assert refused.status == 422
        assert "must be names of datasets: payroll" in refused.json["message"]
    assert server.get("/api/keys", who="olga").json == before
    short = {"name": "x", "role": "analyst", "password": "short"}
    answer = server.post("/api/people", short, who="olga")
    assert answer.status == 422
    assert "short" not in answer.json["message"].replace("shorter", "")


def test_a_dataset_is_retired(server):
    assert server.call("POST", "/api/datasets/payroll/retire", who="olga").json == {
        "retired": ["staff"]
    }
    assert server.ask(epsilon="0.1").status == 402
    assert server.call("POST", "/api/datasets/nothing/retire", who="olga").status == 404
    told = server.get("/api/ledger?limit=1000", who="olga").json["entries"]
    assert [(e["who"], e["more"]) for e in told if e.get("what") == "dataset retired"] == [
        ("olga", {"dataset": "payroll"})
    ]
