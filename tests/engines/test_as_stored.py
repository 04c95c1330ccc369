"""Whole numbers that stay in the type they are stored in: every type, at every edge, on DuckDB.

The contract's tables have 64 bits; here the narrow types are asked, so that a number of 32 bits
that is computed with before it is a BIGINT overflows and is seen.
"""

from itertools import combinations

import duckdb
import pyarrow as pa
import pytest
from tests.engines import corpus
from tests.engines.contract import check

from discreet.engines.clean import cleaned
from discreet.engines.compile import _not_computed_with
from discreet.engines.dialects import DIALECTS, column
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import WIDEST
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, Keys, PerPerson, PerRow, Schema

DUCKDB = DIALECTS["duckdb"]
NONE = Bounding("none")
LOW, HIGH = -(1 << 31), (1 << 31) - 1
SIGNED = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 100}
UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64}
DECIMALS = {"DECIMAL(4,0)": 4, "DECIMAL(9,0)": 9, "DECIMAL(18,0)": 18}
RANGES = (
    {name: (-(1 << bits), (1 << bits) - 1) for name, bits in SIGNED.items()}
    | {name: (0, (1 << bits) - 1) for name, bits in UNSIGNED.items()}
    | {name: (1 - 10**digits, 10**digits - 1) for name, digits in DECIMALS.items()}
)
EDGES = [0, 5, 127, 255, 1 << 15, HIGH, HIGH + 1, 1 << 32, WIDEST, -5, -129, LOW, LOW - 1, -WIDEST]


def stored(type_, values):
    """A table of one column, and what is in it."""
    low, high = RANGES[type_]
    held = [v for v in sorted(set(values) | {low, low + 1, high - 1, high}) if low <= v <= high]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE s (x {type_})")
    rows = ", ".join(f"({v})" for v in held)
    connection.execute(f"INSERT INTO s VALUES {rows}, (NULL)")
    return connection, held


@pytest.mark.parametrize("type_", RANGES)
def test_sums_and_keys_of_every_type_are_exact_at_every_edge(type_):
    connection, held = stored(type_, [edge + i for edge in EDGES for i in (-1, 0, 1)])
    for low, high in combinations(sorted(EDGES), 2):
        raw = column("x", "s")
        value, key, listed = (
            cleaned("x", declared, "integer", raw, DUCKDB, as_stored=True).sql("duckdb")
            for declared in (
                Bounds(low, high, 1),
                Keys(range(low, low + 3)),
                Keys([low, high]),
            )
        )
        assert "CAST" not in value + key + listed
        ((added, there, wide),) = connection.execute(
            f"SELECT sum({value}), count({value}), typeof(sum({value})) FROM s"
        ).fetchall()
        assert (int(added), there) == (sum(min(max(v, low), high) for v in held), len(held))
        assert wide in ("HUGEINT", "DECIMAL(38,0)")
        for sql, wanted in ((key, range(low, low + 3)), (listed, (low, high))):
            found = connection.execute(f"SELECT {sql} AS k, count(*) FROM s GROUP BY k").fetchall()
            assert {None if k is None else int(k) for k, _ in found} == {
                None,
                *(v for v in held if v in wanted),
            }


@pytest.mark.parametrize("one", RANGES)
def test_keys_of_several_parts_share_one_exact_type(one):
    """In a statement of several parts, keys of different types stand in one column."""
    others = {"b": "HUGEINT", "c": "DECIMAL(18,0)", "d": "UBIGINT"}
    connection = duckdb.connect()
    columns = ", ".join(f"{name} {type_}" for name, type_ in ({"a": one} | others).items())
    connection.execute(f"CREATE TABLE s ({columns})")
    big = (1 << 57) + 1  # no double
    connection.execute(f"INSERT INTO s VALUES (7, {big}, {big}, {big}), (NULL, NULL, NULL, NULL)")
    engine = DuckDB.from_connection(connection, table="s")
    schema = Schema("t", PerRow(), dict.fromkeys("abcd", Keys([7, big])), engine.storage, {}, 10**9)
    nodes = [e.Column(name, schema.kind(name)) for name in "abcd"]
    request = Request(schema, None, tuple(Part((node,), (Total(),), NONE) for node in nodes))
    assert _not_computed_with(request) == set("abcd")
    wanted = [{(n,): (1,), (None,): (1,)} for n in (7, big, big, big)]
    assert engine.run(request) == wanted


VALUES = [LOW, LOW, LOW + 1, -7, 0, None, 3, HIGH - 1, HIGH, HIGH]


