"""Registering policies: no name, version or file creates budget."""

from pathlib import Path

import pytest
from tests.curator.ledger.harness import UNIT, ask, claim, registration

from discreet.curator.ledger.amounts import Amount, limit_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import opened_or_made, register, retire
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError, ParameterError


@pytest.fixture
def empty(either):
    with Ledger.create(either.address, head=either.head) as made:
        yield made


def refused(ledger, wanted, words, **more):
    before = ledger.everything(), ledger.policy
    with pytest.raises(LedgerError, match=words):
        register(ledger, wanted, **more)
    assert (ledger.everything(), ledger.policy) == before


def totals(ledger):
    return {name: account.total.value() for name, account in ledger.accounts.items()}


def second(**more):
    return registration(fingerprint="policy-2", **more)


def test_a_first_policy_opens_its_accounts(empty):
    version, words = register(empty, registration(10, 4))
    assert version == 1
    assert totals(empty) == {"staff": 10, "staff@ann": 4, "staff@bob": 4}
    assert words == [
        "staff may spend epsilon 10",
        "staff@ann may spend epsilon 4",
        "staff@bob may spend epsilon 4",
    ]
    assert empty.policy == ("policy-1", 1)
    verified(empty)


def test_the_same_policy_again_changes_nothing(ledger, place):
    ask(ledger, place, claim("a"))
    before = ledger.everything()
    assert register(ledger, registration()) == (1, [])
    assert ledger.everything() == before


def test_going_back_to_an_older_policy_is_a_new_version_and_no_new_budget(ledger, place):
    ask(ledger, place, claim("a"))
    assert register(ledger, second())[0] == 2
    assert register(ledger, registration())[0] == 3
    assert ledger.accounts["staff"].spent == Amount(UNIT)
    verified(ledger)


def test_more_budget_has_to_be_said(ledger):
    refused(ledger, second(total=101), "--more-budget staff")
    refused(ledger, second(total=101), "--more-budget staff@ann", more_budget=["staff"])
    words = register(ledger, second(total=101), more_budget=["staff", "staff@ann", "staff@bob"])[1]
    assert words[0] == "staff: from epsilon 100 to epsilon 101"
    assert totals(ledger)["staff"] == 101
    verified(ledger)


def test_less_budget_is_fine_down_to_what_was_spent(ledger, place):
    for number in range(3):
        ask(ledger, place, claim(f"k{number}"))
    refused(ledger, second(total=2, allowance=3), "has spent epsilon 3 already")
    register(ledger, second(total=3, allowance=3))
    with pytest.raises(BudgetExceededError):
        ledger.reserve(claim("more", cost=1, policy="policy-2"))
    verified(ledger)


def test_the_accounting_of_an_account_stays(ledger):
    limit = limit_of(accounting="zcdp", rho=1)
    refused(ledger, second(families={"staff": limit}), "accounted for as 'pure'")


@pytest.mark.parametrize("more_budget", [(), ("people",)])
def test_a_new_name_for_a_family_is_no_new_budget(ledger, more_budget):
    limit = limit_of(epsilon=100)
    renamed = {"families": {"people": limit}, "allowances": {}}
    words = "belongs to the family 'staff'"
    refused(
        ledger, second(**renamed, sources={"a.csv": "people"}), words, more_budget=more_budget,
        new_people=["people"],
    )  # fmt: skip
    refused(ledger, second(**renamed, sources={"b.csv": "people"}), "--new-people people")


@pytest.mark.parametrize("option", ["new_people", "more_budget"])
def test_what_the_policy_does_not_know_is_refused(ledger, option):
    """A slip would do nothing, and say nothing."""
    before = ledger.head
    wanted = registration(fingerprint="q")
    with pytest.raises(ParameterError, match=r"of the policy: staff.*, got 'nope'"):
        register(ledger, wanted, **{option: ["nope"]})
    assert ledger.head == before


def test_new_people_have_to_be_declared(ledger):
    limit = limit_of(epsilon=100)
    both = second(
        families={"staff": limit, "guests": limit}, sources={"a.csv": "staff", "g.csv": "guests"}
    )
    refused(ledger, both, "the family 'guests' is new")
    assert register(ledger, both, new_people=["guests"])[1] == ["guests may spend epsilon 100"]
    assert ledger.accounts["guests"].id == 4
    verified(ledger)


def test_a_family_that_was_left_out_comes_back_with_what_it_spent(ledger, place):
    limit = limit_of(epsilon=100)
    ask(ledger, place, claim("a"))
    other = second(families={"guests": limit}, sources={"g.csv": "guests"}, allowances={})
    register(ledger, other, new_people=["guests"])
    register(ledger, registration(fingerprint="policy-3"))
    assert ledger.accounts["staff"].spent == Amount(UNIT)
    refused(ledger, second(sources={"g.csv": "staff"}), "belongs to the family 'guests'")
    verified(ledger)


def test_a_name_is_a_family_or_an_allowance(empty):
    limit = limit_of(epsilon=1)
    wrong = registration(families={"x": limit}, allowances={"x": limit}, sources={})
    refused(empty, wrong, "names a family and an allowance")


def test_two_registrations_at_once_do_not_both_come_first(either):
    """What a registration compares with is read in its own transaction."""
    limit = limit_of(epsilon=1)
    with Ledger.create(either.address, head=either.head) as one, either.open() as two:
        register(one, registration(families={"a": limit}, allowances={}, sources={}))
        wanted = second(families={"b": limit}, allowances={}, sources={})
        refused(two, wanted, "--new-people b")
        assert register(two, wanted, new_people=["b"])[0] == 2
        verified(one)


def test_a_ledger_that_was_emptied_is_gone(place):
    place.new().close()
    for beside in ("-wal", "-shm"):
        Path(f"{place.address}{beside}").unlink(missing_ok=True)
    Path(place.address).write_bytes(b"")
    with pytest.raises(LedgerError, match=r"its ledger does not.*put a backup in its place"):
        opened_or_made(place.address, Path(place.head))


def test_retiring_is_for_good_and_once(ledger):
    retire(ledger, "staff")
    head = ledger.head
    retire(ledger, "staff")
    assert ledger.head == head
    assert ledger.accounts["staff"].left == Amount(0)
    with pytest.raises(LedgerError, match="no account 'guests'; there are: staff, staff@ann"):
        retire(ledger, "guests")
    register(ledger, second(total=101), more_budget=["staff", "staff@ann", "staff@bob"])
    with pytest.raises(BudgetExceededError, match="retired"):
        ledger.reserve(claim("a", policy="policy-2"))
    verified(ledger)
