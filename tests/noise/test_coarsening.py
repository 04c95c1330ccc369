"""What makes noise wider: the sum has the wider law, exactly, and the draws have the difference."""

from fractions import Fraction

import numpy as np
import pytest
from tests.noise.test_sampler import goodness

from discreet.exact import Interval
from discreet.noise.coarsening import DifferenceCoin, GeometricDifference, difference
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.source import ReplayedSource, system_source

PAIRS = [
    (Fraction(1), Fraction(1, 2)),
    (Fraction(3, 10), Fraction(1, 10)),
    (Fraction(2), Fraction(199, 100)),
    (Fraction(30), Fraction(1, 4)),
    (Fraction(7, 3), Fraction(1, 4)),
]


@pytest.mark.parametrize("a", [Fraction(1, 100), Fraction(1, 3), Fraction(7, 8)])
@pytest.mark.parametrize("b", [Fraction(9, 10), Fraction(99, 100), Fraction(8, 9)])
def test_the_quotient_of_the_generating_functions(a, b):
    """In fractions: c N(b) + (1-c)(1-b)^2 = (1-b)^2/(1-a)^2 N(a), in 1 and in z + 1/z."""
    c = a * (1 - b) ** 2 / (b * (1 - a) ** 2)
    factor = (1 - b) ** 2 / (1 - a) ** 2
    assert 0 < c < 1
    assert c * (1 + b * b) + (1 - c) * (1 - b) ** 2 == factor * (1 + a * a)
    assert c * b == factor * a


def convolved(fine, added, k, far, bits):
    """P(Z + D = k), certified: the terms up to `far`, and what the others can be at most."""
    lower = upper = Fraction(0)
    for j in range(-far, far + 1):
        term = added.mass_bounds(j, bits=bits) * fine.mass_bounds(k - j, bits=bits)
        lower, upper = lower + term.lower, upper + term.upper
    return Interval(lower, upper + 2 * added.tail_bounds(far, bits=bits).upper)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_sum_has_the_wider_law(pair):
    """By certified enclosures: they overlap, and are narrower than 1e-9 of the largest mass."""
    fine, coarse = pair
    narrow, wide, added = (
        TwoSidedGeometric(fine),
        TwoSidedGeometric(coarse),
        GeometricDifference(*pair),
    )
    far = int(30 / coarse) + 5
    for k in (-7, -1, 0, 1, 2, 13):
        found = convolved(narrow, added, k, far, 80)
        wanted = wide.mass_bounds(k, bits=80)
        assert found.lower <= wanted.upper
        assert wanted.lower <= found.upper
        assert found.width < 1e-9 * wide.mass(0)


@pytest.mark.parametrize("pair", [*PAIRS, (Fraction(1, 10**6), Fraction(1, 10**9))], ids=str)
def test_masses_add_up_and_the_variances_do(pair):
    law, coin = GeometricDifference(*pair), DifferenceCoin(*pair)
    for k in (-3, -1, 0, 1, 4):
        step = law.cumulative_bounds(k, bits=90) - law.cumulative_bounds(k - 1, bits=90)
        assert step.lower <= law.mass_bounds(k, bits=90).upper
        assert law.mass_bounds(k, bits=90).lower <= step.upper
        assert law.tail(k) == pytest.approx(law.cumulative(-k - 1), rel=1e-12)
    narrow, wide = map(TwoSidedGeometric, pair)
    assert law.variance == pytest.approx(wide.variance - narrow.variance, rel=1e-9)
    assert coin.mass(0) == pytest.approx(narrow.variance / wide.variance, rel=1e-12)
    assert coin.mass(0) + coin.mass(1) == pytest.approx(1)
    assert (coin.mean, law.mean) == (coin.tail(0), 0)
    assert coin.variance == pytest.approx(coin.mass(0) * coin.mass(1))
    assert coin.cumulative(0) == coin.mass(0)


@pytest.mark.parametrize("pair", [(1, 1), (1, 2), (1, 0), (1, -1)])
@pytest.mark.parametrize("law", [DifferenceCoin, GeometricDifference])
def test_noise_cannot_be_made_narrower(law, pair):
    with pytest.raises(ValueError, match="wider"):
        law(*map(Fraction, pair))


@pytest.mark.statistical
@pytest.mark.parametrize("pair", [*PAIRS[:3], (Fraction(1, 10**5), Fraction(1, 10**6))], ids=str)
def test_draws_have_the_law(pair):
    """False alarm below 1e-9 a case: chi-square, and of 400,000 coins 0.006 by Hoeffding."""
    sampler, law, source = difference(*pair), GeometricDifference(*pair), system_source()
    many = sampler.many(400_000, source)
    assert goodness(many, law) > 1e-10
    assert abs(np.mean(many == 0) - law.mass(0)) < 0.006
    assert goodness([sampler.one(source) for _ in range(4000)], law, bins=20) > 1e-10


@pytest.mark.statistical
def test_draws_of_another_law_are_told_apart():
    """Missed below 1e-9: the coins of the two differ by 0.1."""
    many = difference(Fraction(1), Fraction(1, 2)).many(400_000, system_source())
    assert goodness(many, GeometricDifference(Fraction(1), Fraction(2, 5))) < 1e-10
    assert goodness(many, GeometricDifference(Fraction(9, 10), Fraction(1, 2))) < 1e-10


def test_the_coin_is_decided_by_as_many_bits_as_it_takes():
    """At the threshold itself more bits of the same number are read, and decide."""
    coin = difference(Fraction(1), Fraction(1, 2)).coin
    (threshold,) = coin.thresholds
    assert coin.one(ReplayedSource([threshold - 1])) == 0
    assert coin.one(ReplayedSource([threshold + 1])) == 1
    rest = (coin.law.cumulative_bounds(0, bits=200).lower * 2**128).__floor__() - (threshold << 64)
    assert coin.one(ReplayedSource([threshold, rest - 1])) == 0
    assert coin.one(ReplayedSource([threshold, rest + 1])) == 1


def test_what_does_not_fit_a_machine_word_is_kept():
    wide = difference(Fraction(1, 2**60), Fraction(1, 2**70)).chunk(64, system_source())
    assert max(map(abs, wide.tolist())) > 2**63
    assert all(type(value) is int for value in wide.tolist())
