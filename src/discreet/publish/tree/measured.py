"""What was measured, all of it public, and the exact account that bounds it.

Theorem. Let the cells of neighbours differ by an integer vector d with sum |d_c| <= sensitivity.
Publish noisy counts of nodes one step after the other; a node measured with k units gets two-sided
geometric noise of rate k epsilon/(UNITS sensitivity), independent of all else, and which nodes come
next, with how many units, is a function of earlier published values only. If on every transcript no
cell is spent on more than UNITS units in all, the whole is epsilon-differentially private.

Proof. Given the earlier values, neighbours are asked the same nodes with the same units. The count
of a node v differs by at most the sum of |d_c| over its cells, so the chance of the value that is
published for it changes by a factor of at most exp(rate_v sum_{c in v} |d_c|). The product over the
transcript is at most exp(sum_c |d_c| sum_{v holds c} rate_v) <= exp(sensitivity UNITS
epsilon/(UNITS sensitivity)) = exp(epsilon). It does not matter whether nodes of one step overlap.
With d = `sensitivity` in one cell whose units are spent, and values on one side of both counts,
there is equality.

`Account` adds the units up in integers, over all cells at once: a measured node is an interval of
leaf numbers, and the largest sum over any leaf is found by sweeping over the ends of the intervals.
It is asked before noise is drawn, and refuses what would exceed an account.
Tested by tests/publish/tree/test_measured.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceededError, ParameterError
from discreet.exact import shown
from discreet.mechanisms.geometric import sensitivity_of
from discreet.privacy.guarantee import Neighbours, PureDP, epsilon_of, neighbours_of
from discreet.privacy.loss import PureLoss
from discreet.publish.tree.domain import DEEPEST, Domain

__all__ = ["UNITS", "Account", "Measured", "Request", "joined", "unit_of"]

Array = NDArray[Any]

UNITS = 1 << 16
"""Into how many equal units the account of a cell is divided; all shares are whole units."""
SMALLEST_UNIT = Fraction(1, 1 << 56)
"""A draw at this rate passes 2^63 with probability e^-128; at smaller ones 64 bits are too few."""


def unit_of(epsilon: Fraction, sensitivity: int) -> Fraction:
    """The rate of a measurement with one unit, or ParameterError where its noise is too large."""
    unit = epsilon / (sensitivity * UNITS)
    if unit < SMALLEST_UNIT:
        least = SMALLEST_UNIT * UNITS * sensitivity
        problem = f"must be at least {float(least):.3g} here: larger noise does not fit 64 bits"
        raise ParameterError("epsilon", shown(epsilon), problem)
    return unit


@dataclass(frozen=True, eq=False)
class Request:
    """Nodes to be measured in one step, each with its units. Public."""

    depth: Array
    node: Array
    units: Array

    def __len__(self) -> int:
        return len(self.node)


def joined(requests: list[Request]) -> Request:
    """Several requests as one."""
    return Request(
        np.concatenate([each.depth for each in requests]),
        np.concatenate([each.node for each in requests]),
        np.concatenate([each.units for each in requests]),
    )


@dataclass
class Account:
    """The units spent on the cells of a domain so far.

    >>> account = Account(Domain((4,)))
    >>> at = lambda *numbers: np.array(numbers)
    >>> account.charge(Request(at(0, 2), at(0, 3), at(UNITS - 5, 5)))
    >>> account.largest
    65536
    >>> account.charge(Request(at(1), at(1), at(1)))
    Traceback (most recent call last):
        ...
    discreet.errors.BudgetExceededError: the account of a cell would be exceeded
    """

    domain: Domain
    _spent: list[Request] = field(default_factory=list)

    @property
    def largest(self) -> int:
        """The most units spent on any cell."""
        return self._largest(self._spent)

    def charge(self, request: Request) -> None:
        """Note what is about to be measured, or refuse it: then nothing may be drawn for it."""
        if len(request) and not 1 <= int(request.units.min()) <= int(request.units.max()) <= UNITS:
            raise ParameterError("units", None, f"must be 1 to {UNITS} for every node")
        asked = self._largest([*self._spent, request])
        if asked > UNITS:
            raise BudgetExceededError(
                "the account of a cell would be exceeded", asked=asked, left=UNITS, could=None
            )
        self._spent.append(request)

    def _largest(self, requests: list[Request]) -> int:
        if not any(len(each) for each in requests):
            return 0
        every = joined(requests)
        below = self.domain.depth - every.depth
        ends = np.concatenate([every.node << below, (every.node + 1) << below])
        moves = np.concatenate([every.units, -every.units])
        order = np.lexsort((moves, ends))  # at one place, what ends comes before what begins
        return int(np.cumsum(moves[order]).max())


@dataclass(frozen=True, eq=False)
class Measured:
    """All measurements of one release: public, and what every reading starts from.

    Guarantee. As in `guarantee`: the theorem of this module.
    """

    domain: Domain
    epsilon: Fraction
    sensitivity: int
    neighbours: Neighbours
    depth: Array
    node: Array
    units: Array
    value: Array

    @property
    def guarantee(self) -> PureDP:
        """What is promised to each person."""
        return PureDP(self.epsilon, self.neighbours)

    @property
    def privacy_loss(self) -> PureLoss:
        """What the release leaks, for an accountant."""
        return PureLoss(epsilon=self.epsilon, neighbours=self.neighbours)

    @property
    def unit(self) -> Fraction:
        """The rate of a measurement with one unit."""
        return unit_of(self.epsilon, self.sensitivity)

    @property
    def rate(self) -> Array:
        """The rates of the noise, rounded to floats, for reading."""
        return np.asarray(self.units * float(self.unit))

    def to_dict(self) -> dict[str, Any]:
        """As plain values fit for JSON; `from_dict` reads them back."""
        named = ("depth", "node", "units", "value")
        return {
            "shape": list(self.domain.shape), "epsilon": str(self.epsilon),
            "sensitivity": self.sensitivity, "neighbours": self.neighbours,
            **{name: getattr(self, name).tolist() for name in named},
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Measured:
        """Read `to_dict` back; what cannot have been measured is refused."""
        columns = ("depth", "node", "units", "value")
        if set(values) != {"shape", "epsilon", "sensitivity", "neighbours", *columns}:
            raise ParameterError("measured", sorted(values), "has other fields than a measurement")
        domain = Domain(tuple(values["shape"]))
        arrays = {name: _integers(values[name], name) for name in columns}
        sizes = {len(array) for array in arrays.values()}
        if len(sizes) != 1 or 0 in sizes:
            raise ParameterError("measured", None, "must have as many of each column, one at least")
        made = cls(
            domain, epsilon_of(values["epsilon"]), sensitivity_of(values["sensitivity"]),
            neighbours_of(values["neighbours"]), **arrays,
        )  # fmt: skip
        deep, node = arrays["depth"], arrays["node"]
        good = (deep >= 0) & (deep <= domain.depth) & (node >= 0)
        if not np.all(good) or np.any(node >> np.minimum(deep, DEEPEST)):
            raise ParameterError("measured", None, "must name nodes of the tree")
        for depth in set(deep.tolist()):
            if not np.all(domain.real(depth, node[deep == depth])):
                raise ParameterError("measured", None, "must name nodes that hold a cell")
        unit_of(made.epsilon, made.sensitivity)
        Account(domain).charge(Request(deep, node, arrays["units"]))
        return made


def _integers(values: object, name: str) -> Array:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ParameterError(name, None, "must be a list of whole numbers")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise ParameterError(name, None, "must fit 64 bits") from None
