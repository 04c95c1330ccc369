"""Columns, units and lookups: the TOML form means what the Python form means."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.curator.policy.declared import column_of, lookup_of, unit_of
from discreet.errors import ParameterError
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
)

FIRST, LAST = date(2000, 1, 1), date(2024, 12, 31)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ({"low": 0, "high": 400_000}, Bounds(0, 400_000)),
        ({"low": 0, "high": Decimal("0.5"), "grid": Decimal("0.1")}, Bounds(0, "0.5", "0.1")),
        ({"low": "1/3", "high": "2/3", "grid": "1/3"}, Bounds("1/3", "2/3", "1/3")),
        ({"low": 0, "high": 9, "grid": 1, "missing": 0}, Bounds(0, 9, 1, missing=0)),
        ({"keys": ["a", "b"]}, Keys(["a", "b"])),
        ({"keys": [3, 1]}, Keys([3, 1])),
        ({"keys": [True, False]}, Keys([True, False])),
        ({"keys": [FIRST, LAST]}, Keys([FIRST, LAST])),
        ({"from": 2021, "to": 2024}, Keys(range(2021, 2025))),
        ({"from": -1, "to": -1}, Keys([-1])),
        ({"first": FIRST, "last": LAST}, Dates(FIRST, LAST)),
        ({"find": True, "epsilon": Decimal("0.1")}, FindBounds(Fraction(1, 10))),
        ("boolean", Boolean()),
        ("text", FreeText()),
        ("hidden", Hidden()),
    ],
)
def test_columns(value, meant):
    assert column_of(value) == meant


def test_a_million_keys():
    assert column_of({"from": 1, "to": 1_000_000}) == Keys(range(1, 1_000_001))


def test_a_grid_that_is_not_said_depends_on_the_storage():
    assert column_of({"low": 0, "high": 10}).stored_as("integer").grid == 1
    given = column_of({"low": 0, "high": 10, "grid": Decimal("0.5")})
    assert given.stored_as("integer").grid == Fraction(1, 2)


@pytest.mark.parametrize(
    ("value", "neighbours", "meant"),
    [
        ("row", "add_or_remove", PerRow()),
        ("row", "replace", PerRow(neighbours="replace")),
        ("row", None, PerRow()),
        ({"per": "row", "together": 3}, "add_or_remove", PerRow(together=3)),
        ({"per": "row", "rows": 9}, "replace", PerRow(neighbours="replace", rows=9)),
        ({"per": "row", "rows": 9}, None, PerRow(neighbours="replace", rows=9)),
        ({"person": "id"}, "add_or_remove", PerPerson("id")),
        (
            {"person": "id", "neighbours": "replace"},
            "replace",
            PerPerson("id", neighbours="replace"),
        ),
        (
            {"person": "id", "max_rows": 4, "max_groups": 2, "bounding": "sample", "together": 2},
            "add_or_remove",
            PerPerson("id", max_rows=4, max_groups=2, bounding="sample", together=2),
        ),
        (
            {"person": "id", "max_rows": 4, "trusted": True, "people": 99},
            "replace",
            PerPerson("id", max_rows=4, trusted=True, neighbours="replace", people=99),
        ),
        (
            {"person": "id", "max_rows": "find", "find_epsilon": Decimal("0.1")},
            "add_or_remove",
            PerPerson("id", max_rows="find", find_epsilon="0.1"),
        ),
    ],
)
def test_units(value, neighbours, meant):
    assert unit_of(value, neighbours, "staff") == meant


def test_a_lookup():
    value = {
        "key": "year",
        "rows": [{"year": 2023, "era": "old"}, {"era": "new", "year": 2024, "leap": True}],
    }
    meant = PublicTable(
        "year", {2023: {"era": "old", "leap": None}, 2024: {"era": "new", "leap": True}}
    )
    assert lookup_of(value) == meant


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"k": "a"}],
        [{"k": "a", "v": 1}, {"k": "b", "v": "x"}],
        [{"k": Decimal("0.5"), "v": 1}],
        [{"k": ["a"], "v": 1}],
        [{"k": "a", "v": Decimal("0.5")}],
        [{"v": 1}],
    ],
)
def test_lookups_that_are_none(rows):
    with pytest.raises(ParameterError):
        lookup_of({"key": "k", "rows": rows})
