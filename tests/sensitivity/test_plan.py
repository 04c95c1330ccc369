"""How many pairs and which distance: the tables, and each bound by exact enumeration."""

import math
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity.plan import LARGEST_BINOMIAL, LARGEST_M, plan_of

gammas = st.fractions("1/500", "499/500", max_denominator=1000)
levels = st.fractions("1/100", "999/1000", max_denominator=1000)
DIE = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
"""A law of distances with ties: 0, 1 and 2 with these chances."""


@pytest.mark.parametrize(
    ("gamma", "exchangeable", "two_level", "dkw"),
    [("0.05", 19, 59, 1305), ("0.1", 9, 29, 285), ("0.2", 4, 14, 61), ("0.33", 3, 8, 20)],
)
def test_the_table(gamma, exchangeable, two_level, dkw):
    plans = [
        plan_of(gamma=gamma),
        plan_of(gamma=gamma, confidence="0.95"),
        plan_of(gamma=gamma, bound="dkw"),
    ]
    assert [plan.m for plan in plans] == [exchangeable, two_level, dkw]
    assert all(plan.k == plan.m for plan in plans)
    assert all(plan.gamma <= Fraction(gamma) for plan in plans)


@given(gammas)
def test_the_fewest_pairs_for_a_gamma(gamma):
    plan = plan_of(gamma=gamma)
    assert plan.gamma == Fraction(1, plan.m + 1) <= gamma
    assert plan.m == 1 or Fraction(1, plan.m) > gamma


@given(gammas, st.integers(1, 2000))
def test_the_smallest_rank_for_both(gamma, m):
    if Fraction(1, m + 1) > gamma:
        with pytest.raises(ParameterError, match=f"at least {plan_of(gamma=gamma).m}"):
            plan_of(gamma=gamma, m=m)
        return
    plan = plan_of(gamma=gamma, m=m)
    assert plan.gamma == Fraction(m + 1 - plan.k, m + 1) <= gamma < Fraction(m + 2 - plan.k, m + 1)
    assert 1 <= plan.k <= plan.m == m


def test_pairs_alone_promise_one_in_one_more():
    assert plan_of(m=285).gamma == Fraction(1, 286)
    assert plan_of(m=1305).gamma == Fraction(1, 1306)
    assert plan_of(m=1).gamma == Fraction(1, 2)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_without_ties_the_bound_is_met(m):
    """All orders of m + 1 distances are equally likely: the real one is the first."""
    orders = list(permutations(range(m + 1)))
    for k in range(1, m + 1):
        worse = sum(order[0] > sorted(order[1:])[k - 1] for order in orders)
        bound = plan_of(m=m, gamma=Fraction(m + 1 - k, m + 1))
        assert bound.k == k
        assert Fraction(worse, len(orders)) == bound.gamma


def chance_worse(value):
    """P(G > value) under DIE."""
    return sum((p for g, p in enumerate(DIE) if g > value), Fraction(0))


def sampled(m):
    """Every outcome of m independent distances, sorted, with its chance."""
    for draws in product(range(3), repeat=m):
        yield sorted(draws), math.prod((DIE[g] for g in draws), start=Fraction(1))


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_with_ties_the_bound_is_kept(m):
    for k in range(1, m + 1):
        joint = sum(p * chance_worse(draws[k - 1]) for draws, p in sampled(m))
        assert joint < Fraction(m + 1 - k, m + 1)


@given(gammas, levels)
def test_the_fewest_pairs_for_a_confidence(gamma, confidence):
    plan = plan_of(gamma=gamma, confidence=confidence)
    assert (1 - gamma) ** plan.m <= 1 - confidence
    assert plan.m == 1 or (1 - gamma) ** (plan.m - 1) > 1 - confidence


def binomial_cdf(k, m, p):
    return sum(math.comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(k + 1))


@given(gammas, levels, st.integers(1, 60))
def test_the_smallest_rank_for_a_confidence(gamma, confidence, m):
    if (1 - gamma) ** m > 1 - confidence:
        needed = plan_of(gamma=gamma, confidence=confidence).m
        with pytest.raises(ParameterError, match=f"at least {needed}"):
            plan_of(gamma=gamma, confidence=confidence, m=m)
        return
    k = plan_of(gamma=gamma, confidence=confidence, m=m).k
    assert binomial_cdf(k - 1, m, 1 - gamma) >= confidence
    assert k == 1 or binomial_cdf(k - 2, m, 1 - gamma) < confidence


@given(levels, st.integers(1, 200))
def test_the_smallest_gamma_for_a_confidence(confidence, m):
    plan = plan_of(m=m, confidence=confidence)
    assert plan.k == m
    assert (1 - plan.gamma) ** m <= 1 - confidence
    assert (1 - plan.gamma + Fraction(1, 1 << 60)) ** m > 1 - confidence


