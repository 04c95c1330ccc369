"""How many forks lie between this process and the one that loaded the software.

What was opened before a fork is not the child's to use. To compare this number is to ask whether
there was one; to ask the system for the number of the process is a call for every charge.
Tested by tests/curator/ledger/test_forks.py
"""

from __future__ import annotations

import os

__all__ = ["count"]

count = 0
"""Looked up where it is used, in this module: it changes."""


def _forked() -> None:
    global count  # noqa: PLW0603
    count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
