import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.test_sampler import goodness

from discreet.audit.walk import walk
from discreet.errors import RangeError, UnsupportedError
from discreet.exact import Interval
from discreet.noise import reference
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.sampler import TableSampler
from discreet.noise.source import system_source
from discreet.noise.staircase import IntegerStaircase, best_inner, staircase

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda s: s[1] <= s[0])
rates = st.fractions("1/4", 5, max_denominator=20)


@given(rates, shapes, st.integers(-30, 30))
def test_masses_and_tails_agree(rate, shape, k):
    law = IntegerStaircase(rate, *shape)
    step = law.cumulative_bounds(k) - law.cumulative_bounds(k - 1)
    mass = law.mass_bounds(k)
    assert step.lower <= mass.upper
    assert mass.lower <= step.upper
    whole = law.cumulative_bounds(k) + law.tail_bounds(k)
    assert 1 in Interval(whole.lower, whole.upper)


@given(rates, shapes)
def test_moments_are_those_of_the_masses(rate, shape):
    law = IntegerStaircase(rate, *shape)
    reach = int(60 / rate) * shape[0]
    if reach > 600:
        return
    masses = {k: law.mass(k) for k in range(-reach, reach + 1)}
    assert math.isclose(math.fsum(masses.values()), 1, rel_tol=1e-12)
    assert math.isclose(law.variance, math.fsum(k * k * p for k, p in masses.items()), rel_tol=1e-9)
    assert math.isclose(
        law.absolute_error(0), math.fsum(abs(k) * p for k, p in masses.items()), rel_tol=1e-9
    )
    assert law.mean == 0


@given(rates)
def test_a_width_of_one_is_the_two_sided_geometric(rate):
    for k in range(-5, 6):
        assert math.isclose(IntegerStaircase(rate, 1, 1).mass(k), TwoSidedGeometric(rate).mass(k))


@given(rates, st.integers(1, 40))
def test_the_inner_width_is_the_best(rate, width):
    best = IntegerStaircase(rate, width, best_inner(rate, width)).variance
    others = [IntegerStaircase(rate, width, r).variance for r in range(1, width + 1)]
    assert best <= min(others) * (1 + 1e-12)


@given(rates, shapes)
def test_tables_enclose_the_cumulative(rate, shape):
    law = IntegerStaircase(rate, *shape)
    for first in (-12, 3):
        for k, (low, high) in enumerate(law.table(first, 14, 96), start=first):
            truth = law.cumulative_bounds(k, bits=200)
            assert low <= truth.upper * (1 << 96)
            assert truth.lower * (1 << 96) <= high
            assert high - low <= 8


def test_both_ways_of_drawing_are_used():
    assert isinstance(staircase(IntegerStaircase(Fraction(2), 10, 4)), TableSampler)
    assert not isinstance(staircase(IntegerStaircase(Fraction(2), 10**4, 40)), TableSampler)


def test_another_target_has_no_formula():
    with pytest.raises(UnsupportedError):
        IntegerStaircase(Fraction(1), 3, 1).absolute_error(2)


@pytest.mark.parametrize(
    ("rate", "width", "inner"), [(Fraction(2), 3, 1), (Fraction(1), 4, 4), (Fraction(3), 5, 2)]
)
def test_the_reference_has_the_law_by_walking(rate, width, inner):
    found = walk(lambda source: reference.staircase_attempt(rate, width, inner, source))
    law = IntegerStaircase(rate, width, inner)
    assert found.unresolved <= Fraction(1, 10**12)
    assert all(found.agrees_with(k, law.mass_bounds(k, bits=128)) for k in range(-30, 31))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rate", "width", "inner"),
    [
        (Fraction(2), 3, 1),
        (Fraction(1, 2), 10, 4),
        (Fraction(1), 7, 7),
        (Fraction(1, 1000), 1 << 20, 1 << 19),
        (Fraction(2), 10**4, 3000),
        (Fraction(1), 10**5, 10**5),
    ],
)
def test_many_and_one_have_the_law(rate, width, inner):
    """False alarm below 1e-9; another inner width is rejected."""
    law = IntegerStaircase(rate, width, inner)
    many = staircase(law).many(300_000, system_source())
    assert goodness(many, law) > 1e-10
    assert (
        goodness([staircase(law).one(system_source()) for _ in range(4000)], law, bins=20) > 1e-10
    )
    if width == 10:
        assert goodness(many, IntegerStaircase(rate, width, 8)) < 1e-10


def test_what_does_not_fit_is_refused():
    law = IntegerStaircase(Fraction(1, 10**9), 1 << 40, 1 << 39)
    with pytest.raises(RangeError):
        staircase(law).many(10, system_source())
    assert abs(staircase(law).one(system_source())) > 1 << 40
    assert staircase(IntegerStaircase(Fraction(1), 3, 1)).many(0, system_source()).dtype == np.int64
