"""Building blocks: sums that cannot overflow, and the places of the base rows."""

import pytest
from sqlglot import exp
from tests.engines import corpus
from tests.engines.corpus import AGE, BONUS, NOTE, SMOKER

from discreet.engines.dialects import DIALECTS, number
from discreet.engines.parts import MOST, Base, furthest, inputs, most_of, select, term
from discreet.errors import QueryError
from discreet.query.request import Bounding, Part, Total
from discreet.query.schema import PerRow

NAMES = {node: f"x{i}" for i, node in enumerate((AGE, BONUS, NOTE, SMOKER))}


def base(dialect="duckdb", schema=corpus.SCHEMA):
    return Base(DIALECTS[dialect], schema, NAMES, "portable", "k")


def written(total, *, weight=None, scale=1, dialect="duckdb", schema=corpus.SCHEMA):
    part = Part((), (total,), Bounding("weight" if weight else "none", 1, scale=scale))
    return term(base(dialect, schema), part, total, "b", weight).sql(dialect)


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (Total(), "COUNT(*)"),
        (Total(AGE), 'COUNT("b"."x0")'),
        (Total(where=SMOKER), 'COUNT(CASE WHEN "b"."x3" THEN 1 END)'),
        (Total(AGE, 1, 0), 'COALESCE(SUM("b"."x0"), 0)'),
        (Total(AGE, 1, 60), 'COALESCE(SUM(("b"."x0" - 60)), 0)'),
        (Total(BONUS, 1, -10), 'COALESCE(SUM(("b"."x1" + 10)), 0)'),
        (Total(AGE, 2, 60), 'COALESCE(SUM(("b"."x0" - 60) * ("b"."x0" - 60)), 0)'),
    ],
)
def test_totals(total, text):
    assert written(total) == text


def test_weights_multiply():
    assert written(Total(), weight=number(5), scale=5) == "COALESCE(SUM(5), 0)"
    assert written(Total(AGE, 1, 0), weight=number(5), scale=5) == 'COALESCE(SUM(5 * "b"."x0"), 0)'


def test_how_far_a_row_can_go():
    assert furthest(Total()) == 1
    assert furthest(Total(AGE, 1, 60)) == 60
    assert furthest(Total(AGE, 1, 0)) == 120
    assert furthest(Total(BONUS, 2, 0)) == 100
    with pytest.raises(QueryError, match="only numbers"):
        furthest(Total(NOTE, 1, 0))


def test_a_term_beyond_64_bits_is_computed_in_the_wide_type():
    assert "INT128" in written(Total(AGE, 10, 0), schema=corpus.schema_of(row_limit=10))
    assert "INT128" in written(Total(AGE, 1, 0), weight=number(1), scale=1 << 60)
    assert "INT128" not in written(Total(AGE, 1, 0), weight=number(1), scale=1 << 50)


def test_a_sum_that_could_overflow_is_refused():
    part = Part((), (Total(AGE, 1, 0),), Bounding("none"))
    rows = MOST // 120
    assert most_of(corpus.schema_of(row_limit=rows), part, part.totals[0]) < MOST
    with pytest.raises(QueryError, match="tighter bounds, a coarser grid or a smaller row_limit"):
        most_of(corpus.schema_of(row_limit=rows + 1), part, part.totals[0])


def test_inputs_are_listed_once():
    totals = (Total(), Total(AGE), Total(AGE, 1, 0, SMOKER), Total(where=SMOKER))
    assert inputs(Part((), totals, Bounding("none"))) == [AGE, SMOKER]


def test_the_base_is_a_subquery_or_a_name():
    for inline, text in ((True, "FROM (SELECT 1 AS"), (False, 'FROM "base" AS "b"')):
        rows = base()
        outer = select([number(2)], rows.rows())
        rows.fill(select([], exp.Table(this=exp.to_identifier("t"))), inline=inline)
        assert text in outer.sql("duckdb")


def test_hashes_need_people():
    with pytest.raises(QueryError, match="whose a row is"):
        base(schema=corpus.schema_of(unit=PerRow())).hashed([], "b")
