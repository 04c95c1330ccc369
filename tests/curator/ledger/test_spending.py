"""What was spent over time adds up to what the accounts say."""

from contextlib import suppress

import pytest
from tests.curator.payroll import COUNT, POLICY, SUM, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.spending import spending
from discreet.errors import NothingFoundError


@pytest.fixture
def curator(tmp_path):
    write_rows(tmp_path / "payroll.csv", people=50)
    (tmp_path / "policy.toml").write_text(POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        yield made


def last(steps):
    return {(step.of, step.name): step.spent for step in steps}


def told(curator, **more):
    return spending(curator.ledger.entries(), list(curator.accounts().values()), **more)


def test_nothing_was_spent_at_first(curator):
    assert told(curator) == []


def test_the_last_steps_are_the_accounts(curator):
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    curator.ask(COUNT, epsilon="0.1", analyst="bob")  # a stored answer: costs bob, not the people
    curator.ask(SUM, epsilon="0.25", analyst="bob")
    curator.ask(SUM, epsilon="0.5")
    with suppress(NothingFoundError):  # a search is charged, whatever it finds
        curator.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon="0.1", analyst="alice")
    accounts, found = curator.accounts(), last(told(curator))
    assert found["family", "staff"] == accounts["staff"].spent
    assert found["asker", "alice"] == accounts["staff@alice"].spent
    assert found["asker", "bob"] == accounts["staff@bob"].spent
    assert found["asker", "owner"] == Amount(500_000_000_000)


def test_steps_rise_in_time_and_many_are_thinned(curator):
    for n in range(12):
        curator.ask(COUNT, epsilon="0.01", analyst="alice", key=f"k{n}")
        curator.ask(SUM, epsilon=f"0.0{n + 11}", analyst="alice", key=f"s{n}")
    everything, few = told(curator), told(curator, most=5)
    steps = [step for step in everything if step.of == "family"]
    assert [step.spent.main for step in steps] == sorted(step.spent.main for step in steps)
    assert [step.at for step in everything] == sorted(step.at for step in everything)
    assert len([step for step in few if step.of == "family"]) == 5
    assert last(few) == last(everything)
