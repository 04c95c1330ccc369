"""Statements over kept rows: with their condition apart, and without bounds that change nothing."""

from dataclasses import replace

import pytest
from tests.engines.test_duckdb import table_of

from discreet.engines.dialects import name
from discreet.engines.duckdb import DuckDB
from discreet.engines.shapes import Shapes, whole
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Flag, Number, Text
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Boolean, Bounds, FreeText, Keys, PerPerson, PublicTable, Schema

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


def read(engine, shapes, made):
    """A statement over kept rows, from the frame that is not kept: both are called rows."""
    kept = f'WITH "kept" AS ({shapes.of.text})'
    body = made.text.replace('FROM "rows"', 'FROM "kept"')
    body = f"{kept}, {body[5:]}" if body.startswith("WITH ") else f"{kept} {body}"
    return made.reading(engine._rows(body))


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
                assert light.text == usual.text
            shorter += light.text != usual.text
    assert shorter > 20


def test_one_row_more_than_allowed_is_bounded(schema, shapes):
    x = e.Column("x", schema.kind("x"))
    part = Part((), (Total(x, 1, 0),), Bounding("weight", rows=3, scale=1 << 10))
    request = Request(schema, None, (part,))
    assert "HAVING" in shapes.statement(request, most=4).text
    assert "HAVING" in shapes.statement(request).text
    assert "HAVING" not in shapes.statement(request, most=3).text


def test_the_condition_is_written_for_each_question(engine, schema, shapes):
    part = next(parts_of(schema))
    made = [shapes.statement(Request(schema, below(schema, n), (part,))) for n in (20, 35)]
    assert made[0].text.replace("< 20", "< 35") == made[1].text
    fresh = Shapes(shapes.of, dialect="duckdb", hashing="portable", key="k")
    assert fresh.statement(Request(schema, below(schema, 35), (part,))).text == made[1].text
    assert read(engine, shapes, made[0]) != read(engine, shapes, made[1])


def test_texts_in_a_condition_stay_texts(engine, schema, shapes):
    part = Part((), (Total(),), Bounding("none"))
    for said in ("a", "it's", "\\", '"', "--", "{0}"):
        equal = e.Compare("=", e.Column("g", schema.kind("g")), e.Literal(said, Text()), Flag())
        found = read(engine, shapes, shapes.statement(Request(schema, equal, (part,))))
        assert found == [{(): (sum(row["g"] == said for row in ROWS),)}]
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
    by_letter = {(n,): (letters.count(letter),) for n, letter in ((1, "a"), (2, "b"), (None, "c"))}
    for request, expected in (
        (Request(schema, one, (count,)), {(): (letters.count("a"),)}),
        (Request(schema, one, (by,)), {(1,): (letters.count("a"),)}),
        (Request(schema, None, (by,)), by_letter),
    ):
        assert read(engine, shapes, shapes.statement(request)) == [expected]


def test_who_is_not_bounded_is_counted_without_a_subquery(schema, shapes):
    g, x = (e.Column(n, schema.kind(n)) for n in ("g", "x"))
    part = Part((g,), (Total(), Total(x, 1, 0)), Bounding("weight", rows=3, scale=1 << 10))
    request = Request(schema, below(schema, 35), (part,))
    assert shapes.statement(request, most=3).text == (
        'SELECT "a"."c0" AS "k0", COUNT(*) AS "t0", SUM("a"."c1") AS "t1" '
        'FROM "rows" AS "a" WHERE "a"."c1" < 35 GROUP BY "a"."c0"'
    )
    people = Part((), (), Bounding("none"), people=True)
    assert shapes.statement(Request(schema, below(schema, 35), (people,))).text == (
        'SELECT COUNT(DISTINCT "a"."p") AS "t0" FROM "rows" AS "a" WHERE "a"."c1" < 35'
    )


