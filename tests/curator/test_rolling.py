"""Roll-ups under a session's budget and under a ledger."""

from datetime import UTC, datetime
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from tests.curator.payroll import failing

import discreet as dp
from discreet.curator import rolling as module
from discreet.curator.rolling import rolling
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    BudgetExceededError,
    EngineError,
    ParameterError,
    QueryError,
)
from discreet.noise.source import KeyedSource
from discreet.publish.rollups import rollup
from discreet.query.nested import rollup_plan

SQL = "SELECT region, band, COUNT(*) AS n FROM t GROUP BY ROLLUP (region, band)"


def people(n=600):
    each = range(n)
    return pd.DataFrame({
        "region": ["nsw"[i % 3] for i in each], "band": [i % 4 for i in each],
        "id": [i // 2 for i in each],
    })  # fmt: skip


def table(unit=None):
    columns = {"region": ["n", "s", "w"], "band": (0, 3)}
    return dp.Table(people(), unit=unit or dp.PerRow(), columns=columns, name="t")


def adds_up(release, keys, number="n"):
    """Whether the parts of every group add up to it, and none is negative."""
    rows = {tuple(row[k] for k in keys): row[number] for row in release}
    assert all(isinstance(n, int) and n >= 0 for n in rows.values())
    for group, n in rows.items():
        depth = sum(key is not None for key in group)
        parts = [
            m for other, m in rows.items()
            if other[:depth] == group[:depth]
            and sum(key is not None for key in other) == depth + 1
        ]  # fmt: skip
        assert depth == len(keys) or sum(parts) == n
    return rows


def test_all_levels_from_a_table():
    """Noise of 60 is passed with a chance below 1e-9: the least rate is above 0.5."""
    made = table().publish_rollup(["region", "band"], epsilon=4)
    assert made.columns == ("region", "band", "n")
    assert made.keys == ("region", "band")
    assert len(made) == 1 + 3 + 12
    rows = adds_up(made, ("region", "band"))
    truth = people()
    assert abs(rows[None, None] - 600) < 60
    assert abs(rows["n", None] - sum(truth.region == "n")) < 60
    assert abs(rows["n", 3] - sum((truth.region == "n") & (truth.band == 3))) < 60
    assert made.guarantee == dp.PureDP(4)
    assert dp.Release.from_json(made.to_json()) == made


def test_each_group_stands_before_its_parts():
    made = table().publish_rollup(["region", "band"], epsilon=1)
    each = [(None, None)]
    for region in "nsw":
        each += [(region, None), *((region, band) for band in range(4))]
    assert list(zip(made["region"], made["band"], strict=True)) == each


def test_sql_and_conditions_and_names():
    session = table().session(epsilon=30)
    made = session.ask(SQL.replace("GROUP", "WHERE band < 2 GROUP"), epsilon=10)
    assert len(made) == 1 + 3 + 6
    adds_up(made, ("region", "band"))
    same = session.publish_rollup(["region", "band"], where="band < 2", epsilon=10)
    assert same.sql == made.sql
    halves = session.ask(
        "SELECT COUNT(*) AS people, FLOOR(band / 2) AS half, region FROM t "
        "GROUP BY ROLLUP (half, region)", epsilon=10
    )  # fmt: skip
    assert halves.columns == ("people", "half", "region")
    adds_up(halves, ("half", "region"), "people")
    assert str(session.left) == "epsilon 0"


def test_listed_groups_are_no_product():
    listed = [("n", 0), ("n", 1), ("s", 2)]
    made = table().publish_rollup(["region", "band"], epsilon=1, combinations=listed)
    assert set(zip(made["region"], made["band"], strict=True)) == {
        (None, None), ("n", None), ("s", None), *listed,
    }  # fmt: skip
    adds_up(made, ("region", "band"))
    assert "rows whose region or band is missing, or of no listed group" in str(made.notes)


def test_people_with_many_rows_are_weighted():
    made = table(dp.PerPerson("id", max_rows=2)).publish_rollup(["region", "band"], epsilon=10)
    rows = adds_up(made, ("region", "band"))
    assert abs(rows[None, None] - 600) < 100
    assert "people with more rows" in made.covers


@pytest.mark.parametrize(
    ("unit", "least"),
    [
        (dp.PerRow(), 1),
        (dp.PerRow(neighbours="replace"), 2),
        (dp.PerPerson("id", max_rows=3), 3),
        (dp.PerPerson("id", max_rows=3, neighbours="replace"), 6),
    ],
    ids=str,
)
def test_the_levels_are_told_how_far_a_person_moves_them(unit, least, monkeypatch):
    told = []

    def seen(cells, groups, **how):
        told.append(how)
        return rollup(cells, groups, **how)

    monkeypatch.setattr(module, "rollup", seen)
    t = table(unit)
    made = t.publish_rollup(["region"], epsilon=1)
    scale = rolling(t.schema, t._engine, rollup_plan(t.schema, ["region"]), 1).counted.scale
    assert told[0]["sensitivity"] == least * scale
    assert told[0]["neighbours"] == unit.neighbours == made.guarantee.neighbours
    assert told[0]["epsilon"] == 1


def test_what_is_refused_is_not_charged():
    session = table().session(epsilon=1)
    wrong = [
        (["nothing"], {"epsilon": 1}), (["region"], {"epsilon": 0}), ("region", {"epsilon": 1}),
        (["region"], {"epsilon": "nan"}), ([], {"epsilon": 1}),
        (["region", "region"], {"epsilon": 1}), (["region"], {"epsilon": 1, "where": "band"}),
        (["region", "band"], {"epsilon": 1, "combinations": [("n", 7)]}),
        (["region", "band"], {"epsilon": 1, "combinations": []}),
    ]  # fmt: skip
    for keys, how in wrong:
        with pytest.raises((ParameterError, QueryError)):
            session.publish_rollup(keys, **how)
    for how in ({"rho": 1}, {"epsilon": 1, "delta": "1e-6"}, {}):
        with pytest.raises(QueryError):
            session.ask(SQL, **how)
    with pytest.raises(BudgetExceededError, match="costs epsilon 2"):
        session.publish_rollup(["region"], epsilon=2)
    assert str(session.left) == "epsilon 1"


def test_an_analyst_does_not_see_a_failure(monkeypatch):
    faults = []
    t = table()

    def broken(cells, groups, **how):
        if cells.sum():
            raise RuntimeError("on purpose")
        return rollup(cells, groups, **how)

    session = t.session(epsilon=2, audience="analyst", on_fault=faults.append)
    monkeypatch.setattr(module, "rollup", broken)
    assert len(session.publish_rollup(["region"], epsilon=1)) == 4
    monkeypatch.setattr(DuckDB, "run", failing)
    assert len(session.ask(SQL, epsilon=1)) == 16
    assert [type(fault) for fault in faults] == [RuntimeError, EngineError]
    with pytest.raises(EngineError):
        t.session(epsilon=1).publish_rollup(["region"], epsilon=1)


def test_the_noise_is_the_key_s():
    t = table()
    wanted = rolling(t.schema, t._engine, rollup_plan(t.schema, ["region", "band"]), 1)
    at, cells = datetime.now(UTC), {("n", 1): (50,), ("s", 9): (70,)}
    made = [
        wanted.published([cells], KeyedSource(bytes([i]) * 32), confidence=Fraction(9, 10), at=at)
        for i in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]


def test_only_public_groups_are_counted(monkeypatch):
    """A row of another group than the public ones, were there any, is in no level."""
    seen = []
    monkeypatch.setattr(
        module, "rollup", lambda cells, g, **how: seen.append(cells) or rollup(cells, g, **how)
    )
    t = table()
    wanted = rolling(t.schema, t._engine, rollup_plan(t.schema, ["region", "band"]), 1)
    cells = dict.fromkeys(product("nswx", range(5)), (1,))
    wanted.published(
        [cells], KeyedSource(bytes(32)), confidence=Fraction(1, 2), at=datetime.now(UTC)
    )
    assert np.array_equal(seen[0], np.ones(12))


def test_what_was_found_before_is_part_of_the_promise():
    """The cells are bounded by what was found, which leaks, too."""
    session = table(dp.PerPerson("id", max_rows="find", find_epsilon="0.5")).session(epsilon=6)
    session.ask("SELECT COUNT(*) AS n FROM t", epsilon=1)
    made = session.publish_rollup(["region", "band"], epsilon=1)
    asked = session.ask(SQL, epsilon=1)
    for release in (made, asked):
        assert release.guarantee == dp.PureDP("1.5")
        assert sum(loss.epsilon for loss in release.losses) == Fraction(3, 2)
        assert "row" in release.notes[0]
