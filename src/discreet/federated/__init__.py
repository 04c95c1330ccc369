"""Many nodes, each with its own people: data leave a node only through a policy that was paid for.

Names are loaded when they are first used.

>>> from discreet import federated
>>> shares = federated.Shares(epsilon=1, nodes=3)
>>> isinstance(shares.total([shares.share(value) for value in (3, 1, 4)]), int)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Shares": "discreet.federated.shares",
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