def test_an_expression_in_the_place_of_its_name_is_in_brackets(engine, schema, shapes):
    x = e.Column("x", schema.kind("x"))
    more = t.add(x, t.constant(3))
    few = t.any_of([below(schema, 10), below(schema, 25)])
    totals = (Total(more, 2, 0), Total(more, 1, 1, few), Total(where=few))
    part = Part((few,), totals, Bounding("weight", rows=3, scale=7))
    found = read(engine, shapes, shapes.statement(Request(schema, None, (part,)), most=3))
    for is_few in (True, False):
        rows = [row["x"] for row in ROWS if (row["x"] < 25) == is_few]
        sums = sum((n + 3) ** 2 for n in rows), sum(n + 2 for n in rows) * is_few
        assert found[0][is_few,] == tuple(7 * n for n in (*sums, len(rows) * is_few))


def test_a_constant_is_no_place_in_a_list(engine, schema, shapes):
    """GROUP BY 1 would mean the first column; a total of nothing is 0 all the same."""
    x = e.Column("x", schema.kind("x"))
    for literal in (e.Literal(1, Number(1, 1)), e.Literal("a", Text()), e.Literal(True, Flag())):
        for keys in ((literal,), (literal, x), (x, literal)):
            part = Part(keys, (Total(), Total(x, 1, 0)), Bounding("none"))
            found = read(engine, shapes, shapes.statement(Request(schema, None, (part,))))
            by = {}
            for row in ROWS:
                at = tuple(row["x"] if key is x else literal.value for key in keys)
                n, total = by.get(at, (0, 0))
                by[at] = (n + 1, total + row["x"])
            assert found == [by]


def test_a_light_part_is_refused_like_any_other(schema, shapes):
    x = e.Column("x", schema.kind("x"))
    far = Part((), (Total(x, 8, 0),), Bounding("weight", rows=3, scale=1 << 60))
    for most in (None, 1):
        with pytest.raises(QueryError, match="10\\^37"):
            shapes.statement(Request(schema, None, (far,)), most=most)


def test_shapes_of_equal_parts_are_alike_and_others_are_not_mixed_up(engine, schema):
    """Shapes are found by the parts themselves: whatever comes and goes, each has its own."""
    from sqlglot import exp

    of = whole(schema, dialect="duckdb", relation=exp.Table(this=name("rows")))
    fresh, known = (Shapes(of, dialect="duckdb", hashing="portable", key="k") for _ in range(2))
    for _ in range(2):
        for part in parts_of(schema):
            for condition in (None, below(schema, 35)):
                for most in (None, 2):
                    request = Request(schema, condition, (replace(part),))
                    fresh._shapes.clear()
                    fresh._last = None
                    again, cold = (one.statement(request, most=most) for one in (known, fresh))
                    assert again.text == cold.text
                    assert read(engine, known, again) == read(engine, fresh, cold)


def test_codes_are_of_few_texts_and_of_flags(engine, monkeypatch):
    from sqlglot import exp

    columns = {"g": Keys(["a", "b", "it's"]), "x": Keys([1, 2]), "f": Boolean(), "t": FreeText()}
    storage = {**engine.storage, "f": "boolean", "t": "text"}
    schema = Schema("t", PerPerson("p"), columns, storage, {}, 10**6)
    table = exp.Table(this=name("rows"))
    made = whole(schema, dialect="duckdb", relation=table)
    assert set(made.codes) == {"g", "f"}
    assert "ENUM('a', 'b', 'it''s')" in made.text
    monkeypatch.setattr("discreet.engines.shapes.FEW", 2)
    assert set(whole(schema, dialect="duckdb", relation=table).codes) == {"f"}


def test_a_declaration_that_cannot_be_read_is_not_kept(schema):
    from sqlglot import exp

    wrong = replace(schema, columns={"x": Keys(["a"])})
    assert whole(wrong, dialect="duckdb", relation=exp.Table(this=name("rows"))) is None


def test_what_is_remembered_is_bounded(schema, shapes, monkeypatch):
    monkeypatch.setattr("discreet.query.recent._KEPT", 3)
    fresh = Shapes(shapes.of, dialect="duckdb", hashing="portable", key="k")
    for part in parts_of(schema):
        fresh.statement(Request(schema, None, (part,)))
        assert len(fresh._shapes) <= 3
