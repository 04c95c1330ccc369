"""Many nodes, each with its own people: data leave a node only through a policy that was paid for.

Names are loaded when they are first used.

>>> from discreet import Budget, Geometric, federated
>>> data = federated.federate_array([3, 1, 4, 1, 5, 9], 3, budget=lambda: Budget(epsilon=1))
>>> data.configure_data_access(federated.Through(Geometric(epsilon="0.5"), query=sum))
>>> len(data.query())
3
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Access": "discreet.federated.access",
    "Combined": "discreet.federated.combined",
    "FederatedData": "discreet.federated.data",
    "Node": "discreet.federated.node",
    "Shares": "discreet.federated.shares",
    "Through": "discreet.federated.access",
    "ask_all": "discreet.federated.asking",
    "federate_array": "discreet.federated.data",
    "gather": "discreet.federated.secret",
    "join": "discreet.federated.secret",
    "split": "discreet.federated.secret",
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.federated' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
