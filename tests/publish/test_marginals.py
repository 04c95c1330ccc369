"""Marginals: the promise by transcripts, least squares by dense algebra, reading, refusals."""

import math
from fractions import Fraction
from itertools import combinations, product
from unittest import mock

import numpy as np
import pytest
from tests.publish.forced import datasets, neighbours, worst_loss

from discreet.errors import BudgetExceededError, ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.sums import geometric_variance
from discreet.publish import marginals as module
from discreet.publish.marginals import marginal_counts, tabulated
from discreet.publish.residuals import Forms, closure_of

EPSILON = Fraction(1, 2)
CASES = [((2, 2, 2), ((0, 1), (1, 2))), ((2, 4), ((0, 1),)), ((2, 3), ((0,), (1,))),
         ((3, 2), ((0, 1),))]  # fmt: skip


def counts_of(cells, wanted):
    """Marginals of a full table."""
    axes = range(cells.ndim)
    return {b: cells.sum(axis=tuple(i for i in axes if i not in b)) for b in wanted}


class Raw:
    """What `worst_loss` looks at."""

    def __init__(self, made, wanted):
        self._made, self._wanted = made, wanted

    def cells(self, _):
        return np.concatenate([self._made.raw(b).reshape(-1) for b in self._wanted])


def of(sizes, wanted, **how):
    def measure(cells):
        made = marginal_counts(counts_of(cells, wanted), sizes, wanted, epsilon=EPSILON, **how)
        return Raw(made, wanted)

    return measure


@pytest.mark.parametrize(("sizes", "wanted"), CASES, ids=str)
def test_every_transcript_keeps_the_promise_and_one_meets_it(sizes, wanted):
    people = 3 if math.prod(sizes) < 8 else 2
    found = worst_loss(of(sizes, wanted), sizes, EPSILON, people=people, turns=2)
    assert found == EPSILON


def test_a_replaced_person_needs_sensitivity_two():
    sizes, wanted = (2, 3), ((0, 1),)
    how = {"relation": "replace", "people": 2, "turns": 1}
    fine = of(sizes, wanted, sensitivity=2, neighbours="replace")
    assert worst_loss(fine, sizes, EPSILON, **how) <= EPSILON
    with pytest.raises(AssertionError):
        worst_loss(of(sizes, wanted, neighbours="replace"), sizes, EPSILON, **how)


def test_shares_above_epsilon_are_refused(monkeypatch):
    plain = module.shares_of
    monkeypatch.setattr(
        module, "shares_of",
        lambda *a, **k: {one: s * Fraction(1001, 1000) for one, s in plain(*a, **k).items()},
    )  # fmt: skip
    with pytest.raises(BudgetExceededError, match="more than all"):
        worst_loss(of((2, 3), ((0, 1),)), (2, 3), EPSILON, people=1, turns=1)


def gaussian_steps(cells, sizes, wanted, **how):
    steps = []

    def release(self, values, source=None):
        steps.append((self.sigma_squared, np.array(values)))
        return np.array(values)

    with mock.patch.object(Gaussian, "release", release):
        marginal_counts(counts_of(cells, wanted), sizes, wanted, rho="1/3", **how)
    return steps


def worst_rho(sizes, wanted, relation="add_or_remove", **how):
    """The largest sum of |difference|^2/(2 sigma^2) over all neighbours of up to two people."""
    worst = Fraction(0)
    for cells in datasets(math.prod(sizes), 2):
        steps = gaussian_steps(cells.reshape(sizes), sizes, wanted, **how)
        for other in neighbours(cells, relation):
            again = gaussian_steps(other.reshape(sizes), sizes, wanted, **how)
            assert [s for s, _ in again] == [s for s, _ in steps]
            moves = (
                int(((v - w) ** 2).sum()) / (2 * s)
                for (s, v), (_, w) in zip(steps, again, strict=True)
            )
            worst = max(worst, sum(moves))
    return worst


@pytest.mark.parametrize(("sizes", "wanted"), CASES, ids=str)
def test_zero_concentrated_privacy_is_kept_and_met(sizes, wanted):
    """Discrete Gaussian noise on whole numbers: the divergence is |difference|^2/(2 sigma^2)."""
    assert worst_rho(sizes, wanted) == Fraction(1, 3)


def test_a_replaced_person_keeps_it_with_sensitivity_two():
    how = {"relation": "replace", "neighbours": "replace"}
    assert worst_rho((3, 2), ((0, 1),), sensitivity=2, **how) <= Fraction(1, 3)
    assert worst_rho((3, 2), ((0, 1),), **how) > Fraction(1, 3)


def test_a_norm_too_small_would_be_caught(monkeypatch):
    monkeypatch.setattr(
        Forms, "norm", lambda self, columns: math.prod(self.sizes[i] - 1 for i in columns)
    )
    assert worst_rho((3, 2), ((0, 1),)) > Fraction(1, 3)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/2"}], ids=str)
