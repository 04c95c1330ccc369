"""Selection: guarantees by enumeration, laws by independent sums, draws by walking."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.audit import verify, walk
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Interval, exp
from discreet.mechanisms import choosing
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
from discreet.noise.source import ReplayedSource, Source
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss, RangeLoss

ONE_CHOICE = [Exponential, PermuteAndFlip, NoisyMax]


def masses(law):
    return {outcome: law.mass(outcome) for outcome in law.outcomes}


class CoinSampler:
    """The one-sided geometric law by counting coins, which a walk can follow."""

    def __init__(self, rate):
        self.rate = rate

    def one(self, source):
        return next(g for g in count() if not source.flip_exp(self.rate))


class NoNoise:
    def one(self, source):
        return 0

    def chunk(self, size, source):
        return np.zeros(size, dtype=np.int16)

    def add(self, values, source):
        return values.copy()


class AgainError(Exception):
    """The exponential mechanism starts its second try."""


class FirstTry(Source):
    """Serves one uniform choice, so that a walk sees one try of a rejection sampler."""

    def __init__(self, source):
        self.source, self.tries = source, 0

    def bits(self, count):
        return self.source.bits(count)

    def array(self, size, width):
        return self.source.array(size, width)

    def flip_exp(self, x):
        return self.source.flip_exp(x)

    def below(self, n):
        self.tries += 1
        if self.tries > 1:
            raise AgainError
        return self.source.below(n)


def one_attempt(mechanism, scores, source):
    try:
        return mechanism.release(scores, source=FirstTry(source))
    except AgainError:
        return None


def chi_square(counts, law):
    """The p-value of counts against a law; cells with few expected are pooled."""
    total = sum(counts.values())
    cells, pooled = [], [0.0, 0]
    for outcome, mass in law.items():
        if mass * total >= 10:
            cells.append((mass * total, counts[outcome]))
        else:
            pooled = [pooled[0] + mass * total, pooled[1] + counts[outcome]]
    if pooled[0] >= 1:
        cells.append(tuple(pooled))
    else:
        assert pooled[1] <= 30  # a Poisson count of mean 1 is above 30 with chance below 1e-33
    assert sum(counts.values()) == sum(counts[o] for o in law)
    statistic = sum((seen - expected) ** 2 / expected for expected, seen in cells)
    return chi2.sf(statistic, len(cells) - 1)


# The guarantee.


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("sensitivity", [1, Fraction(3, 2)])
@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_the_loss_is_at_most_epsilon_and_reaches_it(kind, sensitivity, monotone):
    mechanism = kind(epsilon="0.7", sensitivity=sensitivity, monotone=monotone)
    verdict = verify(mechanism)
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_loss_of_top_k_is_at_most_epsilon_and_reaches_it(k, monotone):
    verdict = verify(TopK(epsilon=1, k=k, monotone=monotone))
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)


@pytest.mark.parametrize("epsilon", ["0.01", 5])
def test_the_guarantee_holds_for_small_and_large_epsilon(epsilon):
    for kind in ONE_CHOICE:
        assert verify(kind(epsilon=epsilon, neighbours="replace")).proven


def test_unsorted_pairs_of_four_candidates_hide_nothing():
    pairs = [
        (base, tuple(b + m for b, m in zip(base, move, strict=True)))
        for base in [(0, 0, 0, 0), (3, 0, 1, 0), (0, 2, 2, 5)]
        for move in product((-1, 0, 1), repeat=4)
    ]
    for kind in ONE_CHOICE:
        assert verify(kind(epsilon=1), pairs=pairs).proven


@pytest.mark.parametrize(
    "mechanism", [PermuteAndFlip(epsilon=1), NoisyMax(epsilon=1), TopK(epsilon=1, k=2)]
)
def test_neighbours_that_need_different_denominators_are_safe(mechanism):
    """The common denominator depends on the scores; the law must not notice."""
    base = (Fraction(0), Fraction(1, 2), Fraction(1))
    moved = [Fraction(a, 7) for a in (-7, -3, 0, 5, 7)]
    pairs = [(base, tuple(b + m for b, m in zip(base, move, strict=True)))
             for move in product(moved, repeat=3)]  # fmt: skip
    assert verify(mechanism, pairs=pairs).proven


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _NoFactorTwo(Exponential):
    """A planted fault: the rate of monotone scores for scores that are not."""

    @property
    def rate(self):
        return self.epsilon / self.sensitivity


def test_the_exponential_mechanism_without_its_factor_two_is_refuted():
    """100 records in 11 groups, one replaced: the loss is 1.97 where 1 was promised."""
    before = (14, *[9] * 6, *[8] * 4)
    after = (15, *before[1:10], before[10] - 1)
    assert sum(before) == sum(after) == 100
    verdict = verify(_NoFactorTwo(epsilon=1, neighbours="replace"), pairs=[(before, after)])
    assert verdict.refuted
    assert 1.94 < float(verdict.worst) < 2
    assert verify(Exponential(epsilon=1, neighbours="replace"), pairs=[(before, after)]).proven
    assert verify(_NoFactorTwo(epsilon=1)).refuted


@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_monotone_noise_on_scores_that_are_not_monotone_is_refuted(kind):
    pairs = list(kind(epsilon=1).small_neighbours())
    assert verify(kind(epsilon=1, monotone=True), pairs=pairs).refuted


def test_what_is_stated():
    for mechanism in (*(kind(epsilon="1/3") for kind in ONE_CHOICE), TopK(epsilon="1/3", k=4)):
        assert mechanism.guarantee == PureDP("1/3", "add_or_remove")
        kind = RangeLoss if isinstance(mechanism, Exponential) else PureLoss
        assert mechanism.privacy_loss == kind(neighbours="add_or_remove", epsilon=Fraction(1, 3))
        names = {c.__name__: c for c in (*ONE_CHOICE, TopK)}
        assert eval(repr(mechanism), names) == mechanism
        assert len({mechanism, eval(repr(mechanism), names)}) == 1
    assert NoisyMax(epsilon=1, sensitivity=3).rate == Fraction(1, 6)
    assert NoisyMax(epsilon=1, sensitivity=3, monotone=True).rate == Fraction(1, 3)
    assert TopK(epsilon=1, k=5).rate == Fraction(1, 10)
    assert TopK(epsilon=1, k=5, monotone=True).rate == Fraction(1, 5)
    assert NoisyMax(epsilon=1) != PermuteAndFlip(epsilon=1)


# The laws.


@pytest.mark.parametrize(
    ("k", "gap", "flip", "softmax"),
    [(10, 6, 0.8033, 0.6906), (10, 10, 0.9702, 0.9428), (100, 10, 0.7293, 0.5999)],
)
def test_closed_forms_for_one_best(k, gap, flip, softmax):
    p = exp(Fraction(-gap, 2), 200)
    miss = Interval.of(1)
    for _ in range(k):
        miss = miss * (1 - p)
    scores = [*[0] * (k - 1), gap]
    found = PermuteAndFlip(epsilon=1).law(scores).mass_bounds(k - 1)
    stated = (1 - miss) / (k * p)
    assert found.lower <= stated.upper
    assert stated.lower <= found.upper
    assert float(found) == pytest.approx(flip, abs=5e-5)
    found = Exponential(epsilon=1).law(scores).mass_bounds(k - 1)
    stated = 1 / (1 + (k - 1) * p)
    assert found.lower <= stated.upper
    assert stated.lower <= found.upper
    assert float(found) == pytest.approx(softmax, abs=5e-5)


def noisy_max_by_levels(scores, rate):
    """Noisy max by its definition: sum over the winning level, ties split by an integral in t.

    Floats; levels beyond 60/rate hold less than len(scores) exp(-60).
    """
    a = math.exp(-rate)
    found = [0.0] * len(scores)
    for level in range(min(scores), max(scores) + int(60 / rate) + 2):
        below = [1 - a ** (level - s) if level > s else 0.0 for s in scores]
        here = [(1 - a) * a ** (level - s) if level >= s else 0.0 for s in scores]
        for i in range(len(scores)):
            poly = [1.0]
            for j in range(len(scores)):
                if j != i:
                    poly = [
                        below[j] * (poly[m] if m < len(poly) else 0)
                        + here[j] * (poly[m - 1] if m else 0)
                        for m in range(len(poly) + 1)
                    ]
            found[i] += here[i] * sum(c / (m + 1) for m, c in enumerate(poly))
    return found


@given(
    scores=st.lists(st.integers(-4, 4), min_size=1, max_size=5),
    epsilon=st.fractions(Fraction(1, 4), 4, max_denominator=8),
)
@settings(max_examples=40, deadline=None)
def test_noisy_max_has_the_law_of_its_definition_and_of_permute_and_flip(scores, epsilon):
    """∀ integer scores: geometric noise with random ties gives exactly permute-and-flip."""
    stated = masses(NoisyMax(epsilon=epsilon).law(scores))
    assert stated == masses(PermuteAndFlip(epsilon=epsilon).law(scores))
    levels = noisy_max_by_levels(scores, float(epsilon) / 2)
    assert list(stated.values()) == pytest.approx(levels, abs=1e-12)


def permute_and_flip_by_orders(scores, rate):
    """Permute-and-flip by its definition: all orders, the first success."""
    coins = [math.exp(-rate * (max(scores) - s)) for s in scores]
    found = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for i in order:
            found[i] += left * coins[i]
            left *= 1 - coins[i]
    return found


@given(scores=st.lists(st.integers(-5, 5), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_permute_and_flip_has_the_law_of_its_definition(scores):
    stated = list(masses(PermuteAndFlip(epsilon=1).law(scores)).values())
    assert stated == pytest.approx(permute_and_flip_by_orders(scores, 0.5), abs=1e-13)


@pytest.mark.parametrize("scores", [(0, 0, 0), (2, 0, 1), (0, 3, 3)])
def test_top_two_have_the_law_of_their_definition(scores):
    """All noises below 30 at rate 1; what is beyond weighs less than 3 exp(-30) < 1e-12."""
    a = math.exp(-1)
    found = Counter()
    for noise in product(range(30), repeat=3):
        weight = math.prod((1 - a) * a**g for g in noise)
        noisy = [s + g for s, g in zip(scores, noise, strict=True)]
        orders = [o for o in permutations(range(3)) if noisy[o[0]] >= noisy[o[1]] >= noisy[o[2]]]
        for order in orders:
            found[order[:2]] += weight / len(orders)
    stated = masses(TopK(epsilon=4, k=2).law(scores))
    assert stated == pytest.approx(dict(found), abs=1e-11)


@given(
    scores=st.lists(st.integers(-3, 3), min_size=2, max_size=4), k=st.integers(1, 4), data=st.data()
)
@settings(max_examples=25, deadline=None)
def test_masses_add_up_and_top_one_is_noisy_max(scores, k, data):
    k = min(k, len(scores))
    law = TopK(epsilon=1, k=k).law(scores)
    total = sum((law.mass_bounds(o) for o in law.outcomes), Interval.of(0))
    assert 1 in total
    assert total.width < Fraction(1, 1 << 50)
    one = masses(TopK(epsilon=1, k=1).law(scores))
    assert {o[0]: m for o, m in one.items()} == pytest.approx(
        masses(NoisyMax(epsilon=1).law(scores)), abs=1e-15
    )


@pytest.mark.parametrize(
    "make", [*ONE_CHOICE, lambda **args: TopK(k=2, **args)], ids=["em", "pf", "max", "top"]
)
def test_a_finer_grid_changes_nothing(make):
    """Scores and sensitivity divided by 7 give the same law; the noise is on another grid."""
    scores = [4, 0, 9, 9]
    scaled = [Fraction(s, 7) for s in scores]
    coarse, fine = make(epsilon=1).law(scores), make(epsilon=1, sensitivity="1/7").law(scaled)
    for outcome in coarse.outcomes:
        assert coarse.mass_bounds(outcome) == fine.mass_bounds(outcome)


def test_the_law_of_a_dict_is_over_its_keys_and_of_an_array_over_places():
    assert masses(NoisyMax(epsilon=1).law({"a": 1, "b": Fraction(3, 2)})) == pytest.approx(
        {"a": math.exp(-0.25) / 2, "b": 1 - math.exp(-0.25) / 2}
    )
    thirds = [Fraction(1, 3), Fraction(1, 2), Fraction(5, 2)]
    weights = [math.exp(score / 2) for score in thirds]
    assert list(masses(Exponential(epsilon=1).law(thirds)).values()) == pytest.approx(
        [weight / sum(weights) for weight in weights]
    )
    assert set(TopK(epsilon=1, k=2).law({"a": 1, "b": 2}).outcomes) == {("a", "b"), ("b", "a")}
    assert masses(Exponential(epsilon=1).law(np.array([0, 2]))) == pytest.approx(
        {0: 1 / (1 + math.e), 1: math.e / (1 + math.e)}
    )


# Error.


@given(
    scores=st.lists(st.integers(0, 12), min_size=1, max_size=7),
    epsilon=st.fractions(Fraction(1, 4), 4, max_denominator=4),
)
@settings(max_examples=60, deadline=None)
def test_permute_and_flip_is_never_worse_than_exponential(scores, epsilon):
    flip = PermuteAndFlip(epsilon=epsilon).expected_absolute_error(scores)
    softmax = Exponential(epsilon=epsilon).expected_absolute_error(scores)
    assert flip <= softmax * (1 + 1e-15)
    assert softmax <= 2 * flip * (1 + 1e-15)


def test_expected_gaps():
    p = math.exp(-1)
    assert PermuteAndFlip(epsilon=1).expected_absolute_error([5, 3]) == pytest.approx(p)
    assert PermuteAndFlip(epsilon=1, sensitivity="1/2").expected_absolute_error(
        [Fraction(5, 2), Fraction(3, 2)]
    ) == pytest.approx(p / 2)
    top = TopK(epsilon=1, k=2)
    law = masses(top.law([0, 3, 5]))
    lost = {frozenset((1, 2)): 0, frozenset((0, 2)): 3, frozenset((0, 1)): 5}
    expected = sum(m * lost[frozenset(o)] for o, m in law.items())
    assert top.expected_absolute_error([0, 3, 5]) == pytest.approx(expected)


@pytest.mark.parametrize("candidates", [2, 5, 30])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_error_covers_the_worst_scores_and_is_nearly_the_smallest(kind, confidence, candidates):
    mechanism = kind(epsilon=1)
    gap, allowed = mechanism.error(confidence, candidates), 1 - Fraction(confidence)

    def failing(at):
        """The chance to miss when all others lie (just above) this far behind."""
        law = mechanism.law([*[Fraction(0)] * (candidates - 1), Fraction(at)])
        return 1 - law.mass_bounds(candidates - 1)

    assert failing(gap).upper <= allowed
    if kind is Exponential and gap > 0:
        assert failing(gap - 1).lower > allowed
    else:
        assert gap == 0 or gap < 2 or failing(gap - 2).lower > allowed


def test_error_in_other_units_and_for_several_winners():
    assert NoisyMax(epsilon=1, sensitivity="1/7").error("0.95", 10) == Fraction(
        NoisyMax(epsilon=1).error("0.95", 10), 7
    )
    assert NoisyMax(epsilon=1).error("0.95", 1) == 0
    assert Exponential(epsilon=1).error("0.01", 2) == 0
    top = TopK(epsilon=2, k=2)
    gap = top.error("0.9", 4)
    law = top.law([0, 0, gap + 1, gap + 1])
    good = sum(law.mass(order) for order in ((2, 3), (3, 2)))
    assert good >= 0.9
    law = top.law([0, 0, gap - 3, gap - 3])
    assert sum(law.mass(order) for order in ((2, 3), (3, 2))) < 0.9


# The draws have the laws.


@pytest.mark.parametrize("scores", [(0, 1), (1, 0, 1), (2, 0, 1)])
@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_walking_all_choices_of_release_gives_the_law(monkeypatch, kind, scores):
    monkeypatch.setattr(choosing, "one_sided", CoinSampler)
    mechanism = kind(epsilon=4)
    found = walk(
        lambda source: one_attempt(mechanism, scores, source), unresolved=Fraction(1, 1000)
    )
    assert found.unresolved <= Fraction(1, 1000)
    assert (found.rejected.upper > 0) == (kind is Exponential)
    law = mechanism.law(scores)
    for outcome in law.outcomes:
        assert found.agrees_with(outcome, law.mass_bounds(outcome))


@pytest.mark.parametrize("scores", [(0, 0, 0), (1, 0, 1)])
def test_walking_all_choices_of_top_two_gives_the_law(monkeypatch, scores):
    monkeypatch.setattr(choosing, "one_sided", CoinSampler)
    mechanism = TopK(epsilon=8, k=2)
    found = walk(
        lambda source: tuple(mechanism.release(scores, source=source)),
        unresolved=Fraction(1, 1000),
    )
    assert found.unresolved <= Fraction(1, 1000)
    law = mechanism.law(scores)
    for outcome in law.outcomes:
        assert found.agrees_with(outcome, law.mass_bounds(outcome))


@pytest.mark.parametrize("many", [2, 64], ids=["arrays", "lists"])
def test_ties_are_settled_uniformly(monkeypatch, many):
    """Without noise, equal scores come in uniformly random order, by walking the choices."""
    monkeypatch.setattr(choosing, "one_sided", lambda _: NoNoise())
    monkeypatch.setattr(choosing, "_MANY", many)
    scores = [5, 7, 5, 9, 5, 9]
    found = walk(lambda source: tuple(TopK(epsilon=1, k=4).release(scores, source=source)))
    assert set(found.weights) == {(*top, 1, last) for top in ((3, 5), (5, 3)) for last in (0, 2, 4)}
    assert all(
        float(weight) == pytest.approx(1 / 6, abs=1e-15) for weight in found.weights.values()
    )
    found = walk(lambda source: tuple(TopK(epsilon=1, k=4).release([0] * 4, source=source)))
    assert set(found.weights) == set(permutations(range(4)))
    assert all(
        float(weight) == pytest.approx(1 / 24, abs=1e-15) for weight in found.weights.values()
    )
    for kind in (NoisyMax, PermuteAndFlip):
        found = walk(lambda source, kind=kind: kind(epsilon=1).release(scores, source=source))
        assert found.weights == {3: Interval.of(Fraction(1, 2)), 5: Interval.of(Fraction(1, 2))}


@pytest.mark.statistical
@pytest.mark.parametrize("many", [2, 64], ids=["arrays", "lists"])
@pytest.mark.parametrize("scores", [(0, 3, 5, 5), (Fraction(1, 3), Fraction(1, 2), Fraction(5, 2))])
@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_releases_have_the_law(monkeypatch, kind, scores, many):
    """False alarm below 1e-10 a case, 1e-9 in all; twice the epsilon is missed below 1e-9."""
    monkeypatch.setattr(choosing, "_MANY", many)
    counts = Counter(kind(epsilon=1).release(scores) for _ in range(6000))
    assert chi_square(counts, masses(kind(epsilon=1).law(scores))) > 1e-10
    assert chi_square(counts, masses(kind(epsilon=2).law(scores))) < 1e-10


@pytest.mark.statistical
@pytest.mark.parametrize("many", [2, 64], ids=["arrays", "lists"])
@pytest.mark.parametrize("scores", [(0, 1, 1, 4), (Fraction(1, 3), Fraction(1, 2), 4)])
def test_releases_of_top_two_have_the_law(monkeypatch, scores, many):
    """False alarm below 1e-10 a case."""
    monkeypatch.setattr(choosing, "_MANY", many)
    top = TopK(epsilon=2, k=2)
    counts = Counter(tuple(top.release(scores)) for _ in range(6000))
    assert chi_square(counts, masses(top.law(scores))) > 1e-10
    assert chi_square(counts, masses(TopK(epsilon=1, k=2).law(scores))) < 1e-10


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_releases_from_many_candidates_have_the_law(kind):
    """100 candidates, grouped by score; false alarm below 1e-10 a case."""
    scores = np.array([0] * 80 + [4] * 19 + [9])
    law = kind(epsilon=1).law(scores)
    groups = {s: sum(law.mass(j) for j in range(100) if scores[j] == s) for s in (0, 4, 9)}
    counts = Counter(int(scores[kind(epsilon=1).release(scores)]) for _ in range(5000))
    assert chi_square(counts, groups) > 1e-10


def test_a_batch_of_tries_takes_the_first_success(monkeypatch):
    """Tries 3, 1, 120 (no such candidate), 2 with noise 4, 5, 9: candidate 1 at gap 5 is first."""

    class Scripted(NoNoise):
        def chunk(self, size, source):
            assert size >= 3
            return np.array([4, 5, 9] + [0] * (size - 3))

    class Words(ReplayedSource):
        def array(self, size, width):
            assert width == 64
            tries = [3, 1, 120, 2] + [0] * (size - 4)
            return np.array(tries, dtype=np.uint64) << np.uint64(57)

    monkeypatch.setattr(choosing, "one_sided", lambda _: Scripted())
    scores = [-100] * 99 + [0]
    scores[1], scores[2], scores[3] = -5, -9, -5
    assert Exponential(epsilon=1).release(scores, source=Words([])) == 1


# Shapes and sizes.


@pytest.mark.parametrize("kind", ONE_CHOICE)
def test_shapes(kind):
    sure = kind(epsilon=1000)
    assert sure.release([1, 900, 3]) == 1
    assert sure.release((1, np.int8(90), 3)) == 1
    assert sure.release(np.array([1, 900, 3], dtype=np.uint16)) == 1
    assert sure.release({"a": 1, "b": 900}) == "b"
    assert sure.release([Fraction(1, 3), 900, Fraction(1, 2)]) == 1
    assert type(sure.release(np.arange(1000))) is int
    assert sure.release([7]) == 0


@pytest.mark.parametrize("repeat", [1, 40])
def test_nothing_wraps(repeat):
    """Gaps beyond 64 bits, and types whose own arithmetic would wrap, in lists and in arrays."""
    for kind in ONE_CHOICE:
        sure = kind(epsilon=1000)
        assert sure.release([10**40, -(10**40)] * repeat + [10**41]) == 2 * repeat
        for dtype in (np.int8, np.int64, np.uint64, np.int32):
            info = np.iinfo(dtype)
            scores = np.array([info.min, info.max // 2] * repeat + [info.max], dtype=dtype)
            assert sure.release(scores) == 2 * repeat
    top = TopK(epsilon=1000, k=2)
    ends = np.iinfo(np.int64)
    scores = np.array([ends.min] * 2 * repeat + [ends.max - 100, ends.max])
    assert top.release(scores) == [2 * repeat + 1, 2 * repeat]


def test_noise_beyond_64_bits():
    """A scale of 2^100: all candidates are nearly equal, and Python integers carry the noise."""
    mechanism = NoisyMax(epsilon=Fraction(1, 1 << 100))
    seen = {mechanism.release([0, 1] * 40) for _ in range(30)}
    assert len(seen) > 5  # 30 draws of 80 that give at most 5 values: chance below 1e-29
    assert mechanism.release([0, 1 << 110]) == 1
    assert mechanism.release(np.array([0, 1])) in {0, 1}


def test_two_million_scores():
    scores = (np.arange(2_000_000) * 7919) % 1_000_003
    for kind in ONE_CHOICE:
        assert scores[kind(epsilon=1).release(scores)] > 999_900  # missed with chance < 1e-15
    chosen = TopK(epsilon=1000, k=10).release(scores)  # another order: chance < 1e-20
    assert sorted(scores[chosen])[::-1] == sorted(scores)[:-11:-1]


def test_top_k_of_all_candidates_is_an_order_of_them():
    assert sorted(TopK(epsilon=1, k=3).release({"a": 1, "b": 2, "c": 3})) == ["a", "b", "c"]


# Refusals.


@pytest.mark.parametrize(
    "scores",
    [[1.5, 2], [1, 2.0], np.array([1.5]), {"a": 0.5}, [True, False], np.array([True]), ["3"],
     [np.float32(1)], [np.bool_(1)], np.array([[1, 2]]), np.array(1), np.array([1], dtype=object),
     [None]],
)  # fmt: skip
def test_scores_of_the_wrong_type_are_refused_with_the_way_out(scores):
    for mechanism in (*(kind(epsilon=1) for kind in ONE_CHOICE), TopK(epsilon=1, k=1)):
        for method in (mechanism.release, mechanism.law, mechanism.expected_absolute_error):
            with pytest.raises(InputTypeError, match="round them to a grid first and add one grid"):
                method(scores)


def test_other_refusals_are_in_words_and_quote_no_score():
    for kind in ONE_CHOICE:
        for empty in ([], (), {}, np.array([], dtype=np.int64)):
            with pytest.raises(ParameterError, match="must be at least 1"):
                kind(epsilon=1).release(empty)
    with pytest.raises(InputTypeError, match="list, a tuple, an integer array or a dict"):
        NoisyMax(epsilon=1).release(7)
    with pytest.raises(InputTypeError, match="not MaskedArray"):
        NoisyMax(epsilon=1).release(np.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(
        ParameterError, match="must be at most the number of candidates, which is 2"
    ):
        TopK(epsilon=1, k=3).release([1, 2])
    with pytest.raises(ParameterError, match="too many to list"):
        TopK(epsilon=1, k=10).law(list(range(20)))
    for refused in ([123456789, 0.5], {"x": 123456789, "y": None}):
        with pytest.raises(InputTypeError) as caught:
            NoisyMax(epsilon=1).release(refused)
        assert "123456789" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [{"epsilon": 0}, {"epsilon": float("nan")}, {"epsilon": 1, "sensitivity": 0},
     {"epsilon": 1, "neighbours": "both"}, {"epsilon": 1, "monotone": 1}],
)  # fmt: skip
def test_parameters_are_checked(arguments):
    for kind in ONE_CHOICE:
        with pytest.raises(ParameterError):
            kind(**arguments)
    with pytest.raises(ParameterError):
        TopK(epsilon=1, k=0)


def test_monotone_scores_need_add_or_remove():
    for kind in ONE_CHOICE:
        with pytest.raises(ParameterError, match="a replacement moves one score up, another down"):
            kind(epsilon=1, monotone=True, neighbours="replace")
