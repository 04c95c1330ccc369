"""One level of a roll-up, one of several marginals: releases whose rows must not all be added up.

Tested by tests/curator/test_one_level.py
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.curator.values import visible
from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["EVERYBODY", "MARGINAL", "finest", "is_rollup", "one_level"]

MARGINAL, EVERYBODY = "marginal", "everybody"
"""The column of a release that says which marginal a row is of, and the one of no column."""
_ROLLUP = re.compile(r"^GROUP BY ROLLUP \(", re.MULTILINE)
_MARGINALS = re.compile(r"^GROUP BY GROUPING SETS \(", re.MULTILINE)


def is_rollup(release: Release) -> bool:
    """Whether a release has several levels, as GROUP BY ROLLUP asks for."""
    return _ROLLUP.search(release.sql) is not None


def finest(release: Release) -> Release:
    """Of a roll-up the finest groups, of which all others are sums; other releases as they are."""
    if not is_rollup(release):
        return release
    wanted = set(release.keys)
    places = [place for place, names in enumerate(_levels(release)) if names == wanted]
    return _rows(release, places) if places else release


def one_level(release: Release, by: Collection[str]) -> Release:
    """The level of a roll-up that is by these keys, or else the finest; other releases as they are.

    Everybody is in each level once, so a sum over one of them counts nobody twice. In a roll-up
    None stands for all values of a key. What is added up are its whole numbers, which add up to
    those of the levels above; the raw ones are left behind.

    Of marginals, in each of which everybody is once, that of these columns is taken.
    """
    if _MARGINALS.search(release.sql) is not None and MARGINAL not in by:
        return _one_marginal(release, by)
    if not is_rollup(release):
        return release
    said = _levels(release)
    wanted = set(by) if set(by) in said else set(release.keys)
    places = [place for place, names in enumerate(said) if names == wanted]
    return replace(_rows(release, places), raw={})


def _levels(release: Release) -> list[set[str]]:
    """For each row of a roll-up the keys that it is by: None stands for all values of a key."""
    return [{name for name in release.keys if row[name] is not None} for row in release]


def _one_marginal(release: Release, by: Collection[str]) -> Release:
    title = ", ".join(name for name in release.keys if name in by) or EVERYBODY
    places = [place for place, row in enumerate(release) if row[MARGINAL] == title]
    if not places:
        raise UnsupportedError(
            f"there is no marginal of {visible(title)} in this release; what is added up over "
            "several marginals counts everybody several times. Nothing was charged"
        )
    return _rows(release, places)


def _rows(release: Release, places: Sequence[int]) -> Release:
    return replace(
        release, rows=tuple(release.rows[place] for place in places),
        intervals={n: tuple(v[place] for place in places) for n, v in release.intervals.items()},
        raw={n: tuple(v[place] for place in places) for n, v in release.raw.items()},
    )  # fmt: skip
