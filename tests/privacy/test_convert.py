"""The arithmetic of conversions: each theorem on exact laws, each rounding against 300 bits."""

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import exp, log
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy import convert

MILLIONTH = Fraction(1, 10**6)
SHARP = 300
NEAR = Fraction(1, 10**9)

orders = st.fractions(min_value=Fraction(33, 32), max_value=500, max_denominator=64)
divergences = st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000)
epsilons = st.fractions(min_value=0, max_value=60, max_denominator=1000)
deltas = st.integers(1, 40).map(lambda n: Fraction(1, 3**n))
weights = st.lists(st.integers(1, 50), min_size=2, max_size=5)


def hockey(p, q, factor):
    """The sum of (p - factor q)+."""
    return sum(max(a - factor * b, 0) for a, b in zip(p, q, strict=True))


def renyi(p, q, order):
    """The Renyi divergence of p from q, enclosed."""
    terms = [
        exp(order * log(a, SHARP) + (1 - order) * log(b, SHARP), SHARP)
        for a, b in zip(p, q, strict=True)
        if a > 0
    ]
    return log(sum(terms[1:], terms[0]), SHARP - 20) / (order - 1)


def law(masses):
    return [Fraction(mass, sum(masses)) for mass in masses]


# Theorem 1.


@given(first=weights, second=weights, order=orders, epsilon=epsilons)
def test_a_renyi_divergence_bounds_every_delta(first, second, order, epsilon):
    size = min(len(first), len(second))
    p, q = law(first[:size]), law(second[:size])
    divergence = max(renyi(p, q, order).upper, Fraction(0))
    for at in (epsilon, epsilon / 20, epsilon / 200):
        delta = hockey(p, q, exp(at, 100).lower)
        assert delta <= convert.delta_upper(order, divergence, at)


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)])
def test_the_bound_is_met(order, epsilon):
    """P sits on one output, to which Q gives mass 1/t, t = e^epsilon a/(a - 1): delta is 1/a."""
    factor = exp(epsilon, SHARP)
    t = factor.lower * order / (order - 1)
    p, q = [Fraction(1), Fraction(0)], [1 / t, 1 - 1 / t]
    delta = hockey(p, q, factor.lower)
    assert delta == pytest.approx(1 / order, rel=1e-12)
    found = convert.delta_upper(order, log(t, SHARP).upper, epsilon)
    assert delta <= found <= delta * (1 + NEAR)


@given(order=orders, divergence=divergences, delta=deltas)
def test_epsilon_and_delta_undo_each_other(order, divergence, delta):
    epsilon = convert.epsilon_upper(order, divergence, delta)
    found = convert.delta_upper(order, divergence, epsilon)
    scale = 1 + NEAR * (1 + (order - 1) * epsilon)
    assert found <= delta * (1 + NEAR)
    if epsilon > 0:
        assert found >= delta / scale
        assert convert.largest_divergence(order, epsilon, delta) >= divergence * (1 - NEAR)


@given(order=orders, epsilon=epsilons, delta=deltas)
def test_the_largest_divergence_gives_epsilon_and_delta_and_hardly_more_does(order, epsilon, delta):
    found = convert.largest_divergence(order, epsilon, delta)
    if found is None:
        assert convert.delta_upper(order, Fraction(1, 10**12), epsilon) > delta
        return
    assert convert.epsilon_upper(order, found, delta) <= epsilon * (1 + NEAR) + NEAR
    assert sharp_epsilon(order, found, delta).upper <= epsilon
    assert sharp_epsilon(order, found * (1 + NEAR), delta).lower > epsilon


def sharp_epsilon(order, divergence, delta):
    """The formula again, in the literal form of the paper: (1 - 1/a)^a/(a - 1)."""
    rest = order * log(1 - 1 / order, SHARP) - log(order - 1, SHARP)
    return divergence + (rest - log(delta, SHARP)) / (order - 1)


@given(order=orders, divergence=divergences, delta=deltas)
def test_epsilon_is_rounded_up_and_hardly(order, divergence, delta):
    found = convert.epsilon_upper(order, divergence, delta)
    true = sharp_epsilon(order, divergence, delta)
    assert found >= max(true.upper, 0)
    assert found <= max(true.lower + abs(true.lower) * NEAR, 0)


@given(order=orders, divergence=divergences, epsilon=epsilons)
def test_delta_is_rounded_up_and_hardly(order, divergence, epsilon):
    found = convert.delta_upper(order, divergence, epsilon)
    exponent = (order - 1) * (divergence - epsilon)
    exponent = exponent + order * log(1 - 1 / order, SHARP) - log(order - 1, SHARP)
    assert 0 < found <= 1
    if exponent.upper < 0:
        true = exp(exponent, 200)
        least = Fraction(1, 10**400)
        assert min(true.upper, 1) <= found <= max(true.lower * (1 + NEAR), least)
    else:
        assert found == 1


def test_a_divergence_that_says_nothing_gives_delta_1():
    assert convert.delta_upper(Fraction(2), Fraction(1000), Fraction(0)) == 1
    assert convert.delta_upper(Fraction(1 << 20), Fraction(1000), Fraction(1)) == 1


def test_an_order_that_gives_nothing():
    assert convert.largest_divergence(Fraction(2), Fraction(1), MILLIONTH) is None


# Theorem 2.


