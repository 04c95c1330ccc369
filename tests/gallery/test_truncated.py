"""Counts in a short range: every number again by enumeration in fractions, or as an optimum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.exact import exp
from discreet.gallery import truncated
from discreet.gallery.experiment import Effort
from discreet.gallery.truncated import AGAIN, CLAMPED, READ, WASTEFUL, WORST, notes_rate
from discreet.mechanisms.geometric import Geometric
from discreet.noise.clamped import ConditionedGeometric

N, TENTH = 30, Fraction(1, 10)
RANGE = range(N + 1)
DISTANCE = np.abs(np.subtract.outer(np.arange(N + 1), np.arange(N + 1)))


def near(rate):
    """A fraction within 1e-16 of e^-rate."""
    return Fraction(math.exp(-rate))


def clamped(i, a, n=N):
    inner = [(1 - a) / (1 + a) * a ** abs(i - j) for j in range(n + 1)]
    inner[0], inner[n] = a**i / (1 + a), a ** (n - i) / (1 + a)
    assert sum(inner) == 1
    return inner


def conditioned(rate):
    """The laws of drawing again at this rate around all counts, a row each."""
    weights = np.exp(-float(rate) * DISTANCE)
    return weights / weights.sum(axis=1, keepdims=True)


def loss(laws):
    """The largest log ratio between neighbouring counts."""
    return np.abs(np.diff(np.log(np.array(laws, dtype=float)), axis=0)).max()


def error(law, i, read=lambda j: j):
    return float(sum(p * abs(read(j) - i) for j, p in enumerate(law)))


@pytest.fixture(scope="module")
def found():
    return truncated.run(Effort(fast=True))


def test_the_clamped_law(found):
    """0.0710 and 0.2642; the notes say about 0.075 and 0.25."""
    for count in truncated.COUNTS:
        law = clamped(count, near(0.1))
        assert truncated.ends(count) == pytest.approx((float(law[0]), float(law[N])), rel=1e-12)
    law = clamped(20, near(0.1))
    assert round(float(law[0]), 4) == 0.0710 == found["probability of 0 at a count of 20"].ours
    assert round(float(law[0] + law[N]), 4) == 0.2642
    assert found["probability of 0 or 30 at a count of 20"].ours == 0.2642
    assert found["probability of 0 at a count of 20"].theirs == "about 0.075"
    assert found["probability of 0 or 30 at a count of 20"].theirs == "about 0.25"
    assert loss([clamped(i, near(0.1)) for i in RANGE]) == pytest.approx(0.1)


def test_the_notes_factor_is_the_ratio_of_what_is_cut_off():
    a = near(0.1)

    def cut(i):
        """P(i + noise < 0) + P(i + noise > 30), as series that are added up."""
        return (a ** (i + 1) + a ** (N - i + 1)) / (1 + a)

    for i in RANGE:
        ratios = [cut(i + step) / cut(i) for step in (-1, 1)]
        largest = max(*ratios, *(1 / r for r in ratios))
        assert truncated.notes_factor(i, 0.1) == pytest.approx(float(largest), rel=1e-12)
    assert max(RANGE, key=lambda i: truncated.notes_factor(i, 0.1)) in (0, N)
    assert round(float(notes_rate(TENTH)), 6) == 0.008634
    inside = max(cut(i) / cut(i + 1) for i in range(N))  # between counts that can occur
    assert round(0.1 - math.log(inside), 6) == 0.010445
    assert 0 < 0.1 - math.log(truncated.notes_factor(0, 0.1)) - float(notes_rate(TENTH)) < 1e-11


@pytest.mark.parametrize(
    ("rate", "true"), [(notes_rate(TENTH), 0.0166), (Fraction("0.053252"), 0.1), (TENTH, 0.1818)]
)
def test_the_true_losses_by_enumeration(rate, true):
    assert round(loss(conditioned(rate)), 4) == true
    assert truncated._loss(rate) == true


def test_a_private_estimate_in_the_notes_factor_breaks_the_promise():
    """Certified: the answer 0 has more than e^0.1 times the probability at 0 that it has at 1."""
    for estimate in RANGE:
        by_hand = loss(conditioned(notes_rate(TENTH, estimate)))
        assert float(truncated.plugged_loss(estimate)) == pytest.approx(by_hand, rel=1e-9)
        assert (truncated.plugged_loss(estimate).lower > TENTH) == (11 <= estimate <= 19)
    rate = notes_rate(TENTH, 15)
    zero, one = (ConditionedGeometric(rate, i, 0, N).mass_bounds(0) for i in (0, 1))
    assert zero.lower > exp(TENTH, 64).upper * one.upper
    assert round(float(truncated.plugged_loss(15)), 4) == 0.1733


def test_an_estimate_and_an_answer_together_break_it_too():
    """Certified for 0.01 + 0.09: estimate 15 and answer 0, at the counts 0 and 1."""
    first, second = Fraction(1, 100), Fraction(9, 100)
    estimate = Geometric(epsilon=first, bounds=(0, N))
    rate = notes_rate(second, 15)
    zero, one = (
        estimate.law(i).mass_bounds(15) * ConditionedGeometric(rate, i, 0, N).mass_bounds(0)
        for i in (0, 1)
    )
    assert zero.lower > exp(TENTH, 64).upper * one.upper
    assert round(truncated.pair_loss(first, second), 4) == 0.1478


@pytest.mark.parametrize(("first", "second"), [("0.01", "0.09"), ("0.05", "0.05"), ("0.1", "0.1")])
def test_the_loss_of_a_pair_by_enumeration(first, second):
    guess = np.array([clamped(i, near(float(first))) for i in RANGE], dtype=float)
    answers = [conditioned(notes_rate(Fraction(second), c)) for c in RANGE]
    joint = np.stack([guess[:, [c]] * answers[c] for c in RANGE], axis=1)  # count, estimate, answer
    by_hand = loss(joint)
    assert truncated.pair_loss(Fraction(first), Fraction(second)) == pytest.approx(by_hand)
    alone = loss(joint.sum(axis=1))
    assert truncated.hidden_loss(Fraction(first), Fraction(second)) == pytest.approx(alone)
    if first == "0.05":
        assert round(by_hand, 4) == 0.0977
        assert round(alone, 4) == 0.0422  # 0.0308 on the page is for 0.01 and 0.09
    if first == "0.01":
        assert round(alone, 4) == 0.0308
    if first == second:  # equal parts happen to stay within the sum, for this n
        assert by_hand < 2 * float(first)


def test_the_true_count_in_the_notes_factor():
    laws = [conditioned(notes_rate(TENTH, i))[i] for i in RANGE]
    assert truncated.true_count_loss() == pytest.approx(loss(laws))
    assert round(loss(laws), 4) == 0.1755


def test_the_table_by_enumeration(found):
    a = near(0.1)
    read = {j: truncated.best_reading()(j) for j in RANGE}
    rates = {WASTEFUL: notes_rate(TENTH), AGAIN: Fraction("0.053252")}
    by_hand = {
        CLAMPED: [error(clamped(i, a), i) for i in RANGE],
        READ: [error(clamped(i, a), i, read.__getitem__) for i in RANGE],
        **{way: [error(conditioned(r)[i], i) for i in RANGE]
           for way, r in rates.items()},
    }  # fmt: skip
    expected = {
        CLAMPED: (7.4715, 6.7517), WASTEFUL: (8.2757, 9.9099),
        AGAIN: (6.9750, 7.9306), READ: (4.9604, 5.6857),
    }  # fmt: skip
    for way, numbers in expected.items():
        both = by_hand[way][20], sum(by_hand[way]) / 31
        assert tuple(round(x, 4) for x in both) == numbers
        assert tuple(round(x, 4) for x in truncated.columns(way)) == numbers
        assert (found[f"error at 20: {way}"].ours, found[f"mean error: {way}"].ours) == numbers
        assert max(by_hand[way]) == pytest.approx(max(truncated.errors(way)), abs=1e-4)


def private(extra=0):
    """The constraints on all 0.1-private tables of 31 counts and 31 answers, row by row."""
    rows, columns, values = [], [], []
    for i in range(N):
        for k in RANGE:
            for up, down in ((i, i + 1), (i + 1, i)):
                rows += [len(rows) // 2] * 2
                columns += [up * (N + 1) + k, down * (N + 1) + k]
                values += [1, -math.exp(0.1)]
    size = (len(rows) // 2, (N + 1) ** 2 + extra)
    whole = sparse.kron(sparse.eye(N + 1), np.ones((1, N + 1)))
    if extra:
        whole = sparse.hstack([whole, sparse.csr_matrix((N + 1, extra))])
    return sparse.csr_matrix((values, (rows, columns)), shape=size), whole.tocsr()


def test_no_private_mechanism_has_a_smaller_mean_error():
    limits, whole = private()
    best = linprog(
        DISTANCE.reshape(-1) / 31, A_ub=limits, b_ub=np.zeros(limits.shape[0]), A_eq=whole,
        b_eq=np.ones(31),
    )  # fmt: skip
    assert truncated.columns(READ)[1] == pytest.approx(best.fun, rel=1e-7)


def test_no_private_mechanism_has_a_smaller_worst_error():
    limits, whole = private(extra=1)
    worst = np.zeros((31, 31 * 31 + 1))
    for i in RANGE:
        worst[i, i * 31 : (i + 1) * 31], worst[i, -1] = DISTANCE[i], -1
    limits = sparse.vstack([limits, sparse.csr_matrix(worst)])
    cost = np.append(np.zeros(31 * 31), 1)
    best = linprog(
        cost, A_ub=limits, b_ub=np.zeros(limits.shape[0]), A_eq=whole, b_eq=np.ones(31)
    )  # fmt: skip
    reading = truncated.minimax_reading()
    assert reading.expected_loss == pytest.approx(best.fun, rel=1e-7)
    assert round(best.fun, 4) == 6.2325
    kernel = np.array([[float(p) for p in clamped(i, near(0.1))] for i in RANGE])
    assert np.allclose(reading.table.sum(axis=1), 1)
    assert np.allclose((kernel @ reading.table * DISTANCE).sum(axis=1), truncated.errors(WORST))


@pytest.mark.parametrize(
    ("n", "epsilon", "face", "again", "read"),
    [
        (5, "0.1", 2.094, 1.830, 1.431), (5, "0.25", 1.641, 1.653, 1.340),
        (10, "0.1", 3.621, 3.296, 2.583), (10, "0.25", 2.436, 2.787, 2.092),
        (10, "1", 0.729, 0.972, 0.729), (20, "0.1", 5.599, 5.837, 4.403),
        (50, "0.5", 1.823, 2.854, 1.810),
    ],
)  # fmt: skip
def test_how_the_gain_changes(n, epsilon, face, again, read):
    """Against a table of mean errors that was computed elsewhere, to three decimals."""
    a = near(float(epsilon))
    mean = sum(error(clamped(i, a, n), i) for i in range(n + 1)) / (n + 1)
    assert mean == pytest.approx(face, abs=6e-4)
    parts = truncated.relative(epsilon, n)
    assert parts == pytest.approx((read / mean, again / mean), abs=1e-3)
    assert parts[0] <= min(parts[1], 1) + 1e-9


def test_what_the_page_says_of_the_gain():
    """The product of n and epsilon is 1, 1, 3, 10 and 0.35; and at epsilon 1 nothing is gained."""
    gains = {("0.1", 10): 0.29, ("0.05", 20): 0.32, ("0.1", 30): 0.16, ("0.1", 100): 0.045,
             ("0.05", 7): 0.37}  # fmt: skip
    for (epsilon, n), gain in gains.items():
        assert 1 - truncated.relative(epsilon, n)[0] == pytest.approx(gain, abs=0.01)
    best = Geometric(epsilon=1, bounds=(0, 10)).remap()
    assert [best(j) for j in range(11)] == list(range(11))


def test_where_drawing_again_gains():
    """In ranges that are short beside the noise, whose scale is 1/epsilon, and nowhere else."""
    for epsilon, short, long in (("0.05", 30, 45), ("0.1", 15, 20), ("0.25", 3, 7)):
        assert truncated.relative(epsilon, short)[1] < 1 < truncated.relative(epsilon, long)[1]


def test_what_is_told(found):
    assert found["parameter for drawing again"].ours == 0.053252
    assert found["parameter for drawing again"].theirs == 0.008634
    assert found["true loss with the notes' parameter"].ours == 0.0166
    assert found["true loss with no correction"].ours == 0.1818
    said = found["true loss with the notes' M at a private estimate of 15"]
    assert (said.ours, said.theirs) == (0.1733, 0.1)
    assert said.remark.endswith("from 11 to 19")
    assert found["largest error: clamped"].ours == 7.7558
    assert found["largest error: clamped, minimax reading"].ours == 6.2325
    assert found["gain by reading at n = 30, epsilon 0.1"].ours == "15.8%"
    assert [figure.name for figure in found.figures] == [
        "truncated", "truncated-error", "truncated-loss", "truncated-estimate",
        "truncated-reading", "truncated-gain",
    ]  # fmt: skip
