"""One level of a roll-up: its release holds the counts of several, which must not be added up.

Tested by tests/curator/test_one_level.py
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from discreet.curator.release import Release

__all__ = ["is_rollup", "one_level"]

_ROLLUP = re.compile(r"^GROUP BY ROLLUP \(", re.MULTILINE)


def is_rollup(release: Release) -> bool:
    """Whether a release has several levels, as GROUP BY ROLLUP asks for."""
    return _ROLLUP.search(release.sql) is not None


def one_level(release: Release, by: Collection[str]) -> Release:
    """The level of a roll-up that is by these keys, or else the finest; other releases as they are.

    Everybody is in each level once, so a sum over one of them counts nobody twice. In a roll-up
    None stands for all values of a key. What is added up are its whole numbers, which add up to
    those of the levels above; the raw ones are left behind.
    """
    if not is_rollup(release):
        return release
    said = [{name for name in release.keys if row[name] is not None} for row in release]
    wanted = set(by) if set(by) in said else set(release.keys)
    places = [place for place, names in enumerate(said) if names == wanted]
    return replace(
        release, rows=tuple(release.rows[place] for place in places),
        intervals={n: tuple(v[place] for place in places) for n, v in release.intervals.items()},
        raw={},
    )  # fmt: skip
