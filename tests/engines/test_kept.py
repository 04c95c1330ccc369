"""Rows that are kept: the same answers as from the files, for as long as the files stay."""

import os
import threading
import time
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.engines import contract, corpus
from tests.engines.test_duckdb import table_of

from discreet.engines import duckdb, kept
from discreet.engines.duckdb import DuckDB
from discreet.engines.reading import cells
from discreet.errors import EngineError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Flag, Text
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FindBounds,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    Schema,
)

COLUMNS = {
    "group": Keys(["a", "b", "it's"]),
    "size": Bounds(0, 100, "0.5"),
    "whole": Bounds(-5, 5),
    "flag": Boolean(),
    "day": Dates("2020-01-01", "2021-12-31"),
    "text": FreeText(),
    "secret": Hidden(),
    "later": FindBounds(epsilon=1),
}
LINES = [
    "person,group,size,whole,flag,day,text,secret,later",
    "p1,a,1.25,3,true,2020-02-01,x,s,1",
    "p1,a,99,-9,f,2019-01-01,,s,2",
    "p1,b,nan,x,maybe,2020-13-01,y,s,3",
    ",a,1,1,true,2020-02-01,x,s,4",
    "p2,it's,1e9,5,1,2021-12-31 23:00:00,ü,s,5",
    "p2,other,-3,4,0,2030-01-01,x,s,6",
    "p3,b,0.25,0,,,x,s",
    "p4,b,50,1,t,2020-06-30,x,s,8",
] * 3


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(kept, "RESTED", -1.0)


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "rows.csv"
    made.write_text("\n".join(dict.fromkeys(LINES[:1])) + "\n" + "\n".join(LINES[1:9] * 3) + "\n")
    return made


def opened(path, **more):
    kind = "csv" if path.suffix == ".csv" else "parquet"
    return DuckDB.from_files([path], kind=kind, hashing="portable", key="k", **more)


def schema_of(engine, columns=COLUMNS):
    return Schema("t", PerPerson("person", max_rows=2), columns, engine.storage, {}, 10**6)


def asked(schema):
    """Requests of every shape: keys, sums, conditions, people, all ways of bounding."""

    def at(name):
        return e.Column(name, schema.kind(name))

    ways = [
        Bounding("none"), Bounding("sample", rows=1, groups=1), Bounding("clamp", rows=2, groups=1),
        Bounding("weight", rows=2, scale=1 << 10),
    ]  # fmt: skip
    names = ["group", "whole", "flag", "day", "text"]
    where = e.Compare("<", at("size"), e.Literal(100, schema.kind("size")), Flag())
    for way in ways:
        for condition in (None, where):
            sums = (Total(), Total(at("size")), Total(at("whole"), 1, schema.kind("whole").low))
            parts = [Part((at(name),), sums, way) for name in names]
            yield Request(schema, condition, tuple(parts))
    yield Request(schema, where, (Part((at("group"),), (), Bounding("none"), people=True),))
    yield Request(schema, None, (Part((), (), Bounding("none"), spread=(1, 3)),))
    yield Request(schema, None, (Part((), (Total(),), Bounding("none")),))


def keep(engine, request):
    """Ask until the rows are kept."""
    for _ in range(2):
        engine.run(request)
    engine._files.settled()
    assert engine._files._kept
    return engine


def is_kept(engine, request):
    return engine._files.rows(engine._over_kept(request.schema).of.text) is not None


def from_file(engine, request):
    """What the plain statement says, which reads the file."""
    return contract.settled(request, cells(request, engine._rows(engine.statement(request))))


def from_kept(engine, request):
    """What kept rows say, whether with a statement or without; they have to be there."""
    if not is_kept(engine, request):
        keep(engine, request)
    statement = engine.ready(request)
    found = engine.run(request, statement)
    assert found == engine.run(request)
    assert is_kept(engine, request)
    return found


