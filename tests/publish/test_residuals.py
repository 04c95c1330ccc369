"""Residuals: the maps between marginals, numbers and residuals; the shares."""

from itertools import combinations

import numpy as np
import pytest

from discreet.publish.residuals import Forms, closure_of, shares_of, spread_of

SIZES = (2, 3, 4)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ((0, 1), (0, 1)),
        ((0, 1), (0,)),
        ((1, 2), (1, 2)),
        ((1, 2), (2,)),
        ((1, 2), ()),
        ((0, 1, 2), (0, 2)),
    ],
)
def test_estimates_are_unbiased_and_weights_are_their_adjoints(columns, part, pure):
    forms = Forms(SIZES, pure=pure)
    if part not in forms.told(columns):
        assert not pure or 0 in set(columns) - set(part)
        return
    rng = np.random.RandomState(0)
    table = rng.randint(0, 9, [SIZES[i] for i in columns])
    numbers = forms.exact(table, columns)
    found = forms.estimate(numbers, columns, part)
    wanted = table.astype(float)
    for axis, i in reversed(list(enumerate(columns))):
        wanted = wanted - wanted.mean(axis, keepdims=True) if i in part else wanted.sum(axis)
    assert found == pytest.approx(wanted)
    question = rng.rand(*found.shape)
    asked = forms.weights(question, columns, part)
    assert asked.shape == numbers.shape
    assert (asked * numbers).sum() == pytest.approx((question * found).sum())


@pytest.mark.parametrize("pure", [True, False])
def test_factors_are_those_of_the_covariance(pure):
    """The covariance of an estimate is f times the projection, column by column."""
    forms = Forms(SIZES, pure=pure)
    for columns in combinations(range(3), 2):
        for part in closure_of([columns]):
            if part not in forms.told(columns):
                continue
            shape = forms.exact(np.zeros([SIZES[i] for i in columns]), columns).shape
            units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
            maps = np.array([forms.estimate(u, columns, part).reshape(-1) for u in units])
            projection = np.ones((1, 1))
            for i in part:
                projection = np.kron(projection, np.eye(SIZES[i]) - 1 / SIZES[i])
            assert maps.T @ maps == pytest.approx(forms.factor(columns, part) * projection)


@pytest.mark.parametrize("pure", [True, False])
def test_shares_add_up_and_no_small_move_gains(pure):
    wanted = ((0, 1), (1, 2))
    shares = shares_of(SIZES, wanted, pure=pure)
    assert sum(shares.values()) == 1
    forms = Forms(SIZES, pure=pure)

    def cost(given):
        total = 0.0
        for part in closure_of(wanted):
            precision = sum(
                (s**2 / 2 if pure else 2 * s / forms.norm(one)) / forms.factor(one, part)
                for one, s in given.items() if part in forms.told(one)
            )  # fmt: skip
            total += (
                sum(spread_of(SIZES, b, part) for b in wanted if set(part) <= set(b)) / precision
            )
        return total

    plain = {one: float(s) for one, s in shares.items()}
    for giver, share in plain.items():
        for taker in plain:
            moved = dict(plain)
            moved[giver] -= 1e-3 * share
            moved[taker] += 1e-3 * share
            assert cost(moved) > cost(plain) * (1 - 1e-5)


def test_many_shares_that_round_to_nothing_take_no_more_than_there_is():
    """Each of two thousand gets a unit at least; what is given to them is taken from all others."""
    sizes = (3,) * 11 + (100,) * 1500
    wanted = (tuple(range(11)), *((11 + i,) for i in range(1500)))
    shares = shares_of(sizes, wanted, pure=False)
    assert sum(shares.values()) == 1
    assert set(shares) == set(closure_of(wanted))


def test_closures_hold_all_subsets():
    assert closure_of([(0, 1), (1, 2)]) == ((), (0,), (1,), (2,), (0, 1), (1, 2))