def narrow(bounds, *, row_limit=10**9, unit=None):
    """A table of 32 bits with numbers at both ends, and columns that may be asked for."""
    rows = [
        {"p": i % 4, "g": (i % 3) + 1, "n": n, "m": VALUES[-1 - i % 10]}
        for i, n in enumerate(VALUES * 3)
    ]
    table = pa.table({name: pa.array([row[name] for row in rows], pa.int32()) for name in "pgnm"})
    columns = {"g": Keys([1, 2]), "n": bounds, "m": bounds}
    schema = Schema(
        "t", unit or PerPerson("p"), columns, dict.fromkeys("pgnm", "integer"), {}, row_limit
    )
    engine = DuckDB.from_frame(table, hashing="portable", key="k", threads=1)
    return engine, rows, schema, [e.Column(name, schema.kind(name)) for name in "gnm"]


@pytest.mark.parametrize("low", [LOW - 1, LOW, LOW + 1])
@pytest.mark.parametrize("high", [HIGH - 1, HIGH, HIGH + 1])
@pytest.mark.parametrize("missing", [None, "low", "high"])
def test_bounds_at_the_ends_of_32_bits(low, high, missing):
    instead = {None: None, "low": low, "high": high}[missing]
    engine, rows, schema, (g, n, m) = narrow(Bounds(low, high, 1, missing=instead))
    totals = (Total(), Total(n), Total(n, 1, 0), Total(m, 1, 0))
    request = Request(schema, None, (Part((g,), totals, NONE), Part((), totals, NONE)))
    assert _not_computed_with(request) == {"g", "n", "m"}
    check(engine, rows, request)


EDGE = Bounds(LOW, HIGH, 1)


def computed(g, n, m):
    """Everything that takes a number of 32 bits beyond 32 bits, beside the plain sum of it."""
    c = t.constant
    sums = {
        "square": Total(n, 2, 0),
        "centred above": Total(n, 1, HIGH),
        "centred below": Total(n, 1, LOW),
        "centred square": Total(n, 2, -9),
        "sum": Total(t.add(n, m), 1, 0),
        "difference": Total(t.add(n, m, minus=True), 1, 0),
        "negative": Total(t.negate(n), 1, 0),
        "absolute": Total(t.absolute(n), 1, 0),
        "product": Total(t.multiply(t.floor(t.divide(n, c(4))), t.floor(t.divide(m, c(4)))), 1, 0),
        "scaled": Total(t.multiply(n, c(1000)), 1, 0),
        "next": Total(where=t.compare(">", t.add(n, c(1)), m)),
        "keyed": Total(t.multiply(g, n), 1, 0),
    }
    parts = {name: (Part((g,), (Total(n, 1, 0), total), NONE),) for name, total in sums.items()}
    for i, way in enumerate(corpus.WAYS):
        total = Total(n, 1, n.kind.low)
        parts[f"way {i}"] = (Part((g,), (total,), way), Part((g,), (Total(n, 1, 0),), NONE))
    parts["weighted product"] = (Part((g,), (Total(n, 1, 0),), Bounding("weight", 2, scale=1000)),)
    parts["key of a sum"] = (Part((t.add(n, m),), (Total(n, 1, 0),), NONE),)
    return parts


@pytest.mark.parametrize("name", computed(*narrow(EDGE)[3]))
def test_what_is_computed_with_has_64_bits(name):
    engine, rows, schema, nodes = narrow(EDGE)
    check(engine, rows, Request(schema, None, computed(*nodes)[name]))


def test_a_condition_computes_in_64_bits():
    engine, rows, schema, (g, n, m) = narrow(EDGE)
    where = t.compare("<", t.add(n, m, minus=True), t.constant(2 * HIGH))
    totals = (Total(n, 1, 0), Total(m, 1, 0))
    check(engine, rows, Request(schema, where, (Part((g,), totals, NONE),)))


@pytest.mark.parametrize("grid", ["1/3", "0.01", 7])
def test_another_grid_is_arithmetic(grid):
    ends = (-2_205_000_000, 2_205_000_000)  # beyond all values, multiples of all three
    engine, rows, schema, (g, n, _) = narrow(Bounds(*ends, grid, missing=0))
    check(engine, rows, Request(schema, None, (Part((g,), (Total(n, 1, 0),), NONE),)))


