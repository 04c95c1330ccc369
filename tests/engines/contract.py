"""What every engine has to do: a suite to inherit, with a fixture that makes engines.

A subclass offers the fixture `engine_of`: a function of a list of rows (dicts) and of the type of
each column ("integer" for 64 bits, "real" for doubles, "text", "boolean", "date", "timestamp"),
which returns an engine over exactly these rows, with hashing="portable" and key="k".
"""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, reject, settings
from tests.engines import corpus, reference

from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, FreeText, Keys, PerPerson, Schema

REQUESTS = corpus.corpus()
CHUNKS = 8


def settled(request, cells):
    """Cells without groups that may be missing: with nothing in them, or not `listed`."""
    assert len(cells) == len(request.parts)
    found = []
    for part, mapping in zip(request.parts, cells, strict=True):
        keyed = bool(part.keys) or part.spread is not None
        there = {k: v for k, v in mapping.items() if any(v) or not keyed}
        found.append({k: v for k, v in there.items() if not part.listed or None not in k})
    return found


def check(engine, rows, request, got=None):
    """The engine's integers are the reference's, to the last digit, and of the right types.

    `got` is what it has said, where it was asked before.
    """
    got = engine.run(request) if got is None else got
    expected = reference.answer(rows, request)
    assert settled(request, got) == settled(request, expected)
    for mapping in got:
        for group, totals in mapping.items():
            assert all(type(n) is int for n in totals)
            assert all(
                type(k).__name__ in ("int", "bool", "str", "date", "NoneType") for k in group
            )


