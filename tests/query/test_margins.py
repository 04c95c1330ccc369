"""Marginals of a table: counts against plain Python, sensitivity, what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError, QueryError
from discreet.query import margins as module
from discreet.query.margins import margins

ROWS = pd.DataFrame({
    "region": ["n", "n", "s", "s", None, "x", "s", "n"],
    "age": pd.array([10, 25, 25, None, 30, 30, 39, 10], dtype="Int64"),
    "flag": [True, False, None, True, False, True, True, False],
    "id": [1, 1, 1, 2, 3, 3, 4, 5], "name": list("aabbccdd"),
})  # fmt: skip
COLUMNS = ["region", "FLOOR(age / 20) AS half", "flag"]


def table(unit=None, rows=ROWS):
    columns = {
        "region": ["n", "s"], "age": (0, 39), "name": dp.FreeText(), "flag": dp.Boolean(),
        "one": ["x"],
    }  # fmt: skip
    return dp.Table(rows.assign(one="x"), unit=unit or dp.PerRow(), columns=columns, name="t")


def counts_of(t, wanted):
    parts = t._engine.run(wanted.request, t._engine.statement(wanted.request))
    return wanted.counts(parts)


def test_counts_are_those_of_the_rows_with_missing_ones_as_a_key():
    t = table()
    wanted = margins(t.schema, COLUMNS, 2)
    assert wanted.keys == (("n", "s", None), (0, 1, None), (False, True, None))
    assert wanted.tops == wanted.wanted == tuple(combinations(range(3), 2))
    found = counts_of(t, wanted)
    assert found[0, 1].tolist() == [[2, 1, 0], [0, 2, 1], [0, 2, 0]]
    assert found[0, 2].tolist() == [[2, 1, 0], [0, 2, 1], [1, 1, 0]]
    assert found[1, 2].tolist() == [[1, 1, 0], [2, 2, 1], [0, 1, 0]]


def test_only_the_largest_sets_are_asked_and_conditions_hold():
    t = table()
    wanted = margins(t.schema, COLUMNS, [["half"], ["flag", "region"], ["region"]], "age < 30")
    assert wanted.wanted == ((1,), (0, 2), (0,))
    assert wanted.tops == ((1,), (0, 2))
    found = counts_of(t, wanted)
    assert found[1,].tolist() == [2, 2, 0]
    assert found[0, 2].sum() == 4


@pytest.mark.parametrize(
    "unit",
    [
        dp.PerRow(), dp.PerRow(neighbours="replace"), dp.PerPerson("id", max_rows=3),
        dp.PerPerson("id", max_rows=1, max_groups=2),
        dp.PerPerson("id", max_rows=2, max_groups=2, bounding="sample"),
        dp.PerPerson("id", max_rows=3, neighbours="replace"),
    ],
    ids=str,
)  # fmt: skip
def test_no_person_moves_a_marginal_further_than_is_said(unit):
    """Every person (or row, where that is one) is taken away in turn, or replaced by each other."""
    t = table(unit)
    wanted = margins(t.schema, COLUMNS, 2)
    groups = ROWS.index.to_series() if isinstance(unit, dp.PerRow) else ROWS["id"]
    full, without = counts_of(t, wanted), []
    for who in groups.unique():
        less = table(unit, ROWS[groups != who])
        without.append(counts_of(less, margins(less.schema, COLUMNS, 2)))
    if unit.neighbours == "replace":
        pairs = [(a, b) for a in without for b in without]
    else:
        pairs = [(full, b) for b in without]
    farthest = max(int(np.abs(a[one] - b[one]).sum()) for a, b in pairs for one in wanted.tops)
    assert 0 < farthest <= wanted.sensitivity


@pytest.mark.parametrize(
    ("columns", "ways", "words"),
    [
        ("region", 1, "as a list"),
        ([], 1, "as a list"),
        (["region", "name"], 2, "not public"),
        (["region", "region"], 2, "same name"),
        (["region", "COALESCE(one, 'x') AS one"], 2, "one key"),
        (["region", "flag"], 3, "1 to 2"),
        (["region", "flag"], 0, "1 to 2"),
        (["region", "flag"], [], "at least one"),
        (["region", "flag"], ["region"], "different columns"),
        (["region", "flag"], [["region", "region"]], "different columns"),
        (["region", "flag"], [["age"]], "no such column"),
    ],
)
def test_what_makes_no_sense_is_refused(columns, ways, words):
    with pytest.raises(QueryError, match=words):
        margins(table().schema, columns, ways)


def test_too_much_is_refused(monkeypatch):
    schema = table().schema
    with pytest.raises(ParameterError, match="one line"):
        margins(schema, ["region"], 1, "age\n> 3")
    many = [f"CASE WHEN age > {i % 9} THEN 'y' ELSE 'n' END AS c{i}" for i in range(40)]
    with pytest.raises(QueryError, match="137,846,528,820 marginals"):
        margins(schema, many, 20)
    monkeypatch.setattr(module, "MOST_ROWS", 36)
    with pytest.raises(QueryError, match="37 cells"):  # 27, three times 3, everybody
        margins(schema, COLUMNS, 2)
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    with pytest.raises(QueryError, match="27 cells"):
        margins(schema, COLUMNS, 2)
    with pytest.raises(QueryError, match="nothing bounds"):
        margins(table(dp.PerPerson("id")).schema, COLUMNS, 1)
