"""Commands whose texts are taken as they were typed.

Some versions of typer build a validator of pydantic for every option, also for those that nobody
said: an eighth of a second for `discreet count`. What is no text, number or path, or is wrong, goes
typer's own way, and so does everything with other versions.
Tested by tests/cli/test_plain.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

__all__ = ["Plain", "take_as_typed"]


class Plain(TyperCommand):
    """A command that reads what was said, and nothing else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        take_as_typed(self.get_params(ctx))
        return super().parse_args(ctx, args)


def take_as_typed(options: Iterable[Any]) -> None:
    """Let options be read without a validator; and let help show no type of a flag."""
    for option in options:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
        if getattr(option, "_runtime_param", ...) is None:
            option._runtime_param = _AsTyped()  # noqa: SLF001 - there is no other way to say it


class _AsTyped:
    """Stands where typer puts a validator."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that a command gets."""
        if value is None:
            return () if param.multiple else None
        wanted = param.type_descriptor.annotation
        if wanted is str and isinstance(value, str):
            return value
        if wanted is int and (isinstance(value, int) or re.fullmatch("[0-9]{1,18}", value)):
            return int(value)
        if wanted is Path and isinstance(value, str | Path):
            return Path(value)
        if wanted == list[str]:
            return list(value)
        from typer._coercion import build_runtime_param  # noqa: PLC0415 - only where it is needed

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)
