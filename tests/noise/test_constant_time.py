"""The fixed-word sampler: exact privacy of its rational law, words and steps always the same."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import exp
from discreet.noise import constant_time
from discreet.noise.clamped import ClampedGeometric
from discreet.noise.constant_time import FixedWords
from discreet.noise.source import ReplayedSource, system_source

CASES = [
    (Fraction(1), 0, 15),
    (Fraction(1, 10), 0, 30),
    (Fraction(1, 1000), -5, 5),
    (Fraction(5), 0, 3),
    (Fraction(1), 0, 1),
]


@pytest.mark.parametrize(("rate", "low", "high"), CASES)
def test_ratios_per_unit_step_are_exactly_bounded(rate, low, high):
    """Integers against a lower bound of e^rate: no tolerance, no sampling."""
    sampler = FixedWords(rate, low, high)
    factor = exp(rate, 200).lower
    for at in range(low, high):
        for k in range(low, high + 1):
            here, there = sampler.law(at).exact_mass(k), sampler.law(at + 1).exact_mass(k)
            assert 0 < here <= factor * there
            assert there <= factor * here


@pytest.mark.parametrize(("rate", "low", "high"), CASES)
def test_it_is_close_to_the_clamped_law_and_adds_up_to_one(rate, low, high):
    for at in (low, (low + high) // 2, high):
        law, ideal = FixedWords(rate, low, high).law(at), ClampedGeometric(rate, at, low, high)
        masses = {k: law.exact_mass(k) for k in range(low, high + 1)}
        assert sum(masses.values()) == 1
        gaps = [abs(mass - ideal.mass_bounds(k, bits=100).lower) for k, mass in masses.items()]
        assert sum(gaps) < Fraction(1, 1 << 38)


def test_a_smaller_floor_weight_would_break_the_promise(monkeypatch):
    """c = 1 instead of coth(rate/2) at rate 1/1000: the rounding shows in the far tails.

    Words of 16 bits stand in for 64, so that tails exist that rounding can distort.
    """
    rate, factor = Fraction(1, 3), exp(Fraction(1, 3), 200)
    monkeypatch.setattr(constant_time, "_floor_weight", lambda _: 1)

    def weights(at, c, size, bits=8):
        scale = (1 << bits) - size * c
        law = ClampedGeometric(rate, at, 0, size - 1)
        cumulative = [
            (scale * law.cumulative_bounds(k, bits=90).lower).__floor__() for k in range(size)
        ]
        return [c + x - y for x, y in zip(cumulative, [0, *cumulative], strict=False)]

    def holds(c):
        rows = [weights(at, c, 20) for at in range(20)]
        return all(
            x <= factor.lower * y
            for p, q in itertools.pairwise(rows)
            for x, y in [*zip(p, q, strict=True), *zip(q, p, strict=True)]
        )

    assert holds(7)  # coth(1/6) = 6.05...
    assert not holds(1)


class Counting(ReplayedSource):
    def __init__(self, value):
        super().__init__([])
        self.value, self.calls = value, 0

    def bits(self, count):
        assert count == 64
        self.calls += 1
        return self.value


@given(st.integers(0, (1 << 64) - 1), st.integers(0, 1000))
def test_words_and_steps_never_depend_on_value_or_noise(word, at):
    sampler = FixedWords(Fraction(1, 7), 0, 1000)
    looked = []
    original = FixedWords.cumulative_weight
    source = Counting(word)
    try:
        FixedWords.cumulative_weight = lambda self, place, at: (
            looked.append(place) or original(self, place, at)
        )
        found = sampler.draw(at, source)
    finally:
        FixedWords.cumulative_weight = original
    assert source.calls == sampler.words == 1
    assert len(looked) == sampler.steps == 10
    assert 0 <= found <= 1000


def test_the_draw_is_the_inverse_of_its_cumulative_weights():
    sampler = FixedWords(Fraction(1, 2), 0, 9)
    for at in range(10):
        law = sampler.law(at)
        for k in range(10):
            first, last = law.weight_below(k - 1), law.weight_below(k) - 1
            for word in (first, (first + last) // 2, last):
                assert sampler.draw(at, ReplayedSource([word])) == k


def test_zero_noise_takes_the_same_way_as_any():
    sampler = FixedWords(Fraction(2), 0, 100)
    law = sampler.law(50)
    for k in (0, 50, 51, 100):
        source = Counting(law.weight_below(k) - 1)
        assert sampler.draw(50, source) == k
        assert source.calls == sampler.words


def test_long_ranges_need_no_table():
    sampler = FixedWords(Fraction(1, 100), 0, (1 << 32) - 1)
    assert (sampler.words, sampler.steps) == (2, 32)
    found = [sampler.draw(10**6, system_source()) for _ in range(5)]
    assert all(abs(x - 10**6) < 10**5 for x in found)  # misses with probability e^-1000


def test_moments_of_the_rational_law():
    law = FixedWords(Fraction(1, 10), 0, 30).law(20)
    ideal = ClampedGeometric(Fraction(1, 10), 20, 0, 30)
    assert law.mean == pytest.approx(ideal.mean, rel=1e-9)
    assert law.variance == pytest.approx(ideal.variance, rel=1e-9)
    assert law.absolute_error(20) == pytest.approx(ideal.absolute_error(20), rel=1e-9)
    assert law.quantile("0.5") == ideal.quantile("0.5")
