"""Kept rows that are counted without a statement: the same integers as by one, or none."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.engines import contract, corpus
from tests.engines.test_duckdb import table_of
from tests.engines.test_kept import keep, opened

from discreet.engines import kept, vectors
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Flag, Number
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Boolean, Bounds, PerPerson, PerRow, Schema

NONE = Bounding("none")
ROWS = corpus.main_rows()
COUNT = Part((), (Total(),), NONE)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(kept, "RESTED", -1.0)
    monkeypatch.setattr(kept, "MOST", 1000)


def engine_of(folder, rows, types=corpus.TYPES):
    pq.write_table(table_of(rows, types), folder / "rows.parquet")
    return opened(folder / "rows.parquet")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    return engine_of(tmp_path_factory.mktemp("vectors"), ROWS)


def both(engine, request):
    """What vectors say, and what a statement over the same rows says."""
    return counted(engine, request), said(engine, request)


def kept_rows(engine, request):
    over = engine._over_kept(request.schema)
    if engine._files.rows(over.of.text) is None:
        keep(engine, request)
    return over, engine._files.rows(over.of.text)


def counted(engine, request):
    over, rows = kept_rows(engine, request)
    return over.counted(request, rows.most, rows.vectors)


def said(engine, request):
    over, rows = kept_rows(engine, request)
    made = over.statement(request, most=rows.most)
    return made.reading(engine._from_kept(rows, made.text, None))


def answers(engine, requests):
    """What statements say."""
    return [(name, request, said(engine, request)) for name, request in requests.items()]


def differing(engine, told):
    """How many are counted, and which of them otherwise than by a statement."""
    many, wrong = 0, []
    for name, request, expected in told:
        found = counted(engine, request)
        many += found is not None
        if found is not None and exactly(found) != exactly(expected):
            wrong.append(name)
    return many, wrong


def exactly(parts):
    """1, 1.0 and True are three values."""
    return [{repr(key): repr(row) for key, row in part.items()} for part in parts]


GROUPED = (corpus.DEPT, corpus.LEVEL, corpus.SMOKER, corpus.START)


def plain(schema=corpus.SCHEMA):
    """Requests of every condition, value and grouping that is counted, and of some that are not."""
    values = [v for v in corpus.expressions().values() if isinstance(v.kind, Number)]
    keys = [(), *((one,) for one in GROUPED), GROUPED[:2], GROUPED[1:]]
    made = {}
    for i, (name, where) in enumerate(corpus.conditions().items()):
        value, by = values[i % len(values)], keys[i % len(keys)]
        totals = (*corpus.sums(corpus.AGE), Total(value), Total(value, 1, 3), Total(where=where))
        made[f"where {name}"] = Request(schema, where, (Part(by, (Total(),), NONE),))
        made[f"sums where {name}"] = Request(schema, where, (Part(by, totals, NONE),))
        made[f"people where {name}"] = Request(schema, where, (Part(by, (), NONE, people=True),))
    for name, value in corpus.expressions().items():
        flag = isinstance(value.kind, Flag)
        totals = [Total(value), *([Total(where=value)] if flag else [])]
        if isinstance(value.kind, Number):
            totals += [Total(value, power, offset) for power, offset in ((1, 0), (1, -2), (2, 5))]
        by = keys[len(made) % len(keys)]
        made[f"{name} by"] = Request(schema, None, (Part(by, tuple(totals), NONE),))
    flags = list(corpus.conditions().values())
    for i, (one, other) in enumerate(zip(flags, reversed(flags), strict=True)):
        for name, join in (("and", t.all_of), ("or", t.any_of)):
            where = t.negation(join([one, t.negation(other), corpus.SMOKER]))
            made[f"not {name} {i}"] = Request(
                schema, where, (COUNT, Part(keys[1], (Total(),), NONE))
            )
    return made


@pytest.fixture(scope="module")
def told(engine):
    before, kept.RESTED = kept.RESTED, -1.0
    found = answers(engine, plain())
    kept.RESTED = before
    return found


@pytest.mark.slow
def test_vectors_and_statements_agree(engine, told):
    many, wrong = differing(engine, told)
    assert not wrong, wrong
    assert many > len(told) / 2
    for _, request, _ in told[::7]:
        contract.check(engine, ROWS, request)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["one row each", "empty", "nothing", "rows"])
def test_odd_tables_agree(tmp_path, which):
    rows = {
        "one row each": [row | {"person": i} for i, row in enumerate(ROWS)],
        "empty": [],
        "nothing": [dict.fromkeys(corpus.TYPES) | {"person": i % 3} for i in range(9)],
        "rows": ROWS,
    }[which]
    engine = engine_of(tmp_path, rows)
    schema = corpus.ROWS_SCHEMA if which == "rows" else corpus.SCHEMA
    asked = answers(engine, dict(list(plain(schema).items())[::5]))
    many, wrong = differing(engine, asked)
    assert not wrong, wrong
    assert many > len(asked) / 3


def test_the_corpus_agrees_where_nobody_has_many_rows(tmp_path):
    """Weights and other bounds that change nothing are multiplied afterwards."""
    rows = [row | {"person": i} for i, row in enumerate(ROWS[:40])]
    engine = engine_of(tmp_path, rows)
    usable = {
        name: request
        for name, request in list(contract.REQUESTS.items())[::9]
        if engine._over_kept(request.schema) is not None
    }
    many, wrong = differing(engine, answers(engine, usable))
    assert not wrong, wrong
    assert many > 10
    assert any(part.bounding.scale > 1 for one in usable.values() for part in one.parts)


FAULTS = {
    "missing is false": ("_false", lambda truth: ~truth[0]),
    "one missing is enough": ("_either", lambda one, other: one),
    "days from another day": ("_FIRST", 719_164),
    "all rows": ("_ALL", Total(corpus.AGE)),
    "less is at most": ("_COMPARISONS", {**vectors._COMPARISONS, "<": vectors._COMPARISONS["<="]}),
    "unequal is true": ("_COMPARISONS", {**vectors._COMPARISONS, "<>": lambda a, b: a == a}),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(engine, told, monkeypatch, fault):
    name, wrong = FAULTS[fault]
    monkeypatch.setattr(vectors, name, wrong)
    assert differing(engine, told)[1]


def test_a_sum_that_doubles_do_not_hold_is_found(tmp_path, monkeypatch):
    rows = [{"person": i, "x": 2**53 + 1, "y": i % 2 == 0} for i in range(4)]
    types = {"person": "integer", "x": "integer", "y": "boolean"}
    columns = {"x": Bounds(0, 1 << 55), "y": Boolean()}
    schema = Schema("t", PerPerson("person"), columns, types, {}, 10**6)
    x, y = (e.Column(name, schema.kind(name)) for name in columns)
    engine = engine_of(tmp_path, rows, types)
    asked = answers(engine, {"x": Request(schema, None, (Part((y,), (Total(x, 1, 0),), NONE),))})
    assert differing(engine, asked) == (0, [])
    monkeypatch.setattr(vectors, "_EXACT", 1 << 80)
    assert differing(engine, asked) == (1, ["x"])


@pytest.mark.parametrize("high", [1 << 36, 1 << 37, (1 << 52) + 1])
def test_the_rows_that_a_condition_chooses_do_not_choose_the_way(tmp_path, high):
    """A statement takes longer: else an analyst could time whether a condition holds twice."""
    rows = [{"person": i, "x": i} for i in range(9)]
    types = {"person": "integer", "x": "integer"}
    schema = Schema("t", PerRow(), {"x": Bounds(0, high)}, types, {}, 10**6)
    x, engine = e.Column("x", schema.kind("x")), engine_of(tmp_path, rows, types)
    found = [
        counted(engine, Request(schema, t.compare("<", x, t.constant(n)), (part,)))
        for part in (Part((), (Total(x, 1, 0),), NONE), Part((x,), (Total(x, 1, 0),), NONE))
        for n in range(10)
    ]
    assert {one is None for one in found} == {high >= 1 << 37}


@pytest.mark.slow
def test_a_wrong_group_is_found(engine, told, monkeypatch):
    inner = vectors._Rows.where
    monkeypatch.setattr(vectors._Rows, "where", lambda rows, chosen: replace(
        inner(rows, chosen), at=rows.at[: inner(rows, chosen).at.size]))  # fmt: skip
    assert differing(engine, told)[1]


def test_what_is_not_counted_is_left_to_a_statement(engine, monkeypatch):
    young = t.compare("<", corpus.AGE, t.constant(30))
    by_text = Part((corpus.DEPT,), (Total(),), NONE)
    left = {
        "free text": Request(corpus.SCHEMA, t.like(corpus.NOTE, "a%"), (COUNT,)),
        "an expression": Request(corpus.SCHEMA, None, (replace(by_text, keys=(young,)),)),
        "a quotient": Request(
            corpus.SCHEMA,
            t.compare("<", t.divide(corpus.AGE, corpus.BONUS), t.constant(1)),
            (COUNT,),
        ),
        "bounded people": Request(
            corpus.SCHEMA, None, (replace(by_text, bounding=Bounding("sample", 1, 1)),)
        ),
        "spread": Request(corpus.SCHEMA, None, (Part((), (), NONE, spread=(1, 3)),)),
    }
    monkeypatch.setattr(vectors, "FEW", 9)  # notes are more
    fresh = opened(Path(engine._files._paths[0]), threads=1)
    for request in left.values():
        assert both(fresh, request)[0] is None
        contract.check(fresh, ROWS, request)
    counted = Request(corpus.SCHEMA, young, (by_text,))
    assert both(fresh, counted)[0] is not None
    monkeypatch.setattr(vectors, "MOST_NODES", 2)
    assert both(fresh, counted)[0] is None


def test_what_is_large_is_left_to_a_statement(tmp_path, monkeypatch):
    rows = [{"person": i % 3, "x": 10**12 + i % 5} for i in range(20)]
    types = {"person": "integer", "x": "integer"}
    schema = Schema(
        "t", PerPerson("person", max_rows=9), {"x": Bounds(0, 1 << 61)}, types, {}, 10**6
    )
    x = e.Column("x", schema.kind("x"))
    for name in (None, "MOST_ROWS", "_MOST_GROUPS", "_MOST_PAIRS"):
        folder = tmp_path / str(name)
        folder.mkdir()
        if name is not None:
            monkeypatch.setattr(vectors, name, 3)
        engine = engine_of(folder, rows, types)
        total = Request(schema, None, (Part((), (Total(x, 1, 0),), NONE),))
        by = Request(schema, None, (Part((x,), (Total(),), NONE),))
        people = Request(schema, None, (Part((x,), (), NONE, people=True),))
        keep(engine, by)
        few = engine._files.rows(engine._over_kept(schema).of.text).vectors
        assert (few is None) == (name == "MOST_ROWS")
        if few is not None:
            assert both(engine, total)[0] is None
            assert (both(engine, by)[0] is None) == (name == "_MOST_GROUPS")
            assert (both(engine, people)[0] is None) == (name in ("_MOST_GROUPS", "_MOST_PAIRS"))
        for request in (total, by, people):
            contract.check(engine, rows, request)
        monkeypatch.undo()
        monkeypatch.setattr(kept, "RESTED", -1.0)


def test_many_keys_are_left_before_they_are_listed(engine):
    """64 values in each of eight columns would be 2^48 groups."""
    wide = Part((corpus.LEVEL,) * 40, (Total(),), NONE)
    assert counted(engine, Request(corpus.SCHEMA, None, (wide,))) is None


def test_groupings_are_forgotten_when_there_are_too_many(engine, monkeypatch):
    monkeypatch.setattr(vectors, "_KEPT", 2)
    known = kept_rows(engine, Request(corpus.SCHEMA, None, (COUNT,)))[1].vectors._grouped
    known.clear()
    for by in GROUPED * 2:
        found, told = both(engine, Request(corpus.SCHEMA, None, (Part((by,), (Total(),), NONE),)))
        assert found == told
        assert 0 < len(known) <= 2


def test_many_columns_take_little_memory():
    connection = duckdb.connect(
        config={"memory_limit": "200MB", "temp_directory": "", "threads": 1}
    )
    listed = ", ".join(f"i % {n + 2} = 0 AS c{n}" for n in range(40))
    connection.execute(f"CREATE TABLE rows AS SELECT {listed} FROM range({vectors.MOST_ROWS}) t(i)")
    made = vectors.vectors(connection)
    assert all(one.keys == (False, True) for one in made._columns.values())
    assert all((one.places == one.values).all() for one in made._columns.values())


def test_rows_of_nobody_are_counted_one_by_one(tmp_path):
    engine = engine_of(tmp_path, ROWS)
    request = Request(corpus.ROWS_SCHEMA, None, (Part((corpus.SMOKER,), (), NONE, people=True),))
    assert isinstance(corpus.ROWS_SCHEMA.unit, PerRow)
    found, said = both(engine, request)
    assert found == said
    assert sum(n for row in found[0].values() for n in row) == len(ROWS)


def test_what_is_refused_is_refused_before_it_is_asked(engine):
    """`ready` writes no statement where none can be refused, and refuses what `statement` does."""
    over = engine._over_kept(corpus.SCHEMA)
    for request in list(plain().values())[::4]:
        over.check(request)
        over.statement(request)
        assert engine.ready(request)
    text = e.Column("note", corpus.SCHEMA.kind("note"))
    odd = t.compare("=", text, e.Literal("a\0b", corpus.SCHEMA.kind("note")))
    deep = corpus.AGE
    for _ in range(9):
        deep = t.logarithm(t.add(deep, t.constant(1)))
    nested = t.compare("<", deep, t.constant(1))
    for where in (odd, nested, t.all_of([nested, odd]), t.negation(odd)):
        request = Request(corpus.SCHEMA, where, (COUNT,))
        for ask in (over.check, over.statement, engine.ready):
            with pytest.raises(QueryError):
                ask(request)
