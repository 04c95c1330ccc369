"""Reading a policy file: `read_policy` and `parse_policy`, and the errors that point at its lines.

Numbers are exact: 0.1 in the file is 1/10. Either the whole file is right, or nothing of it is
used and everything that is wrong with it is told at once.
Tested by tests/curator/policy/test_reading.py and, for each message, test_wrong.py
"""

from __future__ import annotations

import re
import tomllib
from ast import literal_eval
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from discreet.curator.policy.building import build
from discreet.curator.policy.form import UNDECIDED, Problem
from discreet.curator.policy.lines import Lines
from discreet.curator.policy.lines import Path as Keys
from discreet.curator.policy.model import Policy
from discreet.errors import DiscreetError, ParameterError

__all__ = ["PolicyError", "parse_policy", "read_policy"]

LARGEST = 64 << 20
"""A policy of more bytes than this is taken for something else."""
_NEEDED = (
    "a policy needs [ledger], [family.NAME] and [dataset.NAME]; `discreet init data.csv` writes a "
    "draft"
)
_HELP = {
    "Invalid value": "no value; text stands in quotes, and dates are written 2027-12-31",
    "Cannot overwrite a value": "this key stands in its table twice",
}
_DECIDE = f'is not decided yet; say what the comment there explains instead of "{UNDECIDED}"'
_TOO_MUCH = "holds a number that is too long, or tables that are nested too deeply"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class PolicyError(ParameterError):
    """A policy cannot be used. No budget was opened and nothing was charged.

    Attributes:
        file: as it was named.
        line: of the first problem; None where the file could not be read at all.
        problems: all of them, sorted by line, each as "file:line: [table] key: what is wrong".
    """

    def __init__(self, file: str, problems: Sequence[tuple[int | None, str]]) -> None:
        self.file = file
        self.line = problems[0][0]
        self.problems = tuple(
            f"{file}: {text}" if line is None else f"{file}:{line}: {text}"
            for line, text in problems
        )
        self.name, self.value, self.problem = "policy", file, problems[0][1]
        self._given = tuple(problems)
        many = f"{len(problems)} problems. " if len(problems) > 1 else ""
        ending = f"{many}The policy is not in force and nothing was charged"
        DiscreetError.__init__(self, "\n".join([*self.problems, ending]))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self._given)


def read_policy(path: str | Path) -> Policy:
    """The policy that a file states; PolicyError with all that is wrong with it."""
    file = str(path)
    there = Path(path)
    try:
        with there.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        text = "is not there; `discreet init data.csv` writes a draft"
        raise PolicyError(file, [(None, text)]) from None
    except IsADirectoryError:
        raise PolicyError(file, [(None, "is a folder; say the file in it")]) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        words = getattr(error, "strerror", None) or "no such name"
        raise PolicyError(file, [(None, f"cannot be read ({words})")]) from None
    if len(content) > LARGEST:
        raise PolicyError(file, [(None, "is larger than 64 MiB, which no policy is")])
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = "must be UTF-8 text, and here it is not; save the file as UTF-8"
        raise PolicyError(file, [(line, problem)]) from None
    return parse_policy(text, folder=there.absolute().parent, file=file)


def parse_policy(text: str, *, folder: Path, file: str = "policy.toml") -> Policy:
    """The policy that a text states.

    Args:
        text: in TOML.
        folder: where paths in it start.
        file: what errors call it.
    """
    raw = _toml(text, file)
    if not raw:
        raise PolicyError(file, [(1, f"the file is empty; {_NEEDED}")])
    try:
        undecided = list(_undecided(raw, ()))
        policy, problems = build(raw, folder.absolute())
        told = [Problem(path, _DECIDE) for path in undecided]
        told += [one for one in problems if not any(_of(one.path, path) for path in undecided)]
        if policy is None or told:
            raise PolicyError(file, _placed(told, text))
    except RecursionError:
        raise PolicyError(file, [(None, _TOO_MUCH)]) from None
    return policy


def _toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        words = str(error)
        found = re.search(r" \(at line (\d+), column \d+\)$", words)
        lines = text.rstrip().count("\n") + 1
        line = int(found[1]) if found else lines
        said = words[: found.start()] if found else words.removesuffix(" (at end of document)")
        words = f"is no TOML here: {_HELP.get(said) or _twice(said) or said}"
        raise PolicyError(file, [(line, words)]) from None
    except (ValueError, RecursionError):  # integers of over 4,300 digits, a thousand brackets
        long = re.search(r"[\d_]{4300,}", text)
        where = None if long is None else text.count("\n", 0, long.start()) + 1
        raise PolicyError(file, [(where, _TOO_MUCH)]) from None


def _twice(said: str) -> str | None:
    """A table that is declared again: the parser tells its name as a tuple."""
    found = re.fullmatch(r"Cannot declare (\(.*\)) twice", said)
    return found and f"the table [{_dotted(literal_eval(found[1]))}] is there twice; keep one of it"


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all
        raise ValueError(text[:60]) from None


def _undecided(value: object, path: Keys) -> Iterator[Keys]:
    """The paths of what a draft left to the owner."""
    if value == UNDECIDED:
        yield path
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _undecided(one, (*path, key))


def _of(path: Keys, undecided: Keys) -> bool:
    """Whether a problem may be there only because something is not decided yet."""
    inside = path[: len(undecided)] == undecided
    around = len(path) > 2 and undecided[: len(path)] == path
    return inside or around


def _placed(problems: Sequence[Problem], text: str) -> list[tuple[int | None, str]]:
    """Each with its line and the words for its place, sorted, and each once."""
    lines = Lines(text)
    found: dict[tuple[int, str], None] = {}
    for path, words in problems:
        place = lines.of(path)
        header = _dotted(path[: place.header])
        rest = _dotted(path[place.header :])
        where = " ".join(part for part in (f"[{header}]" if header else "", rest) if part)
        found[place.line, f"{where}: {words}" if where else words] = None
    ordered = sorted(found, key=lambda one: one[0])
    return [(line, words) for line, words in ordered]


def _dotted(path: Keys) -> str:
    return ".".join(
        str(key) if isinstance(key, int) or _BARE.fullmatch(key) else f'"{key[:60]}"'
        for key in path
    )
