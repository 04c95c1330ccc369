"""A small table about people, and tables made from it, for the tests of sessions."""

import math
from datetime import date

import pyarrow as pa

import discreet as dp
from discreet.engines.base import Engine
from discreet.errors import EngineError

COLUMNS = {
    "salary": dp.Bounds(0, 400_000, grid="0.01"),
    "dept": dp.Keys(["clerk", "nurse", "chef", "empty"]),
    "age": dp.Bounds(0, 120, grid=1),
    "active": dp.Boolean(),
    "hired": dp.Dates("2019-01-01", "2024-12-31"),
    "note": dp.FreeText(),
}
DEPTS = ("clerk", "nurse", "chef")
TARGET = {
    "person_id": 999,
    "salary": float("nan"),
    "dept": "SECRET:7",
    "age": 42,
    "active": None,
    "hired": None,
    "note": "SECRET:7",
}
NASTY = [
    TARGET,
    TARGET | {"salary": math.inf, "age": 0, "dept": "nurse"},
    TARGET | {"salary": -math.inf, "age": 2**31 - 1, "note": ""},
    TARGET | {"salary": -0.0, "age": -(2**31), "note": "é\u202e'; DROP TABLE t; --"},
    TARGET | {"salary": 1e308, "age": None, "note": None},
    TARGET | {"salary": 5e-324, "dept": None},
    TARGET | {"salary": 0.0, "dept": "empty"},
]


def rows(people=300, *, each=1):
    """`each` rows for every person, by formula."""
    found = []
    for i in range(people * each):
        person = i % people
        found.append(
            {
                "person_id": person,
                "salary": 20_000.0 + 137.25 * (i * 7919 % 1000),
                "dept": DEPTS[i % 3],
                "age": 18 + i * 31 % 60,
                "active": i % 4 != 0,
                "hired": date(2019 + i % 6, 1 + i % 12, 1 + i % 28),
                "note": ("common", "usual", "frequent")[i % 3] if person else "one of a kind",
            }
        )
    return found


def frame(listed):
    """Rows as an arrow table, with its types also where there are no rows."""
    types = pa.schema(
        [
            ("person_id", pa.int64()),
            ("salary", pa.float64()),
            ("dept", pa.string()),
            ("age", pa.int32()),
            ("active", pa.bool_()),
            ("hired", pa.date32()),
            ("note", pa.string()),
        ]
    )
    return pa.Table.from_pylist(list(listed), schema=types)


def table(listed=None, *, unit=None, columns=None, **more):
    """A `dp.Table` called t over these rows."""
    source = frame(rows() if listed is None else listed)
    return dp.Table(source, unit=unit or dp.PerRow(), columns=columns or COLUMNS, name="t", **more)


class Failing(Engine):
    """An engine that answers pings and fails when it looks at rows; it counts what it did."""

    dialect = "duckdb"

    def __init__(self, inner, *, when="run"):
        self._inner, self._when = inner, when
        self.hashing, self.key = inner.hashing, inner.key
        self.ran = 0

    @property
    def storage(self):
        return self._inner.storage

    def statement(self, request):
        return self._inner.statement(request)

    def ping(self):
        if self._when == "ping":
            raise EngineError("the database cannot be reached")

    def run(self, request, statement=None, *, progress=False, seconds=None):
        self.ran += 1
        if self._when == "run":
            raise EngineError("row 17 of Alice broke it")
        return self._inner.run(request, statement, progress=progress, seconds=seconds)
