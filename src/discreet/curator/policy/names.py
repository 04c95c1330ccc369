"""What a plain name is: of families, analysts and datasets in a policy, of people who sign in.

Tested by tests/curator/policy/test_names.py
"""

from __future__ import annotations

import re

from discreet.query.words import LONGEST

__all__ = ["OWNER", "PLAIN", "is_plain"]

OWNER = "owner"
"""What ledgers call the owner; no analyst may have this name."""
PLAIN = f"letters, digits, _ and - only, at most {LONGEST}"
_WORD = re.compile(r"[A-Za-z0-9_-]+")


def is_plain(name: str) -> bool:
    """Whether a name has nothing in it that could be mistaken."""
    return len(name) <= LONGEST and _WORD.fullmatch(name) is not None
