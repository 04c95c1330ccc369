"""Stored questions with their join are the same questions."""

import re
from html import unescape

import pytest
from tests.server.page.rich import written
from tests.server.page.visiting import text, visitor
from tests.server.running import running, weak

from discreet.server.page.joins import as_join
from discreet.server.problems import Problem

JOIN = "FROM payroll\nJOIN region USING (dept)"
ASKED = {
    f"SELECT area, COUNT(*) AS n\n{JOIN}\nGROUP BY area": True,
    f"SELECT area, head, COUNT(*) AS n\n{JOIN}\nGROUP BY area, head": True,
    f"SELECT COUNT(*) AS n\n{JOIN}\nWHERE area = 'south'": True,
    f"SELECT area AS place, COUNT(*) AS n\n{JOIN}\nWHERE pay > 10\nGROUP BY area": True,
    # it keeps people without a region, which a join does not: it stays as it is stored
    "SELECT COUNT(*) AS n\nFROM payroll\nWHERE LOOKUP('region', 'area', dept) IS NULL": False,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(written(tmp_path_factory.mktemp("rich"))) as made:
            yield made


@pytest.mark.parametrize("question", ASKED)
def test_a_release_shows_the_join_and_asks_the_same_again(server, question):
    record = server.ask(question, epsilon="0.01").json
    assert "LOOKUP(" in record["question"]
    page = text(visitor(server).get(f"/releases/{record['id']}"))
    shown = unescape(re.search(r'<pre class="sql">(.*?)</pre>', page, re.DOTALL)[1])
    assert ("JOIN region USING (dept)" in shown) == ASKED[question]
    assert ("LOOKUP(" in shown) != ASKED[question]
    again = server.ask(shown, epsilon="0.01").json
    assert again["question"] == record["question"]
    assert again["release"] == {**record["release"], "asked_at": again["release"]["asked_at"]}


def test_a_release_stays_readable_when_its_dataset_is_gone(server, monkeypatch):
    record = server.ask(next(iter(ASKED)), epsilon="0.01").json

    def gone(*_):
        raise Problem("not_found", "there is no dataset 'payroll' for you")

    monkeypatch.setattr(server.service, "part", gone)
    page = visitor(server).get(f"/releases/{record['id']}")
    assert (page.status, "LOOKUP(" in text(page)) == (200, True)


def test_what_is_no_join_of_one_table_has_none():
    for question in (
        "SELECT COUNT(*) AS n FROM payroll",
        "SELECT LOOKUP('a', 'x', k) AS x, LOOKUP('b', 'y', k) AS y FROM t",
    ):
        assert as_join(question) is None


def test_a_text_that_looks_like_a_lookup_stays_text(server):
    question = "SELECT COUNT(*) AS n FROM payroll WHERE town = 'LOOKUP(''region'', ''area'', dept)'"
    record = server.ask(question, epsilon="0.01").json
    page = text(visitor(server).get(f"/releases/{record['id']}"))
    shown = unescape(re.search(r'<pre class="sql">(.*?)</pre>', page, re.DOTALL)[1])
    assert shown == record["question"]
