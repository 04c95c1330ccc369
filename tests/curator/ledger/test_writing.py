"""One transaction: what it says to the database, and that all accounts pay or none."""

import pytest
from tests.curator.ledger.harness import UNIT, ask, claim, replace

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.values import Charge, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("costs", [(60, 1), (1, 60), (60, 70), (10**30, 1), (60, 10**30)])
def test_all_accounts_pay_or_none(either, costs, turned):
    """Whoever has too little, in whatever order: the first that has is named, and nobody paid."""
    with either.new() as made:
        made.reserve(claim("before", cost=50 * UNIT))
        names = ("staff", "staff@ann")
        charges = [
            Charge(name, Amount(cost * UNIT)) for name, cost in zip(names, costs, strict=True)
        ]
        if turned:
            charges.reverse()
        enough = [c.amount.main <= 50 * UNIT for c in charges]
        before = made.everything()
        with pytest.raises(BudgetExceededError) as caught:
            made.reserve(replace(claim("a"), charges=tuple(charges)))
        first = charges[enough.index(False)]
        assert f"of {first.account} epsilon 50 is left" in str(caught.value)
        assert caught.value.asked == first.amount
        assert made.everything() == before
        assert isinstance(made.reserve(claim("a")), Pending)  # while the refusal is still looked at
        verified(made)


def test_a_charge_is_two_statements(place):
    """Each a commit by itself: the driver hands nothing else to the database."""
    said = []
    with place.new() as ledger:
        ask(ledger, place, claim("before"))
        ask(ledger, place, claim("another"))
        ledger._database._raw.set_trace_callback(said.append)
        ask(ledger, place, claim("a"))
        ledger._database._raw.set_trace_callback(None)
    words = [" ".join(line.split()[:3]) for line in said]  # told once more for each trigger's step
    assert list(dict.fromkeys(words)) == [
        "INSERT INTO discreet_charging",
        "INSERT INTO discreet_answering",
    ]
