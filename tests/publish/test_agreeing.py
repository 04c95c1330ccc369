"""Residuals whose marginals have no negative cell, against a plain solver and one by one."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.publish import agreeing as module
from discreet.publish.agreeing import agreeing
from discreet.publish.residuals import centred, closure_of


def residual(table):
    for axis in range(table.ndim):
        table = centred(table, axis)
    return table


def problem(sizes, tops, seed):
    rng = np.random.RandomState(seed)
    residuals = {}
    for part in closure_of(tops):
        own = residual(rng.normal(0, 4, [sizes[i] for i in part]))
        residuals[part] = own + 20 if part == () else own
    trust = {part: 0.5 + rng.random_sample() for part in residuals}
    return residuals, trust, dict.fromkeys(tops, 0.7)


def joined(sizes, top, residuals):
    table = np.zeros([sizes[i] for i in top])
    for part in closure_of([top]):
        shape = [sizes[i] if i in part else 1 for i in top]
        others = np.prod([sizes[i] for i in top if i not in part])
        table += residuals[part].reshape(shape) / others
    return table


def apart(residuals, measured, trust):
    return sum(trust[a] * ((residuals[a] - measured[a]) ** 2).sum() for a in measured)


@pytest.mark.parametrize(
    ("sizes", "tops"),
    [
        ((2, 3, 2), [(0, 1), (1, 2), (0, 2)]),
        ((3, 3, 3), [(0, 1), (1, 2), (0, 2)]),
        ((2, 3, 4, 2), [(0, 1, 2), (2, 3), (0, 3)]),
    ],
)
def test_it_is_the_nearest_without_negative_cells(sizes, tops, monkeypatch):
    """No other solver finds a nearer one, and what is found obeys."""
    monkeypatch.setattr(module, "TURNS", 5000)
    monkeypatch.setattr(module, "_NEAR", 1e-9)
    measured, trust, penalty = problem(sizes, tops, seed=1)
    assert min(joined(sizes, top, measured).min() for top in tops) < -1
    found = agreeing(sizes, measured, trust, penalty)
    assert min(joined(sizes, top, found).min() for top in tops) > -1e-6
    for part, own in found.items():
        assert all(np.allclose(own.sum(axis=axis), 0) for axis in range(own.ndim)), part

    ends = np.cumsum([own.size for own in measured.values()])[:-1]

    def residuals(x):
        pieces = zip(measured, np.split(x, ends), strict=True)
        return {part: residual(x.reshape(measured[part].shape)) for part, x in pieces}

    best = minimize(
        lambda x: apart(residuals(x), measured, trust),
        np.concatenate([own.reshape(-1) for own in found.values()]),
        constraints=[
            {"type": "ineq",
             "fun": lambda x, top=top: joined(sizes, top, residuals(x)).reshape(-1)}
            for top in tops
        ],
        options={"maxiter": 500},
    )  # fmt: skip
    assert apart(found, measured, trust) == pytest.approx(best.fun, rel=1e-3)


def test_what_is_not_negative_stays():
    sizes, tops = (2, 3, 2), [(0, 1), (1, 2)]
    measured = {part: np.zeros([sizes[i] for i in part]) for part in closure_of(tops)}
    measured[()] = np.array(60.0)
    found = agreeing(sizes, measured, dict.fromkeys(measured, 1.0), dict.fromkeys(tops, 1.0))
    assert all(np.allclose(found[part], own) for part, own in measured.items())


def test_tables_of_one_shape_are_told_apart():
    """Many columns of equal size: each table gets what it would in the order turned around."""
    sizes, tops = (3,) * 5, list(combinations(range(5), 2))
    measured, trust, penalty = problem(sizes, tops, seed=2)
    found = agreeing(sizes, measured, trust, penalty)
    turned = dict(reversed(measured.items()))
    again = agreeing(sizes, turned, trust, dict(reversed(penalty.items())))
    assert all(np.allclose(found[part], again[part]) for part in found)
