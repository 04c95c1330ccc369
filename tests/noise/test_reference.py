"""Three textbook ways to the two-sided geometric law, proved equal by walking their choices.

The fourth, inversion, is in test_table.py.
"""

from fractions import Fraction

import pytest

from discreet.audit.walk import walk
from discreet.exact import exp
from discreet.noise import reference
from discreet.noise.geometric import Geometric, TwoSidedGeometric
from discreet.noise.source import system_source

WAYS = [reference.two_sided_attempt, reference.two_sided_by_difference, reference.zero_or_signed]


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_has_the_law(way, rate):
    left = Fraction(1, 10**12)
    if way is reference.zero_or_signed:
        left = Fraction(1, 10**7)  # it holds two loops of its own
    found = walk(lambda source: way(rate, source), unresolved=left)
    assert found.unresolved <= left
    law = TwoSidedGeometric(rate)
    assert all(found.agrees_with(k, law.mass_bounds(k, bits=128)) for k in range(-25, 26))


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(3, 7), Fraction(4)], ids=str)
def test_the_geometric_attempt(rate):
    found = walk(lambda source: reference.geometric_attempt(rate, source))
    law = Geometric(rate)
    assert all(found.agrees_with(k, law.mass_bounds(k, bits=128)) for k in range(60))


def test_the_logistic_coin():
    found = walk(lambda source: reference.logistic(Fraction(1, 2), source))
    assert found.agrees_with(True, 1 / (1 + exp(Fraction(-1, 2), 128)))


def test_starting_over_from_the_zero_would_be_seen():
    """Rejecting the whole value where only the geometric part was rejected favours zero."""

    def planted(source):
        if reference.logistic(Fraction(1, 2), source) and not source.flip_exp(Fraction(1, 2)):
            return 0
        sign = -1 if source.flip(Fraction(1, 2)) else 1
        rest = reference.geometric_attempt(Fraction(1, 2), source)
        return None if rest is None else sign * (1 + rest)

    found = walk(planted, unresolved=Fraction(1, 10**9))
    assert not found.agrees_with(0, TwoSidedGeometric(Fraction(1, 2)).mass_bounds(0))


def test_double_zero_would_be_seen():
    def planted(source):
        magnitude = reference.geometric_attempt(Fraction(1), source)
        if magnitude is None:
            return None
        return -magnitude if source.flip(Fraction(1, 2)) else magnitude

    found = walk(planted)
    assert not found.agrees_with(0, TwoSidedGeometric(Fraction(1)).mass_bounds(0))


def test_attempts_are_repeated_until_one_succeeds():
    draws = [
        reference.repeated(
            lambda s: reference.two_sided_attempt(Fraction(1, 3), s), system_source()
        )
        for _ in range(200)
    ]
    assert all(isinstance(z, int) for z in draws)
    assert len(set(draws)) > 3
