"""Nodes: how long one question to all takes beside its slowest node, and what a total's error is.

The nodes are curators of this process with a ledger each. "Far away" adds a second before the
answer of each, as a network or a deadline does. The time of a node is taken inside, from asking to
its record.
"""

import itertools
import math
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import discreet as dp
from benchmarks.serve import prepared
from benchmarks.timing import Rows, table
from discreet.federated import Shares, ask_all

SQL = "SELECT department, COUNT(*) AS n FROM payroll WHERE salary < {} GROUP BY department"
TURNS = 5
PEOPLE, DRAWS = 100_000, 4000


class Timed:
    """A curator whose askings are timed."""

    def __init__(self, curator, away, times):
        self._curator, self._away, self._times = curator, away, times
        self._lock = threading.Lock()

    def query(self, dataset=None):
        return self._curator.query(dataset)

    def record(self, key, *, alone):
        return self._curator.record(key, alone=alone)

    def ask(self, question, /, **price):
        start = time.perf_counter()
        time.sleep(self._away)
        record = self._curator.ask(question, **price)
        with self._lock:
            self._times.append(time.perf_counter() - start)
        return record


def curators(folder, number):
    """Curators with data and ledgers of their own."""
    made = []
    for place in range(number):
        own = Path(folder) / str(place)
        own.mkdir()
        made.append(dp.Curator(prepared(own)))
    return made


def asking():
    """Seconds of `ask_all` over those of the slowest node."""
    rows, bounds = Rows(), itertools.count(40_000)
    with tempfile.TemporaryDirectory() as folder:
        made = curators(folder, 16)
        for number, away in ((1, 0), (4, 0), (16, 0), (4, 1), (16, 1)):
            ratios, alone = [], []
            for _ in range(TURNS):
                times = []
                nodes = {str(i): Timed(one, away, times) for i, one in enumerate(made[:number])}
                question = SQL.format(next(bounds))
                start = time.perf_counter()
                found = ask_all(
                    nodes, question, epsilon="0.01", disjoint=True, seconds=120, analyst="a0"
                )
                spent = time.perf_counter() - start
                assert found.complete
                ratios.append(spent / max(times))
                alone.append(sum(times) / spent)
            rows.add(
                number,
                "a second" if away else "none",
                f"{statistics.median(ratios):.2f}",
                f"{statistics.median(alone):.1f}",
            )
        for one in made:
            one.close()
    head = (
        "nodes",
        "delay of a node",
        "time, times that of the slowest node",
        "sum of the nodes' times, over the whole",
    )
    return table(head, rows)


def errors():
    """Standard deviations of a count of all people at epsilon 1: exact, and drawn."""
    rows = Rows()
    central = math.sqrt(dp.Geometric(epsilon=1).noise_law.variance)
    local = PEOPLE * dp.local.KaryResponse(2, 1).standard_error(PEOPLE)
    for nodes in (10, 100, 1000):
        shares = Shares(epsilon=1, nodes=nodes)
        total = sum(shares.share(np.zeros(DRAWS, dtype=np.int64)) for _ in range(nodes))
        robust = Shares(epsilon=1, nodes=nodes, missing=nodes // 10)
        rows.add(
            nodes,
            f"{central:.2f}",
            f"{math.sqrt(shares.variance()):.2f} ({math.sqrt((total**2.0).mean()):.2f})",
            f"{math.sqrt(robust.variance()):.2f}",
            f"{central * math.sqrt(nodes):.1f}",
            f"{local:,.0f}",
        )
    head = (
        "nodes",
        "central",
        "shares (as drawn)",
        "shares that bear a tenth missing, all there",
        "each node its own noise",
        f"local, {PEOPLE:,} people",
    )
    return table(head, rows)
