"""Statements as a whole: their shape, how rows become integers again, and what is refused."""

from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp
from tests.engines import corpus
from tests.engines.contract import REQUESTS
from tests.engines.corpus import AGE, BONUS, DEPT, LEVEL, SALARY, SMOKER

from discreet.engines.compile import Cleaned, _not_computed_with, columns_used, statement
from discreet.engines.dialects import DIALECTS
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Number
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, Hidden, Keys, PerPerson, PerRow, Schema

NONE = Bounding("none")
ELSE = (exp.Insert, exp.Update, exp.Delete, exp.Command, exp.Drop)
TABLE = exp.Table(this=exp.to_identifier("people", quoted=True))


def text(request, dialect="duckdb", **more):
    given = {"relation": TABLE, "hashing": "engine", "key": "k"} | more
    return statement(request, dialect=dialect, **given)


def test_one_part_with_nothing_to_bound_is_one_plain_group_by():
    schema = Schema(
        "t", PerRow(), {"g": Keys(range(9)), "n": Bounds(0, 9, 1)}, {"g": "integer", "n": "integer"}
    )
    g, n = (e.Column(name, schema.kind(name)) for name in "gn")
    request = Request(schema, None, (Part((g,), (Total(), Total(n, 1, 0)), NONE),))
    assert text(request) == (
        'SELECT "b"."c0" AS "k0", COUNT(*) AS "t0", COALESCE(SUM("b"."c1"), 0) AS "t1" FROM '
        '(SELECT CASE WHEN "r"."g" BETWEEN 0 AND 8 THEN "r"."g" END AS "c0", '
        'CASE WHEN "r"."n" < 0 THEN 0 WHEN "r"."n" > 9 THEN 9 ELSE "r"."n" END AS "c1" '
        'FROM "people" AS "r") AS "b" GROUP BY "b"."c0"'
    )


def test_what_was_written_before_is_written_again():
    """∀ requests, in any order, under two declarations: the text is that of nothing known."""
    known = Cleaned()
    asked = list(REQUESTS.values())[::7]
    other = Schema(
        "t", PerRow(), {"g": Keys(range(9)), "n": Bounds(0, 9, 1)}, {"g": "integer", "n": "integer"}
    )
    wider = replace(other, columns={"g": Keys(range(9)), "n": Bounds(0, 99, 1)})
    for schema in (other, wider):
        g, n = (e.Column(name, schema.kind(name)) for name in "gn")
        condition = t.compare("<", n, t.constant(5))
        asked.append(Request(schema, condition, (Part((g,), (Total(n, 1, 0),), NONE),)))
        asked.append(Request(schema, condition, (Part((n,), (Total(g, 1, 0),), NONE),)))
    of_people = replace(other, unit=PerPerson("g"))
    n = e.Column("n", of_people.kind("n"))
    for people in (False, True):  # who a row is of is read only where it matters
        part = Part((n,), (Total(),), NONE, people=people)
        asked.append(Request(of_people, t.compare("<", n, t.constant(5)), (part,)))
    for request in [*asked, *asked[::-1]]:
        assert text(request, known=known) == text(request)
    assert 1 < len(known._texts) < len(asked)


def test_little_is_remembered_of_what_was_written(monkeypatch):
    monkeypatch.setattr("discreet.engines.compile._KEPT", 2)
    known = Cleaned()
    for request in list(REQUESTS.values())[::19]:
        assert text(request, known=known) == text(request)
        assert len(known._texts) <= 2


# whole numbers in the type that they are stored in

PLAIN = Part((LEVEL,), (Total(), Total(AGE), Total(AGE, 1, 0)), NONE)
EITHER = frozenset({"age", "level"})
OLDER = t.add(AGE, t.constant(1))


