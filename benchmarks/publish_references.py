"""The references of `discreet.publish` beside independent implementations of the same algorithms.

DPBench's setting: epsilon 0.1; one axis of 4,096 cells and all prefixes, or 128 x 128 cells and
2,000 rectangles; records drawn from published shapes; error = |W x - W x'|_2/(scale x questions).
Data, samples and the other implementations (floating-point noise) are those of the measurement in
`$DPBENCH` (by default the folder `shared` beside this repository); without it there is no table.
`$TRIALS` says how often (5).
"""

import math
import os
import re

import numpy as np

from benchmarks.publish import HOME, SCALES, runner
from benchmarks.timing import table
from discreet.publish.grids import adaptive_grid, uniform, uniform_grid
from discreet.publish.levels import hierarchy, identity, quadtree
from discreet.publish.privtrees import privtree
from discreet.publish.pruning import pruned
from discreet.publish.wavelets import wavelet

TRIALS = int(os.environ.get("TRIALS", "5"))
ONE_AXIS = {
    "IDENTITY": lambda x, e: identity(x, epsilon=e).cells("raw"),
    "UNIFORM": lambda x, e: uniform(x, epsilon=e).cells("raw"),
    "PRIVELET": lambda x, e: wavelet(x, epsilon=e).cells("raw"),
    "H": lambda x, e: hierarchy(x, epsilon=e, branching=2).cells("raw"),
    "HB": lambda x, e: hierarchy(x, epsilon=e).cells("raw"),
    "HB+ISO": lambda x, e: hierarchy(x, epsilon=e).cells(),
    "PRUNE4+ISO": lambda x, e: pruned(x, epsilon=e, branching=4).cells(),
    "PRUNE16+ISO": lambda x, e: pruned(x, epsilon=e, branching=16).cells(),
    "PRUNE+ISO": lambda x, e: pruned(x, epsilon=e).cells(),
}
TWO_AXES = {
    "IDENTITY": ONE_AXIS["IDENTITY"],
    "UNIFORM": ONE_AXIS["UNIFORM"],
    "PRIVELET": ONE_AXIS["PRIVELET"],
    "HB": ONE_AXIS["HB"],
    "QUADTREE": lambda x, e: quadtree(x, epsilon=e).cells("raw"),
    "UGRID": lambda x, e: uniform_grid(x, epsilon=e).cells("raw"),
    "AGRID": lambda x, e: adaptive_grid(x, epsilon=e).cells("raw"),
    "PRIVTREE": lambda x, e: privtree(x, epsilon=e).cells("raw"),
    "PRUNE4": lambda x, e: pruned(x, epsilon=e, branching=4).flattened(),
}
READ = {
    "HB": lambda x, e: hierarchy(x, epsilon=e).cells(),
    "QUADTREE": lambda x, e: quadtree(x, epsilon=e).cells(),
    "UGRID": lambda x, e: uniform_grid(x, epsilon=e).cells(),
    "AGRID": lambda x, e: adaptive_grid(x, epsilon=e).cells(),
    "PRIVTREE": lambda x, e: privtree(x, epsilon=e).cells(),
    "PRUNE4": lambda x, e: pruned(x, epsilon=e, branching=4).cells(),
}


def recorded(dim):
    """What the measurement recorded: ratios by algorithm, and the best error by data set."""
    text = (HOME / "specs" / "publish.md").read_text(encoding="utf-8")
    part = text[text.index(f"## {dim}D results") :]
    part = part[: part.index("All values")]
    ratios, best = {}, {}
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        errors = [re.match(r"[\w*]+ (\d\.\d+e-\d+)", cell) for cell in cells[1:]]
        numbers = [re.match(r"(\d+\.\d+) \(\d+\)", cell) for cell in cells[1:]]
        if len(cells) == 5 and all(errors):
            best[cells[0]] = [float(found[1]) for found in errors]
        elif len(cells) == 6 and all(numbers[:4]):
            name = cells[0].removesuffix("(cand.)").strip()
            ratios[name] = [float(found[1]) for found in numbers[:4]]
    return ratios, best


def mean(logs):
    return math.exp(sum(logs) / len(logs))


def errors(module, dim, algorithms, scale):
    """The mean error of each algorithm on each data set: {name: {set: error}}."""
    shapes = module.load_shapes(dim)
    domain, workload = module.standard(dim)
    found = {name: dict.fromkeys(shapes, 0.0) for name in algorithms}
    for dataset, shape in shapes.items():
        for trial in range(TRIALS):
            x = module.sample(shape, scale, module.data_rng(dataset, scale, trial), domain)
            for name, run in algorithms.items():
                rng = module.data_rng(dataset, scale, trial, name)
                wrapped = lambda x, eps, rng, w, run=run: run(x, rng, w)  # noqa: ARG005, E731
                error = module.one_error(wrapped, x, 0.1, rng, workload, scale)
                found[name][dataset] += error / TRIALS
    return found


def compared(dim, ours):
    module = runner()
    if module is None:
        return "(no data here)"
    theirs = module.ALGORITHMS_1D if dim == 1 else module.ALGORITHMS_2D
    ratios, best = recorded(dim)
    rows = {name: [name] for name in ours}
    for place, scale in enumerate(SCALES):
        runs = {name: (lambda x, _r, _w, f=f: f(x, "0.1")) for name, f in ours.items()}
        for name in ours:
            there = theirs[name.split()[0]]
            runs[name + " there"] = lambda x, rng, w, f=there: f(x, 0.1, rng, w)
        found = errors(module, dim, runs, scale)
        for name in ours:
            mine, other = found[name], found[name + " there"]
            beside = mean([math.log(mine[one] / other[one]) for one in mine])
            to_best = mean([math.log(mine[one] / best[one][place]) for one in mine])
            then = ratios.get(name.split()[0], [math.nan] * 4)[place]
            rows[name].append(f"{beside:.2f}; {to_best:.2f} ({then:.2f})")
    return table(("", *(f"scale 1e{len(str(s)) - 1}" for s in SCALES)), list(rows.values()))


def one_axis():
    """Errors on one axis: ours over theirs; over the best published, and as recorded."""
    return compared(1, ONE_AXIS)


def two_axes():
    """The same on two axes; then the readings without negative cells over theirs without."""
    return compared(2, TWO_AXES | {name + " read": run for name, run in READ.items()})


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    print(one_axis())
    print(two_axes())