def test_kept_rows_answer_like_the_file(path):
    engine = opened(path)
    schema = schema_of(engine)
    for request in asked(schema):
        before = from_file(engine, request)
        assert "READ_CSV" not in engine.ready(request)
        assert contract.settled(request, from_kept(engine, request)) == before
        assert engine.run(request, engine.statement(request)) == engine.run(request)
        bounded = engine._over_kept(schema).statement(request)  # as if somebody had many rows
        rows = engine._files.rows(engine._over_kept(schema).of.text)
        found = bounded.reading(engine._from_kept(rows, bounded.text, None))
        assert contract.settled(request, found) == before


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(contract.CHUNKS))
@pytest.mark.parametrize("which", ["as it is", "one row each", "nobody", "empty", "nothing"])
def test_the_corpus_from_kept_rows(tmp_path, monkeypatch, chunk, which):
    """Requests of the contract, odd values of every stored type included.

    Every second one of the rows as they are, the others with one row for each person.
    """
    rows = {
        "as it is": corpus.main_rows(),
        "one row each": [row | {"person": i} for i, row in enumerate(corpus.main_rows())],
        "nobody": [row | {"person": None} for row in corpus.main_rows(20)],
        "empty": [],
        "nothing": [dict.fromkeys(corpus.TYPES) | {"person": i % 3} for i in range(9)],
    }[which]
    monkeypatch.setattr(kept, "MOST", 1000)
    pq.write_table(table_of(rows, corpus.TYPES), tmp_path / "rows.parquet")
    engine = opened(tmp_path / "rows.parquet")
    answered = 0
    step = 2 if which in ("as it is", "one row each") else 10
    first = chunk + contract.CHUNKS * (which == "one row each")
    for request in list(contract.REQUESTS.values())[first :: contract.CHUNKS * step]:
        if engine._over_kept(request.schema) is None:
            continue
        found = from_kept(engine, request)
        assert contract.settled(request, found) == from_file(engine, request)
        contract.check(engine, rows, request, found)
        answered += 1
    assert answered >= 20 // step


ODD = [
    "a", "A", " a", "a ", "", "ü", "u\u0308", "Ü", "ß", "ss", "it's", '"', "\\", "--", "NULL",
    "null", "0", "true", "\u200b", "😀", "é", "e\u0301", "%", "_", "a\nb", "a,b", "a\tb", "{0}",
    "$1", ")", "?", "';SELECT 1--",
]  # fmt: skip


def test_keys_are_themselves_however_odd(tmp_path):
    """Of each pair that some databases take for one, one is declared and one is not, or both."""
    values = [*ODD, None, "undeclared"]
    rows = [
        {"person": i, "all": values[i % len(values)], "some": values[i * i % len(values)],
         "yes": [True, False, None][i % 3], "n": [i, None, -i][i % 3]}
        for i in range(200)
    ]  # fmt: skip
    types = {"person": "integer", "all": "text", "some": "text", "yes": "boolean", "n": "integer"}
    pq.write_table(table_of(rows, types), tmp_path / "rows.parquet")
    engine = opened(tmp_path / "rows.parquet")
    columns = {"all": Keys(ODD), "some": Keys(ODD[::2]), "yes": Boolean(), "n": Bounds(-99, 99)}
    schema = Schema("t", PerPerson("person", max_rows=3), columns, types, {}, 10**6)
    one, two, yes, n = (e.Column(at, schema.kind(at)) for at in columns)
    conditions = [None, t.compare("=", one, two), t.compare("<", one, two), e.IsNull(two, Flag())]
    for text in ODD:
        said = t.constant(text)
        conditions += [t.compare(op, one, said) for op in ("=", "<", ">=", "<>")]
        conditions += [t.compare("=", said, two), e.Like(one, text, Flag(nullable=True))]
    conditions.append(e.Member(one, tuple(t.constant(text) for text in ODD[::3]), Flag()))
    chosen = t.compare("<", one, t.constant("b"))
    case = e.Case(((chosen, one),), two, Text(nullable=True))
    sums = (Total(), Total(one), Total(n, 1, -99), Total(n, 2, 3, yes), Total(where=chosen))
    ways = [Bounding("none"), Bounding("weight", rows=3, scale=1 << 18), Bounding("sample", 3, 3)]
    parts = [Part(keys, sums, way) for way in ways
             for keys in ((one,), (two, yes), (case,), (yes, one, case), ())]  # fmt: skip
    parts += [Part((one,), (), way, people=True) for way in ways[::2]]
    keep(engine, Request(schema, None, parts[:1]))
    assert set(engine._over_kept(schema).of.codes) == {"all", "some", "yes"}
    for i, condition in enumerate(conditions):
        request = Request(schema, condition, (parts[i % len(parts)],))
        found = from_kept(engine, request)
        assert contract.settled(request, found) == from_file(engine, request)
        contract.check(engine, rows, request, found)
    for part in parts:
        request = Request(schema, None, (part,))
        found = from_kept(engine, request)
        assert contract.settled(request, found) == from_file(engine, request)
        contract.check(engine, rows, request, found)
    for condition in conditions[:6]:
        request = Request(schema, condition, tuple(parts))
        found = from_kept(engine, request)
        assert contract.settled(request, found) == from_file(engine, request)
        contract.check(engine, rows, request, found)


