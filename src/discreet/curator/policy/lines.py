"""On which line of a TOML file a value stands, so that an error can point at it.

`tomllib` reads a file and forgets the lines. This scanner walks over the same text and keeps them.
It is given only what `tomllib` has accepted, so it checks nothing; it knows just enough of the
language not to be misled by strings, comments and values over several lines.
Tested by tests/curator/policy/test_lines.py
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Lines", "Path", "Place"]

Path = tuple[str | int, ...]
"""The keys from the top of the file down to a value; an integer counts in a list."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands.

    Attributes:
        line: its number, from 1.
        header: how many of the keys of its path are in the [header] above it.
    """

    line: int
    header: int


class Lines:
    r"""The places of all keys of a valid TOML text.

    >>> lines = Lines('[a]\nb = { c = 1 }\n')
    >>> lines.of(("a", "b", "c"))
    Place(line=2, header=1)
    >>> lines.of(("a", "missing"))
    Place(line=1, header=1)
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n").removeprefix("\ufeff")
        self._spans: dict[Path, tuple[int, int]] = {}
        self._ends = [at.start() for at in re.finditer("\n", self._text)]
        self._at = 0
        self._header = 0
        self._places: dict[Path, Place] = {}
        self._lists: dict[Path, int] = {}  # how many [[tables]] a path has so far
        self._walk()

    def of(self, path: Path) -> Place:
        """The place of a value, or of the nearest table around it that is written down."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, Place(1, 0))

    def __iter__(self) -> Iterator[Path]:
        return iter(self._places)

    @property
    def text(self) -> str:
        """What was scanned, with ends of lines of one kind."""
        return self._text

    def span(self, path: Path) -> tuple[int, int] | None:
        """From where to where in `text` the value of a key stands; None if no key has that path."""
        return self._spans.get(path)

    # the walk

    def _walk(self) -> None:
        prefix: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                prefix = self._table()
            else:
                self._pair(prefix)
            self._skip(_BLANK)

    def _table(self) -> Path:
        """A [header] or [[header]]; the keys below it belong to it."""
        line = self._line()
        many = self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        keys = self._keys()
        self._at += 2 if many else 1
        path: Path = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            last = i == len(keys) - 1
            place = Place(line, len(path))
            if last and many:
                self._lists[path] = self._lists.get(path, 0) + 1
            if last and not many:
                self._places[path] = place  # the header itself, rather than one below it
            else:
                self._places.setdefault(path, place)
            if path in self._lists:
                path = (*path, self._lists[path] - 1)
                self._places.setdefault(path, Place(line, len(path)))
        self._header = len(path)
        return path

    def _pair(self, prefix: Path) -> None:
        """One `key = value`, in a table or between the braces of one."""
        path = prefix
        line = self._line()
        for key in self._keys():
            path = (*path, key)
            self._places.setdefault(path, Place(line, self._header))
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        begin = self._at
        self._value(path)
        self._spans[path] = begin, begin + len(self._text[begin : self._at].rstrip())

    def _value(self, path: Path) -> None:
        match self._text[self._at : self._at + 1]:
            case "[":
                for i in self._items("]"):
                    if self._text[self._at] in "[{":  # not each of a million keys
                        self._places[*path, i] = Place(self._line(), self._header)
                    self._value((*path, i))
            case "{":
                for _ in self._items("}"):
                    self._pair(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)

    def _items(self, end: str) -> Iterator[int]:
        """The scanner stands at each item in turn, and behind the closing bracket at last."""
        self._at += 1
        self._skip(_BLANK)
        count = 0
        while not self._text.startswith(end, self._at):
            yield count
            count += 1
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip(_BLANK)
        self._at += 1

    def _keys(self) -> list[str]:
        """A dotted key, up to the sign after it."""
        found = []
        while True:
            self._skip(_SPACE)
            bare = _BARE_KEY.match(self._text, self._at)
            if bare is not None:
                found.append(bare.group())
                self._at = bare.end()
            else:
                start = self._at
                self._skip(_STRING)
                found.append(_unquoted(self._text[start : self._at]))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return found
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _line(self) -> int:
        return bisect_right(self._ends, self._at - 1) + 1


def _unquoted(token: str) -> str:
    if "\\" not in token or token.startswith("'"):
        return token[1:-1]
    return str(tomllib.loads(f"key = {token}")["key"])
