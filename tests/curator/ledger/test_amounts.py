"""Units: costs round up, limits down, and no sum is ever smaller than what it stands for."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.ledger.amounts import (
    DELTAS,
    MAIN,
    NOTHING,
    Amount,
    cost_of,
    limit_of,
    told_apart,
)
from discreet.errors import DiscreetError, ParameterError, QueryError
from discreet.privacy.convert import largest_rho
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.loss import ApproxLoss, PureLoss, ZCDPLoss

TENTH = Fraction(1, 10)
epsilons = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**15)
deltas = st.fractions(min_value=Fraction(1, 10**20), max_value=Fraction(1, 128))


def loss(epsilon=None, delta=None, rho=None):
    """What a release with such a guarantee leaks."""
    if rho is not None:
        return ZCDPLoss(rho=rho)
    return PureLoss(epsilon=epsilon) if delta is None else ApproxLoss(epsilon=epsilon, delta=delta)


@given(st.lists(epsilons, min_size=1, max_size=5))
def test_a_cost_is_rounded_up_once(values):
    """The units are at least the exact sum, and by less than one more."""
    cost = cost_of([loss(value) for value in values], "pure")
    assert sum(values) <= cost.value() < sum(values) + Fraction(1, MAIN)
    assert cost.delta == 0


@given(epsilons, deltas)
def test_a_delta_is_rounded_up_and_a_limit_down(epsilon, delta):
    cost = cost_of([loss(epsilon, delta)], "pure")
    assert epsilon <= cost.value() < epsilon + Fraction(1, MAIN)
    assert delta <= cost.failing() < delta + Fraction(1, DELTAS)
    most = limit_of(epsilon=epsilon, delta=delta).most
    assert epsilon - Fraction(1, MAIN) < most.value() <= epsilon
    assert delta - Fraction(1, DELTAS) < most.failing() <= delta


@given(st.lists(epsilons, max_size=30), epsilons)
def test_what_is_within_the_limit_is_within_the_epsilon(values, total):
    """∀ charges that the ledger grants one by one: their exact sum is at most the exact budget."""
    most, spent, exact = limit_of(epsilon=total).most, NOTHING, Fraction(0)
    for value in values:
        cost = cost_of([loss(value)], "pure")
        if (spent + cost).within(most):
            spent, exact = spent + cost, exact + value
    assert exact <= total


@pytest.mark.parametrize("typed", [0.1, "0.1", TENTH])
def test_ten_tenths_fit_one_and_no_eleventh_does(typed):
    most, spent = limit_of(epsilon=1).most, NOTHING
    cost = cost_of([loss(typed)], "pure")
    for _ in range(10):
        assert (spent + cost).within(most)
        spent += cost
    assert spent == most
    assert not (spent + cost).within(most)
    assert not (spent + Amount(1)).within(most)


@given(st.integers(1, 40))
def test_n_nths_never_fit_too_often(n):
    """n charges of 1/n cost at least 1; they fit exactly where 1/n has units."""
    cost = cost_of([loss(Fraction(1, n))], "pure")
    fits = Amount(cost.main * n).within(limit_of(epsilon=1).most)
    assert fits == (MAIN % n == 0)


def test_a_rho_is_counted_in_zcdp_and_has_no_epsilon():
    assert cost_of([loss(rho=TENTH)] * 3, "zcdp") == Amount(3 * 10**11)
    with pytest.raises(QueryError, match="costs rho"):
        cost_of([loss(rho=TENTH)], "pure")


@given(epsilons)
def test_an_epsilon_costs_at_most_its_rho(epsilon):
    """ε-DP is ε²/2-zCDP; a tighter bound would be as right, a larger one would be a waste."""
    cost = cost_of([loss(epsilon)], "zcdp")
    assert cost.main > 0
    assert cost.value() < epsilon**2 / 2 + Fraction(1, MAIN)


@given(epsilons.filter(lambda e: e > TENTH), deltas)
def test_a_zcdp_limit_keeps_half_of_delta_and_never_rounds_up(epsilon, delta):
    limit = limit_of(accounting="zcdp", epsilon=epsilon, delta=delta)
    assert limit.most.failing() <= delta / 2
    assert limit.most.value() <= largest_rho(epsilon, delta - delta / 2)
    assert limit.guarantee == ApproxDP(epsilon, delta)


def test_a_limit_in_rho():
    limit = limit_of(accounting="zcdp", rho="0.25", neighbours="replace")
    assert limit.most == Amount(25 * 10**10)
    assert limit.guarantee == ZCDP(Fraction(1, 4), "replace")


def test_a_pure_limit_promises_what_was_said():
    assert limit_of(epsilon=2).guarantee == PureDP(2)
    assert limit_of(epsilon=2, delta="1e-6").guarantee == ApproxDP(2, Fraction(1, 10**6))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": 1001},
        {"epsilon": 1, "rho": 1},
        {"rho": 1},
        {"epsilon": 1, "delta": "0.01"},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "delta": float("nan")},
        {"accounting": "renyi", "epsilon": 1},
        {"accounting": "zcdp"},
        {"accounting": "zcdp", "epsilon": 1},
        {"accounting": "zcdp", "epsilon": 1, "rho": 1, "delta": "1e-6"},
        {"accounting": "zcdp", "rho": 1, "delta": "1e-6"},
        {"accounting": "zcdp", "rho": 0},
    ],
)
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ParameterError):
        limit_of(**wrong)


def test_amounts_in_words():
    assert Amount(5 * 10**11).said("pure") == "epsilon 0.5"
    assert Amount(5 * 10**11, 10**15).said("zcdp").startswith("rho 0.5, delta 1e-06")
    assert Amount(333_333_333_333).said("pure") == "epsilon 0.3333"


def test_amounts_compare_in_both():
    assert Amount(1, 2).within(Amount(1, 2))
    assert not Amount(2, 0).within(Amount(1, 9))
    assert not Amount(0, 3).within(Amount(9, 2))
    assert Amount(3, 4) - Amount(1, 1) + Amount(0, 1) == Amount(2, 4)


def test_what_cannot_be_charged_is_an_error_of_ours():
    assert issubclass(QueryError, DiscreetError)
    assert cost_of([], "pure") == NOTHING


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1000), Fraction(1, 128)), (Fraction(1, 10**9), 0)]
)
def test_limits_fit_64_bits(epsilon, delta):
    most = limit_of(epsilon=epsilon, delta=delta).most
    assert max(most.main, most.delta) < 2**63


@given(st.integers(0, 10**15), st.integers(0, 10**19), st.sampled_from(["pure", "zcdp"]))
def test_amounts_as_exact_text_and_back(main, delta, accounting):
    told = Amount(main, delta).to_dict(accounting)
    assert all(isinstance(text, str) for text in told.values())
    assert Amount.from_dict(told, accounting) == Amount(main, delta)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": "1/3", "delta": "0"}, {"epsilon": "x", "delta": "0"}]
)
def test_an_amount_that_is_none_of_whole_units_is_refused(wrong):
    with pytest.raises(ParameterError, match="epsilon"):
        Amount.from_dict(wrong, "pure")


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (Amount(5 * 10**11), Amount(2 * 10**11), ("epsilon 0.5", "epsilon 0.2")),
        (Amount(5 * 10**11 + 1), Amount(5 * 10**11), ("epsilon 0.500000000001", "epsilon 0.5")),
        (Amount(5 * 10**11), Amount(5 * 10**11), ("epsilon 0.5", "epsilon 0.5")),
        (
            Amount(1, 10**15 + 1),
            Amount(1, 10**15),
            ("epsilon 0.000000000001, delta 0.000001000000000000001",
             "epsilon 0.000000000001, delta 0.000001"),
        ),
        (
            Amount(0, DELTAS // 128 + 1),
            Amount(0, DELTAS // 128),
            ("epsilon 0, delta 0.007812500000000000001", "epsilon 0, delta 0.0078125"),
        ),
        (Amount(-15 * 10**11 - 1), Amount(-15 * 10**11),
         ("epsilon -1.500000000001", "epsilon -1.5")),
    ],
)  # fmt: skip
def test_a_cost_and_a_rest_that_differ_look_different(one, other, words):
    assert told_apart(one, other, "pure") == words


def test_the_least_of_two_rests_is_the_least_of_both_kinds():
    assert Amount(3, 1).least(Amount(2, 5)) == Amount(2, 1)
