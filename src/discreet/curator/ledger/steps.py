"""The labelled steps of a question's way through the ledger, where tests pull the plug.

`reached` does nothing unless a test put something else in its place.
Tested by tests/curator/ledger/test_faults.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["STEPS", "on_step", "passed", "reached"]

STEPS = (
    "before reserve",
    "reserve is queued",
    "in reserve",
    "before the commit of reserve",
    "after the commit of reserve",
    "after the head of reserve",
    "after compute",
    "store is queued",
    "in store",
    "before the commit of store",
    "after the commit of store",
    "after the head of store",
    "before send",
)

_action: Callable[[str], None] | None = None


def on_step(action: Callable[[str], None] | None) -> None:
    """Call this at every step, for a test; None for nothing."""
    global _action  # noqa: PLW0603
    _action = action


def reached(step: str) -> None:
    """A step was reached."""
    if _action is not None:
        _action(step)


def passed(where: str, names: Iterable[str]) -> None:
    """A step was reached by some at once: it is told once for each of their names."""
    if _action is not None:
        for name in dict.fromkeys(names):
            _action(f"{where} {name}")