def test_a_changed_file_is_read_again(path):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    keep(engine, request)
    assert is_kept(engine, request)
    before = engine.run(request)[0][()][0]
    with path.open("a") as more:
        more.write("p9,a,1,1,true,2020-02-01,x,s,1\n")
    assert engine.run(request)[0][()][0] == before + 1
    keep(engine, request)
    assert engine.run(request)[0][()][0] == before + 1
    size, times = path.stat().st_size, path.stat()
    text = path.read_text().replace("p9,a,1", ",a,100").encode()
    path.write_bytes(text)  # as long as before, with the times of before
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == size
    assert engine.run(request)[0][()][0] == before


def test_a_replaced_or_missing_file_is_not_answered_from_memory(path, tmp_path):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    keep(engine, request)
    other = tmp_path / "other.csv"
    other.write_text(LINES[0] + "\n" + LINES[1] + "\n")
    other.replace(path)
    assert engine.run(request)[0][()] == (1,)
    keep(engine, request)
    engine.ping()
    path.unlink()
    with pytest.raises(EngineError):
        engine.run(request)
    with pytest.raises(EngineError, match="not there"):
        engine.ping()


def test_what_changed_a_moment_ago_is_not_kept(path, monkeypatch):
    monkeypatch.setattr(kept, "RESTED", 60.0)
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    for _ in range(4):
        engine.run(request)
    assert engine._files._reading is None
    assert not engine._files._kept


def test_a_file_that_changes_while_it_is_read_is_not_kept(path, monkeypatch):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    inner = kept.Files._made

    def made(files, text, size):
        path.write_text(path.read_text() + "p9,a,1,1,true,2020-02-01,x,s,1\n")
        return inner(files, text, size)

    monkeypatch.setattr(kept.Files, "_made", made)
    for _ in range(2):
        engine.run(request)
    engine._files.settled()
    assert not engine._files._kept


def test_only_what_is_asked_again_and_small_enough_is_kept(path, monkeypatch):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    engine.run(request)
    assert engine._files._reading is None
    assert not engine._files._kept
    monkeypatch.setitem(kept.LARGEST, "csv", 100)
    for _ in range(4):
        engine.run(request)
    engine._files.settled()
    assert not engine._files._kept


def test_what_cannot_be_kept_is_read_from_its_file(path, monkeypatch):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    before, tries = engine.run(request), []

    def failing(*_):
        tries.append(1)
        raise MemoryError

    monkeypatch.setattr(kept.Files, "_made", failing)
    for _ in range(5):
        assert engine.run(request) == before
        engine._files.settled()
    assert tries == [1]


