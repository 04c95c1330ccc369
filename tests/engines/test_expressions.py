"""Expressions as SQL, against their meaning in Python; the corpus does the same on every engine."""

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.engines import corpus
from tests.engines.corpus import AGE, BONUS, NASTILY, NOTE, SALARY, SMOKER, ZIP

from discreet.engines.dialects import DIALECTS
from discreet.engines.expressions import DEEPEST, Translator, bare, typed
from discreet.errors import QueryError
from discreet.query import expr as e
from discreet.query import total as t
from discreet.query.kinds import Day, Flag, Number, Text

NAMES = {name: f"c{i}" for i, name in enumerate(corpus.COLUMNS)}


def translator(dialect="duckdb"):
    return Translator(DIALECTS[dialect], columns=NAMES, tables=corpus.TABLES)


@pytest.mark.parametrize(
    "node", [n for n in vars(e).values() if isinstance(n, type) and hasattr(n, "kind")]
)
def test_every_node_has_a_translation(node):
    assert hasattr(Translator, f"_{node.__name__}")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", corpus.expressions())
def test_every_dialect_can_say_everything(dialect, name):
    text = translator(dialect)(corpus.expressions()[name]).sql(dialect)
    assert sqlglot.parse_one(text, dialect=dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_brackets_keep_the_meaning(dialect):
    """What was built is what a parser reads back: no operator binds differently."""
    for node in (*corpus.conditions().values(), *corpus.expressions().values()):
        text = translator(dialect)(node).sql(dialect)
        again = sqlglot.parse_one(text, dialect=dialect).sql(dialect)
        assert again.upper() == text.upper()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_texts_are_read_back_as_they_were(text):
    for dialect, sql in DIALECTS.items():
        written = sql.string(text).sql(dialect)
        back = sqlglot.parse_one(written, dialect=dialect)
        assert back.find(exp.Literal).this == text


def test_a_text_with_nul_is_refused():
    with pytest.raises(QueryError, match="NUL"):
        typed("a\0b", Text(), DIALECTS["duckdb"])


def test_constants_have_their_type():
    sql = DIALECTS["duckdb"]
    assert typed(5, Number(5, 5), sql).sql("duckdb") == "CAST(5 AS BIGINT)"
    assert typed(None, Day, sql).sql("duckdb") == "CAST(NULL AS DATE)"
    assert bare(-5, Number(-5, -5), sql).sql("duckdb") == "-5"
    assert bare(True, Flag(), sql).sql("duckdb") == "TRUE"
    with pytest.raises(QueryError, match="is not BIGINT"):
        bare("x", Number(0, 1), sql)


def test_what_is_needed_twice_is_named_once():
    translate = translator()
    top = t.divide(t.multiply(NASTILY, AGE), BONUS)
    first = translate(top).sql("duckdb")
    assert translate(top).sql("duckdb") == first
    assert [[name for name, _ in level.values] for level in translate.levels] == [["n0"]]
    assert "n0" in first
    assert "c0" not in first


def test_statements_stay_as_long_as_the_question():
    node, sizes = t.add(AGE, t.constant(1)), []
    for _ in range(4):
        node = t.add(t.floor(t.divide(t.multiply(BONUS, t.constant(1)), node)), t.constant(1))
        translate = translator()
        made = translate(node).sql("duckdb")
        levels = sum(len(v.sql("duckdb")) for level in translate.levels for _, v in level.values)
        sizes.append(len(made) + levels)
    assert sizes[3] - sizes[2] <= 2 * (sizes[1] - sizes[0])


def test_naming_does_not_go_too_deep():
    node = t.add(AGE, t.constant(1))
    for _ in range(DEEPEST + 1):
        node = t.logarithm(t.add(node, t.constant(1)))
    with pytest.raises(QueryError, match="deep at most"):
        translator()(node)


def test_lookups_share_a_join_and_need_their_table():
    translate = translator()
    for name in ("rank", "region", "since"):
        translate(corpus.lookup("zips", name, ZIP))
    assert len(translate.levels) == 1
    assert [title for title, _, _ in translate.levels[0].joins] == ["l0"]
    with pytest.raises(QueryError, match="no public table 'other'"):
        translate(e.Lookup("other", "x", ZIP, Number(0, 1)))


def test_three_valued_logic_keeps_its_shape():
    text = translator()(t.negation(t.any_of([SMOKER, t.compare("<", AGE, SALARY)]))).sql("duckdb")
    assert text == 'NOT ("a"."c7" OR ("a"."c0" * 100 < "a"."c1"))'.replace(
        '"a"."c0" * 100', '("a"."c0" * 100)'
    )
    assert translator()(t.is_null(NOTE)).sql("duckdb") == '"a"."c11" IS NULL'
