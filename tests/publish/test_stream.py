"""Continual counting: the promise over all small streams, estimates and variances by algebra."""

import copy
import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom
from tests.publish.forced import datasets, neighbours

from discreet.errors import InputTypeError, ParameterError, StreamEndedError, UnsupportedError
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.sums import geometric_width
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss
from discreet.publish import stream as module
from discreet.publish.stream import RunningCount, best_branching

EPSILON = Fraction(1, 2)


def run(counts, *, outputs=None, **options):
    """The steps (rate, exact value, output) behind a stream, and all that it returned."""
    steps = []

    def one(self, value, source):
        noise = (len(steps) * 7919) % 11 - 5
        out = value + noise if outputs is None else outputs[len(steps)]
        steps.append((self.rate, value, out))
        return out

    with mock.patch.object(Geometric, "_one", one):
        counter = RunningCount(epsilon=EPSILON, **options)
        found = [counter.add(int(count)) for count in counts]
    return steps, found, counter


def worst_loss(length, *, relation="add_or_remove", people=3, **options):
    """Over all streams of so many events at most, and all their neighbours; exactly."""
    worst = Fraction(0)
    for counts in datasets(length, people):
        steps, found, _ = run(counts, **options)
        outputs = [out for *_, out in steps]
        for other in neighbours(counts, relation):
            again, same, _ = run(other, outputs=outputs, **options)
            assert same == found
            assert [rate for rate, *_ in again] == [rate for rate, *_ in steps]
            pairs = zip(steps, again, strict=True)
            bound = sum(rate * abs(v - w) for (rate, v, _), (_, w, _) in pairs)
            assert bound <= EPSILON
            worst = max(worst, bound)
    return worst


CASES = [
    {"horizon": 4, "branching": 2},
    {"horizon": 8, "branching": 2},
    {"horizon": 7, "branching": 3},
    {"horizon": 6},
    {"branching": 2},
    {"branching": 3},
]


@pytest.mark.parametrize("options", CASES)
def test_every_stream_keeps_the_promise_and_one_meets_it(options):
    length = options.get("horizon", 8)
    assert worst_loss(length, people=3 if length < 8 else 2, **options) == EPSILON


def test_a_moved_event_has_sensitivity_two():
    options = {"horizon": 4, "branching": 2, "sensitivity": 2, "neighbours": "replace"}
    assert worst_loss(4, relation="replace", people=2, **options) == EPSILON
    with pytest.raises(AssertionError):
        worst_loss(4, relation="replace", people=2, horizon=4, branching=2)


@pytest.mark.parametrize("options", CASES)
def test_a_size_forgotten_in_the_shares_would_be_caught(options, monkeypatch):
    plain = Geometric
    monkeypatch.setattr(
        module,
        "Geometric",
        lambda **kw: plain(**{**kw, "epsilon": kw["epsilon"] * Fraction(11, 10)}),
    )
    with pytest.raises(AssertionError):
        worst_loss(options.get("horizon", 8), people=1, **options)


def test_an_exact_count_in_what_is_returned_would_be_caught(monkeypatch):
    """A fault planted: the block that is not complete is added to the estimate."""
    plain = module._Tree.totals

    def leaking(self):
        estimate, total = plain(self)
        return estimate + self._Tree__open[-1], total

    monkeypatch.setattr(module._Tree, "totals", leaking)
    with pytest.raises(AssertionError):
        worst_loss(4, people=1, horizon=4, branching=2)


def dense(steps, length, branching, sizes):
    """The rows over time of the numbers in the order in which they were released."""
    rows = []
    for t in range(1, length + 1):
        for size in range(sizes):
            if t % branching**size == 0:
                row = np.zeros(length)
                row[t - branching**size : t] = 1
                rows.append(row)
    return np.array(rows), np.array([out for *_, out in steps], dtype=float)


