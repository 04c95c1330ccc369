"""Statements whose values go by place: the places are those that the compiled text has."""

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from discreet.curator.ledger import statements
from discreet.curator.ledger.compiled import Placed
from discreet.curator.ledger.database import Database

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
