"""Statements over kept rows: with their condition apart, and without bounds that change nothing."""

from dataclasses import replace

import pytest
from tests.engines.test_duckdb import table_of

from discreet.engines.dialects import name
from discreet.engines.duckdb import DuckDB
from discreet.engines.shapes import Shapes, whole
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query.kinds import Flag, Text
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, FreeText, Keys, PerPerson, PublicTable, Schema

TYPES = {"p": "integer", "g": "text", "x": "integer"}
ROWS = [
    {"p": person, "g": "abc"[(person + i) % 3], "x": 10 * person + i}
    for person in range(7)
    for i in range(1 + person % 3)
]
MOST = 3
TABLES = {"letters": PublicTable("g", {"a": {"n": 1}, "b": {"n": 2}})}


@pytest.fixture(scope="module")
def engine():
    return DuckDB.from_frame(table_of(ROWS, TYPES), hashing="portable", key="k", threads=1)


@pytest.fixture(scope="module")
def schema(engine):
    columns = {"g": FreeText(), "x": Bounds(0, 60, 1)}
    return Schema("t", PerPerson("p", max_rows=3), columns, engine.storage, TABLES, 10**6)


@pytest.fixture(scope="module")
def shapes(schema):
    from sqlglot import exp

    made = whole(schema, dialect="duckdb", relation=exp.Table(this=name("rows")))
    return Shapes(made, dialect="duckdb", hashing="portable", key="k")


def read(engine, shapes, text):
    """A statement over kept rows, from the frame that is not kept: both are called rows."""
    kept = f'WITH "kept" AS ({shapes.of.text})'
    body = text.replace('FROM "rows"', 'FROM "kept"')
    body = f"{kept}, {body[5:]}" if body.startswith("WITH ") else f"{kept} {body}"
    return sorted(map(repr, engine._rows(body)))


def below(schema, n):
    return e.Compare("<", e.Column("x", schema.kind("x")), e.Literal(n, schema.kind("x")), Flag())


def parts_of(schema):
    g, x = (e.Column(n, schema.kind(n)) for n in ("g", "x"))
    sums = (Total(), Total(x), Total(x, 1, 0))
    for rows, groups in ((3, 3), (3, None), (None, 3), (4, 9), (2, 2), (3, 2)):
        for way in ("sample", "clamp"):
            yield Part((g,), sums, Bounding(way, rows, groups))
            yield Part((g,), (), Bounding(way, rows, groups), people=True)
        if rows is not None:
            yield Part((g,), sums, Bounding("weight", rows, groups, scale=1 << 10))
            yield Part((), (Total(x, 2, 5),), Bounding("weight", rows, scale=1 << 40))
        if groups is not None:
            weighted = Bounding("weight", rows, groups, scale=1 << 10)
            yield Part((g,), (), weighted, people=True)
    yield Part((), (), Bounding("none"), spread=(1, 2))


def test_light_rows_have_the_same_totals_without_bounding(engine, schema, shapes):
    shorter = 0
    for part in parts_of(schema):
        for condition in (None, below(schema, 35)):
            request = Request(schema, condition, (part,))
            usual, light = shapes.statement(request), shapes.statement(request, most=MOST)
            assert read(engine, shapes, light) == read(engine, shapes, usual)
            bounds = [b for b in (part.bounding.rows, part.bounding.groups) if b is not None]
            if any(b < MOST for b in bounds if not part.people or b != part.bounding.rows):
                assert light == usual
            shorter += light != usual
    assert shorter > 20


def test_one_row_more_than_allowed_is_bounded(schema, shapes):
    x = e.Column("x", schema.kind("x"))
    part = Part((), (Total(x, 1, 0),), Bounding("weight", rows=3, scale=1 << 10))
    request = Request(schema, None, (part,))
    assert "HAVING" in shapes.statement(request, most=4)
    assert "HAVING" in shapes.statement(request)
    assert "HAVING" not in shapes.statement(request, most=3)


def test_the_condition_is_written_for_each_question(engine, schema, shapes):
    part = next(parts_of(schema))
    texts = [shapes.statement(Request(schema, below(schema, n), (part,))) for n in (20, 35)]
    assert texts[0].replace("< 20", "< 35") == texts[1]
    fresh = Shapes(shapes.of, dialect="duckdb", hashing="portable", key="k")
    assert fresh.statement(Request(schema, below(schema, 35), (part,))) == texts[1]
    assert read(engine, shapes, texts[0]) != read(engine, shapes, texts[1])


def test_texts_in_a_condition_stay_texts(engine, schema, shapes):
    part = Part((), (Total(),), Bounding("none"))
    for said in ("a", "it's", "\\", '"', "--", "{0}"):
        equal = e.Compare("=", e.Column("g", schema.kind("g")), e.Literal(said, Text()), Flag())
        found = read(engine, shapes, shapes.statement(Request(schema, equal, (part,))))
        assert found == [repr((sum(row["g"] == said for row in ROWS),))]
    odd = e.Compare("=", e.Column("g", schema.kind("g")), e.Literal("a\0b", Text()), Flag())
    with pytest.raises(QueryError, match="NUL"):
        shapes.statement(Request(schema, odd, (part,)))


def test_values_that_are_named_first_are_written_in_one(engine, schema, shapes):
    """In the condition, in the keys, and in both."""
    column = e.Column("g", schema.kind("g"))
    kind = replace(schema.tables["letters"].keys_of("n").kind, nullable=True)
    found = e.Lookup("letters", "n", column, kind)
    one = e.Compare("=", found, e.Literal(1, kind), Flag())
    count, by = Part((), (Total(),), Bounding("none")), Part((found,), (Total(),), Bounding("none"))
    letters = [row["g"] for row in ROWS]
    for request, expected in (
        (Request(schema, one, (count,)), [repr((letters.count("a"),))]),
        (Request(schema, one, (by,)), [repr((1, letters.count("a")))]),
        (
            Request(schema, None, (by,)),
            sorted(
                repr((n, letters.count(letter))) for n, letter in ((1, "a"), (2, "b"), (None, "c"))
            ),
        ),
    ):
        assert read(engine, shapes, shapes.statement(request)) == expected


def test_a_declaration_that_cannot_be_read_is_not_kept(schema):
    from sqlglot import exp

    wrong = replace(schema, columns={"x": Keys(["a"])})
    assert whole(wrong, dialect="duckdb", relation=exp.Table(this=name("rows"))) is None


def test_what_is_remembered_is_bounded(schema, shapes, monkeypatch):
    monkeypatch.setattr("discreet.engines.shapes._KEPT", 3)
    fresh = Shapes(shapes.of, dialect="duckdb", hashing="portable", key="k")
    for part in parts_of(schema):
        fresh.statement(Request(schema, None, (part,)))
        assert len(fresh._texts) <= 3