@pytest.mark.parametrize(("branching", "length"), [(2, 11), (3, 20), (4, 16)])
def test_estimates_are_least_squares_with_exact_variances(branching, length):
    counts = (np.arange(length) * 37) % 11
    sizes = 1
    while branching**sizes < length:
        sizes += 1
    steps, found, counter = run(counts, horizon=length, branching=branching)
    for t in range(1, length + 1):
        number = sum(t // branching**size for size in range(sizes))
        rows, values = dense(steps[:number], t, branching, sizes)
        fit, *_ = np.linalg.lstsq(rows, values, rcond=None)
        assert found[t - 1].estimate == pytest.approx(fit.sum(), abs=1e-7)
        spread = np.linalg.inv(rows.T @ rows).sum()
        unit = 2 * math.exp(-steps[0][0]) / (1 - math.exp(-steps[0][0])) ** 2
        assert found[t - 1].standard_error ** 2 == pytest.approx(spread * unit, rel=1e-9)
    assert counter.smoothed() == pytest.approx(np.cumsum(fit), abs=1e-7)


def digits(number, base):
    while number:
        yield number % base
        number //= base


def test_the_plain_estimate_has_as_many_blocks_as_the_sum_of_digits():
    """Closed form: the blocks of step t are the digits of t; least squares is never worse."""
    steps, found, _ = run([1] * 26, horizon=27, branching=3)
    unit = 2 * math.exp(-steps[0][0]) / (1 - math.exp(-steps[0][0])) ** 2
    for t, prefix in enumerate(found, start=1):
        number = sum(digits(t, 3))
        assert sum(n for *_, n in prefix.blocks) == number
        assert prefix.standard_error**2 <= number * unit * (1 + 1e-12)
    assert sum(sum(digits(t, 3)) for t in range(27)) == 27 * 3  # a mean of (k-1)/2 h


def test_epochs_follow_each_other_without_end():
    steps, found, counter = run([1] * 20, branching=2)
    rates = [rate for rate, *_ in steps]
    assert rates[0] == EPSILON / 2  # blocks of 1 and 2
    assert set(rates) == {EPSILON / 2, EPSILON / 3, EPSILON / 4, EPSILON / 5}
    assert [len(p.blocks) for p in found[:6]] == [1, 1, 2, 2, 3, 2]
    exact = run([1] * 20, outputs=[value for _, value, _ in steps], branching=2)
    assert [p.estimate for p in exact[1]] == pytest.approx(list(range(1, 21)))
    assert [p.plain for p in exact[1]] == list(range(1, 21))
    assert exact[2].smoothed() == pytest.approx(np.arange(1, 21))
    assert counter.smoothed()[-1] == pytest.approx(found[-1].estimate)


def test_the_branching_has_the_least_mean_variance():
    for horizon in (1, 2, 10, 365, 1000, 10**6):
        best = best_branching(horizon)
        costs = {k: (k - 1) * module._sizes(horizon, k) ** 3 for k in range(2, 65)}
        assert costs[best] == min(costs[k] for k in range(2, max(min(horizon, 64), 2) + 1))
    assert module._sizes(8, 2) == 3
    assert module._sizes(9, 2) == 4
    assert module._sizes(1, 2) == 1


def test_the_interval_has_the_width_of_all_its_noise():
    """Against the weights of every single number, by dense algebra."""
    steps, found, _ = run([9] * 23, horizon=27, branching=3)
    rows, _ = dense(steps, 23, 3, 3)
    weights = np.ones(23) @ np.linalg.pinv(rows)
    width = geometric_width([(weights, steps[0][0])], Fraction(1, 10))
    low, high = found[-1].interval(0.9)
    assert high - found[-1].estimate == pytest.approx(width, rel=0.01)
    assert low == max(found[-1].estimate - (high - found[-1].estimate), 0)


@pytest.mark.statistical
def test_intervals_hold_the_truth():
    """At 80 %, at a step in the middle of a block; false alarm below 1e-10."""
    runs, held = 300, 0
    for _ in range(runs):
        counter = RunningCount(epsilon=1, horizon=30, branching=3)
        prefix = [counter.add(2) for _ in range(23)][-1]
        low, high = prefix.interval(0.8)
        held += low <= 46 <= high
        assert low <= prefix.interval(0.99)[1]
    assert held >= binom.ppf(1e-10, runs, 0.8)


def test_manners():
    counter = RunningCount(epsilon=1, horizon=2)
    assert counter.guarantee == PureDP(1)
    assert counter.privacy_loss == PureLoss(epsilon=1)
    assert counter.smoothed().size == 0
    prefix = counter.add(10**6)
    assert prefix.time == 1
    assert prefix.value >= 0
    assert "step 1" in repr(counter)
    counter.add(0)
    with pytest.raises(StreamEndedError, match="horizon"):
        counter.add(0)
    with pytest.raises(InputTypeError):
        RunningCount(epsilon=1).add(1.5)
    with pytest.raises(UnsupportedError, match="copied"):
        copy.copy(counter)
    for wrong in ({"horizon": 0}, {"branching": 1}, {"epsilon": 0}, {"sensitivity": 0}):
        with pytest.raises(ParameterError):
            RunningCount(**{"epsilon": 1, **wrong})
    assert "without end" in repr(RunningCount(epsilon=1))


def test_a_forked_child_counts_no_further(monkeypatch):
    counter = RunningCount(epsilon=1)
    counter.add(1)
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    with pytest.raises(StreamEndedError):
        counter.add(1)


def test_small_streams_are_all_there():
    """So that the tests above are not empty: the streams of up to 3 events on 4 steps."""
    assert len(list(datasets(4, 3))) == sum(
        len(list(itertools.combinations_with_replacement(range(4), n))) for n in range(4)
    )
