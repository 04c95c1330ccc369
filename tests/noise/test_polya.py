"""Shares of noise: what they add up to, by exact arithmetic; and that draws have the laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.noise.test_sampler import goodness

from discreet.audit.walk import walk, walk_table
from discreet.exact import Interval
from discreet.noise import polya as module
from discreet.noise.geometric import Geometric, TwoSidedGeometric
from discreet.noise.polya import (
    Logarithmic,
    Poisson,
    Polya,
    PolyaDifference,
    cluster_attempt,
    coefficient,
    polya,
    polya_difference,
)
from discreet.noise.source import ReplayedSource, system_source
from discreet.noise.table import inversion

shapes = st.fractions("1/20", 4, max_denominator=20)
rates = st.fractions("1/4", 4, max_denominator=12)
ONE = Fraction(1)


def convolved(first, second, size):
    return [sum((first[i] * second[k - i] for i in range(k + 1)), 0 * first[0])
            for k in range(size)]  # fmt: skip


@given(shapes, shapes)
def test_shapes_add_up_as_rationals(r, s):
    """The factors (1-a)^r and a^k add up by themselves; the coefficients do, exactly."""
    size = 9
    one, two, both = ([coefficient(x, k) for k in range(size)] for x in (r, s, r + s))
    assert convolved(one, two, size) == both


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_n_shares_are_a_geometric_value_as_rationals(n):
    size = 12
    share = [coefficient(Fraction(1, n), k) for k in range(size)]
    total = [ONE, *[Fraction(0)] * (size - 1)]
    for _ in range(n):
        total = convolved(total, share, size)
    assert total == [1] * size


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "n"), [(ONE, 3), (Fraction(1, 2), 2), (Fraction(2), 4)])
def test_differences_add_up_to_two_sided_geometric_noise(rate, n):
    """The laws of n differences convolved, in certified intervals: those of the target meet them.

    A share of a shape that is 2 % off does not.
    """
    reach = int(22 / rate)
    for shape, right in ((Fraction(1, n), True), (Fraction(51, 50 * n), False)):
        law = PolyaDifference(rate, shape)
        masses = {k: law.mass_bounds(k, bits=80) for k in range(reach + 1)}
        each = [masses[abs(k)] for k in range(-reach, reach + 1)]
        left_out = n * 2 * law.tail_bounds(reach).upper
        total, first = each, -reach
        for _ in range(n - 1):
            spread = [Interval.of(0)] * (len(total) + len(each) - 1)
            for i, x in enumerate(total):
                for j, y in enumerate(each):
                    spread[i + j] = (spread[i + j] + x * y).rounded(96)
            total, first = spread, first - reach
        target = TwoSidedGeometric(rate)
        for k in range(4):
            found, wanted = total[k - first], target.mass_bounds(k)
            assert found.width + left_out < Fraction(1, 10**9)
            meets = found.lower <= wanted.upper and wanted.lower <= found.upper + left_out
            assert meets == right or k > 0


@settings(max_examples=15)
@given(rates, shapes)
def test_the_masses_are_a_law_with_these_moments(rate, shape):
    one = Polya(rate, shape)
    reach = int(50 / rate)
    masses = [one.mass(k) for k in range(reach)]
    assert math.isclose(math.fsum(masses), 1, rel_tol=1e-9)
    mean = math.fsum(k * p for k, p in enumerate(masses))
    assert math.isclose(one.mean, mean, rel_tol=1e-6)
    square = math.fsum(k * k * p for k, p in enumerate(masses))
    assert math.isclose(one.variance, square - mean**2, rel_tol=1e-6)
    both = PolyaDifference(rate, shape)
    assert math.isclose(both.variance, 2 * one.variance)
    assert both.mean == 0
    for k in (-2, 0, 3):
        found = math.fsum(masses[i] * masses[i + abs(k)] for i in range(reach - 3))
        assert math.isclose(both.mass(k), found, rel_tol=1e-9)


@pytest.mark.slow
@settings(max_examples=15)
@given(rates, shapes, st.integers(0, 6))
def test_cumulatives_tails_and_masses_agree(rate, shape, k):
    for law in (Polya(rate, shape), PolyaDifference(rate, shape), Poisson(rate, shape),
                Logarithmic(rate)):  # fmt: skip
        at = k + 1
        whole = law.cumulative_bounds(at) + law.tail_bounds(at)
        assert whole.lower <= 1 <= whole.upper
        step = law.cumulative_bounds(at) - law.cumulative_bounds(at - 1)
        mass = law.mass_bounds(at)
        assert step.lower <= mass.upper
        assert mass.lower <= step.upper


@settings(max_examples=15)
@given(rates)
def test_the_shape_one_is_the_geometric_law(rate):
    for k in range(4):
        assert math.isclose(Polya(rate, ONE).mass(k), Geometric(rate).mass(k))
        assert math.isclose(PolyaDifference(rate, ONE).mass(k), TwoSidedGeometric(rate).mass(k))


@pytest.mark.slow
@settings(max_examples=15)
@given(rates, st.fractions("1/20", "19/20", max_denominator=20))
def test_ratios_of_masses_rise_towards_the_geometric_ratio(rate, shape):
    """Theorem 3, with certified bounds; above the shape 1 they fall."""
    law = PolyaDifference(rate, shape)
    masses = [law.mass_bounds(k, bits=128) for k in range(12)]
    for before, at, after in zip(masses, masses[1:], masses[2:], strict=False):
        assert (before * after).lower >= (at * at).upper
    assert (masses[11] / masses[10]).upper < math.exp(-rate) * (1 + 1e-12)
    above = PolyaDifference(rate, 1 / shape)
    first, second, third = (above.mass_bounds(k, bits=128) for k in (1, 2, 3))
    assert (first * third).upper < (second * second).lower


@pytest.mark.parametrize("rate", [Fraction(5, 2), ONE, Fraction(1, 3), Fraction(1, 5)], ids=str)
def test_an_attempt_at_a_cluster_has_the_logarithmic_law(rate):
    """Walked choice by choice: no sample is drawn."""
    found = walk(lambda source: cluster_attempt(rate, source), unresolved=Fraction(1, 10**5))
    assert found.unresolved <= Fraction(1, 10**5)
    law = Logarithmic(rate)
    for k in range(1, 12):
        assert found.agrees_with(k, law.mass_bounds(k))
    off = Logarithmic(rate * Fraction(11, 10))
    assert not found.agrees_with(1, off.mass_bounds(1))


@pytest.mark.parametrize("fault", ["class", "tail", "keep"])
def test_planted_faults_of_the_attempt_are_found(monkeypatch, fault):
    """A coin of the small classes or of the tail forgotten, a size kept too often."""

    def broken(rate, source):
        classes = 3  # rate 1/5: the first power of two is 8
        i = source.below(classes + 1)
        size = 1 << i
        spared = 0
        if i < classes:
            if fault != "class" and source.flip_exp(ONE):
                return None
            least = size
        else:
            while source.flip_exp(ONE):
                spared += 1
            least = (spared + 1) * size
        k = least + source.below(size)
        saved = 0 if fault == "tail" else spared
        kept = (fault == "keep" or source.flip(Fraction(size, k))) and source.flip_exp(
            max(rate * k - saved, Fraction(0))
        )
        return k if kept else None

    monkeypatch.setattr(module, "cluster_attempt", broken)
    rate = Fraction(1, 5)
    found = walk(lambda source: module.cluster_attempt(rate, source), unresolved=Fraction(1, 10**4))
    law = Logarithmic(rate)
    assert not all(found.agrees_with(k, law.mass_bounds(k)) for k in range(1, 24))


@pytest.mark.parametrize("shape", [Fraction(1, 3), Fraction(1, 100), Fraction(5, 2)], ids=str)
def test_the_number_of_clusters_is_read_off_its_table(shape):
    table = inversion(Poisson(Fraction(1, 7), shape))
    found = walk_table(table)
    for k in range(6):
        assert found.agrees_with(k, table.law.mass_bounds(k))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [ONE, Fraction(1, 128), Fraction(6)], ids=str)
def test_the_size_of_a_cluster_is_read_off_its_table(rate):
    table = inversion(Logarithmic(rate))
    found = walk_table(table)
    for k in range(1, 60):
        assert found.agrees_with(k, table.law.mass_bounds(k))
    assert found.unresolved < Fraction(1, 10**14)


def fit(draws, law, cells):
    """The chi-square p-value of draws in single cells, and all others in one."""
    inside = [law.mass(k) for k in cells]
    expected = np.array([*inside, 1 - math.fsum(inside)]) * len(draws)
    found = np.array([np.count_nonzero(draws == k) for k in cells])
    counts = np.array([*found, len(draws) - found.sum()])
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(cells))


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [ONE, Fraction(1, 5)], ids=str)
@pytest.mark.parametrize("shape", [Fraction(1, 3), Fraction(3, 2)], ids=str)
def test_draws_have_the_law(rate, shape):
    """False alarm below 1e-9 a case; a shape 10 % off is rejected (missed below 1e-6)."""
    source = system_source()
    for make, law, cells in ((polya, Polya, range(6)), (polya_difference, PolyaDifference,
                                                        range(-4, 5))):  # fmt: skip
        many = make(rate, shape).many(200_000, source)
        assert fit(many, law(rate, shape), cells) > 1e-10
        assert fit(many, law(rate, shape * Fraction(11, 10)), cells) < 1e-10
        single = np.array([make(rate, shape).one(source) for _ in range(1000)])
        assert fit(single, law(rate, shape), cells) > 1e-10


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**7)], ids=str)
def test_drawn_shares_add_up_at_every_scale(rate):
    """False alarm below 1e-9 a case; without two of four shares the sum is rejected."""
    source, share = system_source(), polya_difference(rate, Fraction(1, 4))
    drawn = np.array([share.many(1_000, source) for _ in range(4)])
    law = TwoSidedGeometric(rate)
    assert goodness(drawn.sum(axis=0), law, bins=12) > 1e-10
    assert goodness(drawn[:2].sum(axis=0), law, bins=12) < 1e-10


def test_large_clusters_stay_exact():
    """A cluster that does not fit 64 bits makes Python integers of all."""
    assert module._exact([0, 1 << 70]).tolist() == [0, 1 << 70]
    assert module._exact([0, 5]).dtype == np.int64


def test_no_cluster_is_zero():
    sampler = polya(ONE, Fraction(1, 100))
    assert sampler.one(ReplayedSource([0])) == 0


@pytest.mark.parametrize(("rate", "shape"), [(0, 1), (1, 0), (-1, 1), (1, Fraction(-1, 2))])
def test_what_has_no_law_is_refused(rate, shape):
    for law in (Polya, PolyaDifference, Poisson):
        with pytest.raises(ValueError, match="above 0"):
            law(Fraction(rate), Fraction(shape))
