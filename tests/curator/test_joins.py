"""Stored questions with their joins are the same questions."""

import pytest
from tests.server.page.rich import POLICY

from discreet.curator.joins import Joins, as_joins
from discreet.curator.ledger.listing import Line
from discreet.curator.metadata import declared_schema
from discreet.curator.policy.reading import read_policy
from discreet.curator.search import supposed
from discreet.query.render import to_sql
from discreet.query.sql import parse

MORE = """
[dataset.payroll.lookup.zone]
key = "code"
rows = [{ code = 0, dept = "x", "the rate" = 1 }, { code = 1, dept = "y", "the rate" = 2 }]
[dataset.payroll.block.2025-q1]
"""
JOIN = "FROM payroll\nJOIN region USING (dept)"
ZONED = "JOIN zone ON pay = zone.code"
ZONE = f"FROM payroll\n{ZONED}"
LEFT = "FROM payroll\nLEFT JOIN region USING (dept)"
ASKED = (
    f"SELECT area, COUNT(*) AS n\n{JOIN}\nGROUP BY area",
    f"SELECT area, head, COUNT(*) AS n\n{JOIN}\nGROUP BY area, head",
    f"SELECT COUNT(*) AS n\n{JOIN}",
    f"SELECT COUNT(*) AS n\n{JOIN}\nWHERE area = 'south'",
    f"SELECT area AS place, COUNT(*) AS n\n{JOIN}\nWHERE pay > 1 AND town = 'o''b'\nGROUP BY area",
    f"SELECT area, COUNT(DISTINCT id) AS n\n{JOIN}\nGROUP BY area\nHAVING COUNT(*) > 5\nLIMIT 2",
    f"SELECT area, SUM(bonus) AS b\n{JOIN}\nGROUP BY area",
    f"SELECT area, COUNT(*) AS n\n{LEFT}\nGROUP BY area",
    f"SELECT COUNT(*) AS n\n{LEFT}\nWHERE area IS NULL",
    f'SELECT "the rate", COUNT(*) AS n\n{ZONE}\nGROUP BY "the rate"',
    f"SELECT zone.dept AS z, COUNT(*) AS n\n{ZONE}\nGROUP BY zone.dept",
    f'SELECT area, "the rate", COUNT(*) AS n\n{JOIN}\nLEFT {ZONED}\nGROUP BY 1, 2',
    f"SELECT area, COUNT(*) AS n\n{JOIN}\n{ZONED}\nGROUP BY area",
)
AS_STORED = (
    "SELECT COUNT(*) AS n\nFROM payroll\nWHERE town = 'LOOKUP(''region'', ''area'', dept)'",
    "SELECT COUNT(*) AS n\nFROM payroll",
    "found: bounds of bonus",
    "SELECT LOOKUP('gone', 'area', dept) AS area, COUNT(*) AS n\nFROM payroll\nGROUP BY 1",
    "SELECT LOOKUP('region', 'gone', dept) AS area, COUNT(*) AS n\nFROM payroll\nGROUP BY 1",
)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    path = tmp_path_factory.mktemp("joins") / "policy.toml"
    path.write_text(POLICY.replace("[dataset.payroll.block.2025-q1]", MORE.strip(), 1))
    return read_policy(path).datasets


def stored(question, datasets):
    """The question as a ledger has it."""
    schema = supposed(declared_schema(datasets["payroll"], {}))
    return to_sql(parse(question, schema), schema)


@pytest.mark.parametrize("question", ASKED)
def test_what_was_asked_is_told_and_is_stored_the_same_again(question, datasets):
    canonical = stored(question, datasets)
    assert "LOOKUP(" in canonical
    told = Joins(datasets).told(canonical, "payroll")
    assert "LOOKUP(" not in told
    if "GROUP BY 1" not in question:  # places are told by their names
        assert told == question
    assert stored(told, datasets) == canonical
    assert Joins(datasets).told(canonical, "payroll/2025-q1") == told


@pytest.mark.parametrize("question", AS_STORED)
def test_what_is_no_join_stays(question, datasets):
    assert Joins(datasets).told(question, "payroll") == question


def test_where_the_dataset_is_gone_it_is_told_as_it_is_stored(datasets):
    canonical = stored(ASKED[0], datasets)
    assert Joins({}).told(canonical, "payroll") == canonical
    assert Joins(datasets).told(canonical, "census") == canonical


def test_a_join_that_would_be_another_question_is_not_told(datasets, monkeypatch):
    """Each text is read before it is told: here one that leaves people out is made on purpose."""
    wrong = ["SELECT area, COUNT(*) AS n\nFROM payroll\nJOIN region USING (dept)\nGROUP BY area"]
    monkeypatch.setattr("discreet.curator.joins.as_joins", lambda *_: iter(wrong))
    canonical = stored(ASKED[7], datasets)
    assert Joins(datasets).told(canonical, "payroll") == canonical


def test_a_question_is_read_once_for_a_list(datasets, monkeypatch):
    canonical, joins = stored(ASKED[0], datasets), Joins(datasets)
    line = Line(1, "", "alice", canonical, "payroll", "", "", "answered", "k")
    seen = []
    monkeypatch.setattr(
        "discreet.curator.joins.as_joins", lambda *a: seen.append(a) or as_joins(*a)
    )
    act = Line(2, "", "owner", "staff was retired", "", "", "", "seal", "")
    told = joins.lines([line, line, act])
    assert [one.what for one in told] == [ASKED[0], ASKED[0], act.what]
    assert len(seen) == 1
