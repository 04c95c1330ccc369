"""What was answered, a page at a time; what happened, line by line: tests/cli/test_ledgers.py."""

import pytest
from tests.curator.payroll import COUNT, POLICY, SUM, failing, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.listing import lines_of, released


@pytest.fixture
def curator(tmp_path):
    write_rows(tmp_path / "payroll.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        yield made


def test_pages_are_numbered_by_their_own_answers(curator):
    for n in range(5):
        curator.ask(COUNT, epsilon=f"0.0{n + 1}", analyst="alice", key=f"k{n}")
        curator.ask(SUM, epsilon=f"0.0{n + 1}", analyst="bob")
    first, following = released(curator.ledger, "alice", most=2)
    assert [one["cost"] for one in first] == ["epsilon 0.05", "epsilon 0.04"]
    assert following == 3  # own answers, not entries of the ledger
    second, following = released(curator.ledger, "alice", most=2, before=following)
    third, last = released(curator.ledger, "alice", most=2, before=following)
    assert [one["cost"] for one in second + third] == [f"epsilon 0.0{n}" for n in (3, 2, 1)]
    assert last is None
    everybody, _ = released(curator.ledger, most=100)
    assert len(everybody) == 10
    assert {one["analyst"] for one in everybody} == {"alice", "bob"}


def test_a_search_is_listed_and_a_failure_is_marked(curator):
    bonus = "SELECT SUM(bonus) AS s FROM payroll"
    curator.ask(bonus, epsilon="0.1", analyst="alice")
    curator.query("payroll")
    asking = curator._parts["payroll", None]
    asking.engine.run = failing
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    found, _ = released(curator.ledger, "alice", most=10)
    assert [one["failed"] for one in found] == [True, False, False]
    assert [one["cost"] for one in found] == ["epsilon 0.1"] * 3
    assert found[-1]["sql"] == "found: bounds of bonus"
    entries, accounts, _ = curator.ledger.everything()
    states = [line.state for line in lines_of(entries, accounts)]
    assert states == ["answered", "answered", "failed"]
