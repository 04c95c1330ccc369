"""Workloads under a session's budget and under a ledger."""

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from tests.curator.payroll import failing, spent
from tests.curator.test_rolling import table

import discreet as dp
from discreet.curator import workloads as module
from discreet.curator.workloads import working
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    BudgetExceededError,
    EngineError,
    LedgerError,
    ParameterError,
    QueryError,
)
from discreet.noise.source import KeyedSource
from discreet.publish.workloads import workload

ASKED = [
    "SELECT COUNT(*) FROM t",
    "SELECT region, COUNT(*) AS people FROM t GROUP BY region",
    "band >= 2",
    "(region = 'n') AND band = 0",
]


def test_all_questions_from_a_table():
    """Noise of 60 is passed with a chance below 1e-9: no rate is below 0.5."""
    made = table().publish_workload(ASKED, epsilon=4)
    assert made.columns == ("question", "region", "n")
    assert made.keys == ("question", "region")
    assert made["question"] == [1, 2, 2, 2, 3, 4]
    assert made["region"] == [None, "n", "s", "w", None, None]
    for n, truth in zip(made["n"], [600, 200, 200, 200, 300, 50], strict=True):
        assert abs(n - truth) < 60
    for n, (low, high), raw in zip(made["n"], made.intervals["n"], made.raw["n"], strict=True):
        assert low <= n <= high
        assert low - 0.1 <= raw <= high + 0.1
    assert made.guarantee == dp.PureDP(4)
    assert dp.Release.from_json(made.to_json()) == made
    assert "WHERE band >= 2" in made.sql


def test_answers_do_not_contradict_each_other():
    """All are read from the same cells: the regions add up to everybody, but for rounding.

    Values are moved into their intervals, which the truth leaves once in 10^9 here.
    """
    asked = [*ASKED[:2], "region IS NULL"]
    made = table().publish_workload(asked, epsilon=1, confidence="0.999999999")
    assert made["n"][0] == pytest.approx(sum(made["n"][1:]), abs=0.3)


def test_names_of_counts_and_ways_of_asking_make_no_difference():
    t = table()
    one = working(t.schema, t._engine, ["band >= 2"], 1)
    for other in (
        "SELECT COUNT(*) AS whatever FROM t WHERE band >= 2",
        t.query().where("band >= 2").count(),
    ):
        assert working(t.schema, t._engine, [other], 1).asked == one.asked


def test_it_is_charged_once_before_anything_is_read():
    session = table().session(epsilon=1)
    session.publish_workload(ASKED, epsilon="0.75")
    assert str(session.left) == "epsilon 0.25"
    with pytest.raises(BudgetExceededError, match="publication costs epsilon"):
        session.publish_workload(ASKED, epsilon="0.5")
    for wrong in ("SELECT COUNT(*) FROM t", ["nonsense >"], [], ["id < 3"], [3]):
        with pytest.raises((QueryError, AttributeError, TypeError)):
            session.publish_workload(wrong, epsilon="0.1")
    assert str(session.left) == "epsilon 0.25"


def test_noise_that_does_not_fit_is_refused_before_it_is_charged():
    session = table().session(epsilon=5)
    with pytest.raises(ParameterError, match="does not fit 64 bits"):
        session.publish_workload(ASKED, epsilon="1e-12")
    assert str(session.spent) == "epsilon 0"


def test_people_with_many_rows_are_weighted():
    made = table(dp.PerPerson("id", max_rows=2)).publish_workload(ASKED, epsilon=10)
    assert abs(made["n"][0] - 600) < 100
    assert "people with more rows" in made.covers


def test_names_that_are_taken_are_refused():
    with pytest.raises(QueryError, match="rename"):
        table().publish_workload(["SELECT region AS n, COUNT(*) AS c FROM t GROUP BY n"], epsilon=1)


def test_a_failure_is_an_empty_table_for_an_analyst(monkeypatch):
    t = table()
    told = []
    session = t.session(epsilon=10, audience="analyst", on_fault=told.append)
    monkeypatch.setattr(DuckDB, "run", failing)
    with pytest.raises(EngineError):
        t.session(epsilon=10).publish_workload(ASKED, epsilon=1)
    made = session.publish_workload(ASKED, epsilon=10)
    assert max(made["n"]) < 60
    assert len(told) == 1


def test_the_publication_is_what_the_cells_give():
    """The numbers are those of `publish.workload` on the exact cells with the same noise."""
    t = table()
    wanted = working(t.schema, t._engine, ASKED, 1)
    (cells,) = t._engine.run(wanted.counted.request, wanted.statement)
    made = wanted.published(
        [cells], KeyedSource(b"k" * 32), confidence=Fraction(9, 10), at=datetime.now(UTC)
    )
    same = workload(
        wanted.counted.counts(cells), wanted.wanted, epsilon=1, source=KeyedSource(b"k" * 32)
    )
    answers = same.answers(confidence=Fraction(9, 10))
    assert made["n"] == [round(a.value, 1) for a in answers]
    exact = wanted.wanted.rows @ wanted.counted.counts(cells).reshape(-1)
    assert exact.tolist() == [600, 200, 200, 200, 300, 50]


def test_forgotten_sensitivity_would_be_seen(monkeypatch):
    """With two rows a person the noise has to be twice as wide: measured by its rate."""
    rates = []

    def seen(*args, **how):
        made = workload(*args, **how)
        rates.append(made.noisy.rate * made.strategy.norm)
        return made

    monkeypatch.setattr(module, "workload", seen)
    table().publish_workload(ASKED, epsilon=1)
    table(dp.PerPerson("id", max_rows=2)).publish_workload(ASKED, epsilon=1)
    table(dp.PerRow(neighbours="replace")).publish_workload(ASKED, epsilon=1)
    scale = working(
        table(dp.PerPerson("id", max_rows=2)).schema, table()._engine, ASKED, 1
    ).counted.scale
    assert rates == [1, Fraction(1, 2 * scale), Fraction(1, 2)]


def test_a_workload_is_charged_and_stored(curator):
    asked = ["SELECT dept, COUNT(*) FROM payroll GROUP BY dept", "pay > 3"]
    record = curator.publish_workload(asked, epsilon="0.5", analyst="alice")
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0"}  # fmt: skip
    assert curator.record(record.id) == record
    assert curator.publish_workload(asked, epsilon="0.5", analyst="alice") == record
    other = curator.publish_workload(asked, epsilon="0.5", analyst="bob")
    assert other.release.rows == record.release.rows
    assert spent(curator)["staff"] == "epsilon 0.5"
    with pytest.raises(BudgetExceededError, match="nothing was charged"):
        curator.publish_workload(asked, epsilon="1.5", analyst="alice")
    named = curator.publish_workload(asked, epsilon="0.1", key="may")
    with pytest.raises(LedgerError, match="another question"):
        curator.publish_workload(asked[:1], epsilon="0.1", key="may")
    assert curator.publish_workload(asked, epsilon="0.1", key="may") == named
    assert np.isfinite(record.release.raw["n"]).all()