def test_equality_is_enough():
    """(1/2)^2 is exactly 1/4, (2/3)^3 exactly 8/27: no pair is wasted, and none is missing."""
    assert plan_of(gamma="1/2", confidence="3/4").m == 2
    assert plan_of(gamma="1/3", confidence="19/27").m == 3
    assert plan_of(gamma="1/3", confidence="19/27", m=3).k == 3


@pytest.mark.parametrize(
    ("gamma", "confidence", "m"), [("1/6", "1/2", 4), ("0.3", "0.6", 5), ("1/2", "1/2", 6)]
)
def test_the_two_levels_hold_with_ties(gamma, confidence, m):
    """Over all samplers: the chance that at most a share gamma is worse."""
    plan = plan_of(gamma=gamma, confidence=confidence, m=m)
    good = sum(p for draws, p in sampled(m) if chance_worse(draws[plan.k - 1]) <= plan.gamma)
    assert good >= plan.confidence


@pytest.mark.parametrize("m", [9, 19, 99, 1000])
def test_over_a_third_of_samplers_do_worse_than_their_average(m):
    """No ties: P(1 - F(max) > 1/(m+1)) = (1 - 1/(m+1))^m, about 0.37; why there are two levels."""
    chance = (1 - plan_of(m=m).gamma) ** m
    assert Fraction(367, 1000) < chance < Fraction(39, 100)


def dkw_holds(plan, rho):
    return plan.k >= plan.m * (
        1 - float(plan.gamma) + rho + math.sqrt(math.log(1 / rho) / (2 * plan.m))
    )


@pytest.mark.parametrize(
    ("gamma", "rho"), [("0.05", 0.00418), ("0.1", 0.00974), ("0.2", 0.0235), ("0.33", 0.0461)]
)
def test_the_dkw_bound_at_its_best(gamma, rho):
    """The m of the paper satisfies its inequality at the paper's rho; one pair fewer does not,
    at any rho of a fine grid.
    """
    plan = plan_of(gamma=gamma, bound="dkw")
    assert dkw_holds(plan, rho)
    fewer = type(plan)(plan.m - 1, plan.m - 1, plan.gamma, None, "dkw")
    assert not any(dkw_holds(fewer, i / 10_000) for i in range(1, 9999))


def test_dkw_for_pairs_and_for_both():
    assert float(plan_of(m=285, bound="dkw").gamma) == pytest.approx(0.0999, abs=5e-5)
    assert float(plan_of(m=1305, bound="dkw").gamma) == pytest.approx(0.05, abs=1e-5)
    assert plan_of(m=1305, bound="dkw").gamma <= Fraction(1, 20)
    both = plan_of(gamma="0.05", m=5000, bound="dkw")
    assert both.k < 5000
    rhos = [i / 100_000 for i in range(1, 99_999, 7)]
    assert any(dkw_holds(both, rho) for rho in rhos)
    lower = type(both)(5000, both.k - 1, both.gamma, None, "dkw")
    assert not any(dkw_holds(lower, rho) for rho in rhos)
    with pytest.raises(ParameterError, match="at least 1305"):
        plan_of(gamma="0.05", m=1304, bound="dkw")
    assert plan_of(gamma="0.05", m=1305, bound="dkw").k == 1305


@given(st.integers(3, 5000))
def test_dkw_never_promises_more_than_exchangeability(m):
    assert plan_of(m=m, bound="dkw").gamma > plan_of(m=m).gamma


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "gamma or m must be said"),
        ({"bound": "dkw"}, "gamma or m must be said"),
        ({"confidence": "0.9"}, "gamma or m must be said"),
        ({"gamma": 0}, "strictly between"),
        ({"gamma": 1}, "strictly between"),
        ({"gamma": "0.1", "confidence": 1}, "strictly between"),
        ({"m": 0}, "at least 1"),
        ({"m": 2.5}, "whole"),
        ({"m": LARGEST_M + 1}, "at most"),
        ({"gamma": "1e-8"}, "needs more than"),
        ({"gamma": "1e-8", "confidence": "0.9"}, "needs more than"),
        ({"gamma": "1e-8", "bound": "dkw"}, "needs more than"),
        ({"m": 1, "bound": "dkw"}, "promises nothing"),
        ({"gamma": "0.1", "confidence": "0.9", "bound": "dkw"}, "exchangeable"),
        ({"gamma": "0.1", "bound": "hoeffding"}, "'exchangeable' or 'dkw'"),
        ({"gamma": "0.1", "confidence": "0.9", "m": LARGEST_BINOMIAL + 1}, "say one"),
    ],
)
def test_what_cannot_be_promised_is_refused_in_words(asked, words):
    with pytest.raises(ParameterError, match=words):
        plan_of(**asked)
