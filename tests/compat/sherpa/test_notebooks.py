"""The code of the heights notebook, with other imports and without its figures."""

import math

import numpy as np
import pytest
from scipy.special import erf

import discreet as dp
from discreet.compat.sherpa import (
    GaussianMixture,
    IdentityFunction,
    L1SensitivityNorm,
    LaplaceMechanism,
    NormalDistribution,
    SensitivitySampler,
    federate_array,
)

MEN, WOMEN = (178, 7), (162, 6.5)


def expected_distance():
    spread = np.sqrt(2 * (MEN[1] ** 2 + WOMEN[1] ** 2))
    gap = (MEN[0] - WOMEN[0]) / spread
    rest = spread * (np.exp(-(gap**2)) + np.sqrt(math.pi) * gap * erf(gap))
    return (MEN[1] + WOMEN[1] + rest) / (2 * np.sqrt(math.pi))


def experiment(sensitivity, epsilon):
    """As in the notebook: 500 people report their heights, and the mean is read off."""
    heights = NormalDistribution(170, 1).sample(500)
    data = federate_array(heights, len(heights))
    data.configure_data_access(LaplaceMechanism(sensitivity, epsilon))
    result = data.query()
    return data, np.abs(np.mean(heights) - np.mean(result))


def test_the_expected_sensitivity():
    assert round(expected_distance(), 3) == 11.994


def test_the_sampled_sensitivity_prints_and_is_marked():
    distribution = GaussianMixture(np.array([MEN, WOMEN]), np.ones(2) / 2.0)
    sampler = SensitivitySampler()
    sensitivity, mean = sampler.sample_sensitivity(
        IdentityFunction(), L1SensitivityNorm(), distribution, n_data_size=1, gamma=0.05
    )
    assert ("Sensitivity from sampling: " + str(round(sensitivity, 2)))[-1].isdigit()
    assert 5 < sensitivity < 80
    assert 2 < mean < 30
    data, _ = experiment(sensitivity, 1)
    assert data[0].spent() == dp.RandomDP(1, "0.05", "replace")


@pytest.mark.statistical
def test_errors_grow_as_privacy_does():
    """The mean of 500 reports has the standard error sqrt(2/500) S/epsilon; ten of them."""
    sd = np.sqrt((MEN[1] ** 2 + WOMEN[1] ** 2) / 2 + (MEN[0] - WOMEN[0]) ** 2 / 4)
    for sensitivity in expected_distance() + np.array([0, sd, 2 * sd]):
        for epsilon in np.arange(0.001, 3, 1.2):
            data, error = experiment(sensitivity, epsilon)
            assert error < 10 * np.sqrt(2 / 500) * sensitivity / epsilon
            assert data[7].spent() == dp.PureDP(epsilon, "replace")
