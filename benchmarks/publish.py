"""Publishing histograms: DPBench's errors, and the time by the size of the domain.

Errors are measured with the setting and the sampled data of DPBench's runner, which is no part of
this repository: it is looked for in ../shared, or where the variable DPBENCH says. Without it the
tables stay as they are. The error of the best published algorithm of each dataset and scale is
read from the runner's notes (ten trials of the same samples).
"""

import importlib.util
import os
import re
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import table
from discreet.publish import Cells, adaptive_tree

HOME = Path(os.environ.get("DPBENCH", Path(__file__).resolve().parents[2] / "shared"))
SCALES = (1_000, 10_000, 100_000, 1_000_000)
TRIALS = 20
EPSILON = "0.1"
DAWA = {1: (1.41, 1.17, 1.27, 1.88), 2: (1.17, 1.28, 1.02, 1.00)}


def runner():
    """The measurement's own module, or None."""
    path = HOME / "peers" / "dpbench_errors.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("dpbench_errors", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published(dim):
    """The best published algorithm by dataset and scale, and its mean error."""
    text = (HOME / "specs" / "publish.md").read_text()
    part = text.split(f"## {dim}D results")[1].split("All values")[0].split("Best published")[1]
    found = {}
    for line in part.splitlines():
        name, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
        for scale, cell in zip(SCALES, cells if len(cells) == 4 else [], strict=False):
            best = re.match(r"(\S+) (\d\S+)", cell)
            if best:
                found[name, scale] = best[1], float(best[2])
    return found


def errors(bench, dim, dataset, scale, shapes):
    domain, workload = bench.standard(dim)
    found, seconds = [], []
    for trial in range(TRIALS):
        rng = bench.data_rng(dataset, scale, trial)
        counts = bench.sample(shapes[dataset], scale, rng, domain)
        start = time.process_time()
        estimate = adaptive_tree(counts, epsilon=EPSILON).cells()
        seconds.append(time.process_time() - start)
        answers = workload.answers(counts), workload.answers(estimate)
        found.append(bench.scaled_l2(*answers, scale))
    return found, seconds


def against_published(dim):
    bench = runner()
    if bench is None:
        return None
    shapes, best = bench.load_shapes(dim), published(dim)
    rng = np.random.default_rng(1)
    rows = {name: [name] for name in shapes}
    means, low, dawa, took = [], [], [], []
    for place, scale in enumerate(SCALES):
        ratios, again, below = [], [], 0
        for name in shapes:
            found, seconds = errors(bench, dim, name, scale, shapes)
            algorithm, error = best[name, scale]
            ratio = np.mean(found) / error
            ratios.append(np.log(ratio))
            picks = rng.integers(0, TRIALS, (2000, TRIALS))
            again.append(np.log(np.array(found)[picks].mean(axis=1) / error))
            below += ratio < 1
            took += seconds
            rows[name].append(f"{np.mean(found):.2e} = {ratio:.2f} {algorithm}")
        spread = np.exp(np.percentile(np.mean(again, axis=0), [2.5, 97.5]))
        means.append(f"**{np.exp(np.mean(ratios)):.2f}** ({below} of {len(shapes)} below 1)")
        low.append(f"[{spread[0]:.2f}, {spread[1]:.2f}]")
        dawa.append(f"{DAWA[dim][place]:.2f}")
    head = ("", *(f"{scale:,} people" for scale in SCALES))
    summary = [
        ("error over the best published, geometric mean", *means),
        ("the same, 95 % of bootstrapped trials", *low),
        ("DAWA, as recorded", *dawa),
    ]
    note = f"CPU seconds a release: median {np.median(took):.2f}, largest {max(took):.2f}."
    return "\n".join(
        [table(head, summary), "", note, "", table(("dataset", *head[1:]), rows.values())]
    )


def line():
    return against_published(1)


def plane():
    return against_published(2)


def towns(size, people, rng):
    """Forty places where people live, and a fifth of the people anywhere."""
    at = rng.choice(rng.integers(0, size, 40), people - people // 5)
    near = rng.normal(at, size / 200)
    keys = np.concatenate([near, rng.integers(0, size, people // 5)]).astype(np.int64) % size
    return np.unique(keys, return_counts=True)


def sizes():
    """The time from exact cells to a read histogram, 100,000 people."""
    rng = np.random.default_rng(2)
    cases = {}
    for size in (4096, 65_536, 1_000_000):
        keys, counts = towns(size, 100_000, rng)
        cells = np.zeros(size, dtype=np.int64)
        cells[keys] = counts
        cases[f"{size:,}, dense"] = lambda cells=cells: cells
    keys, counts = towns(10**9, 100_000, rng)
    cases["1,000,000,000, sparse"] = lambda: Cells.sparse((10**9,), keys, counts)
    rows = []
    for epsilon in ("0.1", "1"):
        took, pieces = {name: [] for name in cases}, {}
        for _ in range(2):
            for name, cells in cases.items():
                start = time.process_time()
                found = adaptive_tree(cells(), epsilon=epsilon)
                pieces[name] = len(found.pieces)
                took[name].append(time.process_time() - start)
        least = min(took["4,096, dense"])
        for name in cases:
            ratio = min(took[name]) / least
            rows.append((epsilon, name, pieces[name], f"{min(took[name]):.2f}", f"{ratio:.1f}"))
    return table(("epsilon", "cells", "pieces", "CPU seconds", "times 4,096 cells"), rows)
