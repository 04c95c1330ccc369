"""Inversion has exactly the law: by walking every word of small tables, and at every threshold
of full-size ones.
"""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.walk import walk
from discreet.exact import Interval
from discreet.noise.geometric import (
    BlockedGeometric,
    Geometric,
    TruncatedGeometric,
    TwoSidedGeometric,
)
from discreet.noise.source import ReplayedSource, system_source
from discreet.noise.table import CHUNK, Inversion, inversion

SMALL = [
    TwoSidedGeometric(Fraction(1)),
    TwoSidedGeometric(Fraction(1, 3)),
    BlockedGeometric(Fraction(1, 5), 3),
    Geometric(Fraction(1, 2)),
    TruncatedGeometric(Fraction(1, 2), 5),
]


class OtherTies(Inversion):
    """The planted faults: a tie settled to one side, or by a new word."""

    def __init__(self, law, fault, **sizes):
        super().__init__(law, **sizes)
        self.fault = fault

    def resolve(self, u, source):
        if self.fault == "redraw":
            return self.one(source)
        shift = {"up": 1, "down": 0}[self.fault]
        return self.first + int(np.searchsorted(self._sorted, np.uint64(u), side="left")) + shift


@pytest.mark.slow
@pytest.mark.parametrize("law", SMALL, ids=repr)
@pytest.mark.parametrize(("word", "guide"), [(6, 3), (5, 5)])
def test_the_law_of_small_tables_by_walking_every_word(law, word, guide):
    """All words but those that begin like a threshold twice over are walked to their end."""
    left = Fraction(1, 200)
    found = walk(Inversion(law, word=word, guide=guide).one, atoms=(), unresolved=left)
    assert found.unresolved <= left
    for k in range(-25, 26):
        assert found.agrees_with(k, law.mass_bounds(k, bits=128)), k


@pytest.mark.parametrize("fault", ["up", "down", "redraw"])
def test_a_tie_settled_otherwise_would_be_seen(fault):
    law = TwoSidedGeometric(Fraction(1))
    found = walk(OtherTies(law, fault, word=6, guide=3).one, atoms=(), unresolved=Fraction(1, 500))
    assert not all(found.agrees_with(k, law.mass_bounds(k, bits=128)) for k in range(-6, 7))


@pytest.mark.parametrize(
    "law",
    [*SMALL, TwoSidedGeometric(Fraction(1, 40)), BlockedGeometric(Fraction(100), 1)],
    ids=repr,
)
def test_thresholds_are_certified_floors(law):
    table = Inversion(law)
    for k, threshold in enumerate(table.thresholds, start=table.first):
        bounds = law.cumulative_bounds(k, bits=200)
        assert threshold <= bounds.lower * (1 << 64)
        assert bounds.upper * (1 << 64) < threshold + 1
    if law.lowest is None:
        assert table.thresholds[0] == 0
    if law.highest is None:
        assert table.thresholds[-1] == (1 << 64) - 1


@pytest.mark.parametrize(
    "law",
    [
        TwoSidedGeometric(Fraction(1)),
        Geometric(Fraction(1, 2)),
        TruncatedGeometric(Fraction(1, 50), 40),
    ],
    ids=repr,
)
def test_words_beside_every_threshold(law):
    """One and many agree with the law's own inverse at t - 1, t (with more bits) and t + 1."""
    table = Inversion(law)
    for threshold in table.thresholds:
        for u in (threshold - 1, threshold, threshold + 1):
            if not 0 <= u < 1 << 64:
                continue
            for more in (0, 1 << 63, (1 << 64) - 1):
                script = [more, 1 << 62, 1 << 61]
                expected = law.locate(u << 64 | more, 128)
                if expected is None:
                    expected = law.locate((u << 64 | more) << 64 | 1 << 62, 192)
                assert table.one(ReplayedSource([u, *script])) == expected
                cell, rest = u >> 48, u << 16 & ((1 << 64) - 1)
                marked = table.answers[cell] == table.marked
                words = [cell, rest, *script] if marked else [cell]
                assert table.chunk(1, ReplayedSource(words)).tolist() == [expected]


def test_every_cell_of_the_guide_is_right():
    """A cell is decided exactly if its first and its last word have the same answer."""
    table = Inversion(TwoSidedGeometric(Fraction(1, 10)))
    for cell in range(0, 1 << 16, 7):
        first, last = cell << 48, (cell + 1 << 48) - 1
        low = int(np.searchsorted(table._sorted, np.uint64(first), side="left"))
        high = int(np.searchsorted(table._sorted, np.uint64(last), side="right"))
        if table.answers[cell] == table.marked:
            assert low < high
        else:
            assert low == high
            assert table.answers[cell] == table.first + low


