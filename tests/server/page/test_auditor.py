"""The ledger and the policy as owners and auditors see them, over a real socket."""

import re
from html import unescape

import pytest
from tests.curator.payroll import failing
from tests.server.page.visiting import Visitor, text, visitor
from tests.server.running import COUNT, POLICY, prepared, running, weak

from discreet.engines.duckdb import DuckDB
from discreet.server import policies
from discreet.server.page import auditor

SECRET = "# once at postgresql://ann:hunter22@db/staff?sslpassword=hunter33\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = prepared(tmp_path_factory.mktemp("payroll"), POLICY + SECRET)
        with running(path, deadlines=(20,), padded=False) as made:
            made.ask(COUNT, epsilon="0.25")
            made.ask("SELECT SUM(pay) AS s FROM payroll", epsilon="0.5", who="bob")
            with pytest.MonkeyPatch.context() as broken:
                broken.setattr(DuckDB, "run", failing)
                made.ask("SELECT AVG(pay) AS m FROM payroll", epsilon="0.125")
            yield made


def rows(page):
    """The entries that a page lists, as plain text."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    plain = [unescape(re.sub(r"<[^>]+>", " ", row)) for row in body.split("</tr>")[:-1]]
    return [" ".join(row.split()) for row in plain]


def test_pages_are_for_owners_and_auditors(server):
    for path in ("/ledger", "/policy"):
        assert visitor(server, "olga").get(path).status == 200
        assert visitor(server, "audrey").get(path).status == 200
        refused = visitor(server, "alice").get(path)
        assert refused.status == 403
        assert "alice" not in text(refused).partition("<main")[2]
        assert Visitor(server).get(path).status == 303


def test_an_auditor_begins_at_the_ledger_and_has_nothing_to_change(server):
    assert Visitor(server).login("audrey").headers["location"] == "/ledger"
    audrey = visitor(server, "audrey")
    page = text(audrey.get("/ledger"))
    places = re.findall(r'<li><a href="(/[a-z]+)"', page)
    assert places == ["/datasets", "/releases", "/policy", "/ledger"]
    for path in ("/ledger", "/policy", "/releases", "/datasets"):
        page = text(audrey.get(path))
        forms = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', page)
        assert forms == ["/logout"], path
        assert not re.search(r"data-act|<textarea|/ask\"", page), path
    for path in ("/ask", "/overview", "/people", "/register", "/faults"):
        assert audrey.get(path).status == 403
    for method, path in (("POST", "/api/ask"), ("GET", "/api/faults"), ("GET", "/api/people")):
        body = {"question": COUNT} if method == "POST" else None
        token = {"X-CSRF-Token": audrey.csrf("/ledger")}
        assert audrey.call(method, path, body=body, headers=token).status == 403


def test_the_policy_is_told_without_passwords(server):
    told, own = (text(visitor(server, name).get("/policy")) for name in ("audrey", "olga"))
    assert "hunter22" in own
    assert "hunter" not in told
    assert "postgresql://ann:...@db/staff" in told
    assert "Family staff" in told
    assert str(server.service.path.parent) not in told


def test_the_ledger_tells_who_paid_what(server):
    page = text(visitor(server, "audrey").get("/ledger?kind=questions"))
    found = rows(page)
    assert len(found) == 3
    assert "SUM(pay)" in found[1]
    assert "bob epsilon 0.5 epsilon 0.5 answered" in found[1]
    assert server.service.ledger.head.hash in page


def test_that_a_question_failed_is_the_owners_to_know(server):
    own, told = (
        rows(text(visitor(server, name).get("/ledger?kind=questions")))
        for name in ("olga", "audrey")
    )
    assert " failed " in own[0]
    assert " answered " in told[0]
    assert not any("failed" in row for row in told)
    releases = text(visitor(server, "audrey").get("/releases"))
    assert "failed" not in releases


def test_filters(server):
    olga = visitor(server, "olga")
    assert len(rows(text(olga.get("/ledger?kind=questions&by=alice")))) == 2
    assert len(rows(text(olga.get("/ledger?by=nobody")))) == 0
    assert len(rows(text(olga.get("/ledger?kind=questions&dataset=payroll")))) == 3
    people = rows(text(olga.get("/ledger?kind=people")))
    assert people
    assert all("access" in row for row in people)
    everything = rows(text(olga.get("/ledger?kind=everything")))
    assert any("the ledger was made" in row for row in everything)
    assert olga.get("/ledger?kind=other").status == 422
    assert olga.get("/ledger?before=-1").status == 422
    evil = text(olga.get("/ledger?by=%3Cscript%3Ealert(1)%3C/script%3E"))
    assert "<script>alert" not in evil


def test_a_new_budget_is_among_the_changes(server):
    """A period more, or another family, gives more to be learned: who looks at changes sees it."""
    changed = POLICY + SECRET + '\n[family.guests]\nepsilon = 1\nneighbours = "add_or_remove"\n'
    policies.change(server.service, changed, new_people=["guests"], by="olga")
    found = rows(text(visitor(server, "audrey").get("/ledger")))
    assert any("guests may spend epsilon 1" in row for row in found)
    assert any("policy changed: version 2 olga" in row for row in found)
    assert not any("login" in row for row in found)


def test_what_an_analyst_wrote_does_not_reorder_the_line(server):
    """On all pages where others read it: the list, the release, and the owner's overview."""
    asked = server.ask('SELECT COUNT(*) AS "=1+1\u202egnp.exe\u2066" FROM payroll', epsilon="0.01")
    assert asked.status == 200
    pages = ["/ledger", "/releases", f"/releases/{asked.json['id']}"]
    for name, paths in (("audrey", pages), ("olga", [*pages, "/overview"])):
        someone = visitor(server, name)
        for path in paths:
            page = text(someone.get(path))
            assert "\\u202egnp.exe\\u2066" in page, path
            assert "\u202e" not in page, path
            assert "\u2066" not in page, path


def test_older_entries_are_a_page_away(server, monkeypatch):
    monkeypatch.setattr(auditor, "_LISTED", 4)
    olga = visitor(server, "olga")
    path, found = "/ledger?kind=everything", []
    for _ in range(30):
        page = text(olga.get(path))
        found += rows(page)
        older = re.search(r'href="(/ledger\?[^"]+)">Older', page)
        if older is None:
            break
        path = unescape(older[1])
    numbers = [int(row.split()[0]) for row in found]
    assert numbers == sorted(set(numbers), reverse=True)
    assert numbers[-1] == 1
    monkeypatch.undo()
    assert {int(row.split()[0]) for row in rows(text(olga.get("/ledger?kind=everything")))} >= set(
        numbers
    )
