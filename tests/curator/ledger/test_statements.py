"""Statements whose values go by place: the places are those that the compiled text has."""

import pytest
from sqlalchemy import bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from discreet.curator.ledger import statements
from discreet.curator.ledger import tables as t
from discreet.curator.ledger.database import Database, Placed

PLACED = {k: v for k, v in vars(statements).items() if isinstance(v, Placed)}


@pytest.fixture
def database(tmp_path):
    made = Database(str(tmp_path / "d.db"))
    yield made
    made.close()


@pytest.mark.parametrize("name", PLACED)
def test_places_are_those_of_the_text(database, name):
    """In both dialects, as often as they are counted; and none has a name left."""
    placed = PLACED[name]
    for dialect, mark in (
        (sqlite.dialect(paramstyle="named"), "?"),
        (postgresql.psycopg.dialect(), "%s"),
    ):
        database.dialect = dialect
        database.texts.clear()
        text = database.texts[placed]
        assert text.count(mark) == len(placed.places)
        assert database.texts[placed] is text


@pytest.mark.parametrize("places", [(), ("one",), ("two", "one"), ("one", "two", "two")])
def test_values_in_another_order_are_no_statement(database, places):
    asked = select(t.entry.c.seq).where(t.entry.c.seq > bindparam("one"))
    with pytest.raises(TypeError, match="the values of a statement"):
        _ = database.texts[Placed(asked.where(t.entry.c.seq < bindparam("two")), *places)]
