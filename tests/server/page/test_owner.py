"""The owner's pages, over a real socket and without a browser."""

import json
import os
import re
from html import unescape

import pytest
from tests.curator.payroll import failing
from tests.server.page import rich
from tests.server.page.visiting import HTML, Visitor, text, visitor
from tests.server.running import COUNT, POLICY, prepared, running, weak

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError
from discreet.server.identity import in_turn
from discreet.server.page import owner

EVIL = "<script>alert(1)</script>"
PAGES = ("/overview", "/register", "/people", "/faults")


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(unescape(found[1]))


@pytest.fixture
def own(folder, monkeypatch):
    """A server of its own, for what changes something."""
    weak(monkeypatch)
    with running(folder / "policy.toml", deadlines=(20,), padded=False) as made:
        yield made


def test_the_whole_history_is_read_in_turn(server):
    """It may take all of the log, for whoever asks for it often."""
    (route,) = [one for one in owner.routes.routes if one.path == "/overview"]
    assert in_turn in [one.dependency for one in route.dependencies]
    assert visitor(server, "olga").get("/overview?history=all").status == 200


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_the_owners(server, path):
    assert visitor(server, "olga").get(path).status == 200
    for name in ("alice", "audrey"):
        answer = visitor(server, name).get(path)
        assert answer.status == 403
        assert "this is for the role owner" in text(answer)
    assert Visitor(server).get(path).headers["location"] == f"/login?next={path}"
    assert server.get(path, who="olga", headers=HTML).status == 303  # a key opens no page


