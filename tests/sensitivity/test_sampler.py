"""The sampler: its promise by exact enumeration, its manners, and the heights."""

import math
import statistics
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet.audit import walk
from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.noise.source import ReplayedSource
from discreet.sensitivity import (
    L1,
    L2,
    GaussianMixture,
    LInf,
    Normal,
    Uniform,
    sample_sensitivity,
)

HEIGHTS = GaussianMixture([(178, 7), (162, "6.5")])


class Die:
    """One of a few records, each with the same chance."""

    def __init__(self, *records):
        self.records = records

    def draw(self, size, source):
        return [self.records[source.below(len(self.records))] for _ in range(size)]


def value_law(query, oracle, n, **asked):
    """The exact law of the sampled value, by walking every outcome of the sampler."""
    found = walk(
        lambda source: sample_sensitivity(query, L1(), oracle, n, source=source, **asked).value
    )
    assert found.unresolved == 0
    return {value: weight.lower for value, weight in found.weights.items()}


def pair_law(query, records, n):
    """The exact law of one real distance: n records, a place and a replacement for it."""
    law = Counter()
    for *data, fresh in product(records, repeat=n + 1):
        for place in range(n):
            other = [*data[:place], fresh, *data[place + 1 :]]
            law[abs(query(data) - query(other))] += Fraction(1, n * len(records) ** (n + 1))
    return law


def worse_law(query, records, n):
    """The exact law of the largest distance over all n places, each with its own replacement."""
    law = Counter()
    for drawn in product(records, repeat=2 * n):
        data, fresh = list(drawn[:n]), drawn[n:]
        moves = [
            abs(query(data) - query([*data[:place], fresh[place], *data[place + 1 :]]))
            for place in range(n)
        ]
        law[max(moves)] += Fraction(1, len(records) ** (2 * n))
    return law


def joint(values, real):
    """P(real > value), both random."""
    return sum(p * q for value, p in values.items() for g, q in real.items() if g > value)


CASES = [
    (lambda data: data[0], (0, 1, 5), 1, 2),
    (lambda data: data[0], (0, 1, 5), 1, 3),
    (lambda data: 10 * data[0] + data[1], (0, 1), 2, 2),
    (max, (0, 1, 5), 2, 1),
    (sum, (0, 1, 5), 2, 1),
]


@pytest.mark.parametrize(("query", "records", "n", "m"), CASES)
def test_the_promise_by_enumeration(query, records, n, m):
    """P(G_real > value) <= gamma over sampler and pair jointly: every draw, every pair, exactly.

    The value has the law of the k-th smallest of m real distances, which is what was meant.
    """
    real = pair_law(query, records, n)
    for k in range(1, m + 1):
        gamma = Fraction(m + 1 - k, m + 1)
        values = value_law(query, Die(*records), n, m=m, gamma=gamma)
        assert sum(values.values()) == 1
        assert joint(values, real) <= gamma
        expected = Counter()
        for draws in product(real, repeat=m):
            expected[sorted(draws)[k - 1]] += math.prod(real[g] for g in draws)
        assert values == expected


def test_the_union_bound_over_all_records():
    """P(some record's replacement is worse) <= n gamma, for a query that favours one place too."""
    query, records, n = (lambda data: 10 * data[0] + data[1]), (0, 1), 2
    values = value_law(query, Die(*records), n, m=2)
    assert joint(values, worse_law(query, records, n)) <= n * Fraction(1, 3)


@pytest.mark.parametrize(
    ("query", "records", "n", "m"),
    [
        (lambda data: 10 * data[0] + data[1], (0, 1), 2, 2),
        (max, (0, 1, 5), 2, 1),
        (lambda data: sorted(data)[1], (0, 1), 3, 1),
    ],
)
def test_every_record_at_once_by_enumeration(query, records, n, m):
    """The value is the largest of m distances, each the largest over all places."""
    real = worse_law(query, records, n)
    values = value_law(query, Die(*records), n, m=m, every_record=True)
    assert joint(values, real) <= Fraction(1, m + 1)
    expected = Counter()
    for draws in product(real, repeat=m):
        expected[max(draws)] += math.prod(real[g] for g in draws)
    assert values == expected


def test_one_record_is_not_every_record():
    """A replay: records 1, 0, 0 and fresh ones; only place 0 matters to this query."""
    first = lambda data: data[0]
    oracle = Die(0, 1)
    one = sample_sensitivity(first, L1(), oracle, 2, m=1, source=ReplayedSource([1, 0, 0, 1]))
    assert one.value == 0  # place 1 was replaced
    every = sample_sensitivity(
        first, L1(), oracle, 2, m=1, every_record=True, source=ReplayedSource([1, 0, 0, 1])
    )
    assert every.value == 1  # records 1, 0; place 0 becomes 0


