"""What a rest would still buy: the largest price that fits."""

from fractions import Fraction

import pytest

from discreet.curator.asking import Asking
from discreet.curator.ledger.amounts import Amount, cost_of
from discreet.curator.offer import largest
from discreet.curator.policy.model import Dataset
from discreet.query.price import Target
from discreet.query.schema import MOST_ROWS, FreeText, PerRow


@pytest.fixture
def asking(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c\nx\n")
    dataset = Dataset(
        name="t", family="f", source=str(path), table=None, version="1", unit=PerRow(),
        columns={"c": FreeText()}, lookups={}, row_limit=MOST_ROWS, options={}, blocks={},
        folder=tmp_path,
    )  # fmt: skip
    made = Asking(dataset, None, confidence="0.95")
    yield made
    made.close()


def offered(asking, question, target, left, accounting):
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
    found = offered(asking, COUNT, Target(epsilon=2), amount, "pure")
    assert found is not None
    assert Fraction(left) * Fraction(99, 100) < found.epsilon <= Fraction(left)


def test_an_offer_is_never_more_than_was_asked(asking):
    found = offered(asking, COUNT, Target(epsilon="0.2"), Amount(10**12), "pure")
    assert found == Target(epsilon="0.2")


def test_nothing_left_is_no_offer(asking):
    assert offered(asking, COUNT, Target(epsilon=1), Amount(0), "pure") is None


@pytest.mark.parametrize("target", [Target(epsilon=3), Target(rho="0.5")])
def test_rhos_are_filled_up(asking, target):
    left = Amount(10**10)
    found = offered(asking, COUNT, target, left, "zcdp")
    priced, _ = asking.priced(asking.plan(COUNT), found)
    cost = cost_of(priced.losses, "zcdp")
    assert cost.within(left)
    assert cost.main > 0.95 * left.main


def test_a_smaller_delta_is_offered_where_delta_is_short(asking):
    left = Amount(10**12, int(Fraction("1e-7") * 10**21))
    asked = Target(epsilon=1, delta="1e-6")
    found = offered(asking, KEYS, asked, left, "pure")
    assert found.delta < Fraction("1e-7")
    assert found.epsilon == 1
    nothing = Amount(10**12, 0)
    assert offered(asking, KEYS, asked, nothing, "pure") is None