class EngineContract:
    """The suite."""

    random_tables = 40
    """How many random tables the engine has to go through."""
    most = None
    """How many requests of the corpus it goes through, evenly spaced; None for all."""
    sparse = 1
    """How much fewer of them tables have that are odd as a whole."""

    @property
    def names(self):
        every = list(REQUESTS)
        return (
            every
            if self.most is None
            else [every[i * len(every) // self.most] for i in range(self.most)]
        )

    @pytest.fixture
    def engine_of(self):
        raise NotImplementedError

    def test_there_are_enough_requests(self):
        assert len(set(self.names)) >= 200

    @pytest.mark.parametrize("chunk", range(CHUNKS))
    def test_the_corpus(self, engine_of, chunk):
        rows = corpus.main_rows()
        engine = engine_of(rows, corpus.TYPES)
        wrong = []
        for name in self.names[chunk::CHUNKS]:
            try:
                check(engine, rows, REQUESTS[name])
            except Exception as error:  # noqa: BLE001 - all of them are wanted
                cause = error.__cause__ or error
                wrong.append(f"{name}: {type(cause).__name__}: {str(cause)[:400]}")
        assert not wrong, "\n".join(wrong)

    def test_an_empty_table(self, engine_of):
        engine = engine_of([], corpus.TYPES)
        for request in list(REQUESTS.values())[:: 17 * self.sparse]:
            check(engine, [], request)

    def test_columns_without_any_value(self, engine_of):
        rows = [dict.fromkeys(corpus.TYPES) | {"person": i % 3} for i in range(9)]
        engine = engine_of(rows, corpus.TYPES)
        for request in list(REQUESTS.values())[:: 17 * self.sparse]:
            check(engine, rows, request)

    def test_no_row_has_a_person(self, engine_of):
        rows = [row | {"person": None} for row in corpus.main_rows(20)]
        engine = engine_of(rows, corpus.TYPES)
        for request in list(REQUESTS.values())[:: 29 * self.sparse]:
            check(engine, rows, request)

    def test_random_tables(self, engine_of):
        @settings(
            max_examples=self.random_tables,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(corpus.asked_tables())
        def run(asked):
            rows, request = asked
            engine = engine_of(rows, dict(request.schema.storage))
            try:
                engine.statement(request)
            except QueryError:  # a sum that could be too large, by its bounds alone
                reject()
            check(engine, rows, request)

        run()

    @pytest.mark.parametrize("storage", ["text", "real", "boolean", "date"])
    def test_people_of_any_type(self, engine_of, storage):
        draw = {
            "text": ["a", "", "a|b", "ü", "A", "ü"],
            "real": [1.0, -0.0, 0.0, 2.0**53, float("nan"), -17.0],
            "boolean": [True, False],
            "date": [row["born"] for row in corpus.main_rows(8)],
        }[storage]
        types = corpus.TYPES | {"person": storage}
        rows = [
            row | {"person": [*draw, None][i % (len(draw) + 1)]}
            for i, row in enumerate(corpus.main_rows(60))
        ]
        schema = corpus.schema_of(types=types)
        engine = engine_of(rows, types)
        totals = corpus.clampable(corpus.SALARY)
        parts = [Part((corpus.DEPT,), totals, way) for way in corpus.WAYS]
        parts += [Part((corpus.DEPT,), (), way, people=True) for way in corpus.PEOPLE_WAYS]
        check(engine, rows, Request(schema, None, tuple(parts)))

    def test_integers_of_any_size(self, engine_of):
        """Sums beyond 64 bits, of weights times squares, are exact."""
        edge = (1 << 63) - 1
        rows = [
            {"p": i % 5, "n": n}
            for i, n in enumerate([edge, -edge - 1, edge - 1, 0, None, 1 << 61, -(1 << 61)] * 9)
        ]
        types = {"p": "integer", "n": "integer"}
        engine = engine_of(rows, types)
        for wide, power, row_limit in ((1 << 59, 1, 10**12), (1 << 50, 2, 10**3), (3, 2, 10**9)):
            columns = {"n": Bounds(-wide, wide, 1)}
            schema = Schema("t", PerPerson("p"), columns, types, {}, row_limit)
            n = e.Column("n", schema.kind("n"))
            totals = (Total(n, power, 0), Total(n, power, n.kind.low), Total(n, 1, 12345))
            for bounding in (
                Bounding("none"),
                Bounding("weight", rows=3, scale=1000),
                Bounding("sample", rows=2),
            ):
                check(engine, rows, Request(schema, None, (Part((), totals, bounding),)))

    def test_ten_thousand_groups(self, engine_of):
        rows = [{"p": i % 700, "g": f"g{i % 10_000:05}", "n": i % 7} for i in range(20_000)]
        types = {"p": "integer", "g": "text", "n": "integer"}
        schema = Schema(
            "t", PerPerson("p"), {"g": FreeText(), "n": Bounds(0, 6, 1)}, types, {}, 10**9
        )
        g, n = (e.Column(name, schema.kind(name)) for name in ("g", "n"))
        totals = (Total(), Total(n, 1, 0))
        engine = engine_of(rows, types)
        for bounding in (
            Bounding("none"),
            Bounding("sample", 1, 20),
            Bounding("weight", 10, scale=100),
        ):
            check(engine, rows, Request(schema, None, (Part((g,), totals, bounding),)))

    def test_a_person_with_very_many_rows(self, engine_of):
        rows = [{"p": 1 if i % 100 else i, "g": i % 3, "n": i % 11} for i in range(30_000)]
        types = {"p": "integer", "g": "integer", "n": "integer"}
        columns = {"g": Keys(range(3)), "n": Bounds(0, 9, 1)}
        schema = Schema("t", PerPerson("p"), columns, types, {}, 10**9)
        g, n = (e.Column(name, schema.kind(name)) for name in ("g", "n"))
        engine = engine_of(rows, types)
        ways = (Bounding("sample", 5, 2), Bounding("clamp", 5, 2), Bounding("weight", 7, scale=100))
        parts = tuple(Part((g,), (Total(), Total(n, 1, 0)), way) for way in ways)
        check(engine, rows, Request(schema, None, parts))

    def test_hostile_names_and_keys_are_only_names_and_keys(self, engine_of):
        names = [
            '"',
            "'; DROP TABLE t; --",
            "select",
            "a b",
            "ü",
            "x]y",
            "`",
            "\\",
            "$$",
            "%s",
            "a.b",
        ]
        types = {"p": "integer"} | dict.fromkeys(names, "text")
        rows = [
            {"p": i} | {name: names[(i + j) % len(names)] for j, name in enumerate(names)}
            for i in range(22)
        ]
        schema = Schema(
            "t", PerPerson("p"), {name: Keys(names) for name in names}, types, {}, 10**9
        )
        engine = engine_of(rows, types)
        columns = [e.Column(name, schema.kind(name)) for name in names]
        for one, two in pairwise(columns):
            where = t.any_of([t.compare("=", one, t.constant(name)) for name in names[:6]])
            part = Part((one, two), (Total(), Total(two)), Bounding("sample", 1, 1))
            check(engine, rows, Request(schema, where, (part,)))

    def test_the_statement_is_the_same_every_time(self, engine_of):
        rows = corpus.main_rows(10)
        engine = engine_of(rows, corpus.TYPES)
        for request in list(REQUESTS.values())[:: 47 * self.sparse]:
            text = engine.statement(request)
            assert text == engine.statement(request)
            assert engine.run(request, text) == engine.run(request)

    def test_the_order_of_the_rows_does_not_matter(self, engine_of):
        rows = corpus.main_rows(80)
        there, back = engine_of(rows, corpus.TYPES), engine_of(rows[::-1], corpus.TYPES)
        for name, request in REQUESTS.items():
            if name.startswith(("sample", "clamp", "weight")) and "two" in name:
                assert there.run(request) == back.run(request)

    def test_the_storage_is_known(self, engine_of):
        assert dict(engine_of([], corpus.TYPES).storage) == corpus.TYPES

    def test_it_answers(self, engine_of):
        assert engine_of([], corpus.TYPES).ping() is None
