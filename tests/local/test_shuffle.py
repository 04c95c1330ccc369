"""Shuffled reports: the bounds hold for real mechanisms, agree with the literature, are tight."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import exp
from discreet.local import shuffle
from discreet.local.clones import Clones, hidden
from discreet.local.shuffle import ShuffledDP, closed_form, shuffled
from discreet.mechanisms.response import RandomizedResponse
from discreet.privacy.guarantee import ApproxDP, PureDP

F = Fraction


def local(epsilon):
    return PureDP(epsilon, "replace")


# --- the theorems, on every dataset of few people


def histogram_law(data, kernel):
    """The law of the shuffled reports: how many of each category."""
    k = len(kernel)
    law = {(0,) * k: F(1)}
    for x in data:
        new = {}
        for counts, mass in law.items():
            for y in range(k):
                grown = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                new[grown] = new.get(grown, F(0)) + mass * kernel[x][y]
        law = new
    return law


def hockey_stick(p, q, e):
    return sum(max(p.get(o, F(0)) - e * q.get(o, F(0)), F(0)) for o in p.keys() | q.keys())


def symmetric(factor, k):
    return [[(factor if x == y else F(1)) / (factor + k - 1) for y in range(k)] for x in range(k)]


def worst_delta(kernel, n, e):
    """The largest delta over all others' values and all ordered pairs of the person's values."""
    k = len(kernel)
    laws = {
        (x, others): histogram_law((x, *others), kernel)
        for x in range(k)
        for others in combinations_with_replacement(range(k), n - 1)
    }
    return max(
        hockey_stick(law, laws[y, others], e)
        for (x, others), law in laws.items()
        for y in range(k)
        if x != y
    )


RATIOS = (F(1), F(11, 10), F(3, 2), F(3))


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("factor", [F(2), F(5), F(20)])
def test_k_ary_response_is_within_theorem_2_whatever_the_others_say(k, n, factor):
    pair = shuffle._k_ary(factor, k, n - 1, low=False)
    assert pair.factor == factor
    for e in RATIOS:
        bound = hidden(pair, e, w=200, keep=200)
        assert worst_delta(symmetric(factor, k), n, e) <= bound.upper


@pytest.mark.parametrize("k", [2, 3, 4])
def test_theorem_2_is_tight_for_one_person(k):
    for e in RATIOS:
        bound = hidden(shuffle._k_ary(F(5), k, 0, low=False), e, w=200, keep=200)
        assert float(bound) == pytest.approx(float(worst_delta(symmetric(F(5), k), 1, e)))


KERNELS = [
    [[F(1, 2), F(1, 4), F(1, 4)], [F(1, 8), F(3, 4), F(1, 8)], [F(1, 3), F(1, 3), F(1, 3)]],
    [[F(9, 10), F(1, 10)], [F(1, 2), F(1, 2)]],
    [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]],
]


@pytest.mark.parametrize("kernel", KERNELS, ids=["dense", "lopsided", "coins"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_any_kernel_is_within_theorem_1(kernel, n):
    """The general pair at the kernel's own largest ratio, on every dataset."""
    factor = max(max(column) / min(column) for column in zip(*kernel, strict=True))
    pair = Clones(n - 1, factor, 1 / factor)
    for e in RATIOS:
        bound = hidden(pair, e, w=200, keep=200).upper
        assert worst_delta(kernel, n, e) <= bound


def unseen_pair_delta(factor, k, n, e):
    """The pair with the event hidden that the person reported another category: too small."""
    total = factor + k - 1
    chance, p, q = 2 / total, {}, {}
    for c in range(n):
        weight = comb(n - 1, c) * chance**c * (1 - chance) ** (n - 1 - c)
        for a in range(c + 1):
            mass = weight * comb(c, a) / 2**c
            for move, first, second in (
                ((1, 0), factor, 1),
                ((0, 1), 1, factor),
                ((0, 0), k - 2, k - 2),
            ):
                seen = (a + move[0], c - a + move[1])
                p[seen] = p.get(seen, F(0)) + mass * first / total
                q[seen] = q.get(seen, F(0)) + mass * second / total
    return hockey_stick(p, q, e)


def test_hiding_the_other_categories_would_claim_too_much():
    """Three people and categories, E = 2: the true delta is 5/128, the tempting pair says 4/128."""
    true = worst_delta(symmetric(F(2), 3), 3, F(3, 2))
    assert true == F(5, 128)
    assert unseen_pair_delta(F(2), 3, 3, F(3, 2)) == F(4, 128) < true
    assert unseen_pair_delta(F(2), 2, 3, F(3, 2)) >= worst_delta(symmetric(F(2), 2), 3, F(3, 2))
    assert hidden(shuffle._k_ary(F(2), 3, 2, low=False), F(3, 2), w=200, keep=200).lower > true


