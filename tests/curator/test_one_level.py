"""Rolling up a roll-up: nobody is counted twice."""

from tests.curator.people import table

from discreet.curator.derive import between, rolled_up
from discreet.curator.one_level import is_rollup, one_level

LEVELS = "SELECT dept, active, COUNT(*) AS n FROM t GROUP BY ROLLUP (dept, active)"


def asked(question):
    return table().session(epsilon=9).ask(question, epsilon=1)


def test_a_level_is_taken_as_it_was_published():
    made = asked(LEVELS)
    everybody = rolled_up(made)
    assert everybody["n"] == [made["n"][0]]
    assert everybody.intervals["n"] == (made.intervals["n"][0],)
    by_dept = rolled_up(made, by=["dept"])
    wanted = {row["dept"]: row["n"] for row in made if row["dept"] and row["active"] is None}
    assert dict(zip(by_dept["dept"], by_dept["n"], strict=True)) == wanted


def test_what_is_no_level_is_added_up_from_the_finest():
    made = asked(LEVELS)
    by_active = rolled_up(made, by=["active"])
    assert set(by_active["active"]) == {True, False}
    assert sum(by_active["n"]) == made["n"][0]


def test_a_range_counts_nobody_twice():
    made = asked("SELECT year(hired) AS y, COUNT(*) AS n FROM t GROUP BY ROLLUP (year(hired))")
    years = [row for row in made if row["y"] is not None]
    found = between(made, "y", years[0]["y"], years[-1]["y"] + 1)
    assert found["n"] == [made["n"][0]]


def test_other_releases_stay_as_they_are():
    made = asked("SELECT dept, COUNT(*) AS n FROM t GROUP BY dept")
    assert not is_rollup(made)
    assert one_level(made, ["dept"]) is made
