"""Marginals under a session's budget and under a ledger."""

from datetime import UTC, datetime
from fractions import Fraction

import pandas as pd
import pytest
from tests.curator.payroll import failing, spent

import discreet as dp
from discreet.curator import margining as module
from discreet.curator.margining import margining
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceededError, EngineError, ParameterError, QueryError
from discreet.noise.source import KeyedSource
from discreet.publish.marginals import marginal_counts

COLUMNS = ["region", "band", "COALESCE(sex, 'f') AS sex"]


def people(n=600):
    each = range(n)
    return pd.DataFrame({
        "region": ["nsw"[i % 3] for i in each], "band": [i % 4 for i in each],
        "sex": ["fm"[i % 2] if i % 10 else None for i in each], "id": [i // 2 for i in each],
    })  # fmt: skip


def table(unit=None):
    columns = {"region": ["n", "s", "w"], "band": (0, 3), "sex": ["f", "m"]}
    return dp.Table(people(), unit=unit or dp.PerRow(), columns=columns, name="t")


def numbers(release):
    return {tuple(row[key] for key in release.keys): row["n"] for row in release}


@pytest.mark.parametrize("price", [{"epsilon": 8}, {"rho": 4}], ids=str)
def test_all_marginals_from_a_table(price):
    """Errors of 60 are over ten standard errors: rarer than 1e-9 for either law of the noise."""
    made = table().publish_marginals(COLUMNS, **price)
    assert made.columns == ("marginal", "region", "band", "sex", "n")
    assert len(made) == 1 + (4 + 5 + 2) + (20 + 8 + 10)
    found = numbers(made)
    assert abs(found["everybody", None, None, None] - 600) < 60
    assert abs(found["region", "n", None, None] - 200) < 60
    assert abs(found["sex", None, None, "m"] - 300) < 60
    assert abs(found["region, sex", "s", None, "m"] - 100) < 60
    assert found["region", None, None, None] < 60  # missing
    assert min(made["n"]) >= 0
    assert dp.Release.from_json(made.to_json()) == made
    assert str(made.guarantee).startswith(str(next(iter(price.values()))))
    for n, (low, high) in zip(made["n"], made.intervals["n"], strict=True):
        assert low <= n <= high


def test_marginals_agree_but_for_rounding():
    """Values are moved into their intervals, which the truth leaves once in 10^9 here."""
    made = table().publish_marginals(COLUMNS, epsilon=1, confidence="0.999999999")
    found = numbers(made)
    for region in ("n", "s", "w", None):
        whole = found["region", region, None, None]
        by_sex = sum(found["region, sex", region, None, sex] for sex in "fm")
        by_band = sum(found["region, band", region, band, None] for band in (0, 1, 2, 3, None))
        assert whole == pytest.approx(by_sex, abs=0.2)
        assert whole == pytest.approx(by_band, abs=0.4)


def test_it_is_charged_once_before_anything_is_read():
    session = table().session(epsilon=1)
    session.publish_marginals(COLUMNS, ways=[["region"], ["band", "sex"]], epsilon="0.75")
    assert str(session.left) == "epsilon 0.25"
    with pytest.raises(BudgetExceededError, match="costs epsilon"):
        session.publish_marginals(COLUMNS, epsilon="0.5")
    with pytest.raises(ParameterError, match="not both"):
        session.publish_marginals(COLUMNS, epsilon="0.1", rho="0.1")
    with pytest.raises(ParameterError, match="not both"):
        session.publish_marginals(COLUMNS)
    with pytest.raises(QueryError, match="rename"):
        session.publish_marginals(["region AS n"], ways=1, epsilon="0.1")
    assert str(session.left) == "epsilon 0.25"
    small = table().session(rho="0.1")
    with pytest.raises(BudgetExceededError, match="costs rho"):
        small.publish_marginals(COLUMNS, rho="0.5")


def test_what_cannot_be_measured_is_refused_before_it_is_charged(monkeypatch):
    """More cells or sets than there may be; noise that does not fit 64 bits."""
    session = table().session(epsilon=5)
    many = [f"CASE WHEN band > 1 THEN 'y' ELSE 'n' END AS c{i}" for i in range(13)]
    with pytest.raises(QueryError, match="1,594,323 cells"):
        session.publish_marginals(many, ways=13, epsilon=1)
    with pytest.raises(QueryError, match="list of lists"):
        session.publish_marginals(COLUMNS, ways=1.5, epsilon=1)
    with pytest.raises(ParameterError, match="does not fit"):
        session.publish_marginals(COLUMNS, epsilon="1e-17")
    with pytest.raises(ParameterError, match="does not fit"):
        table().session(rho=1).publish_marginals(COLUMNS, rho="1e-36")
    monkeypatch.setattr("discreet.publish.marginals.MOST_SETS", 6)
    with pytest.raises(ParameterError, match="at most 6"):
        session.publish_marginals(COLUMNS, epsilon=1)
    assert str(session.spent) == "epsilon 0"


def test_names_are_written_so_that_other_marginals_have_other_words():
    """A name is in quotes where it could be read as something else."""
    t = table()
    one = margining(t.schema, t._engine, ["region AS a", 'band AS "b, c"'], [["a"]], epsilon=1)
    assert 'band AS "b, c", COUNT(*)' in one.sql
    two = margining(t.schema, t._engine, ['region AS "x), (y"', "band"], 2, epsilon=1)
    assert two.sql.endswith('GROUPING SETS (("x), (y", band))')


def test_noise_follows_the_unit(monkeypatch):
    """With two rows a person, or a person replaced, the rate is half as large."""
    rates = []

    def seen(*args, **how):
        made = marginal_counts(*args, **how)
        rates.append(made.scales[0, 1])
        return made

    monkeypatch.setattr(module, "marginal_counts", seen)
    units = [dp.PerRow(), dp.PerPerson("id", max_rows=2), dp.PerRow(neighbours="replace")]
    for unit in units:
        table(unit).publish_marginals(COLUMNS, epsilon=1)
    scale = margining(table(units[1]).schema, table()._engine, COLUMNS, 2, epsilon=1).counted.scale
    assert rates[1] * 2 * scale == rates[2] * 2 == rates[0]


def test_the_publication_is_what_the_marginals_give():
    t = table()
    wanted = margining(t.schema, t._engine, COLUMNS, 2, epsilon=1)
    parts = t._engine.run(wanted.counted.request, wanted.statement)
    level, at = Fraction(9, 10), datetime.now(UTC)
    made = wanted.published(parts, KeyedSource(b"k" * 32), confidence=level, at=at)
    counted = wanted.counted
    same = marginal_counts(
        counted.counts(parts), counted.sizes, counted.wanted, epsilon=1,
        source=KeyedSource(b"k" * 32),
    )  # fmt: skip
    raw = [x for b in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)) for x in same.raw(b).flat]
    assert list(made.raw["n"]) == pytest.approx(raw)
    assert "GROUPING SETS ((region, band), (region, sex), (band, sex))" in made.sql


def test_a_failure_is_an_empty_table_for_an_analyst(monkeypatch):
    t = table()
    told = []
    session = t.session(epsilon=100, audience="analyst", on_fault=told.append)
    monkeypatch.setattr(DuckDB, "run", failing)
    with pytest.raises(EngineError):
        t.session(epsilon=10).publish_marginals(COLUMNS, epsilon=1)
    made = session.publish_marginals(COLUMNS, epsilon=50)
    assert max(made["n"]) < 60
    assert len(told) == 1


def test_marginals_are_charged_and_stored(curator):
    record = curator.publish_marginals(["dept"], ways=1, epsilon="0.5", analyst="alice")
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0"}  # fmt: skip
    assert curator.record(record.id) == record
    assert curator.publish_marginals(["dept"], ways=1, epsilon="0.5", analyst="alice") == record
    other = curator.publish_marginals(["dept"], ways=1, epsilon="0.5", analyst="bob")
    assert other.release.rows == record.release.rows
    assert spent(curator)["staff"] == "epsilon 0.5"
