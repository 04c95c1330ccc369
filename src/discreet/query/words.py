"""Words that refusals share: the name that was probably meant, and what cannot be written as it is.

Suggestions come from what the owner declared, never from the data.
Tested by tests/query/test_words.py
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

__all__ = ["brief", "listed", "meant", "visible"]

MOST_COMPARED = 5000
"""A name is compared with at most this many others."""
LONGEST = 60
"""Names are shown and compared up to this length."""


def meant(name: object, known: Iterable[object]) -> str:
    """A question in parentheses after a name that is close to a declared one; else nothing.

    >>> meant("salry", ["salary", "age"])
    " (did you mean 'salary'?)"
    >>> meant("bonus", ["salary", "age"])
    ''
    """
    if not isinstance(name, str):
        return ""
    texts = (one for one in islice(known, MOST_COMPARED) if isinstance(one, str))
    by_case = {one.lower(): one for one in texts if len(one) <= LONGEST}
    close = get_close_matches(name[:LONGEST].lower(), by_case, n=1)
    return f" (did you mean {by_case[close[0]]!r}?)" if close else ""


def listed(known: Iterable[object], most: int) -> str:
    """Some of the declared names, and dots where there are more.

    >>> listed(["a", "b", "c"], 2)
    'a, b, ...'
    """
    first = list(islice(known, most + 1))
    shown = ", ".join(str(one)[:LONGEST] for one in first[:most])
    return shown + (", ..." if len(first) > most else "")


def brief(value: object) -> object:
    """The value, or its size or type where it holds a number that Python does not write out.

    >>> brief(12), brief(10**5000)
    (12, 'a number of 16610 bits')
    """
    try:
        repr(value)
    except ValueError:
        if isinstance(value, int):
            return f"a number of {value.bit_length()} bits"
        return f"{type(value).__name__} of a number with too many digits"
    return value


def visible(text: str) -> str:
    r"""Text with what a reader could not see, or what would drive a terminal, written out.

    >>> visible("a\x1b[2Jb\u202e")
    'a\\x1b[2Jb\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    if unicodedata.category(letter) == "Zs":  # a space of another width
        return " "
    return letter.encode("unicode_escape").decode("ascii")
