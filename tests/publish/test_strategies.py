"""Strategies: gradients, inverses and errors by dense algebra; whole numbers."""

import itertools

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.publish import strategies as module
from discreet.publish.levels import hb_branching
from discreet.publish.questions import all_ranges, boxes, least_possible, listed, prefixes
from discreet.publish.strategies import (
    Strategy,
    blocks,
    identity_strategy,
    levels_strategy,
    optimised,
    strategy_for,
    total_error,
)


@pytest.mark.parametrize("wanted", [prefixes(16), all_ranges(16)], ids=["prefixes", "ranges"])
def test_columns_of_an_optimised_strategy_sum_to_one_at_most(wanted):
    """Exactly, in whole parts; and to hardly less."""
    strategy = optimised(wanted, blocks((16,), 4))
    sums = [sum(map(int, column)) for column in strategy.matrix.T]
    assert max(sums) == strategy.norm <= module._GRAIN
    assert min(sums) >= module._GRAIN - len(strategy.matrix)


def test_the_gradient_is_that_of_the_error():
    wanted = all_ranges(7)
    extra = 0.1 + np.abs(np.sin(np.arange(21.0))).reshape(3, 7)
    value, slope = total_error(extra, wanted)
    real = np.vstack([np.eye(7), extra]) / (1 + extra.sum(axis=0))
    assert value == pytest.approx(np.trace(np.linalg.solve(real.T @ real, wanted.gram)))
    for place in itertools.product(range(3), range(7)):
        moved = extra.copy()
        moved[place] += 1e-6
        found = (total_error(moved, wanted)[0] - value) / 1e-6
        assert found == pytest.approx(slope[place], rel=1e-3)


@pytest.mark.parametrize(
    "strategy",
    [
        identity_strategy(12),
        levels_strategy((12,), 3),
        levels_strategy((3, 4), 2),
        optimised(prefixes(12)),
    ],
)
def test_inverses_and_errors_are_those_of_the_matrix(strategy):
    inverse = np.linalg.inv((strategy.matrix.T @ strategy.matrix).astype(float))
    right = np.arange(24.0).reshape(2, 12)
    assert strategy.solved(right) == pytest.approx(right @ inverse)
    for wanted in (prefixes(12), all_ranges(12)):
        error = strategy.norm**2 * np.trace(inverse @ wanted.gram)
        assert strategy.error(wanted) == pytest.approx(error)


@pytest.mark.parametrize("kind", [prefixes, all_ranges])
def test_optimised_strategies_are_better_than_the_others_and_not_below_the_bound(kind):
    wanted = kind(64)
    best = strategy_for(wanted)
    assert best.name == "optimised"
    assert least_possible(wanted) <= best.error(wanted) < identity_strategy(64).error(wanted)
    for branching in (2, 4, 8, 16):
        assert best.error(wanted) < levels_strategy((64,), branching).error(wanted)


def test_few_questions_are_a_start_of_their_own():
    """Cells in no order: the questions say more than blocks of neighbours."""
    rng = np.random.RandomState(0)
    wanted = listed((400,), rng.rand(10, 400) < 0.5)
    best = strategy_for(wanted, rounds=30)
    assert best.error(wanted) < 0.9 * optimised(wanted, rounds=30).error(wanted)
    assert best.error(wanted) < 0.5 * identity_strategy(400).error(wanted)


def test_errors_are_as_expected_of_identity():
    wanted = boxes((6,), [[(0, 2)], [(0, 6)]])
    assert identity_strategy(6).error(wanted) == pytest.approx(8)


@pytest.mark.slow
def test_ten_thousand_cells_are_no_square():
    """A few steps of the search are enough; a square matrix would have 800 MB."""
    wanted = all_ranges(10_000)
    assert len(optimised(wanted, rounds=1).extra) <= module._WIDE
    found = strategy_for(wanted, rounds=3)
    hb = levels_strategy((10_000,), hb_branching((10_000,)))
    assert found.error(wanted) <= hb.error(wanted) < 0.2 * identity_strategy(10_000).error(wanted)


def test_what_makes_no_sense_is_refused():
    ones, none = np.ones(2, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    for own, extra in ((np.ones(2), none), (ones - 1, none), (-ones, none),
                       (ones, -np.ones((1, 2), dtype=np.int64)), (ones, np.ones((1, 2))),
                       (ones, np.zeros((0, 3), dtype=np.int64)), (none, none)):  # fmt: skip
        with pytest.raises(ParameterError, match="strategy"):
            Strategy("wrong", own, extra)
    with pytest.raises(ParameterError, match="ask about a cell"):
        optimised(boxes((4,), [[(1, 1)]]))


def test_a_strategy_whose_columns_could_leave_64_bits_is_refused():
    """Also where their sum would wrap around to a small one."""
    for most in (1 << 18, (1 << 63) - 1):
        with pytest.raises(ParameterError, match="add up to at most"):
            Strategy("large", np.full(2, most), np.full((1, 2), most))
