"""The sparse vector: the guarantee by enumeration, the law by an independent sum, the draws."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.audit import verify, walk
from discreet.errors import InputTypeError, ParameterError, StreamEndedError, UnsupportedError
from discreet.exact import Interval
from discreet.mechanisms import sparse
from discreet.mechanisms.sparse import AboveThreshold
from discreet.noise.geometric import Geometric
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss


def transcript(places, length, answers):
    """The answers that release's indices stand for."""
    end = places[-1] + 1 if len(places) == answers else length
    return tuple(place in places for place in range(end))


class CoinSampler:
    """The one-sided geometric law by counting coins, which a walk can follow."""

    def __init__(self, rate):
        self.rate = rate

    def one(self, source):
        return next(g for g in count() if not source.flip_exp(self.rate))


# The guarantee.


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("answers", [1, 3])
def test_the_loss_is_at_most_epsilon_and_reaches_it(answers, sensitivity, monotone):
    mechanism = AboveThreshold(
        epsilon="0.7", threshold=10, answers=answers, sensitivity=sensitivity, monotone=monotone
    )
    verdict = verify(mechanism)
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)


@pytest.mark.parametrize("monotone", [False, True])
def test_the_loss_is_at_most_epsilon_for_two_answers(monotone):
    verdict = verify(AboveThreshold(epsilon=2, threshold=0, answers=2, monotone=monotone))
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)


@pytest.mark.parametrize("monotone", [False, True])
def test_longer_streams_lose_no_more(monotone):
    """Four counts near the threshold, every move of one person, in both directions."""
    mechanism = AboveThreshold(epsilon=1, threshold=5, monotone=monotone)
    at = mechanism.threshold + mechanism.centre
    pairs = [
        (base, tuple(b + m for b, m in zip(base, move, strict=True)))
        for base in [(at,) * 4, (at + 4, at, at + 4, at - 3)]
        for move in product((0, 1) if monotone else (-1, 0, 1), repeat=4)
    ]
    verdict = verify(mechanism, pairs=pairs)
    assert verdict.proven, str(verdict)
    assert verdict.tight, str(verdict)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _NoFactorTwo(AboveThreshold):
    """A planted fault: the noise of monotone counts for counts that are not."""

    @property
    def count_law(self):
        return Geometric(self.count_epsilon / (self.answers * self.sensitivity))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _NoCount(AboveThreshold):
    """A planted fault, found in print more than once: the noise ignores the number of answers."""

    @property
    def count_law(self):
        return Geometric(self.count_epsilon / (2 * self.sensitivity))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _FreeThreshold(AboveThreshold):
    """A planted fault: the threshold's noise is not paid for."""

    @property
    def count_epsilon(self):
        return self.epsilon


def worst_pair(mechanism):
    """Everybody at the shifted threshold; the first count rises, the others fall."""
    at = mechanism.threshold + mechanism.centre
    return [((at,) * (mechanism.answers + 1), (at + 1, *[at - 1] * mechanism.answers))]


def test_planted_faults_are_refuted():
    for answers in (1, 2):
        right = AboveThreshold(epsilon=1, threshold=0, answers=answers)
        assert verify(right, pairs=worst_pair(right)).proven
    for fault in (
        _NoFactorTwo(epsilon=1, threshold=0),
        _NoCount(epsilon=1, threshold=0, answers=2),
        _FreeThreshold(epsilon=1, threshold=0),
        AboveThreshold(epsilon=1, threshold=0, monotone=True),
    ):
        assert verify(fault, pairs=worst_pair(fault)).refuted


def test_what_is_stated():
    mechanism = AboveThreshold(epsilon="1/3", threshold=-7, answers=4, neighbours="replace")
    assert mechanism.guarantee == PureDP("1/3", "replace")
    assert mechanism.privacy_loss == PureLoss(neighbours="replace", epsilon=Fraction(1, 3))
    assert eval(repr(mechanism)) == mechanism
    assert hash(eval(repr(mechanism))) == hash(mechanism)
    assert mechanism.threshold_epsilon + mechanism.count_epsilon == Fraction(1, 3)
    assert mechanism.count_epsilon / mechanism.threshold_epsilon == 4  # (2c)^(2/3) for c = 4
    even = AboveThreshold(epsilon=1, threshold=0, monotone=True)
    assert even.threshold_epsilon == Fraction(1, 2)
    assert even.centre == 0


