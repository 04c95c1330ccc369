"""What has to be found for a question, one thing after the other."""

import pytest

from discreet.curator.search import Chosen, next_search
from discreet.errors import QueryError
from discreet.query.schema import Bounds, FindBounds, Keys, PerPerson, PerRow, Schema

COLUMNS = {
    "a": FindBounds(epsilon="0.1"),
    "b": FindBounds(epsilon="0.2"),
    "c": Bounds(0, 10, 1),
    "g": Keys([1, 2]),
}
STORAGE = {"a": "integer", "b": "real", "c": "integer", "g": "integer", "p": "integer"}


def schema(unit=None):
    return Schema("t", unit or PerRow(), COLUMNS, STORAGE, {}, 10**9)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT COUNT(*) FROM t", []),
        ("SELECT SUM(c) FROM t GROUP BY g", []),
        ("SELECT SUM(a) FROM t", ["a"]),
        ("SELECT SUM(b), AVG(a) FROM t", ["a", "b"]),
        ("SELECT COUNT(*) FROM t WHERE b > 3", ["b"]),
    ],
)
def test_columns_that_are_used(sql, wanted):
    found, now = [], schema()
    while (search := next_search(sql, now)) is not None:
        found.append(search.column)
        now = search.applied(now, Chosen(bounds=Bounds(0, 100, 1)))
    assert found == wanted


def test_rows_per_person_come_last_and_only_where_rows_count():
    unit = PerPerson("p", max_rows="find", find_epsilon="0.5")
    first = next_search("SELECT SUM(a) FROM t", schema(unit))
    assert first.column == "a"
    now = first.applied(schema(unit), Chosen(bounds=Bounds(0, 100, 1)))
    second = next_search("SELECT SUM(a) FROM t", now)
    assert second.column is None
    assert second.loss.epsilon == 1 / second.loss.epsilon / 4
    now = second.applied(now, Chosen(rows=8))
    assert now.unit.max_rows == 8
    assert next_search("SELECT SUM(a) FROM t", now) is None
    assert next_search("SELECT COUNT(DISTINCT p) FROM t", schema(unit)) is None


def test_a_wrong_question_finds_nothing():
    with pytest.raises(QueryError):
        next_search("SELECT SUM(a) FROM t WHERE nonsense > 1", schema())


@pytest.mark.parametrize("chosen", [Chosen(rows=4), Chosen(bounds=Bounds("-1/3", "2/3", "1/3"))])
def test_what_was_chosen_is_stored_and_read(chosen):
    assert Chosen.read(chosen.to_json()) == chosen
    assert Chosen.read('{"nothing": "words"}') is None
