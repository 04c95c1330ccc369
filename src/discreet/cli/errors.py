"""What a command says when it cannot do what was asked, and the exit code that goes with it.

    0   all is well
    1   a check failed: an audit, `ledger verify`, a private search that found nothing
    2   the arguments, the question or the policy are wrong
    3   refused: the budget does not suffice, or its time is over
    4   the ledger cannot be used
    5   the database failed, or files have changed under their version
    70  a fault of the program itself
    130 interrupted, by Ctrl-C; what was charged by then stays charged

What discreet raises on purpose is told in one paragraph on standard error. A fault of the program
shows where it happened, but only to a data owner: an analyst (`--as`) might read rows in it.

With `--json` the last line of standard error is one object instead, and the codes are the same:

    {"error": {"kind": "budget", "message": "...", "charged": false, ...}, "exit": 3}

`kind` is usage, parameter, query, key, budget, nothing_found, ledger, database, file, check, wrong,
internal or interrupted. `charged` is null where only the ledger can tell. A refusal also has, as
far as the asker may know them, `account`, `cost`, `left` and the `offer`: a price, and how far off
each number is.
Tested by tests/cli/test_errors.py
"""

from __future__ import annotations

import errno
import json
import os
import sys
import textwrap
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from discreet.cli.plain import take_as_typed
from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    EngineError,
    KeyUsedError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
)

__all__ = [
    "FAILED",
    "WRONG",
    "CommandError",
    "Guarded",
    "code_of",
    "columns",
    "complain",
    "to_an_analyst",
    "warn",
]

FAILED, WRONG, REFUSED, LEDGER, DATABASE, FAULT, INTERRUPTED = 1, 2, 3, 4, 5, 70, 130
_KINDS: tuple[tuple[type[DiscreetError], tuple[int, str, bool | None]], ...] = (
    (BudgetExceededError, (REFUSED, "budget", False)),
    (KeyUsedError, (WRONG, "key", False)),
    (LedgerError, (LEDGER, "ledger", None)),
    (EngineError, (DATABASE, "database", None)),
    (NothingFoundError, (FAILED, "nothing_found", True)),
    (QueryError, (WRONG, "query", False)),
    (ParameterError, (WRONG, "parameter", False)),
    (DiscreetError, (WRONG, "wrong", None)),
)
"""Of each error its exit code, its kind for machines, and whether something was charged."""
_LONGEST = 2000
"""Letters of a database's own words."""
_NOT_THERE = (
    "the data cannot be opened; nothing was charged. The owner of the data can find out why: "
    "`discreet check` tells"
)
_CHARGING = frozenset(("--key", "--no-ledger"))
"""A command with one of these options may charge something."""
_AUDIENCE, _MACHINE = "discreet.audience", "discreet.machine"


class CommandError(DiscreetError):
    """A command cannot do what it should, for a reason that only the command knows.

    Attributes:
        kind: for machines.
        code: the exit code.
        charged: whether something was charged; None where only the ledger can tell.
    """

    def __init__(self, words: str, *, kind: str, code: int, charged: bool | None = None) -> None:
        self.kind = kind
        self.code = code
        self.charged = charged
        super().__init__(words)


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
        """Read the words before the command's own, and whether a machine reads the errors."""
        if "--json" in args[: args.index("--") if "--" in args else None]:
            ctx.meta[_MACHINE] = True
        take_as_typed(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        _never_fail_on_letters()
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            options = self._options(ctx)
            told = _Complaint(_interrupted(options), INTERRUPTED, "interrupted")
            told.tell(machine=bool(ctx.meta.get(_MACHINE)))
            raise typer.Exit(told.code) from None
        except Exception as error:
            machine = bool(ctx.meta.get(_MACHINE))
            usage = type(error).__module__.partition(".")[0] in ("typer", "click")
            if getattr(error, "errno", None) == errno.EPIPE or (usage and not machine):
                raise
            found = _complaint(error, owner=ctx.meta.get(_AUDIENCE) != "analyst", usage=usage)
            found.tell(machine=machine)
            raise typer.Exit(found.code) from None

    def _options(self, ctx: Any) -> set[str]:
        """The options of the command that was named."""
        named = self.commands.get(ctx.invoked_subcommand)
        return {word for option in getattr(named, "params", ()) for word in option.opts}


def _interrupted(options: set[str]) -> str:
    """What is said of a command with these options that was interrupted."""
    if options.isdisjoint(_CHARGING):
        return "interrupted"
    words = (
        "interrupted. A question that was charged by then stays charged, and `discreet ledger "
        "show` lists it as waiting"
    )
    if "--key" not in options:
        return f"{words}; asked again, it is charged again"
    return (
        f"{words}. Asked again with its own --key, or with --key and the release that is listed, "
        "it goes on at no further charge"
    )


@dataclass(frozen=True, slots=True)
class _Complaint:
    """What is told of an error."""

    words: str
    code: int
    kind: str
    charged: bool | None = None
    more: Mapping[str, object] = field(default_factory=dict)
    trace: str = ""

    def tell(self, *, machine: bool) -> None:
        """On standard error."""
        if machine:
            told = {"kind": self.kind, "message": self.words, "charged": self.charged, **self.more}
            if self.trace:
                told["trace"] = self.trace
            typer.echo(json.dumps({"error": told, "exit": self.code}), err=True)
            return
        if self.trace:
            typer.echo(self.trace, err=True)
        complain(self.words)


def _complaint(error: Exception, *, owner: bool, usage: bool) -> _Complaint:
    if isinstance(error, DiscreetError):
        return _purposeful(error, owner=owner)
    if usage:
        words = getattr(error, "format_message", error.__str__)()
        return _Complaint(words, getattr(error, "exit_code", WRONG), "usage", charged=False)
    if isinstance(error, OSError):
        what = f"{error.filename}: " if error.filename else ""
        return _Complaint(f"{what}{error.strerror or error}", WRONG, "file")
    if owner:
        words = "this is a fault of the program; what was charged stays charged"
        trace = "".join(traceback.format_exception(error))
        return _Complaint(words, FAULT, "internal", trace=trace)
    words = "something failed inside; the owner of the data can find out what"
    return _Complaint(words, FAULT, "internal")


def _purposeful(error: DiscreetError, *, owner: bool) -> _Complaint:
    """What discreet raises on purpose."""
    if isinstance(error, CommandError):
        return _Complaint(str(error), error.code, error.kind, error.charged)
    words = str(error) + (_cause(error) if owner else "")
    if isinstance(error, ParameterError) and error.name == "source" and not owner:
        words = _NOT_THERE  # it names a place on the owner's machine
    told = error.told if isinstance(error, BudgetExceededError) else {}
    if isinstance(error, BudgetExceededError) and error.could is not None:
        words += " (--with-what-is-left asks it)"
    return _Complaint(words, *_kind_of(error), told)


def _leave(code: int) -> NoReturn:
    """End the process: files and databases are closed by now, and what was printed is flushed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def code_of(error: DiscreetError) -> int:
    """The exit code of what was raised on purpose."""
    return error.code if isinstance(error, CommandError) else _kind_of(error)[0]


def _kind_of(error: DiscreetError) -> tuple[int, str, bool | None]:
    return next(told for kind, told in _KINDS if isinstance(error, kind))


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


def _never_fail_on_letters() -> None:
    """A terminal that does not know a letter shows a question mark."""
    for stream in (sys.stdout, sys.stderr):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors="replace")
