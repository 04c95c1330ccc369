"""Periods added over a real socket: their people, their budget, and the text that comes of them."""

import tomllib

import duckdb
import pytest
from tests.curator.payroll import write_rows
from tests.server.running import COUNT, POLICY, prepared, running, weak

from discreet.curator.ledger.verify import verified

OWN = {
    "name": "2025-q1", "source": "q1.csv", "version": "2025-q1", "people": "own",
    "epsilon": "0.50", "new_people": True,
}  # fmt: skip
SHARED = {"name": "2025-q2", "source": "q2.csv", "version": "2025-q2", "people": "shared"}


@pytest.fixture
def server(tmp_path, monkeypatch):
    weak(monkeypatch)
    for name in ("q1", "q2"):
        write_rows(tmp_path / f"{name}.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with running(prepared(tmp_path), deadlines=(20,), padded=False) as made:
        yield made


def add(server, body, check=False, dataset="payroll"):
    path = f"/api/datasets/{dataset}/blocks" + ("/check" if check else "")
    return server.post(path, body, who="olga")


def blocks(server):
    return tomllib.loads(server.service.path.read_text())["dataset"]["payroll"]["block"]


def test_people_of_their_own_get_a_budget_of_their_own(server):
    before = server.service.path.read_text()
    told = add(server, OWN, check=True)
    assert told.status == 200, told.body
    assert "people of its own with a budget of their own, epsilon 0.5" in " ".join(
        told.json["words"].split()
    )
    assert told.json["new_people"] == ["staff/2025-q1"]
    assert told.json["added"].startswith('[dataset.payroll.block.2025-q1]\nsource = "q1.csv"')
    assert server.service.path.read_text() == before
    made = add(server, OWN)
    assert made.status == 201, made.body
    assert "staff/2025-q1" in " ".join(made.json["changed"])
    assert server.service.path.read_text().startswith(before.rstrip())
    assert server.ask(COUNT, epsilon="0.25", block="2025-q1").status == 200
    left = {one.name: one.left.value() for one in server.service.ledger.accounts.values()}
    assert (left["staff/2025-q1"], left["staff"]) == (0.25, 3)
    assert "staff/2025-q1@alice" in left
    verified(server.service.ledger)


def test_that_people_are_others_is_said_apart(server):
    before = server.service.path.read_text()
    refused = add(server, {**OWN, "new_people": False})
    assert (refused.status, refused.json["error"]) == (409, "conflict")
    assert "staff/2025-q1" in refused.json["message"]
    assert server.service.path.read_text() == before


def test_the_same_people_share_their_budget(server):
    assert add(server, SHARED).status == 201
    assert server.ask(COUNT, epsilon="0.25", block="2025-q2").status == 200
    assert server.service.ledger.accounts["staff"].left.value() == 2.75
    assert blocks(server)["2025-q2"]["people"] == "shared"
    again = add(server, SHARED)
    assert (again.status, "already" in again.json["message"]) == (409, True)


def test_what_is_wrong_with_a_period_is_told_and_changes_nothing(server):
    before = server.service.path.read_text()
    for body, words in (
        ({**SHARED, "people": "some"}, 'must be "own" or "shared"'),
        ({**SHARED, "people": "own", "rho": "1"}, "adds up epsilons"),
        ({**SHARED, "epsilon": "1"}, "leave out"),
        ({**SHARED, "source": "../q2.csv"}, "plain name"),
        ({**SHARED, "source": "gone.csv"}, "is not there"),
        ({**SHARED, "source": "other.csv"}, "dept"),  # its columns are not there
        ({**SHARED, "source": None}, "say source"),
        ({**SHARED, "name": "a/b"}, "a/b"),
        ({**SHARED, "name": 'q"]\n[family.x'}, "family.x"),
        ({**SHARED, "source": "payroll.csv", "people": "own"}, "two budgets"),
    ):
        for check in (True, False):
            answer = add(server, body, check=check)
            assert answer.status == 422, (body, answer.body)
            assert words in answer.json["message"], answer.json
    assert add(server, SHARED, dataset="nothing").status == 404
    assert server.service.path.read_text() == before


def test_a_table_alone_is_one_of_the_same_source(tmp_path, monkeypatch):
    weak(monkeypatch)
    write_rows(tmp_path / "rows.csv")
    with duckdb.connect(str(tmp_path / "all.db")) as made:
        for name in ("first", "second"):
            made.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{tmp_path}/rows.csv')")
    policy = POLICY.replace('source = "payroll.csv"', 'source = "all.db"\ntable = "first"')
    assert policy != POLICY
    with running(prepared(tmp_path, policy), deadlines=(20,), padded=False) as server:
        body = {"name": "later", "table": "second", "version": "2", "people": "shared"}
        assert add(server, body).status == 201
        assert blocks(server)["later"]["source"] == "all.db"
        assert server.ask(COUNT, epsilon="0.1", block="later").status == 200


def test_a_dataset_may_come_with_its_periods(server):
    wanted = {
        "name": "extra", "source": "other.csv", "version": "1", "unit": "row",
        "family": {"name": "others", "epsilon": "1", "neighbours": "add_or_remove"},
        "columns": {"a": "hidden"}, "new_people": True,
        "blocks": {"q1": {"source": "q1.csv", "version": "q1", "people": "own"}},
    }  # fmt: skip
    refused = server.post("/api/datasets/check", wanted, who="olga")
    assert refused.status == 422  # the period has no column a
    wanted["columns"] = {}
    assert server.post("/api/datasets", wanted, who="olga").status == 201
    assert {"others", "others/q1"} <= set(server.service.ledger.accounts)
