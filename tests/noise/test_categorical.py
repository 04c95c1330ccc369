"""Coins, uniform integers, finite lists: formulas against enumeration, draws against formulas."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.audit import walk
from discreet.exact import exp
from discreet.noise.categorical import Bernoulli, BernoulliExp, Categorical, RationalLaw, Uniform
from discreet.noise.source import ReplayedSource, SystemSource
from discreet.noise.table import Inversion

F = Fraction

LAWS: list[RationalLaw] = [
    Bernoulli(F(0)),
    Bernoulli(F(1, 3)),
    Bernoulli(F(1)),
    Uniform(1),
    Uniform(7),
    Uniform(8),
    Categorical((F(1),)),
    Categorical((F(1, 6), F(1, 3), F(1, 2))),
    Categorical((F(0), F(1, 2), F(0), F(1, 2), F(0))),
    Categorical((F(1, 64), F(31, 64), F(1, 2))),
    Categorical((F(1, 3), F(2, 3) - F(1, 2**80), F(1, 2**80))),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_every_formula_agrees_with_the_list_of_masses(law: RationalLaw) -> None:
    masses = {k: law.exact_mass(k) for k in range(-2, 12)}
    assert sum(masses.values()) == 1
    support = [k for k, mass in masses.items() if mass > 0]
    assert (law.lowest, law.highest) == (support[0], support[-1])
    for k, mass_here in masses.items():
        below = sum(mass for j, mass in masses.items() if j <= k)
        assert law.exact_cumulative(k) == below
        for bounds, exact in [
            (law.mass_bounds(k), mass_here),
            (law.cumulative_bounds(k), below),
            (law.tail_bounds(k), 1 - below),
        ]:
            assert bounds.lower == bounds.upper == exact
    mean = sum(k * mass for k, mass in masses.items())
    assert law.exact_mean == law.mean_bounds().lower == mean
    assert law.exact_variance == sum((k - mean) ** 2 * mass for k, mass in masses.items())
    assert law.variance_bounds().lower == law.exact_variance
    for target in (-3, 0, 1, 4, 20):
        exact = sum(abs(k - target) * mass for k, mass in masses.items())
        assert law.exact_absolute_error(target) == exact
        assert law.absolute_error(target) == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_quantile_is_the_smallest_value_even_where_the_level_is_met_exactly(law) -> None:
    levels = {law.exact_cumulative(k) for k in range(12)} | {F(1, 5), F(1, 2), F(1, 10**30)}
    for level in sorted(level for level in levels if 0 < level < 1):
        k = law.quantile(level)
        assert law.exact_cumulative(k) >= level > law.exact_cumulative(k - 1)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_inversion_has_exactly_the_law(law: RationalLaw) -> None:
    """Six-bit words, so that every word there is can be walked; ties go on to the next six bits."""
    table = Inversion(law, word=6, guide=3)
    found = walk(table.one, unresolved=F(1, 10**9))
    assert found.unresolved < F(1, 10**9)
    for k in range(-1, 9):
        assert found.agrees_with(k, law.mass_bounds(k))
        assert found.mass_bounds(k).width < F(1, 10**8)


def test_a_threshold_that_is_dyadic_is_decided_by_strictness() -> None:
    """X counts the k with F(k) <= U, so U = F(0) = 1/2 exactly gives 1, and just below gives 0."""
    table = Inversion(Categorical((F(1, 2), F(1, 2))))
    assert table.one(ReplayedSource([1 << 63, 0])) == 1
    assert table.one(ReplayedSource([(1 << 63) - 1])) == 0
    found = walk(Inversion(Categorical((F(1, 4), F(1, 4), F(1, 2))), word=6, guide=3).one)
    assert found.unresolved == 0
    assert {k: w.lower for k, w in found.weights.items()} == {0: F(1, 4), 1: F(1, 4), 2: F(1, 2)}


def test_tails_below_two_to_the_minus_64_are_still_drawn() -> None:
    rare = Inversion(Categorical((1 - F(1, 2**70), F(1, 2**70))))
    ones = (1 << 64) - 1
    assert rare.one(ReplayedSource([ones, ones])) == 1
    assert rare.one(ReplayedSource([ones, ones - (1 << 58)])) == 0


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any))
@settings(max_examples=25, deadline=None)
def test_any_weights_have_their_law(parts: list[int]) -> None:
    law = Categorical(tuple(F(part, sum(parts)) for part in parts))
    found = walk(Inversion(law, word=6, guide=4).one, unresolved=F(1, 10**5))
    assert all(found.agrees_with(k, law.mass_bounds(k)) for k in range(len(parts)))
    assert set(found.weights) <= {k for k, part in enumerate(parts) if part}


@pytest.mark.statistical
def test_many_draws_have_the_law() -> None:
    """False alarm below 1e-9; one weight 10% off is found with probability above 1 - 1e-9."""
    weights = (F(1, 2), F(0), F(1, 3), F(1, 7), F(1, 42))
    table, source, size = Inversion(Categorical(weights)), SystemSource(), 1 << 16
    counts = Counter[int]()
    for _ in range(8):
        counts.update(table.chunk(size, source).tolist())
    assert set(counts) == {0, 2, 3, 4}

    def p_value(shares: tuple[Fraction, ...]) -> float:
        expected = {k: float(8 * size * share) for k, share in enumerate(shares) if share}
        statistic = sum((counts[k] - mean) ** 2 / mean for k, mean in expected.items())
        return float(chi2.sf(statistic, len(expected) - 1))

    assert p_value(weights) > 1e-9
    assert p_value((F(1, 2), F(0), F(1, 3) - F(1, 70), F(1, 7) + F(1, 70), F(1, 42))) < 1e-9


@pytest.mark.parametrize("x", [F(0), F(1, 3), F(1), F(40)])
def test_the_coin_of_exp_minus_x(x: Fraction) -> None:
    law, one = BernoulliExp(x), exp(-x, 200)
    for k, exact in ((1, one), (0, 1 - one), (2, exp(0, 8) - 1), (-1, exp(0, 8) - 1)):
        bounds = law.mass_bounds(k, bits=100)
        assert bounds.lower <= exact.upper
        assert exact.lower <= bounds.upper
        assert bounds.width <= F(1, 2**99)
    assert law.tail(0) == law.mean == law.mass(1) == pytest.approx(float(one))
    assert law.variance == pytest.approx(float(one * (1 - one)))
    assert law.absolute_error(3) == pytest.approx(float(3 - one))
    found = walk(Inversion(law, word=6, guide=3).one, unresolved=F(1, 10**9))
    assert found.agrees_with(1, one)
    assert found.mass_bounds(1).width < F(1, 10**8)


def test_a_huge_uniform_needs_no_list() -> None:
    law = Uniform(2**70)
    assert law.exact_mass(2**70 - 1) == F(1, 2**70)
    assert law.exact_mass(2**70) == 0
    assert law.quantile("1/4") == 2**68 - 1
    assert law.exact_mean == F(2**70 - 1, 2)
    assert law.exact_variance == F(2**140 - 1, 12)
    assert law.locate(1 << 200, 201) == 2**69


def test_what_is_no_law_is_refused() -> None:
    for make in (
        lambda: Bernoulli(F(3, 2)),
        lambda: Bernoulli(F(-1, 2)),
        lambda: BernoulliExp(F(-1)),
        lambda: Uniform(0),
        lambda: Categorical(()),
        lambda: Categorical((F(1, 2),)),
        lambda: Categorical((F(3, 2), F(-1, 2))),
    ):
        with pytest.raises(ValueError):
            make()


def test_laws_are_values() -> None:
    assert Categorical((F(1, 2), F(1, 2))) == Categorical((F(1, 2), F(1, 2)))
    assert len({Uniform(3), Uniform(3), Uniform(4), Bernoulli(F(1, 2)), Bernoulli(F(1, 2))}) == 3
    assert Inversion(Uniform(5)).chunk(0, SystemSource()).dtype == np.int16
