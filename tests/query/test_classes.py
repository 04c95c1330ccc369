"""Classes of values: every declared value is in one, with the values that its atoms have there."""

from datetime import date
from itertools import product

import pandas as pd
import pytest

import discreet as dp
from discreet.errors import QueryError
from discreet.query import classes
from discreet.query.classes import Atom, atoms_of, lines
from discreet.query.evaluate import compiled
from discreet.query.keys import keys_of
from discreet.query.sql import expression

COLUMNS = {
    "region": dp.Keys(["n", "s", "w"]), "year": dp.Keys([2020, 2021, 2023]),
    "age": dp.Bounds(0, 40, grid=1), "pay": dp.Bounds(-5_000, 5_000, grid=1),
    "day": dp.Dates("2020-01-30", "2020-12-31"), "flag": dp.Boolean(), "name": dp.FreeText(),
    "full": dp.Bounds(0, 9, grid=1, missing=3),
}  # fmt: skip
ROWS = pd.DataFrame({
    "region": ["n"], "year": [2020], "age": [1], "pay": [0.5], "day": [date(2020, 2, 1)],
    "flag": [True], "name": ["x"], "full": [1],
})  # fmt: skip


@pytest.fixture(name="schema", scope="module")
def _schema():
    return dp.Table(ROWS, unit=dp.PerRow(), columns=COLUMNS, name="t").schema


CONDITIONS = [
    "region = 'n' OR region = 's'", "NOT (region <> 'n')", "region IS NULL", "year > 2020",
    "year % 2 = 1", "age BETWEEN 5 AND 9", "age % 3 = 0", "pay < 0.25", "pay * -3 >= 100",
    "pay IN (1, 2.5, 9000)", "FLOOR(pay / 7) = 3", "COALESCE(pay, 7) > 6", "pay IS NOT NULL",
    "CASE WHEN pay < -20 THEN 1 WHEN pay < 20.5 THEN 2 ELSE 3 END = 2", "GREATEST(pay, 3) <= 9",
    "day >= DATE '2020-03-01'", "MONTH(day) = 2", "DATE_TRUNC('month', day) = DATE '2020-05-01'",
    "flag", "NOT flag", "age > full", "age + year = 2030", "5 > pay", "pay = 1 AND age = 1",
]  # fmt: skip


def domain(name, schema):
    kind = schema.kind(name)
    declared = schema.declaration(name)
    if isinstance(declared, dp.Keys):
        values = list(declared.values)
    elif isinstance(declared, dp.Boolean):
        values = [False, True]
    elif isinstance(declared, dp.Dates):
        values = [date.fromordinal(n) for n in
                  range(declared.low.toordinal(), declared.high.toordinal() + 1)]  # fmt: skip
    else:
        values = list(range(kind.low, kind.high + 1))
    return values + [None] * kind.nullable


def check(atoms, schema):
    """Every row of every axis, by evaluating the engine's keys in plain Python."""
    for line in lines(atoms, schema):
        own = [a for a in atoms if set(a.columns) <= set(line.columns) and a.columns]
        meanings = [compiled(a.value, schema.tables) for a in own]
        keys = [compiled(key, schema.tables) for key in line.keys]
        assert own
        for values in product(*(domain(name, schema) for name in line.columns)):
            row = dict(zip(line.columns, values, strict=True))
            place = line.places[tuple(key(row) for key in keys)]
            for atom, meaning in zip(own, meanings, strict=True):
                told, there = meaning(row), meaning(line.rows[place])
                if atom.among is not None:
                    told, there = (v if v in atom.among else None for v in (told, there))
                assert told == there, (row, atom)
        assert len(line.rows) == len(set(line.places.values()))


@pytest.mark.parametrize("bisected", [False, True])
@pytest.mark.parametrize("text", CONDITIONS)
def test_every_value_is_in_the_class_of_its_own_kind(text, bisected, schema, monkeypatch):
    if bisected and any(word in text for word in ("%", "MONTH", "full", "age + year")):
        pytest.skip("looked at one by one")
    if bisected:
        monkeypatch.setattr(classes, "LISTED", 7)  # pay, age and day have to be bisected
    check(list(atoms_of(expression(text, schema))), schema)


def test_axes_are_few_and_classes_too(schema):
    atoms = [a for text in ("age < 9", "age < 30", "pay < 1", "region = 'n'", "age > full")
             for a in atoms_of(expression(text, schema))]  # fmt: skip
    found = lines(atoms, schema)
    assert [line.columns for line in found] == [("age", "full"), ("pay",), ("region",)]
    assert [len(line.rows) for line in found][1:] == [3, 3]
    assert found[2].keys == (expression("region", schema),)
    check(atoms, schema)


def test_groupings_tell_their_keys_apart_and_no_more(schema, monkeypatch):
    band = expression("FLOOR(pay / 1000) * 1000", schema)
    keys = keys_of(band, schema)
    for limit in (7, classes.LISTED):
        monkeypatch.setattr(classes, "LISTED", limit)
        check([Atom(band, keys)], schema)
        (line,) = lines([Atom(band, keys[:3])], schema)
        assert len(line.rows) == 3 + 1  # the others, and missing ones, are in no group
        check([Atom(band, keys[:3])], schema)


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("limit", [7, 1_100, 20_000])
@pytest.mark.parametrize("text", ["FLOOR(pay / 10)", "FLOOR((pay - 3) / 10)", "day", "-pay"])
def test_many_runs_are_grouped_by_values_or_steps(text, limit, few, schema, monkeypatch):
    """Whatever the engine groups by, classes are the same."""
    if "- 3" in text and limit < 9_000:
        pytest.skip("its runs have no common step: comparisons, tested with few of them")
    monkeypatch.setattr(classes, "_FEW", few)
    monkeypatch.setattr(classes, "LISTED", limit)
    value = expression(text, schema)
    keys = keys_of(value, schema)[:60]
    check([Atom(value, keys)], schema)
    (line,) = lines([Atom(value, keys)], schema)
    assert len(line.rows) == len(keys) + 1


def test_a_planted_fault_would_be_seen(schema, monkeypatch):
    """Ends of runs that are one value off."""
    monkeypatch.setattr(classes, "LISTED", 7)
    plain = classes._crossings
    monkeypatch.setattr(classes, "_crossings", lambda *a, **k: {n + 1 for n in plain(*a, **k)})
    with pytest.raises(AssertionError):
        check(list(atoms_of(expression("pay < 0.25", schema))), schema)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 'x'", "not public"),
        ("pay > age", "combinations"),
        ("pay % 7 = 1", "one by one"),
        ("ABS(pay) < 3", "one by one"),
    ],
)
def test_what_is_not_public_or_too_much_is_refused(text, words, schema, monkeypatch):
    monkeypatch.setattr(classes, "LISTED", 9_000)
    with pytest.raises(QueryError, match=words):
        lines(list(atoms_of(expression(text, schema))), schema)
