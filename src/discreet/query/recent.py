"""A small memory of what was decided for questions, bounded. Whoever shares one can tell from the
time of an answer what others have asked.

Tested by tests/query/test_recent.py
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

from discreet.query import expr as e

__all__ = ["Recent", "weight_of"]

_KEPT = 256
_LIGHT = 1024
_NODE = 8
"""Letters that take as much memory as a node of an expression, or a constant."""
_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(dict[_K, _V]):
    """What was decided lately for equal questions."""

    _heavy = 0

    def keep(self, key: _K, value: _V, weight: int = 0) -> _V:
        """Remember, and forget everything once there is too much.

        Args:
            key: of the question.
            value: what was decided.
            weight: how many letters or keys there are about; a thousand take the place of another
                question.
        """
        heavy = 0 if key in self else weight // _LIGHT
        if len(self) + self._heavy + heavy >= _KEPT:
            self.clear()
            self._heavy = 0
        self._heavy += heavy
        self[key] = value
        return value


def weight_of(parts: Iterable[e.Expr | None]) -> int:
    """How much there is of some expressions, with their constants."""
    nodes = chain.from_iterable(e.walk(part) for part in parts if part is not None)
    return sum(_NODE + _letters(node) for node in nodes)


def _letters(node: e.Expr) -> int:
    """Those of a text that a node has."""
    text = node.pattern if isinstance(node, e.Like) else getattr(node, "value", None)
    return len(text) if isinstance(text, str) else 0
