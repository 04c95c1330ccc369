"""How often the 95 % intervals of published histograms hold the truth: ranges, boxes, quantiles.

Epsilon 0.1, made-up shapes. Questions to one release go wrong together, so a release is one
observation: the standard error is that of the mean over releases.
"""

import math

import numpy as np

from benchmarks.timing import table
from discreet.publish import adaptive_tree

EPSILON = "0.1"
SCALES = (1_000, 10_000, 100_000)
RELEASES = 12
QUESTIONS = 8
HEAD = ("shape", *(f"{scale:,} people" for scale in SCALES))


def line_shapes(rng, size=1024):
    at = np.arange(size)
    return {
        "a bell": np.exp(-(((at - 400) / 90) ** 2) / 2),
        "two bells": np.exp(-(((at - 200) / 30) ** 2) / 2)
        + 0.5 * np.exp(-(((at - 700) / 120) ** 2) / 2),
        "flat": np.ones(size),
        "Zipf, shuffled": 1 / (1 + rng.permutation(size)),
        "twelve cells": np.isin(at, rng.integers(0, size, 12)).astype(float),
        "sixteen steps": np.repeat(rng.exponential(size=16), size // 16),
    }


def box_shapes(rng, shape):
    """A blob, towns, flat, and a few cells, on a grid."""
    at = np.stack(np.meshgrid(*(np.linspace(0, 1, side) for side in shape), indexing="ij"))
    blob = np.exp(-(((at - 0.4) / 0.15) ** 2).sum(axis=0) / 2)
    towns = np.full(shape, 1e-4)
    for _ in range(15):
        away = at - rng.random(len(shape)).reshape(-1, *[1] * len(shape))
        towns += rng.exponential() * np.exp(-((away / 0.03) ** 2).sum(axis=0) / 2)
    few = np.zeros(math.prod(shape))
    few[rng.integers(0, few.size, 12)] = 1.0
    return {
        "a blob": blob,
        "fifteen towns": towns,
        "flat": np.ones(shape),
        "twelve cells": few.reshape(shape),
    }


def entry(held):
    """The share, with its standard error over releases."""
    means = np.mean(held, axis=1)
    return f"{means.mean():.3f} +- {means.std(ddof=1) / len(means) ** 0.5:.3f}"


def measured(rng, weights, ask, releases=RELEASES):
    """For each scale, whether each question to each release held."""
    chances = weights.ravel() / weights.sum()
    row = []
    for scale in SCALES:
        held = []
        for _ in range(releases):
            counts = rng.multinomial(scale, chances).reshape(weights.shape)
            found = adaptive_tree(counts, epsilon=EPSILON)
            held.append([ask(rng, counts, found) for _ in range(QUESTIONS)])
        row.append(entry(held))
    return row


def holds(answer, true, slack=0.5):
    return answer.low - slack <= true <= answer.high + slack


def a_box(rng, counts, found):
    box = [sorted(rng.choice(side + 1, 2, replace=False).tolist()) for side in counts.shape]
    true = counts[tuple(slice(*span) for span in box)].sum()
    return holds(found.rectangle(*box), true)


def a_quantile(rng, counts, found):
    share = round(float(rng.uniform(0.05, 0.95)), 3)
    upto = np.cumsum(counts)
    true = int(np.searchsorted(upto, share * upto[-1]))
    return holds(found.quantile(share), true)


def a_share(rng, counts, found):
    cell = int(rng.integers(0, len(counts)))
    return holds(found.cdf(cell), counts[: cell + 1].sum() / counts.sum(), 0.5 / counts.sum())


def ranges():
    rng = np.random.default_rng(5)
    rows = [(name, *measured(rng, weights, a_box)) for name, weights in line_shapes(rng).items()]
    return table(HEAD, rows)


def quantiles():
    rng = np.random.default_rng(6)
    rows = []
    for said, ask in (("quantiles", a_quantile), ("shares", a_share)):
        for name, weights in line_shapes(rng).items():
            rows.append((f"{said}: {name}", *measured(rng, weights, ask)))
    return table(HEAD, rows)


def boxes():
    rng = np.random.default_rng(7)
    rows = []
    for shape in ((64, 64), (16, 16, 16)):
        for name, weights in box_shapes(rng, shape).items():
            size = " x ".join(map(str, shape))
            rows.append((f"{size}: {name}", *measured(rng, weights, a_box)))
    return table(HEAD, rows)