def test_sums_beyond_64_bits():
    """The row limit allows more than 2^63; and the sums of 64-bit columns go there."""
    engine, rows, schema, (g, n, _) = narrow(EDGE, row_limit=1 << 40)
    check(engine, rows, Request(schema, None, (Part((g,), (Total(n, 1, 0),), NONE),)))
    edge = (1 << 63) - 1
    rows = [{"n": n} for n in [edge, None, -5, edge] * 9]
    table = pa.table({"n": pa.array([row["n"] for row in rows], pa.int64())})
    schema = Schema("t", PerRow(), {"n": Bounds(-5, WIDEST, 1)}, {"n": "integer"}, {}, 10**12)
    node = e.Column("n", schema.kind("n"))
    request = Request(schema, None, (Part((), (Total(node, 1, 0),), NONE),))
    engine = DuckDB.from_frame(table, threads=1)
    assert engine.run(request) == [{(): (18 * WIDEST - 45,)}]
    check(engine, rows, request)
    with pytest.raises(QueryError, match=r"10\^37"):
        engine.statement(
            Request(
                Schema("t", PerRow(), schema.columns, schema.storage, {}, 10**19),
                None,
                request.parts,
            )
        )


@pytest.mark.parametrize(
    ("low", "high", "type_"),
    [
        (0, 100_000, "INTEGER"),
        (LOW + 1, HIGH, "INTEGER"),
        (0, HIGH + 1, "BIGINT"),
        (LOW - 1, 0, "BIGINT"),
    ],
)
def test_32_bits_stay_32_bits_where_the_bounds_fit(low, high, type_):
    """That is what makes sums faster; the sums are wide all the same."""
    connection, _ = stored("INTEGER", [0])
    value = cleaned("x", Bounds(low, high, 1), "integer", column("x", "s"), DUCKDB, as_stored=True)
    found = connection.execute(f"SELECT DISTINCT typeof({value.sql('duckdb')}) FROM s").fetchall()
    assert found == [(type_,)]


# keys from one to another, as a condition on rows


def ranged(type_, *, unit=None, k=range(3, 7)):
    """A table with keys beyond the declared ones, with missing ones, and at the type's ends."""
    low, high = RANGES[type_]
    keys = [None, low, high, *range(max(low, -2), 9)]
    rows = [
        {"p": i % 5, "k": keys[i % len(keys)], "b": i % 3, "x": i % 23 - 11} for i in range(120)
    ]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE s (p INT, k {type_}, b INT, x TINYINT)")
    for row in rows:
        connection.execute("INSERT INTO s VALUES (?, ?, ?, ?)", list(row.values()))
    columns = {"k": Keys(k), "b": Keys([0, 2]), "x": Bounds(-5, 5, 1)}
    engine = DuckDB.from_connection(connection, table="s", hashing="portable", key="k")
    schema = Schema("t", unit or PerRow(), columns, engine.storage, {}, 10**9)
    return engine, rows, schema, [e.Column(name, schema.kind(name)) for name in "kbx"]


COUNT = (Total(),)


def of(*keys, way=NONE, listed=True, totals=COUNT, people=False):
    return Part(keys, () if people else totals, way, people=people, listed=listed)


@pytest.mark.parametrize("type_", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "USMALLINT"])
def test_rows_without_a_key_are_left_out_by_a_condition(type_):
    engine, rows, schema, (k, b, x) = ranged(type_)
    sums = (Total(), Total(x), Total(x, 1, 0))
    for parts in (
        (of(k, totals=sums),),
        (of(k, b, totals=sums), of(k)),
        (of(b, k), of(k, people=True)),
    ):
        request = Request(schema, None, parts)
        assert '"r"."k" BETWEEN 3 AND 6' in engine.statement(request).partition("WHERE")[2]
        check(engine, rows, request)


def test_where_rows_without_a_key_are_wanted_they_stay():
    """By a part that has no such key, releases other groups, or bounds people by their rows."""
    engine, rows, schema, (k, b, _) = ranged("SMALLINT", unit=PerPerson("p"))
    few = Bounding("weight", 3, scale=12)
    over = t.compare(">", k, t.constant(4))
    for where, parts in (
        (None, (of(k), of(b))),
        (None, (of(k), of())),
        (None, (of(k, listed=False),)),
        (None, (of(k, way=few),)),
        (None, (of(k), of(k, way=Bounding("sample", 2, 2)))),
        (None, (of(t.add(k, b)), of(k))),
        (over, (of(k),)),
    ):
        request = Request(schema, where, parts)
        assert '"r"."k" BETWEEN 3 AND 6 THEN' in engine.statement(request)
        check(engine, rows, request)
    engine, rows, schema, (k, _, _) = ranged("SMALLINT", k=[3, 4, 6])
    request = Request(schema, None, (of(k),))
    assert "WHERE" not in engine.statement(request)
    check(engine, rows, request)
