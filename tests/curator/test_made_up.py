"""Made-up rows: from the declaration alone, the same again, with everything that was declared."""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from tests.curator.test_metadata import COLUMNS, UNITS, data

from discreet.curator.bind import bound
from discreet.curator.made_up import FOUND, MOST_ROWS, ROWS, made_up, natural
from discreet.engines.check import check_rows
from discreet.engines.duckdb import DuckDB
from discreet.errors import ParameterError, QueryError
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
)


def values(dataset, storage=None):
    return {name: column for name, (_, column) in made_up(dataset, storage).items()}


def test_the_same_declaration_makes_the_same_rows():
    assert made_up(data()) == made_up(replace(data(), source="/elsewhere/x.parquet", version="9"))
    made = values(data())
    assert set(made) == set(COLUMNS) - {"secret"}
    assert {len(column) for column in made.values()} == {ROWS}


def test_values_lie_where_they_were_declared_and_fill_the_range():
    made = values(data())
    for name, said in COLUMNS.items():
        there = [v for v in made.get(name, []) if v is not None]
        if isinstance(said, Bounds):
            numbers = [float(v) for v in there]
            low, high = float(said.low), float(said.high)
            assert all(low <= n <= high for n in numbers)
            if said.high - said.low > 10 * said.grid:
                tenths = Counter(min(int((n - low) / (high - low) * 10), 9) for n in numbers)
                assert all(abs(tenths[i] / len(numbers) - 0.1) < 0.02 for i in range(10))
        if isinstance(said, Keys):
            assert {str(v).lower() for v in said.values} == {v.lower() for v in there}
        if isinstance(said, Dates):
            days = [date.fromisoformat(v) for v in there]
            assert said.low <= min(days) < said.low.replace(year=2001)
            assert said.high.replace(month=1) <= max(days) <= said.high
        if isinstance(said, FindBounds):
            assert FOUND[0] <= min(map(float, there)) < max(map(float, there)) <= FOUND[1]
    assert Counter(made["remote"]).keys() == {"true", "false", None}
    words = Counter(made["job"]).most_common(3)
    assert [word for word, _ in words] == ["word 1", "word 2", "word 3"]


def test_some_values_are_missing():
    for name, column in values(data()).items():
        assert 0.01 < column.count(None) / len(column) < 0.03, name


def test_keys_of_two_columns_meet():
    columns = {"a": Keys(range(6)), "b": Keys(list("uvwxyz")), "c": Keys([True, False])}
    made = values(data(columns=columns, lookups={}))
    for one, other in itertools.combinations(made.values(), 2):
        pairs = Counter((a, b) for a, b in zip(one, other, strict=True) if a and b)
        cells = len(set(one) - {None}) * len(set(other) - {None})
        assert len(pairs) == cells
        assert min(pairs.values()) > ROWS / cells / 2


@pytest.mark.parametrize(("many", "rows"), [(10, ROWS), (3_000, 9_000), (50_000, MOST_ROWS)])
def test_there_are_rows_for_every_key(many, rows):
    dataset = data(columns={"k": Keys(range(many))}, lookups={})
    made = values(replace(dataset, row_limit=10**9))["k"]
    assert len(made) == rows
    assert len(set(made) - {None}) == min(many, rows)


def test_people_have_up_to_as_many_rows_as_count():
    for name, unit in UNITS.items():
        made = values(data(unit))
        if not isinstance(unit, PerPerson):
            assert "person" not in made
            continue
        sizes = Counter(Counter(made["person"]).values())
        most = unit.max_rows if isinstance(unit.max_rows, int) else 4
        assert set(sizes) == set(range(1, min(most, 4) + 1)), name
        if unit.people is not None:
            assert len(set(made["person"])) == unit.people


def test_a_public_number_of_rows_is_kept():
    made = made_up(data(PerRow(neighbours="replace", rows=77)))
    assert {len(column) for _, column in made.values()} == {77}
    limited = replace(data(), row_limit=5)
    assert {len(column) for _, column in made_up(limited).values()} == {5}


def test_a_person_that_is_declared_too_is_one_person_in_all_rows():
    said = {"person": Keys(range(5000)), "x": Boolean()}
    made = values(data(PerPerson("person", max_rows=2), columns=said, lookups={}))
    assert made["person"][:7] == ["0", "1", "1", "2", "3", "3", "4"]


STORED = ("integer", "real", "text", "boolean", "date", "timestamp")
DECLARED = {
    "whole": Bounds(-5, 2000),
    "halves": Bounds("-0.5", "7.5", "0.5"),
    "thirds": Bounds("-1/3", "2/3", "1/3"),
    "far": Bounds(-(10**65), 10**65, 10**55),
    "find": FindBounds(Fraction(1, 10)),
    "numbers": Keys([-3, 0, 1 << 60]),
    "words": Keys(["it's", 'say "x"', "ä", ""]),
    "flags": Keys([True]),
    "days": Keys([date(1000, 1, 1), date(2024, 2, 29)]),
    "dates": Dates("1000-01-01", "9000-12-31"),
    "boolean": Boolean(),
    "text": FreeText(),
}


@pytest.mark.parametrize("said", DECLARED.values(), ids=DECLARED)
def test_every_storage_that_can_be_declared_can_be_made(said):
    """What the check at registration takes, the made-up table holds, with values in it."""
    taken = []
    for storage, person in zip((*STORED, None), (*STORED, "other"), strict=True):
        unit = PerPerson("who is it", max_rows=2)
        dataset = data(unit, columns={'a "b"': said, "no": Hidden()}, lookups={})
        stored = {"who is it": person} | ({} if storage is None else {'a "b"': storage})
        engine = DuckDB.from_text(made_up(dataset, stored))
        assert engine.storage['a "b"'] == (natural(said) if storage is None else storage)
        try:
            schema, _ = bound(engine, unit=unit, columns={'a "b"': said}, name="t")
            check_rows(schema, engine)
        except (ParameterError, QueryError):
            assert storage is not None
            continue
        ((there, people),) = engine._rows('SELECT COUNT("a ""b"""), COUNT("who is it") FROM rows')
        assert (there > 0.97 * ROWS, people) == (True, ROWS)
        engine.close()
        taken.append(storage)
    assert len(set(taken)) >= 2
