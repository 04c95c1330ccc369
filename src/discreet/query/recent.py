"""A small memory of what was decided for questions, bounded. Whoever shares one can tell from the
time of an answer what others have asked.

Tested by tests/query/test_recent.py
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Recent"]

_KEPT = 256
_LIGHT = 1024
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
