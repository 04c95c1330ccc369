"""How a node's count falls on its two halves, before anything is measured.

The share of the left half is, with weight `empty`, 0 or 1 (equally likely); with weight `even`, the
left half's share of the real cells; and with each further weight, Beta(a, a) for one of `alphas`.
Nodes of one depth have the same weights, and `learned` moves them towards what a reading found
there (one step of expectation maximisation with a Dirichlet prior).
Tested by tests/publish/tree/test_prior.py
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Prior"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Prior:
    """The weights of the ways to split, and how much they weigh against what is found.

    `strength` is the number of nodes that the weights count for when they are learned.
    """

    empty: float
    even: float
    weights: tuple[float, ...]
    alphas: tuple[float, ...]
    strength: float = 8.0

    @property
    def start(self) -> Array:
        """All the weights: empty, even, and one for each alpha. They sum to 1."""
        every = np.array([self.empty, self.even, *self.weights], dtype=float)
        return np.asarray(every / every.sum())

    @property
    def exponents(self) -> Array:
        """2a - 1 for each alpha: the density in the angle is exp(constant) (sin cos)^(2a - 1)."""
        return 2 * np.array(self.alphas) - 1

    @property
    def constants(self) -> Array:
        """The logarithm of 2 Gamma(2a)/Gamma(a)^2 for each alpha."""
        return np.array([log(2) + lgamma(2 * a) - 2 * lgamma(a) for a in self.alphas])

    def learned(self, found: Array) -> Array:
        """The weights given how often each way was found, by depth (rows)."""
        return np.asarray(
            (found + self.strength * self.start)
            / (found.sum(axis=1, keepdims=True) + self.strength)
        )
