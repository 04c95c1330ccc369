"""Nodes and federated data, under the names of Sherpa.ai's framework.

Guarantee. Every node adds up what all answers about its data cost (`spent`), whichever policies
were configured. A filter that was configured once limits all that comes after it, and counts all
that came before.
Tested by tests/compat/sherpa/test_nodes.py
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from discreet.compat.sherpa.access import DPDataAccessDefinition, UnprotectedAccess
from discreet.compat.sherpa.composition import AdaptiveDifferentialPrivacy, checked
from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.federated import data as federated
from discreet.federated.access import Access
from discreet.federated.node import Node, access_at, ask_through, budget_at
from discreet.privacy.budget import Budget
from discreet.privacy.compose import sequential
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import HasLoss, Loss, loss_of

__all__ = ["Account", "DataNode", "FederatedData", "FederatedDataNode", "federate_array"]


class Account:
    """What was spent, without a limit until a filter sets one; then within all of these."""

    def __init__(self) -> None:
        self._losses: list[Loss] = []
        self._limits: list[Budget] = []
        self._lock = threading.RLock()

    def limit(self, budget: Budget) -> None:
        """Set a limit, on what was spent before too; refused where that exceeds it already."""
        with self._lock:
            if self._losses:
                budget.charge(*self._losses)
            self._limits.append(budget)

    def affords(self, *releases: Loss | HasLoss, times: int = 1) -> bool:
        """Whether every limit affords this."""
        with self._lock:
            return all(one.affords(*releases, times=times) for one in self._limits)

    def charge(self, *releases: Loss | HasLoss, times: int = 1) -> None:
        """Book it with every limit, or nowhere."""
        with self._lock:
            for one in self._limits:
                if not one.affords(*releases, times=times):
                    one.charge(*releases, times=times)  # refuses, in its own words
            for one in self._limits:
                one.charge(*releases, times=times)
            self._losses += [loss_of(one) for one in releases] * times

    @property
    def guarantee(self) -> Guarantee | None:
        """What everything so far promises; None where nothing was answered."""
        with self._lock:
            promised = [one.guarantee for one in self._losses]
        return sequential(*promised, random=True) if promised else None

    spent = guarantee

    @property
    def left(self) -> Any:
        """What the latest limit leaves."""
        with self._lock:
            return self._limits[-1].left if self._limits else "no limit"


class DataNode(Node):
    """A node under its old name: data by name, a policy for each."""

    __slots__ = ()

    def set_private_data(self, name: str, data: Any) -> None:
        """Hold data under a name; what was spent under that name stays spent."""
        account: Any = None if name in self.names else Account()
        self.hold(name, data, budget=account)

    @property
    def private_data(self) -> NoReturn:
        """Not to be had: it printed the data."""
        raise UnsupportedError("data leave a node through a policy only: configure_data_access")

    def configure_data_access(self, name: str, data_access_definition: Any) -> None:
        """Let data leave through a definition that states its cost; nothing is reset."""
        definition = data_access_definition
        if isinstance(definition, UnprotectedAccess):
            problem = "gives the data back as they are, and no epsilon is finite; use a mechanism"
            raise ParameterError("data_access_definition", "UnprotectedAccess", problem)
        if not isinstance(definition, DPDataAccessDefinition):
            raise InputTypeError("a definition that states its cost is needed here")
        if isinstance(definition, AdaptiveDifferentialPrivacy):
            account: Any = budget_at(self, name)
            account.limit(definition.new_budget())
        super().configure_data_access(name, definition)

    def query(self, name: str, **more: Any) -> Any:  # type: ignore[override]
        """Charge, apply the definition and return its answer.

        Under a filter, `differentially_private_mechanism` may name the mechanism of this query.
        """
        configured: Any = access_at(self, name)
        if configured is None or not isinstance(configured, AdaptiveDifferentialPrivacy):
            if more:
                raise ParameterError("query", sorted(more), "takes no more than a name here")
            return super().query(name)
        given = more.pop("differentially_private_mechanism", None)
        mechanism: Access = configured.chosen(given) if given is None else checked(given)
        if more:
            raise ParameterError("query", sorted(more), "does not know these")
        return ask_through(self, name, mechanism)


class FederatedDataNode(DataNode):
    """A node of federated data: it holds them under one name, its identifier."""

    __slots__ = ("identifier",)

    def __init__(self, federated_data_identifier: str) -> None:
        super().__init__(federated_data_identifier)
        self.identifier = federated_data_identifier

    def query(self, name: str | None = None, **more: Any) -> Any:  # type: ignore[override]
        """The answer about the federated data."""
        return super().query(self.identifier if name is None else name, **more)

    def configure_data_access(self, name: Any, data_access_definition: Any = None) -> None:
        """Configure the federated data; a name may be left out."""
        if data_access_definition is None:
            name, data_access_definition = self.identifier, name
        super().configure_data_access(name, data_access_definition)

    def spent(self, what: str | None = None) -> Any:
        """What everything that left promises."""
        return super().spent(self.identifier if what is None else what)


class FederatedData(federated.FederatedData):
    """Nodes with data of one kind, without a limit until a filter sets one."""

    def __init__(self, what: str = "federated data") -> None:
        make: Any = Account
        super().__init__(budget=make, what=what)

    def add_data_node(self, data: Any) -> FederatedDataNode:
        """Add a node that holds these data."""
        node = FederatedDataNode(self.what)
        node.set_private_data(self.what, data)
        self._nodes.append(node)
        return node

    def configure_data_access(self, data_access_definition: Any) -> None:
        """The definition for every node; each node keeps its own account."""
        for node in self:
            node.configure_data_access(self.what, data_access_definition)

    def query(self, **more: Any) -> list[Any]:
        """One answer from each node, in order."""
        nodes: Any = iter(self)
        return [node.query(self.what, **more) for node in nodes]


def federate_array(array: Any, num_data_nodes: int) -> FederatedData:
    """Split rows over nodes as evenly as whole numbers allow."""
    made = FederatedData()
    for rows in federated.even_parts(array, num_data_nodes):
        made.add_data_node(rows)
    return made