@pytest.mark.parametrize(("step", "times"), [("0.002", 12177), ("0.02", 121), ("0.01", 487)])
def test_how_many_small_releases_fit_into_1_and_a_millionth(step, times):
    rho = convert.largest_rho(Fraction(1), MILLIONTH)
    assert math.floor(rho / (Fraction(step) ** 2 / 2)) == times


def grid():
    return [1 + 2 ** (i / 16) for i in range(-160, 400)]


def plain_epsilon(a, rho, delta):
    return a * rho + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_the_best_order_is_found(rho, delta):
    """No order of a fine grid does better, in floats."""
    found = convert.zcdp_epsilon_upper(Fraction(str(rho)), Fraction(str(delta)))
    best = min(plain_epsilon(a, rho, delta) for a in grid())
    assert float(found) <= max(best, 0) * (1 + 1e-6) + 1e-9
    assert float(found) >= best * (1 - 2e-3) - 1e-9


@given(rho=divergences, delta=deltas)
def test_zcdp_epsilon_delta_and_rho_agree(rho, delta):
    """Each is a bound, and all three come from the same best order to about 1e-6."""
    epsilon = convert.zcdp_epsilon_upper(rho, delta)
    assert convert.zcdp_delta_upper(rho, epsilon) <= delta * (1 + Fraction(1, 10**6))
    if epsilon > 0:
        back = convert.largest_rho(epsilon, delta)
        assert rho * (1 - Fraction(1, 10**6)) <= back <= rho * (1 + Fraction(1, 10**6))


@given(epsilon=epsilons, delta=deltas)
def test_the_largest_rho_keeps_its_promise(epsilon, delta):
    rho = convert.largest_rho(epsilon, delta)
    assert rho > 0
    assert convert.zcdp_delta_upper(rho, epsilon) <= delta * (1 + NEAR)


@given(rho=divergences, more=divergences, delta=deltas)
def test_more_rho_costs_more(rho, more, delta):
    assert convert.zcdp_epsilon_upper(rho, delta) <= convert.zcdp_epsilon_upper(rho + more, delta)
    assert convert.zcdp_epsilon_upper(rho, delta) >= convert.zcdp_epsilon_upper(rho, 2 * delta)


@pytest.mark.parametrize("rho", ["0.001", "0.02", "0.5"])
def test_gaussian_noise_is_within_the_bound(rho):
    """The exact delta of discrete Gaussian noise, which is rho-zCDP and nothing better."""
    mechanism = Gaussian(rho=rho)
    epsilon = convert.zcdp_epsilon_upper(Fraction(rho), MILLIONTH)
    exact = mechanism.delta_bounds(epsilon)
    assert exact.lower > MILLIONTH / 100
    assert exact.upper <= MILLIONTH


@pytest.mark.parametrize("delta", [Fraction(1, 10**300), 1 - Fraction(1, 10**30)])
@pytest.mark.parametrize("rho", [Fraction(1, 10**300), Fraction(1000)])
def test_far_away_it_is_still_a_bound(rho, delta):
    epsilon = convert.zcdp_epsilon_upper(rho, delta)
    assert 0 <= epsilon < 10**5
    assert convert.zcdp_delta_upper(rho, epsilon) <= delta * (1 + Fraction(1, 10**6))


def test_no_epsilon_and_no_delta_within_reach_has_no_rho(monkeypatch):
    """The guard of largest_rho: it says so rather than return a rho that is not above 0."""
    monkeypatch.setattr(convert, "largest_divergence", lambda *_: None)
    with pytest.raises(ArithmeticError, match="no order"):
        convert.largest_rho(Fraction(977, 1000), Fraction(1, 977))


# Theorem 3.


@given(epsilon=st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**6))
def test_the_pure_rho_is_rounded_up_and_hardly(epsilon):
    found = convert.pure_rho_upper(epsilon)
    factor = exp(epsilon, 2 * SHARP)
    true = epsilon * (factor - 1) / (factor + 1)
    assert true.upper <= found * (1 + Fraction(1, 2**256))
    assert found <= true.lower * (1 + NEAR)
    assert found <= epsilon * epsilon / 2
    assert found <= epsilon


@pytest.mark.parametrize("factor", [Fraction(101, 100), Fraction(2), Fraction(50)])
def test_randomised_response_has_this_rho_and_no_less(factor):
    p, q = law([factor, 1]), law([1, factor])
    epsilon = log(factor, SHARP)
    rho = convert.pure_rho_upper(epsilon.upper)
    for order in [Fraction(n, 4) for n in range(5, 60)]:
        assert renyi(p, q, order).upper <= rho * order
    barely = 1 + Fraction(1, 10**7)
    assert renyi(p, q, barely).lower >= rho * barely * (1 - Fraction(1, 10**5))


@given(first=weights, second=weights, order=orders)
def test_every_private_pair_is_within_the_pure_rho(first, second, order):
    size = min(len(first), len(second))
    p, q = law(first[:size]), law(second[:size])
    worst = max(max(a / b, b / a) for a, b in zip(p, q, strict=True))
    if worst > 1:
        rho = convert.pure_rho_upper(log(worst, SHARP).upper)
        assert renyi(p, q, order).upper <= rho * order


# Speed: others call these in loops. Generous limits; a search by brute force would miss them.


def test_they_are_fast():
    start = time.process_time()
    for i in range(20):
        convert.zcdp_epsilon_upper(Fraction(1, 37 + i), MILLIONTH)
        convert.largest_divergence(Fraction(41 + i), Fraction(1), MILLIONTH)
    assert time.process_time() - start < 2
