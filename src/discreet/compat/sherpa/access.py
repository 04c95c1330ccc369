"""Definitions of access and queries, under the names of Sherpa.ai's framework.

Tested by tests/compat/sherpa/test_access.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from discreet.errors import UnsupportedError
from discreet.noise.source import Source
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP, RandomDP
from discreet.privacy.loss import Loss

__all__ = [
    "DPDataAccessDefinition",
    "DataAccessDefinition",
    "IdentityFunction",
    "Mean",
    "Query",
    "UnprotectedAccess",
    "applied",
]


class Query(ABC):
    """A function of private data, without noise."""

    @abstractmethod
    def get(self, data: Any) -> Any:
        """Its value."""


class IdentityFunction(Query):
    """The data themselves."""

    def get(self, data: Any) -> Any:
        """The data."""
        return data


class Mean(Query):
    """The mean of all numbers."""

    def get(self, data: Any) -> Any:
        """The mean."""
        return np.mean(data)


class DataAccessDefinition(ABC):
    """What may leave a node."""

    @abstractmethod
    def apply(self, data: Any) -> Any:
        """The answer that leaves."""


class UnprotectedAccess(DataAccessDefinition):
    """The data as they are. No node of discreet takes it: its cost has no end."""

    def apply(self, data: Any) -> Any:
        """The data."""
        return data


class DPDataAccessDefinition(DataAccessDefinition):
    """A definition that states what one application costs.

    Subclasses say the exact loss; `epsilon_delta` shows it as two floats.
    """

    @property
    @abstractmethod
    def privacy_loss(self) -> Loss:
        """What one application leaks, exactly."""

    @abstractmethod
    def apply(self, data: Any, *, source: Source | None = None) -> Any:
        """The answer that leaves. `source` is for tests and nodes."""

    @property
    def guarantee(self) -> Guarantee:
        """What one application promises."""
        return self.privacy_loss.guarantee

    @property
    def epsilon_delta(self) -> tuple[float, float]:
        """The cost of one application; there is none for random differential privacy."""
        match self.guarantee:
            case PureDP(epsilon=epsilon):
                return float(epsilon), 0.0
            case ApproxDP(epsilon=epsilon, delta=delta):
                return float(epsilon), float(delta)
            case RandomDP() as weaker:
                raise UnsupportedError(
                    f"a sampled sensitivity gives no (epsilon, delta): this is {weaker}"
                )
            case other:  # pragma: no cover - no class here promises anything else
                raise UnsupportedError(f"there is no (epsilon, delta) of {other}")


def applied(query: Query | None, data: Any) -> Any:
    """The value of a query; the data where there is none."""
    return data if query is None else query.get(data)
