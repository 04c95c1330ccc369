"""Strategies for whole workloads: expected errors, beside the bound that none can be below.

All columns are exact expectations, no noise is drawn: the root of the total squared error of all
questions of a workload over that of identity, for pure privacy (Laplace noise; the same factor for
all). The bound takes n^3 steps and is left out for 10,000 cells.
"""

import math
from time import perf_counter

from benchmarks.timing import table
from discreet.publish.levels import hb_branching
from discreet.publish.questions import all_ranges, least_possible, prefixes
from discreet.publish.strategies import (
    identity_strategy,
    levels_strategy,
    optimised,
    strategy_for,
)

SIZES = (256, 1024, 2048, 10_000)


def lines():
    """One row for each workload: the bound, HB, optimised, the one taken, and its time."""
    for name, kind in (("all prefixes", prefixes), ("all ranges", all_ranges)):
        base = None
        for n in SIZES:
            wanted = kind(n)
            alone = identity_strategy(n).error(wanted)
            began = perf_counter()
            found = optimised(wanted)
            seconds = perf_counter() - began
            base = seconds if n == 2048 else base
            errors = [levels_strategy((n,), hb_branching((n,))).error(wanted), found.error(wanted)]
            errors.append(min(*errors, strategy_for(wanted, rounds=1).error(wanted)))
            bound = f"{math.sqrt(least_possible(wanted) / alone):.3f}" if n <= 2048 else ""
            ratios = [f"{math.sqrt(error / alone):.3f}" for error in errors]
            yield [name, f"{n:,}", bound, *ratios, "" if base is None else f"{seconds / base:.1f}"]


def workloads():
    """The table."""
    columns = ["questions", "cells", "bound", "HB", "optimised", "taken", "time over 2,048 cells'"]
    return table(columns, list(lines()))
