from fractions import Fraction

import pytest

from discreet.audit.walk import walk, walk_table
from discreet.errors import ParameterError
from discreet.exact import Interval, exp
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.table import Inversion


def test_weights_are_fractions_where_the_choices_are():
    found = walk(lambda source: source.below(3) + source.below(2))
    assert found.unresolved == 0
    assert found.weights[1].lower == Fraction(1, 3)
    assert found.runs == 1 + 3 + 6


def test_a_rejected_attempt_is_normalised_away():
    found = walk(lambda source: None if (k := source.below(4)) == 3 else k)
    assert found.rejected == Interval.of(Fraction(1, 4))
    assert found.agrees_with(0, Interval.of(Fraction(1, 3)))
    assert not found.agrees_with(0, Interval.of(Fraction(1, 4)))


def test_what_is_open_bounds_everything():
    found = walk(lambda source: sum(source.flip(Fraction(1, 2)) for _ in range(20)), runs=50)
    assert found.unresolved > 0
    assert found.mass_bounds(10).width > 0


def test_irrational_coins_are_atoms_or_walked_through():
    for atoms in (("below", "flip", "flip_exp"), ("below", "flip"), ("below",)):
        found = walk(lambda source: source.flip_exp(Fraction(1, 2)), atoms=atoms)
        assert found.agrees_with(True, exp(Fraction(-1, 2), 100))
        assert not found.agrees_with(True, Interval.of(Fraction(607, 1000)))


def test_impossible_branches_are_not_walked():
    found = walk(lambda source: source.flip(Fraction(0)))
    assert set(found.weights) == {False}


def test_too_many_choices_at_once_are_refused():
    with pytest.raises(ParameterError, match="at most 65536"):
        walk(lambda source: source.bits(64), atoms=())


def test_arrays_are_walked_too():
    found = walk(lambda source: int(source.array(1, 16)[0]) >> 15, atoms=(), runs=300)
    assert found.unresolved > Fraction(99, 100)  # 65,536 branches at once, most of them still open


def test_a_table_is_walked_word_by_word():
    found = walk_table(Inversion(TwoSidedGeometric(Fraction(1))))
    assert found.unresolved < Fraction(1, 10**17)
    assert sum(weight.lower for weight in found.weights.values()) + found.unresolved == 1


def test_a_wrong_table_is_seen():
    law = TwoSidedGeometric(Fraction(1))
    for cell, change in ((1 << 15, 1), (12_345, -1)):
        wrong = Inversion(law)
        wrong.answers[cell] += change
        with pytest.raises(ArithmeticError, match="a cell of the guide"):
            walk_table(wrong)

    class OffByOne(Inversion):
        def decide(self, u, source):
            return super().decide(u, source) + (u % 2)

    with pytest.raises(ArithmeticError, match="do not have one answer"):
        walk_table(OffByOne(law))
    other = walk_table(Inversion(TwoSidedGeometric(Fraction(101, 100))))
    assert not other.agrees_with(0, law.mass_bounds(0, bits=128))
