"""The cells of a grid against numpy's histograms, and how far one person moves them."""

from fractions import Fraction
from itertools import combinations, product

import duckdb
import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import ParameterError, QueryError
from discreet.query.cells import Axis, counted

COLUMNS = {"x": (0, 1000), "y": dp.Bounds(0, 10, grid="0.01")}


def table(rows, unit=None, columns=None):
    return dp.Table(rows, unit=unit or dp.PerRow(), columns=columns or COLUMNS, name="t")


def cells(t, *axes, where=None):
    """The exact cells of a table, as DuckDB counts them."""
    found = counted(t.schema, axes, where)
    engine = t._engine
    (made,) = engine.run(found.request, engine.statement(found.request))
    return {key: n for key, (n,) in made.items() if n}


def rows(seed, n=200):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({
        "x": rng.integers(0, 1001, n), "y": rng.integers(0, 1001, n) / 100,
        "p": rng.integers(0, 40, n),
    })  # fmt: skip
    made.loc[0, "x"], made.loc[1, "y"], made.loc[2, "y"] = 1000, 10.0, np.nan
    return made


@pytest.mark.parametrize("bins", [1, 3, 7, 10, 64, 1000])
def test_one_axis_is_numpys_histogram(bins):
    data = rows(bins)
    found = cells(table(data), Axis("x", 0, 1000, bins))
    at = np.minimum(data.x * bins // 1000, bins - 1)
    assert found == {(int(k),): int(n) for k, n in at.value_counts().items()}
    if bins <= 10:
        assert [found.get((i,), 0) for i in range(bins)] == list(
            np.histogram(data.x, bins, (0, 1000))[0]
        )


def test_two_axes_a_condition_and_what_lies_outside():
    data = rows(5)
    found = cells(table(data), Axis("x", 0, 1000, 4), Axis("y", "2.5", "7.5", 2), where="x < 600")
    kept = data[(data.x < 600) & (data.y >= 2.5) & (data.y <= 7.5)]
    places = zip(kept.x // 250, np.minimum((kept.y - 2.5) // 2.5, 1), strict=True)
    counts = {}
    for place in places:
        key = tuple(int(n) for n in place)
        counts[key] = counts.get(key, 0) + 1
    assert found == counts


def test_an_axis_may_be_an_expression():
    data = rows(6)
    found = cells(table(data), Axis("FLOOR(x / 10)", 0, 100, 10))
    at = np.minimum(data.x // 10 // 10, 9)
    assert found == {(int(k),): int(n) for k, n in at.value_counts().items()}


def test_far_more_cells_than_rows():
    t = table(rows(7), columns={"x": (0, 10**9)})
    assert sum(cells(t, Axis("x", 0, 10**9, 10**9)).values()) == 200


UNITS = [
    dp.PerRow(),
    dp.PerRow(neighbours="replace"),
    dp.PerPerson("p", max_rows=2),
    dp.PerPerson("p", max_rows=1, max_groups=2),
    dp.PerPerson("p", max_rows=1, max_groups=2, bounding="sample"),
    dp.PerPerson("p", max_rows=2, max_groups=1, bounding="clamp"),
    dp.PerPerson("p", max_rows=2, neighbours="replace"),
    dp.PerRow(together=2),
    dp.PerRow(neighbours="replace", together=2),
    dp.PerPerson("p", max_rows=2, together=2),
    dp.PerPerson("p", max_rows=1, max_groups=2, bounding="sample", together=2),
    dp.PerPerson("p", max_rows=2, neighbours="replace", together=2),
]


@pytest.fixture(scope="module")
def counting():
    """The exact cells of many small tables, on one connection."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("t", rows(0))
        engine = DuckDB(connection, exp.to_table("t"))

        def asking(request):
            statement = engine.statement(request)

            def count(data):
                connection.register("t", data)
                (made,) = engine.run(request, statement)
                return {key: n for key, (n,) in made.items() if n}

            return count

        yield asking


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_person_moves_the_cells_by_more_than_is_said(unit, counting):
    """All people (or households) of small tables, removed and replaced by others, on DuckDB."""
    far = 0
    for seed in range(3):
        data = rows(seed, 24).assign(p=lambda d, s=seed: (d.index * 7 + s) % 5)
        people = [[i] for i in data.index] if isinstance(unit, dp.PerRow) else [
            list(data.index[data.p == p]) for p in range(5)
        ]  # fmt: skip
        if unit.together > 1:
            people = [[*one, *other] for one, other in combinations(people[:7], 2)]
        axes = Axis("x", 0, 1000, 4), Axis("y", 0, 10, 3)
        found = counted(table(data, unit).schema, axes)
        count = counting(found.request)
        whole = count(data)
        without = [count(data.drop(index=who)) for who in people]
        pairs = [(whole, one) for one in without]
        if unit.neighbours == "replace":  # two tables that differ in who the last one is
            pairs = list(product(without, without))
        for one, other in pairs:
            moved = sum(abs(one.get(k, 0) - other.get(k, 0)) for k in {*one, *other})
            assert moved <= found.sensitivity
            far = max(far, Fraction(moved, found.sensitivity))
    assert far >= Fraction(1, 2), "the bound is not far from what happens"


@pytest.mark.parametrize(
    ("axis", "problem"),
    [
        (("x", 5, 5, 1), "must rise"),
        (("x", 0, float("nan"), 1), "finite"),
        (("x", 0, float("inf"), 1), "finite"),
        (("x", 0, 10, 0), "at least 1"),
        (("x", 0, 10, 1.5), "bins"),
        (("x", 0, 10, 2**61), "at most"),
        (("", 0, 10, 1), "must be a name"),
    ],
)
def test_axes_that_are_none(axis, problem):
    with pytest.raises(ParameterError, match=problem):
        Axis(*axis)


def test_what_cannot_be_counted():
    schema = table(rows(1)).schema
    with pytest.raises(QueryError, match="at most 10 cells"):
        counted(schema, [Axis("x", 0, 10, 11)])
    with pytest.raises(QueryError):
        counted(schema, [Axis("nothing", 0, 10, 2)])
    with pytest.raises(QueryError):
        counted(schema, [Axis("x", 0, 10, 2)], "x + 1")
    with pytest.raises(ParameterError, match="one to 3"):
        counted(schema, [])
    with pytest.raises(ParameterError, match="2\\^60"):
        counted(schema, [Axis("y", 0, 10**9, 2**30)] * 3)
    unbounded = table(rows(1), dp.PerPerson("p")).schema
    with pytest.raises(QueryError, match="max_rows"):
        counted(unbounded, [Axis("x", 0, 10, 2)])


def test_an_axis_tells_and_reads_itself():
    axis = Axis("x", "0.1", 7, 3)
    assert Axis.from_dict(axis.to_dict()) == axis
    assert axis.place(axis.edge(2)) == 2
    assert (axis.place(-5), axis.place(100)) == (0, 3)
    with pytest.raises(ParameterError, match="of, low, high, bins"):
        Axis.from_dict({"of": "x"})
