"""Two answers to one question, combined by their variances: better than either, and free.

Both answers were charged, so that any function of both has their guarantees together. For a number
with independent noises of half-widths w1 and w2 (at one confidence) the weights are 1/w1^2 and
1/w2^2, in proportion to the inverse variances, because noise of one kind has half-widths in
proportion to its standard deviation. The combined half-width is w = 1/sqrt(1/w1^2 + 1/w2^2).

Assumes. The noises are independent. The ledger sees to that: no analyst is given two answers that
have noise in common (`discreet.curator.ledger`), because an answer that was made coarser from
another one (`discreet.mechanisms.gradual`) is not independent of it. For such a pair the combined
interval would be too narrow: from epsilon 0.1 and 0.09 it would cover 90 % instead of 95 %.

What the interval covers. For Gaussian noise w is exact. For geometric noise the sum of two has
lighter tails than one, relative to its variance, so that w is slightly too wide from a confidence
of 0.91 on (tests/curator/test_combine.py checks the law of the sum exactly). Answers of different
confidences are not combined.

Answers that were changed since, such as roll-ups whose parts add up, are not combined.
Only numbers with raw values and intervals of finite width on both sides are combined: counts, sums
and means (whose half-widths are approximate, as they were before). Everything else (quantiles,
quotients, keys that one of the answers does not have) is taken from the better answer.
Tested by tests/curator/test_combine.py
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from discreet.curator.release import Release
from discreet.curator.values import Interval, Value
from discreet.privacy.compose import sequential

__all__ = ["combined"]

_NOTE = "combined with an earlier, coarser answer by their variances"


def combined(coarse: Release, fine: Release, *, counts: Collection[str]) -> Release:
    """The finer answer, improved by a coarser one to the same question.

    Args:
        coarse: the coarser answer.
        fine: the finer one.
        counts: the columns that are never negative.
    """
    if (coarse.columns, coarse.keys) != (fine.columns, fine.keys):
        return fine
    if coarse.confidence != fine.confidence or coarse.steps or fine.steps:
        return fine
    places = {_key(coarse, i): i for i in range(len(coarse.rows))}
    if len(places) != len(coarse.rows):
        return fine
    rows = [list(row) for row in fine.rows]
    raw = {name: list(values) for name, values in fine.raw.items()}
    intervals = {name: list(pairs) for name, pairs in fine.intervals.items()}
    used = False
    for name in fine.raw:
        if name not in coarse.raw or name not in coarse.intervals or name not in intervals:
            continue
        column = fine.columns.index(name)
        for i in range(len(rows)):
            j = places.get(_key(fine, i))
            if j is None:
                continue
            better = _better(
                (coarse.raw[name][j], coarse.intervals[name][j]),
                (fine.raw[name][i], fine.intervals[name][i]),
            )
            if better is not None:
                value, half = better
                whole, least = isinstance(rows[i][column], int), 0 if name in counts else None
                made = _read(value, half, whole=whole, least=least)
                rows[i][column], intervals[name][i], raw[name][i] = made
                used = True
    if not used:
        return fine
    return replace(
        fine,
        rows=tuple(map(tuple, rows)),
        raw={name: tuple(values) for name, values in raw.items()},
        intervals={name: tuple(pairs) for name, pairs in intervals.items()},
        guarantee=sequential(coarse.guarantee, fine.guarantee),
        losses=(*coarse.losses, *fine.losses),
        notes=tuple(dict.fromkeys((*fine.notes, _NOTE))),
    )


def _key(release: Release, row: int) -> tuple[object, ...]:
    values = dict(zip(release.columns, release.rows[row], strict=True))
    return tuple((type(values[name]), values[name]) for name in release.keys)


def _half(raw: Value, pair: Interval) -> float | None:
    """The half-width of an interval that may be cut at 0."""
    if pair is None or not isinstance(raw, int | float) or isinstance(raw, bool):
        return None
    low, high = pair
    if not isinstance(high, int | float) or not isinstance(low, int | float):
        return None
    half = max(float(high) - float(raw), float(raw) - float(low))
    return half if math.isfinite(half) and half > 0 else None


def _better(
    one: tuple[Value, Interval], other: tuple[Value, Interval]
) -> tuple[float, float] | None:
    """The weighted mean and its half-width."""
    halves = _half(*one), _half(*other)
    if halves[0] is None or halves[1] is None:
        return None
    weights = [1 / half**2 for half in halves if half is not None]
    values = [float(v) for v in (one[0], other[0]) if isinstance(v, int | float)]
    total = sum(weights)
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / total
    return mean, 1 / math.sqrt(total)


def _read(
    value: float, half: float, *, whole: bool, least: int | None
) -> tuple[Value, Interval, Value]:
    """The value, its interval and the raw value; whole numbers stay whole, counts above 0."""
    middle, wide = value, half
    if whole:
        middle = round(value)
        wide = math.ceil(half + abs(value - middle))
    if least is None:
        return middle, (middle - wide, middle + wide), value
    return max(middle, least), (max(middle - wide, least), max(middle + wide, least)), value
