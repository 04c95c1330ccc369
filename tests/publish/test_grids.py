"""Grids: the promise by transcripts, and what the noisy counts decide."""

from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import steps_of, worst_loss

from discreet.publish import grids
from discreet.publish.grids import adaptive_grid, uniform, uniform_grid

EPSILON = Fraction(2)
NONE = lambda place, shape: np.zeros(shape, dtype=np.int64)


def with_epsilon(publish):
    return lambda cells: publish(cells, epsilon=EPSILON)


@pytest.mark.parametrize("spread", [3, 60])
@pytest.mark.parametrize("publish", [uniform, uniform_grid, adaptive_grid])
def test_every_transcript_keeps_the_promise_and_one_meets_it(publish, spread, monkeypatch):
    monkeypatch.setattr(grids, "FEWEST", 1)
    assert worst_loss(with_epsilon(publish), (2, 3), EPSILON, people=2, spread=spread) == EPSILON


def spied(monkeypatch):
    """The true cells, for faults to be planted with."""
    seen, plain = {}, grids.counted

    def spying(cells, **kw):
        seen["cells"] = plain(cells, **kw)
        return seen["cells"]

    monkeypatch.setattr(grids, "counted", spying)
    monkeypatch.setattr(grids, "FEWEST", 1)
    return seen


@pytest.mark.parametrize(("publish", "evenness"), [(uniform_grid, 10), (adaptive_grid, 0.1)])
def test_the_true_number_of_records_would_be_caught(publish, evenness, monkeypatch):
    seen, plain = spied(monkeypatch), grids._total
    monkeypatch.setattr(grids, "EVENNESS", evenness)
    monkeypatch.setattr(
        grids,
        "_total",
        lambda values, account: (plain(values, account)[0], max(1, int(seen["cells"].sum()))),
    )
    with pytest.raises(AssertionError, match="blocks"):
        worst_loss(with_epsilon(publish), (2, 3), EPSILON)


def test_a_division_by_true_counts_would_be_caught(monkeypatch):
    seen, plain = spied(monkeypatch), grids._divided
    monkeypatch.setattr(grids, "FINE_EVENNESS", Fraction(1, 5))
    monkeypatch.setattr(
        grids,
        "_divided",
        lambda coarse, counts, rate: plain(coarse, grids.box_sums(seen["cells"], coarse), rate),
    )
    with pytest.raises(AssertionError, match="blocks"):
        worst_loss(with_epsilon(adaptive_grid), (4, 2), EPSILON, people=2)


def test_a_total_that_is_not_paid_for_would_be_caught(monkeypatch):
    plain = grids.Account.spend
    monkeypatch.setattr(
        grids.Account,
        "spend",
        lambda self, share: plain(self, share) if self.spent or share > 1 else None,
    )
    with pytest.raises(AssertionError):
        worst_loss(with_epsilon(uniform_grid), (2, 3), EPSILON)


def test_the_side_of_a_uniform_grid_follows_the_rule():
    """128 x 128 cells, 10,000 records, epsilon 0.1: side sqrt(16384 * 10/(10000 * 0.095))."""
    cells = np.zeros((128, 128), dtype=np.int64)
    cells[5, 7] = 10_000
    steps, made = steps_of(lambda c: uniform_grid(c, epsilon="0.1"), cells, script=NONE)
    assert [rate for rate, *_ in steps] == [Fraction(1, 200), Fraction(19, 200)]
    assert made.boxes.high[0].tolist() == [13, 13]
    assert made.counts.values.sum() == 10_000


def test_an_adaptive_grid_is_fine_where_many_are():
    cells = np.zeros((128, 128), dtype=np.int64)
    cells[5, 7] = 100_000
    steps, made = steps_of(lambda c: adaptive_grid(c, epsilon="0.1"), cells, script=NONE)
    assert [rate for rate, *_ in steps] == [Fraction(1, 200), Fraction(19, 400), Fraction(19, 400)]
    assert len(made.coarse) == 11 * 11  # sides of 12
    fine = np.bincount(made.owners)
    assert fine[0] == 144
    assert (fine[1:10] == 1).all()
    assert made.cells("raw")[5, 7] == pytest.approx(100_000)
    assert made.cells().sum() == pytest.approx(100_000)


def test_uniform_is_one_number():
    _, made = steps_of(with_epsilon(uniform), np.array([1, 2, 3, 4]), script=NONE)
    assert made.cells("raw").tolist() == [2.5] * 4
    assert made.noise[0].rate == EPSILON