def test_engines_on_the_same_files_share_what_is_kept(path):
    one, other = opened(path), opened(path)
    request = list(asked(schema_of(one)))[-1]
    keep(one, request)
    assert is_kept(other, request)
    assert other.run(request) == one.run(request)
    one.close()
    assert other.run(request)
    files = one._files
    assert opened(path, threads=1)._files is not files


def test_declarations_are_kept_apart(path):
    engine = opened(path)
    narrow = {**COLUMNS, "whole": Bounds(0, 1)}
    first, second = schema_of(engine), schema_of(engine, narrow)

    def total(schema):
        at = e.Column("whole", schema.kind("whole"))
        return Request(schema, None, (Part((), (Total(at, 1, 0),), Bounding("none")),))

    before = engine.run(total(first)), engine.run(total(second))
    keep(engine, total(first))
    keep(engine, total(second))
    assert len(engine._files._kept) == 2
    assert (engine.run(total(first)), engine.run(total(second))) == before
    assert before[0] != before[1]


def test_kept_rows_are_locked_like_the_file(path, tmp_path):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    keep(engine, request)
    rows = engine._files.rows(engine._over_kept(request.schema).of.text)
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    for text in (
        f"SELECT * FROM read_csv('{other}')", "SELECT * FROM read_csv('/etc/passwd')",
        "SET threads = 1", "SET enable_external_access = true", "INSTALL httpfs", "LOAD httpfs",
        f"ATTACH '{tmp_path / 'x.duckdb'}'", f"COPY (SELECT 1) TO '{tmp_path / 'x.csv'}'",
    ):  # fmt: skip
        with pytest.raises(EngineError):
            engine._from_kept(rows, text, None)
    cursor = rows.cursor()
    said = "SELECT current_setting('TimeZone'), current_setting('default_collation')"
    assert cursor.execute(said).fetchall() == [("UTC", "binary")]


def test_kept_rows_that_failed_once_are_let_go(path):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    before = engine.run(request)
    keep(engine, request)
    rows = engine._files.rows(engine._over_kept(request.schema).of.text)
    with pytest.raises(EngineError):
        engine._from_kept(rows, "SELECT nothing", None)
    assert not is_kept(engine, request)
    assert engine.run(request) == before


def test_a_question_of_kept_rows_is_stopped_in_time(path):
    engine = opened(path)
    request = list(asked(schema_of(engine)))[-1]
    keep(engine, request)
    rows = engine._files.rows(engine._over_kept(request.schema).of.text)
    caught = []

    def ask():
        text = "SELECT count(*) FROM range(10000000) a, range(100000) b WHERE (a.range*b.range)%7=3"
        try:
            engine._from_kept(rows, text, 0.05)
        except EngineError as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    began = time.monotonic()
    thread.start()
    thread.join(60)
    assert time.monotonic() - began < 30
    assert isinstance(caught[0].__cause__, TimeoutError)
    assert engine.run(request)


def test_copies_of_a_declaration_share_what_is_kept_under_it(path, monkeypatch):
    """Each asker has a copy; with thousands of keys it takes a while to write what cleans rows.

    What was found for one asker besides makes another declaration, also where it is equal.
    """
    written, inner = [], duckdb.whole

    def seen(schema, **how):
        written.append(schema)
        return inner(schema, **how)

    monkeypatch.setattr(duckdb, "whole", seen)
    engine = opened(path)
    schema = schema_of(engine)
    equal = replace(schema, columns=dict(schema.columns))
    copies = [schema, replace(schema), equal, replace(equal), replace(schema)]
    found = [engine._over_kept(one).of for one in copies]
    assert written == [schema, equal]
    assert [one is found[0] for one in found] == [True, True, False, False, True]
    assert found[2] is found[3]