def test_clones_of_the_withdrawn_theorem_are_not_used():
    """Clones with probability 2/(E+1) for any randomizer: the general pair has 1/E."""
    pair = shuffle._general(local(1), 10, low=False)
    assert pair.chance == 1 / pair.factor < 2 / (pair.factor + 1)


# --- the numbers of the literature


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "known"),
    [
        (10**5, 4, "1e-6", 0.1698),
        (10**4, 1, "1e-6", 0.0530),
        (10**4, 2, "1e-6", 0.1551),
        (10**6, 6, "1e-8", 0.1895),
        (10**3, 1, "1e-5", 0.1541),
    ],
)
def test_reference_values(n, epsilon, delta, known):
    """Known figures were rounded up on a grid of c: ours is at most 1e-4 below, never above."""
    found = shuffled(local(epsilon), n=n, delta=delta)
    assert known - 1e-4 <= float(found.epsilon) <= known + 5e-5
    assert 1 - found.lower / found.epsilon < F(1, 10**9)


def test_the_authors_interval_holds_ours():
    assert 0.1675 <= float(shuffled(local(4), n=10**5, delta="1e-6").epsilon) <= 0.1728


def test_binary_response_gains():
    found = shuffled(RandomizedResponse(epsilon=4), n=10**5, delta="1e-6")
    assert float(found.epsilon) == pytest.approx(0.1182, abs=5e-5)
    assert "binary" in found.why
    assert "0.16977" in found.why


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"), [(1000, 1, 1e-5), (10_000, 2, 1e-6), (100_000, 4, 1e-6)]
)
def test_how_far_theorem_2_is_from_what_an_attack_achieves(n, epsilon, delta):
    """The others all hold one value, and only the number of ones is seen: no theorem goes below.

    Showing who is no clone costs a factor of about sqrt(2 E/(E + 1)), so Theorem 2 is not exact.
    """
    factor = np.exp(epsilon)
    others = binom.pmf(np.arange(n), n - 1, 1 / (factor + 1))
    here, before = np.append(others, 0), np.append(0, others)
    one = (factor * before + here) / (factor + 1)
    none = (before + factor * here) / (factor + 1)

    def attack(e):
        return max(
            np.maximum(one - np.exp(e) * none, 0).sum(), np.maximum(none - np.exp(e) * one, 0).sum()
        )

    found = float(shuffled(RandomizedResponse(epsilon=epsilon), n=n, delta=str(delta)).epsilon)
    assert attack(found) <= delta
    assert attack(found / (1.05 * np.sqrt(2 * factor / (factor + 1)))) > delta


def test_many_categories_fall_back_to_the_general_bound():
    coins = RandomizedResponse(epsilon=4, categories=range(100))
    found = shuffled(coins, n=10**5, delta="1e-6")
    assert found == shuffled(local(4), n=10**5, delta="1e-6")
    assert "Theorem 1" in found.why


def test_lopsided_coins_have_the_general_bound_only():
    coins = RandomizedResponse(kernel=[["0.9", "0.1"], ["0.5", "0.5"]])
    assert "Theorem 2" not in shuffled(coins, n=100, delta="1e-3").why


@pytest.mark.parametrize(
    ("epsilon", "n", "delta", "known"), [(4, 10**5, "1e-6", 0.5346), (1, 10**6, "1e-8", 0.0263)]
)
def test_the_closed_form(epsilon, n, delta, known):
    found = closed_form(epsilon, n=n, delta=delta)
    assert found is not None
    assert float(found.epsilon) == pytest.approx(known, abs=5e-4)
    assert found.epsilon > shuffled(local(epsilon), n=n, delta=delta).epsilon


def test_the_closed_form_says_nothing_for_few_people():
    assert closed_form(4, n=1000, delta="1e-6") is None


# --- what kind of bound it is


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"),
    [(1, 1, "1e-5"), (2, 1, "1e-3"), (50, "0.3", "1e-4"), (1000, 8, "1e-6"), (20, 700, "1e-6")],
)
def test_the_promise_holds_and_nothing_smaller_would(n, epsilon, delta):
    """By sums with more bits: at epsilon the pair's delta is within, at `lower` it is above."""
    found = shuffled(local(epsilon), n=n, delta=delta)
    factor = exp(F(epsilon), 3000)
    w = 2600
    over = Clones(n - 1, factor.upper, 1 / factor.upper)
    under = Clones(n - 1, factor.lower, 1 / factor.lower)
    at, below = exp(found.epsilon, 3000).lower, exp(found.lower, 3000).upper
    assert hidden(over, at, w=w, keep=w).upper <= F(delta)
    assert hidden(under, below, w=w, keep=w).lower > F(delta)
    assert found.lower < found.epsilon <= F(epsilon)


