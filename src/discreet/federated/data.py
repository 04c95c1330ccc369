"""Data spread over nodes: one policy for all, one answer from each.

Guarantee. Each person has the guarantee of the budget of the node that holds her data.
Assumes. Each person's data are in one node, and which one is no secret; otherwise hand all nodes
one budget, so that the costs of all nodes add up.
Proof. What the other nodes answer does not depend on her data, so it is post-processing of nothing
that concerns her. That holds under "replace" too, because her node stays the same: only her data in
it are replaced.
Tested by tests/federated/test_data.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole
from discreet.federated.access import Access, access_of
from discreet.federated.node import Node, access_at, budget_at
from discreet.privacy.budget import Chargeable
from discreet.privacy.loss import loss_of

__all__ = ["FederatedData", "even_parts", "federate_array"]

Budgets = Chargeable | Callable[[], Chargeable]


class FederatedData:
    """Nodes that hold data of one kind.

    Guarantee. Each person has the guarantee of the budget of her node.
    Proof. At the top of this module.
    Tested by tests/federated/test_data.py

    Args:
        budget: makes a budget for each node, such as lambda: dp.Budget(epsilon=1); or one budget
            that all nodes share, for people who may be in several.
        what: the name under which every node holds its data.
    """

    def __init__(self, *, budget: Budgets, what: str = "data") -> None:
        shared = callable(getattr(budget, "charge", None))
        if not shared and not callable(budget):
            raise InputTypeError(
                "a budget is needed here, or a function that makes one for each node, such as "
                "lambda: dp.Budget(epsilon=1)"
            )
        self._make: Callable[[], Any] = (lambda: budget) if shared else budget  # type: ignore[assignment]
        self.what = what
        self._nodes: list[Node] = []

    def __repr__(self) -> str:
        return f"<FederatedData {self.what!r} in {len(self)} nodes>"

    def add_data_node(self, data: Any) -> Node:
        """Add a node that holds these data."""
        node = Node(f"{self.what}-{len(self)}")
        node.hold(self.what, data, budget=self._make())
        self._nodes.append(node)
        return node

    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __getitem__(self, place: int) -> Node:
        return self._nodes[place]

    def configure_data_access(self, access: Access) -> None:
        """Let data leave every node through this policy; what was spent stays spent."""
        found = access_of(access)
        for node in self:
            node.configure_data_access(self.what, found)

    def query(self) -> list[Any]:
        """One answer from each node, in order; all nodes are charged, or none is.

        (If somebody else charges the same budgets meanwhile, a later node may still refuse; what
        was charged until then stays charged.)
        """
        self._afford()
        return [node.query(self.what) for node in self]

    def _afford(self) -> None:
        """Refuse before anything is charged where one budget does not suffice."""
        asked: Counter[tuple[int, Any]] = Counter()
        budgets: dict[int, Chargeable] = {}
        for node in self:
            access = access_at(node, self.what)
            if access is None:
                problem = "have no policy yet: configure_data_access(...) says what may leave"
                raise ParameterError("data", self.what, problem)
            budget = budget_at(node, self.what)
            budgets[id(budget)] = budget
            asked[id(budget), loss_of(access)] += 1
        for (which, loss), times in asked.items():
            if not budgets[which].affords(loss, times=times):
                budgets[which].charge(loss, times=times)  # refuses, in its own words


def federate_array(
    array: NDArray[Any] | Sequence[Any], num_data_nodes: int, *, budget: Budgets
) -> FederatedData:
    """Split rows over nodes as evenly as whole numbers allow: the first nodes get one row more.

    Args:
        array: rows, on the first axis of an array, or a list.
        num_data_nodes: how many nodes; at most one for each row.
        budget: as for `FederatedData`.

    >>> import discreet as dp
    >>> from discreet.federated import Through
    >>> data = federate_array(range(10), 4, budget=lambda: dp.Budget(epsilon=1))
    >>> data.configure_data_access(Through(dp.Geometric(epsilon="0.1"), query=len))
    >>> len(data.query())
    4
    """
    data = FederatedData(budget=budget)
    for rows in even_parts(array, num_data_nodes):
        data.add_data_node(rows)
    return data


def even_parts(array: NDArray[Any] | Sequence[Any], parts: int) -> list[Any]:
    """The rows in so many parts, whose sizes differ by one at most."""
    rows: Any = array
    flat = isinstance(rows, str) or (isinstance(rows, np.ndarray) and not rows.ndim)
    if flat or not isinstance(rows, np.ndarray | Sequence):
        raise InputTypeError("rows are needed here: an array or a list; nothing was kept")
    n = whole(parts, name="num_data_nodes", at_least=1)
    if not n <= len(rows):
        raise ParameterError("num_data_nodes", n, "must be at most the number of rows")
    size, more = divmod(len(rows), n)
    starts = [place * size + min(place, more) for place in range(n + 1)]
    return [rows[start:stop] for start, stop in pairwise(starts)]
