"""The local model: every person randomises before anything leaves; the collector is not trusted.

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Collector": "discreet.local.collect",
    "CountMeanSketch": "discreet.local.sketch",
    "Estimates": "discreet.local.estimates",
    "Frequency": "discreet.local.frequency",
    "HadamardResponse": "discreet.local.hadamard",
    "HadamardSketch": "discreet.local.sketch",
    "KaryResponse": "discreet.local.response",
    "LocalHashing": "discreet.local.hashing",
    "OptimizedUnary": "discreet.local.unary",
    "ProjectiveResponse": "discreet.local.projective",
    "Report": "discreet.local.report",
    "SubsetSelection": "discreet.local.subset",
    "SymmetricUnary": "discreet.local.unary",
    "collect_parquet": "discreet.local.collect",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