@pytest.mark.parametrize("path", PAGES)
def test_pages_need_no_more_than_their_own_files(server, path):
    answer = visitor(server, "olga").get(path)
    page = text(answer)
    assert not re.findall(r"<script(?![^>]*(?:src=|application/json))", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", page)
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert str(server.service.path.parent) not in page
    for file in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        assert Visitor(server).get(file).status == 200


def test_the_overview_tells_that_files_have_changed(own):
    words = "The files of payroll have changed since they were noted as version 2024"
    assert words not in text(visitor(own, "olga").get("/overview"))
    os.utime(own.service.path.with_name("payroll.csv"), (1, 1))
    page = text(visitor(own, "olga").get("/overview"))
    assert words in page
    assert "No question about them is answered" in page


def test_an_owner_begins_at_the_overview(server):
    answer = Visitor(server).login("olga")
    assert answer.headers["location"] == "/overview"
    places = re.findall(r'<li><a href="(/[a-z]+)"', text(visitor(server, "olga").get("/overview")))
    assert places == [
        "/overview",
        "/datasets",
        "/ask",
        "/releases",
        "/people",
        "/policy",
        "/ledger",
    ]


def test_the_overview_tells_what_was_spent_by_whom(own):
    own.ask(epsilon="0.25")
    own.ask(epsilon="0.25", who="bob")
    own.ask("SELECT COUNT(*) AS n FROM payroll", epsilon="0.5", who="olga")
    page = text(visitor(own, "olga").get("/overview"))
    assert "<strong>2.25</strong> left" in page
    assert "of epsilon 3" in page
    steps = data_of(page)["steps"]
    last = {(one["of"], one["name"]): one["spent"] for one in steps}
    assert last == {
        ("family", "staff"): "0.75", ("asker", "alice"): "0.25", ("asker", "bob"): "0.25",
        ("asker", "owner"): "0.5",
    }  # fmt: skip
    assert page.count('<code class="sql">SELECT') == 3
    assert "stored answer" in page


def test_what_was_asked_cannot_become_markup(tmp_path, monkeypatch):
    weak(monkeypatch)
    policy = POLICY.replace('keys = ["a", "b", "c"]', f'keys = ["a", "b", "{EVIL}"]')
    with running(prepared(tmp_path, policy), deadlines=(20,), padded=False) as server:
        question = f"SELECT COUNT(*) AS n FROM payroll WHERE dept = '{EVIL}'"
        assert server.ask(question, epsilon="0.1").status == 200
        server.service.access.make_key("alice", label=EVIL, by="tests")
        server.service.note(EngineError(EVIL))
        olga = visitor(server, "olga")
        for path in ("/overview", "/people", "/faults", "/ledger", "/policy"):
            page = text(olga.get(path))
            assert "<script>alert" not in page, path
            assert "&lt;script&gt;alert" in page, path


def test_an_empty_policy_begins_with_registering(tmp_path, monkeypatch):
    weak(monkeypatch)
    with running(prepared(tmp_path, '[ledger]\npath = "x.ledger"\n[server]\n')) as server:
        olga = visitor(server, "olga")
        page = text(olga.get("/overview"))
        assert "Nothing can be asked yet" in page
        assert 'href="/register"' in page
        for path in ("/register", "/people", "/policy", "/ledger", "/datasets", "/ask"):
            assert olga.get(path).status == 200, path


def test_registering_says_where_files_are_looked_for(server):
    page = text(visitor(server, "olga").get("/register"))
    assert f"folder <code>{server.service.path.parent.name}</code>" in page
    assert 'data-pick="payroll.csv"' in page
    assert data_of(page) == {
        "families": [{
            "name": "staff", "neighbours": "add_or_remove",
            "datasets": [
                {"name": "payroll", "version": "2024", "blocks": [], "in_database": False},
            ],
        }],
        "ever": ["staff"], "names": ["payroll"],
    }  # fmt: skip


def test_people_are_told_without_secrets(server):
    page = text(visitor(server, "olga").get("/people"))
    for key in server.keys.values():
        assert key.split("_")[1] in page
        assert key.split("_")[2] not in page
    assert "argon2" not in page
    assert 'data-analyst="alice" data-family="staff" data-unit="epsilon" data-total="1"' in page
    assert 'data-person="olga"' in page
    assert "Shut olga out" not in page  # not oneself


def test_a_delta_can_be_given_where_the_people_have_one(server, tmp_path, monkeypatch):
    plain = text(visitor(server, "olga").get("/people"))
    assert '<div class="stack" id="add-delta-field" hidden>' in plain
    assert "allowance-delta-" not in plain
    weak(monkeypatch)
    policy = POLICY.replace("epsilon = 3\n", "epsilon = 3\ndelta = 0.001\n")
    policy = policy.replace("epsilon = 1\n", "epsilon = 1\ndelta = 0.000002\n", 1)
    with running(prepared(tmp_path, policy)) as server:
        olga = visitor(server, "olga")
        page = text(olga.get("/people"))
        assert '<option value="staff" data-unit="epsilon" data-delta="0.001">' in page
        assert 'data-total="1" data-delta="0.000002"' in page
        assert 'data-total="1" data-delta="0"' in page
        assert page.count('id="allowance-delta-') == 2
        assert "0.000002 of delta 0.000002" in page
        assert "with delta 0.001" in text(olga.get("/register"))
        assert "and 0.001 left of delta 0.001" in text(olga.get("/overview"))


def test_periods_with_their_budgets_and_allowances(tmp_path, monkeypatch):
    weak(monkeypatch)
    with running(rich.written(tmp_path), deadlines=(20,), padded=False) as server:
        server.ask(COUNT, epsilon="0.125", block="2025-q1")
        page = text(visitor(server, "olga").get("/overview"))
        assert "<h3>All but the periods below</h3>" in page
        assert "<h3>Period 2025-q1, people of its own</h3>" in page
        rows = re.findall(
            r'<tr><th scope="row">(\w+)</th><td>([^<]*)</td><td class="n">([^<]*)</td>', page
        )
        assert rows == [
            ("alice", "–", "1"), ("alice", "2025-q1", "0.875"),
            ("bob", "–", "1"), ("bob", "2025-q1", "1"),
        ]  # fmt: skip
        assert "version first of 2025, people of its own" in page
        assert "version second of 2025, the same people" in page
        assert page.count('class="stack period"') == 2
        for name in ("alice", "audrey"):
            told = text(visitor(server, name).get("/datasets"))
            assert "first of 2025</td><td>people of its own, with a budget of their own" in told
            assert "second of 2025</td><td>the same people, from the same budget" in told


def test_faults_are_told_to_the_owner_alone(own, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", failing)
    assert own.ask(epsilon="0.1").status == 200
    page = text(visitor(own, "olga").get("/faults"))
    assert "the database failed on purpose" in page
    assert "1 fault noted" in text(visitor(own, "olga").get("/overview"))
    for name in ("alice", "audrey"):
        assert "on purpose" not in text(visitor(own, name).get("/faults"))


def test_the_owner_asks_too_and_sees_the_real_reason(own):
    olga = visitor(own, "olga")
    assert "Ask" in text(olga.get("/ask"))
    (own.service.path.parent / "payroll.csv").rename(own.service.path.parent / "gone.csv")
    own.call("PUT", "/api/policy", {"text": POLICY.replace("2024", "2025")}, who="olga")
    told = text(olga.get("/ask"))
    hidden = text(visitor(own).get("/ask"))
    assert "no such file" in told
    assert "no such file" not in hidden
    assert "these data cannot be read now" in hidden


def test_a_retired_dataset_is_told_and_cannot_be_retired_again(own):
    olga = visitor(own, "olga")
    assert 'data-name="payroll"' in text(olga.get("/overview"))
    token = {"X-CSRF-Token": olga.csrf(), "Origin": own.address}
    assert olga.call("POST", "/api/datasets/payroll/retire", headers=token).status == 200
    page = text(olga.get("/overview"))
    assert "Retired: nothing is answered any more." in page
    assert 'data-name="payroll"' not in page
