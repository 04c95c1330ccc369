"""Shares read through a prior that the estimates themselves teach: empirical Bayes.

The question. Each of k raw estimates x_v is its share f_v plus noise of nearly normal law, with the
variance V(f) = V0 + f (V1 - V0), linear in the share. How are the shares spread, and so, which
share is likely behind each estimate? Where most estimates lie within their noise, those that stand
out downwards or upwards are mostly luck, and should be moved to the others.

The answer. The shares are read as draws from one unknown law G on [0, largest estimate]. G is
learnt from all k estimates by maximum likelihood (Kiefer and Wolfowitz 1956; for estimating:
Robbins 1956, Jiang and Zhang 2009), and each share is its posterior mean under G. What is left over
or missing to a sum of 1 is taken from or given to all by the nearest distribution.

What is promised.
* A distribution. Renaming the values renames it. It keeps the order of the raw estimates.
* It is a function of the raw estimates and of public numbers alone: post-processing, free.
* The prior is never told: not the order of the values, not a family of laws.
What is not. It is biased: single shares move towards where many others are. In total variation it
is usually nearer to the truth than the projection and can be further from it: where a few values
share everything and their noise is as large as their shares, it was up to a quarter further
(benchmarks/README.md). No interval belongs to it: those of the raw estimates hold.

How. G lives on a grid with a step of a quarter of the noise; steps of expectation-maximisation
begin with the flat law and stop early (16), which keeps G smooth. Is G worth it? Every estimate is
predicted by what the others taught; if the flat law predicts better, the values lie too far apart
to teach each other anything, and the projection is taken. Estimates are rounded to 1/64 of the
noise first, so memory and time are bounded by the number of different ones, at most 2^16.

Theorem (order). For raw estimates of supports the posterior mean grows with the estimate.
Proof. The log of the ratio of two normal densities with means g > f and variances V(g), V(f), as
a function of x, is a parabola with its vertex at -V0/(V1 - V0), or a line. If V1 > V0 it opens
upwards and grows right of the vertex; an estimate is at least -q/(p - q), and V0/(V1 - V0) =
q (1-q)/((p-q)(1-p-q)) is at least q/(p - q). If V1 < V0 it opens downwards and grows left of the
vertex; an estimate is at most (1-q)/(p-q), and the vertex q (1-q)/((p-q)(p+q-1)) is at least that.
A posterior mean grows under a monotone likelihood ratio. (Windows of five standard errors, and a
shift of all estimates to the sum 1, leave rounding: a running maximum removes it.)
Tested by tests/local/test_posterior.py
"""

from __future__ import annotations

import math

import numpy as np

from discreet.local.oracle import Array
from discreet.mechanisms.nearest import onto_simplex

__all__ = ["posterior_means"]

_STEP, _REACH = 0.25, 5.0
"""The grid in standard errors: the distance of its points, how far around an estimate it counts."""
_ROUNDS = 16
_FINE, _MOST = 64, 1 << 16
"""Estimates are rounded to this part of the noise; at most so many different ones are kept."""
_DOUBT = 0.01
"""The weight of the flat law in a prediction, so that nothing is held for impossible."""


def posterior_means(raw: Array, at_zero: float, at_one: float) -> Array:
    """The shares as posterior means under a prior learnt from the raw estimates.

    Args:
        raw: unbiased estimates of shares that add up to 1.
        at_zero: the variance of the estimate of a share of 0.
        at_one: that of a share of 1.
    """
    k = raw.size
    shifted = raw + (1 - raw.sum()) / k
    least = math.sqrt(min(at_zero, at_one))
    unit = max(least / _FINE, float(np.ptp(shifted)) / _MOST)
    top = min(float(shifted.max()), 1.0)
    if k == 1 or unit > least / 8 or not top > least * _STEP:
        return onto_simplex(raw)
    lines, which, many = np.unique(
        np.rint(shifted / unit).astype(np.int64), return_inverse=True, return_counts=True
    )
    means = _learnt(lines * unit, many, _grid(top, at_zero, at_one), (at_zero, at_one))
    if means is None:
        return onto_simplex(raw)
    return onto_simplex(np.maximum.accumulate(means)[which])


def _grid(top: float, at_zero: float, at_one: float) -> Array:
    """Points from 0 to `top`, a constant number of local standard errors apart."""
    slope = at_one - at_zero
    if abs(slope) * top < 1e-9 * at_zero:
        return np.linspace(0, top, int(top / (_STEP * math.sqrt(at_zero))) + 2)
    low = math.sqrt(at_zero)
    length = 2 * (math.sqrt(at_zero + slope * top) - low) / slope
    places = np.linspace(0, length, int(length / _STEP) + 2)
    return np.asarray(((places * slope / 2 + low) ** 2 - at_zero) / slope)


def _learnt(lines: Array, many: Array, grid: Array, variances: tuple[float, float]) -> Array | None:
    """The posterior mean for each different estimate; None if the flat law predicts better."""
    k, reach = int(many.sum()), min(2 * int(_REACH / _STEP) + 1, grid.size)
    first = np.clip(np.searchsorted(grid, lines) - reach // 2, 0, grid.size - reach)
    places = first[:, None] + np.arange(reach)
    points = grid[places]
    variance = variances[0] + points * (variances[1] - variances[0])
    fit = -((lines[:, None] - points) ** 2) / (2 * variance) - np.log(variance) / 2
    fit = np.exp(fit - fit.max(axis=1, keepdims=True))
    flat = fit.sum(axis=1) / grid.size
    prior, own = np.full(grid.size, 1 / grid.size), np.zeros_like(fit)
    for _ in range(_ROUNDS):
        own = fit * prior[places]
        own /= own.sum(axis=1, keepdims=True)
        prior = np.bincount(places.ravel(), (own * many[:, None]).ravel(), grid.size) / k
    local = prior[places]
    others = ((k * local - own) * fit).sum(axis=1) / (k - 1)
    told = np.log((1 - _DOUBT) * np.maximum(others, 0) + _DOUBT * flat)
    if (many * told).sum() < (many * np.log(flat)).sum():
        return None
    own = fit * local
    return np.asarray((own * points).sum(axis=1) / own.sum(axis=1))
