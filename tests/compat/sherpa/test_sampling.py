"""Sampled sensitivities are no numbers."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.compat.sherpa import (
    GaussianMechanism,
    GaussianMixture,
    IdentityFunction,
    L1SensitivityNorm,
    L2SensitivityNorm,
    LaplaceMechanism,
    Mean,
    NormalDistribution,
    ProbabilityDistribution,
    Query,
    SampledSensitivity,
    SensitivitySampler,
)

SAMPLER = SensitivitySampler()


@pytest.mark.parametrize("said", [{"gamma": 0.33}, {"m": 285}, {"m": 285, "gamma": 0.33}])
def test_the_mean_of_a_hundred_normal_records(said):
    found, mean = SAMPLER.sample_sensitivity(
        Mean(), L1SensitivityNorm(), NormalDistribution(0, 1), n=100, **said
    )
    assert isinstance(found, SampledSensitivity)
    assert mean < 0.5
    assert found < 0.5


def test_fewer_pairs_do():
    found, _ = SAMPLER.sample_sensitivity(
        IdentityFunction(), L1SensitivityNorm(), NormalDistribution(0, 1), 1, gamma=0.05
    )
    assert (found.estimate.m, found.estimate.gamma) == (19, Fraction(1, 20))


class Two(Query):
    def get(self, data):
        return [np.mean(data), np.array([np.max(data), np.min(data)])]


def test_lists_stay_lists_and_arrays_arrays():
    found, mean = SAMPLER.sample_sensitivity(
        Two(), L2SensitivityNorm(), NormalDistribution(0, 1), n=10, gamma=0.2
    )
    assert isinstance(found, list)
    assert len(found) == len(mean) == 2
    assert all(isinstance(one, SampledSensitivity) for one in found)

    class Rows(ProbabilityDistribution):
        def sample(self, size):
            return np.ones((size, 3)) * NormalDistribution(0, 1).sample(size)[:, None]

    columns, _ = SAMPLER.sample_sensitivity(
        IdentityFunction(), L1SensitivityNorm(axis=0), Rows(), n=2, gamma=0.2
    )
    assert columns.shape == (3,)
    mechanism = LaplaceMechanism(columns, 0.1)
    assert mechanism.apply(np.zeros((2, 3))).shape == (2, 3)
    assert mechanism.guarantee == dp.RandomDP("0.3", "0.6", "replace")


def test_what_is_scaled_to_a_sample_is_random_privacy():
    """The original reports (epsilon, 0)."""
    found, _ = SAMPLER.sample_sensitivity(
        IdentityFunction(), L1SensitivityNorm(), NormalDistribution(0, 1), 1, gamma=0.05
    )
    mechanism = LaplaceMechanism(found, 0.5)
    assert mechanism.guarantee == dp.RandomDP("0.5", "0.05", "replace")
    with pytest.raises(dp.UnsupportedError, match="random differential privacy"):
        _ = mechanism.epsilon_delta
    with pytest.raises(ValueError, match="sampled"):
        GaussianMechanism(found, (1, 1e-5))
    assert isinstance(mechanism.apply(1.0), float)
    for attempt in (lambda: found * 2, lambda: 2 * found, lambda: found + 1):
        with pytest.raises(TypeError):
            attempt()
    assert round(found, 2) == round(float(found), 2)
    assert f"{found:.1f}" == f"{float(found):.1f}"
    assert str(found) == str(float(found))
    assert found == found
    assert hash(found) == hash(float(found))


def test_norms():
    one, two = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2))
    assert L1SensitivityNorm().compute(one, two) == 10
    assert L1SensitivityNorm(axis=0).compute(one, two).tolist() == [4, 6]
    assert L2SensitivityNorm().compute([3.0, 1.0], [0.0, 1.0]) == [3, 0]


def test_mixtures_and_what_has_to_be_said():
    mixture = GaussianMixture(np.array([[178, 7], [162, 6.5]]), np.ones(2) / 2.0)
    assert abs(mixture.sample(2000).mean() - 170) < 3
    with pytest.raises(ValueError, match="n must be said"):
        SAMPLER.sample_sensitivity(Mean(), L1SensitivityNorm(), mixture, gamma=0.1)
    with pytest.raises(ValueError, match="gamma"):
        SAMPLER.sample_sensitivity(Mean(), L1SensitivityNorm(), mixture, 3)
