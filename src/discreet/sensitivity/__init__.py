"""How far one person can move an answer: norms, theorems, a checker and a sampler.

`of_count` and its like are theorems. `check_sensitivity` tries all small datasets and refutes a
claim that is false. `sample_sensitivity` estimates where nothing is proven, and what comes out of
it is random differential privacy, which its type never lets one forget.
"""

from discreet.sensitivity.analytic import (
    Sensitivity,
    of_absolute_utility,
    of_count,
    of_counts,
    of_histogram,
    of_mean,
    of_squared_utility,
    of_sum,
)
from discreet.sensitivity.brute import Check, check_sensitivity, check_utility
from discreet.sensitivity.mechanism import RandomMechanism
from discreet.sensitivity.norms import L1, L2, LInf, Norm
from discreet.sensitivity.oracle import (
    Empirical,
    EmpiricalOracleWarning,
    GaussianMixture,
    Normal,
    Oracle,
    Uniform,
)
from discreet.sensitivity.sampler import SensitivityEstimate, sample_sensitivity

__all__ = [
    "L1",
    "L2",
    "Check",
    "Empirical",
    "EmpiricalOracleWarning",
    "GaussianMixture",
    "LInf",
    "Norm",
    "Normal",
    "Oracle",
    "RandomMechanism",
    "Sensitivity",
    "SensitivityEstimate",
    "Uniform",
    "check_sensitivity",
    "check_utility",
    "of_absolute_utility",
    "of_count",
    "of_counts",
    "of_histogram",
    "of_mean",
    "of_squared_utility",
    "of_sum",
    "sample_sensitivity",
]
