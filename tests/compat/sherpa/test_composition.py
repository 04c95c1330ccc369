"""The filter counts exactly; samples cost less, and say how much."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import discreet as dp
from discreet.audit.walk import walk
from discreet.compat.sherpa import (
    AdaptiveDifferentialPrivacy,
    ExceededPrivacyBudgetError,
    GaussianMechanism,
    LaplaceMechanism,
    SampleWithoutReplacement,
    UnprotectedAccess,
)
from discreet.compat.sherpa.access import DPDataAccessDefinition


class Free(DPDataAccessDefinition):
    """A cost without an answer, to count quickly."""

    def __init__(self, loss):
        self._loss = loss

    @property
    def privacy_loss(self):
        return self._loss

    def apply(self, data, *, source=None):
        return data


def laplace(epsilon):
    return Free(LaplaceMechanism(1, epsilon).privacy_loss)


def answers(budget, mechanism, most=20_000):
    policy = AdaptiveDifferentialPrivacy(budget, mechanism)
    for count in range(most):
        try:
            policy.apply(0)
        except ExceededPrivacyBudgetError:
            return count
    return most


@pytest.mark.parametrize(
    ("budget", "epsilon", "count"),
    [((0.2, 2e-30), 0.002, 100), ((4, 0), 0.2, 20), ((4, 0), 0.5, 8), ((4, 0), 0.8, 5),
     ((7, 0), 1.3862943611198906, 5)],
)  # fmt: skip
def test_how_many_answers(budget, epsilon, count):
    """100 and 20 where the original stops at 99 and 19."""
    assert answers(budget, laplace(epsilon)) == count


@pytest.mark.parametrize(
    ("budget", "epsilon", "least"),
    [((1, 1e-6), 0.01, 487), ((1, 1e-6), 0.02, 121), ((0.2, 2e-10), 0.002, 306)],
)
def test_tighter_sums_answer_more(budget, epsilon, least):
    """The original answers 147, 50 and 100."""
    assert answers(budget, laplace(epsilon)) >= least


def test_budgets_end():
    assert answers((1, 0.001), laplace(0.1), 1000) < 1000
    with pytest.raises(ExceededPrivacyBudgetError):
        AdaptiveDifferentialPrivacy((1, 0), GaussianMechanism(1, (0.1, 1e-5))).apply(0)
    assert answers((1, 1e-3), Free(GaussianMechanism(1, (0.1, 1e-5)).privacy_loss)) == 10


def test_mechanisms_have_to_state_a_cost():
    policy = AdaptiveDifferentialPrivacy((1, 0))
    with pytest.raises(ValueError, match="must be said"):
        policy.apply(1)
    for wrong in (UnprotectedAccess(), 3):
        with pytest.raises(ValueError, match="cost"):
            policy.apply(1, wrong)
        with pytest.raises(ValueError, match="cost"):
            AdaptiveDifferentialPrivacy((1, 0), wrong)
    policy.apply(1, differentially_private_mechanism=LaplaceMechanism(1, 1))
    with pytest.raises(ExceededPrivacyBudgetError):
        policy.apply(1, LaplaceMechanism(1, 0.1))
    for wrong in ((1, 0, 0), 3, (0, 0), (1, 2)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            AdaptiveDifferentialPrivacy(wrong)
    assert AdaptiveDifferentialPrivacy((4, 0)).epsilon_delta == (4.0, 0.0)


def test_samples():
    made = SampleWithoutReplacement(LaplaceMechanism(1, 1), 50, (100,))
    assert math.isclose(made.epsilon_delta[0], math.log(1 + 0.5 * (math.e - 1)))
    assert made.apply(np.ones(100)).shape == (50,)
    flat = SampleWithoutReplacement(LaplaceMechanism(1, 1), 50, (100, 2))
    assert flat.apply(np.ones((100, 2))).shape == (50, 2)
    with pytest.raises(ValueError, match="sample_size"):
        SampleWithoutReplacement(LaplaceMechanism(1, 1), 101, (100,))
    with pytest.raises(dp.InputTypeError, match="data_size"):
        made.apply(np.ones(99))
    fails = SampleWithoutReplacement(GaussianMechanism(1, (1, 1e-5)), 50, 100)
    assert fails.epsilon_delta[1] == 5e-6
    small = SampleWithoutReplacement(LaplaceMechanism(1, 0.01), 50, (100,))
    assert round(small.epsilon_delta[0], 6) == 0.005012


def test_every_ordered_sample_is_equally_likely():
    """Walked choice by choice."""
    seen = SampleWithoutReplacement(Free(dp.losses.PureLoss(epsilon=1, neighbours="replace")), 2, 4)
    found = walk(lambda source: tuple(seen.apply(np.arange(4), source=source).tolist()))
    assert set(found.weights) == set(permutations(range(4), 2))
    assert len(Counter(w.lower for w in found.weights.values())) == 1
