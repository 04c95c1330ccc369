"""Statements that are compiled once: their values go by place, in the order of the text."""

import pytest
from sqlalchemy import bindparam, select

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.compiled import Placed
from discreet.curator.ledger.database import Database


@pytest.fixture
def database(tmp_path):
    made = Database(str(tmp_path / "d.db"))
    yield made
    made.close()


@pytest.mark.parametrize("places", [(), ("one",), ("two", "one"), ("one", "two", "two")])
def test_values_in_another_order_are_no_statement(database, places):
    asked = select(t.entry.c.seq).where(t.entry.c.seq > bindparam("one"))
    with pytest.raises(TypeError, match="the values of a statement"):
        _ = database.texts[Placed(asked.where(t.entry.c.seq < bindparam("two")), *places)]