def test_what_all_records_cost():
    asked = {"query": sum, "norm": L1(), "oracle": Die(0, 1), "n": 3}
    assert sample_sensitivity(**asked, gamma="0.1").for_all_records() == Fraction(3, 10)
    assert sample_sensitivity(**asked, gamma="0.5").for_all_records() == 1
    every = sample_sensitivity(**asked, gamma="0.1", every_record=True)
    assert every.for_all_records() == Fraction(1, 10)
    sure = sample_sensitivity(**asked, gamma="0.1", confidence="0.9")
    assert sure.for_all_records() == Fraction(3, 10)
    assert sure.joint_gamma == Fraction(2, 10)


@pytest.mark.parametrize("asked", [{"gamma": 0.33}, {"m": 100}, {"gamma": 0.33, "m": 100}])
@pytest.mark.parametrize("bound", ["exchangeable", "dkw"])
def test_the_mean_of_a_hundred_normals(asked, bound):
    """Never fails by chance: no draw is beyond 8.3 sd, so no mean moves by 0.17."""
    found = sample_sensitivity(np.mean, L1(), Normal(0, 1), 100, bound=bound, **asked)
    assert 0 < found.mean <= 0.17 < 0.5
    assert found.mean <= found.value <= 0.17 or found.k < found.m
    assert (found.n, found.norm, found.bound, found.numbers) == (100, "L1", bound, 1)
    assert found.kind == "random-DP"


@pytest.mark.parametrize("norm", [L1(), L2(), LInf()], ids=lambda norm: norm.name)
def test_an_answer_of_several_parts_has_one_sensitivity(norm):
    """One record x becomes y: the parts move by |x - y| and 2|x - y|, wherever they are put."""
    words = [3 << 62, 1 << 62, 0]
    parts = {"L1": 3, "L2": math.sqrt(5), "Linf": 2}[norm.name]
    for shape in (
        lambda data: [data[0], 2 * data],
        lambda data: {"a": data, "b": {"c": 2 * data}},
        lambda data: np.array([data[0], 2 * data[0]]),
    ):
        found = sample_sensitivity(shape, norm, Uniform(0, 1), 1, m=1, source=ReplayedSource(words))
        assert float(found.value) == pytest.approx(0.5 * parts)
        assert found.numbers == 2


def test_a_replayed_run_is_the_same_run():
    words = [(i * 0x9E3779B97F4A7C15) % 2**64 if i % 4 else i % 3 for i in range(1, 40)]
    run = lambda: sample_sensitivity(np.mean, L1(), Normal(0, 1), 3, m=2, source=_Words(words))
    assert run() == run()
    assert hash(run()) == hash(run())


class _Words(ReplayedSource):
    """Replayed words, cut to the width that is asked for."""

    def bits(self, count):
        self.served += 1
        return int(next(self._values)) % (1 << count)


def test_rows_and_lists_reach_the_query_as_the_oracle_gave_them():
    class Rows:
        def draw(self, size, source):
            return np.arange(2 * size).reshape(size, 2)

    seen = []

    def query(data):
        seen.append(data)
        return data.sum(axis=0)

    found = sample_sensitivity(query, L1(), Rows(), 3, m=1)
    assert all(data.shape == (3, 2) for data in seen)
    assert found.numbers == 2
    lists = sample_sensitivity(lambda data: len(data) + data.count(1), L1(), Die(0, 1), 3, m=4)
    assert lists.value in (0, 1)


def test_a_query_that_sorts_in_place_spoils_nothing():
    """Sorting what it is given must not change the neighbour: [1, 0], where 1 becomes 0."""

    def largest(data):
        data.sort()
        return data[-1]

    for every, words in ((False, [1, 0, 0, 0]), (True, [1, 0, 0, 0])):
        found = sample_sensitivity(
            largest, L1(), Die(0, 1), 2, m=1, every_record=every, source=ReplayedSource(words)
        )
        assert found.value == 1


def test_it_says_what_it_is():
    found = sample_sensitivity(sum, L1(), Die(0, 1), 2, m=1, source=ReplayedSource([1, 0, 0, 0]))
    assert str(found) == (
        "1 in the L1 norm, from 1 sampled pairs: random differential privacy with gamma 0.5 for "
        "one record"
    )
    sure = sample_sensitivity(
        sum, L1(), Die(0, 1), 2, gamma="0.5", confidence="0.5", every_record=True
    )
    assert str(sure).endswith("gamma 0.5 for all records at once, at confidence 0.5")


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, "731", None, True])
@pytest.mark.parametrize("every_record", [False, True])
def test_answers_that_are_no_finite_numbers_are_refused(wrong, every_record):
    with pytest.raises(InputTypeError) as refused:
        sample_sensitivity(
            lambda data: wrong, L1(), Normal(0, 1), 2, m=1, every_record=every_record
        )
    assert "731" not in str(refused.value)