@given(
    epsilon=st.fractions(Fraction(1, 10), 3, max_denominator=10),
    answers=st.integers(1, 20),
    monotone=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_the_split_is_nearly_the_best_one(epsilon, answers, monotone):
    mechanism = AboveThreshold(epsilon=epsilon, threshold=0, answers=answers, monotone=monotone)
    reach = answers if monotone else 2 * answers

    def variance(first):
        return 1 / first**2 + (reach / (float(epsilon) - first)) ** 2

    best = min(variance(float(epsilon) * share / 1000) for share in range(1, 1000))
    assert variance(float(mechanism.threshold_epsilon)) <= best * 1.001
    difference = mechanism.count_law.mean - mechanism.threshold_law.mean
    assert abs(mechanism.centre - difference) <= 0.5 + 1e-9


# The law.


def law_by_levels(mechanism, counts):
    """The law by its definition, floats: sum over rho below 60/rate."""
    a = math.exp(-mechanism.threshold_law.rate)
    b = math.exp(-mechanism.count_law.rate)
    found = Counter()
    for rho in range(int(60 / mechanism.threshold_law.rate) + 1):
        bar = mechanism.threshold + mechanism.centre + rho
        for bits in product((False, True), repeat=len(counts)):
            places = [i for i, bit in enumerate(bits) if bit][: mechanism.answers]
            weight = (1 - a) * a**rho
            for q, bit in zip(counts, bits, strict=True):
                above = b ** max(bar - q, 0)
                weight *= above if bit else 1 - above
            found[transcript(places, len(counts), mechanism.answers)] += weight
    return dict(found)


@given(
    counts=st.lists(st.integers(-6, 9), max_size=4),
    answers=st.integers(1, 3),
    monotone=st.booleans(),
    sensitivity=st.integers(1, 2),
)
@settings(max_examples=25, deadline=None)
def test_the_law_is_that_of_the_definition(counts, answers, monotone, sensitivity):
    mechanism = AboveThreshold(
        epsilon=2, threshold=1, answers=answers, monotone=monotone, sensitivity=sensitivity
    )
    law = mechanism.law(counts)
    expected = law_by_levels(mechanism, counts)
    assert set(law.outcomes) == set(expected)
    for outcome in law.outcomes:
        assert law.mass(outcome) == pytest.approx(expected[outcome], abs=1e-12)
    total = sum((law.mass_bounds(outcome) for outcome in law.outcomes), Interval.of(0))
    assert 1 in total
    assert total.width < Fraction(1, 1 << 50)


def test_the_law_needs_no_loop_over_far_counts():
    law = AboveThreshold(epsilon=1, threshold=100).law([10**12, -(10**12)])
    assert law.mass((True,)) == 1.0
    assert law.mass((False, False)) < 1e-300


# The draws.


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("counts", [(0,), (1, 0), (0, 2)])
def test_walking_all_choices_of_release_gives_the_law(monkeypatch, counts, monotone):
    monkeypatch.setattr(sparse, "one_sided", CoinSampler)
    mechanism = AboveThreshold(epsilon=6, threshold=0, monotone=monotone)

    def draw(source):
        return transcript(mechanism.release(counts, source=source), len(counts), 1)

    found = walk(draw, unresolved=Fraction(1, 500))
    assert found.unresolved <= Fraction(1, 500)
    law = mechanism.law(counts)
    for outcome in law.outcomes:
        assert found.agrees_with(outcome, law.mass_bounds(outcome))


def chi_square(seen, law, total):
    cells = [(law.mass(o) * total, seen[o]) for o in law.outcomes]
    assert sum(seen.values()) == total == sum(n for _, n in cells)
    large = [cell for cell in cells if cell[0] >= 10]
    rest = [cell for cell in cells if cell[0] < 10]
    if sum(e for e, _ in rest) >= 1:
        large.append((sum(e for e, _ in rest), sum(n for _, n in rest)))
    return chi2.sf(sum((n - e) ** 2 / e for e, n in large), len(large) - 1)


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [list, np.array, lambda c: np.array(c, dtype=np.uint64)])
def test_releases_have_the_law(shape):
    """False alarm below 1e-10 a case; twice the epsilon is missed below 1e-9."""
    mechanism = AboveThreshold(epsilon=1, threshold=10, answers=2)
    counts = [8, 14, 10, 17]
    places = [mechanism.release(shape(counts)) for _ in range(5000)]
    seen = Counter(transcript(p, 4, 2) for p in places)
    assert chi_square(seen, mechanism.law(counts), 5000) > 1e-10
    other = AboveThreshold(epsilon=2, threshold=10, answers=2).law(counts)
    assert chi_square(seen, other, 5000) < 1e-10


@pytest.mark.statistical
def test_the_threshold_keeps_its_noise_for_the_whole_stream():
    """Asking the same again and again: with fresh noise on the threshold, or with one query noise
    for all, the pattern of the answers would be another. False alarm below 1e-10.
    """
    mechanism = AboveThreshold(epsilon=1, threshold=3, answers=3, monotone=True)
    seen = Counter()
    for _ in range(4000):
        stream = mechanism.stream()
        seen[tuple(stream.ask(3) for _ in range(3))] += 1
    law = mechanism.law([3, 3, 3])
    assert chi_square(seen, law, 4000) > 1e-10
    yes = sum(law.mass(o) for o in law.outcomes if o[0])
    fresh = {o: yes ** sum(o) * (1 - yes) ** (3 - sum(o)) for o in law.outcomes}
    assert sum((law.mass(o) - fresh[o]) ** 2 / fresh[o] for o in fresh) > 0.05  # x 4000 = 200


