"""What a rest would still buy: the largest price that fits."""

import pickle
import re
from fractions import Fraction

import pytest

from discreet.curator.asking import Asking
from discreet.curator.ledger.amounts import Amount, cost_of
from discreet.curator.ledger.values import Account
from discreet.curator.offer import Offer, largest, offered, offering, short_of_people
from discreet.curator.policy.model import Dataset
from discreet.errors import BudgetExceededError
from discreet.query.explain import PriceLine
from discreet.query.price import Target
from discreet.query.schema import MOST_ROWS, Bounds, FreeText, PerRow


@pytest.fixture
def asking(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,pay\nx,1\n")
    dataset = Dataset(
        name="t", family="f", source=str(path), table=None, version="1", unit=PerRow(),
        columns={"c": FreeText(), "pay": Bounds(0, 100, 1)}, lookups={},
        row_limit=MOST_ROWS, options={}, blocks={}, folder=tmp_path,
    )  # fmt: skip
    made = Asking(dataset, None, confidence="0.95")
    yield made
    made.close()


def found_for(asking, question, target, left, accounting):
    """The largest price at which a question fits into an account."""
    return largest(
        asking, asking.plan(question), target,
        lambda found: cost_of(found.losses, accounting).within(left),
        left=left.value(), adds_up=accounting == "pure" or target.rho is not None,
    )  # fmt: skip


COUNT = "SELECT COUNT(*) AS n FROM t"
KEYS = "SELECT c, COUNT(*) AS n FROM t GROUP BY c"


@pytest.mark.parametrize("left", ["1", "0.3", "0.12345", "0.000077", "1e-9"])
def test_pure_sums_leave_what_is_left_in_three_digits(asking, left):
    amount = Amount(int(Fraction(left) * 10**12))
    found = found_for(asking, COUNT, Target(epsilon=2), amount, "pure")
    assert found is not None
    assert Fraction(left) * Fraction(99, 100) < found.epsilon <= Fraction(left)


def test_an_offer_is_never_more_than_was_asked(asking):
    found = found_for(asking, COUNT, Target(epsilon="0.2"), Amount(10**12), "pure")
    assert found == Target(epsilon="0.2")


def test_nothing_left_is_no_offer(asking):
    assert found_for(asking, COUNT, Target(epsilon=1), Amount(0), "pure") is None


@pytest.mark.parametrize("target", [Target(epsilon=3), Target(rho="0.5")])
def test_rhos_are_filled_up(asking, target):
    left = Amount(10**10)
    found = found_for(asking, COUNT, target, left, "zcdp")
    priced, _ = asking.priced(asking.plan(COUNT), found)
    cost = cost_of(priced.losses, "zcdp")
    assert cost.within(left)
    assert cost.main > 0.95 * left.main


def test_a_smaller_delta_is_offered_where_delta_is_short(asking):
    left = Amount(10**12, int(Fraction("1e-7") * 10**21))
    asked = Target(epsilon=1, delta="1e-6")
    found = found_for(asking, KEYS, asked, left, "pure")
    assert found.delta < Fraction("1e-7")
    assert found.epsilon == 1
    nothing = Amount(10**12, 0)
    assert found_for(asking, KEYS, asked, nothing, "pure") is None


# what an offer tells

MEDIAN = "SELECT MEDIAN(pay) AS m FROM t"
LEVEL = Fraction(95, 100)


@pytest.mark.parametrize(
    ("question", "epsilon", "words"),
    [
        (COUNT, "0.5", r": n within \d+$"),
        (COUNT, "7.5", r": n within 0$"),
        (MEDIAN, "0.5", r": m within [\d.]+ ranks$"),
        ("SELECT MEDIAN(pay) AS m, COUNT(*) AS n FROM t", "2", r": m within .+ ranks, n within \d"),
    ],
)
def test_every_offer_tells_how_far_off_it_is(asking, question, epsilon, words):
    offer = offered(asking, asking.plan(question), Target(epsilon=epsilon), confidence=LEVEL)
    assert re.search(words, offer.errors())


def test_what_nothing_is_known_of_is_left_out():
    offer = Offer(Target(epsilon=1), LEVEL, (PriceLine("x", "noise", None, None),))
    assert offer.errors() == ""


def test_an_offer_is_told_to_machines(asking):
    price = Target(epsilon="0.5", delta="1e-7")
    told = offered(asking, asking.plan(COUNT), price, confidence=LEVEL).to_dict()
    (column,) = told.pop("columns")
    assert told == {"epsilon": "1/2", "delta": "1/10000000", "confidence": "19/20"}
    assert column["name"] == "n"
    assert column["within"] > 0


def test_a_refusal_carries_its_offer(asking):
    refusal = BudgetExceededError("too much", asked=None, left=None, could=None)
    offer = offered(asking, asking.plan(COUNT), Target(rho="0.5"), confidence=LEVEL)
    found = pickle.loads(pickle.dumps(offering(refusal, offer, searched=True)))
    assert found.told == {"charged": True, "offer": offer.to_dict()}
    assert found.could == Fraction(1, 2)
    assert "what had to be found for it is charged, and kept. With rho 0.5 it" in str(found)
    assert offering(refusal, None, searched=False).told == {}


# whose rest


@pytest.mark.parametrize(
    ("sealed", "tells", "words", "left"),
    [
        (False, False, "the budget of these people does not suffice", None),
        (False, True, "costs epsilon 0.5, and of the budget of these people epsilon 0.2 is", 200),
        (True, True, "these data were retired", None),
        (True, False, "these data were retired", None),
    ],
)
def test_the_people_s_rest_is_told_where_the_policy_says_so(sealed, tells, words, left):
    milli = 10**9
    people = Account(1, "f", "pure", Amount(1000 * milli), Amount(800 * milli), sealed)
    found = short_of_people(Amount(500 * milli), people, tells_rest=tells)
    assert words in str(found)
    assert str(found).endswith("; nothing was charged")
    assert found.left == (None if left is None else Amount(left * milli))
    assert ("0.2" in str(found)) == (left is not None)
    assert found.told["cost"] == {"epsilon": "0.5", "delta": "0"}
    assert ("left" in found.told) == (left is not None)
