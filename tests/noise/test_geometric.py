"""The geometric laws, and the identities that the samplers rest on."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Interval, exp
from discreet.noise.clamped import ClampedGeometric, ConditionedGeometric, Shifted, power_sum
from discreet.noise.geometric import (
    BlockedGeometric,
    Geometric,
    TruncatedGeometric,
    TwoSidedGeometric,
)
from discreet.noise.law import smallest

rates = st.fractions("1/20", 5, max_denominator=60)


def overlap(x: Interval, y: Interval) -> bool:
    return x.lower <= y.upper and y.lower <= x.upper


def laws(rate):
    return [
        Geometric(rate),
        TwoSidedGeometric(rate),
        TruncatedGeometric(rate, 9),
        BlockedGeometric(rate, 1),
        BlockedGeometric(rate, 7),
        Shifted(TwoSidedGeometric(rate), 5),
        Shifted(TruncatedGeometric(rate, 4), -2),
        ClampedGeometric(rate, 3, 0, 10),
        ClampedGeometric(rate, 0, 0, 1),
        ConditionedGeometric(rate, 3, 0, 10),
        ConditionedGeometric(rate, 10, 0, 10),
    ]


@pytest.mark.slow
@given(rates)
def test_masses_cumulatives_and_tails_agree(rate):
    for law in laws(rate):
        for k in range(-6, 14):
            mass, below = law.mass_bounds(k), law.cumulative_bounds(k)
            assert overlap(mass, below - law.cumulative_bounds(k - 1)), (law, k)
            assert overlap(below + law.tail_bounds(k), Interval.of(1)), (law, k)


@pytest.mark.slow
@given(rates)
def test_mean_and_variance_are_those_of_the_masses(rate):
    """Sums over a window that leaves out less than e^-100 of the mass."""
    reach = int(120 / rate) + 20
    for law in laws(rate):
        low = law.lowest if law.lowest is not None else -reach
        high = law.highest if law.highest is not None else reach
        if high - low > 250:
            continue
        masses = {k: law.mass(k) for k in range(low, high + 1)}
        mean = math.fsum(k * p for k, p in masses.items())
        spread = math.fsum((k - mean) ** 2 * p for k, p in masses.items())
        assert math.isclose(law.mean, mean, rel_tol=1e-9, abs_tol=1e-9), law
        assert math.isclose(law.variance, spread, rel_tol=1e-9, abs_tol=1e-12), law


@given(rates, st.integers(1, 12), st.integers(0, 40))
def test_digits_of_a_geometric_value_are_independent(rate, base, k):
    """P(G = k) = P(top = k // B) P(digit = k % B)."""
    top, digit = divmod(k, base)
    product = Geometric(rate * base).mass_bounds(top) * TruncatedGeometric(rate, base).mass_bounds(
        digit
    )
    assert overlap(product, Geometric(rate).mass_bounds(k))


@given(rates, st.integers(1, 12), st.integers(-40, 40))
def test_blocks_of_a_two_sided_value(rate, base, k):
    """P(Z = k) = P(block = k // B) P(digit = place counted away from zero)."""
    block, place = divmod(k, base)
    digit = place if block >= 0 else base - 1 - place
    product = BlockedGeometric(rate, base).mass_bounds(block) * TruncatedGeometric(
        rate, base
    ).mass_bounds(digit)
    assert overlap(product, TwoSidedGeometric(rate).mass_bounds(k))


@given(rates, st.integers(0, 30))
def test_a_sign_and_a_geometric_make_a_two_sided_value(rate, k):
    a = exp(-rate, 96)
    assert overlap(Geometric(rate).mass_bounds(k) / (1 + a), TwoSidedGeometric(rate).mass_bounds(k))
    assert overlap(
        Geometric(rate).mass_bounds(k) * a / (1 + a), TwoSidedGeometric(rate).mass_bounds(-1 - k)
    )


@given(rates, st.integers(-9, 9))
def test_the_difference_of_two_geometrics_is_two_sided(rate, k):
    """sum of P(G = j + k) P(G = j), with the tail of the sum bounded by the tail of one factor."""
    law, total, last = Geometric(rate), Interval.of(0), int(60 / rate) + 10
    if last > 400:
        return
    for j in range(max(0, -k), last):
        total = total + law.mass_bounds(j) * law.mass_bounds(j + k)
    total = Interval(total.lower, total.upper + law.tail_bounds(last - 1).upper)
    assert overlap(total, TwoSidedGeometric(rate).mass_bounds(k))


@pytest.mark.parametrize(
    "rate", [Fraction(1, 10**9), Fraction(1, 10**21), Fraction(1, 3), Fraction(1), Fraction(100)]
)
@pytest.mark.parametrize(
    "make",
    [
        Geometric,
        lambda r: BlockedGeometric(r, 1),
        lambda r: BlockedGeometric(r, 1 << 30),
        lambda r: TruncatedGeometric(r, 64),
    ],
)
def test_tables_enclose_the_cumulative(rate, make):
    law = make(rate)
    first = 0 if law.lowest == 0 else -3
    for k, (low, high) in enumerate(law.table(first, 5, 96), start=first):
        truth = law.cumulative_bounds(k, bits=200)
        assert low <= truth.upper * (1 << 96), k
        assert truth.lower * (1 << 96) <= high, k
        assert high - low <= 8


def test_a_table_may_begin_above_zero():
    law = BlockedGeometric(Fraction(1), 1)
    assert law.table(2, 4, 96) == law.table(-3, 4, 96)[5:]


@given(rates, st.fractions("1/1000", "999/1000", max_denominator=1000))
def test_quantiles_are_the_smallest_that_reach(rate, level):
    for law in laws(rate):
        k = law.quantile(level)
        assert law.cumulative_bounds(k).upper >= level
        assert law.cumulative_bounds(k - 1).lower < level


@given(rates, st.integers(0, 12), st.integers(0, 2))
def test_closed_power_sums(rate, reach, degree):
    direct = sum((exp(-rate * j, 128) * j**degree for j in range(1, reach + 1)), Interval.of(0))
    assert overlap(power_sum(rate, reach, degree, 256), direct)


@given(rates, st.integers(0, 10))
def test_absolute_errors(rate, at):
    for law in (ClampedGeometric(rate, at, 0, 10), ConditionedGeometric(rate, at, 0, 10)):
        for target in (at, 4):
            direct = math.fsum(abs(k - target) * law.mass(k) for k in range(11))
            assert math.isclose(law.absolute_error(target), direct, rel_tol=1e-9)
    law = TwoSidedGeometric(rate)
    reach = int(100 / rate)
    if reach < 1500:
        direct = math.fsum(abs(k - at) * law.mass(k) for k in range(-reach, reach + 1))
        assert math.isclose(law.absolute_error(at), direct, rel_tol=1e-9)


def test_what_a_law_cannot_say_is_refused():
    with pytest.raises(UnsupportedError, match="no formula"):
        Geometric(Fraction(1)).absolute_error(3)
    with pytest.raises(ParameterError, match="p must lie strictly between 0 and 1"):
        Geometric(Fraction(1)).quantile(1)


def test_extreme_rates_stay_exact():
    tiny, huge = TwoSidedGeometric(Fraction(1, 10**21)), TwoSidedGeometric(Fraction(100))
    assert math.isclose(tiny.variance, 2e42, rel_tol=1e-12)
    assert math.isclose(huge.mass(1), math.exp(-100), rel_tol=1e-12)
    assert tiny.quantile("0.5") == 0
    assert tiny.quantile("0.975") == pytest.approx(math.log(20) * 1e21, rel=1e-12)


@pytest.mark.parametrize("rate", ["1/1000000", "1/300", "1/7", "1", "20", "700", "1e-300"])
@pytest.mark.parametrize("chance", ["1/2", "1/40", "1e-9", "1e-300"])
def test_a_search_for_a_tail_begins_beside_it(rate, chance):
    law, wanted = TwoSidedGeometric(Fraction(rate)), Fraction(chance)
    near = law.near_tail(wanted)
    if Fraction(rate) < Fraction("1e-100"):
        return  # floats are coarser than the integers here
    found = smallest(lambda k: k >= 0 and law.tail_bounds(k, bits=64).upper <= wanted, start=0)
    assert abs(near - found) <= 1


def test_a_tail_that_no_float_holds_is_searched_from_zero():
    assert TwoSidedGeometric(Fraction(1)).near_tail(Fraction(1, 10**400)) == 0
