"""The ways to bound people: what is refused; what they mean is in the contract."""

import duckdb
import pytest
from sqlglot import exp
from tests.engines import corpus, reference
from tests.engines.contract import settled
from tests.engines.corpus import AGE, DEPT, NOTE
from tests.engines.test_duckdb import table_of

from discreet.engines.compile import tree
from discreet.engines.dialects import DIALECTS, DuckDBDialect
from discreet.engines.reading import cells
from discreet.errors import QueryError
from discreet.query.request import Bounding, Part, Request, Total

DUCKDB = DIALECTS["duckdb"]
TABLE = exp.Table(this=exp.to_identifier("rows", quoted=True))


def compiled(*parts, schema=corpus.SCHEMA, sql=DUCKDB):
    request = Request(schema, None, parts)
    return tree(request, sql=sql, relation=TABLE, hashing="portable", key="k")


@pytest.mark.parametrize("way", ["sample", "clamp", "weight"])
def test_people_can_be_bounded_only_where_there_are_people(way):
    with pytest.raises(QueryError, match="PerPerson"):
        compiled(Part((), (Total(),), Bounding(way, rows=1)), schema=corpus.ROWS_SCHEMA)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Part((DEPT,), (), Bounding("none")), "needs a total"),
        (Part((), (Total(),), Bounding("weight", scale=5)), "number of rows"),
        (Part((), (), Bounding("weight", rows=5, scale=5), people=True), "of groups"),
        (Part((), (Total(),), Bounding("weight", rows=1 << 40, scale=1 << 40)), "beyond 2\\^62"),
        (Part((), (Total(),), Bounding("sample", rows=1, scale=5)), "only weights"),
        (Part((), (Total(AGE, 2, 0),), Bounding("clamp", rows=1)), "from the low end"),
        (Part((), (Total(AGE, 1, 5),), Bounding("clamp", rows=1)), "from the low end"),
        (Part((), (Total(NOTE, 1, 0),), Bounding("none")), "only numbers"),
    ],
)
def test_what_is_refused(part, words):
    with pytest.raises(QueryError, match=words):
        compiled(part)


def test_spread_needs_people():
    with pytest.raises(QueryError, match="PerPerson"):
        compiled(Part((), (), Bounding("none"), spread=(1,)), schema=corpus.ROWS_SCHEMA)


def test_weights_of_people_do_not_overflow():
    part = Part((DEPT,), (), Bounding("weight", groups=1, scale=1 << 61), people=True)
    with pytest.raises(QueryError, match="smaller scale"):
        compiled(part, schema=corpus.schema_of(row_limit=1 << 62))


class Standard(DuckDBDialect):
    """DuckDB with the shapes that the other engines use."""

    sorts_fast = False
    keeps_base = None


def test_the_other_shapes_have_the_integers_of_the_reference_too():
    """The corpus of test_duckdb.py has those that DuckDB uses itself."""
    rows, sql = corpus.main_rows(), Standard()
    requests = [
        r
        for name, r in corpus.hand_made().items()
        if name.startswith(("sample", "clamp", "weight", "people", "only"))
    ]
    assert len(requests) > 100
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", table_of(rows, corpus.TYPES))
        for request in requests:
            made = tree(request, sql=sql, relation=TABLE, hashing="portable", key="k")
            found = cells(request, connection.execute(sql.render(made)).fetchall())
            assert settled(request, found) == settled(request, reference.answer(rows, request))