def test_more_people_hide_better_and_a_smaller_delta_costs_more():
    found = [shuffled(local(1), n=n, delta="1e-6").epsilon for n in (1, 10, 100, 1000)]
    assert found == sorted(found, reverse=True)
    deltas = [
        shuffled(local(1), n=1000, delta=d).epsilon for d in ("1e-2", "1e-4", "1e-8", "1e-40")
    ]
    assert deltas == sorted(deltas)


def test_a_promise_that_delta_swallows_is_zero():
    for epsilon in ("1e-20", "1e-3"):
        found = shuffled(local(epsilon), n=100, delta="1e-2")
        assert found.epsilon == found.lower == 0
    assert shuffled(RandomizedResponse(truth=0), n=5, delta="1e-5").epsilon == 0


def test_beyond_the_most_people_the_bound_of_that_many_is_said(monkeypatch):
    monkeypatch.setattr(shuffle, "MOST_PEOPLE", 1000)
    found = shuffled(local(1), n=10**7, delta="1e-6")
    assert found.epsilon == shuffled(local(1), n=1000, delta="1e-6").epsilon
    assert found.n == 10**7
    assert "1,000 people" in found.why


def test_it_is_a_guarantee_like_any_other():
    found = shuffled(local(1), n=1000, delta="1e-6")
    assert isinstance(found, ApproxDP)
    assert found.neighbours == "replace"
    assert found <= ApproxDP(1, "1e-6", "replace")
    assert not found <= ApproxDP("0.01", "1e-6", "replace")
    assert found == ShuffledDP(found.epsilon, found.delta, n=1000)
    assert hash(found) == hash(ShuffledDP(found.epsilon, found.delta, n=1000))
    assert dp.local.shuffled is shuffled


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 0}, "at least 1"),
        ({"n": 2.5}, "whole"),
        ({"n": float("nan")}, "finite"),
        ({"delta": 0}, "strictly between"),
        ({"delta": 1}, "strictly between"),
        ({"delta": float("inf")}, "finite"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        shuffled(local(1), **{"n": 10, "delta": "1e-6", **arguments})


def test_only_local_promises_are_shuffled():
    with pytest.raises(ParameterError, match="must be 'replace'"):
        shuffled(PureDP(1), n=10, delta="1e-6")
    for wrong in (1, ApproxDP(1, "1e-6"), None, dp.Gaussian(rho=1)):
        with pytest.raises(UnsupportedError, match="pure guarantee"):
            shuffled(wrong, n=10, delta="1e-6")


# oracles


@pytest.mark.parametrize("k", [2, 3, 8])
def test_an_oracle_that_is_k_ary_response_has_its_bound(k):
    """The coins are the same up to the rounding of e^epsilon, so the bounds are nearly equal."""
    coins = shuffled(RandomizedResponse(epsilon=2, categories=range(k)), n=1000, delta="1e-6")
    for oracle in (
        dp.local.KaryResponse(k, 2),
        dp.local.SubsetSelection(k, 2, size=1),
        dp.local.Frequency(k, 2),
    ):
        found = shuffled(oracle, n=1000, delta="1e-6")
        assert float(found.epsilon) == pytest.approx(float(coins.epsilon), rel=1e-6)
        assert found.why.split(";")[1] == coins.why.split(";")[1]


def test_the_coins_of_an_oracle_are_those_that_it_flips():
    oracle = dp.local.KaryResponse(5, 1)
    promise, coins = shuffle._read(oracle)
    assert promise == oracle.guarantee
    assert coins == (oracle.mass(0, 0) / oracle.mass(0, 1), 5)


@pytest.mark.parametrize(
    "oracle",
    [
        dp.local.SubsetSelection(8, 1, size=2),
        dp.local.OptimizedUnary(4, 1),
        dp.local.HadamardResponse(4, 1),
        dp.local.LocalHashing(4, 1),
    ],
    ids=repr,
)
def test_any_other_oracle_has_the_general_bound(oracle):
    found = shuffled(oracle, n=1000, delta="1e-6")
    assert found == shuffled(dp.PureDP(1, "replace"), n=1000, delta="1e-6")
    assert "Theorem 1" in found.why
