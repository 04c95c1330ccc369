"""Registering in a session of the page: nothing without its token, nothing from outside."""

import pytest
from tests.server.page.visiting import visitor

DATASET = {
    "name": "extra", "source": "payroll.csv", "family": "staff", "version": "1",
    "unit": {"person": "id", "max_rows": 2}, "columns": {"dept": {"keys": ["a"]}},
}  # fmt: skip
BLOCK = {"source": "payroll.csv", "version": "q1", "people": "shared"}
ROUTES = {
    ("POST", "/api/sources/draft"): {"source": "payroll.csv"},
    ("POST", "/api/datasets/check"): DATASET,
    ("POST", "/api/datasets"): DATASET,
    ("POST", "/api/datasets/payroll/retire"): None,
    ("POST", "/api/datasets/payroll/blocks"): {**BLOCK, "name": "q1"},
    ("POST", "/api/datasets/payroll/blocks/check"): {**BLOCK, "name": "q1"},
    ("POST", "/api/allowances"): {"analyst": "eve", "family": "staff", "epsilon": "1"},
    ("PUT", "/api/policy"): {"text": "x"},
    ("POST", "/api/people"): {"name": "eve", "role": "owner"},
    ("POST", "/api/people/alice/password"): {"password": "chosen elsewhere"},
    ("POST", "/api/people/alice/disable"): None,
    ("POST", "/api/keys"): {"person": "olga"},
    ("DELETE", "/api/keys/0123456789ab"): None,
}


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda one: one)
def test_another_site_s_page_cannot_make_an_owner_do_it(standing, method, path):
    olga, service = visitor(standing, "olga"), standing.service
    token, body = olga.csrf(), ROUTES[method, path]
    before = service.path.read_text(), service.ledger.head
    for headers in (
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": token[::-1]},
        {"X-CSRF-Token": token, "Origin": "https://elsewhere.example"},
        {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"},
    ):
        answer = olga.call(method, path, body=body, headers=headers)
        assert answer.status == 403, headers
    assert (service.path.read_text(), service.ledger.head) == before


def test_with_its_token_a_page_registers(server):
    olga = visitor(server, "olga")
    own = {"X-CSRF-Token": olga.csrf(), "Origin": server.address}
    listed = olga.get("/api/sources").json
    assert listed["sources"] == ["payroll.csv"]
    assert olga.call("POST", "/api/datasets", body=DATASET, headers=own).status == 201
    assert olga.get("/api/datasets/extra").status == 200


def test_a_new_password_ends_sessions(server):
    alice, olga = visitor(server), visitor(server, "olga")
    own = {"X-CSRF-Token": olga.csrf(), "Origin": server.address}
    body = {"password": "a new long password"}
    path = "/api/people/alice/password"
    assert olga.call("POST", path, body=body, headers=own).status == 200
    assert alice.get("/datasets").status == 303
    assert alice.login("alice").status == 401
    assert alice.login("alice", "a new long password").status == 303


def test_what_has_to_be_said_apart_can_be_said_with_a_dataset(server):
    """The same rows under another unit, after something was spent on people."""
    server.ask(epsilon="0.1")
    wanted = {**DATASET, "unit": "row"}
    told = server.post("/api/datasets/check", wanted, who="olga").json["other_unit"]
    assert told == [{"dataset": "extra", "from": "people, named by 'id'", "to": "rows"}]
    refused = server.post("/api/datasets", wanted, who="olga")
    assert (refused.status, refused.json["error"]) == (409, "conflict")
    wrong = server.post("/api/datasets", {**wanted, "other_unit": ["staff"]}, who="olga")
    assert wrong.status == 422
    done = server.post("/api/datasets", {**wanted, "other_unit": ["extra"]}, who="olga")
    assert done.status == 201
    assert "extra: protects rows; before it was people, named by 'id'" in done.json["changed"]
