"""What an owner sees on a terminal while a database counts.

Tested by tests/engines/test_progress.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["bar", "waiting"]


@contextmanager
def bar(*, shown: bool) -> Iterator[Any]:
    """A progress bar on a terminal, for `advance(percent)`."""
    if not shown or not sys.stderr.isatty():
        yield lambda _percent: None
        return
    made: list[Any] = []

    def advance(percent: float) -> None:
        if not made:  # a question that is answered at once shows nothing, and loads nothing
            made.append(_progress())
            made[0].start()
            made.append(made[0].add_task("", total=100))
        made[0].update(made[1], completed=max(0.0, percent))

    try:
        yield advance
    finally:
        if made:
            made[0].stop()


def _progress() -> Any:
    from rich.console import Console  # noqa: PLC0415 - only a long question on a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("DuckDB is counting"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def waiting(*, shown: bool) -> Iterator[None]:
    """A line with the time that has passed, on a terminal, where it is asked for.

    PostgreSQL does not say how far it is.
    """
    if not shown:
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a long question on a terminal needs it
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("PostgreSQL is counting"), TimeElapsedColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        bar.add_task("", total=None)
        yield
