"""The tree of running sums: what is passed on, what is checked, and how it reads."""

import pickle
from fractions import Fraction as F

import pytest

import discreet as dp
from discreet.privacy.balance import Balance, Node, Parts
from discreet.privacy.filter import EPSILON, RHO, Limits

PURE = Limits(epsilon=1).rule("add_or_remove")


def charged(node, loss):
    for at, totals in node.plan(node.price(loss)) or []:
        at.totals = totals


def test_a_plain_node_passes_on_all_of_it():
    whole = Node(PURE, None)
    part = Node(None, whole)
    charged(part, dp.losses.PureLoss(epsilon="0.25"))
    charged(part, dp.losses.PureLoss(epsilon="0.25"))
    assert whole.spent().epsilon == part.spent().epsilon == F(1, 2)
    assert part.left().epsilon == F(1, 2)


def test_parts_pass_on_what_rises_above_all_others():
    whole = Node(PURE, None)
    parts = Parts(None, whole)
    north, south = Node(None, parts), Node(None, parts)
    charged(north, dp.losses.PureLoss(epsilon="0.5"))
    charged(south, dp.losses.PureLoss(epsilon="0.25"))
    assert whole.spent().epsilon == F(1, 2)
    charged(south, dp.losses.PureLoss(epsilon="0.5"))
    assert whole.spent().epsilon == F(3, 4)
    assert north.left().epsilon == F(1, 2)
    assert south.left().epsilon == F(1, 4)


def test_a_plan_that_a_rule_forbids_is_none_and_changes_nothing():
    whole = Node(PURE, None)
    part = Node(None, whole)
    assert part.plan(part.price(dp.losses.PureLoss(epsilon=2))) is None
    assert whole.spent().epsilon == 0


def test_a_part_counts_what_the_whole_counts_and_more():
    whole = Node(PURE, None)
    part = Node(Limits(rho="0.1").rule("add_or_remove"), whole)
    assert part.currencies[: len(whole.currencies)] == whole.currencies
    assert RHO in part.currencies
    assert EPSILON in part.currencies


def test_prices_are_remembered_up_to_a_number(monkeypatch):
    from discreet.privacy import balance

    monkeypatch.setattr(balance, "KNOWN", 2)
    node = Node(PURE, None)
    for i in range(1, 6):
        assert node.price(dp.losses.PureLoss(epsilon=F(i, 10)))[0] == F(i, 10)
    assert len(node.known) == 2


def test_balances_read_by_name_and_in_words():
    balance = Balance(((EPSILON, F(1, 10)), (RHO, None)))
    assert balance.epsilon == F(1, 10)
    assert balance.rho is None
    assert str(balance) == "epsilon 0.1, no finite rho"
    with pytest.raises(dp.UnsupportedError, match="does not count gamma; it counts epsilon, rho"):
        _ = balance.gamma


def test_of_two_ways_that_are_open_both_are_said_and_a_closed_one_is_not():
    assert str(Balance(((EPSILON, F(1, 2)), (RHO, F(1, 4))), (EPSILON, RHO))) == (
        "epsilon 0.5 or rho 0.25"
    )
    assert str(Balance(((EPSILON, F(0)), (RHO, F(1, 4))), (EPSILON, RHO))) == "rho 0.25"
    assert str(Balance(((EPSILON, F(0)), (RHO, F(0))), (EPSILON, RHO))) == "nothing"
    assert repr(Balance(((EPSILON, F(1)),))) == "<epsilon 1>"


def test_a_share_says_what_it_divides_and_a_branch_no_more_than_can_be_had():
    whole = dp.Budget(epsilon=1, delta="1e-6")
    assert str(whole.split(8)[0].left).startswith("rho about 0.003")
    regions = whole.parallel(["north", "south"])
    regions["south"].charge(dp.losses.PureLoss(epsilon="0.3"))  # beyond the cap of rho
    assert str(regions["north"].left) == "epsilon 1"
    assert not regions["north"].affords(dp.losses.ZCDPLoss(rho="1e-6"))


def test_a_refusal_survives_the_way_to_another_process():
    budget = dp.Budget(epsilon=1)
    with pytest.raises(dp.BudgetExceededError) as caught:
        budget.charge(dp.losses.PureLoss(epsilon=2))
    twin = pickle.loads(pickle.dumps(caught.value))
    assert str(twin) == str(caught.value)
    assert (twin.asked, twin.left, twin.could) == (
        caught.value.asked,
        caught.value.left,
        caught.value.could,
    )
    wrong = dp.ParameterError("epsilon", 0, "must be above 0")
    assert str(pickle.loads(pickle.dumps(wrong))) == str(wrong)
