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
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]

_SELDOM = 1_000_000
"""New objects between two collections of garbage."""
_CODE = 130
"""The exit code of what was interrupted."""


def main(prog_name: str | None = None) -> None:
    """Run the command line of this process, which lives for a second: it hardly collects garbage,
    also while it loads what it needs.
    """
    try:
        gc.set_threshold(_SELDOM)
        from discreet.cli.commands import made  # noqa: PLC0415 - after the line above

        command = made(next(iter(sys.argv[1:]), None))
    except KeyboardInterrupt:
        _interrupted(sys.argv[1:])
    command(prog_name=prog_name)


def _interrupted(said: Sequence[str]) -> NoReturn:
    """End as `discreet.cli.errors` says, where nothing of it is loaded yet: nothing was charged."""
    words = "interrupted"
    if "--json" in said:
        told = {"kind": words, "message": words, "charged": False}
        sys.stderr.write(json.dumps({"error": told, "exit": _CODE}) + "\n")
    else:
        sys.stderr.write(f"{words}.\n")
    sys.stderr.flush()
    os._exit(_CODE)


def __getattr__(name: str) -> Any:
    """Make the whole command, `app`, on first use."""
    if name != "app":
        raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")
    from discreet.cli.commands import made  # noqa: PLC0415 - it loads all commands

    globals()[name] = value = made()
    return value