def test_raw_marginals_are_least_squares_with_the_stated_variances(price):
    """Dense generalised least squares over all numbers, on the whole domain of 24 cells."""
    sizes, wanted = (2, 3, 4), ((0, 1), (1, 2))
    table = np.arange(24).reshape(sizes)
    made = marginal_counts(counts_of(table, wanted), sizes, wanted, **price)
    rows, numbers = [], []
    for columns, noisy in made.numbers.items():
        scale = math.sqrt(made._variance(columns))
        for unit in np.eye(24).reshape(24, *sizes):
            part = counts_of(unit, [columns])[columns]
            rows.append(made._forms.exact(part.astype(int), columns).reshape(-1) / scale)
        numbers.append(noisy.reshape(-1) / scale)
        rows[-24:] = [np.array(rows[-24:]).T]
    matrix = np.vstack(rows)
    cells = np.linalg.pinv(matrix) @ np.concatenate(numbers)
    covariance = np.linalg.pinv(matrix.T @ matrix)
    for columns in closure_of(wanted):
        each = np.array(
            [counts_of(u, [columns])[columns].reshape(-1) for u in np.eye(24).reshape(24, *sizes)]
        )
        assert made.raw(columns).reshape(-1) == pytest.approx(each.T @ cells)
        variances = np.diag(each.T @ covariance @ each)
        assert variances == pytest.approx(np.full(len(variances), made.variance(columns)))
        question = np.zeros(each.shape[1])
        question[: max(1, len(question) // 2)] = 1
        error = made.answer(columns, question.reshape(made.raw(columns).shape)).standard_error
        assert error**2 == pytest.approx((question @ each.T) @ covariance @ (each @ question))


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_weights_of_the_noise_give_the_variance(ways):
    """Those of sets that share no column with the question are told by one weight each."""
    sizes, wanted = (2, 3, 4, 3, 2), tuple(combinations(range(5), ways))
    exact = counts_of(np.ones(sizes, dtype=int), wanted)
    made = marginal_counts(exact, sizes, wanted, epsilon=1)
    own = wanted[-1]
    question = np.arange(made.raw(own).size).reshape(made.raw(own).shape) % 5
    found = sum(n @ w**2 * geometric_variance(rate) for w, rate, n in made._noise(own, question))
    assert found == pytest.approx(made._question_variance(own, question))
    value = sum((w * made.numbers[one]).sum() for one, w in made._weights(own, question).items())
    total = sum(made._sources[()].values())
    value += sum(
        made._projected(own, question, ()) * weight / total * made.numbers[one].sum()
        for one, weight in made._sources[()].items()
        if not set(one) & set(own)
    )
    assert value == pytest.approx((question * made.raw(own)).sum())


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/8"}], ids=str)
def test_read_marginals_have_no_negative_cell_and_agree(price):
    rng = np.random.RandomState(3)
    sizes = (2, 3, 4, 5)
    wanted = tuple(combinations(range(4), 2))
    exact = tabulated(np.stack([rng.randint(0, n, 40) // 2 for n in sizes], axis=1), sizes, wanted)
    made = marginal_counts(exact, sizes, wanted, **price)
    assert min(made.raw(b).min() for b in wanted) < 0
    assert min(made.read(b).min() for b in wanted) >= 0
    for one, other in product(wanted, repeat=2):
        for i in set(one) & set(other):
            sums = [
                made.read(b).sum(axis=tuple(k for k, c in enumerate(b) if c != i))
                for b in (one, other)
            ]
            assert sums[0] == pytest.approx(sums[1])
    assert made.read(()) == pytest.approx(made.read((1,)).sum())


def test_fifteen_columns_in_pairs_are_better_than_each_pair_by_itself():
    """105 pairs, 10^9 cells: half of the variance of measuring each pair with its own share."""
    rng = np.random.RandomState(0)
    sizes = [2, 2, 3, 5, 7, 9, 2, 4, 10, 6, 3, 2, 8, 12, 5]
    wanted = list(combinations(range(15), 2))
    exact = tabulated(np.stack([rng.randint(0, n, 5000) for n in sizes], axis=1), sizes, wanted)
    made = marginal_counts(exact, sizes, wanted, epsilon=1)
    direct = 2 * 105**2
    assert np.mean([made.variance(b) for b in wanted]) < 0.5 * direct
    found = made.answer((8, 13), np.ones((10, 12)))
    assert found.low <= found.value <= found.high


def test_a_cut_moves_nobody_further():
    forms = Forms((3, 3), pure=False)
    large = np.full((3, 3), 1 << 59)
    large[0, 0] = 1 << 60
    assert np.abs(forms.exact(large, (0, 1))).max() == 1 << 61


def test_what_makes_no_sense_is_refused():
    exact = {(0, 1): np.zeros((2, 3), dtype=int)}
    for sizes, wanted, price in (
        ((2, 3), [(0, 1)], {}), ((2, 3), [(0, 1)], {"epsilon": 1, "rho": 1}),
        ((2, 1), [(0, 1)], {"epsilon": 1}), ((2, 3), [], {"epsilon": 1}),
        ((2, 3), [(0, 0)], {"epsilon": 1}), ((2, 3), [(0, 2)], {"epsilon": 1}),
        ((2, 3, 4), [(0, 2)], {"epsilon": 1}), ((3, 3), [(0, 1)], {"epsilon": 1}),
        ((2000, 2000), [(0, 1)], {"epsilon": 1}),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            marginal_counts(exact, sizes, wanted, **price)
    made = marginal_counts(exact, (2, 3), [(0,), (1,)], epsilon=1)
    with pytest.raises(ParameterError, match="published"):
        made.raw((0, 1))
    with pytest.raises(ParameterError, match="shape"):
        made.answer((0,), np.ones(3))
