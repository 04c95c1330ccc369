"""The fast shapes: which people are looked at again, and that nobody is forgotten."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.engines import reference
from tests.engines.contract import settled
from tests.engines.test_duckdb import table_of

from discreet.engines.compile import statement
from discreet.engines.dialects import DIALECTS
from discreet.engines.parts import Base
from discreet.engines.ranked import _heavy
from discreet.engines.reading import cells
from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, FreeText, PerPerson, Schema

TYPES = {"p": "integer", "g": "text", "n": "integer"}
SCHEMA = Schema("t", PerPerson("p"), {"g": FreeText(), "n": Bounds(0, 9, 1)}, TYPES, {}, 10**6)
G, N = (e.Column(name, SCHEMA.kind(name)) for name in "gn")
TABLE = exp.Table(this=exp.to_identifier("rows", quoted=True))


def heavy_people(connection, part, rows):
    base = Base(DIALECTS["duckdb"], SCHEMA, {G: "g", N: "n"}, "engine", "k")
    made = _heavy(base, part, rows)
    base.fill(exp.Select(expressions=[exp.Star()]).from_(TABLE.copy()), inline=True)
    return {row[0] for row in connection.execute(made.sql("duckdb")).fetchall()}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), max_size=150),
    st.integers(1, 6),
)
def test_whoever_has_too_many_rows_in_a_group_is_found(pairs, limit):
    """With more than 64 groups too, where groups share bits."""
    rows = [{"p": p, "g": f"g{g % 7 if p else g}", "n": 1} for p, g in pairs]
    full = {
        row["p"]
        for row in rows
        if sum(r["p"] == row["p"] and r["g"] == row["g"] for r in rows) > limit
    }
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", table_of(rows, TYPES))
        part = Part((G,), (Total(),), Bounding("clamp", rows=limit))
        assert full <= heavy_people(connection, part, limit)


def test_people_without_repeated_groups_are_left_alone():
    rows = [{"p": p, "g": f"g{i}", "n": 1} for p in range(20) for i in range(10)]
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", table_of(rows, TYPES))
        found = heavy_people(connection, Part((G,), (Total(),), Bounding("clamp", rows=5)), 5)
    assert len(found) <= 2  # ten groups that share six bits or fewer are rare


@pytest.mark.parametrize("way", ["sample", "clamp"])
@pytest.mark.parametrize("groups", [None, 1, 3])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_full_groups_are_cut_to_the_limit(way, groups, limit):
    rows = [
        {"p": p, "g": None if g == 4 else f"g{g}", "n": (p * r + g) % 10}
        for p in range(6)
        for g in range(5)
        for r in range(1 + (p + g) % 6)
    ]
    part = Part((G,), (Total(), Total(N, 1, 0)), Bounding(way, limit, groups))
    request = Request(SCHEMA, None, (part,))
    text = statement(request, dialect="duckdb", relation=TABLE, hashing="portable", key="k")
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", table_of(rows, TYPES))
        found = cells(request, connection.execute(text).fetchall())
    assert settled(request, found) == settled(request, reference.answer(rows, request))
