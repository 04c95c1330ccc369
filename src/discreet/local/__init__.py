"""The local model: every person randomises before anything leaves; the collector is not trusted.

Names are loaded when they are first used.

>>> from discreet import PureDP, local
>>> round(float(local.shuffled(PureDP(1, "replace"), n=1000, delta="1e-5").epsilon), 3)
0.154
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local import rappor

_HOME = {
    "Collector": "discreet.local.collect",
    "CountMeanSketch": "discreet.local.sketch",
    "EpochClient": "discreet.local.longitudinal",
    "Estimates": "discreet.local.estimates",
    "Frequency": "discreet.local.frequency",
    "HadamardResponse": "discreet.local.hadamard",
    "HadamardSketch": "discreet.local.sketch",
    "HeavyHitters": "discreet.local.heavy",
    "KaryResponse": "discreet.local.response",
    "LocalHashing": "discreet.local.hashing",
    "Mean": "discreet.local.mean",
    "MeanCollector": "discreet.local.averages",
    "MeanEstimate": "discreet.local.averages",
    "Means": "discreet.local.averages",
    "MemoClient": "discreet.local.longitudinal",
    "Memoised": "discreet.local.longitudinal",
    "OptimizedUnary": "discreet.local.unary",
    "ProjectiveResponse": "discreet.local.projective",
    "Report": "discreet.local.report",
    "ShuffledDP": "discreet.local.shuffle",
    "Store": "discreet.local.store",
    "SubsetSelection": "discreet.local.subset",
    "Survey": "discreet.local.survey",
    "SymmetricUnary": "discreet.local.unary",
    "TreeHist": "discreet.local.treehist",
    "VectorCollector": "discreet.local.averages",
    "closed_form": "discreet.local.shuffle",
    "collect_parquet": "discreet.local.collect",
    "collect_spark": "discreet.local.spark",
    "compare": "discreet.local.longitudinal",
    "shuffled": "discreet.local.shuffle",
}

__all__ = ["rappor", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name == "rappor":
        return import_module("discreet.local.rappor")
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