def test_other_refusals():
    asked = {"query": sum, "norm": L1(), "oracle": Die(0, 1), "n": 2, "m": 1}

    class Short:
        def draw(self, size, source):
            return [0] * (size - 1)

    class Odd:
        name = "odd"

        def between(self, first, second):
            return -1

    with pytest.raises(ParameterError, match="pairs are replacements"):
        sample_sensitivity(**asked, neighbours="add_or_remove")
    for wrong in ({"n": 0}, {"n": 1.5}, {"m": 0}, {"m": None}, {"neighbours": "bounded"}):
        with pytest.raises(ParameterError):
            sample_sensitivity(**asked | wrong)
    with pytest.raises(InputTypeError, match="gave another number"):
        sample_sensitivity(**asked | {"oracle": Short()})
    with pytest.raises(RangeError, match="too far apart"):
        sample_sensitivity(lambda data: 10**400 * data[0], L1(), Die(0, 1), 1, m=100)
    assert sample_sensitivity(lambda data: 1e308 * data[0], L1(), Die(0, 1), 1, m=100).mean < 1e308
    with pytest.raises(InputTypeError, match="at least 0"):
        sample_sensitivity(**asked | {"norm": Odd()})


def closer(t):
    """P(|X - Y| <= t) for two heights: the differences are normal, in three kinds."""
    kinds = [(0.25, 0, 98), (0.25, 0, 84.5), (0.5, 16, 91.25)]
    below = lambda x, mu, v: math.erfc((mu - x) / math.sqrt(2 * v)) / 2
    return sum(w * (below(t, mu, v) - below(-t, mu, v)) for w, mu, v in kinds)


def outside(runs, below, above):
    """P(the median of `runs` odd runs is out of a range), for the chances of one run."""
    half = runs // 2
    return stats.binom(runs, below).sf(half) + stats.binom(runs, above).sf(half)


def test_the_law_of_the_heights():
    """The figures of the notebook: 95 % and 99 % quantiles 28.4 and 35.7, median of the m = 19
    sensitivity 30.1.
    """
    assert closer(28.4) == pytest.approx(0.95, abs=5e-4)
    assert closer(35.7) == pytest.approx(0.99, abs=2e-4)
    assert closer(30.1) ** 19 == pytest.approx(0.5, abs=5e-3)


@pytest.mark.statistical
def test_the_heights_with_the_dkw_bound():
    """Seven runs of 1305 pairs: the mean of 9135 distances has sd 0.091, so being 1 off is 11 sd;
    the median of the seven largest is out of 35..60 with chance below 1e-9.
    """
    runs = [
        sample_sensitivity(lambda one: one, L1(), HEIGHTS, 1, gamma="0.05", bound="dkw")
        for _ in range(7)
    ]
    assert {(run.m, run.k) for run in runs} == {(1305, 1305)}
    assert outside(7, closer(35) ** 1305, 1 - closer(60) ** 1305) < 1e-9
    assert abs(statistics.mean(run.mean for run in runs) - 12) < 1
    assert 35 < statistics.median(run.value for run in runs) < 60


@pytest.mark.statistical
def test_the_heights_with_nineteen_pairs():
    """The median of 501 values is out of 28..32.5 with chance below 1e-9; the second largest of
    nineteen would have its median at 25.3.
    """
    values = [
        sample_sensitivity(lambda one: one, L1(), HEIGHTS, 1, gamma="0.05").value
        for _ in range(501)
    ]
    assert outside(501, closer(28) ** 19, 1 - closer(32.5) ** 19) < 1e-9
    assert 28 < statistics.median(values) < 32.5


@pytest.mark.statistical
def test_the_share_of_worse_pairs():
    """The chance that a real pair is worse is 1/20 on average and over 1/20 for 0.377 of samplers,
    but at confidence 0.95 for at most 0.05 of them. 250 samplers each; false alarm below 1e-9 (the
    mean of 250 shares, nearly exponential, is 8 sd off with chance below 1e-10 by Chernoff).
    """
    one = lambda **asked: (
        1
        - closer(
            float(sample_sensitivity(lambda x: x, L1(), HEIGHTS, 1, gamma="0.05", **asked).value)
        )
    )
    shares = np.array([one() for _ in range(250)])
    law = stats.binom(250, (19 / 20) ** 19)
    assert law.ppf(1e-10) <= (shares > 0.05).sum() <= law.isf(1e-10)
    assert abs(shares.mean() - 0.05) < 8 * math.sqrt(19 / 20 / 20 / 21 / 250)
    sure = sum(one(confidence="0.95") > 0.05 for _ in range(250))
    assert sure <= stats.binom(250, (19 / 20) ** 59).isf(1e-10)
