"""Definitions and queries."""

import numpy as np
import pytest

import discreet as dp
from discreet.compat import sherpa


def test_queries_and_raw_access():
    assert sherpa.IdentityFunction().get([1]) == [1]
    assert sherpa.Mean().get(np.array([1, 3])) == 2
    assert sherpa.UnprotectedAccess().apply(5) == 5


def test_a_cost_is_said_as_two_floats():
    assert sherpa.LaplaceMechanism(1, 0.5).epsilon_delta == (0.5, 0.0)
    assert sherpa.GaussianMechanism(1, (1, 1e-5)).epsilon_delta == (1.0, 1e-5)
    assert sherpa.LaplaceMechanism(1, 0.5).guarantee == dp.PureDP(0.5, "replace")


@pytest.mark.parametrize("name", ["Query", "DataAccessDefinition", "DPDataAccessDefinition",
                                  "ProbabilityDistribution", "SensitivityNorm"])  # fmt: skip
def test_abstract_ones_cannot_be_made(name):
    with pytest.raises(TypeError):
        getattr(sherpa, name)()
