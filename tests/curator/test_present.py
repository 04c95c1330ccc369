"""HAVING, ORDER BY, LIMIT and expressions work on released numbers."""

import pytest
from tests.curator.people import rows, table

import discreet as dp

LOUD = {"epsilon": 400}


@pytest.fixture(scope="module")
def session():
    listed = rows(300)
    return table([*listed, *(row | {"dept": "chef"} for row in listed[:50])]).session(epsilon=1000)


def test_order_and_limit(session):
    answer = session.ask(
        "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept ORDER BY n DESC, dept LIMIT 3", epsilon=50
    )
    assert answer["dept"] == ["chef", "clerk", "nurse"]
    assert answer["n"] == [150, 100, 100]
    assert [
        low <= n <= high for n, (low, high) in zip(answer["n"], answer.intervals["n"], strict=True)
    ]


def test_having_keeps_what_was_released(session):
    answer = session.ask(
        "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept HAVING COUNT(*) > 120", epsilon=50
    )
    assert answer["dept"] == ["chef"]


def test_expressions_of_released_numbers(session):
    answer = session.ask(
        "SELECT dept, COUNT(*) / 2 AS half, ROUND(AVG(age), 1) AS age FROM t GROUP BY dept",
        epsilon=50,
    )
    assert answer["half"][0] == 50
    assert answer.intervals.keys() == set()  # an expression has none of its own
    assert answer.keys == ("dept",)


def test_keys_are_shown_as_people_write_them(session):
    answer = session.ask(
        "SELECT FLOOR(salary / 50000) * 50000 AS band, COUNT(*) AS n FROM t GROUP BY band",
        epsilon=50,
    )
    assert answer["band"] == [50_000 * i for i in range(9)]


def test_numbers_say_how_they_were_made(session):
    answer = session.ask("SELECT COUNT(*) AS n, MEDIAN(age) AS q FROM t", epsilon=1)
    assert answer.mechanisms["n"] == "geometric, epsilon 0.5"
    chosen = "permute-and-flip, epsilon 0.5, in steps of 1, within "
    assert answer.mechanisms["q"].startswith(chosen)
    assert "Intervals cover the noise" in answer.covers
    assert answer.raw["n"] == tuple(answer["n"])


def test_nothing_is_left_of_an_impossible_having(session):
    answer = session.ask(
        "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept HAVING COUNT(*) < -1000000", epsilon=1
    )
    assert len(answer) == 0
    assert isinstance(answer, dp.Release)


def test_what_is_computed_says_why_it_has_no_interval(session):
    answer = session.ask(
        "SELECT COUNT(*) FILTER (WHERE age > 30) / COUNT(*) AS share, COUNT(*) AS n FROM t",
        epsilon=50,
    )
    assert list(answer.intervals) == ["n"]
    (told,) = [note for note in answer.notes if "interval" in note]
    assert told.startswith("share has no interval: it is computed from COUNT")
    assert told.endswith("which have one where they are asked for, too")
    alone = session.ask("SELECT COUNT(*) AS n, SUM(age) AS s FROM t", epsilon=50)
    assert not any("interval" in note for note in alone.notes)
