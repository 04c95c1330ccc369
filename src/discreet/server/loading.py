"""The modules that only some questions need, loaded before anybody asks.

A process of the command line loads what its one question needs. In a server, whose first question
of a kind loads modules for all, the time of what is free would tell that nobody has asked one yet.
Tested by tests/server/test_loading.py
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

__all__ = ["load"]

_PACKAGES = (
    "discreet.exact", "discreet.privacy", "discreet.noise", "discreet.mechanisms",
    "discreet.query", "discreet.publish", "discreet.publish.tree",
)  # fmt: skip
"""All of these; and, of larger ones, what is loaded late."""
_LATE = (
    "discreet.curator.consistent", "discreet.curator.derive", "discreet.curator.foretold",
    "discreet.curator.margining", "discreet.curator.published", "discreet.curator.publishing",
    "discreet.curator.quantiles", "discreet.curator.rolling", "discreet.curator.workloads",
    "discreet.engines.vectors", "scipy.optimize", "scipy.sparse", "scipy.special", "statistics",
)  # fmt: skip


def load() -> None:
    """Load them; at once where they are loaded already."""
    for package in _PACKAGES:
        for found in iter_modules(import_module(package).__path__, f"{package}."):
            import_module(found.name)
    for name in _LATE:
        import_module(name)
