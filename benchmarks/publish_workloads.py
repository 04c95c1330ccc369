"""Strategies for whole workloads: expected errors, beside the bound that none can be below.

All columns are exact expectations, no noise is drawn: the root of the total squared error of all
questions of a workload over the bound's, for pure privacy (Laplace noise; the same factor for all).
"""

import math
from time import perf_counter

import numpy as np

from benchmarks.timing import table
from discreet.publish.levels import hb_branching
from discreet.publish.workloads import (
    Strategy,
    all_ranges,
    least_possible,
    levels_strategy,
    optimised,
    prefixes,
)

SIZES = (256, 1024)


def lines():
    """One row for each workload: identity, H, HB, optimised, and how long that took."""
    for name, kind in (("all prefixes", prefixes), ("all ranges", all_ranges)):
        for n in SIZES:
            wanted = kind(n)
            bound = least_possible(wanted)
            began = perf_counter()
            found = optimised(wanted)
            seconds = perf_counter() - began
            strategies = [
                Strategy("identity", np.eye(n, dtype=np.int64)),
                levels_strategy((n,), 2),
                levels_strategy((n,), hb_branching((n,))),
                found,
            ]
            ratios = [math.sqrt(one.error(wanted) / bound) for one in strategies]
            yield [name, f"{n:,}", *(f"{ratio:.2f}" for ratio in ratios), f"{seconds:.1f}"]


def workloads():
    """The table."""
    columns = ["questions", "cells", "identity", "H", "HB", "optimised", "seconds to optimise"]
    return table(columns, list(lines()))