def test_single_draws_are_what_the_table_says():
    """In every type that a table has: those of many are machine integers, a single one is not."""
    for law in (TwoSidedGeometric(Fraction(1, 3)), TwoSidedGeometric(Fraction(1, 50))):
        table, cells = Inversion(law), 1 << 16
        for cell in (0, 1, cells // 2 - 1, cells // 2, *range(3, cells, 997), cells - 1):
            words = [cell << 48 | 12345, 1, 1]
            found = table.one(ReplayedSource(words))
            u = np.uint64(words[0])
            assert found == table.first + np.searchsorted(table._sorted, u, side="left")
            assert type(found) is int
            assert table.several(1, ReplayedSource(words)) == [found]


def test_over_97_percent_need_sixteen_bits():
    for rate in (Fraction(1), Fraction(1, 10), Fraction(1, 100)):
        table = inversion(BlockedGeometric(rate, 1))
        assert np.mean(table.answers == table.marked) < 0.03


def test_a_draw_far_beyond_the_table_goes_on_exactly():
    """The largest words lead to values that no table holds: 130 bits of ones, then zeros."""
    law = TwoSidedGeometric(Fraction(1))
    table = Inversion(law)
    ones = (1 << 64) - 1
    far = table.one(ReplayedSource([ones, ones, 1 << 63]))
    assert far > table.first + len(table.thresholds)
    assert law.locate(((ones << 64 | ones) << 64) | 1 << 63, 192) == far
    near = table.one(ReplayedSource([0, 0, 1]))
    assert near < table.first
    many = table.chunk(1, ReplayedSource([0xFFFF, ones, ones, 1 << 63]))
    assert many.tolist() == [far]


def test_a_far_draw_does_not_wrap_a_small_array():
    """A tie that leads beyond 16 bits widens the array instead of wrapping."""
    law = BlockedGeometric(Fraction(1, 100), 1)
    table = Inversion(law)
    assert table.answers.dtype == np.int16
    ones = (1 << 64) - 1
    words = [0xFFFF, ones, *[ones] * 8, 1 << 63]
    value = table.chunk(1, ReplayedSource(words))
    assert value.dtype == np.int64
    assert value[0] > 1 << 15


def test_a_table_is_no_larger_than_it_must_be():
    """65,536 cells in two bytes each, counts too; what is read one by one is the same memory."""
    made = inversion(TwoSidedGeometric(Fraction(1, 100)))
    for _ in range(100):
        made.one(system_source())
    assert made.answers.nbytes == made._counts.nbytes == 2 << 16
    assert made.cells.obj is made.answers


def test_a_copy_draws_the_same():
    """Mechanisms are handed to other processes, with their tables."""
    made = inversion(TwoSidedGeometric(Fraction(1, 3)))
    copied = pickle.loads(pickle.dumps(made))
    words = [system_source().bits(64) for _ in range(200)]
    drawn = [one.several(200, ReplayedSource(words)) for one in (made, copied)]
    assert drawn[0] == drawn[1]
    assert copied.cells.obj is copied.answers


def test_equal_laws_share_a_table():
    assert inversion(TwoSidedGeometric(Fraction(1, 7))) is inversion(
        TwoSidedGeometric(Fraction(1, 7))
    )


def test_dyadic_cumulatives_are_settled_without_end():
    """F(k) with finitely many bits: U = F(k) belongs to the next value."""

    class Fair(TruncatedGeometric):
        def _cumulative(self, k, w):
            return Interval.of(Fraction(k + 1, self.size))

        def _mass(self, k, w):
            return Interval.of(Fraction(1, self.size))

        def _tail(self, k, w):
            return Interval.of(Fraction(self.size - k - 1, self.size))

        def table(self, first, last, w):
            return [
                (k + 1 << w) // self.size and ((k + 1 << w) // self.size,) * 2
                for k in range(first, last + 1)
            ]

    table = Inversion(Fair(Fraction(1), 4))
    assert table.one(ReplayedSource([1 << 62, 0])) == 1
    assert table.one(ReplayedSource([(1 << 62) - 1])) == 0


def test_chunks_of_nothing():
    assert inversion(TwoSidedGeometric(Fraction(1))).chunk(0, system_source()).size == 0
    assert CHUNK % 4 == 0  # so that pieces of a stream are whole words
