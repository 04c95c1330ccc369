"""Workloads: the promise by transcripts, gradients and errors by dense algebra."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import worst_loss

from discreet.errors import ParameterError
from discreet.publish import workloads as module
from discreet.publish.workloads import (
    Strategy,
    all_ranges,
    boxes,
    least_possible,
    levels_strategy,
    optimised,
    prefixes,
    strategy_for,
    total_error,
    workload,
)

EPSILON = Fraction(1, 2)


def of(wanted, strategy, **how):
    return lambda cells: workload(cells, wanted, epsilon=EPSILON, strategy=strategy, **how)


@pytest.mark.parametrize("wanted", [prefixes(5), all_ranges(6)], ids=["prefixes", "ranges"])
def test_every_transcript_keeps_the_promise_and_one_meets_it(wanted):
    """The bound is met by the column whose sum is the norm."""
    for strategy in (optimised(wanted, 2), strategy_for(wanted)):
        assert worst_loss(of(wanted, strategy), wanted.shape, EPSILON, people=2, turns=1) == EPSILON


def test_boxes_on_two_axes_keep_the_promise():
    wanted = boxes((2, 3), [[(0, 1), (0, 3)], [(0, 2), (1, 2)]])
    strategy = optimised(wanted, 2)
    assert worst_loss(of(wanted, strategy), (2, 3), EPSILON, people=1, turns=1) == EPSILON


def test_a_replaced_person_needs_sensitivity_two():
    wanted = prefixes(4)
    strategy, how = optimised(wanted, 2), {"relation": "replace", "people": 2, "turns": 1}
    fine = of(wanted, strategy, sensitivity=2, neighbours="replace")
    assert worst_loss(fine, (4,), EPSILON, **how) <= EPSILON
    with pytest.raises(AssertionError):
        worst_loss(of(wanted, strategy, neighbours="replace"), (4,), EPSILON, **how)


def test_a_norm_too_small_would_be_caught(monkeypatch):
    wanted = prefixes(4)
    strategy = levels_strategy((4,), 2)
    assert worst_loss(of(wanted, strategy), (4,), EPSILON, people=1, turns=1) == EPSILON
    monkeypatch.setattr(Strategy, "norm", property(lambda self: int(self.matrix.max())))
    with pytest.raises(AssertionError):
        worst_loss(of(wanted, strategy), (4,), EPSILON, people=1, turns=1)


def test_a_strategy_that_follows_the_data_would_be_caught(monkeypatch):
    wanted = prefixes(4)
    plain = module._measured

    def peeking(cells, strategy, account):
        matrix = strategy.matrix if cells.sum() % 2 else np.eye(4, dtype=np.int64)
        return plain(cells, Strategy("peeking", matrix.copy()), account)

    monkeypatch.setattr(module, "_measured", peeking)
    with pytest.raises(AssertionError):
        worst_loss(of(wanted, optimised(wanted, 2)), (4,), EPSILON, people=1, turns=1)


@pytest.mark.parametrize("wanted", [prefixes(16), all_ranges(16)], ids=["prefixes", "ranges"])
def test_columns_of_an_optimised_strategy_sum_to_one_at_most(wanted):
    """Exactly, in whole parts; and to hardly less."""
    strategy = optimised(wanted, 4)
    sums = [sum(map(int, column)) for column in strategy.matrix.T]
    assert max(sums) == strategy.norm <= module._GRAIN
    assert min(sums) >= module._GRAIN - len(strategy.matrix)


def test_the_gradient_is_that_of_the_error():
    gram = all_ranges(7).gram
    extra = 0.1 + np.abs(np.sin(np.arange(21.0))).reshape(3, 7)
    value, slope = total_error(extra, gram)
    real = np.vstack([np.eye(7), extra]) / (1 + extra.sum(axis=0))
    assert value == pytest.approx(np.trace(np.linalg.solve(real.T @ real, gram)))
    for place in itertools.product(range(3), range(7)):
        moved = extra.copy()
        moved[place] += 1e-6
        assert (total_error(moved, gram)[0] - value) / 1e-6 == pytest.approx(slope[place], rel=1e-3)


def test_raw_answers_are_least_squares_with_exact_variances():
    wanted = boxes((8,), [[(0, 3)], [(2, 8)], [(4, 5)]])
    made = workload(np.arange(8) * 10, wanted, epsilon=1)
    matrix = made.strategy.matrix.astype(float)
    cells = np.linalg.lstsq(matrix, made.noisy.values.astype(float), rcond=None)[0]
    assert made.cells("raw") == pytest.approx(cells, abs=1e-6)
    for question, answer in zip(wanted.rows, made.answers(), strict=True):
        variance = question @ np.linalg.inv(matrix.T @ matrix) @ question * made.noisy.variance
        assert answer.standard_error**2 == pytest.approx(variance)
        assert answer.raw == pytest.approx(question @ cells, abs=1e-6)
        assert answer.low <= answer.value <= answer.high
    assert made.range(0, 3).raw == pytest.approx(made.answers()[0].raw)


def test_read_cells_are_the_nearest_without_a_negative_one():
    """The conditions of Karush, Kuhn and Tucker, to the precision of the search."""
    made = workload(np.zeros(16, dtype=int), prefixes(16), epsilon=1)
    real = made.strategy.matrix / made.strategy.norm
    read = made.cells("read")
    slope = real.T @ (real @ read - made.noisy.values / made.strategy.norm)
    assert read.min() >= 0
    assert slope.min() >= -1e-4
    assert np.abs(slope * read).max() <= 1e-3 * (1 + read.max())


@pytest.mark.parametrize("kind", [prefixes, all_ranges])
def test_optimised_strategies_are_better_than_the_others_and_not_below_the_bound(kind):
    wanted = kind(64)
    best = strategy_for(wanted)
    assert best.name == "optimised"
    identity = Strategy("identity", np.eye(64, dtype=np.int64))
    assert least_possible(wanted) <= best.error(wanted) < identity.error(wanted)
    for branching in (2, 4, 8, 16):
        assert best.error(wanted) < levels_strategy((64,), branching).error(wanted)


def test_errors_are_as_expected_of_identity():
    wanted = boxes((6,), [[(0, 2)], [(0, 6)]])
    assert Strategy("identity", np.eye(6, dtype=np.int64)).error(wanted) == pytest.approx(8)
    assert prefixes(5).gram == pytest.approx(boxes((5,), [[(0, i + 1)] for i in range(5)]).gram)
    ranges = [[(i, j)] for i in range(5) for j in range(i + 1, 6)]
    assert all_ranges(5).gram == pytest.approx(boxes((5,), ranges).gram)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_error_is_as_foreseen():
    """2,000 publications: the mean total squared error is within 30 % of the expected one.

    One total has a relative spread of 1.1, so that 30 % are 12 standard errors: a false alarm is
    rarer than 1e-9. Noise for a norm that is 20 % off has an error that is over 36 % off.
    """
    wanted = prefixes(16)
    strategy = strategy_for(wanted)
    lower = np.tril(np.ones((16, 16)))
    truth = np.arange(16) * 7
    total = 0.0
    for _ in range(2000):
        made = workload(truth, wanted, epsilon="0.1", strategy=strategy)
        total += float(((lower @ (made.cells("raw") - truth)) ** 2).sum())
    assert total / 2000 == pytest.approx(200 * strategy.error(wanted), rel=0.3)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="shape"):
        workload(np.zeros(3, dtype=int), prefixes(4), epsilon=1)
    strategy = Strategy("identity", np.eye(3, dtype=np.int64))
    with pytest.raises(ParameterError, match="strategy"):
        workload(np.zeros(4, dtype=int), prefixes(4), epsilon=1, strategy=strategy)
    for matrix in (np.eye(2), -np.eye(2, dtype=np.int64), np.ones((1, 2), dtype=np.int64)):
        with pytest.raises(ParameterError, match="matrix"):
            Strategy("wrong", matrix)
    for shape, listed in (((4,), []), ((4,), [[(0, 5)]]), ((4,), [[(2, 1)]]), ((2, 2), [[(0, 1)]]),
                          ((99, 99), [[(0, 1), (0, 1)]])):  # fmt: skip
        with pytest.raises(ParameterError):
            boxes(shape, listed)
    with pytest.raises(ParameterError, match="lists no questions"):
        workload(np.zeros(4, dtype=int), prefixes(4), epsilon=1).answers()
    with pytest.raises(ParameterError, match="ask about a cell"):
        optimised(boxes((4,), [[(1, 1)]]))
