"""The ledger over the network."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.curator.payroll import failing

from discreet.engines.duckdb import DuckDB
from discreet.errors import LedgerError
from discreet.server.api import ledgers


def test_owners_and_auditors_can_verify_it(server):
    server.ask(epsilon="0.1")
    for who in ("olga", "audrey"):
        told = server.get("/api/ledger/verify", who=who).json
        assert told["good"] is True
        assert told["questions"] == 1
        assert told["head"] == server.get("/api/ledger/head", who=who).json
    assert server.get("/api/ledger/verify").status == 403


def test_one_auditor_verifies_a_few_times_at_once(server, monkeypatch):
    """It reads all of the log: the others wait without a thread."""
    lock, now, seen = threading.Lock(), [], []

    def slow(_ledger):
        with lock:
            now.append(1)
            seen.append(len(now))
        time.sleep(0.1)
        with lock:
            now.pop()
        raise LedgerError("enough")

    monkeypatch.setattr(ledgers, "verified", slow)
    with ThreadPoolExecutor(6) as threads:
        paths = ["/api/ledger/verify"] * 6
        answers = list(threads.map(lambda path: server.get(path, who="audrey"), paths))
    assert {one.status for one in answers} == {200}
    assert max(seen) == server.app.state.turns._each < 6


def test_the_log_is_told_from_an_entry_on(server):
    server.ask(epsilon="0.1")
    entries = server.get("/api/ledger?limit=1000", who="audrey").json["entries"]
    assert [one["entry"] for one in entries] == list(range(1, len(entries) + 1))
    assert {"reserve", "done", "policy", "access"} <= {one["kind"] for one in entries}
    rest = server.get("/api/ledger?after=2&limit=1", who="audrey").json["entries"]
    assert [one["entry"] for one in rest] == [3]


def test_a_changed_ledger_is_told(server):
    from discreet.curator.ledger import tables as t

    with server.service.ledger._database.defining() as connection:
        connection.execute(t.account.update().values(spent=1))
    told = server.get("/api/ledger/verify", who="audrey").json
    assert told["good"] is False
    assert "was changed" in told["message"]


@pytest.mark.parametrize("query", ["after=-1", "limit=0", "limit=100000", "after=x"])
def test_odd_pages_are_refused(standing, query):
    assert standing.get(f"/api/ledger?{query}", who="audrey").status == 422


def test_that_a_question_failed_is_the_owner_s(server, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", failing)
    assert server.ask(epsilon="0.1").status == 200
    path = "/api/ledger?limit=1000"
    (own,) = [e for e in server.get(path, who="olga").json["entries"] if e["kind"] == "done"]
    (seen,) = [e for e in server.get(path, who="audrey").json["entries"] if e["kind"] == "done"]
    assert own.pop("failed") is True
    assert len(own.pop("salt")) == 32, "or the hash would show it"
    assert seen == own


def test_how_large_files_are_is_nothing_that_an_auditor_could_try_out(server):
    path = "/api/ledger?limit=1000"
    (own,) = [e for e in server.get(path, who="olga").json["entries"] if e["kind"] == "data"]
    (seen,) = [e for e in server.get(path, who="audrey").json["entries"] if e["kind"] == "data"]
    assert len(own.pop("salt")) == 32
    assert seen == own
    assert [mark[:2] for mark in seen["marks"]] == [["payroll.csv", "2024"]]
