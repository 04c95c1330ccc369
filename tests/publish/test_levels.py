"""Levels of blocks: the promise by transcripts, least squares and variances by dense algebra."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.publish.forced import worst_loss

from discreet.errors import ParameterError
from discreet.publish import levels, measured
from discreet.publish.blocks import blocks_of
from discreet.publish.levels import hb_branching, hierarchy, identity, quadtree
from discreet.publish.measured import Account

EPSILON = Fraction(1, 2)


def with_terms(publish, **terms):
    return lambda cells: publish(cells, epsilon=EPSILON, **terms)


CASES = [
    (with_terms(identity), (5,)),
    (with_terms(hierarchy), (5,)),
    (with_terms(hierarchy, branching=2), (5,)),
    (with_terms(hierarchy, branching=2), (8,)),
    (with_terms(quadtree), (2, 3)),
    (with_terms(hierarchy), (2, 3)),
]


@pytest.mark.parametrize(("measure", "shape"), CASES)
def test_every_transcript_keeps_the_promise_and_one_meets_it(measure, shape):
    people = 3 if np.prod(shape) < 8 else 2
    assert worst_loss(measure, shape, EPSILON, people=people, turns=2) == EPSILON


def test_a_replaced_person_costs_no_more_with_sensitivity_two():
    """The root does not move when a person is replaced: two of the three levels do, by 2."""
    measure = with_terms(hierarchy, branching=2, sensitivity=2, neighbours="replace")
    found = worst_loss(measure, (4,), EPSILON, relation="replace", turns=1)
    assert found == EPSILON * Fraction(2, 3)
    careless = with_terms(hierarchy, branching=2, neighbours="replace")
    with pytest.raises(AssertionError):
        worst_loss(careless, (4,), EPSILON, relation="replace", turns=1)


def test_shares_above_epsilon_are_refused_and_would_be_caught(monkeypatch):
    greedy = lambda cells, blocks, shares, account: tuple(
        account.measure(level, share * 2)
        for level, share in zip(blocks.sums(cells), shares, strict=True)
    )
    monkeypatch.setattr(levels, "levels_measured", greedy)
    measure = with_terms(hierarchy, branching=2)
    with pytest.raises(ParameterError, match="share"):
        worst_loss(measure, (4,), EPSILON, people=1)
    monkeypatch.setattr(Account, "spend", lambda self, share: None)
    with pytest.raises(AssertionError):
        worst_loss(measure, (4,), EPSILON, people=1)


def test_a_forgotten_sensitivity_would_be_caught(monkeypatch):
    plain = measured.Geometric
    monkeypatch.setattr(measured, "Geometric", lambda **kw: plain(**{**kw, "sensitivity": 1}))
    measure = with_terms(identity, sensitivity=2, neighbours="replace")
    with pytest.raises(AssertionError):
        worst_loss(measure, (3,), EPSILON, relation="replace", turns=1)


def dense(made):
    """All measurements as rows over cells, their values and their variances."""
    rows, values, variances = [], [], []
    units = np.eye(int(np.prod(made.shape))).reshape(-1, *made.shape)
    sums = [made.blocks.sums(unit) for unit in units]
    for place, level in enumerate(made.levels):
        if level is not None:
            rows.append(np.stack([one[place].reshape(-1) for one in sums], axis=1))
            values.append(level.values.reshape(-1))
            variances.append(np.full(level.values.size, level.variance))
    return np.vstack(rows), np.concatenate(values), np.concatenate(variances)


@pytest.mark.parametrize(
    ("publish", "shape"),
    [
        (identity, (6,)),
        (hierarchy, (11,)),
        (quadtree, (4, 5)),
        (hierarchy, (4, 7)),
        (quadtree, (9,)),
    ],
)
def test_raw_cells_are_least_squares_with_exact_variances(publish, shape):
    made = publish(np.arange(np.prod(shape)).reshape(shape), epsilon=1)
    matrix, values, variances = dense(made)
    weighted = matrix / variances[:, None]
    information = matrix.T @ weighted
    cells = np.linalg.solve(information, weighted.T @ values)
    assert made.cells("raw").reshape(-1) == pytest.approx(cells, abs=1e-7)
    question = np.zeros(shape)
    box = [(1, 3), (2, 4)][: len(shape)]
    question[tuple(slice(*side) for side in box)] = 1
    q = question.reshape(-1)
    answer = made.rectangle(*box)
    assert answer.standard_error**2 == pytest.approx(q @ np.linalg.solve(information, q), rel=1e-9)
    assert answer.raw == pytest.approx(q @ cells)


def test_closed_forms_of_variances():
    """Identity: k cells, k variances. H on two cells with equal shares: 2/3 of each cell's."""
    made = identity(np.zeros(100, dtype=int), epsilon=1)
    unit = made.noise[0].variance
    assert made.range(10, 47).standard_error ** 2 == pytest.approx(37 * unit)
    pair = hierarchy(np.zeros(2, dtype=int), epsilon=1, branching=2)
    half = pair.noise[0].variance
    assert pair.range(0, 1).standard_error ** 2 == pytest.approx(2 / 3 * half)
    assert pair.range(0, 2).standard_error ** 2 == pytest.approx(2 / 3 * half)


def test_the_rule_of_hb():
    assert hb_branching((4096,)) == 16
    assert hb_branching((128, 128)) == 12
    assert hb_branching((1,)) == 2
    made = hierarchy(np.zeros((4, 4), dtype=int), epsilon=1)
    assert made.levels[-1] is None
    with pytest.raises(ParameterError, match="axis"):
        hb_branching(())
    with pytest.raises(ParameterError, match="branching"):
        hierarchy(np.zeros(4, dtype=int), epsilon=1, branching=1)


def test_one_cell_is_one_count():
    for publish in (identity, hierarchy, quadtree):
        made = publish(np.array([7]), epsilon=1)
        assert [noisy.rate for noisy in made.noise] == [1]


def test_shares_grow_towards_the_cells():
    made = quadtree(np.zeros((128, 128), dtype=int), epsilon="0.1")
    rates = [noisy.rate for noisy in made.noise]
    assert sum(rates) == Fraction(1, 10)
    for finer, coarser in itertools.pairwise(rates):
        assert float(finer / coarser) == pytest.approx(2 ** (1 / 3), rel=2e-3)
    assert blocks_of((128, 128), 2).shapes[-1] == (1, 1)
