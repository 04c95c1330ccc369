"""The pages of those who ask, without a browser."""

import json
import re
from html import unescape

import pytest
from tests.curator.payroll import write_rows
from tests.server.page.visiting import text, visitor
from tests.server.running import COUNT, POLICY, prepared, running, weak

EVIL = "<script>alert(1)</script>"
PAGES = ("/datasets", "/ask", "/releases")


def data(page):
    """What a page hands to its module."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_everybody_begins_somewhere(server):
    for name in ("alice", "olga", "audrey"):
        answer = visitor(server, name).get("/")
        assert answer.status == 303
        assert visitor(server, name).get(answer.headers["location"]).status == 200


def test_datasets_show_columns_and_the_own_budget(server):
    page = text(visitor(server).get("/datasets"))
    assert "payroll" in page
    assert "0 to 1000" in page
    assert "of epsilon 1" in page
    assert "of epsilon 3" not in page  # the people's budget is not theirs to know
    assert str(server.service.path.parent) not in page


def test_an_auditor_asks_nothing(server):
    audrey = visitor(server, "audrey")
    refused = audrey.get("/ask")
    assert refused.status == 403
    assert "for the role owner or analyst" in text(refused)
    assert "/ask" not in text(audrey.get("/datasets"))


def test_the_page_for_asking_knows_columns_keys_and_budget(server):
    page = text(visitor(server).get("/ask?dataset=payroll"))
    told = data(page)
    assert told["columns"][0] == {
        "name": "dept", "kind": "keys", "what": "keys", "keys": ["a", "b", "c"], "of": "str",
        "axis": None,
    }  # fmt: skip
    assert told["columns"][1]["axis"] == {"low": "0", "high": "1000", "bins": 1000}
    assert told["columns"][2]["axis"] is None  # its bounds are to be found
    assert told["mode"] == "sql"
    assert told["epsilon"] == "0.1"
    assert [one["account"] for one in told["budgets"]] == ["staff@alice"]
    assert "GROUP BY dept" in page
    assert set(re.findall(r'<option value="([\d.]+)">', page)) == {"0.1", "0.5"}  # the deadlines


def test_a_page_can_begin_with_publishing(server):
    alice = visitor(server)
    for mode in ("histogram", "map", "rollup"):
        assert data(text(alice.get(f"/ask?publish={mode}")))["mode"] == mode
    assert alice.get("/ask?publish=everything").status == 422


def test_what_was_published_is_among_the_releases(server):
    body = {"columns": ["pay"], "bins": [50], "ranges": [[0, 1000]], "epsilon": "0.05"}
    key = server.post("/api/publish", body).json["id"]
    alice = visitor(server)
    assert 'class="badge">published' in text(alice.get("/releases"))
    page = text(alice.get(f"/releases/{key}"))
    assert data(page)["record"]["release"]["published"]["axes"][0]["of"] == "pay"
    assert "publish=histogram" in page


def test_a_question_can_be_handed_to_the_page_and_stays_text(server):
    page = text(visitor(server).get("/ask?question=%3C/textarea%3E%3Cscript%3Ealert(1)"))
    assert "&lt;/textarea&gt;&lt;script&gt;alert(1)</textarea>" in page


QUARTER = """
[dataset.payroll.block.2025-q1]
source = "q1.csv"
version = "2025-q1"
people = "own"
"""


def test_asking_again_asks_the_same_part(tmp_path, monkeypatch):
    """Another part has other people, and another budget would be charged."""
    weak(monkeypatch)
    write_rows(tmp_path / "q1.csv")
    with running(prepared(tmp_path, POLICY + QUARTER)) as server:
        alice = visitor(server)
        record = server.ask(COUNT, epsilon="0.05", block="2025-q1").json
        body = {"columns": ["pay"], "bins": [5], "ranges": [[0, 1000]], "epsilon": "0.05"}
        published = server.post("/api/publish", {**body, "block": "2025-q1"}).json
        for key, words in ((record["id"], "Ask this again"), (published["id"], "Publish another")):
            page = text(alice.get(f"/releases/{key}"))
            again = unescape(re.search(rf'href="(/ask[^"]+)">{words}', page)[1])
            assert "&block=2025-q1&" in again
            assert '<option value="2025-q1" selected>' in text(alice.get(again))
        whole = server.ask(COUNT, epsilon="0.05").json["id"]
        assert "block=" not in text(alice.get(f"/releases/{whole}"))
        refused = alice.get("/ask?dataset=payroll&block=2025-q9")
        assert (refused.status, "no part" in text(refused)) == (404, True)


def test_what_is_not_for_somebody_is_not_there(server):
    for path in ("/ask?dataset=other", "/releases/nothing", "/ask?dataset=" + "x" * 150):
        answer = visitor(server).get(path)
        assert answer.status == 404
        assert "for you" in text(answer)
    assert visitor(server).get("/releases?before=-1").status == 422


def test_releases_are_listed_for_who_paid(server):
    alice, bob = visitor(server), visitor(server, "bob")
    key = server.ask(COUNT, epsilon="0.05").json["id"]
    page = text(alice.get("/releases"))
    assert f'href="/releases/{key}"' in page
    assert "Asked by" not in page
    assert key not in text(bob.get("/releases"))
    assert bob.get(f"/releases/{key}").status == 404
    assert "Asked by" in text(visitor(server, "audrey").get("/releases"))
    record = data(text(alice.get(f"/releases/{key}")))["record"]
    assert record["id"] == key
    assert record["entry"] == 0
    assert [row[0] for row in record["release"]["rows"]] == ["a", "b", "c"]


def test_pages_of_releases_follow_each_other(server, monkeypatch):
    monkeypatch.setattr("discreet.server.page.analyst._LISTED", 1)
    for epsilon in ("0.01", "0.02"):
        server.ask(COUNT, epsilon=epsilon, who="bob")
    bob = visitor(server, "bob")
    first = text(bob.get("/releases"))
    older = re.search(r'href="(/releases\?before=\d+)"', first)[1]
    assert "epsilon 0.02" in first
    assert "epsilon 0.01" in text(bob.get(older))
    assert 'href="/releases">Newest' in text(bob.get(older))


def test_what_does_not_add_up_can_be_left_out_of_a_roll_up(server):
    asked = "SELECT dept, COUNT(*) AS n, AVG(pay) AS m FROM payroll GROUP BY dept"
    key = server.ask(asked, epsilon="0.05").json["id"]
    path = f"/api/releases/{key}/derive"
    assert "does not add up" in server.post(path, {"by": []}).json["message"]
    made = server.post(path, {"by": [], "columns": ["n"]})
    assert made.status == 200, made.body
    assert [one["name"] for one in made.json["columns"]] == ["n"]


@pytest.mark.parametrize("path", PAGES)
def test_names_of_the_policy_cannot_become_markup(evil, path):
    page = text(visitor(evil).get(path))
    assert EVIL not in page
    assert "&lt;script&gt;alert" in page or path == "/releases"


def test_names_in_a_release_cannot_become_markup(evil):
    key = evil.ask(COUNT, epsilon="0.05").json["id"]
    page = text(visitor(evil).get(f"/releases/{key}"))
    assert EVIL not in page
    rows = data(page)["record"]["release"]["rows"]
    assert EVIL in [row[0] for row in rows]


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    policy = POLICY.replace('keys = ["a", "b", "c"]', f'keys = ["a", "b", "{EVIL}"]')
    policy = policy.replace('version = "2024"', f'version = "2024{EVIL}"')
    policy = policy.replace(
        "[dataset.payroll.columns]", f'[dataset.payroll.columns]\n"{EVIL}" = "boolean"'
    )
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        folder = tmp_path_factory.mktemp("evil")
        write_rows(folder / "payroll.csv")
        head, *rows = (folder / "payroll.csv").read_text().splitlines()
        lines = [f"{head},{EVIL}", *(f"{row},true" for row in rows)]
        (folder / "payroll.csv").write_text("\n".join(lines) + "\n")
        with running(prepared(folder, policy)) as made:
            yield made


def test_data_that_cannot_be_read_are_told_without_the_reason(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    (tmp_path / "payroll.csv").rename(tmp_path / "elsewhere.csv")
    with running(path) as server:
        for page in PAGES[:2]:
            shown = text(visitor(server).get(page))
            assert "these data cannot be read now" in shown
            assert str(tmp_path) not in shown


def test_who_has_no_allowance_is_told_so(tmp_path, monkeypatch):
    weak(monkeypatch)
    with running(prepared(tmp_path), people={"carol": "analyst", "alice": "analyst"}) as server:
        for page in PAGES[:2]:
            assert "There is no dataset for you yet" in text(visitor(server, "carol").get(page))
