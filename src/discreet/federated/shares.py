"""Noise in shares: each node adds a little, and the sum has the noise of one trusted curator.

Setting. Each of n nodes holds an integer (or a vector of integers), adds a share of noise to it and
hands the result to a secure sum, which shows the total and nothing else (`discreet.federated.split`
is one). Nobody sees a single node's number, and nobody draws all of the noise.

Theorem 1 (all there). With shares that are differences of two Polya values of shape 1/n and ratio
a = exp(-epsilon/D), the noise of the total is two-sided geometric with the ratio a, exactly. So
the total is epsilon-differentially private if one person moves it by at most D, and its error is
that of the central geometric mechanism.
Proof. Theorem 1 of `discreet.noise.polya`, and the theorem of `discreet.mechanisms.geometric`.

Theorem 2 (some missing). Let m honest nodes have added shares of shape r, and let s = m r < 1: the
others are missing, or they collude and subtract their own shares. Then the total is private with
epsilon' = ln P(0)/P(D) > epsilon, where P is the law of a difference of two Polya values of shape
s, and with no less.
Proof. The noise of the honest nodes has that law P. By Theorem 3 of `discreet.noise.polya`,
f(k) = -ln P(|k|) rises in |k| by steps that never grow, so that f(k + d) - f(k) for 0 <= d <= D is
largest at k = 0 and d = D, where an output equal to one of the two totals attains it.

Theorem 3 (any t missing). With shares of shape 1/(n - t) the total is epsilon-private as long as at
most t nodes are missing or collude.
Proof. The m >= n - t honest nodes add noise of shape s = m/(n - t) >= 1. By Theorem 1 of
`discreet.noise.polya` it has the law of two-sided geometric noise, of shape 1, plus independent
noise of shape s - 1. The first alone makes the total private; adding the second is post-processing.

The price of Theorem 3 is noise of variance n/(n - t) times the central one where all are there.
A vector of which one person moves at most c numbers has c times the loss of one number.
Tested by tests/federated/test_shares.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError, RangeError, UnsupportedError
from discreet.exact import Exact, Interval, certify, log, probability, whole, written
from discreet.mechanisms.base import half_width, integer, released
from discreet.mechanisms.geometric import changes_of, sensitivity_of
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.law import Law
from discreet.noise.polya import PolyaDifference, polya_difference
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, PureDP, epsilon_of, neighbours_of
from discreet.privacy.loss import PureLoss

__all__ = ["MOST_NODES", "Shares"]

MOST_NODES = 10**9
_BITS = 64
_SLOWEST = Fraction(1, 10_000)
"""The least rate for which a loss is added up term by term: some seconds."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Shares:
    """Shares of geometric noise for `nodes` nodes, of which `missing` may fail or collude.

    Guarantee. The total of all nodes' numbers, as a secure sum shows it, is epsilon-differentially
    private if at most `missing` nodes are missing or collude; `guarantee_with` says what is left
    of the promise with any number of honest nodes.
    Neighbours. As said in `neighbours`: one person, in one node or in several, moves at most
    `changes` numbers of the total, each by at most `sensitivity`.
    Assumes. A secure sum: whoever sees one node's number sees far too little noise. Honest nodes
    draw their shares as this class does, and keep them secret.
    Proof. At the top of this module.
    Tested by tests/federated/test_shares.py

    Args:
        epsilon: the privacy parameter of the total, exact as typed.
        nodes: how many nodes add a share.
        missing: how many of them may be missing or collude, at the price of more noise.
        sensitivity: how far one person can move one number of the total.
        changes: how many numbers of a vector one person can move.
        neighbours: "add_or_remove" or "replace".

    >>> shares = Shares(epsilon=1, nodes=10)
    >>> total = shares.total([shares.share(value) for value in range(10)])
    >>> isinstance(total, int), shares.error("0.95")
    (True, 3)
    >>> print(shares.guarantee_with(present=9))
    about 1.09894-differential privacy (neighbours: one person is added or removed)
    >>> Shares(epsilon=1, nodes=10, missing=5).guarantee_with(present=5).epsilon
    Fraction(1, 1)
    """

    epsilon: Fraction
    nodes: int
    missing: int
    sensitivity: int
    changes: int
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Exact,
        nodes: int,
        missing: int = 0,
        sensitivity: Exact = 1,
        changes: int = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "nodes", whole(nodes, name="nodes", at_least=1, at_most=MOST_NODES))
        put(self, "missing", whole(missing, name="missing", at_least=0))
        put(self, "sensitivity", sensitivity_of(sensitivity))
        put(self, "changes", changes_of(changes))
        put(self, "neighbours", neighbours_of(neighbours))
        if not self.missing < self.nodes:
            problem = f"must be below the number of nodes, {self.nodes}: one has to be honest"
            raise ParameterError("missing", missing, problem)

    def __repr__(self) -> str:
        said = [f"epsilon={written(self.epsilon)}", f"nodes={self.nodes}"]
        said += [f"missing={self.missing}"] if self.missing else []
        said += [f"sensitivity={self.sensitivity}"]
        said += [] if self.changes == 1 else [f"changes={self.changes}"]
        return f"Shares({', '.join([*said, f'neighbours={self.neighbours!r}'])})"

    @property
    def rate(self) -> Fraction:
        """The rate of the noise: its ratio is exp(-rate)."""
        return self.epsilon / (self.sensitivity * self.changes)

    @property
    def shape(self) -> Fraction:
        """The shape of one share: one over the number of nodes that are counted on."""
        return Fraction(1, self.nodes - self.missing)

    @property
    def guarantee(self) -> PureDP:
        """What the total promises with at most `missing` nodes missing or colluding."""
        return PureDP(self.epsilon, self.neighbours)

    @property
    def privacy_loss(self) -> PureLoss:
        """What one total leaks, for a budget."""
        return PureLoss(epsilon=self.epsilon, neighbours=self.neighbours)

    def _present(self, present: int | None) -> int:
        if present is None:
            return self.nodes
        return whole(present, name="present", at_least=1, at_most=self.nodes)

    def noise_law(self, present: int | None = None) -> Law:
        """The exact law of the noise that this many honest nodes add to one number together."""
        shape = self._present(present) * self.shape
        return TwoSidedGeometric(self.rate) if shape == 1 else PolyaDifference(self.rate, shape)

    def loss_bounds(self, present: int, *, bits: int = _BITS) -> Interval:
        """Enclose the largest loss of the total where this many nodes are honest (Theorem 2).

        From `nodes - missing` on it is at most epsilon (Theorem 3), and that is returned.
        """
        if self._present(present) >= self.nodes - self.missing:
            return Interval.of(self.epsilon)
        if not self.rate >= _SLOWEST:
            raise UnsupportedError(
                "what is left of the promise is a sum of more terms than can be added up here, for "
                "an epsilon as small as this beside the sensitivity. Say missing=..., for which "
                "nothing has to be added up"
            )
        law = PolyaDifference(self.rate, self._present(present) * self.shape)

        def loss(w: int) -> Interval:
            ratio = law.mass_bounds(0, bits=w) / law.mass_bounds(self.sensitivity, bits=w)
            return self.changes * log(ratio, w)

        return certify(loss, bits)

    def guarantee_with(self, present: int) -> PureDP:
        """What the total promises where this many nodes are honest and there, rounded up."""
        return PureDP(self.loss_bounds(present).upper, self.neighbours)

    def share(self, value: Any, *, source: Source | None = None) -> Any:
        """What one node gives to the secure sum: its integers, plus its share of the noise.

        An int for an int, a list for a list, int64 for an integer array. `source` is for tests.
        """
        draws = polya_difference(self.rate, self.shape)
        supply = system_source() if source is None else source
        return released(value, supply, lambda x, bits: x + draws.one(bits), draws.add)

    @staticmethod
    def total(shares: Iterable[Any]) -> Any:
        """The sum of all shares, as a secure sum would show it: of integers, lists or arrays.

        This one sees every share, so it is for tests, and for a collector who is trusted.
        """
        every: object = shares
        if isinstance(every, str) or not isinstance(every, Iterable):
            raise InputTypeError("a list of shares is needed here")
        given = list(every)
        if not given:
            raise ParameterError("shares", None, "must be at least one")
        first = given[0]
        if isinstance(first, np.ndarray):
            return _sum_of_arrays(given)
        if isinstance(first, list):
            if any(not isinstance(one, list) or len(one) != len(first) for one in given):
                raise InputTypeError("all shares must be lists of one length")
            return [sum(map(integer, column)) for column in zip(*given, strict=True)]
        return sum(map(integer, given))

    def error(self, confidence: Exact = 0.95, *, present: int | None = None) -> int:
        """The smallest h so that one number of the total is within h of the true total of those
        present with at least this probability, by certified bounds.
        """
        return half_width(self.noise_law(present), probability(confidence, name="confidence"))

    def variance(self, present: int | None = None) -> float:
        """The variance of the noise on one number of the total."""
        return self.noise_law(present).variance


def _sum_of_arrays(given: list[Any]) -> NDArray[Any]:
    """The exact sum; one that 64 bits do not hold is refused."""
    alike = all(
        isinstance(one, np.ndarray) and one.dtype.kind in "iu" and one.shape == given[0].shape
        for one in given
    )
    if not alike:
        raise InputTypeError("all shares must be integer arrays of one shape")
    total = np.sum(np.array([one.astype(object) for one in given], dtype=object), axis=0)
    ends = (int(np.min(total, initial=0)), int(np.max(total, initial=0)))
    if not -(1 << 63) <= ends[0] <= ends[1] < 1 << 63:
        raise RangeError("a total does not fit 64 bits; hand in lists, whose sums have no limit")
    return np.asarray(total, dtype=np.int64)
