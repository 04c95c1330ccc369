"""Private quantiles from the exact histogram of a column.

Up to three: each is chosen among the bins by permute-and-flip. The score of a bin with L rows below
it and U rows up to and including it is -max(0, b L - a N, a N - b U) for the level a/b and N rows:
0 if the quantile lies in the bin, else how many ranks it is away, times b.
Guarantee. Epsilon, divided equally among the levels.
Proof. A person of weight w moves each of b L - a N and b U - a N by at most w max(a, b - a): her
rows count in N, and in L or U or not. A maximum moves no further than its parts. Permute-and-flip
is private for scores of that sensitivity. A person who has a part of her weight in each of several
groups costs that part of epsilon in each; and replacing her is removing one and adding another,
perhaps in another group, which is twice the weight.

More than three: one noisy histogram in two levels, up to 32 blocks of 32 bins, each level with half
of epsilon (a row is in one block and in one bin), made consistent by least squares; all quantiles
are read off its cumulative sums F, with intervals.
Intervals. Let q be the bin of the true quantile. The low end is the first bin with F >= aim -
width: it is beyond q only if F(q) is too small by the width. The high end is the first bin from
which on F >= aim + width: it is below q only if F(q - 1) is too large by the width. The width is
that of the noise of one cumulative sum, as of so many independent Laplace variables. For the *rank*
of the value that is released, all bins have to be right together, with the risk divided among them.
Tested by tests/curator/test_quantiles.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.source import Source
from discreet.query.blocks import BRANCHES, bin_step, number_of_bins
from discreet.query.kinds import Number
from discreet.query.price import Measured, Noise
from discreet.query.reading import Estimate, chooser, rank_error, rank_width

__all__ = ["quantiles", "rank_error"]


def quantiles(
    measured: Measured, histogram: Mapping[int, int], source: Source, *, confidence: Fraction
) -> dict[Fraction, Estimate]:
    """The quantiles of one group; `histogram` holds exact weights by bin."""
    counts = [histogram.get(i, 0) for i in range(number_of_bins(measured.block.kind))]
    if measured.noise:
        return _read_off(measured, counts, source, confidence)
    share = measured.epsilon / len(measured.block.levels)
    return {
        level: _chosen(measured, counts, level, share, source) for level in measured.block.levels
    }


def _middle(kind: Number, place: int) -> float:
    """The middle of a bin: the value itself where bins are one step wide."""
    step = bin_step(kind)
    low = kind.low + place * step
    return float((low + Fraction(min(step - 1, kind.high - low), 2)) * kind.grid)


def _chosen(
    measured: Measured, counts: Sequence[int], level: Fraction, epsilon: Fraction, source: Source
) -> Estimate:
    a, b = level.numerator, level.denominator
    upto = list(accumulate(counts))
    aim = a * upto[-1]
    below = [0, *upto[:-1]]
    scores = [-max(0, b * lo - aim, aim - b * up) for lo, up in zip(below, upto, strict=True)]
    place = chooser(measured, level, epsilon).release(scores, source=source)
    value = _middle(measured.block.kind, place)
    return Estimate(value, None, None, value)


def _read_off(
    measured: Measured, counts: Sequence[int], source: Source, confidence: Fraction
) -> dict[Fraction, Estimate]:
    noise, kind = measured.noise[0], measured.block.kind
    padded = [*counts, *[0] * (-len(counts) % BRANCHES)]
    blocks = [sum(padded[i : i + BRANCHES]) for i in range(0, len(padded), BRANCHES)]
    noisy_bins = np.array(_noisy(padded, noise, source), dtype=np.float64).reshape(-1, BRANCHES)
    noisy_blocks = np.array(_noisy(blocks, noise, source), dtype=np.float64)
    sums = noisy_bins.sum(axis=1)
    best = (BRANCHES * noisy_blocks + sums) / (BRANCHES + 1)
    noisy_bins += ((best - sums) / BRANCHES)[:, None]
    upto = np.cumsum(noisy_bins.reshape(-1))[: len(counts)]
    width = rank_width(noise, len(counts), confidence)
    return {level: _crossing(kind, upto, level, width) for level in measured.block.levels}


def _noisy(exact: Sequence[int], noise: Noise, source: Source) -> list[int]:
    return noise.release(list(exact), source=source)


def _crossing(kind: Number, upto: NDArray[Any], level: Fraction, width: float) -> Estimate:
    aim = float(level) * max(float(upto[-1]), 0.0)
    first = np.maximum.accumulate(upto)
    last = np.minimum.accumulate(upto[::-1])[::-1]

    def value(rising: NDArray[Any], rank: float) -> float:
        return _middle(kind, min(int(np.searchsorted(rising, rank)), len(upto) - 1))

    found = value((first + last) / 2, aim)
    return Estimate(found, value(first, aim - width), value(last, aim + width), found)
