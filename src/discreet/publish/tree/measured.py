"""What was measured, all of it public, and the exact account that bounds it.

`discreet.publish.tree.terms` proves: if on every transcript no cell is spent on more than UNITS
units in all, what was promised holds. `Account` adds the units up in integers, over all cells at
once: a measured node is an interval of leaf numbers, and the largest sum over any leaf is found by
sweeping over the ends of the intervals. It is asked before noise is drawn, and refuses what would
exceed an account.
Tested by tests/publish/tree/test_measured.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceededError, ParameterError
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.loss import PureLoss, ZCDPLoss
from discreet.publish.tree.domain import DEEPEST, Domain
from discreet.publish.tree.terms import UNITS, Terms, terms_from_dict

__all__ = ["Account", "Measured", "Request", "joined"]

Array = NDArray[Any]
_COLUMNS = ("depth", "node", "units", "value")


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

    Guarantee. As in `guarantee`: the theorem of `discreet.publish.tree.terms`.
    """

    domain: Domain
    terms: Terms
    depth: Array
    node: Array
    units: Array
    value: Array

    @property
    def guarantee(self) -> PureDP | ZCDP:
        """What is promised to each person."""
        return self.terms.guarantee

    @property
    def privacy_loss(self) -> PureLoss | ZCDPLoss:
        """What the release leaks, for an accountant."""
        return self.terms.privacy_loss

    @property
    def sharpness(self) -> Array:
        """How sharp each measurement is: see `Terms.sharpness`."""
        return self.terms.sharpness(self.units)

    def to_dict(self) -> dict[str, Any]:
        """As plain values fit for JSON; `from_dict` reads them back."""
        return {
            "shape": list(self.domain.shape), **self.terms.to_dict(),
            **{name: getattr(self, name).tolist() for name in _COLUMNS},
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Measured:
        """Read `to_dict` back; what cannot have been measured is refused."""
        if not {"shape", *_COLUMNS} <= set(values):
            raise ParameterError("measured", sorted(values), "has other fields than a measurement")
        domain = Domain(tuple(values["shape"]))
        arrays = {name: _integers(values[name], name) for name in _COLUMNS}
        sizes = {len(array) for array in arrays.values()}
        if len(sizes) != 1 or 0 in sizes:
            raise ParameterError("measured", None, "must have as many of each column, one at least")
        said = {name: values[name] for name in values if name not in {"shape", *_COLUMNS}}
        made = cls(domain, terms_from_dict(said), **arrays)
        deep, node = arrays["depth"], arrays["node"]
        good = (deep >= 0) & (deep <= domain.depth) & (node >= 0)
        if not np.all(good) or np.any(node >> np.minimum(deep, DEEPEST)):
            raise ParameterError("measured", None, "must name nodes of the tree")
        for depth in set(deep.tolist()):
            if not np.all(domain.real(depth, node[deep == depth])):
                raise ParameterError("measured", None, "must name nodes that hold a cell")
        Account(domain).charge(Request(deep, node, arrays["units"]))
        return made


def _integers(values: object, name: str) -> Array:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ParameterError(name, None, "must be a list of whole numbers")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise ParameterError(name, None, "must fit 64 bits") from None
