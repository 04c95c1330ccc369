"""Which cores a thread may use.

Python runs one thread of a process at a time. Where the system spreads them over several cores,
each goes on with the caches of another core's work, and a server's question takes up to twice the
processor's time. So a process that does nothing but serve stays on one core, and its threads with
it. What is not Python uses all cores (`everywhere`): the statements of a database and the threads
that it starts for them, and the lanes of a password's hash, beside which answers leave in time.

It changes when something is done and never what. Where a system has no such choice, nothing is
chosen.
Tested by tests/engines/test_cores.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["any_core", "everywhere", "staying"]

_all: frozenset[int] = frozenset()
"""The cores of this process, while it stays on one of them."""


@contextmanager
def staying(number: int) -> Iterator[None]:
    """Keep this thread, and those that it starts, on one core: one for each number, in turn.

    Args:
        number: which of the cores that this process may use.
    """
    global _all  # noqa: PLW0603 - it is that of the process
    cores = _mine()
    if len(cores) < 2 or _all or not _use(frozenset({sorted(cores)[number % len(cores)]})):
        yield
        return
    _all = cores
    try:
        yield
    finally:
        _use(_all)
        _all = frozenset()


def any_core() -> int:
    """A number for `staying`, where no other says which: each core is as likely as the others.

    Processes in containers all have the same numbers, and mostly the same cores to choose from.
    """
    return int.from_bytes(os.urandom(4))


class everywhere:  # noqa: N801 - reads as a function where it is used
    """Let this thread, and those that are started meanwhile, use all cores, as a context."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before: frozenset[int] = frozenset()
        if _all:
            self._before = _mine()
            _use(_all)

    def __exit__(self, *_: object) -> None:
        if self._before:
            _use(self._before)


def _mine() -> frozenset[int]:
    """The cores that this thread may use; none where that is not known."""
    with suppress(AttributeError, OSError):
        return frozenset(os.sched_getaffinity(0))
    return frozenset()


def _use(cores: frozenset[int]) -> bool:
    """Have this thread use some cores; whether that could be."""
    with suppress(AttributeError, OSError):
        os.sched_setaffinity(0, cores)
        return True
    return False
