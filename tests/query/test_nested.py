"""Roll-ups as plans: what they ask of the engine, how far a person moves them, what is refused."""

from dataclasses import replace

import pandas as pd
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.query.nested import rolled, rollup_plan
from discreet.query.price import Target, priced
from discreet.query.render import to_sql
from discreet.query.sql import parse

ROWS = pd.DataFrame({
    "region": ["n", "n", "s", "s", None, "x"],
    "age": pd.array([10, 25, 25, None, 30, 30], dtype="Int64"),
    "id": [1, 1, 1, 2, 3, 3], "name": list("aabbcc"),
})  # fmt: skip


def table(unit=None, rows=ROWS):
    columns = {"region": ["n", "s"], "age": (0, 39), "name": dp.FreeText()}
    return dp.Table(rows, unit=unit or dp.PerRow(), columns=columns, name="t")


def cells_of(t, plan):
    wanted = rolled(plan, t.schema)
    (cells,) = t._engine.run(wanted.request, t._engine.statement(wanted.request))
    return {key: value[0] for key, value in cells.items() if value[0]}


def test_sql_and_python_say_the_same():
    t = table()
    sql = "SELECT region, COUNT(*) AS n FROM t WHERE age < 30 GROUP BY ROLLUP (region)"
    assert parse(sql, t.schema) == rollup_plan(t.schema, ["region"], "age < 30")
    decades = rollup_plan(t.schema, ["region", "FLOOR(age / 10) * 10 AS decade"])
    assert parse(to_sql(decades, t.schema), t.schema) == decades
    listed = rollup_plan(t.schema, ["region", "age"], None, [("n", 10), ("s", 25)])
    assert parse(to_sql(listed, t.schema), t.schema) == listed
    assert parse(sql.replace("ROLLUP (region)", "region"), t.schema).rollup is False


def test_rows_without_a_key_are_in_no_group():
    t = table()
    assert cells_of(t, rollup_plan(t.schema, ["region", "age"])) == {
        ("n", 10): 1, ("n", 25): 1, ("s", 25): 1,
    }  # fmt: skip
    assert cells_of(t, rollup_plan(t.schema, ["region"])) == {("n",): 2, ("s",): 2}


def test_rows_without_a_key_do_not_take_the_place_of_others():
    """Person 3 has no region: her rows are gone before people are bounded; person 1 has three."""
    unit = dp.PerPerson("id", max_rows=1)
    t = table(unit)
    scale = rolled(rollup_plan(t.schema, ["region"]), t.schema).scale
    found = cells_of(t, rollup_plan(t.schema, ["region"]))
    assert found == {("n",): 2 * (scale // 3), ("s",): scale // 3 + scale}


@pytest.mark.parametrize(
    ("unit", "least"),
    [
        (dp.PerRow(), 1),
        (dp.PerRow(neighbours="replace"), 2),
        (dp.PerPerson("id", max_rows=3), 3),
        (dp.PerPerson("id", max_rows=2, max_groups=2), 4),
        (dp.PerPerson("id", max_rows=3, neighbours="replace"), 6),
    ],
    ids=str,
)
def test_no_person_moves_the_groups_further_than_is_said(unit, least):
    """Every person (or row, where that is one) is taken away in turn, and every one put in for her.

    The bound is the declared one; with three rows of one person in three groups it is met.
    """
    t = table(unit)
    plan = rollup_plan(t.schema, ["region", "age"])
    wanted = rolled(plan, t.schema)
    assert wanted.sensitivity == least * wanted.scale
    one_row = isinstance(unit, dp.PerRow)
    people = ROWS.index if one_row else ROWS.id
    left = [cells_of(table(unit, ROWS[people != one]), plan) for one in people.unique()]
    whole = cells_of(t, plan)
    pairs = [(whole, one) for one in left]
    if unit.neighbours == "replace":
        pairs += [(one, other) for one in left for other in left]
    moves = [
        sum(abs(a.get(k, 0) - b.get(k, 0)) for k in {*a, *b}) for a, b in pairs
    ]  # fmt: skip
    assert max(moves) <= wanted.sensitivity
    if least in (1, 2, 3):
        assert max(moves) == wanted.sensitivity


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT region, SUM(age) FROM t GROUP BY ROLLUP (region)", "COUNT"),
        ("SELECT region, COUNT(*) / 2 AS h FROM t GROUP BY ROLLUP (region)", "COUNT"),
        ("SELECT region, COUNT(age) FROM t GROUP BY ROLLUP (region)", "COUNT"),
        ("SELECT region, COUNT(*) FROM t GROUP BY ROLLUP (region) ORDER BY 2", "ORDER BY"),
        ("SELECT region, COUNT(*) AS n FROM t GROUP BY ROLLUP (region) HAVING n > 3", "HAVING"),
        ("SELECT region, COUNT(*) FROM t GROUP BY ROLLUP (region) LIMIT 3", "LIMIT"),
        ("SELECT name, COUNT(*) FROM t GROUP BY ROLLUP (name)", "not public"),
        ("SELECT region FROM t GROUP BY ROLLUP (region)", "COUNT"),
    ],
)
def test_what_is_no_rollup_is_refused(sql, why):
    t = table()
    with pytest.raises(QueryError, match=why):
        rolled(parse(sql, t.schema), t.schema)


@pytest.mark.parametrize(
    "by", ["age, ROLLUP (region)", "ROLLUP ((region, age))", "ROLLUP (region), ROLLUP (age)",
           "CUBE (region)", "ROLLUP (region, region)"],
)  # fmt: skip
def test_other_groupings_are_refused(by):
    with pytest.raises(QueryError):
        parse(f"SELECT region, COUNT(*) FROM t GROUP BY {by}", table().schema)


def test_keys_are_a_list():
    schema = table().schema
    for keys in ("region", [], ()):
        with pytest.raises(QueryError, match="list"):
            rollup_plan(schema, keys)


def test_other_rows_have_no_level():
    schema = table().schema
    plan = replace(rollup_plan(schema, ["region"]), other=True)
    with pytest.raises(QueryError, match="other"):
        rolled(plan, schema)


def test_a_rollup_has_no_price_by_column():
    """It would be answered like GROUP BY, without its upper levels."""
    schema = table().schema
    with pytest.raises(QueryError, match="as a whole"):
        priced(rollup_plan(schema, ["region"]), schema, Target(epsilon=1))


def test_nothing_is_read_to_plan(monkeypatch):
    monkeypatch.setattr(DuckDB, "run", None)
    schema = table().schema
    assert rolled(rollup_plan(schema, ["region"]), schema).scale == 1
