"""Roll-ups: the promise by transcripts, variances by dense algebra, whole numbers that add up."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.publish.forced import worst_loss

from discreet.errors import ParameterError
from discreet.noise.source import KeyedSource
from discreet.publish import rollups as module
from discreet.publish.consistency import whole_tree
from discreet.publish.measured import Account
from discreet.publish.rollups import (
    least_shares,
    level_spreads,
    level_variances,
    nested,
    rollup,
)

EPSILON = Fraction(1, 2)
UNEVEN = nested([("n", 1), ("n", 2), ("n", 3), ("s", 1), ("w", 1), ("w", 2)])
EVEN = nested(list(itertools.product("ab", "cd", "ef")))


def of(groups, **how):
    return lambda cells: rollup(cells, groups, epsilon=EPSILON, **how)


@pytest.mark.parametrize("shares", ["least", "equal", ("0.2", "0.3", "0.5")])
@pytest.mark.parametrize("groups", [UNEVEN, nested([("a", 1), ("b", 1), ("b", 2)])])
def test_every_transcript_keeps_the_promise_and_one_meets_it(groups, shares):
    found = worst_loss(of(groups, shares=shares), groups.sizes[0], EPSILON, people=2, turns=2)
    assert found == EPSILON


def test_a_product_keeps_the_promise():
    assert worst_loss(of(EVEN), 8, EPSILON, people=2, turns=1) == EPSILON


def test_a_replaced_person_costs_no_more_with_sensitivity_two():
    """The top does not move when a person is replaced; the two levels below do, by 2."""
    how = {"neighbours": "replace", "shares": "equal"}
    found = worst_loss(
        of(UNEVEN, sensitivity=2, **how), 6, EPSILON, relation="replace", people=2, turns=1
    )
    assert found == EPSILON * Fraction(2, 3)
    with pytest.raises(AssertionError):
        worst_loss(of(UNEVEN, **how), 6, EPSILON, relation="replace", people=2, turns=1)


def test_shares_above_epsilon_are_refused_and_would_be_caught(monkeypatch):
    monkeypatch.setattr(module, "_shares", lambda *_: [Fraction(1, 2)] * 3)
    with pytest.raises(ParameterError, match="share"):
        worst_loss(of(UNEVEN), 6, EPSILON, people=1, turns=1)
    monkeypatch.setattr(Account, "spend", lambda self, share: None)
    with pytest.raises(AssertionError):
        worst_loss(of(UNEVEN), 6, EPSILON, people=1, turns=1)


def test_shares_that_follow_the_data_would_be_caught(monkeypatch):
    """A neighbour would be measured at other rates."""
    plain = module.levels_measured

    def peeking(cells, groups, shares, account):
        most = max(shares) if cells.sum() % 2 else min(shares)
        return plain(cells, groups, [most / 3] * 3, account)

    monkeypatch.setattr(module, "levels_measured", peeking)
    with pytest.raises(AssertionError, match="other rates"):
        worst_loss(of(UNEVEN, shares=("0.2", "0.3", "0.5")), 6, EPSILON, people=1, turns=1)


def test_a_true_total_would_be_caught(monkeypatch):
    """The reading of neighbours with the same outputs would differ."""
    plain = rollup

    def leaking(cells):
        made = plain(cells, UNEVEN, epsilon=EPSILON)
        made.raw_levels[0][0] += cells.sum()
        return made

    with pytest.raises(AssertionError):
        worst_loss(leaking, 6, EPSILON, people=1, turns=1)


def dense(made):
    rows, values, variances = [], [], []
    for level, noisy in enumerate(made.levels):
        if noisy is not None:
            for place, value in enumerate(noisy.values):
                rows.append(made._members(level, place))
                values.append(value)
                variances.append(noisy.variance)
    return np.array(rows), np.array(values), np.array(variances)


@pytest.mark.parametrize("shares", ["equal", ("0.5", "0.1", "0.4"), ("0.5", "0", "0.5")])
@pytest.mark.parametrize("groups", [UNEVEN, nested(list(itertools.product("abc", "defg")))])
def test_raw_counts_are_least_squares_with_exact_variances(groups, shares):
    made = rollup(np.arange(groups.sizes[0]), groups, epsilon=1, shares=shares)
    matrix, values, variances = dense(made)
    weighted = matrix / variances[:, None]
    information = matrix.T @ weighted
    cells = np.linalg.solve(information, weighted.T @ values)
    for level, found in enumerate(made.counts()):
        for place in range(len(found.nodes)):
            q = made._members(level, place)
            assert found.raw[place] == pytest.approx(q @ cells, abs=1e-7)
            exact = q @ np.linalg.solve(information, q)
            assert found.standard_error[place] ** 2 == pytest.approx(exact, rel=1e-9)


def test_the_theorem_gives_the_same_variances():
    made = rollup(np.zeros(12, dtype=int), nested(list(itertools.product("abc", "defg"))),
                  epsilon=1, shares=("0.5", "0.2", "0.3"))  # fmt: skip
    found = level_variances((12, 3, 1), [0.5, 0.2, 0.3])
    assert [c.standard_error[0] ** 2 for c in made.counts()] == pytest.approx(found)
    spread = level_spreads(made.groups, made._variances)
    assert spread[-1][0] == pytest.approx(found[-1])


@pytest.mark.parametrize("sizes", [(100, 10, 1), (500, 25, 5, 1), (4, 2, 1), (60, 3, 1)])
def test_no_shares_nearby_and_no_equal_ones_are_better(sizes):
    """Against all shares on a grid of one twentieth: none is better by more than rounding."""
    found = least_shares(sizes, Fraction(1))
    assert sum(found) == 1
    cost = lambda shares: sum(level_variances(sizes, [float(s) for s in shares]))
    grid = [
        parts
        for parts in itertools.product(range(21), repeat=len(sizes))
        if sum(parts) == 20 and parts[0]
    ]
    best = min(cost([Fraction(p, 20) for p in parts]) for parts in grid)
    assert cost(found) <= best * 1.001
    assert cost(found) <= cost([Fraction(1, len(sizes))] * len(sizes))


def test_shares_as_they_are_said():
    made = rollup(np.zeros(6, dtype=int), UNEVEN, epsilon="0.3", shares=("0.5", "0", "0.25"))
    assert made.shares == (Fraction(1, 2), 0, Fraction(1, 4))
    assert made.levels[1] is None
    wrong = ["most", ("0.5", "0.5"), ("0", "0.5", "0.5"), ("0.5", "0.5", "0.1"), ("2", "-1", "0")]
    for shares in wrong:
        with pytest.raises(ParameterError, match="shares"):
            rollup(np.zeros(6, dtype=int), UNEVEN, epsilon=1, shares=shares)


@given(
    st.lists(st.integers(-50, 200), min_size=6, max_size=6),
    st.integers(0, 255),
    st.sampled_from(["0.01", "0.1", "1", "10"]),
)
def test_whole_numbers_add_up_and_are_never_negative(cells, key, epsilon):
    made = rollup(np.array(cells), UNEVEN, epsilon=epsilon, source=KeyedSource(bytes([key]) * 32))
    levels = made.counts()
    for (below, above), up in zip(itertools.pairwise(levels), UNEVEN.parents, strict=True):
        assert np.bincount(up, weights=below.values).tolist() == above.values.tolist()
    for level in levels:
        assert level.values.dtype == np.int64
        assert (level.values >= 0).all()
        assert (level.low <= level.values).all()
        assert (level.values <= level.high).all()
    assert made.cells("whole").sum() >= 0


@given(st.lists(st.floats(0, 1e6), min_size=6, max_size=6))
def test_every_whole_number_is_its_value_rounded_down_or_up(leaves):
    values = np.array(leaves)
    made = whole_tree(values, UNEVEN.parents, UNEVEN.sizes)
    for whole, real in zip(made, UNEVEN.sums(values), strict=True):
        assert (np.abs(whole - real) < 1 + 1e-4).all()


def test_the_top_is_not_lifted_by_empty_groups():
    """Where nobody is, reading from the top leaves totals as they were, if not negative."""
    groups = nested(list(itertools.product(range(10), range(50))))
    made = rollup(np.zeros(500, dtype=int), groups, epsilon=1)
    assert made.read_levels[-1][0] == max(made.raw_levels[-1][0], 0)
    for level, summed in zip(made.read_levels, groups.sums(made.read_levels[0]), strict=True):
        assert level == pytest.approx(summed, abs=1e-6)


def test_groups_of_one_kind_have_one_law():
    assert [len(set(level.tolist())) for level in EVEN.kinds] == [1, 1, 1, 1]
    finest, middle, top = (level.tolist() for level in UNEVEN.kinds)
    assert top == [0]
    assert len(set(middle)) == 3
    assert finest[0] == finest[1] == finest[2] != finest[3]
    assert finest[4] == finest[5] != finest[0]


@pytest.mark.slow
@pytest.mark.statistical
def test_intervals_hold_the_truth():
    """400 roll-ups at 90 %: below 310 for one of ten groups has a chance below 1e-9.

    Intervals of 50 % would be caught: the chance that each group has 310 is below 1e-9, too.
    """
    assert 10 * binom.cdf(309, 400, 0.9) < 1e-9
    truth = UNEVEN.sums(np.array([40, 0, 3, 7, 100, 1]))
    held, narrow = np.zeros(10), np.zeros(10)
    for _ in range(400):
        made = rollup(truth[0], UNEVEN, epsilon="0.1")
        for level, hits in (("0.9", held), ("0.5", narrow)):
            hits[:] = hits + np.concatenate([
                (found.low <= exact) & (exact <= found.high)
                for found, exact in zip(made.counts(confidence=level), truth, strict=True)
            ])  # fmt: skip
    assert held.min() >= 310
    assert narrow.min() < 310


def test_what_is_no_tree_is_refused():
    for paths in ([], [()], [("a",), ("a", "b")], [("a",), ("a",)]):
        with pytest.raises(ParameterError, match="paths"):
            nested(paths)
    with pytest.raises(ParameterError, match="one for each group"):
        rollup(np.zeros(5, dtype=int), UNEVEN, epsilon=1)


def test_questions_about_neighbouring_groups_are_free():
    made = rollup(np.array([40, 0, 3, 7, 100, 1]), UNEVEN, epsilon=50)
    answer = made.range(0, 3)
    assert answer.low <= 43 <= answer.high
    assert repr(made).startswith("<roll-up: 6 cells, 50-differential privacy")
