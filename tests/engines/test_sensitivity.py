"""How far one person can move the exact integers, by brute force on DuckDB.

For random small tables and every way of bounding: each person is removed, and replaced by somebody
else, and the integers are compared with what `discreet.query.request` allows. Besides, people do
not touch each other: the integers of a table are the sum of the integers of its people alone.
"""

from collections import Counter

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.engines.test_duckdb import table_of
from tests.examples import TORTURE

from discreet.engines.duckdb import DuckDB
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Boolean, Bounds, FreeText, PerPerson, Schema

TYPES = {"p": "integer", "g": "text", "h": "integer", "v": "real", "b": "boolean"}
COLUMNS = {"g": FreeText(), "h": Bounds(0, 3, 1), "v": Bounds(-2, 5, "0.5"), "b": Boolean()}
SCHEMA = Schema("t", PerPerson("p"), COLUMNS, TYPES, {}, 10**6)
G, H, V, B = (e.Column(n, SCHEMA.kind(n)) for n in "ghvb")
WIDTH = V.kind.width
TOTALS = (Total(), Total(V), Total(where=B), Total(V, 1, V.kind.low), Total(V, 1, V.kind.low, B))
RANGES = (1, 1, 1, WIDTH, WIDTH)
"""What one row adds to each of the totals at most."""

WAYS = [
    Bounding("sample", rows=2, groups=2),
    Bounding("sample", rows=1, groups=1),
    Bounding("clamp", rows=2, groups=2),
    Bounding("clamp", rows=1, groups=3),
    Bounding("weight", rows=3, scale=7),
    Bounding("weight", rows=1, scale=100),
]
PEOPLE = [
    Bounding("sample", groups=2),
    Bounding("clamp", rows=2, groups=1),
    Bounding("weight", groups=2, scale=10),
]
KEYS = [(G,), (G, H)]
PARTS = (
    *(Part(keys, TOTALS, way) for keys in KEYS for way in WAYS),
    *(Part(keys, (), way, people=True) for keys in KEYS for way in PEOPLE),
    *(Part((), TOTALS, way) for way in WAYS),
)
REQUEST = Request(SCHEMA, None, PARTS)


class Tables:
    """Many small tables on one connection; the statement is the same for all."""

    def __init__(self, hashing):
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.register("rows", table_of([], TYPES))
        table = exp.Table(this=exp.to_identifier("rows", quoted=True))
        self.engine = DuckDB(self.connection, table, hashing=hashing, key="k")
        self.statement = self.engine.statement(REQUEST)

    def cells(self, rows):
        self.connection.unregister("rows")
        self.connection.register("rows", table_of(rows, TYPES))
        return self.engine.run(REQUEST, self.statement)


def differences(before, after):
    """For each total, by how much each group changed."""
    groups = before.keys() | after.keys()
    width = max((len(v) for v in (*before.values(), *after.values())), default=0)
    empty = (0,) * width
    pairs = {g: (before.get(g, empty), after.get(g, empty)) for g in groups}
    return [{g: a[i] - b[i] for g, (a, b) in pairs.items() if a[i] != b[i]} for i in range(width)]


def allowed(part):
    """Of one person, for each total: how far all groups together, one group, how many groups."""
    bounding, keyed = part.bounding, bool(part.keys)
    ranges = (1,) if part.people else RANGES
    if bounding.way == "weight":
        limit = (bounding.groups if part.people else bounding.rows) * bounding.scale
        return [(limit * r, limit * r, None) for r in ranges]
    rows = 1 if part.people else bounding.rows
    groups = bounding.groups if keyed else 1
    return [(rows * groups * r, rows * r, groups) for r in ranges]


def check(before, after, times):
    for part, one, two in zip(PARTS, before, after, strict=True):
        for moved, (total, each, groups) in zip(differences(one, two), allowed(part), strict=False):
            assert sum(map(abs, moved.values())) <= times * total, part
            assert all(abs(by) <= times * each for by in moved.values()), part
            assert groups is None or len(moved) <= times * groups, part


def added(cells):
    """The integers of several tables together."""
    total = [{} for _ in PARTS]
    for one in cells:
        for i, mapping in enumerate(one):
            for group, values in mapping.items():
                old = total[i].get(group, (0,) * len(values))
                total[i][group] = tuple(a + b for a, b in zip(old, values, strict=True))
    return total


values = st.fixed_dictionaries(
    {
        "g": st.sampled_from(["a", "b", "c", "", None]),
        "h": st.sampled_from([0, 1, 9, None]),
        "v": st.sampled_from([-2.0, 0.25, 5.0, 1e9, float("nan"), float("-inf"), None]),
        "b": st.sampled_from([True, False, None]),
    }
)
tables = st.lists(st.lists(values, max_size=9), min_size=1, max_size=4)


def rows_of(people):
    return [row | {"p": who} for who, theirs in enumerate(people) for row in theirs]


@pytest.mark.parametrize("hashing", ["engine", "portable"])
def test_one_person_moves_the_integers_no_further_than_allowed(hashing):
    engine = Tables(hashing)

    @settings(max_examples=14 if TORTURE else 8)
    @given(tables, st.lists(values, max_size=9))
    def run(people, other):
        whole = engine.cells(rows_of(people))
        for who in range(len(people)):
            fewer = [*people[:who], [], *people[who + 1 :]]
            check(whole, engine.cells(rows_of(fewer)), times=1)
            instead = [*people[:who], other, *people[who + 1 :]]
            check(whole, engine.cells(rows_of(instead)), times=2)

    run()


@pytest.mark.parametrize("hashing", ["engine", "portable"])
def test_people_do_not_touch_each_other(hashing):
    engine = Tables(hashing)

    @settings(max_examples=12 if TORTURE else 6)
    @given(tables)
    def run(people):
        alone = [
            engine.cells([row | {"p": who} for row in theirs]) for who, theirs in enumerate(people)
        ]
        together = engine.cells(rows_of(people))
        for one, two in zip(added(alone), together, strict=True):
            assert not any(differences(one, two))

    run()


@pytest.mark.parametrize("hashing", ["engine", "portable"])
def test_the_bounds_are_reached(hashing):
    """A person with many rows of the greatest value, everywhere: nothing is bounded too much."""
    everywhere = [
        {"p": 1, "g": g, "h": h, "v": 5.0, "b": True}
        for g in "abcd"
        for h in range(4)
        for _ in range(5)
    ]
    engine = Tables(hashing)
    nobody, cells = engine.cells([]), engine.cells(everywhere)
    for part, one, two in zip(PARTS, cells, nobody, strict=True):
        for moved, (total, each, groups) in zip(differences(one, two), allowed(part), strict=True):
            if part.bounding.way == "weight":  # the weights are rounded down
                number = 16 if len(part.keys) == 2 else 4 if part.keys else 1
                r = number if part.people else len(everywhere)
                per_row = total // (part.bounding.groups if part.people else part.bounding.rows)
                limit = part.bounding.groups if part.people else part.bounding.rows
                scale = part.bounding.scale
                share = scale if r <= limit else scale * limit // r
                assert sum(moved.values()) == share * r * (per_row // scale)
            else:
                assert Counter(moved.values()) == {each: groups}
                assert sum(moved.values()) == total
