"""The regression: expectations, covariances and constrained fits against slow references."""

import numpy as np
import pytest
from scipy.optimize import minimize

import discreet as dp
from discreet.local.rappor import Candidates, Params
from discreet.local.rappor.files import Counts
from discreet.local.rappor.fit import Regression, constrained, least_squares
from discreet.local.rappor.simulate import collect

PARAMS = Params(k=8, h=2, m=16, p="0.3", q="0.7", f="0.25")
WORDS = Candidates.of([f"w{i}" for i in range(12)], PARAMS)


def collected(shares, number, params=PARAMS, words=WORDS):
    values = np.repeat(np.arange(len(shares)), (np.array(shares) * number).astype(int))
    order = np.argsort(np.arange(values.size) * 7919 % values.size)  # spread over cohorts
    return collect(params, words, values[order])


def test_the_expected_counts_are_the_model():
    """No noise in the reports but the coins' means: t is then the share of each bit, exactly."""
    shares = np.array([0.5, 0.25, 0.25])
    params = Params(k=8, h=2, m=16, p=0, q=1, f=0)
    counts = collected(shares, 1 << 12, params)
    regression = Regression.of(params, WORDS, counts)
    each = np.stack([WORDS.bits[:, i].astype(float) for i in range(3)], axis=2) @ shares
    assert np.allclose(regression.shares, each, atol=0.05)


@pytest.mark.statistical
def test_the_scatter_is_the_covariance_of_the_shares():
    """Sampled clients, 3,000 cohorts of 200: each covariance within 7 standard errors."""
    params = Params(k=4, h=2, m=3000, p="0.1", q="0.9", f="0.2")
    words = Candidates.identity(list("abcd"), params)
    bits = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], bool)
    words = Candidates(("a", "b", "c"), np.broadcast_to(bits, (3000, 3, 4)))
    found = np.array([0.5, 0.3, 0.2])
    places = np.searchsorted(found.cumsum(), np.random.default_rng(5).random(600_000))
    counts = collect(params, words, np.minimum(places, 2))
    low, gap = float(params.p_star), float(params.q_star - params.p_star)
    regression = Regression(
        np.array([200.0]), bits.T[None].astype(float), np.zeros(4), np.zeros((4, 4)),
        np.zeros((1, 4)), low, gap,
    )  # fmt: skip
    expected = regression.scatter(found)[0]
    shares = (counts.ones / counts.totals[:, None] - low) / gap
    seen = np.cov(shares.T)
    error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / 3000)
    assert (np.abs(seen - expected) < 7 * error).all()
    assert np.abs(expected[0, 2]) > 7 * error[0, 2]  # a forgotten covariance is seen


def test_least_squares_are_those_of_a_textbook():
    counts = collected([0.4, 0.3, 0.2, 0.1], 20_000)
    regression = Regression.of(PARAMS, WORDS, counts)
    scatter = regression.scatter(np.full(12, 1 / 12))
    raw, error = least_squares(regression.solved(scatter))
    roots = np.linalg.cholesky(scatter)
    rows = np.linalg.solve(roots, regression.columns).reshape(-1, 12)
    target = np.linalg.solve(roots, regression.target[:, :, None]).reshape(-1)
    slow, left, *_ = np.linalg.lstsq(rows, target, rcond=None)
    assert np.allclose(raw, slow)
    assert np.allclose(error, np.sqrt(np.diag(np.linalg.inv(rows.T @ rows))))
    assert regression.solved(scatter).residual() == pytest.approx(float(left[0]))
    assert regression.solved(scatter, []).residual() == pytest.approx(float(target @ target))


@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.05] * 12, [0, 0, 0.2, 0.8]])
def test_the_constrained_fit_is_the_minimum(shares):
    counts = collected(shares, 4_000)
    regression = Regression.of(PARAMS, WORDS, counts)
    scatter = regression.scatter(np.zeros(12))
    found = constrained(regression, scatter)
    assert found.min() >= 0
    assert found.sum() <= 1 + 1e-12
    normal = regression.solved(scatter)

    def square(b):
        return float(b @ normal.gram @ b - 2 * normal.moment @ b + normal.square)

    slow = minimize(
        square, np.full(12, 1 / 12), bounds=[(0, 1)] * 12, method="SLSQP",
        jac=lambda b: 2 * (normal.gram @ b - normal.moment),
        constraints={"type": "ineq", "fun": lambda b: 1 - b.sum()}, options={"ftol": 1e-12},
    )  # fmt: skip
    assert square(found) <= slow.fun * (1 + 1e-4)


def test_more_candidates_than_rows_are_fitted_too():
    params = Params(k=4, h=1, m=4, p=0, q=1, f=0)
    words = Candidates.of([f"w{i}" for i in range(12)], params)
    regression = Regression.of(params, words, collected([1], 64, params, words))
    found = constrained(regression, regression.scatter(np.zeros(12)))
    assert found.sum() <= 1 + 1e-12
    assert found[0] > 0.99


def test_unknown_words_show_as_spread():
    """A fifth of the clients have one unknown word: s is about 0.04."""
    words = Candidates.of([f"w{i}" for i in range(12)], Params(k=8, h=2, m=128, p=0, q=1, f=0))
    params = Params(k=8, h=2, m=128, p=0, q=1, f=0)
    counts = collected([0.4, 0.4, 0.2], 1 << 16, params, words)
    told = Candidates(words.words[:2], words.bits[:, :2])
    regression = Regression.of(params, told, counts)
    share = constrained(regression, regression.scatter(np.zeros(2)))
    assert share == pytest.approx([0.4, 0.4], abs=0.03)
    assert regression.unknown_spread(regression.scatter(share)) == pytest.approx(0.04, rel=0.25)
    complete = Regression.of(params, words, counts)
    everything = np.array([0.4, 0.4, 0.2, *[0] * 9])
    assert complete.unknown_spread(complete.scatter(everything)) < 0.001


def test_what_is_refused():
    with pytest.raises(dp.ParameterError, match="at least one report"):
        Regression.of(PARAMS, WORDS, Counts.empty(PARAMS))
    twins = Candidates(("a", "b"), WORDS.bits[:, [0, 0]])
    counts = collected([1], 100)
    with pytest.raises(dp.ParameterError, match="set the same bits in all"):
        Regression.of(PARAMS, twins, counts)
    with pytest.raises(dp.ParameterError, match="as the parameters say"):
        Regression.of(Params(), WORDS, counts)