@pytest.mark.parametrize(
    ("parts", "where", "loose"),
    [
        ([PLAIN], None, EITHER),
        ([PLAIN], SMOKER, EITHER),
        ([PLAIN, PLAIN], None, EITHER),
        ([Part((), (Total(AGE, 0, 7),), NONE)], None, {"age"}),
        ([Part((AGE,), (), NONE, people=True)], None, {"age"}),
        ([Part((), (Total(AGE, 1, 0, where=SMOKER),), NONE)], None, {"age"}),
        # arithmetic on the column itself
        ([PLAIN, Part((), (Total(AGE, 1, 60),), NONE)], None, {"level"}),
        ([PLAIN, Part((), (Total(AGE, 1, -1),), NONE)], None, {"level"}),
        ([PLAIN, Part((), (Total(AGE, 2, 0),), NONE)], None, {"level"}),
        ([Part((LEVEL,), (Total(LEVEL, 2, 0),), NONE)], None, set()),
        # in an expression, or in a condition
        ([PLAIN, Part((), (Total(OLDER, 1, 0),), NONE)], None, {"level"}),
        ([PLAIN, Part((OLDER,), (Total(),), NONE)], None, {"level"}),
        ([PLAIN], t.compare("<", AGE, t.constant(30)), {"level"}),
        ([PLAIN], t.compare("<", LEVEL, OLDER), set()),
        ([PLAIN, Part((), (Total(where=t.is_null(LEVEL)),), NONE)], None, {"age"}),
        ([PLAIN, Part((corpus.lookup("ranks", "title", LEVEL),), (Total(),), NONE)], None, {"age"}),
        # weights multiply, and hashes see types
        ([PLAIN, Part((), (Total(AGE, 1, 0),), corpus.WAYS[0])], None, {"level"}),
        *(([replace(PLAIN, bounding=way)], None, set()) for way in corpus.WAYS),
        ([Part((LEVEL,), (), corpus.PEOPLE_WAYS[1], people=True)], None, set()),
    ],
)
def test_which_columns_nothing_is_computed_with(parts, where, loose):
    request = corpus.asked(*parts, where=where)
    assert _not_computed_with(request) & {"age", "level"} == loose
    for dialect in DIALECTS:
        made = text(request, dialect, hashing="portable")
        for name in {"age", "level"} & set(columns_used(request)):
            as_stored = f'THEN "r"."{name}" END' in made or f'ELSE "r"."{name}" END' in made
            assert as_stored == (dialect == "duckdb" and name in loose), (dialect, name, made)


def test_the_person_is_read_only_where_it_is_needed():
    counted = Part((DEPT,), (Total(),), NONE)
    plain = text(corpus.asked(counted))
    assert 'AS "p"' not in plain
    assert 'NOT "r"."person" IS NULL' in plain
    assert "person" not in text(corpus.asked(counted, schema=corpus.ROWS_SCHEMA))
    assert 'AS "p"' in text(corpus.asked(Part((DEPT,), (), NONE, people=True)))


def test_only_columns_that_are_asked_for_are_read():
    request = corpus.asked(Part((DEPT,), (Total(AGE, 1, 0),), NONE), where=SMOKER)
    assert list(columns_used(request)) == ["dept", "age", "smoker"]
    assert not {"salary", "note", "born"} & {
        c.name for c in sqlglot.parse_one(text(request), dialect="duckdb").find_all(exp.Column)
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_of_the_corpus_is_one_statement_in_every_dialect(dialect):
    for request in list(REQUESTS.values())[::5]:
        (tree,) = sqlglot.parse(text(request, dialect, hashing="portable"), dialect=dialect)
        assert isinstance(tree, exp.Select | exp.Union)
        assert not list(tree.find_all(*ELSE))
        for found in tree.find_all(exp.Identifier):
            assert found.args["quoted"], found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_else_than_select_is_ever_said(dialect):
    """With the hash of the engine; with the portable one it is looked at above."""
    for request in list(REQUESTS.values())[::18]:
        tree = sqlglot.parse_one(text(request, dialect), dialect=dialect)
        assert not list(tree.find_all(*ELSE))


def test_a_hash_key_changes_the_choice_and_nothing_else():
    request = corpus.asked(Part((DEPT,), (Total(SALARY, 1, 0),), Bounding("sample", 1, 1)))
    for hashing in ("engine", "portable"):
        one, two = (text(request, hashing=hashing, key=key) for key in ("a", "it's"))
        assert one != two
        assert len(sqlglot.parse(two, dialect="duckdb")) == 1


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(corpus.SCHEMA, None, ()), "at least one part"),
        (
            corpus.asked(Part((e.Column("nothing", Number(0, 1)),), (Total(),), NONE)),
            "no column 'nothing'",
        ),
        (
            Request(
                Schema("t", PerRow(), {"x": Hidden()}, {"x": "integer"}),
                None,
                (Part((e.Column("x", Number(0, 1)),), (Total(),), NONE),),
            ),
            "no column 'x'",
        ),
        (
            Request(
                Schema("t", PerPerson("p"), {"x": Bounds(0, 1, 1)}, {"x": "integer"}),
                None,
                (Part((), (Total(),), NONE),),
            ),
            "stores no column 'p'",
        ),
    ],
)
def test_what_is_refused(request_, words):
    with pytest.raises(QueryError, match=words):
        text(request_)


def test_named_values_are_fenced_where_the_engine_would_copy_them():
    request = corpus.asked(Part((), (Total(t.divide(BONUS, BONUS), 1, 0),), NONE))
    assert "OFFSET" not in text(request)
    deep = corpus.asked(Part((), (Total(t.divide(t.multiply(BONUS, AGE), BONUS), 1, 0),), NONE))
    assert "OFFSET 0" in text(deep, "postgres")
    assert "OFFSET" not in text(deep, "duckdb")
