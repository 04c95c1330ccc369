"""The non-interactive model: publish once, and every later question is free post-processing.

Names are loaded when they are first used.

>>> import numpy as np
>>> from discreet import publish
>>> made = publish.hierarchy(np.arange(64), epsilon=1)
>>> made.range(10, 20).low <= made.range(10, 20).high
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Account": "discreet.publish.measured",
    "Answer": "discreet.publish.measured",
    "Cells": "discreet.publish.tree.domain",
    "Choice": "discreet.publish.choosing",
    "Hierarchy": "discreet.publish.levels",
    "Histogram": "discreet.publish.histogram",
    "LinearAnswer": "discreet.publish.measured",
    "Marginals": "discreet.publish.marginals",
    "Measured": "discreet.publish.measured",
    "Nested": "discreet.publish.rollups",
    "Noisy": "discreet.publish.measured",
    "Partition": "discreet.publish.partition",
    "Prefix": "discreet.publish.stream",
    "Pruned": "discreet.publish.pruning",
    "Rollup": "discreet.publish.rollups",
    "RunningCount": "discreet.publish.stream",
    "Strategy": "discreet.publish.strategies",
    "Terms": "discreet.publish.measured",
    "Wavelet": "discreet.publish.wavelets",
    "Worked": "discreet.publish.workloads",
    "Workload": "discreet.publish.questions",
    "adaptive_grid": "discreet.publish.grids",
    "adaptive_tree": "discreet.publish.histogram",
    "all_ranges": "discreet.publish.questions",
    "boxes": "discreet.publish.questions",
    "choose": "discreet.publish.choosing",
    "hierarchy": "discreet.publish.levels",
    "identity": "discreet.publish.levels",
    "listed": "discreet.publish.questions",
    "marginal_counts": "discreet.publish.marginals",
    "nested": "discreet.publish.rollups",
    "nonnegative": "discreet.publish.consistency",
    "nonnegative_fit": "discreet.publish.consistency",
    "obedient": "discreet.publish.blocks",
    "optimised": "discreet.publish.strategies",
    "prefixes": "discreet.publish.questions",
    "privtree": "discreet.publish.privtrees",
    "pruned": "discreet.publish.pruning",
    "published": "discreet.publish.choosing",
    "quadtree": "discreet.publish.levels",
    "rising": "discreet.publish.consistency",
    "rising_cells": "discreet.publish.consistency",
    "rollup": "discreet.publish.rollups",
    "strategy_for": "discreet.publish.strategies",
    "tabulated": "discreet.publish.marginals",
    "tree_fit": "discreet.publish.consistency",
    "uniform": "discreet.publish.grids",
    "uniform_grid": "discreet.publish.grids",
    "wavelet": "discreet.publish.wavelets",
    "whole_numbers": "discreet.publish.consistency",
    "whole_tree": "discreet.publish.consistency",
    "workload": "discreet.publish.workloads",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.publish' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