def test_a_stream_ends_after_its_answers():
    stream = AboveThreshold(epsilon=1000, threshold=100, answers=2).stream()
    assert [stream.ask(q) for q in (0, 5000, -5, 7000)] == [False, True, False, True]
    assert stream.left == 0
    for q in (0, 5000):
        with pytest.raises(StreamEndedError, match="given all its positive answers"):
            stream.ask(q)


def test_a_refused_question_uses_nothing_up():
    stream = AboveThreshold(epsilon=1000, threshold=100).stream()
    for wrong in (1.5, True, "7", None, Fraction(7, 2), np.float64(3)):
        with pytest.raises(InputTypeError):
            stream.ask(wrong)
    assert stream.left == 1
    assert stream.ask(np.int16(5000))


def test_a_stream_hides_its_threshold_and_is_not_copied():
    stream = AboveThreshold(epsilon=1, threshold=100).stream()
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(UnsupportedError, match="a copy could answer twice"):
            copying(stream)
    assert not hasattr(stream, "__dict__")
    assert "100" not in repr(stream).split(" at ")[0]
    assert {name for name in dir(stream) if not name.startswith("_")} == {"ask", "left"}


def test_release_stops_and_shapes_agree():
    sure = AboveThreshold(epsilon=1000, threshold=100, answers=2)
    counts = [0, 5000, 3, 6000, 7000]
    for shape in (list, tuple, np.array, lambda c: np.array(c, dtype=np.uint16)):
        assert sure.release(shape(counts)) == [1, 3]
    assert sure.release([]) == sure.release(np.array([], dtype=int)) == []
    assert sure.release([10**40, -(10**40)]) == [0]
    ends = np.iinfo(np.int64)
    assert sure.release(np.array([ends.min, ends.max])) == [1]
    assert sure.release(np.array([0, 2**64 - 1], dtype=np.uint64)) == [1]
    many = np.zeros(200_000, dtype=np.int64)
    many[[70_000, 150_000, 150_001]] = 10_000
    assert sure.release(many) == [70_000, 150_000]
    far = AboveThreshold(epsilon=1000, threshold=10**30)
    assert far.release(np.array([0, 1])) == []


# Error.


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_error_covers_streams_at_its_edge(confidence, answers, monotone):
    """Counts just outside the error are answered rightly with the stated chance, exactly."""
    mechanism = AboveThreshold(epsilon=1, threshold=50, answers=answers, monotone=monotone)
    g = mechanism.error(confidence, 3)
    low, high = 50 - g - 1, 50 + g + 1
    for counts in product((low, high), repeat=3):
        right = transcript([i for i in range(3) if counts[i] == high][:answers], 3, answers)
        assert mechanism.law(counts).mass(right) >= float(Fraction(confidence)) - 1e-12


@pytest.mark.parametrize("questions", [1, 50])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_error_is_the_smallest_that_the_bound_allows(confidence, monotone, questions):
    """The two failing chances, summed over the values of rho: P(rho >= g + 2 - s), and for each
    question P(nu >= rho + g + 1 + s).
    """
    mechanism = AboveThreshold(epsilon=1, threshold=50, monotone=monotone)
    rho, nu, s = mechanism.threshold_law, mechanism.count_law, mechanism.centre

    def failing(g):
        early = sum(rho.mass(z) * nu.tail(z + g + s) for z in range(150))
        return rho.tail(g + 1 - s) + questions * early

    g = mechanism.error(confidence, questions)
    assert failing(g) <= 1 - float(confidence) + 1e-12
    assert g == 0 or failing(g - 1) > 1 - float(confidence)


def test_error_is_not_much_too_large_and_grows_with_the_questions():
    """With one question the true failing chance at half the error is well above what is allowed."""
    mechanism = AboveThreshold(epsilon=1, threshold=50)
    g = mechanism.error("0.9", 1)
    assert mechanism.law([50 + g // 2]).mass((False,)) > 0.05
    errors = [mechanism.error("0.9", n) for n in (1, 10, 100, 10**6)]
    assert errors == sorted(set(errors))
    rate = float(mechanism.count_law.rate)
    assert errors[3] - errors[0] <= math.log(10**6) / rate + 1


# Refusals.


@pytest.mark.parametrize(
    "counts",
    [[1.5], [True], np.array([1.5]), np.array([True]), "12", 7, {1: 2}, np.array([[1]]), [None]],
)
def test_counts_of_the_wrong_type_are_refused(counts):
    mechanism = AboveThreshold(epsilon=1, threshold=0)
    for method in (mechanism.release, mechanism.law):
        with pytest.raises(InputTypeError, match="Nothing was released"):
            method(counts)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"threshold": "1.5"},
        {"answers": 0},
        {"sensitivity": "1/2"},
        {"monotone": "yes"},
        {"neighbours": "any"},
        {"monotone": True, "neighbours": "replace"},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ParameterError):
        AboveThreshold(**{"epsilon": 1, "threshold": 0, **wrong})


def test_a_law_too_large_to_list_is_refused():
    with pytest.raises(ParameterError, match="too many to list"):
        AboveThreshold(epsilon=1, threshold=0, answers=10).law([0] * 40)
