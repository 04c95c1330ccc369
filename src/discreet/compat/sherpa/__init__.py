"""The names of Sherpa.ai's framework for federated learning, with costs that are true.

Notebook code runs after its imports were changed to this module. What is different on purpose:

* noise is exact and discrete, from the operating system; the neighbours are always "replace": one
  record of one node is replaced by another;
* `RandomizedResponseCoins` reports the cost of its coins, `RandomizedResponseBinary` refuses an
  epsilon that its coins exceed in either direction, `ExponentialMechanism(size=s)` costs s epsilon,
  a sensitivity for each part costs epsilon for each part, a delta of 1 or more is refused;
* a sampled sensitivity makes *random* differential privacy, and no (epsilon, delta) of its own;
* what a node has spent stays with the node: configuring another policy resets nothing;
* data leave a node through a policy that states its cost only: `UnprotectedAccess` is refused;
* aggregators with noise say what an aggregation costs, the weak one too.

Training of models is not covered; the guide on nodes has a table of all names.
Tested by tests/compat/sherpa/test_notebooks.py
"""

from discreet.compat.sherpa.access import (
    DataAccessDefinition,
    DPDataAccessDefinition,
    IdentityFunction,
    Mean,
    Query,
    UnprotectedAccess,
)
from discreet.compat.sherpa.aggregators import (
    CDPAggregator,
    NormClipAggregator,
    WeakDPAggregator,
)
from discreet.compat.sherpa.composition import (
    AdaptiveDifferentialPrivacy,
    ExceededPrivacyBudgetError,
    SampleWithoutReplacement,
)
from discreet.compat.sherpa.mechanisms import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    RandomizedResponseBinary,
    RandomizedResponseCoins,
)
from discreet.compat.sherpa.nodes import (
    DataNode,
    FederatedData,
    FederatedDataNode,
    federate_array,
)
from discreet.compat.sherpa.sampling import (
    GaussianMixture,
    L1SensitivityNorm,
    L2SensitivityNorm,
    NormalDistribution,
    ProbabilityDistribution,
    SampledSensitivity,
    SensitivityNorm,
    SensitivitySampler,
)

__all__ = [
    "AdaptiveDifferentialPrivacy",
    "CDPAggregator",
    "DPDataAccessDefinition",
    "DataAccessDefinition",
    "DataNode",
    "ExceededPrivacyBudgetError",
    "ExponentialMechanism",
    "FederatedData",
    "FederatedDataNode",
    "GaussianMechanism",
    "GaussianMixture",
    "IdentityFunction",
    "L1SensitivityNorm",
    "L2SensitivityNorm",
    "LaplaceMechanism",
    "Mean",
    "NormClipAggregator",
    "NormalDistribution",
    "ProbabilityDistribution",
    "Query",
    "RandomizedResponseBinary",
    "RandomizedResponseCoins",
    "SampleWithoutReplacement",
    "SampledSensitivity",
    "SensitivityNorm",
    "SensitivitySampler",
    "UnprotectedAccess",
    "WeakDPAggregator",
    "federate_array",
]
