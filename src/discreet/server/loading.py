"""What only some questions need, and is there once for all of them: made before anybody asks.

A process of the command line loads what its one question needs. In a server, whose first question
of a kind does so for all, the time of what is free would tell that nobody has asked one yet.
Tested by tests/server/test_loading.py
"""

from __future__ import annotations

from contextvars import copy_context
from importlib import import_module
from pkgutil import iter_modules

from discreet.curator.access import statements as access
from discreet.curator.ledger import listing, statements
from discreet.noise.source import KeyedSource, new_key
from discreet.query.render import name_sql
from discreet.query.tree import tokens_of
from discreet.remembered import Results
from discreet.server import history

__all__ = ["STATEMENTS", "load"]

STATEMENTS = (access, listing, statements, history)
"""The modules that hold statements of a ledger."""

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
    """Load the modules, and what reads and writes questions; at once where that is there."""
    for package in _PACKAGES:
        for found in iter_modules(import_module(package).__path__, f"{package}."):
            import_module(found.name)
    for name in _LATE:
        import_module(name)
    copy_context().run(_begin)


def _begin() -> None:
    """Use once what is made when it is used first; what is found is kept for nobody."""
    Results().use()
    tokens_of("SELECT 1")
    name_sql("n")
    KeyedSource(new_key()).bits(1)
