"""Each theorem of the filter against the best of all adaptive analysts, by exact enumeration."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.analysts import best_gain, excess, follows, play, response

import discreet as dp
from discreet.exact import exp
from discreet.privacy.bounds import pure_upper, renyi_upper, rho_upper
from discreet.privacy.convert import delta_upper, largest_divergence, largest_rho, zcdp_delta_upper
from discreet.privacy.filter import (
    DELTA,
    EPSILON,
    GAMMA,
    RHO,
    Cap,
    Currency,
    Limits,
    Rule,
    guaranteed,
)
from discreet.privacy.loss import ApproxLoss, GaussianLoss, PairLoss, PureLoss

SKEWED = PairLoss(first=["1/2", "1/4", "1/4"], second=["1/4", "1/4", "1/2"])
LEANING = PairLoss(first=["3/5", "3/10", "1/10"], second=["2/5", "2/5", "1/5"])


def rule_of(**limits):
    return Limits(**limits).rule("add_or_remove")


def below(epsilon):
    """A rational just below e^epsilon: with it, the least delta comes out a little too large."""
    return exp(epsilon, 80).lower


def worst_delta(menu, *, depth, **limits):
    rule = rule_of(**limits)
    factor = below(rule.guarantee.epsilon)
    return best_gain(menu, follows(rule, menu), excess(factor), depth=depth)


# Theorem 1: pure.


def largest_ratio(menu, limit, depth):
    """The largest ratio of the two probabilities of one transcript, over all analysts."""
    allows = follows(rule_of(epsilon=limit), menu)
    states, largest = {(Fraction(1), (0,) * len(menu))}, Fraction(1)
    for _ in range(depth):
        after = set()
        for ratio, counts in states:
            for i, loss in enumerate(menu):
                more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                steps = zip(loss.first, loss.second, strict=True)
                after |= {(ratio * a / b, more) for a, b in steps if allows(more)}
        states = after
        largest = max([largest, *(max(ratio, 1 / ratio) for ratio, _ in states)])
    return largest


@pytest.mark.parametrize("factors", [(2, 2, 2), (2, 3), (2, 2, 3), (3, 3)])
def test_no_analyst_exceeds_a_pure_budget_and_one_meets_it(factors):
    menu = [response(2), response(3), SKEWED, LEANING]
    limit = sum(pure_upper(response(factor)) for factor in factors)
    met = Fraction(1)
    for factor in factors:
        met *= factor
    assert largest_ratio(menu, limit, depth=4) == met <= exp(limit, 80).upper
    assert exp(limit, 80).lower < met * (1 + Fraction(1, 10**15))


def test_a_pure_budget_has_no_delta_at_all():
    menu = [response(2), response(3), SKEWED]
    limit = pure_upper(response(2)) + pure_upper(response(3))
    assert worst_delta(menu, epsilon=limit, depth=5) < Fraction(1, 10**15)
    assert best_gain(
        menu, follows(rule_of(epsilon=limit), menu), excess(Fraction(59, 10)), depth=5
    ) > Fraction(1, 1000)


# Theorems 2 and 3: one order, and all of them.


def power_sum(order):
    """The gain p^a q^(1-a), whose sum is exp((a - 1) times the divergence of order a)."""
    return lambda p, q, counts: p**order * q ** (1 - order)


@pytest.mark.parametrize("order", [2, 3, 6])
def test_no_analyst_exceeds_the_divergence_of_the_order_that_is_counted(order):
    menu = [response(2), response("5/4"), SKEWED]
    limit = 3 * renyi_upper(response(2), Fraction(order)) + Fraction(1, 10**9)
    allows = follows(rule_of(renyi={order: limit}), menu)
    found = best_gain(menu, allows, power_sum(order), depth=6)
    assert found <= exp((order - 1) * limit, 80).upper
    assert found > exp((order - 1) * limit, 80).lower * Fraction(999, 1000)


@pytest.mark.parametrize(("order", "reached"), [(2, "0.77"), (5, "0.56"), (20, "0.18")])
def test_no_analyst_exceeds_a_budget_of_rho_at_any_order(order, reached):
    """And the best of them gets this part of it: randomised response is no Gaussian."""
    menu = [response("3/2"), response(2), LEANING]
    allows = follows(rule_of(rho="0.3"), menu)
    found = best_gain(menu, allows, power_sum(order), depth=8)
    most = (order - 1) * order * Fraction("0.3")
    assert exp(Fraction(reached) * most, 80).lower < found <= exp(most, 80).upper


def test_every_order_of_a_curve_must_hold():
    rule = rule_of(renyi={2: 1, 8: 1})
    assert not rule.any_of
    assert rule.holds([Fraction(0), Fraction(0), Fraction(1), Fraction(1)])
    for broken in ([0, 0, 2, 1], [0, 0, 1, 2], [0, 1, 1, 1], [1, 0, 1, 1]):
        assert not rule.holds([Fraction(each) for each in broken])


# Theorem 5: either.

MIXED = [response("5/4"), response(2), response(3), SKEWED]


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({"epsilon": "0.5", "delta": "0.1"}, "0.3"),
        ({"epsilon": 2, "delta": "0.1"}, "0.28"),
        ({"epsilon": 2, "delta": "0.05", "accounting": "renyi", "order": 4}, "0.86"),
        ({"epsilon": 3, "delta": "0.01", "accounting": "renyi", "order": "2.5"}, 0),
    ],
    ids=str,
)
def test_no_analyst_who_mixes_both_ways_exceeds_the_delta(limits, reached):
    """And the best of them gets this part of it."""
    found, delta = worst_delta(MIXED, depth=14, **limits), Fraction(limits["delta"])
    assert Fraction(reached) * delta <= found <= delta


def test_no_analyst_with_many_small_releases_exceeds_the_delta():
    found = worst_delta([response("12/11")], epsilon=1, delta="0.01", depth=60)
    assert Fraction("0.003") < found < Fraction("0.01")


def test_both_ways_are_really_open():
    rule = rule_of(epsilon=1, delta="1e-6")
    tight = largest_rho(Fraction(1), Fraction(1, 10**6))
    assert rule.any_of == (Cap(EPSILON, Fraction(1)), Cap(RHO, tight))
    assert rule.holds([Fraction(0), Fraction(0), Fraction(1), tight + 1])
    assert rule.holds([Fraction(0), Fraction(0), Fraction(5), tight])
    assert rule.holds([Fraction(0), Fraction(0), None, tight])
    nearly = Fraction(1, 10**30)
    assert not rule.holds([Fraction(0), Fraction(0), 1 + nearly, tight + nearly])
    assert not rule.holds([nearly, Fraction(0), Fraction(0), Fraction(0)])
    assert not rule.holds([Fraction(0), nearly, Fraction(0), Fraction(0)])


def stubborn(transcript):
    """Goes on with what surprised her last; stops when nothing did for a while."""
    if transcript[-3:] == (0, 1, 0):
        return None
    return response(2) if transcript[-1:] == (0,) else response("3/2")


def hopeful(transcript):
    """Asks big questions first, and small ones after a bad answer."""
    return [response(3), SKEWED, response("5/4")][min(sum(transcript), 2)]


@pytest.mark.parametrize("analyst", [stubborn, hopeful])
@pytest.mark.parametrize("limits", [{"epsilon": 2, "delta": "0.05"}, {"epsilon": "2.3"}], ids=str)
def test_an_analyst_with_a_real_budget_is_no_better_than_the_best(analyst, limits):
    laws = play(analyst, lambda: dp.Budget(**limits))
    assert sum(p for p, _ in laws.values()) == sum(q for _, q in laws.values()) == 1
    factor, delta = below(Fraction(limits["epsilon"])), Fraction(limits.get("delta", 0))
    for swap in (False, True):
        gains = [excess(factor)(*(law[::-1] if swap else law), None) for law in laws.values()]
        best = worst_delta([*MIXED, response("3/2")], depth=9, **limits)
        assert sum(gains) <= best <= delta + Fraction(1, 10**15)


# Theorem 4: failing.

SMALL = ApproxLoss(epsilon="0.2", delta="0.01")
LARGE = ApproxLoss(epsilon="0.7", delta="0.002")
NEVER = ApproxLoss(epsilon=0, delta="0.005")


@pytest.mark.parametrize(
    "limits",
    [
        {"epsilon": 1, "delta": "0.05", "accounting": "basic"},
        {"epsilon": "1.4", "delta": "0.03", "accounting": "basic"},
        {"epsilon": 1, "delta": "0.05", "failures": "0.03"},
        {"epsilon": 2, "delta": "0.1", "failures": "0.02", "accounting": "renyi", "order": 3},
    ],
    ids=str,
)
def test_no_analyst_gets_more_out_of_releases_that_fail(limits):
    menu = [SMALL, LARGE, NEVER, PureLoss(epsilon="0.3")]
    found = worst_delta(menu, depth=7, **limits)
    failing = Fraction(limits.get("failures", limits["delta"]))
    assert failing * Fraction(9, 10) < found <= Fraction(limits["delta"])


def test_failures_are_a_part_of_delta_and_not_beside_it():
    rule = rule_of(epsilon=1, delta="1e-6", failures="4e-7")
    assert rule.all_of == (Cap(DELTA, Fraction("4e-7")), Cap(GAMMA, Fraction(0)))
    assert rule.any_of[1].limit == largest_rho(Fraction(1), Fraction("6e-7"))
    assert rule.guarantee == dp.ApproxDP(1, "1e-6")


# Theorem 6, and what is no theorem: random privacy.


def test_gammas_do_not_add_up_for_those_who_look_first():
    """Four datasets, equally likely; release k shows everything about dataset k, and no other.

    Each release fails for the pairs of two different datasets of which k is one: a half of them.
    Who asks first which dataset it is, with a pure release, and then chooses, fails for all pairs.
    """
    datasets = range(4)
    pairs = [(x, y) for x in datasets for y in datasets if x != y]

    def shows(k, x):
        return x if x == k else None

    for k in datasets:
        failing = [pair for pair in pairs if shows(k, pair[0]) != shows(k, pair[1])]
        assert Fraction(len(failing), len(pairs)) == Fraction(1, 2)
    looked_first = [
        pair for pair in pairs if any(shows(k, pair[0]) != shows(k, pair[1]) for k in datasets)
    ]
    assert looked_first == pairs


# The rules.


def test_the_caps_are_those_of_the_conversions():
    third = Fraction(1, 3)
    caps = {
        **{cap.currency: cap.limit for cap in rule_of(epsilon=third, delta="1e-9").caps},
        **{cap.currency: cap.limit for cap in rule_of(
            epsilon=1, delta="1e-6", accounting="renyi", order=22).any_of[1:]},
    }  # fmt: skip
    assert zcdp_delta_upper(caps[RHO], third) <= Fraction(1, 10**9)
    assert zcdp_delta_upper(caps[RHO] * Fraction(1001, 1000), third) > Fraction(1, 10**9)
    order = Fraction(22)
    at = caps[Currency("renyi", order)]
    assert at == largest_divergence(order, Fraction(1), Fraction(1, 10**6))
    assert delta_upper(order, at * Fraction(1001, 1000), Fraction(1)) > Fraction(1, 10**6)


amounts = st.one_of(st.none(), st.fractions(min_value=0, max_value=2, max_denominator=9))


@given(st.lists(amounts, min_size=4, max_size=4), st.lists(amounts, min_size=4, max_size=4))
def test_what_is_allowed_stays_allowed_when_less_was_spent(more, less):
    """The theorems need it: every beginning of an allowed transcript is allowed."""
    lower = [
        b if a is None else a if b is None else min(a, b) for a, b in zip(more, less, strict=True)
    ]
    two = tuple(Cap(each, Fraction(1)) for each in (DELTA, GAMMA))
    rule = Rule(two, (Cap(EPSILON, Fraction(1)), Cap(RHO, Fraction(1, 2))), dp.PureDP(1))
    if rule.holds(more):
        assert rule.holds(lower)


def test_a_cap_is_met_and_not_passed():
    cap = Cap(EPSILON, Fraction(1, 3))
    assert cap.holds(Fraction(1, 3))
    assert not cap.holds(Fraction(1, 3) + Fraction(1, 10**100))
    assert not cap.holds(None)


def test_every_currency_has_its_price():
    gauss, random = GaussianLoss(sigma_squared=8), dp.losses.RandomLoss(epsilon=1, gamma="0.1")
    assert [each.price(SMALL) for each in (EPSILON, DELTA, GAMMA)] == [
        Fraction(1, 5), Fraction(1, 100), 0]  # fmt: skip
    assert [each.price(random) for each in (EPSILON, DELTA, GAMMA)] == [1, 0, Fraction(1, 10)]
    assert EPSILON.price(gauss) is None
    assert RHO.price(gauss) == rho_upper(gauss) == Fraction(1, 16)
    assert Currency("renyi", Fraction(4)).price(gauss) == Fraction(1, 4)
    assert [str(each) for each in (RHO, Currency("renyi", Fraction(4)))] == [
        "rho", "divergence of order 4"]  # fmt: skip


def test_what_a_part_promises_by_itself():
    whole = dp.ApproxDP(1, "1e-6")
    third, none = Fraction(1, 3), Cap(GAMMA, Fraction(0))
    failing, never = Cap(DELTA, Fraction(1, 10**7)), Cap(DELTA, Fraction(0))
    curve = (Cap(Currency("renyi", Fraction(2)), third), Cap(Currency("renyi", Fraction(9)), third))
    assert guaranteed((Cap(EPSILON, third), never, none), whole) == dp.PureDP(third)
    assert guaranteed((Cap(EPSILON, third), failing, none), whole) == dp.ApproxDP(third, "1e-7")
    assert guaranteed((Cap(EPSILON, Fraction(0)), failing), whole) == dp.ApproxDP(0, "1e-7")
    assert guaranteed((Cap(RHO, third), never, none), whole) == dp.ZCDP(third)
    assert guaranteed((Cap(RHO, third), failing, none), whole) == whole
    assert guaranteed((Cap(RHO, Fraction(1001)), never, none), whole) == whole
    assert guaranteed((*curve, never, none), whole) == dp.RenyiDP({2: third, 9: third})
    assert guaranteed((curve[0], Cap(curve[1].currency, Fraction(0)), never), whole) == whole
    assert guaranteed((Cap(EPSILON, third), Cap(GAMMA, third)), whole) == whole


def test_stricter_limits_allow_less():
    deltas = [Fraction(1, 10**n) for n in (9, 6, 3)]
    rhos = [rule_of(epsilon=1, delta=delta).any_of[1].limit for delta in deltas]
    assert all(a < b for a, b in pairwise(rhos))
