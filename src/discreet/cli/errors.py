"""What a command says when it cannot do what was asked, and the exit code that goes with it.

    0   all is well
    1   a check failed: an audit, `ledger verify`, a private search that found nothing
    2   the arguments, the question or the policy are wrong
    3   refused: the budget does not suffice, or its time is over
    4   the ledger cannot be used
    5   the database failed
    70  a fault of the program itself

What discreet raises on purpose is told in one paragraph on standard error. A fault of the program
shows where it happened, but only to a data owner: an analyst (`--as`) might read rows in it.
Tested by tests/cli/test_errors.py
"""

from __future__ import annotations

import errno
import os
import sys
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from discreet.cli.plain import take_as_typed
from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    EngineError,
    LedgerError,
    NothingFoundError,
)

__all__ = ["FAILED", "WRONG", "Guarded", "code_of", "columns", "complain", "to_an_analyst", "warn"]

FAILED, WRONG, REFUSED, LEDGER, DATABASE, FAULT = 1, 2, 3, 4, 5, 70
_CODES: tuple[tuple[type[DiscreetError], int], ...] = (
    (BudgetExceededError, REFUSED),
    (LedgerError, LEDGER),
    (EngineError, DATABASE),
    (NothingFoundError, FAILED),
)
_LONGEST = 2000
"""Letters of a database's own words."""
_AUDIENCE = "discreet.audience"


class Guarded(TyperGroup):
    """Commands whose errors become words and an exit code.

    A process of its own (nobody hands in the arguments) leaves without taking everything down,
    which would take a fifth of its time.
    """

    def main(self, args: Sequence[str] | None = None, *rest: Any, **more: Any) -> Any:
        """Run a command line, by default that of this process."""
        if args is not None:
            return super().main(args, *rest, **more)
        try:
            return super().main(args, *rest, **more)
        except SystemExit as end:
            _leave(end.code if isinstance(end.code, int) else int(end.code is not None))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words before the command's own."""
        take_as_typed(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        _never_fail_on_letters()
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            owner = ctx.meta.get(_AUDIENCE) != "analyst"
            complain(str(error) + (_cause(error) if owner else ""))
            raise typer.Exit(code_of(error)) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            what = f"{error.filename}: " if error.filename else ""
            complain(f"{what}{error.strerror or error}")
            raise typer.Exit(WRONG) from None
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            _fault(error, owner=ctx.meta.get(_AUDIENCE) != "analyst")
            raise typer.Exit(FAULT) from None


def _leave(code: int) -> NoReturn:
    """End the process: files and databases are closed by now, and what was printed is flushed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def code_of(error: DiscreetError) -> int:
    """The exit code of what was raised on purpose."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), WRONG)


def to_an_analyst(ctx: typer.Context, _: object, analyst: str | None) -> str | None:
    """Remember that an analyst reads what is printed: the callback of `--as`."""
    if analyst is not None:
        ctx.meta[_AUDIENCE] = "analyst"
    return analyst


def complain(words: str) -> None:
    """A paragraph on standard error."""
    _say(words, "red")


def warn(words: str) -> None:
    """A warning on standard error."""
    _say(f"warning: {words}", "yellow")


def _say(words: str, colour: str) -> None:
    from discreet.curator.values import visible  # noqa: PLC0415 - only where something is wrong

    lines = [visible(line) for line in words.strip().splitlines()] or ["something went wrong"]
    if not lines[-1].endswith((".", "!", "?")):
        lines[-1] += "."
    if sys.stderr.isatty():
        wide = min(columns(), 100)
        lines = [part for line in lines for part in _wrapped(line, wide)]
    typer.secho("\n".join(lines), fg=colour, err=True)


def _wrapped(line: str, wide: int) -> list[str]:
    return textwrap.wrap(line, wide, break_long_words=False, break_on_hyphens=False) or [""]


def columns() -> int:
    """The columns of the terminal; 120 where there is none and nobody says how many."""
    import shutil  # noqa: PLC0415 - not for every command

    return shutil.get_terminal_size((120, 24)).columns


def _cause(error: DiscreetError) -> str:
    """A database's own words, which may quote rows."""
    if not isinstance(error, EngineError) or error.__cause__ is None:
        return ""
    return f". The database says: {str(error.__cause__).strip()[:_LONGEST]}"


def _fault(error: Exception, *, owner: bool) -> None:
    if owner:
        typer.echo("".join(traceback.format_exception(error)), err=True)
        complain("this is a fault of the program; what was charged stays charged")
    else:
        complain("something failed inside; the owner of the data can find out what")


def _never_fail_on_letters() -> None:
    """A terminal that does not know a letter shows a question mark."""
    for stream in (sys.stdout, sys.stderr):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors="replace")
