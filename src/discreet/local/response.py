"""k-ary randomised response for any number of values: the truth, or a uniform other value.

The same coins as `discreet.mechanisms.response.RandomizedResponse(epsilon=...)`, which is limited
to 256 categories because it holds a kernel of k rows; here there is none.
Tested by tests/local/test_response.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.exact import Exact
from discreet.local.device import kary
from discreet.local.oracle import Array, Coded, code_type
from discreet.noise.bulk import flips, uniforms
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source
from discreet.noise.table import inversion

__all__ = ["KaryResponse"]


@dataclass(frozen=True, init=False, repr=False)
class KaryResponse(Coded):
    """Report the true value with probability p = r/(r + k - 1), else a uniform other one.

    The best oracle for few values: SubsetSelection with subsets of one. The report is the place of
    the reported value.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace": one person's value is replaced by any other.
    Assumes. One report per person and question; every further one costs as much again.
    Proof. A report has probability r c if it is the true value, else c, with c = 1/(r + k - 1), and
    r <= e^epsilon.
    Tested by tests/local/test_response.py

    >>> oracle = KaryResponse(["yes", "no", "perhaps"], 1)
    >>> len(oracle.report("yes").payload)
    1
    """

    kind: ClassVar[str] = "k-ary response"
    number: ClassVar[int] = 1

    def __init__(self, domain: Any, epsilon: Exact) -> None:
        where, r = self._settle(domain, epsilon)
        total = r + where.size - 1
        self._finish(p=r / total, q=1 / total)

    @property
    def codes(self) -> int:
        """One for each value."""
        return self.domain.size

    def mass(self, place: int, code: int) -> Fraction:
        """The mass is r c for the truth, c for each other value."""
        return self.p if code == place else self.q

    def code(self, place: int, source: Source) -> int:
        """The truth, or a uniform move away from it."""
        return kary(place, self.codes, self.p, source)

    def draw_many(self, places: Array, source: Source) -> Array:
        """The truth, or a uniform move away from it, for each person."""
        moved = places + flips(inversion(Bernoulli(1 - self.p)), places.size, source) * (
            1 + uniforms(self.codes - 1, places.size, source)
        )
        moved -= self.codes * (moved >= self.codes)
        return np.asarray(moved, dtype=code_type(self.codes))

    def supports(self, tally: Array) -> tuple[Array, Array | None]:
        """A report supports itself."""
        return np.asarray(tally), None
