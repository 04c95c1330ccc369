"""The `discreet` command. An adapter: it reads arguments, calls the library and prints.

Exit codes: 0 all is well; 1 a check failed (audit, ledger verify); 2 the arguments, the question or
the policy are wrong; 3 refused, for the budget does not suffice; 4 the ledger cannot be used; 5 the
database failed; 70 a fault of the program; 130 interrupted. More in `discreet.cli.errors`.

Heavy things are imported inside the commands, and of the commands only the one that was named, so
that `discreet --help` and `discreet count` answer at once.
Tested by tests/cli/test_cli.py
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]

_SELDOM = 1_000_000
"""New objects between two collections of garbage."""


def main(prog_name: str | None = None) -> None:
    """Run the command line of this process, which lives for a second: it hardly collects garbage,
    also while it loads what it needs.
    """
    gc.set_threshold(_SELDOM)
    from discreet.cli.commands import made  # noqa: PLC0415 - after the line above

    made(next(iter(sys.argv[1:]), None))(prog_name=prog_name)


def __getattr__(name: str) -> Any:
    """Make the whole command, `app`, on first use."""
    if name != "app":
        raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")
    from discreet.cli.commands import made  # noqa: PLC0415 - it loads all commands

    globals()[name] = value = made()
    return value
