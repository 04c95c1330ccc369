"""What a search has found, as a record."""

import pytest
from tests.curator.payroll import spent
from tests.curator.test_searching import AVG, SUM, curator, failed, folder  # noqa: F401

from discreet.curator.found import charged_words
from discreet.curator.ledger.listing import released
from discreet.curator.record import Record
from discreet.privacy.guarantee import PureDP


def searches(curator, who):  # noqa: F811
    """The records of what was found, by what it was."""
    listed, _ = released(curator.ledger, who, most=100)
    keys = [one["key"] for one in listed if one["sql"].startswith("found: ")]
    return {one.question: one for one in map(curator.record, keys)}


def test_each_search_has_a_record(curator):  # noqa: F811
    answer = curator.ask(SUM, epsilon="0.1", analyst="alice")
    told = searches(curator, "alice")
    bounds, rows = told["found: bounds of bonus"], told["found: rows per person"]
    assert bounds.release.columns == ("low", "high")
    assert rows.release.columns == ("rows",)
    assert (bounds.release.notes[0], rows.release.notes[0]) == answer.release.notes[:2]
    assert (bounds.cost, rows.cost) == ("epsilon 0.1", "epsilon 0.2")
    assert bounds.release.guarantee == PureDP("0.1")
    assert bounds.analyst == "alice"
    assert Record.from_json(bounds.to_json()) == bounds
    assert answer.cost.startswith("epsilon 0.4 (epsilon 0.1 for the question, epsilon 0.1 to find ")
    assert curator.ask(AVG, epsilon="0.1", analyst="alice").cost == "epsilon 0.1"
    hit = curator.ask(SUM, epsilon="0.1", analyst="bob")
    assert hit.cost == answer.cost  # bob has paid for the searches too
    assert curator.record(hit.id).cost == hit.cost


@pytest.mark.parametrize("question", [SUM])
def test_one_that_failed_has_a_record_of_the_same_form(curator, question):  # noqa: F811
    failed(curator, question, analyst="alice")
    curator.ask(question, epsilon="0.1", analyst="bob")
    for name, mine in searches(curator, "alice").items():
        good = searches(curator, "bob")[name]
        assert "not found" in mine.release.notes[0]
        assert mine.release.columns == good.release.columns
        assert (mine.cost, mine.release.guarantee) == (good.cost, good.release.guarantee)


def test_costs_in_words():
    assert charged_words({"cost": "epsilon 1"}) == "epsilon 1"
    told = {"cost": "rho 1", "charged": "rho 3", "searched": [["x", "rho 2"]]}
    assert charged_words(told) == "rho 3 (rho 1 for the question, rho 2 to find x)"


def test_a_search_that_cost_nothing_is_in_no_cost(curator):  # noqa: F811
    """The owner is given what alice has paid for, and the people are not charged again."""
    curator.ask(SUM, epsilon="0.1", analyst="alice")
    assert spent(curator)["staff"] == "epsilon 0.4"
    assert curator.ask(AVG, epsilon="0.1").cost == "epsilon 0.1"
    assert spent(curator)["staff"] == "epsilon 0.5"
