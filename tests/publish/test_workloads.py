"""Workloads: the promise by transcripts, gradients and errors by dense algebra."""

from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import steps_of, worst_loss

from discreet.errors import ParameterError
from discreet.publish import workloads as module
from discreet.publish.questions import LARGEST, all_ranges, boxes, listed, prefixes
from discreet.publish.strategies import (
    Strategy,
    blocks,
    identity_strategy,
    levels_strategy,
    optimised,
    strategy_for,
)
from discreet.publish.workloads import workload
from discreet.query.jointly import MOST_CELLS

EPSILON = Fraction(1, 2)


def of(wanted, strategy, **how):
    return lambda cells: workload(cells, wanted, epsilon=EPSILON, strategy=strategy, **how)


@pytest.mark.parametrize("wanted", [prefixes(5), all_ranges(6)], ids=["prefixes", "ranges"])
def test_every_transcript_keeps_the_promise_and_one_meets_it(wanted):
    """The bound is met by the column whose sum is the norm."""
    for strategy in (optimised(wanted, blocks(wanted.shape, 2)), strategy_for(wanted)):
        assert worst_loss(of(wanted, strategy), wanted.shape, EPSILON, people=2, turns=1) == EPSILON


def test_boxes_on_two_axes_keep_the_promise():
    wanted = boxes((2, 3), [[(0, 1), (0, 3)], [(0, 2), (1, 2)]])
    strategy = optimised(wanted, blocks(wanted.shape, 2))
    assert worst_loss(of(wanted, strategy), (2, 3), EPSILON, people=1, turns=1) == EPSILON


def test_a_replaced_person_needs_sensitivity_two():
    wanted = prefixes(4)
    strategy, how = (
        optimised(wanted, blocks(wanted.shape, 2)),
        {"relation": "replace", "people": 2, "turns": 1},
    )
    fine = of(wanted, strategy, sensitivity=2, neighbours="replace")
    assert worst_loss(fine, (4,), EPSILON, **how) <= EPSILON
    with pytest.raises(AssertionError):
        worst_loss(of(wanted, strategy, neighbours="replace"), (4,), EPSILON, **how)


def test_a_norm_too_small_would_be_caught(monkeypatch):
    wanted = prefixes(4)
    strategy = levels_strategy((4,), 2)
    assert worst_loss(of(wanted, strategy), (4,), EPSILON, people=1, turns=1) == EPSILON
    monkeypatch.setattr(Strategy, "norm", 1)
    with pytest.raises(AssertionError):
        worst_loss(of(wanted, levels_strategy((4,), 2)), (4,), EPSILON, people=1, turns=1)


def test_a_strategy_that_follows_the_data_would_be_caught(monkeypatch):
    wanted = prefixes(4)
    plain = module._measured

    def peeking(cells, strategy, account):
        return plain(cells, strategy if cells.sum() % 2 else identity_strategy(4), account)

    monkeypatch.setattr(module, "_measured", peeking)
    with pytest.raises(AssertionError):
        worst_loss(
            of(wanted, optimised(wanted, blocks(wanted.shape, 2))), (4,), EPSILON, people=1, turns=1
        )


def test_raw_answers_are_least_squares_with_exact_variances():
    wanted = boxes((8,), [[(0, 3)], [(2, 8)], [(4, 5)]])
    made = workload(np.arange(8) * 10, wanted, epsilon=1)
    matrix = made.strategy.matrix.astype(float)
    cells = np.linalg.lstsq(matrix, made.noisy.values.astype(float), rcond=None)[0]
    assert made.cells("raw") == pytest.approx(cells, abs=1e-6)
    for question, answer in zip(wanted.rows.todense(), made.answers(), strict=True):
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
    with pytest.raises(ParameterError, match="strategy"):
        workload(np.zeros(4, dtype=int), prefixes(4), epsilon=1, strategy=identity_strategy(3))
    with pytest.raises(ParameterError, match="lists no questions"):
        workload(np.zeros(4, dtype=int), prefixes(4), epsilon=1).answers()


def test_any_other_question_about_the_cells_is_answered():
    made = workload(np.arange(8) * 10, prefixes(8), epsilon=50)
    whole, less = made.ask([[1] * 8, [1, 0, 0, 0, 0, 0, 0, -1]])
    assert whole.raw == pytest.approx(280, abs=20)
    assert less.low <= less.value <= less.high < 0


def test_large_counts_are_exact_and_larger_ones_are_cut():
    strategy = optimised(prefixes(4), rounds=3)

    def measured(cells):
        script = {"script": lambda _, shape: np.zeros(shape, dtype=np.int64)}
        return steps_of(of(prefixes(4), strategy), cells, **script)[1]

    cells = np.array([1 << 44, 3, 0, (1 << 43) + 1])
    made = measured(cells)
    exact = [sum(int(c) * int(x) for c, x in zip(row, cells, strict=True))
             for row in strategy.matrix]  # fmt: skip
    assert made.noisy.values.tolist() == exact
    assert max(exact) < 1 << 61
    cut = measured(np.array([1 << 59, 1 << 60, 0, 1])).noisy.values
    assert cut.max() == 1 << 61
    assert cut.min() >= 0


def test_the_largest_workload_of_a_table_is_the_largest_of_cells():
    assert MOST_CELLS == LARGEST


@pytest.mark.slow
@pytest.mark.statistical
def test_simulated_intervals_hold_about_as_often_as_they_say():
    """100 publications of well-filled cells, one question each, 90 % intervals by 60 draws.

    Quantiles of 60 draws hold 0.85 at least; then 100 trials hold 55 times or less with a chance
    below 1e-11. Noise of a third of the size holds in about 0.4, and 56 times with a chance
    below 1e-3.
    """
    wanted = listed((8,), [[1, 1, 1, 0, 0, 0, 0, 0]])
    truth, held = np.arange(8) * 40 + 100, 0
    for _ in range(100):
        made = workload(truth, wanted, epsilon="0.5", strategy=identity_strategy(8))
        (found,) = made.simulated(confidence="0.9", draws=60)
        held += found.low <= 420 <= found.high
    assert held > 55


def test_simulated_intervals_are_shorter_where_cells_are_empty():
    wanted = listed((64,), np.ones((1, 64)))
    truth = np.zeros(64, dtype=int)
    truth[3] = 500
    made = workload(truth, wanted, epsilon="0.5", strategy=identity_strategy(64))
    (linear,), (simulated,) = made.answers(), made.simulated(draws=60)
    assert simulated.high - simulated.low < linear.high - linear.low
    with pytest.raises(ParameterError, match="draws"):
        made.simulated(draws=5)
