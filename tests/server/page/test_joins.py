"""Every list of questions, and the page of a release, tell a join as it was asked."""

import re
from html import unescape

import pytest
from tests.server.page.rich import written
from tests.server.page.visiting import text, visitor
from tests.server.running import running, weak

QUESTION = (
    "SELECT area, COUNT(*) AS n\nFROM payroll\nJOIN region USING (dept)\nWHERE pay > 10\n"
    "GROUP BY area"
)
SHOWN = re.compile(r'<(?:pre|code) class="sql">(.*?)</(?:pre|code)>', re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(written(tmp_path_factory.mktemp("rich"))) as made:
            yield made


@pytest.fixture(scope="module")
def record(server):
    for block in ({}, {"block": "2025-q1"}):
        made = server.ask(QUESTION, epsilon="0.01", **block).json
        assert "LOOKUP(" in made["question"]
    return made


def shown(server, path, name="alice"):
    page = text(visitor(server, name).get(path))
    return [unescape(one) for one in SHOWN.findall(page)]


def test_a_release_shows_the_join_and_asks_the_same_again(server, record):
    (told,) = shown(server, f"/releases/{record['id']}")
    assert told == QUESTION
    again = server.ask(told, epsilon="0.01", block="2025-q1").json
    assert again["question"] == record["question"]  # what is stored does not change
    assert again["release"] == {**record["release"], "asked_at": again["release"]["asked_at"]}


@pytest.mark.parametrize(
    ("path", "name"), [("/releases", "alice"), ("/ledger", "olga"), ("/overview", "olga")]
)
def test_every_list_shows_the_join(server, record, path, name):
    told = shown(server, path, name)
    assert set(told) == {QUESTION}
    assert len(told) >= 2  # of a part, too


@pytest.mark.parametrize("name", ["alice", "olga"])
def test_the_list_of_the_interface_shows_the_join(server, record, name):
    told = [one["sql"] for one in server.get("/api/releases", who=name).json["releases"]]
    assert set(told) == {QUESTION}
    assert len(told) >= 2


def test_reports_and_figures_show_the_join_and_the_record_what_is_stored(server, record):
    place = f"/api/releases/{record['id']}"
    for ending in ("html", "vl.json"):
        page = unescape(server.get(f"{place}.{ending}").body.decode())
        assert "JOIN region USING (dept)" in page
        assert "LOOKUP(" not in page
    assert server.get(place).json["question"] == record["question"]


def test_a_release_stays_readable_when_its_dataset_is_gone(server, record, monkeypatch):
    monkeypatch.setattr(server.service, "datasets", lambda *_: {})
    (told,) = shown(server, f"/releases/{record['id']}")
    assert told == record["question"]
