"""Rolling up a roll-up, or marginals: nobody is counted twice."""

import pytest
from tests.curator.people import table

from discreet.curator.derive import between, rolled_up
from discreet.curator.one_level import finest, is_rollup, one_level
from discreet.curator.printed import key_texts
from discreet.errors import UnsupportedError

LEVELS = "SELECT dept, active, COUNT(*) AS n FROM t GROUP BY ROLLUP (dept, active)"


def asked(question):
    return table().session(epsilon=9).ask(question, epsilon=1)


def test_all_of_a_key_is_called_so_and_pictures_have_the_finest_groups():
    made = asked(LEVELS)
    assert key_texts(made, "dept")[0] == "(all)"
    assert "(all)" in str(made)
    assert "(none)" not in str(made)
    lowest = finest(made)
    assert None not in lowest["dept"] + lowest["active"]
    assert sum(lowest["n"]) == made["n"][0]
    assert len(lowest.raw["n"]) == len(lowest.intervals["n"]) == len(lowest) < len(made)
    assert "Drawn: the finest groups" in made.plot().to_json()
    plain = asked("SELECT dept, COUNT(*) AS n FROM t GROUP BY dept")
    assert finest(plain) is plain


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


def test_of_marginals_one_is_taken():
    columns, ways = ["dept", "active", "year(hired) AS y"], [["dept", "active"], ["y"]]
    made = table().session(epsilon=9).publish_marginals(columns, ways=ways, epsilon=1)
    assert rolled_up(made)["n"] == made["n"][:1]
    by_dept = rolled_up(made, by=["dept"])
    own = [place for place, row in enumerate(made) if row["marginal"] == "dept"]
    assert by_dept["n"] == [made["n"][place] for place in own]
    assert by_dept.intervals["n"] == tuple(made.intervals["n"][place] for place in own)
    assert (
        rolled_up(made, by=["active", "dept"]).rows == rolled_up(made, by=["active", "dept"]).rows
    )
    with pytest.raises(UnsupportedError, match="no marginal of dept, y"):
        rolled_up(made, by=["y", "dept"])
    assert len(rolled_up(made, by=["marginal"])) == len(set(made["marginal"]))
    years = [row["y"] for row in made if row["y"] is not None]
    ranged = between(made, "y", min(years), max(years) + 1)
    assert ranged["marginal"] == ["y"]
