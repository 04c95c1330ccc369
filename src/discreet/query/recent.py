"""A small memory of what was decided for questions, bounded. Whoever shares one can tell from the
time of an answer what others have asked.

Tested by tests/query/test_recent.py
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Recent"]

_KEPT = 256
_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(dict[_K, _V]):
    """What was decided lately for equal questions."""

    def keep(self, key: _K, value: _V) -> _V:
        """Remember, and forget everything once there is too much."""
        if len(self) >= _KEPT:
            self.clear()
        self[key] = value
        return value
