"""What a roll-up costs and how far off it is, before it is paid."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.curator.payroll import spent
from tests.curator.test_rolling import SQL, table

import discreet as dp
from discreet.curator.foretold import level_names, rollup_price
from discreet.errors import ParameterError, QueryError
from discreet.noise.source import KeyedSource
from discreet.publish.rollups import nested, rollup
from discreet.query.nested import rollup_plan
from discreet.query.price import Target

LEVELS = ["n in all", "n by region", "n by region, band"]
UNEVEN = [("n", 0), ("n", 1), ("n", 2), ("s", 0), ("w", 3)]


def test_a_line_for_each_level():
    price = table().price(SQL, epsilon=1)
    assert [line.name for line in price] == LEVELS
    assert price.groups == 1 + 3 + 12
    assert price.guarantee.startswith("1-differential privacy")
    assert all(0 < line.error < line.half_width for line in price)
    assert "none of its own" in str(price)


@pytest.mark.parametrize("unit", [dp.PerRow(), dp.PerPerson("id", max_rows=2)])
def test_widths_are_those_of_the_answer(unit):
    """The release's intervals are as wide as was foretold, but where 0 or whole numbers cut them.

    A sum of weighted rows is not whole, so that its ends are moved out by up to 1.
    """
    made, price = table(unit), table(unit).price(SQL, epsilon=4)
    release = made.session(epsilon=4).ask(SQL, epsilon=4)
    for row, (low, high) in zip(release, release.intervals["n"], strict=True):
        depth = sum(row[key] is not None for key in ("region", "band"))
        raw = release.raw["n"][release.rows.index(tuple(row.values()))]
        width = price.lines[depth].half_width
        assert raw - width - 1 <= low <= max(raw - width + 1, row["n"])
        assert min(raw + width - 1, row["n"]) <= high <= raw + width + 1


def test_of_groups_that_differ_the_noisiest_counts():
    """By formula, from a roll-up itself: no group of a level is worse than foretold."""
    schema = table()._questions.schema
    plan = rollup_plan(schema, ["region", "band"], None, UNEVEN)
    price = rollup_price(plan, schema, Target(epsilon=1), Fraction("0.95"))
    made = rollup(
        np.zeros(5, dtype=np.int64), nested(UNEVEN), epsilon=1, source=KeyedSource(bytes(32))
    )
    for line, counts in zip(price.lines[::-1], made.counts(), strict=True):
        worst = counts.standard_error.max()
        assert 0.7 * worst <= line.error <= worst  # E|X|: Laplace 0.707, normal 0.798 of it


def test_expected_errors_are_those_seen():
    """Mean absolute errors of 4,000 roll-ups: within 8 standard errors, passed once in 1e15."""
    price = table().price(SQL, epsilon=1)
    tree, seen = nested([(r, b) for r in "nsw" for b in range(4)]), []
    source = KeyedSource(bytes(range(32)))
    for _ in range(4000):
        made = rollup(np.zeros(12, dtype=np.int64), tree, epsilon=1, source=source)
        seen.append([abs(level[0]) for level in made.raw_levels[::-1]])
    values = np.array(seen)
    error = values.std(axis=0) / np.sqrt(len(values))
    off = np.abs(values.mean(axis=0) - [line.error for line in price])
    assert (off < 8 * error + 0.01 * values.mean(axis=0)).all()  # the discrete law is that near


def test_asking_by_accuracy():
    made = table()
    needed = made.epsilon_for(SQL, within=10)
    assert isinstance(needed, Decimal)
    assert max(line.half_width for line in made.price(SQL, epsilon=needed)) <= 10
    less = needed - Decimal("0.01") * needed
    assert max(line.half_width for line in made.price(SQL, epsilon=less)) > 10
    release = made.session(epsilon=needed).ask(SQL, within=10)
    assert release.guarantee.epsilon == Fraction(needed)
    alone = made.epsilon_for(SQL, within=10, column="n by region, band")
    assert alone < needed
    with pytest.raises(ParameterError, match="n by region"):
        made.epsilon_for(SQL, within=10, column="n")
    with pytest.raises(ParameterError, match="delta"):
        made.epsilon_for(SQL, within=10, delta="1e-6")
    with pytest.raises(ParameterError, match="must be above 0"):
        made.epsilon_for(SQL, within=0)


def test_explained_with_and_without_the_statement():
    made = table(dp.PerPerson("id", max_rows=2))
    text = made.explain(SQL, epsilon=1)
    assert "the number of rows moves by at most 2: " in text
    assert "Answer (16 groups)" in text
    assert "Statement\n" in text
    assert "SELECT" not in made.explain(SQL, epsilon=1, with_statement=False).split("Answer")[1]
    assert "n by region, band" in made.explain(SQL)


@pytest.mark.parametrize("price", [{"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}])
def test_other_prices_are_refused(price):
    with pytest.raises(QueryError, match="with epsilon"):
        table().price(SQL, **price)


def test_a_curator_tells_the_same_and_charges_nothing(curator):
    sql = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)"
    price = curator.price(sql, epsilon="0.5")
    assert [line.name for line in price] == ["n in all", "n by dept"]
    assert curator.cost(sql, epsilon="0.5") == curator.cost(
        "SELECT COUNT(*) FROM payroll", epsilon="0.5"
    )
    assert "n by dept" in curator.explain(sql)
    needed = curator.epsilon_for(sql, within=40)
    assert spent(curator)["staff"] == "epsilon 0"
    record = curator.ask(sql, within=40)
    assert record.release.guarantee.epsilon == Fraction(needed)


def test_level_names():
    schema = table()._questions.schema
    assert level_names(rollup_plan(schema, ["region", "band"])) == LEVELS
