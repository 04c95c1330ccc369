"""What a function found for its arguments, kept for the next time: for all, or for one asker apart.

Whoever shares such a memory can tell from the time of an answer which arguments others have used.
What a server tells for free, at once and to people who do not trust each other, is therefore found
with `Results` of the asker's own; what leaves at a deadline, and what a process does for itself, is
found with results that all share.

The functions are pure: with whose results they are called decides how long they take, and nothing
else.
Tested by tests/test_remembered.py
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["Results", "ResultsOf", "remembered", "share"]

_MOST_ASKERS = 16
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Results(dict[object, Any]):
    """What was found for one asker, by the functions that found it."""

    def use(self) -> None:
        """From here on, in this context and in those that are copied from it."""
        _USED.set(self)


_USED: ContextVar[Results | None] = ContextVar("discreet_results", default=None)


def share() -> None:
    """From here on, in this context and in those that are copied from it: what all share.

    A server says it of every request that begins, before it knows whose it is: what answers one
    may have been begun by what answered the one before on the same connection, and its context is
    a copy then.
    """
    _USED.set(None)


class ResultsOf:
    """The results of those who asked last; whose are not among them begin anew."""

    def __init__(self) -> None:
        self._of: dict[str, Results] = {}
        self._lock = Lock()

    def __getitem__(self, name: str) -> Results:
        with self._lock:
            found = self._of.pop(name, None)
            if found is None:
                found = Results()
                if len(self._of) >= _MOST_ASKERS:
                    del self._of[next(iter(self._of))]
            self._of[name] = found  # the last one now
        return found


def remembered(
    most: int, *, apart: int | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A function whose results are kept, by its arguments.

    Args:
        most: so many, those that were used last;
        apart: for an asker apart, if these are to be fewer; none with 0.

    >>> @remembered(2)
    ... def square(number: int) -> int:
    ...     print("found anew")
    ...     return number * number
    >>> square(3), square(3)
    found anew
    (9, 9)
    """

    def made(how: Callable[_P, _R]) -> Callable[_P, _R]:
        common: Any = lru_cache(most)(how)

        @wraps(how)
        def found(*given: _P.args, **named: _P.kwargs) -> _R:
            used = _USED.get()
            if used is None:
                return cast("_R", common(*given, **named))
            kept = used.get(found)
            if kept is None:
                kept = used.setdefault(found, lru_cache(most if apart is None else apart)(how))
            return cast("_R", kept(*given, **named))

        found.__dict__.update(cache_clear=common.cache_clear, cache_info=common.cache_info)
        return found

    return made
