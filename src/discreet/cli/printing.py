"""How text reaches standard output: as it is to a program, and harmless to a terminal.

Keys, names and questions are somebody else's words, and a terminal obeys what it is sent: there
they are shown as tables show them, with control characters written out. A file or a pipe gets
every letter as it is.
Tested by tests/cli/test_printing.py
"""

from __future__ import annotations

import json
import sys

import typer

__all__ = ["hand_out", "hand_out_json", "harmless", "say"]


def harmless(text: str) -> str:
    r"""Text whose lines are kept, and all other control characters written out.

    >>> harmless("one\r\ntwo\x1b[2J\n")
    'one\ntwo\\x1b[2J\n'
    """
    from discreet.query.words import visible  # noqa: PLC0415 - nothing is loaded for --help

    return "\n".join(visible(line.removesuffix("\r")) for line in text.split("\n"))


def say(text: str = "", *, err: bool = False, dim: bool = False) -> None:
    """A line or more for people."""
    typer.secho(harmless(text), err=err, dim=dim)


def hand_out(text: str) -> None:
    """CSV or JSON for programs: exactly, unless a person reads it on a terminal."""
    sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def hand_out_json(told: object) -> None:
    """Plain values as JSON; what is no finite number is refused."""
    hand_out(json.dumps(told, indent=2, allow_nan=False) + "\n")
