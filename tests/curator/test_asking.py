"""One part of a dataset, open for questions."""

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.curator.payroll import DEARER

import discreet as dp
from discreet.curator.asking import Asking, Given, wanting
from discreet.curator.policy.model import Dataset
from discreet.curator.search import Chosen
from discreet.query.price import Target
from discreet.query.schema import FindBounds


@pytest.fixture
def policy():
    return DEARER


def test_each_plan_and_declaration_has_its_own_price(curator):
    """What was found for one is not handed out for the next, with OPTIONS or without."""
    said = {"epsilon": None, "delta": None, "rho": None}
    wanted = wanting(curator.policy.defaults, **said, within=None, rows=None, column=None)
    part = curator._part("payroll", None, None)
    words = "WITH DIFFERENTIAL_PRIVACY OPTIONS"
    asked = [
        part.plan(f"SELECT {options} COUNT(*) AS n FROM payroll")
        for options in (f"{words} (epsilon = 0.25)", "", f"{words} (epsilon = 0.5)")
    ]
    prices = [Fraction(1, 4), curator.policy.defaults.epsilon, Fraction(1, 2)]
    for _ in range(2):
        for plan, price in zip(asked, prices, strict=True):
            for schema in (part.schema, replace(part.schema), part.schema):
                assert wanted(plan, schema) == wanted(plan, schema)
                assert wanted(plan, schema).epsilon == price


FIND = FindBounds(Fraction(1, 10))
TOTAL = "SELECT SUM(x) AS s FROM t"


@pytest.fixture
def part(tmp_path):
    """A dataset with bounds to be found, and a file that may be changed."""
    (tmp_path / "t.csv").write_text("id,x,y\n1,2,3\n2,3,4\n")
    made = Dataset(
        "t", "f", str(tmp_path / "t.csv"), None, "v1", dp.PerRow(), {"x": FIND, "y": FIND}, {},
        10**6, {}, {}, tmp_path,
    )  # fmt: skip
    return Asking(made, None, confidence="0.95")


def bounds(high):
    return Given(Chosen(bounds=dp.Bounds(0, high)).to_json())


def taken(part, high):
    part.begin()
    search = part.search(TOTAL)
    part.take(search, bounds(high), "analyst")
    assert part.search(TOTAL) is None
    return part.plan(TOTAL), part.priced(part.plan(TOTAL), Target(epsilon=1))[0]


def test_what_was_decided_under_the_same_findings_is_kept(part):
    """And under others, or none, something else."""
    plan, price = taken(part, 10)
    other, dearer = taken(part, 99)
    assert (plan, price) != (other, dearer)
    again = taken(part, 10)
    assert again[0] is plan
    assert again[1] is price
    assert taken(part, 99)[1] is dearer
    part.begin()
    search = part.search(TOTAL)
    assert search.column == "x"
    assert part.search(TOTAL) is search
    assert part.schema.columns["x"] == FIND
    part.suppose(search)
    assert part.schema.columns["x"] == search.instead.bounds


def test_only_so_many_declarations_are_kept(part):
    prices = [taken(part, high)[1] for high in range(1, 50)]
    assert prices[0] != prices[1]
    assert len(part._desk.under) <= 16
    assert taken(part, 1)[1] == prices[0]


def test_what_was_decided_under_columns_of_before_is_not_kept(part, tmp_path):
    """There is another column now; and what a question that is under way takes is not kept."""
    before = taken(part, 10)[0]
    part.begin()
    search = part.search(TOTAL)
    (tmp_path / "t.csv").write_text("id,x,y,z\n1,2,3,4\n")
    part.reopen()
    part.take(search, bounds(10), "analyst")  # of the question that is under way
    assert part.plan(TOTAL) == before
    after = taken(part, 10)[0]
    assert after is not before
    assert "z" in part.schema.storage


BOTH = "SELECT SUM(x + y) AS s FROM t"


def both(part, low, high):
    """What is decided where the bounds of two columns are found."""
    part.begin()
    for most in (low, high):
        part.take(part.search(BOTH), bounds(most), "analyst")
    assert part.search(BOTH) is None
    return part.schema, part.priced(part.plan(BOTH), Target(epsilon=1))[0]


def test_all_that_was_found_says_what_is_decided(part):
    """Not the last of it, nor what it is without its order."""
    cases = [(10, 20), (99, 20), (10, 99), (20, 10)]
    found = {case: both(part, *case) for case in cases}
    for (low, high), (schema, price) in found.items():
        assert [schema.columns[name].high for name in "xy"] == [low, high]
        assert price.losses == found[10, 20][1].losses
        assert both(part, low, high)[1] is price
    assert len({found[case][1].measured for case in cases[:3]}) == 3


def test_what_is_looked_for_is_of_the_columns_of_now(part, tmp_path):
    part.begin()
    before = part.search(TOTAL)
    (tmp_path / "t.csv").write_text("id,x,y,z\n1,2,3,4\n")
    part.reopen()
    part.begin()
    after = part.search(TOTAL)
    assert after is not before
    assert "z" in after.request.schema.storage
