"""Policy text that a program writes: values as TOML, tables added to a text, one value changed
or added.

Guarantee. What is written reads back as the same value, whatever letters it has: nothing that was
handed in as a name, a key or a value becomes syntax. The rest of a text stays as it was, with its
comments.
Tested by tests/curator/policy/test_written.py
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from discreet.curator.policy.lines import Lines
from discreet.errors import ParameterError

__all__ = ["added", "changed", "joined", "key_text", "table_text", "value_text"]

WIDTH = 92
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_NOT_HERE = "cannot be changed here; change the text"


def value_text(value: object) -> str:
    r"""A value as TOML has it; ParameterError for what TOML has no words for.

    >>> value_text('a "b"\n'), value_text(True), value_text(Decimal("0.10"))
    ('"a \\"b\\"\\n"', 'true', '0.10')
    >>> value_text({"low": 0, "high": 10})
    '{ low = 0, high = 10 }'
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case int():
            return str(value)
        case float() | Decimal():
            return _real(Decimal(repr(value)) if isinstance(value, float) else value)
        case date() if not isinstance(value, datetime):
            return value.isoformat()
        case Mapping():
            inside = ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            return _list([value_text(one) for one in value])
        case _:
            problem = "cannot be written in a policy"
            raise ParameterError("a value", f"a {type(value).__name__}", problem)


def key_text(name: str) -> str:
    """A key as TOML has it, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else _text(name)


def table_text(path: Sequence[str], values: Mapping[str, Any]) -> str:
    """A table with its header; what is None is left out.

    >>> print(table_text(["family", "staff"], {"epsilon": Decimal("0.5"), "expires": None}), end="")
    [family.staff]
    epsilon = 0.5
    """
    header = ".".join(key_text(one) for one in path)
    pairs = [f"{key_text(k)} = {value_text(v)}" for k, v in values.items() if v is not None]
    return "\n".join([f"[{header}]", *pairs]) + "\n"


def added(text: str, *tables: str) -> str:
    """A policy with more tables at its end."""
    return "\n".join([text.rstrip() + "\n", *tables])


def changed(text: str, path: Sequence[str], value: object) -> str:
    """A policy in which one value is another; ParameterError where there is no such value."""
    lines = Lines(text)
    span = lines.span(tuple(path))
    if span is None:
        raise ParameterError(".".join(path), None, "does not stand in the policy")
    begin, end = span
    made = lines.text[:begin] + value_text(value) + lines.text[end:]
    if not _is(made, lines.text, path, value):  # pragma: no cover - Lines would be wrong
        raise ParameterError(".".join(path), None, _NOT_HERE)
    return made


def joined(text: str, path: Sequence[str], value: object, *, beside: str) -> str:
    """A policy in which a table has one value more, behind one that it has.

    Args:
        text: the policy.
        path: of the new value.
        value: that it gets.
        beside: the key in the same table that is there.
    """
    lines = Lines(text)
    span = lines.span((*path[:-1], beside))
    if span is None:
        raise ParameterError(".".join([*path[:-1], beside]), None, "does not stand in the policy")
    end = span[1]
    rest, mark, after = lines.text[end:].partition("\n")  # with the comment behind it
    pair = f"{key_text(path[-1])} = {value_text(value)}"
    for made in (
        f"{lines.text[:end]}{rest}\n{pair}{mark}{after}",
        f"{lines.text[:end]}, {pair}{lines.text[end:]}",
    ):
        if _is(made, lines.text, path, value):
            return made
    raise ParameterError(".".join(path), None, _NOT_HERE)


def _is(made: str, before: str, path: Sequence[str], value: object) -> bool:
    """Whether a text differs from the one before in one value, and in nothing else."""
    wanted = tomllib.loads(before, parse_float=Decimal)
    inner = wanted
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    try:
        return tomllib.loads(made, parse_float=Decimal) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _text(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        problem = "holds half a character, which no file can have"
        raise ParameterError("a text", None, problem) from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _real(value: Decimal) -> str:
    if not value.is_finite():
        raise ParameterError("a number", str(value), "must be finite")
    text = str(value)
    return text if re.search(r"[.E]", text) else f"{text}.0"


def _list(items: Sequence[str]) -> str:
    """On one line, or on several where that would be long; never broken inside an item."""
    line = f"[{', '.join(items)}]"
    if len(line) <= WIDTH:
        return line
    rows: list[str] = []
    for item in items:
        if rows and len(rows[-1]) + len(item) + 2 <= WIDTH - 4:
            rows[-1] += f" {item},"
        else:
            rows.append(f"{item},")
    return "\n".join(["[", *(f"    {row}" for row in rows), "]"])
